//! The actors and tasks of a process, started in dependency order.
//!
//! Called by [`super::start`] from top to bottom. Guarantees that an actor or task is supervised from its start,
//! and that queues exist before anybody may submit.

use std::collections::HashMap;
use std::sync::Arc;

use actix::{Addr, Arbiter, ArbiterHandle};
use anyhow::Context as _;
use tokio::sync::Mutex;

use super::bootstrap::Bootstrap;
use super::{CONTROL_MAILBOX, Orders, doors};
use crate::actors::billing::balance::{NodePurses, reclaim_blocks};
use crate::actors::cluster::registry::register_binds;
use crate::actors::cluster::{self, Cluster};
use crate::actors::context::addresses::SupervisorAddress;
use crate::actors::context::item::Seed;
use crate::actors::context::{NodeContext, NodeParts};
use crate::actors::control::access::Access;
use crate::actors::control::admin::{Admin, AdminContext};
use crate::actors::control::export::{self, ArchiveReader, Cdr, Export, Records, SinkStates};
use crate::actors::control::history::{HistoryKeeper, keep_history};
use crate::actors::control::incidents::{IncidentWatch, look_for_incidents};
use crate::actors::control::nats_source::{Board, take_commands};
use crate::actors::control::settings::{StoredConfiguration, follow_versions};
use crate::actors::control::supervisor::Supervisor;
use crate::actors::control::{damage_keeper, janitor, platform_intake};
use crate::actors::egress::gateway_listener::GatewayListener;
use crate::actors::egress::given::Gateways;
use crate::actors::egress::throttle::{self, Throttle};
use crate::actors::ingress::account_api::AccountApi;
use crate::actors::ingress::gate::Gate;
use crate::actors::ingress::ingest::{self, Ingest, Intake};
use crate::actors::ingress::listener::{Connections, Door, Listener, take_port};
use crate::actors::ingress::outbind::Outbind;
use crate::actors::ingress::responder::{self, Responder};
use crate::actors::local;
use crate::actors::receipts::correlation::{self, Awaited, Correlation};
use crate::actors::receipts::just_ended::JustEnded;
use crate::actors::receipts::{self, Receipts};
use crate::actors::routing::policy::PolicyState;
use crate::actors::routing::resolver::{self, KnownAnswers, Resolver, SourcedQuestion};
use crate::actors::runtime::supervise::{self, ActorSlot, Escalate, Health};
use crate::config::Config;
use crate::content::as_stored;
use crate::domain::id::IdGenerator;
use crate::socket::{self, Listening};
use crate::store::ParkedRow;
use crate::store::cluster::{ClusterStore, Membership};
use crate::store::redis::Redis;
use crate::telemetry::logs;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::traces::Traces;

/// Threads of sessions, with the Ingest of each.
pub(super) type Lanes = Vec<(ArbiterHandle, Addr<Ingest>)>;

/// Starts actors and tasks on the core arbiter.
pub(super) struct Starter {
    pub(super) node: Arc<NodeContext>,
    pub(super) configuration: Arc<StoredConfiguration>,
    /// What messages are accepted with: the state of several rooms.
    pub(super) intake: Arc<Intake>,
    pub(super) gate: Arc<Gate>,
    pub(super) access: Arc<Access>,
    just_ended: Arc<JustEnded>,
    sinks: Arc<SinkStates>,
    /// How sources of commands stand.
    sources: Arc<Board>,
    core: ArbiterHandle,
    escalate: Escalate,
}

/// What single actors begin with.
pub(super) struct ActorSeeds {
    pub(super) slots: Slots,
    pub(super) correlation: CorrelationSeeds,
    /// What waits, by queue.
    pub(super) queues: HashMap<u32, Vec<Seed>>,
}

/// Messages that wait for receipts, and receipts that matched nothing.
pub(super) struct CorrelationSeeds {
    sent: Vec<Awaited>,
    parked: Vec<ParkedRow>,
}

