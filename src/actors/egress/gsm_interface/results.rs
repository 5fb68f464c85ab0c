//! The results of MT-forwardSMs: what arrived, what was refused and for how long its subscriber waits, and what was never
//! answered, or too late.
//!
//! What becomes of messages is settled with the queue when the step is over (`delivery`).

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::culprits::CulpritFate;
use super::{GivenUp, GsmInterface, LATE, Sending, Work};
use crate::actors::context::remote_command;
use crate::clock;
use crate::config::OutcomePolicy;
use crate::domain::gsm_result::{self, BreakerVerdict};
use crate::domain::retry::Decision;
use crate::gsup::message::GsupMessage;
use crate::gsup::message_type::MessageType;
use crate::pb::delivery::What;
use crate::pb::{MessageState, Sent, SubscriberReady};

impl GsmInterface {
    /// The answer to an MT-forwardSM.
    pub(super) fn answered(&mut self, sending: Sending, answer: &GsupMessage) {
        let after = sending.since.elapsed();
        let mut work = sending.work;
        self.under_way.remove(&work.context.id);
        self.snapshot.received_total += 1;
        self.snapshot.answered(after);
        if work.is_answer() {
            return self.follow(&work.imsi);
        }
        self.culprits.answered(work.context.id);
        if answer.message_type != MessageType::MT_FORWARD_SM_RESULT {
            return self.refused(work, status_of(answer), after);
        }
        work.arrived += 1;
        if work.arrived < work.tpdus.len() {
            let more = self.lines.has_waiting(&work.imsi);
            return self.send(work, more);
        }
        self.arrived(work, after);
    }

    /// The handset has a message.
    pub(super) fn arrived(&mut self, work: Work, after: Duration) {
        self.count_result(0);
        let (imsi, id) = (work.imsi.clone(), work.context.id);
        let is_report = work.context.what == What::Receipt;
        self.absent.ended(&imsi, id);
        self.faults.worked();
        self.deliver_done(work, after);
        // Whatever others wait for, it is over.
        self.subscriber_is_there(&imsi);
        if is_report {
            return self.follow(&imsi);
        }
        self.unwritten.insert(id, imsi);
    }

