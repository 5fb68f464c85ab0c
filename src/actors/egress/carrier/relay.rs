//! Between the session, to which this is an SMSC, and the gateway, to which this is a client.
//!
//! Neither side waits for the other to read: what is to be written is kept, and the other side is not read while that
//! is much.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::interval;

use super::gateway::{Brought, Gateway};
use super::translate::{deliver_of, draft_of};
use crate::actors::context::NodeContext;
use crate::actors::context::plan::OperatorPlan;
use crate::actors::session::pair;
use crate::actors::session::server_end::{self, READ, SENDER, TICK, receipt};
use crate::carrier::{self, NotSent, Unwritable};
use crate::clock;
use crate::config::Carrier;
use crate::smpp::session::{Event, Session};
use crate::smpp::{
    Body, CommandStatus, DEFAULT_MAX_PDU, SubmitSm, encode_deliver_sm, encode_error_resp,
    encode_submit_sm_resp, next_frame,
};

/// How often a silent gateway is asked whether it is there (CMPP §6.2: N = 3).
const PROBES: u32 = 3;

/// What is brought under a sequence of the gateway.
type Came<G> = (<G as carrier::Protocol>::Sequence, <G as Gateway>::Came);

/// Both sessions of a connection.
pub(super) struct Relay<G: Gateway> {
    protocol: G,
    /// Where the accounts are, whose messages it submits.
    node: Arc<NodeContext>,
    plan: Arc<OperatorPlan>,
    /// What its messages are told beside what SMPP has.
    carrier: Carrier,
    /// With the operator's session.
    near: Session<Came<G>>,
    near_out: BytesMut,
    /// With the gateway, since the bind; each request has the sequence of its submit_sm.
    far: Option<carrier::Session<G, u32>>,
    far_out: BytesMut,
    /// The bind that waits for the login.
    bind: u32,
}

/// Serves a connection until one side is gone.
pub(super) async fn serve<G: Gateway>(
    protocol: G,
    node: Arc<NodeContext>,
    plan: &Arc<OperatorPlan>,
    near: UnixStream,
    far: impl AsyncRead + AsyncWrite + Unpin,
) {
    let mut relay = Relay::new(protocol, node, Arc::clone(plan));
    let (mut near_read, mut near_write) = tokio::io::split(near);
    let (mut far_read, mut far_write) = tokio::io::split(far);
    let (mut from_near, mut from_far) = (BytesMut::new(), BytesMut::new());
    let mut tick = interval(TICK);
    let mut goes_on = true;
    let mut unflushed = false;
    while goes_on {
        from_near.reserve(READ);
        from_far.reserve(READ);
        goes_on = tokio::select! {
            octets = near_read.read_buf(&mut from_near), if relay.far_out.len() < pair::MUCH => match octets {
                Ok(0) | Err(_) => false,
                Ok(_) => relay.on_near(&mut from_near),
            },
            octets = far_read.read_buf(&mut from_far), if relay.near_out.len() < pair::MUCH => match octets {
                Ok(0) | Err(_) => false,
                Ok(_) => relay.on_far(&mut from_far),
            },
            written = near_write.write_buf(&mut relay.near_out), if !relay.near_out.is_empty() => {
                written.is_ok()
            }
            written = pair::write(&mut far_write, &mut relay.far_out, &mut unflushed),
                if unflushed || !relay.far_out.is_empty() => written.is_ok(),
            _ = tick.tick() => relay.on_tick(),
        };
    }
    // What has come from one side is still told to the other.
    let (near_out, far_out) = (&mut relay.near_out, &mut relay.far_out);
    pair::part(&mut near_write, near_out, &mut far_write, far_out).await;
}

// === impl Relay ===

impl<G: Gateway> Relay<G> {
    pub(super) fn new(protocol: G, node: Arc<NodeContext>, plan: Arc<OperatorPlan>) -> Self {
        let system_id = Bytes::copy_from_slice(plan.config.id.as_bytes());
        let config = server_end::config(system_id);
        Self {
            protocol,
            node,
            carrier: plan.config.carrier(),
            plan,
            near: Session::new(config, Instant::now()),
            near_out: BytesMut::new(),
            far: None,
            far_out: BytesMut::new(),
            bind: 0,
        }
    }

