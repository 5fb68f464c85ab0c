//! Granting: which items go to which session, with tokens, pages and spilled blocks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{AsyncContext, Context};
use tokio::time::Instant;

use super::level::Level;
use super::{HeldItem, Item, PRIORITIES, Queue, SessionSlot};
use crate::actors::context::addresses::post_to;
use crate::actors::context::ports::QueueKind;
use crate::actors::context::traced;
use crate::actors::receipts::receipt;
use crate::actors::runtime::timed_mailbox::Timed;
use crate::clock;
use crate::config::OutcomePolicy;
use crate::content;
use crate::pb::delivery::What;
use crate::pb::failed::Why;
use crate::pb::{DeliverBatch, Delivery, Failed, Message, SettleBatch, TakeTokens, TakenTokens};
use crate::store::{Stored, TryRow, WriteBatch};

/// Most deliveries in one batch to one session.
const BATCH: u32 = 256;
/// Most bodies read at a time.
const PAGE: usize = 1024;
/// Pause after the store could not be read.
pub(super) const READ_AGAIN: Duration = Duration::from_secs(1);

impl Queue {
    pub(super) fn add_room(&mut self, session: u64, room: u32) {
        if let Some(slot) = self
            .sessions
            .iter_mut()
            .find(|slot| slot.session == session)
        {
            slot.room += room;
            slot.window = slot.window.max(slot.room);
        } else if self
            .port
            .session(session)
            .is_some_and(|port| !port.retiring)
        {
            self.sessions.push(SessionSlot {
                session,
                room,
                window: room,
            });
        }
    }

    /// Hands out what is ready, as far as credit and tokens allow.
    pub(super) fn pump(&mut self, ctx: &mut Context<Self>) {
        if !self.phase.running()
            || self.port.suspended.load(Ordering::Relaxed)
            || self.node.draining.load(Ordering::Relaxed)
            || !self.node.local_lease.is_valid()
        {
            return;
        }
        let now = clock::now_ms();
        if self.hold_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        if self.node.store.is_stalled() {
            // What is handed out now would not be known after a crash. The timer looks again.
            return;
        }
        self.read_ahead(ctx);
        // An account's rate is for what it submits.
        let limited = self.is_operator() && self.node.plan().rate_of(self.port.id).is_some();
        self.drop_dead_tokens();
        let mut quota = self.quota();
        let mut expired = Vec::new();
        while let Some(at) = self.next_session() {
            let room = self.sessions[at].room.min(BATCH);
            let mut spent = 0;
            let session = self.sessions[at].session;
            let mut deliveries = Vec::with_capacity((room as usize).min(self.lists.ready()));
            let local_lease = Arc::clone(&self.node.local_lease);
            let ownership = local_lease.hold();
            while deliveries.len() < room as usize && quota.left > 0 {
                let price = match limited {
                    true => self.next_price(),
                    false => 0,
                };
                if spent + price > self.tokens && limited {
                    break;
                }
                let Some((item, message)) = self.lists.pop(price.max(1)) else {
                    break;
                };
                // In the store, for whoever owns it.
                if !ownership.owns(self.port.id, item.part) || self.gone.remove(&item.id) {
                    continue;
                }
                if i64::from(item.expires) * 1000 <= now {
                    expired.push((item, Some(message)));
                    continue;
                }
                deliveries.push(Delivery {
                    what: item.what.into(),
                    id: item.id,
                    attempt: u32::from(item.attempts) + 1,
                    message: Some(message),
                });
                if !self.timed_out.is_empty() {
                    self.timed_out.remove(&item.id);
                }
                let probe = quota.probing;
                let held = HeldItem {
                    session,
                    item,
                    probe,
                };
                self.held.insert(item.id, held);
                quota.left -= 1;
                spent += price;
            }
            drop(ownership);
            if deliveries.is_empty() {
                break;
            }
            let granted = deliveries.len() as u32;
            self.counters.granted += u64::from(granted);
            self.sessions[at].room -= granted;
            self.tokens -= spent;
            self.spent(&quota, granted);
            self.turn = at + 1;
            let batch = DeliverBatch {
                queue: self.port.id,
                deliveries,
            };
            if self.notes_tries() {
                self.note_then_dispatch(session, batch, now, ctx);
            } else {
                self.dispatch(session, batch, ctx);
            }
        }
        if !expired.is_empty() {
            self.expire_items(expired, ctx);
        }
        if quota.left == 0 {
            self.port.unwritten.wait();
        }
        if limited {
            self.ask_tokens(quota.left, ctx);
        }
        self.read_ahead(ctx);
    }

