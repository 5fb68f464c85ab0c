//! A message or a receipt in a queue, without its body.
//!
//! Used by every part of the queue, and by code that reads items from the store for it. Invariant: no
//! item ends before its message expires: the time is rounded up to a whole second.

use crate::pb::QueueItem;
use crate::pb::delivery::What;

/// Priorities of messages: 0 to 3 (SMPP 3.4 §5.2.14).
pub const PRIORITIES: usize = 4;

/// A message or a receipt that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    pub id: u64,
    /// Unix seconds after which it is no longer sent.
    pub expires: u32,
    /// Attempts so far.
    pub attempts: u16,
    pub priority: u8,
    pub what: What,
    /// The partition of the queue, see [`crate::domain::partition`].
    pub part: u8,
    /// The account whose turn it takes: not stored with the item, but implied by its list.
    pub sender: u32,
}

/// A waiting item found in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    pub item: Item,
    /// Unix milliseconds, 0 for now.
    pub due_at: i64,
    /// Whether it may have reached the destination already.
    pub unsure: bool,
    /// How often it has ended a session of its queue, alone.
    pub ended: u8,
}

// === impl Item ===

impl Item {
    /// A dispatched item, without its body.
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

    /// A message of which no more than its id is known.
    pub fn message(id: u64) -> Self {
        Self {
            id,
            expires: u32::MAX,
            attempts: 0,
            priority: 0,
            what: What::Message,
            part: 0,
            sender: 0,
        }
    }

    /// The item for another queue; its message and partition come with the dispatch.
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

/// The first whole second at which a message is late: never before its expiry.
pub fn expiry_second(ms: i64) -> u32 {
    to_seconds(ms.saturating_add(999))
}

/// Whether what expires in this second is no longer sent (Unix ms). Queues and sessions agree on it: what a session gives
/// back for it ends in its queue.
pub fn has_expired(expires: u32, now: i64) -> bool {
    i64::from(expires) * 1000 <= now
}

pub fn to_seconds(ms: i64) -> u32 {
    u32::try_from(ms / 1000).unwrap_or(u32::MAX)
}