/// Actors whose addresses the context has before they start.
pub(super) struct Slots {
    correlation: ActorSlot<Correlation>,
    receipts: ActorSlot<Receipts>,
    throttle: ActorSlot<Throttle>,
}

// === impl Starter ===

impl Starter {
    /// Builds the context of the node from what the store holds.
    pub(super) fn new(
        opened: Bootstrap,
        metrics: Arc<Metrics>,
        core: ArbiterHandle,
        escalate: Escalate,
    ) -> anyhow::Result<(Self, ActorSeeds)> {
        logs::set_node(opened.node);
        let traces = Traces::start(opened.node, &metrics)?;
        let (correlation, correlation_slot) = supervise::slot(correlation::MAILBOX);
        let (receipts, receipts_slot) = supervise::slot(receipts::MAILBOX);
        let (throttle, throttle_slot) = supervise::slot(throttle::MAILBOX);
        let slots = Slots {
            correlation: correlation_slot,
            receipts: receipts_slot,
            throttle: throttle_slot,
        };
        let node = NodeContext::new(NodeParts {
            store: opened.store,
            cluster: opened.cluster,
            ids: IdGenerator::new(opened.node, opened.highest),
            metrics,
            traces,
            plan: opened.plan,
            correlation: correlation.into(),
            receipts: receipts.into(),
            throttle: throttle.into(),
        });
        node.unfinished.set(opened.seeds.unfinished);
        let readers = export::readers(&node.config());
        node.store.write_events_for(&readers);
        node.store.write_for_sinks(node.plan().wanted_by_sinks());
        let balance = NodePurses::default();
        match opened.membership {
            Some(me) => balance.join(me.epoch),
            None => balance.load(&opened.purses),
        }
        let policy = Arc::new(PolicyState::new(&node.config().policy));
        let configuration =
            StoredConfiguration::new(Arc::clone(&node), opened.settings, Arc::clone(&policy));
        let intake = Intake::new(Arc::clone(&node), policy, Arc::default(), Arc::new(balance));
        let correlation = CorrelationSeeds {
            sent: opened.seeds.sent,
            parked: opened.parked,
        };
        let seeds = ActorSeeds {
            slots,
            correlation,
            queues: opened.seeds.queues,
        };
        let start = Self {
            node,
            configuration,
            intake: Arc::new(intake),
            gate: Arc::default(),
            access: Arc::default(),
            just_ended: Arc::new(JustEnded::new(&readers)),
            sinks: Arc::default(),
            sources: Arc::default(),
            core,
            escalate,
        };
        Ok((start, seeds))
    }

    fn actor<A>(
        &self,
        name: &str,
        slot: ActorSlot<A>,
        make: impl FnOnce(Arc<NodeContext>, Arc<Health>) -> A + Send + 'static,
    ) where
        A: actix::Actor<Context = actix::Context<A>> + actix::Supervised,
    {
        self.actor_on(&self.core, name, slot, make);
    }

    fn actor_on<A>(
        &self,
        arbiter: &ArbiterHandle,
        name: &str,
        slot: ActorSlot<A>,
        make: impl FnOnce(Arc<NodeContext>, Arc<Health>) -> A + Send + 'static,
    ) where
        A: actix::Actor<Context = actix::Context<A>> + actix::Supervised,
    {
        let health = Health::new(name);
        self.node.watch(Arc::clone(&health));
        let node = Arc::clone(&self.node);
        let for_actor = Arc::clone(&health);
        slot.start(arbiter, health, Arc::clone(&self.escalate), move || {
            make(node, for_actor)
        });
    }

    /// A task on the core arbiter.
    fn task(&self, name: &str, work: impl AsyncFnMut() + Send + 'static) {
        self.task_on(&self.core, name, work);
    }

    fn task_on(
        &self,
        arbiter: &ArbiterHandle,
        name: &str,
        work: impl AsyncFnMut() + Send + 'static,
    ) {
        let health = Health::new(name);
        self.node.watch(Arc::clone(&health));
        supervise::start_task(arbiter, health, Arc::clone(&self.escalate), work);
    }

