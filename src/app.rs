//! The composition root: opens the store, builds every actor, and takes it all down again.
//!
//! Reads top-down: [`start`] in the order of dependence, [`App::run`] until a signal, [`App::stop`]
//! in the reverse order. Called by `smsc serve` and by tests.

pub mod bootstrap;
mod doors;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Addr, Arbiter, ArbiterHandle};
use anyhow::Context as _;
use prometheus_client::registry::Registry;
use secrecy::SecretString;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::actors::admin::Admin;
use crate::actors::balance::BlockReclaimer;
use crate::actors::cdr::Cdr;
use crate::actors::cluster::{self, Cluster};
use crate::actors::context::{NodeContext, NodeParts};
use crate::actors::correlation::{self, Correlation};
use crate::actors::duplicates;
use crate::actors::ingest::{self, Ingest};
use crate::actors::janitor::Janitor;
use crate::actors::listener::{Connections, Door, Listener, take_port};
use crate::actors::outbind::Outbind;
use crate::actors::policy;
use crate::actors::ports::QueuePort;
use crate::actors::receipts::{self, Receipts};
use crate::actors::registry::Registry as SessionRegistry;
use crate::actors::resolver::{self, Resolver};
use crate::actors::settings::{self, Follower};
use crate::actors::supervise::{self, Escalate, Health};
use crate::actors::supervisor::Supervisor;
use crate::actors::throttle::{self, Throttle};
use crate::app::bootstrap::Bootstrap;
use crate::config::{Config, NodeRole};
use crate::content::as_stored;
use crate::domain::id::IdGenerator;
use crate::http;
use crate::pb::LeaveCluster;
use crate::store::redis::{Redis, RedisOptions};
use crate::telemetry::logs;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::traces::Traces;

/// Everything held gets as long to be given back to the cluster when the process stops.
const GIVE_BACK: Duration = Duration::from_secs(15);
/// Binds that were unbound without waiting any longer may take as long to go.
const UNBIND: Duration = Duration::from_secs(2);
const CONTROL_MAILBOX: usize = 256;
/// EX_SOFTWARE: an actor could not be kept alive.
const EXIT_ESCALATED: u8 = 70;

/// A running SMSC.
pub struct App {
    pub node: Arc<NodeContext>,
    pub supervisor: Addr<Supervisor>,
    /// Our membership, when other nodes use the same store.
    member: Option<Addr<Cluster>>,
    http: Vec<actix_web::dev::ServerHandle>,
    live: Arc<http::Live>,
    arbiters: Vec<Arbiter>,
    escalations: mpsc::Receiver<String>,
    /// Read again on SIGHUP.
    config_file: Option<PathBuf>,
}

