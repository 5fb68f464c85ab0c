//! The port for messages that wait for an order, because they may have been sent before the database went back in time.
//!
//! Only a store that many nodes share can go back while nodes run; others have none. A held message is in no queue. It is
//! held no longer when it ends, such as by a receipt that comes late.

use super::Reply;
use super::cluster::Partition;
use super::cold::record;

record! {
    /// A message that waits for an order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct HeldMessage in "held" {
        pub id: u64,
        /// Since when, Unix milliseconds.
        pub since: i64 as "at",
    }
}

/// How much is doubtful.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeldCounts {
    pub messages: u64,
    /// Partitions in which more may be found.
    pub partitions: u64,
}

/// What waits in a partition may have been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubt {
    pub partition: Partition,
    /// Messages with lower ids.
    pub below: u64,
}

/// Held messages of a store. Calls never block.
pub trait HeldStore {
    /// Held messages with higher ids than this one, ascending.
    fn held(&self, _after: u64, _limit: usize) -> Reply<Vec<HeldMessage>> {
        Reply::ready(Ok(Vec::new()))
    }

    fn count_held(&self) -> Reply<HeldCounts> {
        Reply::ready(Ok(HeldCounts::default()))
    }

    /// Holds messages; those that are held stay so.
    fn hold(&self, _ids: Vec<u64>) -> Reply<()> {
        Reply::ready(Ok(()))
    }

    /// Takes one message, or the first ones, off the list; returns which.
    fn release_held(&self, _id: Option<u64>, _limit: usize) -> Reply<Vec<u64>> {
        Reply::ready(Ok(Vec::new()))
    }

    /// The doubtful partitions.
    fn doubts(&self) -> Reply<Vec<Doubt>> {
        Reply::ready(Ok(Vec::new()))
    }

    /// These partitions are doubtful no more, or none is.
    fn end_doubts(&self, _of: Option<Vec<Partition>>) -> Reply<()> {
        Reply::ready(Ok(()))
    }
}
