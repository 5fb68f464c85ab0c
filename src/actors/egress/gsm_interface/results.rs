//! The results of MT-forwardSMs: what arrived, what was refused and for how long its subscriber waits, and what was never
//! answered, or too late.
//!
//! What becomes of messages is settled with the queue when the step is over (`delivery`).

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::culprits::CulpritFate;
use super::exchange::{FailureScope, MtResult};
use super::gsup::LATE;
use super::work::{Sending, Work};
use super::{GivenUp, GsmInterface};
use crate::actors::context::remote_command;
use crate::clock;
use crate::config::OutcomePolicy;
use crate::domain::gsm_result::{self, BreakerVerdict, RP_TEMPORARY_FAILURE};
use crate::domain::retry::Decision;
use crate::pb::delivery::What;
use crate::pb::{MessageState, Sent, SubscriberReady};

impl GsmInterface {
    /// The answer to an MT-forwardSM.
    pub(super) fn answered(&mut self, sending: Sending, result: MtResult) {
        if let MtResult::Unknown(status) = result {
            return self.expired(sending, status);
        }
        let after = sending.since.elapsed();
        let mut work = sending.work;
        self.under_way.remove(&work.context.id);
        self.snapshot.received_total += 1;
        self.snapshot.answered(after);
        if work.is_unqueued() {
            let subscriber = work.subscriber.clone();
            self.answer_relayed(work, result);
            return self.follow(&subscriber);
        }
        self.culprits.answered(work.context.id);
        if let MtResult::Refused { status, scope } = result {
            return self.refused(work, status, scope, after);
        }
        work.arrived += 1;
        if work.arrived < work.tpdus.len() {
            let more = self.lines.has_waiting(&work.subscriber);
            return self.send(work, more);
        }
        self.arrived(work, after);
    }

    /// The handset has a message.
    pub(super) fn arrived(&mut self, work: Work, after: Duration) {
        self.count_result(0);
        let (subscriber, id) = (work.subscriber.clone(), work.context.id);
        let is_report = work.context.what == What::Receipt;
        self.absent.ended(&subscriber, id);
        self.faults.worked();
        self.deliver_done(work, after);
        // Whatever others wait for, it is over.
        self.subscriber_is_there(&subscriber);
        if is_report {
            return self.follow(&subscriber);
        }
        self.unwritten.insert(id, subscriber);
    }

    fn deliver_done(&mut self, work: Work, after: Duration) {
        let context = work.context;
        self.served
            .note(|serving| serving.done(&context, after, false));
        if context.what == What::Receipt {
            let waited = (clock::now_ms() - context.since).max(0) as f64 / 1000.0;
            let receipt_seconds = &self.node.metrics.receipt_seconds;
            return receipt_seconds.observe(waited, context.trace_id());
        }
        self.sent.push(Sent {
            id: context.id,
            attempt: context.attempt,
            operator_message_id: Bytes::new(),
            latency_ms: after.as_millis() as u32,
            message: context.message,
            receipt_expected: false,
            state: MessageState::Delivered.into(),
        });
    }

    /// The network or the handset has refused a message, or there was no answer.
    fn refused(&mut self, work: Work, status: u32, scope: FailureScope, after: Duration) {
        self.snapshot.errors_total += 1;
        self.count_result(status);
        if status == gsm_result::GMM_IMSI_UNKNOWN
            && let Some(message) = &work.context.message
        {
            self.options.imsis.doubt(&message.destination);
        }
        let repeated = self.is_repeated(&work.subscriber, status);
        let plan = self.node.plan();
        let policy = plan.retry_of(self.options.gsm);
        match policy.decide(status, work.context.attempt) {
            Decision::Permanent => {
                drop(plan);
                self.node
                    .metrics
                    .attempt_refused(&self.snapshot.queue, status);
                let name = crate::domain::command_status::display(status);
                self.give_up(&work, status, &name);
                self.served.note(|serving| serving.repeated(repeated));
                if scope == FailureScope::Run {
                    self.fail_line(&work.subscriber, status);
                }
                self.follow(&work.subscriber);
            }
            Decision::Temporary { after: pause } | Decision::Throttled { after: pause } => {
                drop(plan);
                self.partly.keep(&work);
                self.served.note(|serving| {
                    serving.refused(&work.context, status, after);
                    serving.repeated(repeated);
                });
                if scope == FailureScope::Message {
                    return self.follow(&work.subscriber);
                }
                self.hold_back(&work, pause);
            }
        }
    }

