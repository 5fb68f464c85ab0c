//! Ends messages early because somebody ordered it: one message, or all that wait.
//!
//! Called by the commands; expiry also ends messages with it. Invariant: a purge ends all messages that
//! waited when it began, including those on their way back into the lists, in small commits.

use std::time::Duration;

use actix::{AsyncContext, Context};

use crate::actors::context::item::Item;
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::Withdrawn;
use crate::clock;
use crate::domain::partition;
use crate::pb::delivery::What;
use crate::pb::{Final, MessageState};
use crate::store::{ChangeKind, ChangeRow, WriteBatch};

/// Most messages ended in one step.
const STEP: usize = 1000;
/// Pause between two steps of a purge.
const PURGE_EVERY: Duration = Duration::from_millis(20);

impl Queue {
    pub(super) fn cancel(&mut self, items: Vec<Item>, by: &str, ctx: &mut Context<Self>) {
        let items = items.into_iter().map(|item| (item, None)).collect();
        self.end(items, MessageState::Deleted, by, ctx);
    }

    pub(super) fn cancel_spilled(&mut self, id: u64, by: &str, ctx: &mut Context<Self>) {
        let item = Item {
            part: partition::WHOLE,
            ..Item::message(id)
        };
        self.cancel(vec![item], by, ctx);
    }

    /// Ends waiting messages. Waiting receipts are given up: the store marks them, so that they do not
    /// come back after a restart, and the message's history names who ordered it.
    pub(super) fn end(
        &mut self,
        items: Vec<Withdrawn>,
        state: MessageState,
        by: &str,
        ctx: &mut Context<Self>,
    ) {
        let at = clock::now_ms();
        let mut batch = WriteBatch::default();
        let mut finals = Vec::with_capacity(items.len());
        for (item, message) in items {
            self.suspects.acquit(item.id);
            match item.what {
                What::Receipt => {
                    self.node.metrics.receipts_given_up.inc();
                    batch.give_up(item.id, at, by);
                }
                What::Message => {
                    if state == MessageState::Deleted {
                        batch.change.push(ChangeRow {
                            queue: self.port.id,
                            ..ChangeRow::new(item.id, at, ChangeKind::Cancel, by)
                        });
                    }
                    finals.push(Final {
                        id: item.id,
                        state: state.into(),
                        at,
                        message,
                        attempts: u32::from(item.attempts),
                        ..Final::default()
                    });
                }
            }
        }
        self.finish(batch, finals, Vec::new(), ctx);
    }

    /// Ends all waiting messages, in steps so that commits stay small.
    pub(super) fn purge(&mut self, by: String, ctx: &mut Context<Self>) {
        if self.purging.replace(by).is_none() {
            self.purge_step(ctx);
        }
    }

    fn purge_step(&mut self, ctx: &mut Context<Self>) {
        let Some(by) = self.purging.clone() else {
            return;
        };
        if self.node.store.is_stalled() {
            // Nothing can be written, so nothing can end.
            ctx.run_later(PURGE_EVERY, Self::purge_step);
            return;
        }
        let (items, blocks) = self.backlog.take_some(STEP);
        self.fetch_blocks(blocks, ctx);
        // The purge is not over while blocks are on their way back into memory.
        let is_all_here = self.recovery.is_running() && self.backlog.is_all_here();
        if items.is_empty() && is_all_here {
            self.purging = None;
            return;
        }
        if !items.is_empty() {
            self.cancel(items, &by, ctx);
        }
        ctx.run_later(PURGE_EVERY, Self::purge_step);
    }
}
