//! A network that speaks GSUP: one connection to its HLR, which passes on what is for MSCs.
//!
//! Translates between [`GsupSession`] and the rest of the interface; `hlr` makes the connection. An answer is matched by IMSI, because an MSC answers with references of its own.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use super::exchange::{
    CoreEnd, CoreEvent, CoreNotSent, CoreTick, FailureScope, HandsetSubmission, MtRequest,
    MtResult, SubmissionRequest,
};
use super::work::Sending;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::GsmPlan;
use crate::actors::runtime::link::Outbox;
use crate::domain::gsm_result;
use crate::gsup::message::{GsupMessage, REFERENCE_UNKNOWN, SmRpAddress};
use crate::gsup::message_type::MessageType;
use crate::gsup::session::{
    GsupEvent, GsupNotSent, GsupRole, GsupSession, GsupSessionConfig, GsupSessionState,
};
use crate::sms::tpdu::TpduAddress;

/// Nobody has it: there is no mobile country code 000 (ITU-T E.212). An HLR says so to whom our name leads to.
pub(super) const NOBODY: &str = "000000000000000";
/// How long the answer to a request that was given up may still come; its subscriber gets nothing meanwhile.
pub(super) const LATE: Duration = Duration::from_secs(30);

/// The connection to an HLR.
pub(super) struct GsupCore {
    /// The network, for the log.
    network: String,
    session: GsupSession<Box<Sending>>,
    outbox: Option<Outbox>,
}

// === impl GsupCore ===

impl GsupCore {
    /// Without a connection.
    pub(super) fn new(node: &NodeContext, plan: Option<&GsmPlan>) -> Self {
        let mut nowhere = BytesMut::new();
        let config = session_config(node, plan);
        Self {
            network: plan.map_or_else(String::new, |plan| plan.config.name.clone()),
            session: GsupSession::new(config, Instant::now().into_std(), &mut nowhere),
            outbox: None,
        }
    }

