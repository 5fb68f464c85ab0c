//! An administrator's order to move waiting messages to another queue.
//!
//! Made from the command, and kept while blocks that are out of memory are read for it. Keeps true that it
//! means what had been accepted, and was out of memory, when it was given: it ends.

use std::ops::Range;

use crate::actors::context::item::Item;
use crate::domain::id;
use crate::pb::QueueCommand;
use crate::pb::delivery::What;

/// What is to be moved, and where.
pub(super) struct TransferOrder {
    pub(super) to: u32,
    pub(super) by: String,
    /// Of this sender; 0 for any.
    pub(super) sender: u32,
    /// Accepted in this time.
    ids: Range<u64>,
    /// Blocks that were written out of memory before this number are looked at.
    pub(super) blocks_below: u64,
}

// === impl TransferOrder ===

impl TransferOrder {
    /// Of all that fit the command; of what is out of memory, in blocks below this number.
    pub(super) fn of_all(command: &QueueCommand, blocks_below: u64) -> Self {
        let until = match command.until {
            0 => u64::MAX,
            until => id::lowest_at(until),
        };
        Self {
            to: command.to,
            by: command.by.clone(),
            sender: command.sender,
            ids: id::lowest_at(command.since)..until,
            blocks_below,
        }
    }

    /// Of a message that was taken out of the lists: no other fits.
    pub(super) fn of_one(command: &QueueCommand) -> Self {
        Self {
            to: command.to,
            by: command.by.clone(),
            sender: 0,
            ids: 0..0,
            blocks_below: 0,
        }
    }

    /// Whether an item is meant, as far as it says itself: not by its sender.
    pub(super) fn fits(&self, item: &Item) -> bool {
        item.what == What::Message && self.ids.contains(&item.id)
    }
}
