//! Connecting and binding, and what happens when that fails or ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{ActorContext, ActorFutureExt, AsyncContext, Context, WrapFuture};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use secrecy::ExposeSecret as _;
use tokio::time::Instant;

use super::{OperatorSession, SlotOptions, WRITE_LIMIT, dial, managed, session_config};
use crate::actors::context::NodeContext;
use crate::actors::context::handlers::SessionEnd;
use crate::actors::context::plan::{OperatorPlan, operator_name};
use crate::actors::egress::carrier;
use crate::actors::egress::program_bind::ProgramBind;
use crate::actors::egress::upstream_protocol::UpstreamProtocol;
use crate::actors::runtime::link::{self, Outbox, Wire};
use crate::actors::runtime::supervise::{self, AfterStop, reconnect_after};
use crate::actors::session::bound::BoundProtocol as _;
use crate::actors::session::core::LINGER;
use crate::actors::session::outgoing::Serving;
use crate::clock;
use crate::config::{BindKind, OperatorConfig};
use crate::pb::BindState;
use crate::smpp::session::{BindType, Session};
use crate::smpp::{BindRequest, CommandStatus};

/// Pause before a bind that was cut off with messages under way is made again, so often in so long; otherwise it is that
/// of the schedule.
const HURRY: Duration = Duration::from_millis(200);
const HURRIES: u32 = 60;
const HURRY_EVERY: Duration = Duration::from_secs(60);
/// Most frames of a program that are taken at a time.
const FRAMES: usize = 64;

/// Keeps what the management service has said about the operator of a queue, but for the password.
fn remember(node: &NodeContext, queue: u32, said: Option<&managed::Credentials>) {
    let terms = said.map(|said| said.terms.clone());
    if node.managed.set(queue, terms.clone())
        && let Some(terms) = terms
    {
        let rate = terms.rate.unwrap_or_default();
        let operator = node.name_of(queue);
        tracing::info!(%operator, rate, "the management service has said how to bind");
    }
}

/// What an operator is asked to take a bind with.
pub(super) fn bind_request(config: &OperatorConfig) -> BindRequest {
    let octets = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    BindRequest {
        system_id: octets(&config.system_id),
        password: octets(config.password.expose_secret()),
        system_type: octets(&config.system_type),
        interface_version: config.interface_version,
        addr_ton: 0,
        addr_npi: 0,
        address_range: octets(&config.address_range),
    }
}

impl OperatorSession {
    /// Whether the configuration still wants this slot.
    pub(super) fn is_wanted(&self) -> bool {
        if self.is_given {
            return self.plan.is_some();
        }
        self.plan.as_ref().is_some_and(|plan| {
            let kind = match plan.config.bind_kind() {
                BindKind::Transceiver => {
                    self.options.bind_type == BindType::Transceiver || self.paired
                }
                BindKind::Transmitter => self.options.bind_type == BindType::Transmitter,
                BindKind::Receiver => self.options.bind_type == BindType::Receiver,
                BindKind::TransmitterReceiver => self.options.bind_type != BindType::Transceiver,
            };
            kind && self.options.slot < plan.config.binds && self.holds_slot()
        })
    }

    pub(super) fn connect(&mut self, ctx: &mut Context<Self>) {
        let Some(plan) = self.plan.clone() else {
            return;
        };
        self.state(BindState::Connecting);
        if self.is_given {
            return self.connect_given(ctx);
        }
        if plan.config.is_local() && !plan.config.managed {
            return self.connect_program(&plan, ctx);
        }
        let node = Arc::clone(&self.core.node);
        let within = plan.config.bind_timeout;
        let compat = node.config().compat.smpp_connector.clone();
        let queue = self.options.operator;
        let connect = async move {
            let said = if plan.config.managed {
                Some(managed::fetch(compat, plan.config.clone()).await?)
            } else {
                None
            };
            // Also when nobody listens there: then somebody may stand in.
            remember(&node, queue, said.as_ref());
            let config = said.as_ref().map_or(&plan.config, |said| &said.operator);
            match tokio::time::timeout(within, dial::dial(&node, config)).await {
                Ok(connected) => {
                    let (wire, peer) = connected?;
                    Ok((wire, peer, said))
                }
                Err(_) => Err("connect: no connection in time".to_owned()),
            }
        };
        ctx.spawn(
            connect
                .into_actor(self)
                .map(|connected, session, ctx| match connected {
                    Ok((wire, peer, said)) => session.connected(wire, peer, said, ctx),
                    Err(why) => session.come_back(&why, ctx),
                }),
        );
    }

