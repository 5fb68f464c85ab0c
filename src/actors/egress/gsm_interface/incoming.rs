//! What the network brings: answers, messages of handsets, and subscribers that are there again.
//!
//! A message of a handset passes Ingest as one of the account of its network, and is acknowledged when it is durable; so
//! is what it orders about one.

use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use bytes::Bytes;
use tokio::time::Instant;

use super::exchange::{CoreEvent, HandsetSubmission, SubmissionRequest};
use super::{GsmInterface, INTAKE, count};
use crate::actors::ingress::ingest::{Keys, Submit};
use crate::actors::ingress::operations::{self, Asker};
use crate::actors::routing::rewrite;
use crate::clock;
use crate::content::handset::{self, CommandType};
use crate::domain::gsm_result::{self, RP_CONGESTION, RP_TEMPORARY_FAILURE};
use crate::pb::{Message, Submission, SubmitBatch};
use crate::smpp::CommandStatus;
use crate::sms::tpdu::{Direction, SmsCommand, TpduKind};

/// What counts an RP-ACK, which has no cause.
const ACKNOWLEDGED: u8 = 0;
/// Other RP-causes to a handset that submits (3GPP TS 24.011 §8.2.5.4).
pub(super) const NOT_SUBSCRIBED: u8 = 50;
pub(super) const NOT_IMPLEMENTED: u8 = 69;
pub(super) const INVALID_MANDATORY: u8 = 96;

// === impl GsmInterface ===

impl GsmInterface {
    /// Takes what the core has, and passes on what it brought.
    pub(super) fn take_events(&mut self, ctx: &mut Context<Self>) {
        while let Some(event) = self.core.next_event() {
            self.is_full = false;
            self.on_event(event, ctx);
        }
        self.submit(ctx);
        self.submit_forwards(ctx);
        self.answer_routings(ctx);
        self.go_on();
    }

    fn on_event(&mut self, event: CoreEvent, ctx: &mut Context<Self>) {
        if !matches!(event, CoreEvent::Ready | CoreEvent::Closed(_)) {
            self.heard(ctx);
        }
        match event {
            CoreEvent::Ready => self.ready(ctx),
            CoreEvent::Result(sending, result) => self.answered(*sending, result),
            CoreEvent::Late(subscriber, result) => self.answered_late(&subscriber, result),
            CoreEvent::Submission(submission) => self.on_mo(*submission, ctx),
            CoreEvent::RoutingAsked(question) => self.on_routing_asked(*question),
            CoreEvent::Forwarded(forward) => self.on_forwarded(*forward),
            CoreEvent::SubscriberReady(subscriber) => self.subscriber_ready(&subscriber),
            CoreEvent::Malformed(malformed, submission) => {
                self.snapshot.errors_total += 1;
                if let Some(unlogged) = self.malformed.note(Instant::now()) {
                    tracing::warn!(gsm = %self.snapshot.name, malformed, unlogged, "a message of the network cannot be read");
                }
                if let Some(submission) = submission {
                    self.refuse_mo(&submission, INVALID_MANDATORY);
                }
            }
            CoreEvent::Screened(report) => self.screened(report),
            CoreEvent::Other => {}
            CoreEvent::Closed(why) => {
                self.broken_off();
                self.come_back(&why, ctx);
            }
        }
    }

