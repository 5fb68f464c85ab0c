//! Settling: what the sessions say became of what they were given.

use actix::Context;

use super::guard::Went;
use super::waiting::Taken;
use super::{HeldItem, Item, Queue};
use crate::actors::context::ports::Counted;
use crate::actors::receipts::final_state;
use crate::clock;
use crate::config::OutcomePolicy;
use crate::domain::retry::Decision;
use crate::domain::{bind, command_status};
use crate::pb::delivery::What;
use crate::pb::failed::Why;
use crate::pb::{Failed, Final, Kind, MessageState, SettleBatch};
use crate::smpp::CommandStatus;
use crate::store::{RetryRow, SentRow, WriteBatch};

/// Most attempts without an answer whose sender is remembered.
const TIMED_OUT: usize = 65_536;

impl Queue {
    pub(super) fn settle(&mut self, batch: SettleBatch, ctx: &mut Context<Self>) {
        self.settle_done(batch.session, &batch.done, ctx);
        if !batch.failed.is_empty() {
            self.settle_failed(batch.session, batch.failed, ctx);
        }
        if batch.room > 0 {
            self.add_room(batch.session, batch.room);
        }
    }

    fn settle_done(&mut self, session: u64, done: &[u64], ctx: &mut Context<Self>) {
        let (mut arrived, mut told, mut delivered) = (Vec::new(), Vec::new(), Vec::new());
        for id in done {
            let Some(HeldItem { item, probe, .. }) = self.held.remove(id) else {
                // A late answer for something that waits again: it has arrived after all.
                let late = match self.unsure.remove(id) {
                    Some((_, item)) => Taken::Item(item),
                    None => {
                        let sender = self.timed_out.remove(id);
                        self.remove(*id, sender)
                    }
                };
                match late {
                    Taken::Item(item) => arrived.push(item),
                    // Passed over when it comes back into memory.
                    Taken::Away => drop(self.gone.insert(*id)),
                    Taken::NotHere if self.reading => drop(self.gone.insert(*id)),
                    Taken::NotHere => {}
                }
                continue;
            };
            self.went(probe, Went::Well);
            arrived.push(item);
        }
        self.port.less_to_do(arrived.len());
        for item in arrived {
            self.counters.delivered += 1;
            match item.what {
                What::Receipt => told.push(item.id),
                What::Message if self.is_operator() => {}
                What::Message => delivered.push(item),
            }
        }
        if !told.is_empty() {
            self.node.metrics.receipts_told.inc_by(told.len() as u64);
            let counted = Counted::new(&self.port, told.len());
            let ticket = self.node.store.write(WriteBatch {
                told,
                ..WriteBatch::default()
            });
            self.run(ctx, ticket, move |queue, written, _| {
                drop(counted);
                if let Err(error) = written {
                    tracing::error!(queue = %queue.port.name, %error, "told rows not written; these receipts will be repeated after a restart");
                }
            });
        }
        if !delivered.is_empty() {
            self.delivered_to_account(session, delivered, ctx);
        }
    }

    /// deliver_sm_resp with ESME_ROK from an account: an MO message has arrived; an MT message is
    /// in the hands of the peer.
    fn delivered_to_account(&mut self, session: u64, items: Vec<Item>, ctx: &mut Context<Self>) {
        let node = self.node();
        let queue = self.port.id;
        let by = bind::number(node.ids.node(), session);
        let at = clock::now_ms();
        let counted = Counted::new(&self.port, items.len());
        self.write(ctx, async move {
            // Until these rows are durable, or cannot be.
            let _counted = counted;
            let ids: Vec<u64> = items.iter().map(|item| item.id).collect();
            let Some(loaded) = final_state::load(&node, ids).await else {
                return;
            };
            let mut batch = WriteBatch::default();
            let mut finals = Vec::with_capacity(items.len());
            for (item, stored) in items.iter().zip(loaded) {
                let Some(stored) = stored else { continue };
                let state = match stored.message.kind() {
                    Kind::Mo => MessageState::Delivered,
                    Kind::Mt => MessageState::Accepted,
                };
                batch.sent.push(SentRow {
                    id: item.id,
                    attempt: u32::from(item.attempts) + 1,
                    at,
                    operator: queue,
                    status: 0,
                    operator_message_id: bytes::Bytes::new(),
                    latency_ms: 0,
                    correlation: 0,
                    bind: by,
                });
                finals.push(Final {
                    id: item.id,
                    state: state.into(),
                    at,
                    message: Some(Box::new(stored.message)),
                    operator: queue,
                    attempts: u32::from(item.attempts) + 1,
                    ..Final::default()
                });
            }
            final_state::write(&node, batch, finals).await;
        });
    }

    pub(super) fn settle_failed(
        &mut self,
        session: u64,
        failed: Vec<Failed>,
        ctx: &mut Context<Self>,
    ) {
        let now = clock::now_ms();
        let mut batch = WriteBatch::default();
        let mut finals = Vec::new();
        // Back to the front in reverse, so that their order stays.
        for failure in failed.into_iter().rev() {
            if failure.late {
                self.refused_after_all(session, &failure, now, (&mut batch, &mut finals), ctx);
                continue;
            }
            // Given to another session since: this one's word is too old.
            let held = self.held.get(&failure.id);
            if held.is_none_or(|held| held.session != session) {
                continue;
            }
            let Some(held) = self.held.remove(&failure.id) else {
                continue;
            };
            if self.guard.breaker.is_on() {
                let verdict = self.verdict(&failure);
                self.went(held.probe, verdict);
            }
            self.fail(held, &failure, now, &mut batch, &mut finals, ctx);
        }
        if !batch.is_empty() || !finals.is_empty() {
            self.finish(batch, finals, ctx);
        }
    }

