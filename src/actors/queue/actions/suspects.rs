//! Tries what is suspected of ending its peer's sessions, and decides what becomes of it.
//!
//! Called by the actions that grant and settle; the rules are in `queue/suspects.rs`. In strict order, and where handsets
//! are served, nothing is set aside. Where an operator's messages are never sent again after an unknown outcome, there
//! are no suspects. Invariant: each end that counts against a message is durable with its attempt.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::Context;
use tokio::time::Instant;

use super::grant::BATCH;
use super::settle::{FailedAttempt, Results};
use crate::actors::context::item::{Item, has_expired};
use crate::actors::queue::Queue;
use crate::actors::queue::in_flight::HeldItem;
use crate::actors::queue::sessions::{Apart, SessionTurn};
use crate::actors::queue::suspects::{ASIDE, Blame};
use crate::actors::queue::trial::TrialVerdict;
use crate::clock;
use crate::config::OutcomePolicy;
use crate::content;
use crate::domain::queue_name::QueueName;
use crate::pb::delivery::What;
use crate::pb::failed::Why;
use crate::pb::queue_command::Verb;
use crate::pb::{Delivery, Failed, Final, MessageState, QueueCommand};
use crate::store::{ChangeRow, SentRow, WriteBatch};

/// Pause after a failed read of the store.
const READ_AGAIN: Duration = Duration::from_secs(1);

impl Queue {
    /// Notes what a session's failures say about suspects; returns who has ended it alone.
    pub(super) fn blame(&mut self, session: u64, failed: &[Failed]) -> Option<u64> {
        let is_answer = |failed: &&Failed| match failed.why() {
            Why::Status => !failed.unsent,
            Why::Later | Why::GivenUp => failed.status != SentRow::NO_ANSWER,
            Why::Unknown | Why::NotSent | Why::Waits | Why::HeldUp => false,
        };
        self.suspects
            .answered(failed.iter().filter(is_answer).map(|failed| failed.id));
        let mut lost = Vec::new();
        for failure in failed.iter().filter(|failed| !is_answer(failed)) {
            match self.in_flight.held_item(session, failure.id) {
                Some(item) if failure.ended => lost.push(item),
                _ => self.suspects.acquit(failure.id),
            }
        }
        let is_repeated = self.node.plan().outcome_policy(self.port.id) == OutcomePolicy::Resend;
        if lost.is_empty() || !is_repeated {
            return None;
        }
        self.trial.another_ended();
        let one_by_one = self.backlog.is_in_order();
        let windows = u32::try_from(self.sessions.windows()).unwrap_or(u32::MAX);
        match (self.suspects).session_ended(session, &lost, windows, one_by_one) {
            Blame::Alone(id) => Some(id),
            Blame::Unknown => None,
        }
    }

    /// The peer has ended the session on this one alone. That is an attempt, whatever it was sent for; it is tried later
    /// and later, and ends when that was enough.
    pub(super) fn accuse(&mut self, attempt: &FailedAttempt, results: &mut Results) {
        let item = attempt.item;
        let plan = self.node.plan();
        let (most, first) = plan.suspects_of(self.port.id);
        let max_attempts = plan.retry_of(self.port.id).max_attempts;
        let longest = plan.longest_pause;
        drop(plan);
        let Some((before, ended)) = self.suspects.accuse(&item, first, Instant::now()) else {
            return self.unanswered(attempt, results);
        };
        for _ in before..ended {
            let row = ChangeRow::ended_session(item.id, attempt.at, self.port.id);
            results.batch.change.push(row);
        }
        let is_enough = (most > 0 && u32::from(ended) >= most)
            || max_attempts.is_some_and(|max| attempt.number >= max);
        if ended > before && is_enough {
            return self.end_suspect(attempt, ended, results);
        }
        let pause = self.suspects.pause_of(item.id, first);
        tracing::warn!(queue = %self.port.name, id = item.id, ended, ?pause, "the peer has ended the session on this message, which was alone: it is tried alone again, later");
        let due_at = attempt.due_after(pause);
        self.node.metrics.outcome_unknown.inc();
        let again = self.try_again(attempt, due_at, results);
        self.in_flight.remember_timed_out(&again);
        if self.sets_aside() {
            return self.backlog.pause(again, due_at, longest.max(pause));
        }
        let is_often = most > 0 && self.suspects.ends_of(item.id) >= most;
        if is_often
            && !self.leaving.has(item.part)
            && let Some(message) = self.in_order.take_back(item.id)
        {
            self.in_flight.hold_reported(ASIDE, again);
            self.suspects.set_aside(again, Some(message));
            return self.trial.begin(item.id, Instant::now() + pause);
        }
        self.put_back(again, pause);
    }

