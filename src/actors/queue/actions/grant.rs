//! Granting: hands ready messages to sessions, as far as credit, tokens, the operator and the store allow.
//!
//! Called whenever one of these may allow more. Invariants: a message handed out is held until it is settled,
//! and without *resend* an attempt is durable before its octets go out.

use std::sync::atomic::Ordering;

use actix::{AsyncContext, Context};

use crate::actors::context::addresses::post_to;
use crate::actors::context::backpressure::QueueLevel;
use crate::actors::context::item::has_expired;
use crate::actors::context::ports::QueueKind;
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::{Backlog, Withdrawn};
use crate::actors::queue::guard::Quota;
use crate::actors::queue::in_flight::HeldItem;
use crate::actors::queue::sessions::SessionTurn;
use crate::actors::queue::suspects::ASIDE;
use crate::actors::runtime::timed_mailbox::Timed;
use crate::clock;
use crate::config::OutcomePolicy;
use crate::content;
use crate::pb::{DeliverBatch, Delivery, Failed, TakeTokens, TakenTokens};
use crate::store::{TryRow, WriteBatch};

/// Most deliveries in one batch to one session.
pub(super) const BATCH: u32 = 256;

/// The limits of one batch.
struct Allowed {
    messages: u32,
    tokens: u32,
    /// Most tokens that one message costs; `None` without a rate.
    burst: Option<u32>,
    /// The batch probes whether the operator works again.
    probing: bool,
    /// Unix ms.
    now: i64,
}

impl Queue {
    /// Hands out ready messages, as far as credit and tokens allow, and lets as many in.
    pub(in crate::actors::queue) fn pump(&mut self, ctx: &mut Context<Self>) {
        let before = self.counters.granted;
        self.in_flight.look(&self.port.unwritten);
        if self.may_grant() {
            self.try_suspects(ctx);
            self.grant(ctx);
        }
        self.port.backpressure.steer(QueueLevel {
            waiting: self.backlog.len() - self.backlog.scheduled_len(),
            page: self.node.config().queue.page,
            granted: (self.counters.granted - before) as usize,
            // What a rate limits is not limited by this machine.
            is_fast: self.in_flight.is_fast() && self.burst().is_none(),
        });
    }

    fn grant(&mut self, ctx: &mut Context<Self>) {
        let now = clock::now_ms();
        self.read_ahead(ctx);
        let burst = self.burst();
        self.tokens.drop_dead();
        let room = self.room_for_unwritten();
        let room = self.in_order_quota(room);
        let room = self.quota_in_doubt(room);
        let mut quota = self.guard.quota(room);
        let mut expired = Vec::new();
        while let Some(turn) = self.sessions.next() {
            let allowed = Allowed {
                messages: turn.room.min(BATCH).min(quota.left),
                tokens: self.tokens.count(),
                burst,
                probing: quota.probing,
                now,
            };
            let (deliveries, spent) = self.fill(&turn, &allowed, &mut expired);
            if deliveries.is_empty() {
                break;
            }
            if self.suspects.tries_each() && !self.suspects.is_trying() {
                self.try_these(&turn, &deliveries);
            }
            self.hand_out(&turn, deliveries, spent, &mut quota, ctx);
        }
        if !expired.is_empty() {
            self.expire_items(expired, ctx);
        }
        if quota.left == 0 {
            self.port.unwritten.wait();
        }
        if let Some(burst) = burst {
            self.ask_tokens(quota.left, burst, ctx);
        }
        self.read_ahead(ctx);
    }

    /// Gives a session what was taken for it.
    pub(super) fn hand_out(
        &mut self,
        turn: &SessionTurn,
        deliveries: Vec<Delivery>,
        spent: u32,
        quota: &mut Quota,
        ctx: &mut Context<Self>,
    ) {
        let granted = deliveries.len() as u32;
        let grant = self.counters.granted;
        self.counters.granted += u64::from(granted);
        quota.left -= granted;
        self.tokens.spend(spent);
        self.guard.spent(quota, granted);
        self.sessions.granted(turn, granted);
        let batch = DeliverBatch {
            queue: self.port.id,
            deliveries,
            joined: turn.joined,
        };
        if self.notes_tries() {
            self.note_then_dispatch(*turn, batch, grant, ctx);
        } else {
            self.dispatch(turn.session, batch, ctx);
        }
    }

