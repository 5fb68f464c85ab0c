//! What accounts may spend and have used: prepaid balances, daily quotas, and sums of usage.
//!
//! - [`balance`]: the share of each purse that this node may spend; a `Reservation` charges the messages of a
//!   batch, and the task `reclaim_blocks` gives unused blocks back;
//! - [`usage`]: reads the sums of messages that ended.
//!
//! In: batches of Ingest, top-ups and questions of Admin, and the membership from the cluster actor. Out: rows
//! of charges for the batch that stores the messages, and requests for blocks to the store. Imports `context`.

pub mod balance;
pub mod usage;
