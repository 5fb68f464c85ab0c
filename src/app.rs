//! The composition root: opens the store, starts every actor and task, and stops them again.
//!
//! Reads top-down: [`start`] in dependency order, [`App::run`] until a signal, [`App::stop`] in the
//! reverse order. Called by `smsc serve` and by tests.

pub mod bootstrap;
mod doors;
mod starter;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Addr, Arbiter};
use anyhow::Context as _;
use futures_util::future::join_all;
use prometheus_client::registry::Registry;
use secrecy::SecretString;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, mpsc};

use crate::actors::cluster::Cluster;
use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueuePort;
use crate::actors::control::admin::Admin;
use crate::actors::control::history::{self, HistoryKeeper};
use crate::actors::control::settings::StoredConfiguration;
use crate::actors::control::supervisor::Supervisor;
use crate::actors::ingress::account_api::AccountApi;
use crate::actors::ingress::duplicates;
use crate::actors::ingress::ingest::Intake;
use crate::actors::routing::resolver::{KnownAnswers, SourcedQuestion};
use crate::actors::runtime::supervise::Escalate;
use crate::app::bootstrap::Bootstrap;
use crate::app::starter::Starter;
use crate::config::{Config, NodeRole};
use crate::http;
use crate::pb::LeaveCluster;
use crate::socket::Listening;
use crate::store::redis::{Redis, RedisOptions};
use crate::telemetry::metrics::Metrics;

/// Time to release everything to the cluster when the process stops.
const GIVE_BACK: Duration = Duration::from_secs(15);
/// Time to write what the history lacks when the process stops.
const WRITE_HISTORY: Duration = Duration::from_secs(2);
/// Binds that were unbound without waiting any longer may take as long to go.
const UNBIND: Duration = Duration::from_secs(2);
const CONTROL_MAILBOX: usize = 256;
/// EX_SOFTWARE: an actor could not be kept alive.
const EXIT_ESCALATED: u8 = 70;

/// What is ordered for one start, and not configured.
#[derive(Debug, Clone, Copy, Default)]
pub struct Orders {
    /// Start from a damaged log with what is left of it.
    pub accept_loss: bool,
    /// Start with every queue suspended.
    pub suspended: bool,
}

/// A running SMSC.
pub struct App {
    pub node: Arc<NodeContext>,
    configuration: Arc<StoredConfiguration>,
    pub supervisor: Addr<Supervisor>,
    /// Our membership, when other nodes use the same store.
    member: Option<Addr<Cluster>>,
    http: Vec<actix_web::dev::ServerHandle>,
    local: Option<Arc<Listening>>,
    live: Arc<http::LiveFeed>,
    arbiters: Vec<Arbiter>,
    /// Has what the history lacks.
    history: Arc<Mutex<HistoryKeeper>>,
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
    orders: Orders,
) -> anyhow::Result<App> {
    let started = std::time::Instant::now();
    let (for_bootstrap, file) = (config.clone(), config_file.clone());
    let opening = move || Bootstrap::open(for_bootstrap, file, orders);
    let opened = tokio::task::spawn_blocking(opening).await??;
    tracing::info!(
        active = opened.seeds.active,
        ms = started.elapsed().as_millis() as u64,
        "store read"
    );
    let mut registry = Registry::default();
    let metrics = Arc::new(Metrics::new(&mut registry));
    let (escalate, escalations) = escalation();
    let core = Arbiter::new();
    let (cluster, membership) = (opened.cluster.clone(), opened.membership);
    let (start, seeds) = Starter::new(opened, metrics, core.handle(), escalate)?;
    let node = Arc::clone(&start.node);
    prepare(&start.intake, &config).await?;

    let redis = open_redis(&config)?;
    start.data_path(redis.clone(), seeds.slots, seeds.correlation);
    let (records, exporting) = start.export(&config, redis.clone())?;
    let history = start.upkeep();
    let (lanes, mut arbiters) = start.lanes(config.runtime.session_threads());
    let supervisor = start.supervisor(&lanes, seeds.queues, orders);
    let admin = start.admin(supervisor.clone().into(), records);
    let member = match (cluster, membership) {
        (Some(cluster), Some(me)) => {
            Some(start.member(cluster, me, supervisor.clone().into(), admin.clone()))
        }
        _ => None,
    };
    start.listeners(&config, &lanes)?;
    let ingests = lanes.iter().map(|(_, ingest)| ingest.clone());
    let section = &config.redis_platform;
    let aliases = redis.clone().filter(|_| section.enabled && section.aliases);
    let api = AccountApi::new(Arc::clone(&start.intake), Arc::clone(&start.gate), ingests);
    let api = api.with_aliases(aliases);
    let local = start.local(&config, api.clone(), &lanes)?;
    let sources = start.sources(api.clone(), redis.clone());
    start.platform_intake(&config, api.clone(), redis);
    let registry = Arc::new(registry);
    let (node_of_face, counts) = (Arc::clone(&start.node), Arc::clone(&registry));
    let face = http::smpp_connector::serve(&config, node_of_face, admin.clone(), counts)?;
    let face = face.map(run_server);
    let (mut http, live) = serve_http(&start, &config, admin_token, admin, api.clone(), registry)?;
    http.extend(serve_account_api(&start, &config, api)?);
    http.extend(face);
    arbiters.extend([exporting, sources, core]);
    tracing::info!(
        smpp = ?listened(&config),
        http = %config.http.listen,
        ms = started.elapsed().as_millis() as u64,
        "ready"
    );
    Ok(App {
        node,
        configuration: start.configuration,
        supervisor,
        member,
        http,
        local,
        live,
        arbiters,
        history,
        escalations,
        config_file,
    })
}