    /// An actor that others reach by the address that this gives.
    fn control<A>(
        &self,
        name: &str,
        make: impl FnOnce(Arc<NodeContext>) -> A + Send + 'static,
    ) -> Addr<A>
    where
        A: actix::Actor<Context = actix::Context<A>> + actix::Supervised,
    {
        let (addr, slot) = supervise::slot(CONTROL_MAILBOX);
        self.actor(name, slot, |node, _| make(node));
        addr
    }

    /// Who looks up one question, and shares its answers with other nodes.
    fn resolver<Q: SourcedQuestion>(
        &self,
        name: &str,
        known: &Arc<KnownAnswers<Q>>,
        redis: Option<&Arc<Redis>>,
    ) {
        if let Some(redis) = redis {
            known.share(Arc::clone(redis));
        }
        let (_, slot) = supervise::slot(resolver::MAILBOX);
        let known = Arc::clone(known);
        self.actor(name, slot, |node, _| Resolver::new(node, known));
    }

    /// What messages pass besides queues and sessions.
    pub(super) fn data_path(
        &self,
        redis: Option<Arc<Redis>>,
        slots: Slots,
        CorrelationSeeds { sent, parked }: CorrelationSeeds,
    ) {
        if let Some(redis) = redis.clone() {
            self.intake.policy.limiter.share(Arc::clone(&redis));
            self.intake.duplicates.share(Arc::clone(&redis));
            let node = Arc::clone(&self.node);
            let register = async move || register_binds(&node, &redis).await;
            self.task("registry", register);
        }
        self.resolver("resolver", &self.intake.networks, redis.as_ref());
        self.resolver("imsi resolver", &self.intake.imsis, redis.as_ref());
        let (_, slot) = supervise::slot(responder::MAILBOX);
        let intake = Arc::clone(&self.intake);
        self.actor("responder", slot, |node, _| Responder::new(node, intake));
        self.actor("throttle", slots.throttle, |node, health| {
            Throttle::new(node, health, redis)
        });
        let just_ended = Arc::clone(&self.just_ended);
        self.actor("receipts", slots.receipts, |node, _| {
            Receipts::new(node, just_ended)
        });
        self.actor("correlation", slots.correlation, move |node, health| {
            Correlation::new(node, health, sent, parked)
        });
    }

    /// Who reads what the store says has happened, on a thread of its own, so that a batch of records holds nothing
    /// up; gives the call detail records.
    pub(super) fn export(
        &self,
        config: &Config,
        redis: Option<Arc<Redis>>,
    ) -> anyhow::Result<(Records, Arbiter)> {
        let store = Arc::clone(&self.node.store);
        let (just_ended, sinks) = (Arc::clone(&self.just_ended), Arc::clone(&self.sinks));
        let (cdr, mut records) = Cdr::start(config, store, Arc::clone(&just_ended))
            .with_context(|| format!("cdr.dir: {} cannot be used", config.cdr_dir().display()))?;
        let archive = ArchiveReader::start(config, &just_ended)?;
        records.archived = archive.as_ref().map(|archive| archive.archived(&self.node));
        let (arbiter, node) = (Arbiter::new(), Arc::clone(&self.node));
        let mut export = Export::new(node, just_ended, cdr, sinks, archive, redis);
        let work = async move || export.run().await;
        self.task_on(&arbiter.handle(), "export", work);
        Ok((records, arbiter))
    }

