//! A network that speaks GSUP: one connection to its HLR, which passes on what is for MSCs.
//!
//! Connects, asks whether our name leads here (`naming`), and translates between [`GsupSession`] and the rest of the
//! interface. An answer is matched by IMSI, because an MSC answers with references of its own.

use std::io;
use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use bytes::{Bytes, BytesMut};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::core::{
    CoreEnd, CoreEvent, CoreNotSent, CoreTick, FailureScope, HandsetSubmission, MtRequest,
    MtResult, NetworkCore, SubmissionRequest,
};
use super::{GsmInterface, LATE, Sending};
use crate::actors::context::NodeContext;
use crate::actors::context::plan::{GsmPlan, gsm_name};
use crate::actors::egress::local_peer;
use crate::actors::runtime::link::{Outbox, Wire, tune};
use crate::domain::gsm_result;
use crate::gsup::message::{GsupMessage, REFERENCE_UNKNOWN, SmRpAddress};
use crate::gsup::message_type::MessageType;
use crate::gsup::session::{
    GsupEvent, GsupNotSent, GsupRole, GsupSession, GsupSessionConfig, GsupSessionState,
};
use crate::pb::BindState;
use crate::sms::tpdu::TpduAddress;

/// Nobody has it: there is no mobile country code 000 (ITU-T E.212). An HLR says so to whom our name leads to.
pub(super) const NOBODY: &str = "000000000000000";
/// An SMS-DELIVER without a text, from "0" at the turn of the century (3GPP TS 23.040 §9.2.2.1).
const EMPTY_TPDU: &[u8] = b"\x04\x01\x91\xf0\x00\x00\x00\x10\x10\x00\x00\x00\x00\x00";
const WRITE_LIMIT: usize = 4 * 1024 * 1024;

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

    fn notify(&mut self, answer: &GsupMessage) {
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
            return CoreTick {
                expired: Vec::new(),
                ended: None,
            };
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

    fn ipa_name(&self) -> String {
        String::from_utf8_lossy(self.session.name()).into_owned()
    }
}

// === impl GsmInterface ===

impl GsmInterface {
    /// Connects to the HLR.
    pub(super) fn dial_hlr(&mut self, plan: Arc<GsmPlan>, ctx: &mut Context<Self>) {
        #[cfg(test)]
        if let Some(pipe) = super::tests::next_pipe() {
            return self.connected_to_hlr(Wire::Memory(pipe), "a test".to_owned(), ctx);
        }
        let smpp = self.node.config().smpp.clone();
        let within = plan.config.connect_timeout;
        let node = Arc::clone(&self.node);
        let dial = async move {
            if plan.config.is_local() {
                let role = gsm_name(&plan.config.name);
                return local_peer::connect(&node, &role);
            }
            let address = plan.config.hlr();
            let connected = tokio::time::timeout(within, TcpStream::connect(&address)).await;
            let socket = match connected {
                Ok(connected) => connected.map_err(|error| format!("connect: {error}"))?,
                Err(_) => return Err("connect: no connection in time".to_owned()),
            };
            tune(&socket, &smpp);
            let peer = socket.peer_addr();
            let peer = peer.map_or(address, |peer| peer.to_string());
            Ok((Wire::Plain(socket), peer))
        };
        ctx.spawn(
            dial.into_actor(self)
                .map(|connected, interface, ctx| match connected {
                    Ok((wire, peer)) => interface.connected_to_hlr(wire, peer, ctx),
                    Err(why) => interface.come_back(&why, ctx),
                }),
        );
    }

    fn connected_to_hlr(&mut self, wire: Wire, peer: String, ctx: &mut Context<Self>) {
        let Some(plan) = self.plan.clone() else {
            return;
        };
        self.snapshot.peer = peer;
        let outbox = wire.attach(ctx, WRITE_LIMIT);
        let config = session_config(&self.node, Some(&plan));
        let now = Instant::now().into_std();
        let session = outbox.write(|out| GsupSession::new(config, now, out));
        self.core = NetworkCore::Gsup(Box::new(GsupCore {
            network: plan.config.name.clone(),
            session,
            outbox: Some(outbox),
        }));
        self.state(BindState::Binding);
    }

    /// The HLR has taken our name; whether it leads here is asked.
    pub(super) fn ready(&mut self, ctx: &mut Context<Self>) {
        let asks = self.proves_name();
        self.naming.ready(asks, Instant::now());
        if asks {
            self.ask_for_nobody();
        }
        self.serve(ctx);
    }

    /// A request that was sent at `since` was not answered: would an answer come here?
    pub(super) fn doubt_name(&mut self, since: Instant) {
        if self.proves_name() && self.naming.doubts(since, Instant::now()) {
            self.ask_for_nobody();
        }
    }

    fn proves_name(&self) -> bool {
        self.has_namesakes() && (self.plan.as_ref()).is_some_and(|plan| plan.config.prove_name)
    }

    /// Whether others may be connected under our name, too: a program on this machine has one connection, and over MAP there
    /// are no names.
    pub(super) fn has_namesakes(&self) -> bool {
        let is_of_hlr = |plan: &Arc<GsmPlan>| !plan.config.is_local() && !plan.config.is_map();
        self.plan.as_ref().is_some_and(is_of_hlr)
    }

    /// Something came for our name.
    pub(super) fn heard(&mut self, ctx: &mut Context<Self>) {
        self.naming.heard(Instant::now());
        self.serve(ctx);
    }

    /// Our name at the HLR.
    pub(super) fn ipa_name(&self) -> String {
        match &self.core {
            NetworkCore::Gsup(gsup) => gsup.ipa_name(),
            NetworkCore::Map(_) => String::new(),
        }
    }

    /// Asks for a message to nobody: the HLR itself answers, to whom our name leads to.
    fn ask_for_nobody(&mut self) {
        let Some(plan) = self.plan.clone() else {
            return;
        };
        let NetworkCore::Gsup(gsup) = &mut self.core else {
            return;
        };
        let smsc = TpduAddress::international(plan.config.smsc_number());
        let request = GsupMessage {
            reference: Some(REFERENCE_UNKNOWN),
            destination: Some(SmRpAddress::Imsi(NOBODY.to_owned())),
            originator: Some(SmRpAddress::ServiceCentre(smsc)),
            user_information: Some(Bytes::from_static(EMPTY_TPDU)),
            more_messages: Some(false),
            source_name: Some(gsup.session.name().clone()),
            ..GsupMessage::new(MessageType::MT_FORWARD_SM_REQUEST, NOBODY)
        };
        gsup.notify(&request);
    }

    /// The HLR has closed the connection, as some do with the older one of two of a name.
    pub(super) fn closed_by_hlr(&mut self, error: Option<io::Error>, ctx: &mut Context<Self>) {
        let why = error.map_or_else(
            || "the HLR closed the connection".to_owned(),
            |error| error.to_string(),
        );
        let is_explained = self.cut_off();
        if is_explained {
            // The others do not wait for the pauses of an HLR that is away.
            self.failures = 0;
        }
        if is_explained || !self.has_namesakes() || !self.naming.closed(Instant::now()) {
            return self.come_back(&why, ctx);
        }
        let name = self.ipa_name();
        let why = format!(
            "{why} again and again soon after the handshake: another program may have the name {name:?}"
        );
        self.come_back(&why, ctx);
    }
}

/// The settings of a connection; the window is that of the interface, which counts what is under way itself.
fn session_config(node: &NodeContext, plan: Option<&GsmPlan>) -> GsupSessionConfig {
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