    /// In strict order, ends the message on trial when the peer has taken another one, or puts it in front again.
    fn judge(&mut self, ctx: &mut Context<Self>) {
        let Some(id) = self.trial.id() else {
            return;
        };
        let ended = self.suspects.ends_told_apart(id);
        let Some(verdict) = self.trial.verdict(ended, Instant::now()) else {
            return;
        };
        // Otherwise it has ended, or somebody has ordered something about it.
        let Some(item) = self.suspects.take_aside(id) else {
            return;
        };
        self.in_flight.settle(id);
        match verdict {
            TrialVerdict::Open { pause } => {
                self.backlog.push_first(item);
                self.in_order.wait(id, pause);
            }
            TrialVerdict::Guilty { ended } => {
                self.counters.failed += 1;
                let ended = Final {
                    id,
                    state: MessageState::Undeliverable.into(),
                    error: self.convict(id, ended).into(),
                    at: clock::now_ms(),
                    operator: self.port.id,
                    attempts: u32::from(item.attempts),
                    ..Final::default()
                };
                self.finish(WriteBatch::default(), vec![ended], Vec::new(), ctx);
            }
        }
    }

    /// Nothing is tried any more of a message that has ended so many sessions; returns the reason.
    fn convict(&mut self, id: u64, ended: u32) -> String {
        self.suspects.acquit(id);
        self.counters.ended_sessions += 1;
        let why = match ended {
            1 => "ended the session once".to_owned(),
            times => format!("ended the session {times} times"),
        };
        tracing::error!(queue = %self.port.name, id, why, "a message is given up");
        why
    }

    /// It has ended so many sessions alone that it is not tried any more.
    fn end_suspect(&mut self, attempt: &FailedAttempt, ended: u8, results: &mut Results) {
        let id = attempt.item.id;
        let why = self.convict(id, ended.into());
        match attempt.item.what {
            What::Receipt => {
                self.counters.failed += 1;
                self.node.metrics.receipts_given_up.inc();
                results.batch.give_up(id, attempt.at, &why);
            }
            What::Message => self.fail(attempt, MessageState::Undeliverable, why, results),
        }
    }

    /// Whether suspects are kept out of the lists until they are tried. In strict order they hold the others instead.
    pub(super) fn sets_aside(&self) -> bool {
        !self.backlog.is_in_order() && !QueueName::parse(&self.port.name).is_handsets()
    }

    /// How many messages may be granted, of `most`: few after a session was ended, and one while only that can show
    /// whether the peer takes any.
    pub(super) fn quota_in_doubt(&self, most: u32) -> u32 {
        let Some(limit) = self.suspects.most_under_way() else {
            return most;
        };
        // Others go over other sessions beside a try that hangs.
        let hanging = (self.suspects.slow_try(Instant::now()))
            .filter(|one| self.sessions.is_apart(one.session))
            .map_or(0, |one| one.unanswered.len());
        let under_way = self.under_way_len().saturating_sub(hanging);
        most.min(limit.saturating_sub(under_way as u32))
    }