    /// Periodic upkeep of the node; gives what keeps the history.
    pub(super) fn upkeep(&self) -> Arc<Mutex<HistoryKeeper>> {
        let (node, balance) = (Arc::clone(&self.node), Arc::clone(&self.intake.balance));
        let reclaim = async move || reclaim_blocks(&node, &balance).await;
        self.task("balance", reclaim);
        let (node, configuration) = (Arc::clone(&self.node), Arc::clone(&self.configuration));
        let mut rounds = 0;
        let maintain = async move || janitor::maintain(&node, &configuration, &mut rounds).await;
        self.task("janitor", maintain);
        let node = Arc::clone(&self.node);
        let keep = async move || damage_keeper::keep(&node).await;
        self.task("damage keeper", keep);
        let (node, mut watch) = (Arc::clone(&self.node), IncidentWatch::default());
        let look = async move || look_for_incidents(&node, &mut watch).await;
        self.task("incidents", look);
        let history = Arc::new(Mutex::new(HistoryKeeper::default()));
        let (node, keeper) = (Arc::clone(&self.node), Arc::clone(&history));
        let keep = async move || keep_history(&node, &keeper).await;
        self.task("history", keep);
        history
    }

    /// The threads of sessions.
    pub(super) fn lanes(&self, threads: usize) -> (Lanes, Vec<Arbiter>) {
        let arbiters: Vec<Arbiter> = (0..threads).map(|_| Arbiter::new()).collect();
        let lane = |(number, arbiter): (usize, &Arbiter)| {
            let (ingest, slot) = supervise::slot(ingest::MAILBOX);
            let (handle, name) = (arbiter.handle(), format!("ingest {number}"));
            let intake = Arc::clone(&self.intake);
            self.actor_on(&handle, &name, slot, |_, _| Ingest::new(intake));
            (handle, ingest)
        };
        let lanes = arbiters.iter().enumerate().map(lane).collect();
        (lanes, arbiters)
    }

    /// The supervisor of queues and binds, with the queues; and who follows the configuration.
    pub(super) fn supervisor(
        &self,
        lanes: &Lanes,
        queues: HashMap<u32, Vec<Seed>>,
        orders: Orders,
    ) -> Addr<Supervisor> {
        let mut root = Supervisor::new(
            Arc::clone(&self.node),
            self.core.clone(),
            lanes.clone(),
            Arc::clone(&self.escalate),
            Arc::clone(&self.intake.imsis),
            queues,
        );
        // Queues first: no submission may arrive before they exist.
        if orders.suspended {
            root.apply_suspended("smsc serve --suspended");
        } else {
            root.apply();
        }
        let supervisor = self.control("supervisor", move |_| root);
        let configuration = Arc::clone(&self.configuration);
        let address = supervisor.clone().into();
        configuration.state.set_supervisor(address);
        let follow = async move || follow_versions(&configuration).await;
        self.task("follower", follow);
        supervisor
    }

    /// Who takes commands from streams, on a thread of its own.
    pub(super) fn sources(&self, api: AccountApi, redis: Option<Arc<Redis>>) -> Arbiter {
        let (arbiter, node) = (Arbiter::new(), Arc::clone(&self.node));
        let board = Arc::clone(&self.sources);
        let take = async move || take_commands(&node, &api, &board, redis.as_ref()).await;
        self.task_on(&arbiter.handle(), "nats sources", take);
        arbiter
    }

    /// This node among the others that use the same store.
    pub(super) fn member(
        &self,
        cluster: Arc<dyn ClusterStore>,
        me: Membership,
        supervisor: SupervisorAddress,
        admin: Addr<Admin>,
    ) -> Addr<Cluster> {
        let (addr, slot) = supervise::slot(cluster::MAILBOX);
        let balance = Arc::clone(&self.intake.balance);
        self.actor("cluster", slot, move |node, _| {
            Cluster::new(node, balance, cluster, supervisor, admin.recipient(), me)
        });
        addr
    }