    /// What waits for a subscriber fails as the message before it, for which nobody knew where that is.
    fn fail_line(&mut self, subscriber: &str, status: u32) {
        for behind in self.lines.take_line(subscriber) {
            if behind.is_unqueued() {
                let scope = FailureScope::Run;
                self.answer_relayed(behind, MtResult::Refused { status, scope });
                continue;
            }
            let attempt = behind.context.attempt;
            let decision = self
                .node
                .plan()
                .retry_of(self.options.gsm)
                .decide(status, attempt);
            match decision {
                Decision::Permanent => {
                    self.count_result(status);
                    let metrics = &self.node.metrics;
                    metrics.attempt_refused(&self.snapshot.queue, status);
                    let name = crate::domain::command_status::display(status);
                    self.give_up(&behind, status, &name);
                    self.served.note(|serving| serving.repeated(true));
                }
                Decision::Temporary { after } | Decision::Throttled { after } => {
                    self.wait(&behind, after);
                }
            }
        }
    }

    /// What a failure says about the network; whether it says the same as an earlier one to this subscriber.
    fn is_repeated(&mut self, subscriber: &str, status: u32) -> bool {
        match gsm_result::verdict(status) {
            BreakerVerdict::Works => self.faults.worked(),
            BreakerVerdict::Fails => return self.faults.is_repeated(subscriber, Instant::now()),
            BreakerVerdict::Nothing => {}
        }
        false
    }

    /// A subscriber gets nothing before `pause` is over: what waits for it waits behind this message.
    pub(super) fn hold_back(&mut self, work: &Work, pause: Duration) {
        let now = Instant::now();
        let message = work.context.message.as_deref();
        let msisdn = message.map(|message| String::from_utf8_lossy(&message.destination));
        let msisdn = msisdn.unwrap_or_default();
        self.absent
            .failed(&work.subscriber, &msisdn, work.context.id, pause, now);
        for behind in self.lines.take_line(&work.subscriber) {
            if behind.is_unqueued() {
                self.refuse_relayed(behind, RP_TEMPORARY_FAILURE);
                continue;
            }
            let pause = (self.absent)
                .pause(&behind.subscriber, behind.context.id, now)
                .unwrap_or(pause);
            self.wait(&behind, pause);
        }
        self.end_run(&work.subscriber);
    }

    /// A request was not answered in time, or so that nobody knows what became of the message.
    pub(super) fn expired(&mut self, sending: Sending, status: u32) {
        let (work, since) = (sending.work, sending.since);
        self.doubt_name(since);
        if work.is_unqueued() {
            let subscriber = work.subscriber.clone();
            self.answer_relayed(work, MtResult::Unknown(status));
            return self.follow(&subscriber);
        }
        self.under_way.remove(&work.context.id);
        self.culprits.is_over(work.context.id);
        let policy = self.node.plan().outcome_policy(self.options.gsm);
        if policy == OutcomePolicy::Fail {
            self.count_result(status);
            let repeated = self.is_repeated(&work.subscriber, status);
            self.served.note(|serving| {
                serving.unanswered_confirmed(&work.context);
                serving.repeated(repeated);
            });
            // The handset may have it: the next one goes when that is durable.
            self.unwritten.insert(work.context.id, work.subscriber);
            return;
        }
        let kept = Work {
            context: work.context.clone(),
            subscriber: work.subscriber.clone(),
            expires: work.expires,
            ..Work::default()
        };
        let is_last = work.arrived + 1 == work.tpdus.len();
        // Nobody may overtake a message that may have arrived.
        self.refused(work, status, FailureScope::Line, since.elapsed());
        if is_last && self.core.answers_late() {
            let given_up = GivenUp { work: kept, since };
            self.given_up
                .insert(given_up.work.subscriber.clone(), given_up);
        }
    }