    /// Messages that are with sessions. Those that are set aside are held, too, but by none.
    pub(super) fn under_way_len(&self) -> usize {
        self.in_flight.held_len() - self.suspects.aside_len()
    }

    /// What a session is given while no more than one message may be under way is a try, too.
    pub(super) fn try_these(&mut self, turn: &SessionTurn, deliveries: &[Delivery]) {
        let ids = deliveries.iter().map(|delivery| delivery.id).collect();
        self.suspects.begin(turn.session, ids, Instant::now());
    }

    /// Makes ends durable that count since others were answered: a restart before the next try does not forget them.
    fn count_told_apart(&mut self, ctx: &mut Context<Self>) {
        let counted = self.suspects.now_counted();
        if counted.is_empty() {
            return;
        }
        let at = clock::now_ms();
        let row = |id: &u64| ChangeRow::ended_session(*id, at, self.port.id);
        let ticket = self.node.store.write(WriteBatch {
            change: counted.iter().map(row).collect(),
            ..WriteBatch::default()
        });
        self.run(ctx, ticket, |queue, written, _| {
            if let Err(error) = written {
                tracing::error!(queue = %queue.port.name, %error, "ended sessions not written; a restart forgets them");
            }
        });
    }

    /// Goes on with the tries of suspects, if there are any.
    pub(super) fn try_suspects(&mut self, ctx: &mut Context<Self>) {
        // Whether the peer takes any is shown by others, as long as there are some: they wait for no try, and for no pause.
        let others_first =
            self.suspects.doubts_peer() && self.sets_aside() && !self.backlog.has_empty_lists();
        let doubts = (self.suspects).gives_peer_up(others_first && self.suspects.may_pass_over());
        if self.port.doubted.load(Ordering::Relaxed) != doubts {
            self.port.doubted.store(doubts, Ordering::Relaxed);
        }
        if self.suspects.is_quiet() {
            return self.sessions.rejoin();
        }
        self.count_told_apart(ctx);
        if !self.sets_aside() {
            return self.judge(ctx);
        }
        let acquitted = self.suspects.take_acquitted();
        self.put_aside_back(acquitted);
        let now = Instant::now();
        let others = !self.backlog.has_empty_lists();
        (self.suspects).rest_when_bound(!self.sessions.is_empty(), others, now);
        if self.suspects.is_trying() {
            if let Some(session) = self.suspects.slow_try(now).map(|one| one.session) {
                self.suspects.acquit_untried();
                self.sessions.keep_apart(session, now);
            }
            return;
        }
        if others_first || !self.suspects.choose(now) {
            return self.sessions.rejoin();
        }
        self.read_suspects(ctx);
        match self.sessions.set_apart(now) {
            Apart::Nobody => {}
            Apart::Busy(time) if time >= self.suspects.patience() => {
                self.suspects.try_later(now);
                self.sessions.rejoin();
            }
            Apart::Busy(_) => {}
            Apart::Free(turn) if self.suspects.is_ready() => self.try_on(&turn, now, ctx),
            Apart::Free(_) => {}
        }
    }

    /// Puts a message back that was with a session when that ended: in front, or aside if it is a suspect. One that
    /// leaves is never aside: the partition would wait for its try.
    pub(super) fn put_back_suspect(&mut self, item: Item) {
        let is_tried_apart = self.suspects.has(item.id) && self.sets_aside();
        if !is_tried_apart || self.leaving.has(item.part) {
            return self.put_back(item, Duration::ZERO);
        }
        self.in_flight.hold_reported(ASIDE, item);
        self.suspects.set_aside(item, None);
    }

    /// Puts all that are aside back in front: another queue may take them.
    pub(super) fn put_all_aside_back(&mut self) {
        let all = self.suspects.take_all_aside(None);
        self.put_aside_back(all);
    }

    /// Ends what is late among those that are aside.
    pub(super) fn expire_suspects(&mut self, second: u32, ctx: &mut Context<Self>) {
        let late = self.suspects.take_late(second);
        if late.is_empty() {
            return;
        }
        for item in &late {
            self.in_flight.settle(item.id);
        }
        let late = late.into_iter().map(|item| (item, None)).collect();
        self.expire_items(late, ctx);
    }

