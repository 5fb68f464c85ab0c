//! The context that every actor holds: the store, the plan, the other actors' addresses, counters.
//!
//! Built once by `app`; only the plan and the set of queues change while the process runs. It has only
//! what every room needs: the state of a feature is in its own room, and is passed to the constructors
//! of the actors that use it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use tokio::time::Instant;

use crate::actors::context::addresses::{
    CorrelationAddress, ReceiptsAddress, Takes, ThrottleAddress, post_to,
};
use crate::actors::context::binds::BindBoard;
use crate::actors::context::handlers::Handlers;
use crate::actors::context::local_lease::LocalLease;
use crate::actors::context::logins::Logins;
use crate::actors::context::look_up_line::{LookUpLine, LookUpLines};
use crate::actors::context::managed::{self, Managed};
use crate::actors::context::mt_correlations::KnownCorrelations;
use crate::actors::context::octets::OctetPool;
use crate::actors::context::outcomes::OutcomeMeter;
use crate::actors::context::plan::{self, Plan, Targets};
use crate::actors::context::ports::{Published, QueuePort};
use crate::actors::context::ready_relay::ReadyRelay;
use crate::actors::context::target_health::Availability;
use crate::actors::context::unfinished::Unfinished;
use crate::actors::context::watches::Watches;
use crate::actors::runtime::certificates::Certificates;
use crate::actors::runtime::in_turn::InTurn;
use crate::actors::runtime::locks::lock;
use crate::actors::runtime::supervise::Health;
use crate::actors::runtime::timed_mailbox::{Mailboxes, Timed};
use crate::config::Config;
use crate::content::peer::references::References;
use crate::domain::ByQueue;
use crate::domain::id::{Ahead, IdGenerator};
use crate::domain::partition;
use crate::domain::queue_name::QueueName;
use crate::pb::{CorrelationSnapshot, Enqueue, FinalBatch, QueueItem, SentBatch, ThrottleSnapshot};
use crate::store::Store;
use crate::store::cluster::{ClusterStore, Hint, Partition};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::traces::Traces;

/// How often to log that no ids can be given.
const SAY_AHEAD_EVERY: Duration = Duration::from_secs(60);

pub struct NodeContext {
    pub store: Arc<dyn Store>,
    /// `store`, if other nodes share it.
    pub cluster: Option<Arc<dyn ClusterStore>>,
    pub local_lease: Arc<LocalLease>,
    pub ids: IdGenerator,
    pub metrics: Arc<Metrics>,
    pub traces: Traces,
    pub mailboxes: Mailboxes,
    pub binds: BindBoard,
    /// When accounts have bound last.
    pub logins: Logins,
    pub certificates: Certificates,
    pub correlation: CorrelationAddress,
    pub receipts: ReceiptsAddress,
    /// Final states that are being written, in the order of their rows.
    pub ending: Mutex<InTurn<FinalBatch>>,
    pub throttle: ThrottleAddress,
    pub correlation_snapshot: Published<CorrelationSnapshot>,
    pub throttle_snapshot: Published<ThrottleSnapshot>,
    /// Health of actors that exist once, by name, for snapshots.
    pub health: Mutex<Vec<Arc<Health>>>,
    /// Whether intake has stopped and windows are being finished.
    pub draining: AtomicBool,
    plan: ArcSwap<Plan>,
    queues: ArcSwap<ByQueue<Arc<QueuePort>>>,
    /// Compared with the limits of accounts.
    pub unfinished: Unfinished,
    /// Programs on this machine that do a part of the work.
    pub handlers: Arc<Handlers>,
    /// What operators with `managed = true` are to be bound and paced by.
    pub managed: Managed,
    /// What people watch now.
    pub watches: Watches,
    /// What became of messages lately.
    pub outcomes: OutcomeMeter,
    /// What bodies of messages in queues take in memory.
    pub bodies: Arc<OctetPool>,
    /// What submissions take in memory until they are durable.
    pub arriving: Arc<OctetPool>,
    /// Subscribers that the other nodes are to hear of.
    pub ready_relay: ReadyRelay,
    /// What other networks know in place of IMSIs.
    pub mt_correlations: KnownCorrelations,
    look_up_lines: LookUpLines,
    references: Mutex<References>,
    /// When it was last logged that no ids can be given.
    said_ahead: Mutex<Option<Instant>>,
}

