//! Messages to a queue that are not protobuf: too large to be encoded, or empty.
//!
//! Sent by the cluster actor, the janitor and actors that count unwritten attempts. Plain data, without
//! behaviour, so that [`QueueAddress`](super::addresses::QueueAddress) can name them and every room can
//! send them.

use actix::Message;

use crate::actors::context::item::Seed;

/// Asks which of these active messages of the store the queue does not know.
pub struct Compare {
    pub expected: Vec<Seed>,
}

/// The answer to [`Compare`]; the queue gives none while it reads the store.
#[derive(Debug, Default, PartialEq)]
pub struct Compared {
    /// Not in memory.
    pub missing: Vec<Seed>,
    /// Blocks out of memory that may hold them.
    pub blocks: Vec<u64>,
}

/// No list has these, in this round; the answer is how many the queue put back.
pub struct Missed {
    pub round: u64,
    pub seeds: Vec<Seed>,
}

/// This node owns partitions of the queue from now on.
///
/// Not protobuf: a takeover may bring a million items, and these are 32 octets each.
pub struct AdoptPartitions {
    pub parts: Vec<u8>,
    /// The waiting items of these partitions, in order of ids.
    pub seeds: Vec<Seed>,
}

impl Message for AdoptPartitions {
    type Result = ();
}

/// Attempts are durable for which the queue has stopped.
#[derive(Debug, Clone, Copy)]
pub struct AttemptsWritten;

impl Message for AttemptsWritten {
    type Result = ();
}

impl Message for Compare {
    type Result = Option<Compared>;
}

impl Message for Missed {
    type Result = u64;
}
