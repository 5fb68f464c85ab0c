//! Blocks of the waiting list that are out of memory, on their way back.
//!
//! Keeps true that a block is asked for once, however many want it, and that it is forgotten only when
//! its items are in memory again.

use std::collections::HashMap;

use actix::Context;

use super::Queue;
use super::grant::READ_AGAIN;

/// Goes on when a block has come, or (false) could not be read.
type Then = Box<dyn FnOnce(&mut Queue, bool, &mut Context<Queue>)>;

/// Blocks that were asked for, by number.
pub(super) type Fetching = HashMap<u64, Vec<Then>>;

impl Queue {
    /// Has a block read back into memory, and `then` called before anything else can take its items
    /// away; that is dropped when the whole queue is read again meanwhile.
    pub(super) fn fetch_block(
        &mut self,
        level: usize,
        number: u64,
        then: impl FnOnce(&mut Self, bool, &mut Context<Self>) + 'static,
        ctx: &mut Context<Self>,
    ) {
        let waiting = self.fetching.entry(number).or_default();
        waiting.push(Box::new(then));
        if waiting.len() > 1 {
            return;
        }
        let reply = self.node.store.read_block(self.port.id, number);
        self.run_on_lists(ctx, reply, move |queue, octets, ctx| {
            let waiting = queue.fetching.remove(&number).unwrap_or_default();
            let is_here = match octets {
                Ok(Some(octets)) => {
                    queue.lists.level(level).filled(number, &octets);
                    queue.settle_replaced(level);
                    queue.forget_blocks(number..number + 1);
                    true
                }
                Err(error) => {
                    tracing::warn!(queue = %queue.port.name, %error, "a spilled block cannot be read now");
                    queue.hold_for(READ_AGAIN);
                    false
                }
                // The index file is derived: what it lost is read from the store again.
                Ok(None) => {
                    tracing::warn!(queue = %queue.port.name, "a spilled block is gone, reading the queue again");
                    queue.recover_again(ctx);
                    false
                }
            };
            for then in waiting {
                then(queue, is_here, ctx);
            }
            queue.pump(ctx);
        });
    }

    /// Forgets blocks that are in memory again, or mean nothing any more.
    pub(super) fn forget_blocks(&self, numbers: std::ops::Range<u64>) {
        if !numbers.is_empty() {
            drop(self.node.store.forget_blocks(self.port.id, numbers));
        }
    }
}