    /// Reads the bodies of the next try.
    fn read_suspects(&mut self, ctx: &mut Context<Self>) {
        let items = self.suspects.unread();
        if items.is_empty() {
            return;
        }
        let reply = self
            .node
            .store
            .load(items.iter().map(|item| item.id).collect());
        self.run_on_lists(ctx, reply, move |queue, loaded, ctx| {
            let again_at = loaded.is_err().then(|| Instant::now() + READ_AGAIN);
            queue.suspects.end_reading(again_at);
            for (item, stored) in items.iter().zip(loaded.unwrap_or_default()) {
                match stored.and_then(|stored| queue.body_of(item.what, stored)) {
                    Some(body) => queue.suspects.read(item.id, Box::new(body)),
                    // It has ended, or is another queue's.
                    None => {
                        queue.suspects.acquit(item.id);
                        if queue.suspects.take_aside(item.id).is_some() {
                            queue.in_flight.settle(item.id);
                        }
                    }
                }
            }
            queue.pump(ctx);
        });
    }

    /// Gives the session that is apart the suspects of the next try, as far as tokens and the store allow.
    fn try_on(&mut self, turn: &SessionTurn, now: Instant, ctx: &mut Context<Self>) {
        let burst = self.burst();
        self.tokens.drop_dead();
        let mut quota = self.guard.quota(self.room_for_unwritten());
        let most = turn.room.min(BATCH).min(quota.left) as usize;
        let (mut deliveries, mut spent, mut expired) = (Vec::new(), 0, Vec::new());
        while deliveries.len() < most
            && let Some(message) = self.suspects.peek()
        {
            let price = burst.map_or(0, |burst| content::segments(message).min(burst));
            if spent + price > self.tokens.count() && burst.is_some() {
                if deliveries.is_empty() {
                    self.take_tokens(price, price, ctx);
                }
                break;
            }
            let Some((item, message)) = self.suspects.next_of_group() else {
                break;
            };
            self.in_flight.settle(item.id);
            let is_ours = (self.node.local_lease.hold()).owns(self.port.id, item.part);
            let is_late = has_expired(item.expires, clock::now_ms());
            if !is_ours || is_late {
                self.suspects.acquit(item.id);
                if is_ours {
                    expired.push((item, Some(message)));
                }
                continue;
            }
            spent += price;
            let held = HeldItem {
                session: turn.session,
                item,
                probe: quota.probing,
                grant: self.counters.granted,
            };
            deliveries.push(self.in_flight.give(held, message));
        }
        if !deliveries.is_empty() {
            let ids = deliveries.iter().map(|delivery| delivery.id).collect();
            self.suspects.begin(turn.session, ids, now);
            self.hand_out(turn, deliveries, spent, &mut quota, ctx);
        }
        if !expired.is_empty() {
            self.expire_items(expired, ctx);
        }
    }

    /// Puts what was set aside back in front.
    fn put_aside_back(&mut self, items: Vec<Item>) {
        for item in &items {
            self.in_flight.settle(item.id);
        }
        self.backlog.push_all_front(items.into_iter());
    }

    /// Somebody orders something about a message that is set aside, or about all: it finds them in the lists.
    pub(super) fn order_about(&mut self, command: &QueueCommand) {
        let items = match command.verb() {
            Verb::Purge => self.suspects.take_all_aside(None),
            Verb::Move if command.id == 0 => self.suspects.take_all_aside(None),
            Verb::Cancel | Verb::Retry | Verb::Move | Verb::Replace => {
                Vec::from_iter(self.suspects.take_aside(command.id))
            }
            Verb::Unspecified | Verb::Look | Verb::Suspend | Verb::Resume => return,
        };
        self.put_aside_back(items);
    }
}