/// The parts of a context.
pub struct NodeParts {
    pub store: Arc<dyn Store>,
    /// `store`, if other nodes share it.
    pub cluster: Option<Arc<dyn ClusterStore>>,
    pub ids: IdGenerator,
    pub metrics: Arc<Metrics>,
    pub traces: Traces,
    pub plan: Plan,
    pub correlation: CorrelationAddress,
    pub receipts: ReceiptsAddress,
    pub throttle: ThrottleAddress,
}

// === impl NodeContext ===

impl NodeContext {
    pub fn new(parts: NodeParts) -> Arc<Self> {
        let NodeParts {
            store,
            cluster,
            ids,
            metrics,
            traces,
            plan,
            correlation,
            receipts,
            throttle,
        } = parts;
        traces.configure(&plan.config.telemetry);
        Arc::new(Self {
            store,
            local_lease: Arc::new(match &cluster {
                Some(_) => LocalLease::member(),
                None => LocalLease::alone(),
            }),
            cluster,
            ids,
            mailboxes: Mailboxes::new(&metrics),
            metrics,
            traces,
            binds: BindBoard::default(),
            logins: Logins::default(),
            certificates: Certificates::default(),
            correlation,
            receipts,
            ending: Mutex::default(),
            throttle,
            correlation_snapshot: Published::default(),
            throttle_snapshot: Published::default(),
            health: Mutex::default(),
            draining: AtomicBool::new(false),
            plan: ArcSwap::from_pointee(plan),
            queues: ArcSwap::default(),
            unfinished: Unfinished::default(),
            handlers: Arc::default(),
            managed: Managed::default(),
            bodies: Arc::default(),
            arriving: Arc::default(),
            watches: Watches::default(),
            outcomes: OutcomeMeter::default(),
            ready_relay: ReadyRelay::default(),
            mt_correlations: KnownCorrelations::default(),
            look_up_lines: LookUpLines::default(),
            references: Mutex::default(),
            said_ahead: Mutex::default(),
        })
    }

    /// An id for a message accepted at `now` (Unix ms).
    ///
    /// # Errors
    /// The ids are too far ahead of the clock, which is logged.
    pub fn next_id(&self, now: i64) -> Result<u64, Ahead> {
        self.say(self.ids.next(now))
    }

    /// Ids for a batch, see [`IdGenerator::take`].
    ///
    /// # Errors
    /// As [`Self::next_id`].
    pub fn next_ids(
        &self,
        now: i64,
        count: usize,
    ) -> Result<impl Iterator<Item = u64> + use<>, Ahead> {
        self.say(self.ids.take(now, count))
    }

    fn say<T>(&self, ids: Result<T, Ahead>) -> Result<T, Ahead> {
        if let Err(ahead) = &ids {
            self.say_ahead(ahead);
        }
        ids
    }

    fn say_ahead(&self, ahead: &Ahead) {
        let mut said = lock(&self.said_ahead);
        if said.is_none_or(|at| at.elapsed() >= SAY_AHEAD_EVERY) {
            *said = Some(Instant::now());
            tracing::error!(
                "{ahead}, so nothing is accepted: the clock stepped back. If it is right now, \
                 stop this node and run `smsc repair-ids`; if not, set it"
            );
        }
    }

    pub fn plan(&self) -> Guard<Arc<Plan>> {
        self.plan.load()
    }

    pub fn full_plan(&self) -> Arc<Plan> {
        self.plan.load_full()
    }

