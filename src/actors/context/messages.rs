//! What a queue takes that is not protobuf: too much to be encoded, or nothing at all.
//!
//! Sent by the cluster actor, the janitor and whoever counts unwritten attempts. Plain data, without
//! behaviour: [`QueueAddress`](super::addresses::QueueAddress) names these messages, and so every room can
//! send them.

use actix::Message;

use crate::actors::context::item::Seed;

/// Which of these, that the store has, does the queue not know?
pub struct Compare {
    pub expected: Vec<Seed>,
}

/// The answer to [`Compare`]; there is none while the queue is reading.
#[derive(Debug, Default, PartialEq)]
pub struct Compared {
    /// Not in memory.
    pub missing: Vec<Seed>,
    /// Blocks out of memory that they may be in.
    pub blocks: Vec<u64>,
}

/// These are nowhere, in this round of questions; answered with how many were put back.
pub struct Missed {
    pub round: u64,
    pub seeds: Vec<Seed>,
}

/// This node owns partitions of the queue from now on.
///
/// Not protobuf: a takeover may bring a million items, and these are 32 octets each.
pub struct AdoptPartitions {
    pub parts: Vec<u8>,
    /// What waits in them, in id order.
    pub seeds: Vec<Seed>,
}

impl Message for AdoptPartitions {
    type Result = ();
}

/// Attempts are durable that the queue has waited for.
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