/// Starts everything. Listening ports are bound before this returns, and every message of the
/// store is where it belongs.
///
/// # Errors
/// A folder, port or store that cannot be used; the text names the setting.
pub async fn start(
    config: Config,
    config_file: Option<PathBuf>,
    admin_token: SecretString,
) -> anyhow::Result<App> {
    let started = std::time::Instant::now();
    let (for_stock, file) = (config.clone(), config_file.clone());
    let Bootstrap {
        store,
        cluster,
        membership,
        plan,
        settings,
        seeds,
        parked,
        node,
        highest,
        purses,
    } = tokio::task::spawn_blocking(move || Bootstrap::open(for_stock, file)).await??;
    tracing::info!(
        active = seeds.active,
        ms = started.elapsed().as_millis() as u64,
        "store read"
    );

    let mut registry = Registry::default();
    let metrics = Arc::new(Metrics::new(&mut registry));
    logs::set_node(node);
    let traces = Traces::start(node, &metrics)?;
    let (escalate, escalations) = escalation();
    let core = Arbiter::new();
    let (correlation, correlation_slot) = supervise::slot(correlation::MAILBOX);
    let (receipts, receipts_slot) = supervise::slot(receipts::MAILBOX);
    let (throttle, throttle_slot) = supervise::slot(throttle::MAILBOX);
    let node = NodeContext::new(NodeParts {
        store,
        cluster: cluster.clone(),
        ids: IdGenerator::new(node, highest),
        metrics,
        traces,
        plan,
        settings,
        correlation: correlation.into(),
        receipts: receipts.into(),
        throttle: throttle.into(),
    });
    node.unfinished.set(seeds.unfinished);
    match membership {
        Some(me) => node.balance.join(me.epoch),
        None => node.balance.load(&purses),
    }
    check_resolver(&node, &config)?;
    let opt_outs = policy::refresh(&node).await;
    opt_outs.context("the opt-out lists")?;

    let for_guard = Arc::clone(&node);
    let restored = tokio::task::spawn_blocking(move || duplicates::restore(&for_guard)).await?;
    if let Err(error) = restored {
        tracing::warn!(%error, "duplicates of what was submitted before the start are not recognised");
    }

    let start = Starter {
        node: &node,
        core: core.handle(),
        escalate: &escalate,
    };
    let redis = open_redis(&config)?;
    if let Some(redis) = redis.clone() {
        node.policy.limiter.share(Arc::clone(&redis));
        node.duplicates.share(Arc::clone(&redis));
        let (_, slot) = supervise::slot(CONTROL_MAILBOX);
        start.actor("registry", slot, |node, _| {
            SessionRegistry::new(node, redis)
        });
    }
    let (_, slot) = supervise::slot(resolver::MAILBOX);
    let for_resolver = redis.clone();
    start.actor("resolver", slot, |node, _| {
        Resolver::new(node, for_resolver)
    });
    start.actor("throttle", throttle_slot, |node, health| {
        Throttle::new(node, health, redis)
    });
    let cdr = Cdr::start(&config)
        .with_context(|| format!("cdr.dir: {} cannot be used", config.cdr_dir().display()))?;
    if let Some(cdr) = &cdr {
        // There is one per process.
        let _ = node.records.set(cdr.records());
    }
    start.actor("receipts", receipts_slot, move |node, _| {
        Receipts::new(node, cdr)
    });
    let sent = seeds.sent;
    start.actor("correlation", correlation_slot, move |node, health| {
        Correlation::new(node, health, sent, parked)
    });
    let (_, reclaimer_slot) = supervise::slot(CONTROL_MAILBOX);
    start.actor("balance", reclaimer_slot, |node, _| {
        BlockReclaimer::new(node)
    });
    let (_, janitor_slot) = supervise::slot(CONTROL_MAILBOX);
    start.actor("janitor", janitor_slot, |node, _| Janitor::new(node));

    let mut arbiters = Vec::new();
    let mut lanes: Vec<(ArbiterHandle, Addr<Ingest>)> = Vec::new();
    for number in 0..config.runtime.session_threads() {
        let arbiter = Arbiter::new();
        let (ingest, slot) = supervise::slot(ingest::MAILBOX);
        let health = Health::new(format!("ingest {number}"));
        node.watch(Arc::clone(&health));
        let for_actor = Arc::clone(&node);
        slot.start(
            &arbiter.handle(),
            health,
            Arc::clone(&escalate),
            move || Ingest::new(for_actor),
        );
        lanes.push((arbiter.handle(), ingest));
        arbiters.push(arbiter);
    }

    let mut root = Supervisor::new(
        Arc::clone(&node),
        core.handle(),
        lanes.clone(),
        Arc::clone(&escalate),
        seeds.queues,
    );
    // Queues first: nobody may submit before they exist.
    root.apply();
    let (supervisor, root_slot) = supervise::slot(CONTROL_MAILBOX);
    start.actor("supervisor", root_slot, move |_, _| root);
    node.settings.set_supervisor(supervisor.clone().into());
    let (_, follower_slot) = supervise::slot(CONTROL_MAILBOX);
    start.actor("follower", follower_slot, |node, _| Follower::new(node));
    let mut member = None;
    if let (Some(cluster), Some(me)) = (cluster, membership) {
        let (addr, slot) = supervise::slot(cluster::MAILBOX);
        let supervisor = supervisor.clone();
        start.actor("cluster", slot, move |node, _| {
            Cluster::new(node, cluster, supervisor, me)
        });
        member = Some(addr);
    }
    let connections = Connections::default();
    for (key, listener) in config.esme_listeners() {
        let server = doors::server(&listener)?;
        if let Some(server) = &server {
            let name = format!("listener:{}", listener.name());
            node.certificates.serve(&name, server);
        }
        for address in &listener.listen {
            let socket = take_port(*address, &key)?;
            socket.set_nonblocking(true)?;
            let door = Door {
                name: listener.name(),
                tls: server.clone(),
                proxy_from: doors::balancers(&listener)?,
                alphabet: listener.alphabet.map(|alphabet| as_stored(alphabet.into())),
            };
            let (_, slot) = supervise::slot(CONTROL_MAILBOX);
            let (lanes, connections) = (lanes.clone(), connections.clone());
            start.actor(&format!("listener {address}"), slot, move |node, _| {
                Listener::new(node, door, socket, lanes, connections)
            });
        }
    }
    let (_, outbind_slot) = supervise::slot(CONTROL_MAILBOX);
    let for_outbind = lanes.clone();
    start.actor("outbind", outbind_slot, move |node, _| {
        Outbind::new(node, for_outbind)
    });
    let (admin, admin_slot) = supervise::slot(CONTROL_MAILBOX);
    let for_admin = supervisor.clone();
    start.actor("admin", admin_slot, move |node, _| {
        Admin::new(node, for_admin.into())
    });
    let with_api = config.cluster.roles.contains(&NodeRole::Http);
    let live = http::Live::new();
    if with_api {
        actix::spawn(Arc::clone(&live).run(admin.clone()));
    }
    let certificate = doors::certificate(&config.http)?;
    if let Some(certificate) = &certificate {
        node.certificates.serve("http", certificate);
    }
    let registry = Arc::new(registry);
    actix::spawn(http::metrics::push::run(
        config.statsd.clone(),
        Arc::clone(&registry),
        admin.clone(),
    ));
    let servers = http::serve(
        &config.http,
        certificate.as_ref(),
        with_api,
        http::Served {
            token: admin_token,
            access: Arc::clone(&node.access),
            admin,
            registry,
            live: Arc::clone(&live),
        },
    )
    .context("the HTTP side cannot be served")?;
    let http = servers.iter().map(|server| server.handle()).collect();
    servers
        .into_iter()
        .for_each(|server| drop(actix::spawn(server)));
    arbiters.push(core);
    tracing::info!(
        smpp = ?listened(&config),
        http = %config.http.listen,
        ms = started.elapsed().as_millis() as u64,
        "ready"
    );
    Ok(App {
        node,
        supervisor,
        member,
        http,
        live,
        arbiters,
        escalations,
        config_file,
    })
}