    fn connected(
        &mut self,
        wire: Wire,
        peer: String,
        said: Option<managed::Credentials>,
        ctx: &mut Context<Self>,
    ) {
        let Some(plan) = self.plan.clone() else {
            return;
        };
        self.take_terms(said.as_ref());
        let config = said.as_ref().map_or(&plan.config, |said| &said.operator);
        let bind = bind_request(config);
        let protocol = match carrier::peer_of(&self.core.node, &plan) {
            Some(other) => UpstreamProtocol::Other(other),
            None => {
                let now = Instant::now().into_std();
                UpstreamProtocol::Smpp(Session::new(session_config(Some(&plan)), now))
            }
        };
        let outbox = wire.attach(ctx, WRITE_LIMIT);
        self.begin(outbox, peer, protocol, bind, ctx);
    }

    /// Takes a program that has this operator as its role.
    fn connect_program(&mut self, plan: &OperatorPlan, ctx: &mut Context<Self>) {
        remember(&self.core.node, self.options.operator, None);
        let handlers = &self.core.node.handlers;
        let linked = handlers.link(&operator_name(&plan.config.id));
        let (SessionEnd { mut said, told }, peer) = match linked {
            Ok(linked) => linked,
            Err(why) => return self.come_back(&why, ctx),
        };
        let frames = stream::poll_fn(move |cx| said.poll_recv(cx));
        // What comes together leaves as one batch.
        ctx.add_stream(frames.ready_chunks(FRAMES));
        let protocol = UpstreamProtocol::Other(Box::new(ProgramBind::new(&plan.config)));
        let outbox = link::relay(ctx, told);
        self.begin(outbox, peer, protocol, BindRequest::default(), ctx);
    }

    /// Takes the connection that the operator's gateway has made to us; a session that is started again has none.
    fn connect_given(&mut self, ctx: &mut Context<Self>) {
        let Some(given) = self.given.take() else {
            return self.end(ctx);
        };
        self._counted = Some(given.counted);
        let bind = BindRequest::default();
        let outbox = given.wire.attach(ctx, WRITE_LIMIT);
        self.begin(outbox, given.peer, given.protocol, bind, ctx);
    }

    fn begin(
        &mut self,
        outbox: Outbox,
        peer: String,
        protocol: UpstreamProtocol,
        bind: BindRequest,
        ctx: &mut Context<Self>,
    ) {
        self.core.snapshot.peer = peer;
        self.core.outbox = Some(outbox);
        self.core.protocol = protocol;
        let (bind_type, now) = (self.options.bind_type, Instant::now().into_std());
        self.core
            .write(|protocol, out| protocol.bind(now, bind_type, bind, out));
        self.state(BindState::Binding);
        self.take_news(ctx);
    }

    /// Adopts the kind of bind that the management service wants. A kind other than a transceiver counts
    /// only where the configuration leaves it at that.
    fn take_terms(&mut self, said: Option<&managed::Credentials>) {
        let is_free = self.plan.as_ref().is_some_and(|plan| {
            plan.config.bind == BindKind::Transceiver && (!self.paired || self.told_kind)
        });
        let Some(kind) = said.and_then(|said| said.bind_type).filter(|_| is_free) else {
            return;
        };
        self.told_kind = kind != BindType::Transceiver;
        self.paired = self.told_kind;
        self.options.bind_type = kind;
        self.core.snapshot.bind_type = kind.name().to_owned();
    }

