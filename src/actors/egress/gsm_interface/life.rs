//! Connecting to the HLR, and what happens when that fails or ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{ActorContext, ActorFutureExt, AsyncContext, Context, WrapFuture};
use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::faults::Faults;
use super::lines::Lines;
use super::{EMPTY_TPDU, GsmInterface, NOBODY, Sending, WRITE_LIMIT, session_config};
use crate::actors::context::plan::gsm_name;
use crate::actors::egress::local_peer;
use crate::actors::runtime::link::{Wire, tune};
use crate::actors::runtime::supervise::{AfterStop, reconnect_after};
use crate::clock;
use crate::gsup::message::{GsupMessage, REFERENCE_UNKNOWN, SmRpAddress};
use crate::gsup::message_type::MessageType;
use crate::gsup::session::GsupSession;
use crate::pb::BindState;
use crate::sms::tpdu::TpduAddress;

/// The slot of the lease of a name that all nodes have: there is one.
const NAME: u32 = 0;
/// How often a connection that stands by looks whether it has the name now, should nobody wake it.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// After this time a node that has lost the name, because it did not reach the HLR, may have it again.
const FORGIVEN: Duration = Duration::from_secs(60);

impl GsmInterface {
    pub(super) fn connect(&mut self, ctx: &mut Context<Self>) {
        let Some(plan) = self.plan.clone() else {
            return;
        };
        let slot = if plan.config.shares_name() {
            NAME
        } else {
            u32::MAX
        };
        // Before it is asked whether the name is held: whoever gives it back waits until nobody uses it.
        self.port.slot.store(slot, Ordering::Relaxed);
        if !self.holds_name() {
            return self.stand_by(ctx);
        }
        self.standing_by_since = None;
        let is_early = self.due_at.take().is_some_and(|due| Instant::now() < due);
        if is_early {
            // Somebody has woken it: what has kept it from connecting may be over.
            self.failures = 0;
            self.naming.forgive();
        }
        self.state(BindState::Connecting);
        #[cfg(test)]
        if let Some(pipe) = super::tests::next_pipe() {
            return self.connected(Wire::Memory(pipe), "a test".to_owned(), ctx);
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
                    Ok((wire, peer)) => interface.connected(wire, peer, ctx),
                    Err(why) => interface.come_back(&why, ctx),
                }),
        );
    }

    fn connected(&mut self, wire: Wire, peer: String, ctx: &mut Context<Self>) {
        let Some(plan) = self.plan.clone() else {
            return;
        };
        self.snapshot.peer = peer;
        let outbox = wire.attach(ctx, WRITE_LIMIT);
        let config = session_config(&self.node, Some(&plan));
        let now = Instant::now().into_std();
        self.gsup = outbox.write(|out| GsupSession::new(config, now, out));
        self.outbox = Some(outbox);
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

    /// Whether others may be connected, too: a program on this machine has one connection.
    pub(super) fn has_namesakes(&self) -> bool {
        self.plan
            .as_ref()
            .is_some_and(|plan| !plan.config.is_local())
    }

    /// Something came for our name.
    pub(super) fn heard(&mut self, ctx: &mut Context<Self>) {
        self.naming.heard(Instant::now());
        self.serve(ctx);
    }

    /// Begins to serve the queue, when the name is ours.
    fn serve(&mut self, ctx: &mut Context<Self>) {
        let may = self.is_ready() && !self.retired && self.naming.is_ours(Instant::now());
        if !may || self.serving.is_some() {
            return;
        }
        self.naming.used();
        self.snapshot.reconnect_attempts = 0;
        self.snapshot.next_reconnect_at = 0;
        self.snapshot.last_error.clear();
        self.snapshot.since = clock::now_ms();
        let ipa_name = self.ipa_name();
        tracing::info!(gsm = %self.snapshot.name, peer = %self.snapshot.peer, %ipa_name, session = self.port.session, "connected to the HLR");
        self.join(ctx);
        self.state(BindState::Bound);
    }

    fn ipa_name(&self) -> String {
        String::from_utf8_lossy(self.gsup.name()).into_owned()
    }

    /// Asks for a message to nobody: the HLR itself answers, to whom our name leads to.
    pub(super) fn ask_for_nobody(&mut self) {
        let Some(plan) = self.plan.clone() else {
            return;
        };
        let smsc = TpduAddress::international(plan.config.smsc_number());
        let request = GsupMessage {
            reference: Some(REFERENCE_UNKNOWN),
            destination: Some(SmRpAddress::Imsi(NOBODY.to_owned())),
            originator: Some(SmRpAddress::ServiceCentre(smsc)),
            user_information: Some(Bytes::from_static(EMPTY_TPDU)),
            more_messages: Some(false),
            source_name: Some(self.gsup.name().clone()),
            ..GsupMessage::new(MessageType::MT_FORWARD_SM_REQUEST, NOBODY)
        };
        self.notify(&request);
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

    /// Whether this node may be connected: where all nodes have one name, one of them holds it.
    fn holds_name(&self) -> bool {
        let is_shared = (self.plan.as_ref()).is_some_and(|plan| plan.config.shares_name());
        !is_shared || self.node.local_lease.holds_bind(self.options.gsm, NAME)
    }

    /// Another node has the name. The Supervisor wakes this connection when that may have changed.
    fn stand_by(&mut self, ctx: &mut Context<Self>) {
        let since = *self.standing_by_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= FORGIVEN {
            self.failures = 0;
        }
        self.leave();
        self.port.slot.store(u32::MAX, Ordering::Relaxed);
        self.snapshot.reconnect_attempts = self.failures;
        self.snapshot.next_reconnect_at = 0;
        self.due_at = None;
        self.snapshot.last_error.clear();
        // Before others see that it sleeps, and wake it.
        let wakes = self.health.wakes();
        self.state(BindState::Standby);
        let again = AfterStop::Again(Some(LOOK_AGAIN));
        self.health.after_stop_since(again, wakes);
        ctx.stop();
    }

    pub(super) fn tick(&mut self, ctx: &mut Context<Self>) {
        if !self.node.local_lease.is_valid() {
            // Another node may take what this one has: not even the answers are ours to wait for.
            return self.come_back("this node's lease is over", ctx);
        }
        if self.follow_plan(ctx) {
            return;
        }
        if let Some(outbox) = self.outbox.clone() {
            let (gsup, now) = (&mut self.gsup, Instant::now().into_std());
            let tick = outbox.write(|out| gsup.on_tick(now, out));
            for sending in tick.expired {
                self.expired(*sending);
            }
            if let Some(closed) = tick.closed {
                self.cut_off();
                self.naming.broken();
                return self.come_back(&closed.to_string(), ctx);
            }
            if outbox.is_over() {
                return self.come_back("the HLR does not read", ctx);
            }
        }
        let patience = self.plan.as_ref().map(|plan| plan.config.ping_timeout);
        if self
            .naming
            .is_lost(patience.unwrap_or_default(), Instant::now())
        {
            let name = self.ipa_name();
            let why = format!(
                "no answers come to the name {name:?}: another program may be connected under it"
            );
            return self.come_back(&why, ctx);
        }
        if self.naming.has_lasted(Instant::now()) {
            self.failures = 0;
        }
        self.forget_given_up();
        if self.absent.len() > 0 {
            self.absent.forget_old(Instant::now());
        }
        let draining = self.node.draining.load(Ordering::Relaxed);
        if draining || self.plan.is_none() || !self.holds_name() {
            return self.finish(ctx);
        }
        if self.retired {
            // Its queue was told that it takes no more; only a new connection takes that back.
            return self.come_back("wanted again while it was leaving", ctx);
        }
        self.serve(ctx);
        if self.is_suspended() {
            self.give_back_waiting(|_| true);
        }
        self.go_on();
        self.publish();
    }

    /// Takes the newest plan; true when the connection has to be made anew for it.
    fn follow_plan(&mut self, ctx: &mut Context<Self>) -> bool {
        let newest = self.node.plan().gsm(self.options.gsm).cloned();
        let is_alike = match (&self.plan, &newest) {
            (Some(before), Some(newest)) => {
                let (before, newest) = (&before.config, &newest.config);
                before.hlr() == newest.hlr()
                    && before.ipa_name == newest.ipa_name
                    && before.request_timeout == newest.request_timeout
                    && before.ping_interval == newest.ping_interval
                    && before.ping_timeout == newest.ping_timeout
                    && before.prove_name == newest.prove_name
            }
            _ => true,
        };
        self.plan = newest;
        if !is_alike {
            self.failures = 0;
            self.naming.forgive();
            self.come_back("connected anew for a new configuration", ctx);
        }
        !is_alike
    }

    /// The process stops, or another node shall have the name: takes no more, and ends when what is under way is answered,
    /// or its time is over.
    fn finish(&mut self, ctx: &mut Context<Self>) {
        if !std::mem::replace(&mut self.retired, true)
            && let Some(serving) = &self.serving
        {
            serving.retire();
        }
        self.give_back_waiting(|_| true);
        self.go_on();
        let since = *self.leaving_since.get_or_insert_with(Instant::now);
        let is_over = since.elapsed() >= self.node.config().smpp.drain_timeout;
        if is_over || (self.under_way.is_empty() && self.intake == 0) {
            if self.plan.is_some() && !self.node.draining.load(Ordering::Relaxed) {
                return self.stand_by(ctx);
            }
            self.leave();
            self.state(BindState::Closed);
            self.health.after_stop(AfterStop::End);
            ctx.stop();
        }
    }

    /// Stops until an administrator resumes it. It was suspended as of `wakes`.
    pub(super) fn pause(&mut self, wakes: u64, ctx: &mut Context<Self>) {
        self.leave();
        self.failures = 0;
        self.port.slot.store(u32::MAX, Ordering::Relaxed);
        self.snapshot.last_error = "suspended by an administrator".to_owned();
        self.state(BindState::Paused);
        self.health.after_stop_since(AfterStop::Again(None), wakes);
        ctx.stop();
    }

    /// Stops, to be started again by supervision after the next pause.
    pub(super) fn come_back(&mut self, why: &str, ctx: &mut Context<Self>) {
        let pause = self.next_pause();
        if self.snapshot.last_error != why {
            tracing::warn!(gsm = %self.snapshot.name, why, "not connected to the HLR");
        }
        self.snapshot.last_error = why.to_owned();
        self.snapshot.reconnect_attempts = self.failures;
        self.node.metrics.binds_lost.inc();
        self.leave();
        self.due_at = Some(Instant::now() + pause);
        self.snapshot.next_reconnect_at = clock::now_ms() + pause.as_millis() as i64;
        let wakes = self.health.wakes();
        self.state(BindState::Waiting);
        let again = AfterStop::Again(Some(pause));
        self.health.after_stop_since(again, wakes);
        ctx.stop();
    }

    fn next_pause(&mut self) -> Duration {
        let pauses = self.plan.as_ref().map(|plan| &plan.config.reconnect[..]);
        self.failures += 1;
        reconnect_after(pauses.unwrap_or_default(), self.failures)
    }

    /// Gives the connection up, and everything back, in order: what is under way with an unknown outcome. Idempotent.
    pub(super) fn leave(&mut self) {
        if let Some(outbox) = self.outbox.take() {
            outbox.cut();
        }
        self.naming.left();
        self.tell_sent();
        let lost = self.take_lost();
        self.give_back_lost(&lost);
        if let Some(mut serving) = self.serving.take() {
            for work in self.lines.take_if(|work| !work.is_answer()) {
                serving.give_back(work.context.id, work.context.attempt);
            }
            serving.settle(0);
        }
        self.lines = Lines::default();
        self.under_way.clear();
        self.unwritten.clear();
        self.given_up.clear();
        self.faults = Faults::default();
        self.submissions.clear();
        self.intake = 0;
        self.storing.clear();
        self.looking = 0;
        self.offered = 0;
        self.leaving_since = None;
    }

    /// What is under way, in order; the connection is over.
    pub(super) fn take_lost(&mut self) -> Vec<Sending> {
        let mut lost: Vec<Sending> = self.gsup.take_lost().into_iter().map(|one| *one).collect();
        lost.retain(|sending| !sending.work.is_answer());
        lost.sort_by_key(|sending| sending.work.context.id);
        lost
    }

    pub(super) fn give_back_lost(&mut self, lost: &[Sending]) {
        if let Some(serving) = &mut self.serving {
            for Sending { work, .. } in lost {
                self.partly.keep(work.context.id, work.arrived);
                serving.lost(&work.context);
            }
        }
    }
}
