//! Settling: what became of the messages that sessions were given.
//!
//! Called by the actor for each settlement, including those kept while the store was read. Invariant: each
//! attempt that was made leaves a row, and its message then does one of three things: it ends, waits again,
//! or waits for its receipt.

use std::collections::BTreeSet;
use std::time::Duration;

use actix::Context;

use crate::actors::context::item::Item;
use crate::actors::context::ports::{QueueKind, UnwrittenAttempts};
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::TakenItem;
use crate::actors::queue::guard::breaker_verdict;
use crate::actors::queue::in_flight::HeldItem;
use crate::actors::queue::partition_set::PartitionSet;
use crate::actors::queue::suspects::ASIDE;
use crate::actors::receipts::confirms::Confirms;
use crate::actors::receipts::final_state;
use crate::actors::receipts::states::MessageReached;
use crate::clock;
use crate::config::OutcomePolicy;
use crate::domain::command_status::RefusalClass;
use crate::domain::gsm_result::BreakerVerdict;
use crate::domain::outcomes::counts_for_shares;
use crate::domain::queue_name::QueueName;
use crate::domain::retry::Decision;
use crate::domain::{bind, command_status};
use crate::pb::delivery::What;
use crate::pb::failed::Why;
use crate::pb::{EarlyState, Failed, Final, Kind, MessageState, SettleBatch, StateReport};
use crate::smpp::CommandStatus;
use crate::store::{RetryRow, SentRow, TryRow, WriteBatch};

/// A session tells its queue of a failure sooner than this, milliseconds.
const REPORTED_WITHIN: i64 = 60_000;

/// An attempt that has failed.
pub(super) struct FailedAttempt<'a> {
    pub(super) item: Item,
    failure: &'a Failed,
    /// The first attempt is 1.
    pub(super) number: u32,
    /// Unix ms.
    pub(super) at: i64,
    /// The bind over which it was made.
    bind: u64,
}

/// The rows to write for a settlement.
#[derive(Default)]
pub(super) struct Results {
    pub(super) batch: WriteBatch,
    finals: Vec<Final>,
    reached: Vec<MessageReached>,
}

// === impl FailedAttempt ===

impl FailedAttempt<'_> {
    fn row(&self, operator: u32) -> SentRow {
        SentRow {
            id: self.item.id,
            attempt: self.number,
            at: self.at,
            operator,
            status: match self.failure.why() {
                Why::Unknown => SentRow::NO_ANSWER,
                _ => self.failure.status,
            },
            operator_message_id: bytes::Bytes::new(),
            latency_ms: self.failure.latency_ms,
            correlation: 0,
            bind: self.bind,
            known_as: None,
        }
    }

    /// That another one follows at `due_at`, if the sender of the message hears of it.
    fn retrying(&self, operator: u32, due_at: i64) -> Option<MessageReached> {
        let message = self.failure.message.clone()?;
        let report = StateReport {
            state: EarlyState::Retrying.into(),
            at: self.at,
            attempt: self.number,
            operator,
            status: self.row(operator).status,
            due_at,
            ..StateReport::default()
        };
        Some(MessageReached { message, report })
    }

    /// When the message is due after a pause, Unix ms.
    pub(super) fn due_after(&self, pause: Duration) -> i64 {
        self.at + pause.as_millis() as i64
    }
}

/// When the session knew of a failure, Unix ms. The clock may have been set since then.
fn known_at(failure: &Failed, now: i64) -> i64 {
    let is_known = (now - REPORTED_WITHIN..=now).contains(&failure.at);
    if is_known { failure.at } else { now }
}

// === impl Queue ===

impl Queue {
    pub(in crate::actors::queue) fn settle(
        &mut self,
        mut batch: SettleBatch,
        ctx: &mut Context<Self>,
    ) {
        self.late_holds.keep_settled(&mut batch);
        self.settle_done(batch.session, &batch.done, ctx);
        if !batch.failed.is_empty() {
            self.settle_failed(batch.session, batch.failed, ctx);
        }
        if batch.room > 0 {
            self.sessions
                .add_room(&self.port, batch.session, batch.joined, batch.room);
        }
    }