    pub(super) fn bind_result(&mut self, status: CommandStatus, ctx: &mut Context<Self>) {
        if status.is_ok() {
            return self.bound(ctx);
        }
        let why = format!("bind refused: {status}");
        match status {
            CommandStatus::ESME_RINVCMDID if self.options.bind_type == BindType::Transceiver => {
                tracing::info!(operator = %self.core.snapshot.name, "no bind_transceiver here, using a pair");
                self.split(ctx);
            }
            // Who knocks again and again with a wrong password is locked out.
            CommandStatus::ESME_RINVPASWD => self.pause(status, &why, ctx),
            // smpp-connector takes this for wrong credentials, too.
            CommandStatus::ESME_RBINDFAIL
                if self.plan.as_ref().is_some_and(|plan| plan.config.managed) =>
            {
                self.pause(status, &why, ctx);
            }
            _ => self.come_back(&why, ctx),
        }
    }

    /// Stops until somebody has corrected the credentials and resumes it.
    fn pause(&mut self, status: CommandStatus, why: &str, ctx: &mut Context<Self>) {
        tracing::error!(operator = %self.core.snapshot.name, %status, "bind paused until it is resumed: check the password");
        self.paused = true;
        self.come_back(why, ctx);
    }

    /// Turns this slot into the transmitter of a pair and starts its receiver.
    fn split(&mut self, ctx: &mut Context<Self>) {
        self.options.bind_type = BindType::Transmitter;
        self.core.snapshot.bind_type = BindType::Transmitter.name().to_owned();
        if !self.paired {
            self.paired = true;
            let receiver = SlotOptions {
                bind_type: BindType::Receiver,
                paired: true,
                ..self.options.clone()
            };
            receiver.start(&actix::Arbiter::current());
        }
        self.health
            .after_stop(AfterStop::Again(Some(Duration::ZERO)));
        ctx.stop();
    }

    fn bound(&mut self, ctx: &mut Context<Self>) {
        if !self.is_doubted() {
            self.failures = 0;
        }
        self.core.snapshot.reconnect_attempts = 0;
        self.core.snapshot.next_reconnect_at = 0;
        self.core.snapshot.last_error.clear();
        self.core.snapshot.since = clock::now_ms();
        tracing::info!(operator = %self.core.snapshot.name, peer = %self.core.snapshot.peer, bind = %self.core.snapshot.bind_type, session = self.core.port.session, "bound");
        if self.options.bind_type.transmits()
            && let Some(queue) = self.core.node.queue(self.options.operator)
        {
            self.core.join(queue, &ctx.address());
        }
        self.state(BindState::Bound);
        let now = Instant::now().into_std();
        self.core.write(|protocol, out| {
            if let Some(bind) = protocol.other() {
                bind.welcome(now, out);
            }
        });
    }

    /// The session is over, but for the answers to what the operator has brought: they go out before
    /// the connection ends.
    pub(super) fn part(&mut self, why: impl Into<String>, ctx: &mut Context<Self>) {
        if self.core.outbox.is_none() {
            return;
        }
        // What this read brought counts before what it did not bring.
        self.flush(ctx);
        self.give_back();
        self.farewell = Some(why.into());
        self.end_if_answered(ctx);
    }

    /// Closes a session that is over when nothing waits for its answer any more.
    pub(super) fn end_if_answered(&mut self, ctx: &mut Context<Self>) {
        let is_answered =
            self.core.intake == 0 && self.receipts.is_empty() && self.core.submissions.is_empty();
        if self.farewell.is_none() || !is_answered {
            return;
        }
        self.core.write(|smpp, out| smpp.answer_unbind(out));
        if let Some(outbox) = &self.core.outbox {
            outbox.close();
        }
        // A peer that does not take its last answers is not waited for.
        ctx.run_later(LINGER, |session, ctx| {
            if let Some(why) = session.farewell.take() {
                session.come_back(&why, ctx);
            }
        });
    }

    /// Stops for good.
    fn end(&mut self, ctx: &mut Context<Self>) {
        self.state(BindState::Closed);
        self.health.after_stop(AfterStop::End);
        ctx.stop();
    }