    /// False when the connection is over.
    fn on_tick(&mut self) -> bool {
        let now = Instant::now();
        let near = self.near.on_tick(now, &mut self.near_out);
        let far = self
            .far
            .as_mut()
            .map(|far| far.on_tick(now, &mut self.far_out));
        let closed = far.and_then(|far| far.closed);
        if let Some(closed) = closed {
            self.given_up(closed);
        }
        near.close.is_none() && closed.is_none()
    }

    fn given_up(&self, why: carrier::session::Closed) {
        tracing::warn!(operator = %self.plan.config.id, %why, "a gateway is given up");
    }

    // --- from the session ---

    pub(super) fn on_near(&mut self, read: &mut BytesMut) -> bool {
        loop {
            let frame = match next_frame(read, DEFAULT_MAX_PDU) {
                Ok(Some(frame)) => frame,
                Ok(None) => return true,
                // Where the next one begins is not known.
                Err(_) => return false,
            };
            let event = self
                .near
                .on_frame(Instant::now(), frame, &mut self.near_out);
            match event {
                Event::Bind { sequence, .. } => self.log_in(sequence),
                Event::Request(pdu) => match pdu.body {
                    Body::SubmitSm(message) => self.submit(pdu.sequence, &message),
                    other => {
                        let status = CommandStatus::ESME_RINVCMDID;
                        let (command, sequence) = (other.command_id(), pdu.sequence);
                        encode_error_resp(&mut self.near_out, command, sequence, status);
                    }
                },
                Event::Response { pdu, context, .. } => self.answer(context, pdu.status),
                Event::Unbind => match &mut self.far {
                    Some(far) => far.end(Instant::now(), &mut self.far_out),
                    None => return false,
                },
                Event::Close(_) => return false,
                Event::Nothing | Event::BindResult { .. } | Event::Answered { .. } => {}
            }
        }
    }

    fn log_in(&mut self, sequence: u32) {
        self.bind = sequence;
        let operator = &self.plan.config;
        let config = carrier::SessionConfig {
            // The session keeps the window and the time for an answer; a late answer is still told.
            window: 2 * operator.window as usize,
            response: 2 * operator.response_timeout,
            login: operator.bind_timeout,
            probe_every: operator.enquire_link_interval,
            probe: operator.enquire_link_timeout,
            probes: PROBES,
            idle: Duration::ZERO,
            logout: operator.enquire_link_timeout,
        };
        let login = self.protocol.login(operator, clock::now_ms());
        let out = &mut self.far_out;
        match carrier::Session::client(config, self.protocol, login, Instant::now(), out) {
            Ok(session) => self.far = Some(session),
            Err(why) => {
                tracing::error!(operator = %operator.id, %why, "its login cannot be written");
                let status = CommandStatus::ESME_RINVSYSID;
                self.near.reject_bind(sequence, status, &mut self.near_out);
            }
        }
    }

    fn submit(&mut self, sequence: u32, message: &SubmitSm) {
        let body = {
            let carrier = self.carrier_of(message);
            let draft = draft_of(message, carrier.gbk);
            (self.protocol).submit(&self.plan.config, &carrier, draft)
        };
        let Some(far) = &mut self.far else {
            return;
        };
        let status = match far.send(body, sequence, Instant::now(), &mut self.far_out) {
            Ok(_) => return,
            Err(NotSent::Full(_)) => CommandStatus::ESME_RTHROTTLED,
            // The session loses what it has when the pair is closed, and sends it again.
            Err(NotSent::NotOpen(_)) => return,
            Err(NotSent::Unwritable(_, why)) => {
                tracing::info!(operator = %self.plan.config.id, %why, "a message cannot be written");
                unwritable(why)
            }
        };
        encode_submit_sm_resp(&mut self.near_out, sequence, status, &[]);
    }