    fn settle_done(&mut self, session: u64, done: &[u64], ctx: &mut Context<Self>) {
        let (mut arrived, mut told, mut delivered) = (Vec::new(), Vec::new(), Vec::new());
        self.suspects.answered(done.iter().copied());
        for id in done {
            match self.in_flight.settle(*id) {
                Some(HeldItem {
                    session: holder,
                    item,
                    probe,
                    ..
                }) => {
                    if holder == ASIDE {
                        // Answered late: it is tried no more.
                        self.suspects.take_aside(*id);
                    }
                    self.guard
                        .note_attempt(probe, BreakerVerdict::Works, &self.port.name);
                    arrived.push(item);
                }
                None => arrived.extend(self.answered_late(*id)),
            }
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
            self.told(told, ctx);
        }
        if !delivered.is_empty() {
            self.delivered_to_account(session, delivered, ctx);
        }
    }

    /// A late answer for a message that waits again: the earlier attempt has arrived after all.
    fn answered_late(&mut self, id: u64) -> Option<Item> {
        if let Some(item) = self.in_flight.take_unsure(id) {
            return Some(item);
        }
        let sender = self.in_flight.take_timed_out(id);
        match self.backlog.remove(id, sender) {
            TakenItem::Item(item) => return Some(item),
            // It is out of reach for now: the queue skips it when it comes back into memory.
            TakenItem::Away => self.backlog.skip(id),
            TakenItem::NotHere if self.backlog.is_reading() => self.backlog.skip(id),
            TakenItem::NotHere => {}
        }
        None
    }