fn listened(config: &Config) -> Vec<SocketAddr> {
    let listeners = config.esme_listeners();
    listeners
        .iter()
        .flat_map(|(_, one)| one.listen.clone())
        .collect()
}

/// A client of the configured Redis. It connects later: a Redis that is down stops no start.
fn open_redis(config: &Config) -> anyhow::Result<Option<Arc<Redis>>> {
    let Some(url) = config.redis.url.clone() else {
        return Ok(None);
    };
    let options = RedisOptions {
        url,
        ca_file: config.redis.ca_file.clone(),
        timeout: config.redis.timeout,
        hash_tags: config.redis.hash_tags,
    };
    let redis = Redis::open(&options)?;
    Ok(Some(Arc::new(redis)))
}

/// Reads the table of networks, so that no message comes before it. A service that is away stops no
/// start.
fn check_resolver(node: &NodeContext, config: &Config) -> anyhow::Result<()> {
    resolver::Service::new(&config.resolver).map_err(anyhow::Error::msg)?;
    let table = node.networks.refresh(&config.resolver);
    table
        .map_err(anyhow::Error::msg)
        .context("resolver.table")?;
    Ok(())
}

/// Starts actors on the core arbiter.
struct Starter<'a> {
    node: &'a Arc<NodeContext>,
    core: ArbiterHandle,
    escalate: &'a Escalate,
}