    /// The queues of a plan must exist before it is set.
    pub fn set_plan(&self, plan: Arc<Plan>) {
        self.traces.configure(&plan.config.telemetry);
        self.store.write_for_sinks(plan.wanted_by_sinks());
        self.plan.store(plan);
    }

    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.plan.load().config)
    }

    pub fn queue(&self, id: u32) -> Option<Arc<QueuePort>> {
        self.queues.load().get(&id).cloned()
    }

    /// All queues, by name.
    pub fn queues(&self) -> Vec<Arc<QueuePort>> {
        let mut all: Vec<_> = self.queues.load().values().cloned().collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    pub fn add_queue(&self, port: Arc<QueuePort>) {
        self.queues.rcu(|queues| {
            let mut queues = ByQueue::clone(queues);
            queues.insert(port.id, Arc::clone(&port));
            queues
        });
    }

    /// Gives items to a queue of this node; false if there is no such queue: the items are active in
    /// the store, where the janitor finds them.
    pub fn enqueue(&self, queue: u32, items: Vec<QueueItem>) -> bool {
        let Some(port) = self.queue(queue) else {
            let messages = items.len();
            tracing::error!(queue = %self.name_of(queue), messages, "there is no such queue");
            return false;
        };
        port.more_waits(&items);
        port.post(Enqueue { items });
        true
    }

    /// Reports to Correlation which attempts an operator has answered; they count as unwritten from now
    /// on.
    pub fn tell_sent(&self, batch: SentBatch) {
        if let Some(port) = self.queue(batch.operator) {
            port.unwritten.add(batch.sent.len());
        }
        self.tell_correlation(batch);
    }

    /// Most rows of one commit.
    pub fn commit_rows(&self) -> usize {
        let config = &self.plan.load().config;
        if self.local_lease.is_shared() {
            config.postgres.batch_rows
        } else {
            config.store.batch_rows
        }
    }

    /// Sends to Correlation, through its measured mailbox.
    pub fn tell_correlation<M>(&self, message: M)
    where
        CorrelationAddress: Takes<Timed<M>>,
        M: actix::Message + Send + 'static,
        M::Result: Send,
    {
        post_to(
            self.correlation.recipient(),
            Timed::new(message, &self.mailboxes.correlation),
        );
    }

    /// Whether a message put into this queue now would be sent soon, by this node or another.
    pub fn available(&self, queue: u32) -> bool {
        let queues = self.queues.load();
        queues.get(&queue).is_some_and(|port| self.counts(port))
    }

    /// Whether routing counts the target of a queue as available: it is served, or patience or a
    /// breaker decide otherwise.
    pub fn counts(&self, port: &QueuePort) -> bool {
        !port.suspended.load(Ordering::Relaxed)
            && match port.target_health.availability() {
                Availability::WhileServed => self.is_served(port),
                Availability::Available => true,
                Availability::Unavailable => false,
            }
    }

    /// Whether this node or another has a session for the queue.
    pub fn is_served(&self, port: &QueuePort) -> bool {
        port.is_bound()
            || (self.local_lease.is_shared() && self.local_lease.cluster_view().serves(port.id))
    }

    /// The partition of a queue that a message for this destination belongs to while the queue is held in parts.
    /// The receipt of a message belongs to the partition of the message.
    pub fn part_of(&self, queue: u32, destination: &[u8]) -> u8 {
        let has_parts = || self.is_split(queue) || self.is_account(queue);
        if self.local_lease.is_shared() && has_parts() {
            partition::of(destination)
        } else {
            partition::WHOLE
        }
    }

    /// Who waits in this queue, if it is that of a look-up.
    pub fn look_up_line(&self, plan: &Plan, queue: u32) -> Option<&LookUpLine> {
        if Some(queue) == plan.imsi_queue {
            Some(&self.look_up_lines.imsi)
        } else if Some(queue) == plan.resolve_queue {
            Some(&self.look_up_lines.network)
        } else {
            None
        }
    }

    /// The partition under which other nodes get what belongs to this one: the queue of an account may be held as
    /// a whole.
    pub fn held_as(&self, queue: u32, part: u8) -> u8 {
        let is_divided = self.local_lease.cluster_view().is_divided(queue) || self.is_split(queue);
        if is_divided { part } else { partition::WHOLE }
    }

    /// Whether nodes may share the queue of an account. Callbacks keep an order of their own, and outbind is for one
    /// node.
    pub fn may_divide(&self, queue: u32) -> bool {
        let plan = self.plan.load();
        let account = plan.account_by_id(queue);
        account.is_some_and(|account| {
            account.config.outbind.is_none() && account.config.deliver_by.by_bind()
        })
    }

    /// Numbers of the other living nodes.
    pub fn other_nodes(&self) -> Vec<u8> {
        let own = self.ids.node();
        self.local_lease
            .cluster_view()
            .view
            .nodes
            .iter()
            .filter(|node| node.lives_for.is_some() && node.node != own)
            .map(|node| node.node)
            .collect()
    }

    /// Notifies the owners of partitions that the hand-off table has items for them.
    pub fn wake_owners(&self, partitions: impl IntoIterator<Item = Partition>) {
        let Some(cluster) = &self.cluster else { return };
        let cluster_view = self.local_lease.cluster_view();
        let mut nodes: Vec<u8> = partitions
            .into_iter()
            .filter_map(|partition| cluster_view.owner_of(partition))
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        if !nodes.is_empty() {
            cluster.wake(&nodes, Hint::HandOff);
        }
    }

    pub fn is_account(&self, id: u32) -> bool {
        QueueName::parse(self.plan.load().name_of(id))
            .account()
            .is_some()
    }

    /// Whether a queue has partitions by destination at all times.
    pub fn is_split(&self, queue: u32) -> bool {
        let plan = self.plan.load();
        QueueName::parse(plan.name_of(queue)).is_split()
    }

    /// Tokens per second and burst of an account or operator, if it has a limit.
    pub fn rate_of(&self, id: u32) -> Option<(f64, u32)> {
        managed::lower(self.plan().rate_of(id), self.managed.rate(id))
    }

    /// Whether others get messages that the operator of a queue does not take: by a route, or because the management service
    /// names one.
    pub fn has_stand_in(&self, queue: u32) -> bool {
        let said = self.managed.of(queue).and_then(|terms| terms.backup);
        let in_routes = || {
            let plan = self.plan();
            self.config()
                .has_stand_in(plan::target_of(plan.name_of(queue)))
        };
        said.is_some() || in_routes()
    }

    pub fn name_of(&self, id: u32) -> String {
        self.plan.load().name_of(id).to_owned()
    }

    /// Counts one unfinished message of a sender; false if its limit is reached.
    pub fn reserve(&self, sender: u32) -> bool {
        let plan = self.plan.load();
        let account = plan.account_by_id(sender);
        let cap = account.and_then(|account| account.config.max_waiting);
        self.unfinished.reserve(sender, cap)
    }

    /// How much of its limit of unfinished messages a sender uses, in per cent; 0 without a limit.
    pub fn filled(&self, sender: u32) -> usize {
        let plan = self.plan.load();
        let cap = plan
            .account_by_id(sender)
            .and_then(|account| account.config.max_waiting);
        let Some(cap) = cap.filter(|cap| *cap > 0) else {
            return 0;
        };
        let count = self.unfinished.count(sender);
        (count.saturating_mul(100) / cap) as usize
    }

    /// Counts the parts of a divided message of a sender: each is a message of its own.
    pub fn reserve_parts(&self, sender: u32, parts: u64) {
        self.unfinished.add(sender, parts as i64);
    }

    /// A reference number for the parts of the next long message between these addresses.
    pub fn reference(&self, source: &[u8], destination: &[u8], now: i64) -> u16 {
        let mut references = lock(&self.references);
        references.next(source, destination, now / 1_000, self.ids.node())
    }

    /// A message of a sender has ended, or was refused after it had been counted.
    pub fn release(&self, sender: u32) {
        self.unfinished.add(sender, -1);
    }

    pub fn watch(&self, health: Arc<Health>) {
        lock(&self.health).push(health);
    }
}

// === impl Targets ===

impl Targets for NodeContext {
    fn available(&self, queue: u32) -> bool {
        NodeContext::available(self, queue)
    }

    /// Waiting and unanswered messages on all nodes, divided by how many the target takes at a time.
    fn load(&self, queue: u32) -> f64 {
        let Some(port) = self.queue(queue) else {
            return f64::INFINITY;
        };
        let elsewhere = if self.local_lease.is_shared() {
            self.local_lease
                .cluster_view()
                .to_do(queue, self.ids.node())
        } else {
            0
        };
        (port.to_do() + elsewhere) as f64 / port.target_health.capacity()
    }
}
