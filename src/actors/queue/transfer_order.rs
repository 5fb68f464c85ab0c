//! An administrator's order to move waiting messages to another queue.
//!
//! Made from the command and kept while blocks out of memory are read for it. Invariant: the order covers
//! only messages accepted, and blocks written out, before it was given, so it ends.

use std::ops::Range;

use crate::actors::context::item::Item;
use crate::domain::id;
use crate::pb::QueueCommand;
use crate::pb::delivery::What;

/// Which messages to move, and where.
pub(super) struct TransferOrder {
    pub(super) to: u32,
    pub(super) by: String,
    /// Only of this sender; 0 for any.
    pub(super) sender: u32,
    /// The ids accepted in the requested time.
    ids: Range<u64>,
    /// Only blocks with lower numbers are read back.
    pub(super) blocks_below: u64,
}

// === impl TransferOrder ===

impl TransferOrder {
    /// For all messages that match the command; of those out of memory, only in blocks below this
    /// number.
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

    /// For one message that was taken out of the lists.
    pub(super) fn of_one(command: &QueueCommand) -> Self {
        Self {
            to: command.to,
            by: command.by.clone(),
            sender: 0,
            ids: 0..0,
            blocks_below: 0,
        }
    }

    /// Whether an item matches, without its sender, which the item does not have.
    pub(super) fn fits(&self, item: &Item) -> bool {
        item.what == What::Message && self.ids.contains(&item.id)
    }
}
