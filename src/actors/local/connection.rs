//! One connection of a program on the same machine, from accept to close.
//!
//! Started by [`LocalListener`](super::LocalListener), one for each connection; not supervised, for its peer begins anew when it
//! ends. The first frame is a Hello, which says for whom the program speaks: [`Side`]. Everything after that belongs to
//! its side. Whatever comes is answered under its number; when something cannot be read, when nothing is heard, or when the
//! node drains, what was asked before is answered, then a Goodbye says why, and the connection is closed.
//!
//! Invariants: nothing is read while as many requests are under way as may be; a frame that has begun must end in time;
//! a program that reads nothing is cut off.

mod greeting;
mod handling;
mod life;

use std::io;
use std::sync::Arc;

use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Context, WrapFuture};
use bytes::{Bytes, BytesMut};
use prost::Message as _;
use tokio::time::Instant;

use super::client::{Client, LocalRequest};
use super::handler_side::HandlerSide;
use super::parting::{Parting, word};
use super::user::User;
use super::{LocalConnectionPlace, LocalContext};
use crate::actors::context::NodeContext;
use crate::actors::context::binds::BindPort;
use crate::actors::runtime::link::{Linked, Outbox, Wire};
use crate::actors::session::core::TICK;
use crate::clock;
use crate::pb::local::{
    Failure, FromSmsc, NoFrame, Pong, Reason, ToSmsc, from_smsc, put_frame, take_frame, to_smsc,
};
use crate::pb::{BindDirection, BindSnapshot, BindState};
use crate::telemetry::metrics::LocalLabel;

/// Octets that may wait for a handler that does not read; at a quarter of it, nothing is read from any program.
const WRITE_LIMIT: usize = 4 * 1024 * 1024;

/// A connection.
pub(super) struct Connection {
    door: Arc<LocalContext>,
    pub(super) node: Arc<NodeContext>,
    pub(super) port: Arc<BindPort>,
    pub(super) snapshot: BindSnapshot,
    user: User,
    wire: Option<Wire>,
    outbox: Option<Outbox>,
    side: Side,
    /// Requests that have no answer yet.
    under_way: usize,
    /// Octets of the frame that is being looked at.
    frame_octets: u64,
    /// Whether requests of its account take more memory than the share of one account.
    crowded: bool,
    heard_at: Instant,
    /// Since when a frame is expected that must come: the Hello, or the rest of one that has begun.
    frame_since: Option<Instant>,
    /// It ends with this, once everything is answered.
    parting: Option<Parting>,
    /// Since when it is being closed.
    closing_since: Option<Instant>,
    /// Since when the program takes none of what is written, and what it had taken by the last tick.
    stuck_since: Option<Instant>,
    written: u64,
    _admitted: LocalConnectionPlace,
}

/// For whom a program speaks.
pub(super) enum Side {
    /// It has not said hello.
    Unknown,
    /// An account.
    Client(Client),
    /// A part of the work.
    Handler(HandlerSide),
}

// === impl Connection ===

impl Connection {
    pub(super) fn new(wire: Wire, user: User, admitted: LocalConnectionPlace) -> Self {
        let door = Arc::clone(&admitted.door);
        let node = Arc::clone(&door.node);
        let port = BindPort::new(node.binds.next_session(), None);
        let now = Instant::now();
        let snapshot = BindSnapshot {
            session: port.session,
            direction: BindDirection::Local.into(),
            state: BindState::Connecting.into(),
            peer: user.shown(""),
            since: clock::now_ms(),
            ..BindSnapshot::default()
        };
        Self {
            door,
            node,
            port,
            snapshot,
            user,
            wire: Some(wire),
            outbox: None,
            side: Side::Unknown,
            under_way: 0,
            frame_octets: 0,
            crowded: false,
            heard_at: now,
            frame_since: Some(now),
            parting: None,
            closing_since: None,
            stuck_since: None,
            written: 0,
            _admitted: admitted,
        }
    }

    fn on_frame(&mut self, frame: Bytes, ctx: &mut Context<Self>) {
        self.snapshot.received_total += 1;
        self.frame_octets = frame.len() as u64;
        let frame = match ToSmsc::decode(frame) {
            Ok(frame) if frame.request != 0 => frame,
            Ok(_) => return self.part(Reason::Malformed, "a frame has no number; count from 1 on"),
            Err(error) => {
                let detail = format!("a frame is no ToSmsc of smsc.local.v1: {error}");
                return self.part(Reason::Malformed, detail);
            }
        };
        let number = frame.request;
        let request = match (frame.what, &self.side) {
            (Some(to_smsc::What::Hello(hello)), Side::Unknown) => return self.greet(number, hello),
            (_, Side::Unknown) => {
                return self.part(Reason::Malformed, "the first frame must be a Hello");
            }
            (Some(to_smsc::What::Ping(_)), _) => {
                return self.say(number, from_smsc::What::Pong(Pong {}));
            }
            (Some(to_smsc::What::Submit(order)), Side::Client(_)) => LocalRequest::Submit(order),
            (Some(to_smsc::What::Cancel(order)), Side::Client(_)) => LocalRequest::Cancel(order),
            (Some(to_smsc::What::List(order)), Side::Client(_)) => LocalRequest::List(order),
            (Some(to_smsc::What::Get(order)), Side::Client(_)) => LocalRequest::Get(order),
            (Some(to_smsc::What::Hello(_)), _) => {
                return self.fail(number, Reason::Unsupported, "hello was said already");
            }
            (Some(what), Side::Handler(_)) => return self.on_handler(number, what, ctx),
            (_, Side::Client(_) | Side::Handler(_)) => {
                let detail = "this version has no such request";
                return self.fail(number, Reason::Unsupported, detail);
            }
        };
        self.carry_out(number, request, ctx);
    }