    /// How many more attempts may be unwritten: unanswered and answered ones together stay within the
    /// windows of the sessions, one commit, and what becomes durable in a moment.
    pub(super) fn room_for_unwritten(&self) -> u32 {
        let windows = self.sessions.iter().map(|slot| u64::from(slot.window));
        let commits = self.node.commit_rows() as u64 + self.pace.in_a_moment();
        let most = windows.sum::<u64>() + commits;
        let made = self.held.len() as u64 + self.port.unwritten.count();
        u32::try_from(most.saturating_sub(made)).unwrap_or(u32::MAX)
    }

    /// Whether an attempt must be durable before its octets go out: without *resend*, a restart has
    /// to know what may have reached the operator.
    fn notes_tries(&self) -> bool {
        self.port.kind == QueueKind::Operator
            && self.node.plan().outcome_policy(self.port.id) != OutcomePolicy::Resend
    }

    fn dispatch(&mut self, session: u64, batch: DeliverBatch, ctx: &mut Context<Self>) {
        match self.port.session(session) {
            Some(port) => post_to(
                &port.deliver,
                Timed::new(batch, &self.node.mailboxes.session),
            ),
            // It left after it was asked; what it had sent before is settled by its own word.
            None => {
                self.sessions.retain(|slot| slot.session != session);
                let never_sent = batch.deliveries.iter().map(|delivery| delivery.id);
                let failed = never_sent
                    .filter(|id| {
                        self.held
                            .get(id)
                            .is_some_and(|held| held.session == session)
                    })
                    .map(|id| Failed {
                        id,
                        why: Why::NotSent.into(),
                        ..Failed::default()
                    })
                    .collect();
                self.settle_failed(session, failed, ctx);
            }
        }
    }

    fn note_then_dispatch(
        &mut self,
        session: u64,
        batch: DeliverBatch,
        at: i64,
        ctx: &mut Context<Self>,
    ) {
        let tries = batch
            .deliveries
            .iter()
            .map(|delivery| TryRow {
                id: delivery.id,
                attempt: delivery.attempt,
                at,
                operator: self.port.id,
            })
            .collect();
        let ticket = self.node.store.write(WriteBatch {
            tries,
            ..WriteBatch::default()
        });
        self.run_on_lists(ctx, ticket, move |queue, written, ctx| match written {
            Ok(_) => queue.dispatch(session, batch, ctx),
            Err(error) => {
                tracing::error!(queue = %queue.port.name, %error, "attempts not noted, so not made");
                let failed = batch
                    .deliveries
                    .iter()
                    .map(|delivery| Failed {
                        id: delivery.id,
                        why: Why::NotSent.into(),
                        ..Failed::default()
                    })
                    .collect();
                let room = batch.deliveries.len() as u32;
                queue.settle(
                    SettleBatch {
                        session,
                        failed,
                        room,
                        ..SettleBatch::default()
                    },
                    ctx,
                );
            }
        });
    }

    /// The next session with credit, taking turns.
    fn next_session(&self) -> Option<usize> {
        let count = self.sessions.len();
        (0..count)
            .map(|step| (self.turn + step) % count)
            .find(|at| self.sessions[*at].room > 0)
    }

    /// Tokens that the next message costs: one for each short message that a handset gets, but
    /// never more than there are at once.
    fn next_price(&mut self) -> u32 {
        let Some((_, message)) = self.lists.front() else {
            return 1;
        };
        let plan = self.node.plan();
        let burst = plan.rate_of(self.port.id).map_or(1, |(_, burst)| burst);
        content::segments(message).min(burst)
    }

    /// Reads bodies for what waits, while the page in front of a priority runs low, or an account has
    /// none.
    fn read_ahead(&mut self, ctx: &mut Context<Self>) {
        // Nobody to give them to: the bodies can stay where they are.
        if self.reading || (self.sessions.is_empty() && self.lists.ready() > 0) {
            return;
        }
        let page = self.node.config().queue.page;
        let Some((level, next)) = self.lists.next_page(page, PAGE) else {
            return;
        };
        for number in next.blocks {
            if !self.fetching.contains_key(&number) {
                self.fetch_block(level, number, |_, _, _| {}, ctx);
            }
        }
        let mut page = next.items;
        if !self.gone.is_empty() {
            page.retain(|item| !self.gone.remove(&item.id));
        }
        if page.is_empty() {
            return self.lists.level(level).end_reading();
        }
        (self.reading, self.being_read) = (true, page.len());
        let reply = self
            .node
            .store
            .load(page.iter().map(|item| item.id).collect());
        self.run_on_lists(ctx, reply, move |queue, loaded, ctx| {
            (queue.reading, queue.being_read) = (false, 0);
            match loaded {
                Ok(loaded) => queue.page_read(&page, loaded, ctx),
                Err(error) => {
                    tracing::error!(queue = %queue.port.name, %error, "a page could not be read");
                    page.into_iter()
                        .rev()
                        .filter(|item| !queue.leaving.has(item.part))
                        .for_each(|item| queue.lists.push_front(item));
                    queue.hold_for(READ_AGAIN);
                }
            }
            queue.lists.level(level).end_reading();
            queue.pump(ctx);
        });
    }

