//! What accounts may spend: prepaid balances, and quotas of the day.
//!
//! - [`balance`]: what this node may spend of each purse; a `Reservation` charges the messages of a batch, the
//!   actor `BlockReclaimer` gives back what nobody spends.
//!
//! In come batches of Ingest, top-ups and questions of Admin, and the membership from the cluster actor; out
//! go rows of charges for the batch that stores the messages, and blocks taken from the store. Imports
//! `context`.

pub mod balance;
