//! When to connect to the network, and what happens when that fails or ends. How, its core knows (`gsup`, `map`).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{ActorContext, Context};
use tokio::time::Instant;

use super::GsmInterface;
use super::core::NetworkCore;
use super::exchange::CoreEnd;
use super::faults::Faults;
use super::lines::Lines;
use super::work::Sending;
use crate::actors::runtime::supervise::{AfterStop, reconnect_after};
use crate::actors::session::served_queue::RequestRoom;
use crate::clock;
use crate::pb::BindState;

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
        // The plan may have another protocol than before.
        self.core = NetworkCore::new(&self.node, Some(&plan));
        self.core
            .protocol()
            .clone_into(&mut self.snapshot.bind_type);
        self.state(BindState::Connecting);
        if plan.config.is_map() {
            self.dial_gateways(&plan, ctx);
        } else {
            self.dial_hlr(plan, ctx);
        }
    }

    /// Begins to serve the queue, when the name is ours.
    pub(super) fn serve(&mut self, ctx: &mut Context<Self>) {
        let may = self.is_ready()
            && !self.served.is_retiring()
            && !self.has_withdrawn
            && self.naming.is_ours(Instant::now());
        if !may || self.served.is_joined() {
            return;
        }
        self.naming.used();
        self.snapshot.reconnect_attempts = 0;
        self.snapshot.next_reconnect_at = 0;
        self.snapshot.last_error.clear();
        self.snapshot.since = clock::now_ms();
        let (peer, ipa_name) = (self.core.peer(), self.ipa_name());
        tracing::info!(gsm = %self.snapshot.name, peer = %self.snapshot.peer, %ipa_name, session = self.port.session, "connected to the {peer}");
        self.join(ctx);
        self.state(BindState::Bound);
    }

    /// Whether this node may be connected: where all nodes have one name, one of them holds it.
    fn holds_name(&self) -> bool {
        let is_shared = (self.plan.as_ref()).is_some_and(|plan| plan.config.shares_name());
        !is_shared || self.node.local_lease.holds_bind(self.options.gsm, NAME)
    }

    /// Another node has the name. The Supervisor wakes this connection when that may have changed.
    fn stand_by(&mut self, ctx: &mut Context<Self>) {
        let since = *self.standing_by_since.get_or_insert_with(Instant::now);
        if matches!(self.core, NetworkCore::Map(_)) {
            // Failures over MAP are those of its gateways.
            self.failures = self.failures.max(self.snapshot.reconnect_attempts);
        }
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
        self.has_withdrawn = false;
        if !self.node.local_lease.is_valid() {
            // Another node may take what this one has: not even the answers are ours to wait for.
            return self.come_back("this node's lease is over", ctx);
        }
        if self.follow_plan(ctx) {
            return;
        }
        self.is_full = false;
        let tick = self.core.on_tick(Instant::now());
        for (sending, status) in tick.expired {
            self.expired(sending, status);
        }
        if let Some(CoreEnd { why, is_broken }) = tick.ended {
            if is_broken {
                self.broken_off();
            }
            return self.come_back(&why, ctx);
        }
        self.tick_map(ctx);
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
        if self.served.is_retiring() {
            // Its queue was told that it takes no more; only a new connection takes that back.
            return self.come_back("wanted again while it was leaving", ctx);
        }
        self.serve(ctx);
        if self.is_suspended() {
            self.give_back_waiting(|_| true);
            self.refuse_waiting_reports();
        }
        self.go_on();
        self.publish();
    }

    /// Takes the newest plan; true when the connection has to be made anew for it.
    fn follow_plan(&mut self, ctx: &mut Context<Self>) -> bool {
        let newest = self.node.plan().gsm(self.options.gsm).cloned();
        if let (Some(before), Some(newest)) = (&self.plan, &newest)
            && Arc::ptr_eq(before, newest)
        {
            return false;
        }
        let is_alike = match (&self.plan, &newest) {
            (Some(before), Some(newest)) => {
                let (before, newest) = (&before.config, &newest.config);
                before.protocol == newest.protocol
                    && before.map_connection() == newest.map_connection()
                    // In MAP the number of the service centre is our address.
                    && (!newest.is_map() || before.smsc_address == newest.smsc_address)
                    && before.hlr() == newest.hlr()
                    && before.ipa_name == newest.ipa_name
                    && before.request_timeout == newest.request_timeout
                    && before.ping_interval == newest.ping_interval
                    && before.ping_timeout == newest.ping_timeout
                    && before.prove_name == newest.prove_name
            }
            _ => true,
        };
        self.plan = newest;
        if let Some(plan) = self.plan.as_ref().filter(|_| is_alike)
            && let Some(map) = self.core.map()
        {
            map.follow(&plan.config, self.node.ids.node());
        }
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
        self.served.retire();
        self.give_back_waiting(|_| true);
        self.refuse_waiting_reports();
        self.go_on();
        let since = *self.leaving_since.get_or_insert_with(Instant::now);
        let is_over = since.elapsed() >= self.node.config().smpp.drain_timeout;
        let has_sent = !self.under_way.is_empty() || self.reports_here() > 0;
        let is_idle = !has_sent && self.intake == 0 && !self.is_telling;
        if is_over || is_idle {
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
            let peer = self.core.peer();
            tracing::warn!(gsm = %self.snapshot.name, why, "not connected to the {peer}");
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

    /// The other side has broken off, or is silent.
    pub(super) fn broken_off(&mut self) {
        self.cut_off();
        self.naming.broken();
    }

    /// Gives the connection up, and everything back, in order: what is under way with an unknown outcome. Idempotent.
    pub(super) fn leave(&mut self) {
        self.core.cut();
        self.naming.left();
        self.let_go_of_messages();
        self.snapshot.gateways.clear();
        self.submissions.clear();
        self.forwards.clear();
        self.routings.clear();
        self.is_telling = false;
        self.intake = 0;
        self.storing.clear();
        self.looking = 0;
        self.leaving_since = None;
    }

    /// Gives every message back, in order.
    pub(super) fn let_go_of_messages(&mut self) {
        self.tell_sent();
        let lost = self.take_lost();
        self.give_back_lost(&lost);
        self.give_back_waiting(|_| true);
        self.served.settle(RequestRoom::default());
        self.served.leave();
        self.lines = Lines::default();
        self.under_way.clear();
        self.unwritten.clear();
        self.given_up.clear();
        self.faults = Faults::default();
    }

    /// What is under way, in order, and whether it was sent; the connection is over.
    pub(super) fn take_lost(&mut self) -> Vec<(Sending, bool)> {
        let mut lost = self.core.take_lost();
        lost.retain(|(sending, _)| !sending.work.is_unqueued());
        lost.sort_by_key(|(sending, _)| sending.work.context.id);
        lost
    }

    pub(super) fn give_back_lost(&mut self, lost: &[(Sending, bool)]) {
        self.served.note(|serving| {
            for (Sending { work, .. }, was_sent) in lost {
                self.partly.keep(work);
                if *was_sent {
                    serving.lost(&work.context);
                } else {
                    serving.give_back(work.context.id, work.context.attempt);
                }
            }
        });
    }
}
