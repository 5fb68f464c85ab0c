//! One thing that waits in a queue: a message or a receipt, without its body.
//!
//! Known to every part of the queue, and to those who read the store for it and hand it what they found.
//! Keeps true that no item ends before its message expires: the time is rounded up to a whole second.

use crate::pb::QueueItem;
use crate::pb::delivery::What;

/// Priorities of messages: 0 to 3 (SMPP 3.4 §5.2.14).
pub const PRIORITIES: usize = 4;

/// One thing that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    pub id: u64,
    /// Unix seconds after which it is not sent any more.
    pub expires: u32,
    /// Attempts counted so far.
    pub attempts: u16,
    pub priority: u8,
    pub what: What,
    /// The partition of the queue, see [`crate::domain::partition`].
    pub part: u8,
    /// Whose turn it takes: not kept with the item, but by the list that it is in.
    pub sender: u32,
}

/// One waiting item found in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    pub item: Item,
    /// Unix milliseconds, 0 for now.
    pub due_at: i64,
    /// It may have reached the destination already.
    pub unsure: bool,
}

// === impl Item ===

impl Item {
    /// What was dispatched, without its body.
    pub fn of(queued: &QueueItem) -> Self {
        Self {
            id: queued.id,
            expires: expiry_second(queued.expires_at),
            attempts: queued.attempts as u16,
            priority: queued.priority.min(PRIORITIES as u32 - 1) as u8,
            what: queued.what(),
            part: queued.part as u8,
            sender: queued.sent_by(),
        }
    }

    /// What another queue is given of it; its message and partition come with the dispatch.
    pub fn for_another_queue(&self) -> QueueItem {
        QueueItem {
            id: self.id,
            what: self.what.into(),
            priority: u32::from(self.priority),
            expires_at: i64::from(self.expires) * 1000,
            attempts: u32::from(self.attempts),
            sender: self.sender,
            ..QueueItem::default()
        }
    }
}

/// The first whole second at which a message is late: never before its time.
pub fn expiry_second(ms: i64) -> u32 {
    to_seconds(ms.saturating_add(999))
}

pub fn to_seconds(ms: i64) -> u32 {
    u32::try_from(ms / 1000).unwrap_or(u32::MAX)
}