    /// One on a new connection.
    pub(super) fn connected(
        network: String,
        session: GsupSession<Box<Sending>>,
        outbox: Outbox,
    ) -> Self {
        Self {
            network,
            session,
            outbox: Some(outbox),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.outbox.is_some() && self.session.state() == GsupSessionState::Ready
    }

    pub(super) fn is_filling(&self) -> bool {
        self.outbox.as_ref().is_some_and(Outbox::is_filling)
    }

    pub(super) fn resume(&self) {
        if let Some(outbox) = &self.outbox {
            outbox.resume();
        }
    }

    pub(super) fn receive(&mut self, octets: &BytesMut, now: Instant) {
        self.session.receive(octets, now.into_std());
    }

    pub(super) fn next_event(&mut self) -> Option<CoreEvent> {
        let (outbox, session) = (self.outbox.as_ref()?, &mut self.session);
        let event = outbox.write(|out| session.next_event(out))?;
        Some(match event {
            GsupEvent::Ready(_) => CoreEvent::Ready,
            GsupEvent::Answer(sending, answer) => CoreEvent::Result(sending, result_of(&answer)),
            GsupEvent::Message(message) => self.on_message(message),
            GsupEvent::Malformed(malformed) => {
                let why = malformed.to_string();
                let request = malformed.message;
                let is_answered = request.message_type == MessageType::MO_FORWARD_SM_REQUEST
                    && request.reference.is_some();
                let request = is_answered.then(|| Box::new(submission_of(request)));
                CoreEvent::Malformed(why, request)
            }
            GsupEvent::Closed(closed) => CoreEvent::Closed(closed.to_string()),
        })
    }

    fn on_message(&mut self, message: Box<GsupMessage>) -> CoreEvent {
        match message.message_type {
            MessageType::MO_FORWARD_SM_REQUEST => {
                CoreEvent::Submission(Box::new(submission_of(message)))
            }
            MessageType::READY_FOR_SM_REQUEST => {
                let answer = message.answer(MessageType::READY_FOR_SM_RESULT, self.session.name());
                self.notify(&answer);
                CoreEvent::SubscriberReady(message.imsi)
            }
            MessageType::MT_FORWARD_SM_RESULT | MessageType::MT_FORWARD_SM_ERROR => {
                let result = result_of(&message);
                CoreEvent::Late(message.imsi, result)
            }
            // Nobody here waits for it: an HLR says other things to other clients.
            _ => CoreEvent::Other,
        }
    }

    pub(super) fn send(
        &mut self,
        request: &MtRequest<'_>,
        sending: Box<Sending>,
        now: Instant,
    ) -> Result<(), CoreNotSent> {
        let Some(outbox) = &self.outbox else {
            return Err(CoreNotSent::NotNow(sending));
        };
        let request = GsupMessage {
            reference: Some(REFERENCE_UNKNOWN),
            destination: Some(SmRpAddress::Imsi(request.subscriber.to_owned())),
            originator: Some(SmRpAddress::ServiceCentre(TpduAddress::international(
                request.smsc.clone(),
            ))),
            user_information: Some(request.tpdu.clone()),
            more_messages: Some(request.more),
            source_name: Some(self.session.name().clone()),
            ..GsupMessage::new(MessageType::MT_FORWARD_SM_REQUEST, request.subscriber)
        };
        let session = &mut self.session;
        let sent = outbox.write(|out| session.send(&request, sending, now.into_std(), out));
        sent.map_err(|not_sent| match not_sent {
            GsupNotSent::Unwritable(sending, error) => {
                CoreNotSent::Unwritable(sending, error.to_string())
            }
            GsupNotSent::Busy(sending) => CoreNotSent::Busy(sending),
            GsupNotSent::NotReady(sending) | GsupNotSent::Full(sending) => {
                CoreNotSent::NotNow(sending)
            }
        })
    }

    pub(super) fn accept(&mut self, request: &GsupMessage) {
        let answer = request.answer(MessageType::MO_FORWARD_SM_RESULT, self.session.name());
        self.notify(&answer);
    }

    pub(super) fn refuse(&mut self, request: &GsupMessage, cause: u8, report: Option<Bytes>) {
        let answer = GsupMessage {
            rp_cause: Some(cause),
            user_information: report,
            ..request.answer(MessageType::MO_FORWARD_SM_ERROR, self.session.name())
        };
        self.notify(&answer);
    }

    pub(super) fn notify(&mut self, answer: &GsupMessage) {
        let Some(outbox) = &self.outbox else { return };
        // Without a connection any more, or to a request without an IMSI, there is nobody to answer.
        let session = &mut self.session;
        let written = outbox.write(|out| session.notify(answer, out));
        if let Err(error) = written {
            tracing::debug!(gsm = %self.network, %error, "an answer was not sent");
        }
    }

    pub(super) fn on_tick(&mut self, now: Instant) -> CoreTick {
        let Some(outbox) = &self.outbox else {
            return CoreTick::default();
        };
        let session = &mut self.session;
        let tick = outbox.write(|out| session.on_tick(now.into_std(), out));
        let expired = tick.expired.into_iter();
        let ended = match tick.closed {
            Some(closed) => Some(CoreEnd {
                why: closed.to_string(),
                is_broken: true,
            }),
            None => outbox.is_over().then(|| CoreEnd {
                why: "the HLR does not read".to_owned(),
                is_broken: false,
            }),
        };
        CoreTick {
            expired: expired
                .map(|sending| (*sending, gsm_result::GSUP_NO_ANSWER))
                .collect(),
            ended,
        }
    }

    pub(super) fn cut(&mut self) {
        if let Some(outbox) = self.outbox.take() {
            outbox.cut();
        }
    }

    pub(super) fn take_lost(&mut self) -> Vec<(Sending, bool)> {
        let lost = self.session.take_lost().into_iter();
        lost.map(|sending| (*sending, true)).collect()
    }

    /// Our name, as messages carry it.
    pub(super) fn name(&self) -> Bytes {
        self.session.name().clone()
    }

    /// Our name at the HLR.
    pub(super) fn ipa_name(&self) -> String {
        String::from_utf8_lossy(self.session.name()).into_owned()
    }
}

/// The settings of a connection; the window is that of the interface, which counts what is under way itself.
pub(super) fn session_config(node: &NodeContext, plan: Option<&GsmPlan>) -> GsupSessionConfig {
    let config = plan.map(|plan| plan.config.clone()).unwrap_or_default();
    GsupSessionConfig {
        role: GsupRole::Client,
        name: config.ipa_name_of(node.ids.node()).into(),
        ping_every: config.ping_interval,
        patience: config.ping_timeout,
        request_timeout: config.request_timeout,
        late: LATE,
        window: usize::MAX,
    }
}

/// An MO-forwardSM.
fn submission_of(request: Box<GsupMessage>) -> HandsetSubmission {
    let msisdn = match &request.originator {
        Some(SmRpAddress::Msisdn(number)) => Some(number.text.clone()),
        _ => None,
    };
    HandsetSubmission {
        subscriber: request.imsi.clone(),
        imsi: request.imsi.clone(),
        msisdn,
        tpdu: request.user_information.clone(),
        request: SubmissionRequest::Gsup(request),
    }
}

/// What an answer to an MT-forwardSM says.
fn result_of(answer: &GsupMessage) -> MtResult {
    if answer.message_type == MessageType::MT_FORWARD_SM_RESULT {
        return MtResult::Arrived;
    }
    let status = match (answer.message_type, answer.rp_cause, answer.cause) {
        (MessageType::ROUTING_ERROR, _, _) => gsm_result::GSUP_ROUTING_ERROR,
        (_, Some(cause), _) => gsm_result::of_rp(cause),
        (_, None, Some(cause)) => gsm_result::of_gmm(cause),
        (_, None, None) => gsm_result::GSUP_NO_CAUSE,
    };
    MtResult::Refused {
        status,
        scope: FailureScope::Line,
    }
}