    /// A message of a handset.
    fn on_mo(&mut self, request: HandsetSubmission, ctx: &mut Context<Self>) {
        self.snapshot.received_total += 1;
        if self.intake + self.submissions.len() >= INTAKE {
            return self.refuse_mo(&request, RP_CONGESTION);
        }
        let Some(account) = self.plan.as_ref().and_then(|plan| plan.account) else {
            return self.refuse_mo(&request, NOT_SUBSCRIBED);
        };
        let (Some(from), Some(tpdu)) = (&request.msisdn, &request.tpdu) else {
            return self.refuse_mo(&request, INVALID_MANDATORY);
        };
        if TpduKind::guess(Direction::FromPhone, tpdu) == Some(TpduKind::Command) {
            return match handset::order(tpdu) {
                Ok((CommandType::Unknown(_), _)) => self.refuse_mo(&request, NOT_IMPLEMENTED),
                // Answers wait for their turn with everything else: there may not be any number of them.
                Ok((CommandType::Enquire, _)) if self.lines.waiting() >= INTAKE => {
                    self.refuse_mo(&request, RP_CONGESTION);
                }
                Ok((CommandType::Enquire, command)) => {
                    let msisdn = from.clone();
                    self.enquire(account, command, msisdn, request, ctx);
                }
                Ok((order, command)) => {
                    let msisdn = from.clone();
                    self.carry_out(account, order, command, msisdn, request, ctx);
                }
                Err(_) => self.refuse_mo(&request, INVALID_MANDATORY),
            };
        }
        let (mut message, submit) = match handset::submitted(tpdu, from, clock::now_ms()) {
            Ok((message, submit)) => {
                let message = Message {
                    source_imsi: request.imsi.clone(),
                    source_gsm: self.options.gsm,
                    ..message
                };
                (message, submit)
            }
            Err(fault) => {
                tracing::debug!(gsm = %self.snapshot.name, %fault, "a message of a handset cannot be read");
                return self.refuse_mo(&request, INVALID_MANDATORY);
            }
        };
        let plan = self.node.plan();
        let destination = rewrite::destination_of(&plan, account, &message);
        if plan.mo_account(&destination).is_some() {
            message.kind = crate::pb::Kind::Mo.into();
        }
        drop(plan);
        let message = Box::new(message);
        if submit.reject_duplicates {
            let msisdn = from.clone();
            self.submit_once(account, submit, msisdn, message, request, ctx);
        } else {
            self.gather(message, request);
        }
    }

    /// The next message of this socket read that goes to Ingest.
    pub(super) fn gather(&mut self, message: Box<Message>, request: HandsetSubmission) {
        self.will_store(&request.subscriber);
        self.gather_noted(message, request);
    }

    /// A message of a subscriber is to be stored; see [`Self::stored`].
    pub(super) fn will_store(&mut self, subscriber: &str) {
        match self.storing.get_mut(subscriber) {
            Some(count) => *count += 1,
            None => _ = self.storing.insert(subscriber.to_owned(), 1),
        }
    }

    /// Gathers a message of a subscriber that is noted already.
    pub(super) fn gather_noted(&mut self, message: Box<Message>, request: HandsetSubmission) {
        let submission = Submission {
            sequence: self.submissions.len() as u32,
            message: Some(message),
        };
        self.submissions.push((submission, request));
    }

    pub(super) fn stored(&mut self, request: &HandsetSubmission) {
        if let Some(count) = self.storing.get_mut(&request.subscriber) {
            *count -= 1;
            if *count == 0 {
                self.storing.remove(&request.subscriber);
            }
        }
    }

    /// Passes on what one socket read has brought of handsets.
    pub(super) fn submit(&mut self, ctx: &mut Context<Self>) {
        let taken = std::mem::take(&mut self.submissions);
        self.submit_to(0, taken, ctx);
    }