    fn deliver_done(&mut self, work: Work, after: Duration) {
        let context = work.context;
        if let Some(serving) = &mut self.serving {
            serving.done(&context, after, false);
        }
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
    fn refused(&mut self, work: Work, status: u32, after: Duration) {
        self.snapshot.errors_total += 1;
        self.count_result(status);
        if status == gsm_result::GMM_IMSI_UNKNOWN
            && let Some(message) = &work.context.message
        {
            self.options.imsis.doubt(&message.destination);
        }
        let repeated = self.is_repeated(&work.imsi, status);
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
                if let Some(serving) = &mut self.serving {
                    serving.repeated(repeated);
                }
                self.follow(&work.imsi);
            }
            Decision::Temporary { after: pause } | Decision::Throttled { after: pause } => {
                drop(plan);
                self.partly.keep(work.context.id, work.arrived);
                if let Some(serving) = &mut self.serving {
                    serving.refused(&work.context, status, after);
                    serving.repeated(repeated);
                }
                self.hold_back(&work, pause);
            }
        }
    }

    /// What a failure says about the network; whether it says the same as an earlier one to this subscriber.
    fn is_repeated(&mut self, imsi: &str, status: u32) -> bool {
        match gsm_result::verdict(status) {
            BreakerVerdict::Works => self.faults.worked(),
            BreakerVerdict::Fails => return self.faults.is_repeated(imsi, Instant::now()),
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
            .failed(&work.imsi, &msisdn, work.context.id, pause, now);
        let behind = self.lines.take_line(&work.imsi).into_iter();
        for behind in behind.filter(|behind| !behind.is_answer()) {
            let pause = (self.absent)
                .pause(&behind.imsi, behind.context.id, now)
                .unwrap_or(pause);
            self.wait(&behind.context, pause);
        }
        self.lines.ended(&work.imsi);
    }

    /// A request was not answered in time.
    pub(super) fn expired(&mut self, sending: Sending) {
        let (work, since) = (sending.work, sending.since);
        self.doubt_name(since);
        if work.is_answer() {
            return self.follow(&work.imsi);
        }
        self.under_way.remove(&work.context.id);
        self.culprits.is_over(work.context.id);
        let policy = self.node.plan().outcome_policy(self.options.gsm);
        if policy == OutcomePolicy::Fail {
            self.count_result(gsm_result::GSUP_NO_ANSWER);
            let repeated = self.is_repeated(&work.imsi, gsm_result::GSUP_NO_ANSWER);
            if let Some(serving) = &mut self.serving {
                serving.unanswered_confirmed(&work.context);
                serving.repeated(repeated);
            }
            // The handset may have it: the next one goes when that is durable.
            self.unwritten.insert(work.context.id, work.imsi);
            return;
        }
        let kept = Work {
            context: work.context.clone(),
            imsi: work.imsi.clone(),
            tpdus: Vec::new(),
            arrived: 0,
            expires: work.expires,
        };
        let is_last = work.arrived + 1 == work.tpdus.len();
        self.refused(work, gsm_result::GSUP_NO_ANSWER, since.elapsed());
        if is_last {
            let given_up = GivenUp { work: kept, since };
            self.given_up.insert(given_up.work.imsi.clone(), given_up);
        }
    }

    /// The handset has got what was given up, after all: it does not get it again.
    pub(super) fn answered_late(&mut self, answer: &GsupMessage) {
        let Some(GivenUp { work, since }) = self.given_up.remove(&answer.imsi) else {
            return;
        };
        if answer.message_type != MessageType::MT_FORWARD_SM_RESULT {
            return;
        }
        self.node.metrics.late_answers.inc();
        // It may have come back already.
        let id = work.context.id;
        self.lines.take_if(|waits| waits.context.id == id);
        self.absent.ended(&work.imsi, id);
        let imsi = work.imsi.clone();
        let is_report = work.context.what == What::Receipt;
        self.deliver_done(work, since.elapsed());
        self.subscriber_is_there(&imsi);
        if !is_report {
            // As after any other: what follows waits until this one is durable.
            self.lines.hold(&imsi);
            self.unwritten.insert(id, imsi);
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
        let ids: Vec<u64> = lost.iter().map(|one| one.work.context.id).collect();
        let blame = self.culprits.ended(&ids);
        if let Some(blame) = blame
            && let Some(Sending { work, since }) = lost.pop()
        {
            self.blame(&work, blame, since.elapsed());
        }
        self.give_back_lost(&lost);
        blame.is_some() && self.culprits.explains()
    }

    fn blame(&mut self, work: &Work, fate: CulpritFate, after: Duration) {
        let id = work.context.id;
        let Some(serving) = &mut self.serving else {
            return;
        };
        match fate {
            CulpritFate::Later(pause) => {
                tracing::warn!(gsm = %self.snapshot.name, id, ?pause, "the HLR has ended the connection on this message, which was alone: it is tried alone again, later");
                self.partly.keep(id, work.arrived);
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
    }

    /// Forgets what no late answer can come for any more.
    pub(super) fn forget_given_up(&mut self) {
        let timeout = (self.plan.as_ref()).map_or(LATE, |plan| plan.config.request_timeout);
        self.given_up
            .retain(|_, given_up| given_up.since.elapsed() < timeout + LATE);
    }

    /// Messages that wait for a subscriber, as this interface knows, are tried at once.
    pub(super) fn subscriber_is_there(&mut self, imsi: &str) {
        if let Some((ids, msisdn)) = self.absent.is_there(imsi, Instant::now())
            && !ids.is_empty()
        {
            self.wake_messages(imsi, msisdn, ids);
        }
    }

    /// The network says that a subscriber is there: the queue knows more messages than this interface, such as those
    /// from before a restart.
    pub(super) fn subscriber_ready(&mut self, imsi: &str) {
        let there = self.absent.is_there(imsi, Instant::now());
        let (ids, msisdn) = there.unwrap_or_default();
        // A network says so to each node, and a program to the one whose socket it has.
        if !self.has_namesakes() {
            self.tell_other_nodes(imsi, &msisdn);
        }
        self.wake_messages(imsi, msisdn, ids);
    }

    fn tell_other_nodes(&self, imsi: &str, msisdn: &str) {
        let Some(queue) = self.queue() else {
            return;
        };
        let ready = SubscriberReady {
            queue: queue.id,
            imsi: imsi.to_owned(),
            msisdn: msisdn.to_owned(),
            ids: Vec::new(),
        };
        remote_command::tell_ready(&self.node, ready);
    }

    fn wake_messages(&mut self, imsi: &str, msisdn: String, ids: Vec<u64>) {
        // What was settled in this step must be there before.
        self.tell();
        if let Some(queue) = self.queue() {
            let ready = SubscriberReady {
                queue: queue.id,
                imsi: imsi.to_owned(),
                msisdn,
                ids,
            };
            queue.post_ready(ready);
        }
    }
}

/// The status of an answer that is no result.
fn status_of(answer: &GsupMessage) -> u32 {
    match (answer.message_type, answer.rp_cause, answer.cause) {
        (MessageType::ROUTING_ERROR, _, _) => gsm_result::GSUP_ROUTING_ERROR,
        (_, Some(cause), _) => gsm_result::of_rp(cause),
        (_, None, Some(cause)) => gsm_result::of_gmm(cause),
        (_, None, None) => gsm_result::GSUP_NO_CAUSE,
    }
}