    /// Listeners for ESMEs, and outbind connections.
    pub(super) fn listeners(&self, config: &Config, lanes: &Lanes) -> anyhow::Result<()> {
        let connections = Connections::default();
        for (key, listener) in config.esme_listeners() {
            let server = doors::server(&listener)?;
            if let Some(server) = &server {
                let name = format!("listener:{}", listener.name());
                self.node.certificates.serve(&name, server);
            }
            for address in &listener.listen {
                let socket = take_port(*address, &key)?;
                socket.set_nonblocking(true)?;
                let door = Door {
                    name: listener.name(),
                    tls: server.clone(),
                    proxy_from: doors::balancers(&listener)?,
                    alphabet: listener.alphabet.map(|alphabet| as_stored(alphabet.into())),
                    protocol: listener.protocol,
                };
                let (lanes, connections) = (lanes.clone(), connections.clone());
                let (node, gate) = (Arc::clone(&self.node), Arc::clone(&self.gate));
                let mut listener = Listener::new(node, gate, door, socket, lanes, connections);
                let listen = async move || listener.run().await;
                self.task(&format!("listener {address}"), listen);
            }
        }
        self.gateways(config, lanes)?;
        let (node, gate) = (Arc::clone(&self.node), Arc::clone(&self.gate));
        let mut outbind = Outbind::new(node, gate, lanes.clone());
        self.task("outbind", async move || outbind.run().await);
        Ok(())
    }

    /// Listeners for gateways of SGIP.
    fn gateways(&self, config: &Config, lanes: &Lanes) -> anyhow::Result<()> {
        let open = Gateways::default();
        let server = doors::server(&config.sgip.listener())?;
        if let Some(server) = &server {
            self.node.certificates.serve("listener:sgip", server);
        }
        for address in &config.sgip.listen {
            let socket = take_port(*address, "sgip.listen")?;
            socket.set_nonblocking(true)?;
            let (lanes, open) = (lanes.clone(), open.clone());
            let (node, gate) = (Arc::clone(&self.node), Arc::clone(&self.gate));
            let (server, escalate) = (server.clone(), Arc::clone(&self.escalate));
            let mut listener =
                GatewayListener::new(node, socket, server, gate, lanes, escalate, open);
            let listen = async move || listener.run().await;
            self.task(&format!("gateway listener {address}"), listen);
        }
        Ok(())
    }

    /// The UNIX socket for programs on the same machine, if there is one: to be withdrawn before the node stops.
    pub(super) fn local(
        &self,
        config: &Config,
        api: AccountApi,
        lanes: &Lanes,
    ) -> anyhow::Result<Option<Arc<Listening>>> {
        let Some(path) = &config.local.socket else {
            return Ok(None);
        };
        let listening = socket::listen(path, config.local.mode)
            .map(Arc::new)
            .with_context(|| format!("local.socket: cannot listen on {}", path.display()))?;
        tracing::info!(path = %path.display(), "programs on this machine may connect");
        let arbiters = lanes.iter().map(|(arbiter, _)| arbiter.clone()).collect();
        let context = local::LocalContext::new(Arc::clone(&self.node), api);
        let mut listener = local::LocalListener::new(context, Arc::clone(&listening), arbiters);
        let listen = async move || listener.run().await;
        self.task("local listener", listen);
        Ok(Some(listening))
    }

    /// Who takes in what programs put into lists of Redis, if somebody is to.
    pub(super) fn platform_intake(
        &self,
        config: &Config,
        api: AccountApi,
        redis: Option<Arc<Redis>>,
    ) {
        let section = &config.redis_platform;
        if let Some(redis) = redis.filter(|_| section.enabled && section.account.is_some()) {
            let node = Arc::clone(&self.node);
            let take_in = async move || platform_intake::take_in(&node, &api, &redis).await;
            self.task("platform intake", take_in);
        }
    }

    pub(super) fn admin(&self, supervisor: SupervisorAddress, records: Records) -> Addr<Admin> {
        let context = AdminContext {
            node: Arc::clone(&self.node),
            supervisor,
            configuration: Arc::clone(&self.configuration),
            access: Arc::clone(&self.access),
            intake: Arc::clone(&self.intake),
            records,
            sinks: Arc::clone(&self.sinks),
            sources: Arc::clone(&self.sources),
        };
        self.control("admin", move |_| Admin::new(Arc::new(context)))
    }
}