    fn page_read(&mut self, page: &[Item], loaded: Vec<Option<Stored>>, ctx: &mut Context<Self>) {
        for (item, stored) in page.iter().zip(loaded) {
            let Some(stored) = stored else { continue };
            if self.is_leaving(item) {
                continue;
            }
            let body = match (item.what, &stored.fin) {
                (What::Message, None) if stored.queue == self.port.id => stored.message,
                // Cancelled, finished or moved meanwhile.
                (What::Message, _) => continue,
                (What::Receipt, Some(fin)) => {
                    receipt::receipt_for(&self.node, &stored.message, fin)
                }
                (What::Receipt, None) => continue,
            };
            self.trace_wait(item.attempts, item.what, &body, ctx);
            self.lists.read(*item, Box::new(body));
        }
    }

    /// A traced message that has been tried is about to be tried again.
    pub(super) fn trace_wait(
        &self,
        attempts: u16,
        what: What,
        message: &Message,
        ctx: &mut Context<Self>,
    ) {
        if attempts == 0 || what != What::Message || traced::context_of(message).is_none() {
            return;
        }
        let (node, message, queue) = (self.node(), message.clone(), self.port.id);
        self.run(
            ctx,
            async move { traced::waited_again(&node, message, queue).await },
            |_, (), _| {},
        );
    }

    /// Writes a block out of memory when the lists are longer than the limit.
    pub(super) fn spill(&mut self, ctx: &mut Context<Self>) {
        let in_memory = self.lists.levels().iter();
        let in_memory: usize = in_memory.map(Level::in_memory_len).sum();
        if self.spilling || in_memory <= self.node.config().queue.memory_items {
            return;
        }
        let number = self.next_block;
        let Some((level, octets)) =
            (0..PRIORITIES).find_map(|level| Some((level, self.lists.level(level).leave(number)?)))
        else {
            return;
        };
        self.next_block += 1;
        self.spilling = true;
        let reply = self.node.store.spill_block(self.port.id, number, octets);
        self.run_on_lists(ctx, reply, move |queue, written, ctx| {
            queue.spilling = false;
            if !queue
                .lists
                .level(level)
                .spilled_as(number, written.is_err())
            {
                queue.forget_blocks(number..number + 1);
            }
            if written.is_ok() {
                queue.spill(ctx);
            }
        });
    }

    fn ask_tokens(&mut self, most: u32, ctx: &mut Context<Self>) {
        let room: u32 = self.sessions.iter().map(|slot| slot.room).sum();
        let wanted = room.min(self.lists.ready() as u32).min(most);
        let wanted = match wanted {
            0 => 0,
            some => some.max(self.next_price()),
        };
        if self.asking || wanted <= self.tokens {
            return;
        }
        self.asking = true;
        let throttle = self.node.throttle.clone();
        let ask = TakeTokens {
            key: self.port.id,
            wanted: wanted - self.tokens,
        };
        let ask = Timed::new(ask, &self.node.mailboxes.throttle);
        self.run(
            ctx,
            async move { throttle.recipient().send(ask).await },
            |queue, taken, ctx| {
                queue.asking = false;
                let taken = taken.unwrap_or(TakenTokens {
                    retry_in_ms: 100,
                    ..TakenTokens::default()
                });
                queue.take_tokens(taken.granted, taken.valid_ms);
                if taken.granted > 0 {
                    queue.pump(ctx);
                } else {
                    queue.node.metrics.throttle_waits.inc();
                    // Meanwhile nobody asks again: one timer per pause, not one per message.
                    queue.asking = true;
                    let pause = Duration::from_millis(u64::from(taken.retry_in_ms.max(1)));
                    ctx.run_later(pause, |queue, ctx| {
                        queue.asking = false;
                        queue.pump(ctx);
                    });
                }
            },
        );
    }

    /// Adds tokens to those that are left. Those of different moments end with the first of them.
    pub(super) fn take_tokens(&mut self, granted: u32, valid_ms: u32) {
        self.drop_dead_tokens();
        if granted == 0 {
            return;
        }
        let until =
            (valid_ms > 0).then(|| Instant::now() + Duration::from_millis(u64::from(valid_ms)));
        self.tokens_until = match self.tokens_until {
            Some(before) if self.tokens > 0 => {
                Some(until.map_or(before, |until| until.min(before)))
            }
            _ => until,
        };
        self.tokens += granted;
    }

    pub(super) fn drop_dead_tokens(&mut self) {
        if self
            .tokens_until
            .is_some_and(|until| Instant::now() >= until)
        {
            self.tokens = 0;
            self.tokens_until = None;
        }
    }

    /// The node context, for futures that outlive a borrow of the queue.
    pub(super) fn node(&self) -> Arc<crate::actors::context::NodeContext> {
        Arc::clone(&self.node)
    }
}