    /// Accounts have acknowledged these receipts.
    fn told(&mut self, told: Vec<u64>, ctx: &mut Context<Self>) {
        self.node.metrics.receipts_told.inc_by(told.len() as u64);
        let counted = UnwrittenAttempts::new(&self.port, told.len());
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

    /// An account answered deliver_sm with ESME_ROK: an MO message has been delivered, and an MT
    /// message is with the peer.
    fn delivered_to_account(&mut self, session: u64, items: Vec<Item>, ctx: &mut Context<Self>) {
        let node = self.node();
        let queue = self.port.id;
        let by = bind::number(node.ids.node(), session);
        let at = clock::now_ms();
        let counted = UnwrittenAttempts::new(&self.port, items.len());
        let work = async move {
            // Counted until these rows are durable or have failed.
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
                    known_as: None,
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
        };
        self.write(ctx, work, |_, (), _| {});
    }

    pub(super) fn settle_failed(
        &mut self,
        session: u64,
        failed: Vec<Failed>,
        ctx: &mut Context<Self>,
    ) {
        // Told at the end of this, or of the write.
        let confirms = Confirms::of_failed(&self.node, session, &failed);
        let now = clock::now_ms();
        let bind = bind::number(self.node.ids.node(), session);
        let mut results = Results::default();
        let notes_tries = self.notes_tries();
        let mut not_made = Vec::new();
        let opened = self.guard.opened();
        let culprit = self.blame(session, &failed);
        let mut refusals = Vec::new();
        let mut elsewhere = PartitionSet::default();
        // In reverse, so that pushing them to the front keeps their order.
        for failure in failed.iter().rev() {
            let item = if failure.late {
                self.refused_after_all(failure)
            } else {
                self.failed(session, failure)
            };
            let Some(item) = item else { continue };
            let is_here = self.leaving.has(item.part) || self.is_ours(item);
            if !is_here {
                elsewhere.add(PartitionSet::of([item.part]));
            }
            let number = u32::from(item.attempts) + 1;
            if self.is_refusal(failure, item) {
                refusals.push((item.sender, number, failure));
            }
            let attempt = FailedAttempt {
                item,
                failure,
                number,
                at: known_at(failure, now),
                bind,
            };
            let rows = results.batch.sent.len();
            match failure.why() {
                Why::NotSent => self.put_back(item, Duration::ZERO),
                Why::Status => self.refused(&attempt, &mut results, ctx),
                Why::Unknown if culprit == Some(item.id) => self.accuse(&attempt, &mut results),
                Why::Unknown => self.unanswered(&attempt, &mut results),
                Why::Later => {
                    let pause = Duration::from_millis(failure.pause_ms);
                    self.refused_for_now(&attempt, pause, &mut results, ctx);
                }
                Why::GivenUp => self.given_up(&attempt, &mut results),
                Why::Waits | Why::HeldUp => self.waits(&attempt, &mut results),
            }
            // Of what another node owns by now, that node may have noted an attempt.
            let has_row = results.batch.sent.len() > rows;
            if notes_tries && is_here && !has_row && item.what == What::Message {
                not_made.push(TryRow {
                    id: item.id,
                    attempt: number,
                    at: TryRow::NOT_MADE,
                    operator: self.port.id,
                });
            }
        }
        if !not_made.is_empty() {
            self.note_not_made(not_made, ctx);
        }
        if elsewhere != PartitionSet::default() {
            // The lease has ended. Their next owner reads them; here they would wait for good.
            self.forget(elsewhere);
        }
        self.count_refusals(&refusals, now);
        if self.guard.opened() > opened {
            self.call_back();
        }
        let Results {
            batch,
            finals,
            reached,
        } = results;
        if !batch.is_empty() || !finals.is_empty() {
            self.finish_and_confirm(batch, finals, reached, confirms, ctx);
        }
    }

    /// Attempts that were noted have not been made, or were throttled: they wait again, and leave no row that says so. Asked for
    /// at once, so that what the next grant notes comes after it.
    fn note_not_made(&mut self, tries: Vec<TryRow>, ctx: &mut Context<Self>) {
        let ticket = self.node.store.write(WriteBatch {
            tries,
            ..WriteBatch::default()
        });
        self.write(ctx, ticket, |queue, written, _| {
            if let Err(error) = written {
                tracing::warn!(queue = %queue.port.name, %error, "attempts that were not made count as made after a restart");
            }
        });
    }

    /// Whether this node owns its partition.
    fn is_ours(&self, item: Item) -> bool {
        (self.node.local_lease.hold()).owns(self.port.id, item.part)
    }

    /// Whether an operator has refused a message with an error that is not throttling.
    fn is_refusal(&self, failure: &Failed, item: Item) -> bool {
        let is_of_operator = self.port.kind == QueueKind::Operator && item.what == What::Message;
        if !is_of_operator || failure.why() != Why::Status || failure.unsent {
            return false;
        }
        let plan = self.node.plan();
        plan.retry_of(self.port.id).class(failure.status) != RefusalClass::Throttled
    }

    /// Counts refusals: account, number of the attempt, and the answer.
    fn count_refusals(&self, refusals: &[(u32, u32, &Failed)], now: i64) {
        if refusals.is_empty() {
            return;
        }
        self.node.outcomes.count(|log| {
            for (account, attempt, answer) in refusals {
                let mut counts = log.at(self.port.id, *account, now);
                if counts_for_shares(*attempt) {
                    counts.note_refused(answer.status, answer.latency_ms);
                } else {
                    counts.note_refused_again(answer.status, answer.latency_ms);
                }
            }
        });
    }

    /// The item, if this session still holds it.
    fn failed(&mut self, session: u64, failure: &Failed) -> Option<Item> {
        let HeldItem { item, probe, .. } = self.in_flight.take_back(session, failure.id)?;
        if self.guard.is_watching() {
            let plan = self.node.plan();
            let verdict = if failure.ended && self.suspects.doubts_peer() {
                BreakerVerdict::Fails
            } else {
                breaker_verdict(failure, plan.retry_of(self.port.id), probe)
            };
            self.guard.note_attempt(probe, verdict, &self.port.name);
        }
        Some(item)
    }

    /// The breaker has opened. Connections to a GSM network hold more than they have under way: they give that back.
    fn call_back(&self) {
        if QueueName::parse(&self.port.name).is_handsets() {
            let parts = self.in_flight.items().map(|item| u32::from(item.part));
            let parts: BTreeSet<u32> = parts.collect();
            self.ask_sessions(0, &Vec::from_iter(parts));
        }
    }

    /// A refusal of a message that waited for its receipt: no receipt will come, and the status says
    /// what to do. If the message is being sent again meanwhile, the answers to its later attempts
    /// count instead.
    fn refused_after_all(&mut self, failure: &Failed) -> Option<Item> {
        let item = self.in_flight.take_unsure(failure.id)?;
        self.node.metrics.late_answers.inc();
        Some(item)
    }

    /// No answer came: the outcome is unknown.
    pub(super) fn unanswered(&mut self, attempt: &FailedAttempt, results: &mut Results) {
        let item = attempt.item;
        if item.what == What::Receipt {
            // A receipt is repeated until it is acknowledged, whatever the policy.
            self.in_flight.remember_timed_out(&item);
            return self.put_back_suspect(item);
        }
        let policy = self.node.plan().outcome_policy(self.port.id);
        if policy == OutcomePolicy::Wait {
            results.batch.sent.push(attempt.row(self.port.id));
            return self.wait_for_receipt(item, attempt.at);
        }
        self.node.metrics.outcome_unknown.inc();
        self.in_flight.remember_timed_out(&item);
        if policy == OutcomePolicy::Fail {
            return self.fail(attempt, MessageState::Undeliverable, String::new(), results);
        }
        let again = self.try_again(attempt, attempt.at, results);
        self.put_back_suspect(again);
    }

    /// The peer has refused the message: permanently, temporarily, or because it throttles.
    fn refused(&mut self, attempt: &FailedAttempt, results: &mut Results, ctx: &mut Context<Self>) {
        let status = attempt.failure.status;
        let plan = self.node.plan();
        let decision = plan.retry_of(self.port.id).decide(status, attempt.number);
        drop(plan);
        match decision {
            Decision::Throttled { after } => self.throttled(attempt, after),
            Decision::Temporary { after } => self.refused_for_now(attempt, after, results, ctx),
            Decision::Permanent if attempt.item.what == What::Receipt => {
                // The account refuses its receipt permanently: repeating it would never end.
                self.counters.failed += 1;
                self.node.metrics.receipts_refused.inc();
                let reason = format!("refused with {}", command_status::display(status));
                results.batch.give_up(attempt.item.id, attempt.at, &reason);
            }
            Decision::Permanent => {
                self.fail(attempt, MessageState::Rejected, status.to_string(), results);
            }
        }
    }

    /// The operator throttles. With an adaptive pace, other messages continue at that pace.
    fn throttled(&mut self, attempt: &FailedAttempt, after: Duration) {
        self.node.metrics.throttled_by_operator.inc();
        let status = attempt.failure.status;
        let plan = self.node.plan();
        let sent = self.counters.granted;
        let is_paced = self.guard.slow_down(&plan, &self.port, status, sent);
        let is_throttled = status == CommandStatus::ESME_RTHROTTLED.0;
        if after.is_zero() || self.backlog.is_in_order() {
            self.put_back(attempt.item, after);
        } else if is_throttled && !is_paced {
            self.tokens.hold_for(after);
            self.backlog.push_front(attempt.item);
        } else {
            let until = attempt.due_after(after);
            self.backlog.pause(attempt.item, until, plan.longest_pause);
        }
    }

    fn refused_for_now(
        &mut self,
        attempt: &FailedAttempt,
        after: Duration,
        results: &mut Results,
        ctx: &mut Context<Self>,
    ) {
        let due_at = attempt.due_after(after);
        let again = self.try_again(attempt, due_at, results);
        if self.backlog.is_in_order() {
            self.put_back(again, after);
        } else if again.what == What::Message && self.has_alternative() {
            self.fail_over(again, due_at, ctx);
        } else if again.what == What::Message && after.is_zero() {
            self.backlog.push_front(again);
        } else {
            let longest = self.node.plan().longest_pause;
            self.backlog.pause(again, due_at, longest);
        }
    }

    /// It was tried for as long as it may be.
    fn given_up(&mut self, attempt: &FailedAttempt, results: &mut Results) {
        let Failed { reason, error, .. } = attempt.failure;
        match attempt.item.what {
            What::Receipt => {
                self.counters.failed += 1;
                self.node.metrics.receipts_given_up.inc();
                results.batch.give_up(attempt.item.id, attempt.at, reason);
            }
            What::Message => {
                let error = error.clone();
                self.fail(attempt, MessageState::Undeliverable, error, results);
            }
        }
    }

    /// It was not sent, because it would have met what another message to its subscriber has met. When it is due is
    /// recorded, so that after a restart it is not tried at once; but not for what only one process knows of.
    fn waits(&mut self, attempt: &FailedAttempt, results: &mut Results) {
        let due_at = attempt.due_after(Duration::from_millis(attempt.failure.pause_ms));
        if attempt.item.what == What::Message && attempt.failure.why() == Why::Waits {
            results.batch.retry.push(RetryRow {
                id: attempt.item.id,
                due_at,
                attempts: u32::from(attempt.item.attempts),
            });
        }
        let longest = self.node.plan().longest_pause;
        self.backlog.pause(attempt.item, due_at, longest);
    }

    /// Records the failed attempt and that another one follows at `due_at`; returns the item for it.
    /// Attempts of receipts are not recorded.
    pub(super) fn try_again(
        &mut self,
        attempt: &FailedAttempt,
        due_at: i64,
        results: &mut Results,
    ) -> Item {
        self.counters.retried += 1;
        self.node.metrics.retries.inc();
        if attempt.item.what == What::Message {
            results.batch.sent.push(attempt.row(self.port.id));
            results.batch.retry.push(RetryRow {
                id: attempt.item.id,
                due_at,
                attempts: attempt.number,
            });
            results
                .reached
                .extend(attempt.retrying(self.port.id, due_at));
        }
        Item {
            attempts: attempt.number.min(u32::from(u16::MAX)) as u16,
            ..attempt.item
        }
    }

    /// The message ends with this attempt.
    pub(super) fn fail(
        &mut self,
        attempt: &FailedAttempt,
        state: MessageState,
        error: String,
        results: &mut Results,
    ) {
        self.counters.failed += 1;
        results.batch.sent.push(attempt.row(self.port.id));
        results.finals.push(Final {
            id: attempt.item.id,
            state: state.into(),
            error: error.into(),
            at: attempt.at,
            message: None,
            operator: self.port.id,
            attempts: attempt.number,
            ..Final::default()
        });
    }

    /// A session has ended. It settled before what it had sent, as unknown where no answer came.
    /// Messages that it still holds were granted while it ended and never sent.
    pub(in crate::actors::queue) fn session_down(&mut self, session: u64, ctx: &mut Context<Self>) {
        self.sessions.remove(session);
        let mut held: Vec<u64> = self.in_flight.held_by(session).collect();
        held.sort_unstable();
        let failed: Vec<Failed> = held.into_iter().map(Failed::not_sent).collect();
        if !failed.is_empty() {
            self.settle_failed(session, failed, ctx);
        }
        self.suspects.session_gone(session);
        self.late_holds.session_ended(session);
        self.recovery.session_ended(session);
        self.finish_recovery(ctx);
    }
}