    /// Grants made while the store is stalled would be unknown after a crash, so the timer tries again
    /// later.
    fn may_grant(&self) -> bool {
        self.recovery.is_running()
            && !self.recovery.is_to_read_again()
            && !self.port.suspended.load(Ordering::Relaxed)
            && !self.node.draining.load(Ordering::Relaxed)
            && self.node.local_lease.is_valid()
            && !self.tokens.is_on_hold()
            && !self.node.store.is_stalled()
    }

    /// Most tokens that a message may cost: the size of the operator's bucket. An account's rate limits
    /// what it submits, so its queue has none.
    pub(super) fn burst(&self) -> Option<u32> {
        if !self.is_operator() {
            return None;
        }
        let rate = self.node.rate_of(self.port.id);
        rate.map(|(_, burst)| burst)
    }

    /// How many more attempts may be unwritten.
    pub(super) fn room_for_unwritten(&self) -> u32 {
        let windows = self.sessions.windows();
        let commit = self.node.commit_rows();
        let under_way = self.under_way_len();
        (self.in_flight).room(windows, commit, under_way, &self.port.unwritten)
    }

    /// Fills a batch for a session; returns how many tokens it costs.
    fn fill(
        &mut self,
        turn: &SessionTurn,
        allowed: &Allowed,
        expired: &mut Vec<Withdrawn>,
    ) -> (Vec<Delivery>, u32) {
        let most = allowed.messages as usize;
        let mut deliveries = Vec::with_capacity(most.min(self.backlog.ready()));
        let mut spent = 0;
        let ownership = self.node.local_lease.hold();
        while deliveries.len() < most {
            let price = match allowed.burst {
                Some(burst) => price_of_next(&mut self.backlog, burst),
                None => 0,
            };
            if allowed.burst.is_some() && spent + price > allowed.tokens {
                break;
            }
            let Some((item, message)) = self.backlog.pop(price.max(1)) else {
                break;
            };
            // The store has it, for the node that owns its partition.
            if !ownership.owns(self.port.id, item.part) || self.backlog.is_skipped(item.id) {
                self.have_left([item.id].into_iter());
                continue;
            }
            if has_expired(item.expires, allowed.now) {
                expired.push((item, Some(message)));
                continue;
            }
            if self.backlog.is_in_order() {
                self.in_order.give(item.id, &message);
            } else if !self.suspects.is_quiet()
                && self.sets_aside()
                && (self.suspects.has(item.id)
                    || self.suspects.passes_over(&item, self.backlog.listed_len()))
            {
                self.in_flight.hold_reported(ASIDE, item);
                // Thousands may be aside: each is read again for its try.
                self.suspects.set_aside(item, None);
                continue;
            }
            if let Some(line) = self.line() {
                line.join(&message.destination, item.part, item.id);
            }
            let held = HeldItem {
                session: turn.session,
                item,
                probe: allowed.probing,
                grant: self.counters.granted,
            };
            deliveries.push(self.in_flight.give(held, message));
            spent += price;
        }
        (deliveries, spent)
    }

    /// Whether an attempt must be durable before its octets go out: without *resend*, a restart must
    /// know which messages may have reached the operator.
    pub(super) fn notes_tries(&self) -> bool {
        self.port.kind == QueueKind::Operator
            && self.node.plan().outcome_policy(self.port.id) != OutcomePolicy::Resend
    }