    /// What was to wait for its receipt was refused: none will come, and the status says what to do. A
    /// message that is sent again meanwhile has the answers of its further attempts.
    fn refused_after_all(
        &mut self,
        session: u64,
        failure: &Failed,
        now: i64,
        (batch, finals): (&mut WriteBatch, &mut Vec<Final>),
        ctx: &mut Context<Self>,
    ) {
        let Some((_, item)) = self.unsure.remove(&failure.id) else {
            return;
        };
        self.node.metrics.late_answers.inc();
        let held = HeldItem {
            session,
            item,
            probe: false,
        };
        self.fail(held, failure, now, batch, finals, ctx);
    }

    fn fail(
        &mut self,
        held: HeldItem,
        failure: &Failed,
        now: i64,
        batch: &mut WriteBatch,
        finals: &mut Vec<Final>,
        ctx: &mut Context<Self>,
    ) {
        let plan = self.node.plan();
        let HeldItem { item, session, .. } = held;
        let attempt = u32::from(item.attempts) + 1;
        let status = match failure.why() {
            Why::Unknown => SentRow::NO_ANSWER,
            _ => failure.status,
        };
        let row = SentRow {
            id: item.id,
            attempt,
            at: now,
            operator: self.port.id,
            status,
            operator_message_id: bytes::Bytes::new(),
            latency_ms: failure.latency_ms,
            correlation: 0,
            bind: bind::number(self.node.ids.node(), session),
        };
        let decision = match failure.why() {
            Why::NotSent => {
                self.lists.push_front(item);
                return;
            }
            Why::Status => plan
                .retry_of(self.port.id)
                .decide(failure.status, u32::from(item.attempts) + 1),
            Why::Unknown => match plan.outcome_policy(self.port.id) {
                // A receipt is repeated until it is acknowledged, whatever the policy.
                _ if item.what == What::Receipt => {
                    self.remember_timed_out(&item);
                    self.lists.push_front(item);
                    return;
                }
                OutcomePolicy::Resend => Decision::Temporary {
                    after: std::time::Duration::ZERO,
                },
                OutcomePolicy::Wait => {
                    batch.sent.push(row);
                    self.wait_for_receipt(item, now);
                    return;
                }
                OutcomePolicy::Fail => Decision::Permanent,
            },
        };
        if failure.why() == Why::Unknown {
            self.node.metrics.outcome_unknown.inc();
            self.remember_timed_out(&item);
        }
        match decision {
            Decision::Throttled { after } => {
                self.node.metrics.throttled_by_operator.inc();
                // Where there is a pace, all others go on at it.
                let is_paced = self.slow_down(failure.status);
                let is_throttled = failure.status == CommandStatus::ESME_RTHROTTLED.0;
                if !after.is_zero() && is_throttled && !is_paced {
                    self.hold_for(after);
                    self.lists.push_front(item);
                } else if !after.is_zero() {
                    self.pause(item, now + after.as_millis() as i64);
                } else {
                    self.lists.push_front(item);
                }
            }
            Decision::Temporary { after } => {
                self.counters.retried += 1;
                self.node.metrics.retries.inc();
                let again = Item {
                    attempts: attempt.min(u32::from(u16::MAX)) as u16,
                    ..item
                };
                if item.what == What::Receipt {
                    self.pause(again, now + after.as_millis() as i64);
                    return;
                }
                let due_at = now + after.as_millis() as i64;
                batch.sent.push(row);
                batch.retry.push(RetryRow {
                    id: item.id,
                    due_at,
                    attempts: attempt,
                });
                if self.has_alternative() && failure.why() == Why::Status {
                    self.fail_over(again, due_at, ctx);
                } else if after.is_zero() {
                    self.lists.push_front(again);
                } else {
                    self.pause(again, due_at);
                }
            }
            Decision::Permanent if item.what == What::Receipt => {
                // The account refuses its receipt for good: asking again would never end.
                self.counters.failed += 1;
                self.node.metrics.receipts_refused.inc();
                let refused = command_status::display(failure.status);
                batch.give_up(item.id, now, &format!("refused with {refused}"));
            }
            Decision::Permanent => {
                self.counters.failed += 1;
                let (state, error) = match failure.why() {
                    Why::Unknown => (MessageState::Undeliverable, String::new()),
                    _ => (MessageState::Rejected, status.to_string()),
                };
                batch.sent.push(row);
                finals.push(Final {
                    id: item.id,
                    state: state.into(),
                    error: error.into(),
                    at: now,
                    message: None,
                    operator: self.port.id,
                    attempts: attempt,
                    ..Final::default()
                });
            }
        }
    }

    fn remember_timed_out(&mut self, item: &Item) {
        if self.timed_out.len() >= TIMED_OUT {
            // Those of the others are looked for at every account.
            self.timed_out.clear();
        }
        self.timed_out.insert(item.id, item.sender);
    }

    /// A session is gone. What it had sent it has settled before, as unknown where no answer came;
    /// what is still held here was granted while it left, and was never sent.
    pub(super) fn session_down(&mut self, session: u64, ctx: &mut Context<Self>) {
        self.sessions.retain(|slot| slot.session != session);
        let failed: Vec<Failed> = self
            .held
            .iter()
            .filter(|(_, held)| held.session == session)
            .map(|(id, _)| Failed {
                id: *id,
                why: Why::NotSent.into(),
                ..Failed::default()
            })
            .collect();
        if !failed.is_empty() {
            self.settle_failed(session, failed, ctx);
        }
    }
}
