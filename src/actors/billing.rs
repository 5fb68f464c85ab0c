//! What accounts may spend: prepaid balances, and daily quotas.
//!
//! - [`balance`]: the share of each purse that this node may spend; a `Reservation` charges the messages of a
//!   batch, and the actor `BlockReclaimer` gives unused blocks back.
//!
//! In: batches of Ingest, top-ups and questions of Admin, and the membership from the cluster actor. Out: rows
//! of charges for the batch that stores the messages, and requests for blocks to the store. Imports `context`.

pub mod balance;