    /// Passes messages on to Ingest, and answers them when they are durable. `to`: the queue that they go to, 0 to use routes.
    pub(super) fn submit_to(
        &mut self,
        to: u32,
        taken: Vec<(Submission, HandsetSubmission)>,
        ctx: &mut Context<Self>,
    ) {
        let account = self.plan.as_ref().and_then(|plan| plan.account);
        let (Some(sender), false) = (account, taken.is_empty()) else {
            return;
        };
        let (submissions, requests): (Vec<Submission>, Vec<HandsetSubmission>) =
            taken.into_iter().unzip();
        let count = requests.len();
        self.intake += count;
        let batch = SubmitBatch {
            sender,
            submissions,
            peer: self.snapshot.peer.clone(),
            // data_coding 0 is the alphabet of handsets.
            encoded: true,
            to,
            ..SubmitBatch::default()
        };
        let submit = Submit::timed(batch, Keys::None, &self.node);
        let request = self.options.ingest.send(submit);
        let turn = self.accepted.begin();
        ctx.spawn(request.into_actor(self).map(move |accepted, interface, _| {
            interface.intake = interface.intake.saturating_sub(count);
            requests
                .iter()
                .for_each(|request| interface.stored(request));
            let Ok(accepted) = accepted else {
                // Whether they were accepted is unknown: handsets send them again.
                let all = requests.iter();
                all.for_each(|request| interface.refuse_mo(request, RP_TEMPORARY_FAILURE));
                return interface.accepted.pass_on(turn, None);
            };
            for result in &accepted.reply.results {
                let Some(request) = requests.get(result.sequence as usize) else {
                    continue;
                };
                match result.status {
                    0 => interface.accept_mo(request),
                    status => interface.refuse_mo(request, gsm_result::mo_cause(status)),
                }
            }
            interface.accepted.pass_on(turn, Some(accepted));
            interface.read_on();
        }));
    }

    /// Does what a handset orders about a message that it has submitted.
    fn carry_out(
        &mut self,
        account: u32,
        order: CommandType,
        command: SmsCommand,
        msisdn: String,
        request: HandsetSubmission,
        ctx: &mut Context<Self>,
    ) {
        let asker = self.asker(account);
        let carried_out =
            async move { operations::handset::carry_out(&asker, order, &command, &msisdn).await };
        self.answer_by(carried_out, request, ctx, |_, (), _| {});
    }

    /// Answers a command of a handset by how this work ends; `then` goes on with its subscriber if that is well.
    pub(super) fn answer_by<T: 'static>(
        &mut self,
        work: impl Future<Output = Result<T, CommandStatus>> + 'static,
        request: HandsetSubmission,
        ctx: &mut Context<Self>,
        then: impl FnOnce(&mut Self, T, String) + 'static,
    ) {
        self.intake += 1;
        ctx.spawn(work.into_actor(self).map(move |done, interface, _| {
            interface.intake = interface.intake.saturating_sub(1);
            match done {
                Ok(done) => {
                    interface.accept_mo(&request);
                    then(interface, done, request.subscriber);
                }
                Err(status) => interface.refuse_mo(&request, gsm_result::mo_cause(status.0)),
            }
            interface.read_on();
        }));
    }

    /// More may be read, if not too much waits for its commit.
    pub(super) fn read_on(&self) {
        self.core.resume(self.intake > INTAKE);
    }

    /// As whom a handset orders and asks.
    pub(super) fn asker(&self, account: u32) -> Asker {
        Asker {
            any_source: false,
            node: Arc::clone(&self.node),
            account,
            gsm: self.options.gsm,
            interface_version: 0x34,
            alphabet: None,
        }
    }

    pub(super) fn accept_mo(&mut self, request: &HandsetSubmission) {
        self.count_mo(request, ACKNOWLEDGED);
        self.core.accept(request);
    }

    pub(super) fn refuse_mo(&mut self, request: &HandsetSubmission, cause: u8) {
        self.refuse_mo_with(request, cause, None);
    }

    /// Refuses a message of a handset, with an SMS-SUBMIT-REPORT that says more.
    pub(super) fn refuse_mo_with(
        &mut self,
        request: &HandsetSubmission,
        cause: u8,
        report: Option<Bytes>,
    ) {
        self.count_mo(request, cause);
        self.core.refuse(request, cause, report);
    }

    fn count_mo(&mut self, request: &HandsetSubmission, cause: u8) {
        if matches!(request.request, SubmissionRequest::MapForward(_)) {
            return self.count_home(if cause == ACKNOWLEDGED {
                "messages_taken"
            } else {
                "messages_refused"
            });
        }
        count(&mut self.snapshot.submissions, cause.into());
        self.meter.answered_handset(cause);
    }
}