    /// What the gateway is told with a message: what its account says goes before what the operator's section says.
    fn carrier_of(&self, message: &SubmitSm) -> Cow<'_, Carrier> {
        let sender = message.tlvs.get_uint(SENDER);
        let plan = self.node.plan();
        let account = sender.and_then(|sender| plan.account_by_id(sender));
        match account.and_then(|account| account.config.carrier.as_ref()) {
            Some(own) => Cow::Owned(own.over(&self.carrier)),
            None => Cow::Borrowed(&self.carrier),
        }
    }

    /// The session has answered what the gateway has brought.
    fn answer(&mut self, (sequence, came): Came<G>, status: CommandStatus) {
        if let Some(far) = &mut self.far {
            // Its fields always fit.
            let _ = far.answer(sequence, G::answer(came, status), &mut self.far_out);
        }
    }

    // --- from the gateway ---

    pub(super) fn on_far(&mut self, read: &mut BytesMut) -> bool {
        let now = Instant::now();
        let Some(far) = &mut self.far else {
            // Nothing may come before our login.
            return false;
        };
        far.receive(read, now);
        read.clear();
        while let Some(event) = self
            .far
            .as_mut()
            .and_then(|far| far.next_event(now, &mut self.far_out))
        {
            match event {
                carrier::Event::Opened(_) => {
                    self.near.accept_bind(now, self.bind, &mut self.near_out);
                }
                carrier::Event::Refused(body) => {
                    let status = G::refused(&body);
                    self.near.reject_bind(self.bind, status, &mut self.near_out);
                    return false;
                }
                carrier::Event::Request(pdu) => self.on_request(pdu.sequence, &pdu.body),
                carrier::Event::Response(sequence, body) => self.submitted(sequence, &body),
                carrier::Event::Malformed(why) => {
                    // It would bring the same again on the next connection.
                    tracing::warn!(operator = %self.plan.config.id, %why, "a gateway sends what cannot be read");
                }
                carrier::Event::Closed(why) => {
                    if why != carrier::session::Closed::ByUs {
                        self.given_up(why);
                    }
                    self.near.answer_unbind(&mut self.near_out);
                    return false;
                }
                carrier::Event::Stray(_) | carrier::Event::Login(_) => {}
            }
        }
        true
    }

    fn submitted(&mut self, sequence: u32, body: &G::Body) {
        let Some((id, status)) = G::submitted(body) else {
            return;
        };
        let id = match status.is_ok() {
            true => id,
            false => String::new(),
        };
        encode_submit_sm_resp(&mut self.near_out, sequence, status, id.as_bytes());
    }

    fn on_request(&mut self, sequence: G::Sequence, body: &G::Body) {
        let Some((came, brought)) = self.protocol.brought(body) else {
            tracing::debug!(operator = %self.plan.config.id, "a gateway asks for what a client does not do");
            return;
        };
        let deliver = match brought {
            Brought::Nothing => {
                tracing::warn!(operator = %self.plan.config.id, "a report that cannot be read is dropped");
                return self.answer((sequence, came), CommandStatus::ESME_ROK);
            }
            Brought::Report {
                id,
                outcome,
                error,
                number,
            } => receipt(&id, outcome as u8, error, number, clock::now_ms()),
            Brought::Message(message) => deliver_of(message),
        };
        let write = |out: &mut BytesMut, sequence| encode_deliver_sm(out, sequence, &deliver);
        let now = Instant::now();
        let sent = self
            .near
            .send(now, (sequence, came), &mut self.near_out, write);
        if sent.is_err() {
            // Too much is under way, or the session is ending: the gateway brings it again.
            self.answer((sequence, came), CommandStatus::ESME_RMSGQFUL);
        }
    }
}

/// The status of a message that has a field which the protocol cannot hold.
fn unwritable(why: Unwritable) -> CommandStatus {
    match why.field {
        "Msg_Content" => CommandStatus::ESME_RINVMSGLEN,
        "Src_Id" => CommandStatus::ESME_RINVSRCADR,
        "Dest_terminal_Id" => CommandStatus::ESME_RINVDSTADR,
        _ => CommandStatus::ESME_RSUBMITFAIL,
    }
}