/// Serves the HTTP API for accounts where this node has that role, if it is switched on.
fn serve_account_api(
    start: &Starter,
    config: &Config,
    api: AccountApi,
) -> anyhow::Result<Option<actix_web::dev::ServerHandle>> {
    if !config.cluster.roles.contains(&NodeRole::Api) {
        return Ok(None);
    }
    let certificate = doors::certificate("api", &config.api.tls_cert, &config.api.tls_key)?;
    if let Some(certificate) = &certificate {
        start.node.certificates.serve("api", certificate);
    }
    let access = Arc::clone(&start.access);
    let server = http::account_api::serve(&config.api, certificate.as_ref(), api, access)?;
    Ok(server.map(run_server))
}

/// Data that must be read before the first submission.
async fn prepare(intake: &Arc<Intake>, config: &Config) -> anyhow::Result<()> {
    check_resolver(&intake.networks, config)?;
    check_resolver(&intake.imsis, config)?;
    let opt_outs = intake.policy.refresh(&intake.node).await;
    opt_outs.context("the opt-out lists")?;
    let for_guard = Arc::clone(intake);
    let restore = move || duplicates::restore(&for_guard.node, &for_guard.duplicates);
    let restored = tokio::task::spawn_blocking(restore).await?;
    if let Err(error) = restored {
        tracing::warn!(%error, "duplicates of what was submitted before the start are not recognised");
    }
    Ok(())
}

/// Serves the admin API where this node has that role, and health and metrics everywhere.
fn serve_http(
    start: &Starter,
    config: &Config,
    token: SecretString,
    admin: Addr<Admin>,
    api: AccountApi,
    registry: Arc<Registry>,
) -> anyhow::Result<(Vec<actix_web::dev::ServerHandle>, Arc<http::LiveFeed>)> {
    let with_api = config.cluster.roles.contains(&NodeRole::Http);
    let live = http::LiveFeed::new();
    if with_api {
        actix::spawn(Arc::clone(&live).run(admin.clone()));
    }
    let certificate = doors::certificate("http", &config.http.tls_cert, &config.http.tls_key)?;
    if let Some(certificate) = &certificate {
        start.node.certificates.serve("http", certificate);
    }
    actix::spawn(http::metrics::push::run(
        config.statsd.clone(),
        Arc::clone(&registry),
        admin.clone(),
    ));
    let served = http::Served {
        token,
        access: Arc::clone(&start.access),
        admin,
        api,
        registry,
        live: Arc::clone(&live),
    };
    let servers = http::serve(&config.http, certificate.as_ref(), with_api, served)
        .context("the HTTP side cannot be served")?;
    Ok((servers.into_iter().map(run_server).collect(), live))
}

/// Lets a server run until it is stopped by the handle.
fn run_server(server: actix_web::dev::Server) -> actix_web::dev::ServerHandle {
    let handle = server.handle();
    actix::spawn(server);
    handle
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

/// Reads the table of networks or IMSIs, so that no message comes before it. A source that is away stops no
/// start.
fn check_resolver<Q: SourcedQuestion>(
    known: &KnownAnswers<Q>,
    config: &Config,
) -> anyhow::Result<()> {
    let section = Q::section(config);
    Q::sources(section, &Arc::default()).map_err(anyhow::Error::msg)?;
    let settings = Q::settings(section);
    let table = known.refresh(settings.cache, settings.table.as_deref());
    table.map_err(anyhow::Error::msg).context(Q::TABLE_KEY)?;
    Ok(())
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
            Ok(Ok(file)) => self
                .configuration
                .reload(file)
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
        if let Some(local) = &self.local {
            local.withdraw();
        }
        // Binds that wait for their next attempt have nothing to finish.
        self.node.binds.all().iter().for_each(|port| port.wake());
        let drain = self.node.config().smpp.drain_timeout;
        // Sessions watch the time themselves, and unbind when it is over.
        if !self.is_drained_within(drain + UNBIND).await {
            tracing::warn!(?drain, "stopping with unanswered messages");
        }
        let rest = history::write_rest(&self.node, &self.history);
        let _ = tokio::time::timeout(WRITE_HISTORY, rest).await;
        if let Some(member) = &self.member {
            // Before the threads end: queues and correlation are drained by this.
            let _ = tokio::time::timeout(GIVE_BACK, member.send(LeaveCluster {})).await;
        }
        // A stream without an end would keep the server from stopping.
        self.live.close();
        // At once: a request that is slow at one of them takes no time from what follows.
        join_all(self.http.iter().map(|server| server.stop(true))).await;
        for arbiter in self.arbiters {
            arbiter.stop();
        }
        let store = Arc::clone(&self.node.store);
        let _ = tokio::task::spawn_blocking(move || store.close()).await;
        self.node.traces.flush().await;
        tracing::info!("stopped");
    }
}