    fn dispatch(&mut self, session: u64, batch: DeliverBatch, ctx: &mut Context<Self>) {
        let port = self.port.session(session);
        match port.filter(|port| self.sessions.has_since(session, port.joined)) {
            Some(port) => post_to(
                &port.deliver,
                Timed::new(batch, &self.node.mailboxes.session),
            ),
            // The session ended after it was asked, and may have joined again; it has settled what it had sent before.
            None => {
                self.sessions.drop_room(session);
                let never_sent = batch.deliveries.iter().map(|delivery| delivery.id);
                let held = never_sent.filter(|id| self.in_flight.is_with(session, *id));
                let failed = held.map(Failed::not_sent).collect();
                self.settle_failed(session, failed, ctx);
            }
        }
    }

    fn note_then_dispatch(
        &mut self,
        turn: SessionTurn,
        mut batch: DeliverBatch,
        grant: u64,
        ctx: &mut Context<Self>,
    ) {
        let at = clock::now_ms();
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
        let (session, lists) = (turn.session, self.under_way.lists());
        self.note(ctx, ticket, move |queue, written, ctx| {
            // When the session has ended, they were taken back, and may be granted anew, to the same one if it is there
            // again. When the lease has ended, the next owner has them. And one may have ended by a late answer to the
            // attempt before.
            let (in_flight, noted) = (&queue.in_flight, batch.deliveries.len());
            let is_here = lists.are_there();
            (batch.deliveries)
                .retain(|one| is_here && in_flight.is_with_since(session, grant, one.id));
            // The session is not sent the others: it has nothing to settle that would give their room back.
            let never_sent = (noted - batch.deliveries.len()) as u32;
            queue.sessions.return_room(&turn, never_sent);
            if batch.deliveries.is_empty() {
                return;
            }
            match written {
                Ok(_) => queue.dispatch(session, batch, ctx),
                Err(error) => {
                    tracing::error!(queue = %queue.port.name, %error, "attempts could not be written, so they are not made");
                    let room = batch.deliveries.len() as u32;
                    let never_sent = batch.deliveries.iter().map(|delivery| delivery.id);
                    let failed = never_sent.map(Failed::not_sent).collect();
                    queue.settle_failed(session, failed, ctx);
                    queue.sessions.return_room(&turn, room);
                }
            }
        });
    }

    fn ask_tokens(&mut self, most: u32, burst: u32, ctx: &mut Context<Self>) {
        let room = self.sessions.room().min(self.backlog.ready() as u64);
        let wanted = u32::try_from(room).unwrap_or(u32::MAX).min(most);
        let price = price_of_next(&mut self.backlog, burst);
        let wanted = match wanted {
            0 => 0,
            some => some.max(price),
        };
        self.take_tokens(wanted, price, ctx);
    }

    /// Asks Throttle for `wanted` tokens, of which `price` are needed at once.
    pub(super) fn take_tokens(&mut self, wanted: u32, price: u32, ctx: &mut Context<Self>) {
        let least = price.saturating_sub(self.tokens.count());
        let Some(wanted) = self.tokens.ask(wanted) else {
            return;
        };
        let throttle = self.node.throttle.clone();
        let ask = TakeTokens {
            key: self.port.id,
            wanted,
            least,
        };
        let ask = Timed::new(ask, &self.node.mailboxes.throttle);
        let reply = async move { throttle.recipient().send(ask).await };
        self.run(ctx, reply, |queue, taken, ctx| {
            let taken = taken.unwrap_or(TakenTokens {
                retry_in_ms: 100,
                ..TakenTokens::default()
            });
            let Some(pause) = queue.tokens.answered(&taken) else {
                return queue.pump(ctx);
            };
            queue.node.metrics.throttle_waits.inc();
            let name = &queue.port.name;
            queue.node.metrics.waits_of(name).inc();
            ctx.run_later(pause, |queue, ctx| {
                queue.tokens.may_ask();
                queue.pump(ctx);
            });
        });
    }
}

/// Tokens that the next message costs: one for each short message that a handset receives, but at most
/// `burst`.
fn price_of_next(backlog: &mut Backlog, burst: u32) -> u32 {
    let next = backlog.front();
    next.map_or(1, |(_, message)| content::segments(message).min(burst))
}