    /// Begins with a request; its answer is written when it is there.
    fn carry_out(&mut self, number: u64, request: LocalRequest, ctx: &mut Context<Self>) {
        let Side::Client(client) = &self.side else {
            return;
        };
        let Some(account) = client.account(&self.door) else {
            let gone = client.gone();
            return self.fail(number, Reason::NoAccount, gone);
        };
        self.under_way += 1;
        let most = self.node.config().smpp.intake_mib << 20;
        let (id, arriving) = (account.id, &self.node.arriving);
        let (held, is_within) = arriving.hold(id, self.frame_octets, most);
        self.crowded = !is_within;
        let name = request.name();
        let answer = request.carry_out(self.door.api.clone(), account);
        ctx.spawn(answer.into_actor(self).map(move |answer, act, _| {
            act.under_way -= 1;
            drop(held);
            act.crowded = act.crowded && !act.node.arriving.is_within(id, most);
            // It has waited for us.
            act.heard_at = Instant::now();
            act.count(name, &answer);
            act.say(number, answer);
            act.go_on();
        }));
    }

    fn count(&self, request: &'static str, answer: &from_smsc::What) {
        let result = match answer {
            from_smsc::What::Failure(failure) => word(failure.reason()),
            _ => "ok",
        };
        let label = LocalLabel { request, result };
        self.node.metrics.local_requests.get_or_create(&label).inc();
    }

    /// Its role and what it has under way, if it is a handler.
    pub(super) fn handler_side(&mut self) -> Option<&mut HandlerSide> {
        match &mut self.side {
            Side::Handler(side) => Some(side),
            Side::Unknown | Side::Client(_) => None,
        }
    }

    pub(super) fn fail(&mut self, number: u64, reason: Reason, detail: impl Into<String>) {
        let failure = Failure::new(reason, detail);
        self.say(number, from_smsc::What::Failure(failure));
    }

    /// Writes an answer.
    pub(super) fn say(&mut self, number: u64, what: from_smsc::What) {
        self.snapshot.sent_total += 1;
        if matches!(what, from_smsc::What::Failure(_)) {
            self.snapshot.errors_total += 1;
        }
        if let Some(outbox) = &self.outbox {
            outbox.write(|out| put_frame(&FromSmsc::new(number, what), out));
        }
    }
}

impl Actor for Connection {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let Some(wire) = self.wire.take() else {
            return ctx.stop();
        };
        self.outbox = Some(wire.attach(ctx, WRITE_LIMIT));
        self.node.binds.add(Arc::clone(&self.port));
        self.publish();
        ctx.run_interval(TICK, Self::tick);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let node = Arc::clone(&self.node);
        if let Some(side) = self.handler_side() {
            // Nobody reads answers any more.
            let _ = side.leave(&node);
        }
        self.node.binds.remove(self.port.session);
    }
}

impl Linked for Connection {
    fn on_octets(&mut self, octets: &mut BytesMut, ctx: &mut Context<Self>) {
        let now = Instant::now();
        self.heard_at = now;
        self.port.hear(now);
        let most = self.node.config().local.max_frame as usize;
        while !self.is_busy() {
            match take_frame(octets, most) {
                Ok(Some(frame)) => {
                    self.frame_since = None;
                    self.on_frame(frame, ctx);
                }
                Ok(None) => {
                    self.expect_more(!octets.is_empty(), now);
                    return;
                }
                Err(NoFrame::TooLong) => {
                    let detail = format!("a frame is longer than {most} octets (local.max_frame)");
                    self.part(Reason::TooLarge, detail);
                }
                Err(NoFrame::NoLength) => {
                    self.part(
                        Reason::Malformed,
                        "what stands for the length of a frame is none",
                    );
                }
            }
        }
        if self.parting.is_some() {
            // What came behind is not read.
            octets.clear();
        }
    }

    fn on_finished(&mut self, _: &mut Context<Self>) {
        self.parting.get_or_insert(Parting::Silent);
        self.go_on();
    }

    fn on_closed(&mut self, error: Option<io::Error>, ctx: &mut Context<Self>) {
        if let Some(error) = error {
            tracing::debug!(peer = %self.snapshot.peer, %error, "a connection to local.socket broke");
        }
        ctx.stop();
    }

    fn is_busy(&self) -> bool {
        self.parting.is_some()
            || self.under_way >= self.node.config().local.max_requests as usize
            || (self.crowded && self.under_way > 0)
            || self.outbox.as_ref().is_some_and(Outbox::is_filling)
            || self.is_to_stop()
    }
}