    /// Stops as somebody has ordered: until it is resumed, or to bind anew at once.
    pub(super) fn depart(&mut self, ctx: &mut Context<Self>) {
        self.failures = 0;
        self.leave();
        self.core.snapshot.reconnect_attempts = 0;
        // Before it is looked at whether it is suspended: who resumes it then wakes it.
        let wakes = self.health.wakes();
        let after = if self.is_leaving() || self.is_given {
            self.state(BindState::Closed);
            AfterStop::End
        } else if self.core.port.suspended.load(Ordering::Relaxed) {
            tracing::info!(operator = %self.core.snapshot.name, session = self.core.port.session, "unbound: suspended by an administrator");
            self.core.snapshot.last_error = "suspended by an administrator".to_owned();
            self.state(BindState::Paused);
            AfterStop::Again(None)
        } else {
            tracing::info!(operator = %self.core.snapshot.name, session = self.core.port.session, "unbound, to bind anew");
            self.core.snapshot.last_error.clear();
            AfterStop::Again(Some(Duration::ZERO))
        };
        self.health.after_stop_since(after, wakes);
        ctx.stop();
    }

    /// Stops, to be started again by supervision after the next pause.
    pub(super) fn come_back(&mut self, why: &str, ctx: &mut Context<Self>) {
        if self.departing {
            return self.depart(ctx);
        }
        if self.is_given {
            tracing::info!(operator = %self.core.snapshot.name, peer = %self.core.snapshot.peer, why, "a gateway's connection has ended");
            self.leave();
            return self.end(ctx);
        }
        self.give_back();
        let pause = self.next_pause();
        if self.core.snapshot.last_error != why {
            tracing::warn!(operator = %self.core.snapshot.name, why, "bind lost");
        }
        self.core.snapshot.last_error = why.to_owned();
        self.core.snapshot.reconnect_attempts = self.failures;
        self.core.node.metrics.binds_lost.inc();
        self.meter.reconnects.inc();
        self.leave();
        // Before others see that it sleeps, and wake it.
        let wakes = self.health.wakes();
        let after = if self.is_leaving() {
            self.state(BindState::Closed);
            AfterStop::End
        } else if self.paused {
            self.state(BindState::Paused);
            AfterStop::Again(None)
        } else {
            self.core.snapshot.next_reconnect_at = clock::now_ms() + pause.as_millis() as i64;
            self.state(BindState::Waiting);
            AfterStop::Again(Some(pause))
        };
        self.health.after_stop_since(after, wakes);
        ctx.stop();
    }

    fn next_pause(&mut self) -> Duration {
        let pauses = self.plan.as_ref().map(|plan| &plan.config.reconnect[..]);
        let pause = reconnect_after(pauses.unwrap_or_default(), self.failures + 1);
        if std::mem::take(&mut self.cut_off) && self.may_hurry() {
            return pause.min(supervise::jitter(HURRY));
        }
        self.failures += 1;
        pause
    }

    /// Gives back what is unanswered. Who has ended the session decides whether it is under suspicion.
    fn give_back(&mut self) {
        self.take_last_answers();
        let is_ours = self.departing
            || self.retired
            || self.leaving_since.is_some()
            || !self.core.node.local_lease.is_valid();
        if is_ours {
            self.core.give_back(Serving::lost);
        } else {
            self.cut_off |= self.core.protocol.in_flight() > 0 && self.core.serving.is_some();
            self.core.give_back(Serving::ended);
        }
    }

    /// Whether the operator ends sessions whatever it is sent.
    fn is_doubted(&self) -> bool {
        let queue = self.core.node.queue(self.options.operator);
        queue.is_some_and(|queue| queue.doubted.load(Ordering::Relaxed))
    }

    /// One message on which the operator ends the session must not hold up others for the pauses of an operator that is
    /// away: a few times it is bound to at once again.
    fn may_hurry(&mut self) -> bool {
        let now = Instant::now();
        if now.duration_since(self.hurried.0) >= HURRY_EVERY {
            self.hurried = (now, 0);
        }
        let may = self.hurried.1 < HURRIES && !self.is_doubted();
        self.hurried.1 += u32::from(may);
        may
    }
}