impl Starter<'_> {
    fn actor<A>(
        &self,
        name: &str,
        slot: supervise::Slot<A>,
        make: impl FnOnce(Arc<NodeContext>, Arc<Health>) -> A + Send + 'static,
    ) where
        A: actix::Actor<Context = actix::Context<A>> + actix::Supervised,
    {
        let health = Health::new(name);
        self.node.watch(Arc::clone(&health));
        let node = Arc::clone(self.node);
        let for_actor = Arc::clone(&health);
        slot.start(&self.core, health, Arc::clone(self.escalate), move || {
            make(node, for_actor)
        });
    }
}

fn escalation() -> (Escalate, mpsc::Receiver<String>) {
    let (sender, receiver) = mpsc::channel(16);
    let escalate: Escalate = Arc::new(move |name: &str| {
        // One escalation is enough to stop; more of them may be lost.
        let _ = sender.try_send(name.to_owned());
    });
    (escalate, receiver)
}

/// What SIGHUP means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HangUp {
    /// Read the configuration file again.
    Reload,
    /// The terminal is gone: stop.
    Stop,
}

// === impl App ===

impl App {
    /// Serves until SIGTERM, SIGINT or an escalation; gives the exit code.
    ///
    /// # Errors
    /// Signals cannot be listened for.
    pub async fn run(mut self, on_hang_up: HangUp) -> anyhow::Result<u8> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        let code = loop {
            tokio::select! {
                _ = terminate.recv() => break 0,
                _ = interrupt.recv() => break 0,
                _ = hang_up.recv() => match on_hang_up {
                    HangUp::Reload => self.reload().await,
                    HangUp::Stop => break 0,
                },
                Some(actor) = self.escalations.recv() => {
                    tracing::error!(%actor, "cannot be kept alive; stopping");
                    break EXIT_ESCALATED;
                }
            }
        };
        self.stop().await;
        Ok(code)
    }

    /// Reads the configuration file again, for everything but accounts, operators, routes and policy; a
    /// mistake in it changes nothing.
    async fn reload(&self) {
        self.node.certificates.look();
        let Some(file) = self.config_file.clone() else {
            tracing::warn!("nothing to reload: started without a configuration file");
            return;
        };
        let read = tokio::task::spawn_blocking(move || Config::load(Some(&file))).await;
        let reloaded = match read {
            Ok(Ok(file)) => settings::reload(&self.node, file)
                .await
                .map_err(anyhow::Error::from),
            Ok(Err(error)) => Err(error.into()),
            Err(error) => Err(error.into()),
        };
        match reloaded {
            Ok(()) => tracing::info!("configuration reloaded"),
            Err(error) => tracing::error!("configuration not reloaded: {error:#}"),
        }
    }

    /// Whether everything in flight was answered and every bind is gone before the time is over.
    async fn is_drained_within(&self, time: Duration) -> bool {
        let drained = async {
            loop {
                let queues = self.node.queues();
                let held = |queue: &Arc<QueuePort>| queue.held.load(Ordering::Relaxed);
                let in_flight: u64 = queues.iter().map(held).sum();
                if in_flight == 0 && self.node.binds.all().is_empty() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(time, drained).await.is_ok()
    }

    /// Stops intake, waits for windows in flight, then closes the store.
    pub async fn stop(self) {
        self.node.draining.store(true, Ordering::Relaxed);
        tracing::info!("stopping: finishing windows in flight");
        // Binds that wait for their next attempt have nothing to finish.
        self.node.binds.all().iter().for_each(|port| port.wake());
        let drain = self.node.config().smpp.drain_timeout;
        // Sessions watch the time themselves, and unbind when it is over.
        if !self.is_drained_within(drain + UNBIND).await {
            tracing::warn!(?drain, "stopping with unanswered messages");
        }
        if let Some(member) = &self.member {
            // Before the threads end: queues and correlation are drained by this.
            let _ = tokio::time::timeout(GIVE_BACK, member.send(LeaveCluster {})).await;
        }
        // A stream without an end would keep the server from stopping.
        self.live.close();
        for server in &self.http {
            server.stop(true).await;
        }
        for arbiter in self.arbiters {
            arbiter.stop();
        }
        let store = Arc::clone(&self.node.store);
        let _ = tokio::task::spawn_blocking(move || store.close()).await;
        self.node.traces.flush().await;
        tracing::info!("stopped");
    }
}