    /// The handset has got what was given up, after all: it does not get it again.
    pub(super) fn answered_late(&mut self, subscriber: &str, result: MtResult) {
        let Some(GivenUp { work, since }) = self.given_up.remove(subscriber) else {
            return;
        };
        if result != MtResult::Arrived {
            return;
        }
        self.node.metrics.late_answers.inc();
        // It may have come back already.
        let id = work.context.id;
        self.lines.take_if(|waits| waits.context.id == id);
        self.absent.ended(&work.subscriber, id);
        let is_report = work.context.what == What::Receipt;
        self.deliver_done(work, since.elapsed());
        self.subscriber_is_there(subscriber);
        if !is_report {
            // As after any other: what follows waits until this one is durable.
            self.lines.hold(subscriber);
            self.unwritten.insert(id, subscriber.to_owned());
        }
    }

    /// The HLR has ended the connection: what was under way may be why, and if it was alone, it is tried later, or ends.
    /// Whether that explains the end.
    pub(super) fn cut_off(&mut self) -> bool {
        let policy = self.node.plan().outcome_policy(self.options.gsm);
        if policy == OutcomePolicy::Fail {
            return false;
        }
        let mut lost = self.take_lost();
        let ids: Vec<u64> = lost.iter().map(|(one, _)| one.work.context.id).collect();
        let blame = self.culprits.ended(&ids);
        if let Some(blame) = blame
            && let Some((Sending { work, since }, _)) = lost.pop()
        {
            self.blame(&work, blame, since.elapsed());
        }
        self.give_back_lost(&lost);
        blame.is_some() && self.culprits.explains()
    }

    fn blame(&mut self, work: &Work, fate: CulpritFate, after: Duration) {
        let id = work.context.id;
        self.served.note(|serving| {
            match fate {
                CulpritFate::Later(pause) => {
                    tracing::warn!(gsm = %self.snapshot.name, id, ?pause, "the HLR has ended the connection on this message, which was alone: it is tried alone again, later");
                    self.partly.keep(work);
                    serving.later(&work.context, None, after, pause);
                }
                CulpritFate::Guilty(times) => {
                    let why = format!("ended the session {times} times");
                    tracing::error!(gsm = %self.snapshot.name, id, why, "a message is given up");
                    serving.give_up(&work.context, None, after, why.clone(), why);
                }
            }
            // It says nothing of the network.
            serving.repeated(true);
        });
    }

    /// Forgets what no late answer can come for any more.
    pub(super) fn forget_given_up(&mut self) {
        let timeout = (self.plan.as_ref()).map_or(LATE, |plan| plan.config.request_timeout);
        self.given_up
            .retain(|_, given_up| given_up.since.elapsed() < timeout + LATE);
    }

    /// Messages that wait for a subscriber, as this interface knows, are tried at once.
    pub(super) fn subscriber_is_there(&mut self, subscriber: &str) {
        if let Some((ids, msisdn)) = self.absent.is_there(subscriber, Instant::now())
            && !ids.is_empty()
        {
            self.wake_messages(subscriber, msisdn, ids);
        }
    }

    /// The network says that a subscriber is there: the queue knows more messages than this interface, such as those
    /// from before a restart.
    pub(super) fn subscriber_ready(&mut self, subscriber: &str) {
        let there = self.absent.is_there(subscriber, Instant::now());
        let (ids, msisdn) = there.unwrap_or_default();
        // A network says so to each node, and a program to the one whose socket it has.
        if !self.has_namesakes()
            && let Some(queue) = self.queue()
        {
            let ready = self.ready_message(queue.id, subscriber, msisdn.clone(), Vec::new());
            remote_command::tell_ready(&self.node, ready);
        }
        self.wake_messages(subscriber, msisdn, ids);
    }

    fn wake_messages(&mut self, subscriber: &str, msisdn: String, ids: Vec<u64>) {
        // What was settled in this step must be there before.
        self.tell();
        if let Some(queue) = self.queue() {
            queue.post_ready(self.ready_message(queue.id, subscriber, msisdn, ids));
        }
    }

    fn ready_message(
        &self,
        queue: u32,
        subscriber: &str,
        msisdn: String,
        ids: Vec<u64>,
    ) -> SubscriberReady {
        let (imsi, msisdn) = self.core.names_of(subscriber, msisdn);
        SubscriberReady {
            queue,
            imsi,
            msisdn,
            ids,
        }
    }
}
