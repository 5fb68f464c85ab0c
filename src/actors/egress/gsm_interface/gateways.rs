//! The signalling gateways of a network over MAP: starts their tasks, takes what these bring, and shows how they stand.

use std::sync::Arc;
use std::time::Duration;

use actix::{Arbiter, AsyncContext, Context, Handler};
use tokio::time::Instant;

use super::GsmInterface;
use super::core::NetworkCore;
use super::map::SignallingCore;
use super::map::gateway::{GatewayChange, GatewayNews, GatewayTaskOptions};
use crate::actors::context::binds::CUT_OFF;
use crate::actors::context::plan::GsmPlan;
use crate::actors::runtime::supervise::Health;
use crate::clock;
use crate::pb::{GatewaySnapshot, GatewayState};

/// How long a network may be away before another node of those that share its point code is to try.
const PATIENCE: Duration = Duration::from_secs(30);

// === impl GsmInterface ===

impl GsmInterface {
    /// Starts the connections to the signalling gateways.
    pub(super) fn dial_gateways(&mut self, plan: &Arc<GsmPlan>, ctx: &mut Context<Self>) {
        let map = plan.config.map();
        let node = self.node.ids.node();
        if map.point_code_of(node).is_none() {
            let why = format!("node {node} has no point code; add one to map.point_codes");
            return self.come_back(&why, ctx);
        }
        self.starts += 1;
        let mut core = SignallingCore::of(&plan.config, node, self.starts);
        for (link, gateway) in map.gateways.into_iter().enumerate() {
            let address = gateway.host_and_port();
            let health = self.health_of(&address);
            let options = GatewayTaskOptions {
                node: Arc::clone(&self.node),
                interface: ctx.address().recipient(),
                gsm: self.options.gsm,
                gateway,
                start: self.starts,
                link,
                is_busy: core.reading(),
            };
            let escalate = Arc::clone(&self.options.escalate);
            let shown = GatewaySnapshot {
                address,
                state: GatewayState::Connecting.into(),
                since: clock::now_ms(),
                ..GatewaySnapshot::default()
            };
            let port = options.start(&Arbiter::current(), health, escalate);
            core.add(port, shown);
        }
        self.core = NetworkCore::Map(Box::new(core));
        self.show_gateways();
    }

    /// What is counted of the task of a gateway stays, however often it is started.
    fn health_of(&mut self, address: &str) -> Arc<Health> {
        if let Some(health) = self.gateways.get(address) {
            return Arc::clone(health);
        }
        let network = &self.snapshot.queue;
        let health = Health::new(format!("{network} gateway {address}"));
        self.node.watch(Arc::clone(&health));
        self.gateways
            .insert(address.to_owned(), Arc::clone(&health));
        health
    }

    /// What the time has brought to a network over MAP.
    pub(super) fn tick_map(&mut self, ctx: &mut Context<Self>) {
        let Some(map) = self.core.map() else { return };
        let unserved = map.take_unserved();
        for (result, count) in [
            ("refused", unserved.refused),
            ("unanswered", unserved.unanswered),
            ("disbelieved", unserved.alerts),
        ] {
            let metrics = &self.node.metrics;
            metrics.not_served(&self.snapshot.name, result, count);
        }
        let lost = map.lost(Instant::now()).map(str::to_owned);
        self.take_events(ctx);
        if let Some(why) = lost.filter(|_| self.served.is_joined() && !self.is_ready()) {
            self.withdraw(&why);
        }
        self.show_gateways();
    }

    /// The network is away: the queue gets everything back, in order, and other nodes may take it.
    fn withdraw(&mut self, why: &str) {
        tracing::warn!(gsm = %self.snapshot.name, why, "the network is away");
        self.node.metrics.binds_lost.inc();
        self.let_go_of_messages();
        self.has_withdrawn = true;
        self.naming.left();
        self.snapshot.last_error = why.to_owned();
    }

    /// Publishes how the connections stand.
    fn show_gateways(&mut self) {
        let NetworkCore::Map(map) = &self.core else {
            return;
        };
        self.snapshot.gateways = map.gateways();
        let all = self.snapshot.gateways.iter();
        let connected = all.filter(|gateway| gateway.state() > GatewayState::Waiting);
        let peers: Vec<&str> = connected.map(|gateway| &*gateway.address).collect();
        self.snapshot.peer = peers.join(", ");
        if self.served.is_joined() {
            return self.publish();
        }
        let state = map.state();
        // Those that are connected may not take us, or reach nobody.
        let is_in_vain = map.away_for(Instant::now()) >= PATIENCE;
        let all = || self.snapshot.gateways.iter();
        // Another node is to try when none of them can be reached from here.
        let attempts = all().map(|gateway| gateway.attempts).min();
        let next = all()
            .map(|gateway| gateway.next_at)
            .filter(|at| *at > 0)
            .min();
        let error = all()
            .map(|gateway| &gateway.last_error)
            .find(|why| !why.is_empty());
        if let Some(error) = error.cloned() {
            self.snapshot.last_error = error;
        }
        let attempts = attempts.unwrap_or_default();
        self.snapshot.reconnect_attempts = if is_in_vain {
            attempts.max(CUT_OFF)
        } else {
            attempts
        };
        self.snapshot.next_reconnect_at = next.unwrap_or_default();
        self.state(state);
    }
}

impl Handler<GatewayNews> for GsmInterface {
    type Result = bool;

    fn handle(&mut self, news: GatewayNews, ctx: &mut Self::Context) -> bool {
        let NetworkCore::Map(map) = &mut self.core else {
            return false;
        };
        let is_change = !matches!(news.what, GatewayChange::Messages(_));
        if !map.brought(news, Instant::now()) {
            return false;
        }
        self.take_events(ctx);
        self.read_on();
        if is_change {
            self.show_gateways();
        }
        true
    }
}
