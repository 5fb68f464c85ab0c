//! This node as a member of the cluster: keeps its lease, claims what it should hold and releases the rest.
//!
//! Every node applies the same rule ([`shares`]) to the same view of the database; there is no leader. Each
//! heartbeat renews the lease and reads the view. Free resources that belong to this node are claimed by
//! compare-and-set ([`work`]) and read from the store ([`adoption`]); resources beyond its share are drained
//! and given back ([`release`]). When the lease cannot be renewed in time, the node stands back: it holds and sends nothing,
//! and starts again when the database answers.
//!
//! Also in this room: [`figures`], what a node publishes with each heartbeat; `counts`, the accounts'
//! unfinished messages on all nodes; and [`registry`], the task that publishes binds in Redis.
//!
//! In: the view of the database, hints of other nodes, and `LeaveCluster` of `app`. Out: claims and heartbeats
//! to the database, Adopt-, Release- and DisownPartitions to queues, `SlotsChanged` to the Supervisor, and
//! `Order` of other nodes to Admin. Imports `context`, `billing` (blocks belong to one membership) and `queue`.

mod adoption;
mod again;
mod counts;
pub mod figures;
mod membership;
mod parts;
mod reconcile;
pub mod registry;
mod release;
pub mod shares;
mod spread;
mod strays;
mod work;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Recipient, ResponseActFuture,
    Supervised, WrapFuture,
};
use tokio::time::Instant;

use self::shares::{BindNeed, QueueNeed, Shares, Split, WAIT_FOR_OTHERS};
use crate::actors::billing::balance::NodePurses;
use crate::actors::context::NodeContext;
use crate::actors::context::addresses::{SupervisorAddress, post_to};
use crate::actors::context::binds::CUT_OFF;
use crate::actors::context::ports::QueueKind;
use crate::config::{Config, NodeRole};
use crate::pb::{BindDirection, BindState, LeaveCluster, Order, SlotsChanged};
use crate::store::StoreError;
use crate::store::cluster::{
    ClusterStore, Figures, Hint, LeasedResource, Membership, NodeCard, Partition, View,
};

pub const MAILBOX: usize = 64;
const TICK: Duration = Duration::from_millis(100);
/// A heartbeat requested by other nodes waits this many times the duration of the last one.
const LOOK_SHARE: u32 = 20;
/// After a heartbeat that failed the next one comes sooner, so that a database that is back is used soon.
const RETRY: Duration = Duration::from_millis(500);
/// EX_SOFTWARE, as when an actor cannot be kept alive.
const EXIT_NUMBER: i32 = 70;

pub struct Cluster {
    node: Arc<NodeContext>,
    /// Its blocks belong to one membership.
    balance: Arc<NodePurses>,
    store: Arc<dyn ClusterStore>,
    supervisor: SupervisorAddress,
    /// Executes orders of other nodes.
    admin: Recipient<Order>,
    me: Membership,
    /// The lease given to the database when this node joined; a reload does not change it.
    lease: Duration,
    card: NodeCard,
    beating: bool,
    next_beat: Instant,
    /// The earliest next look: however often other nodes request one, looking takes a twentieth of the
    /// time at most.
    next_look: Instant,
    /// Whether a step is under way: claims and the hand-off table run one after another.
    working: bool,
    wanted: work::WantedWork,
    adoptions: adoption::Adoptions,
    /// Queues that have not said yet what they have of collected items: nothing more is collected for them.
    late_queues: HashSet<u32>,
    strays: strays::Strays,
    /// Whether the last step took much from the hand-off table.
    is_busy: bool,
    next_poll: Instant,
    declared: HashSet<LeasedResource>,
    /// Given back during a step that may have requested them before.
    given_back: Vec<LeasedResource>,
    /// Partitions that the database has back, each as of the caution before that: if it shows them as this node's again
    /// after a step back, another node may have had them meanwhile.
    handed_in: HashMap<Partition, u64>,
    /// How many times resources were given back: a view requested earlier does not show that.
    releases: u64,
    burying: HashSet<(u8, u64)>,
    /// Whether the last heartbeat failed.
    is_cut_off: bool,
    /// Nobody is taken for dead before this time: other nodes were cut off from the database, too.
    bury_from: Instant,
    /// As of [`ClusterStore::caution`]; another one there means that leases in the database may be those of earlier.
    caution: u64,
    /// Whether what is held here is being compared with the database.
    reconciling: bool,
    /// What only the database says to be this node's is read from this time on: another node may still be giving it up.
    adopt_from: Instant,
    /// What is free and left to the node that should have it, and since when.
    left_since: HashMap<LeasedResource, Instant>,
    /// Whether the card has changes that other nodes have not seen.
    has_news: bool,
    counts: counts::CountExchange,
    /// Nothing is held until a heartbeat succeeds: at the start, and after the lease was lost.
    stood_back: bool,
    leaving: bool,
}

/// The part of the card that does not change.
pub fn card(config: &Config) -> NodeCard {
    let roles = &config.cluster.roles;
    let section = &config.redis_platform;
    let platform = section.roles.iter().filter(|_| section.enabled);
    NodeCard {
        name: format!(
            "{}:{}",
            rustix::system::uname().nodename().to_string_lossy(),
            std::process::id()
        ),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        roles: roles.iter().map(|role| role.as_str().to_owned()).collect(),
        http: config.http.listen.to_string(),
        smpp: config
            .esme_listeners()
            .iter()
            .flat_map(|(_, listener)| &listener.listen)
            .map(ToString::to_string)
            .collect(),
        serving: Vec::new(),
        tripped: Vec::new(),
        to_do: Vec::new(),
        draining: false,
        limits_alone: true,
        splits_accounts: true,
        platform_roles: Some(platform.map(|role| role.as_str().to_owned()).collect()),
        cut_off: Vec::new(),
        database: String::new(),
        is_synchronous: false,
        figures: Figures::default(),
    }
}

// === impl Cluster ===

impl Cluster {
    /// `me`: the membership from [`ClusterStore::join`].
    pub fn new(
        node: Arc<NodeContext>,
        balance: Arc<NodePurses>,
        store: Arc<dyn ClusterStore>,
        supervisor: SupervisorAddress,
        admin: Recipient<Order>,
        me: Membership,
    ) -> Self {
        let now = Instant::now();
        let caution = store.caution();
        Self {
            card: card(&node.config()),
            lease: node.config().cluster.lease,
            node,
            balance,
            store,
            supervisor,
            admin,
            me,
            beating: false,
            next_beat: now,
            next_look: now,
            working: false,
            wanted: work::WantedWork::default(),
            adoptions: adoption::Adoptions::default(),
            late_queues: HashSet::new(),
            strays: strays::Strays::default(),
            is_busy: false,
            next_poll: now,
            declared: HashSet::new(),
            given_back: Vec::new(),
            handed_in: HashMap::new(),
            releases: 0,
            burying: HashSet::new(),
            is_cut_off: false,
            bury_from: now,
            caution,
            reconciling: false,
            adopt_from: now,
            left_since: HashMap::new(),
            has_news: true,
            counts: counts::CountExchange::default(),
            stood_back: true,
            leaving: false,
        }
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        if !self.stood_back && !self.node.local_lease.is_valid() {
            self.stand_back("the lease could not be renewed in time");
        }
        let serving = self.serving();
        let tripped = self.tripped();
        let cut_off = self.cut_off();
        let changed = serving != self.card.serving
            || tripped != self.card.tripped
            || cut_off != self.card.cut_off
            || self.card.draining != self.node.draining.load(Ordering::Relaxed)
            || self.card.limits_alone == self.node.throttle_snapshot.get().redis_up;
        if !self.beating && (now >= self.next_beat || changed) {
            self.has_news |= changed;
            self.card.serving = serving;
            self.card.tripped = tripped;
            self.card.cut_off = cut_off;
            self.card.to_do = self.to_do();
            self.card.figures = figures::of(&self.node);
            self.card.draining = self.node.draining.load(Ordering::Relaxed);
            self.card.limits_alone = !self.node.throttle_snapshot.get().redis_up;
            self.beat(ctx);
        }
        if now >= self.next_poll {
            self.next_poll = now + self.node.config().cluster.poll;
            self.wanted.collect = true;
            self.wanted.orders = true;
            self.work(ctx);
            self.find_strays(ctx);
        }
    }

    /// The queues that this node has sessions for.
    fn serving(&self) -> Vec<u32> {
        let delivers = (self.card.roles.iter()).any(|role| role == NodeRole::Delivery.as_str());
        let mut serving: Vec<u32> = self
            .node
            .queues()
            .iter()
            .filter(|port| match port.kind {
                QueueKind::Test | QueueKind::Internal => delivers,
                _ => port.bound.load(Ordering::Relaxed) > 0,
            })
            .map(|port| port.id)
            .collect();
        serving.sort_unstable();
        serving
    }

    /// Queues to which an open circuit breaker keeps this node from sending.
    fn tripped(&self) -> Vec<u32> {
        let queues = self.node.queues();
        let tripped = queues.iter().filter(|port| port.target_health.is_tripped());
        tripped.map(|port| port.id).collect()
    }

    /// GSM networks that this node has the name of, and tries to reach in vain.
    fn cut_off(&self) -> Vec<u32> {
        let ports = self.node.binds.all();
        let tries = ports.iter().filter(|port| {
            let bind = port.snapshot.get();
            bind.direction() == BindDirection::Gsm
                && bind.state() != BindState::Bound
                && bind.reconnect_attempts >= CUT_OFF
                // Any node would find it so.
                && !bind.name_taken
        });
        let mut cut_off: Vec<u32> = tries
            .map(|port| port.owner.load(Ordering::Relaxed))
            .collect();
        cut_off.sort_unstable();
        cut_off
    }

    /// Waiting and unanswered messages, for routes to the least busy target.
    fn to_do(&self) -> Vec<(u32, u64)> {
        let queues = self.node.queues();
        let counts = queues.iter().map(|port| (port.id, port.to_do()));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    fn beat(&mut self, ctx: &mut Context<Self>) {
        self.beating = true;
        let asked = Instant::now();
        let settings = self.node.config().cluster.clone();
        self.next_beat = asked + settings.heartbeat;
        let releases = self.releases;
        let has_news = std::mem::take(&mut self.has_news);
        let reply = self.store.beat(self.card.clone());
        // A database that does not answer must not keep the next heartbeat from being tried.
        let reply = async move { tokio::time::timeout(settings.lease, reply).await };
        ctx.spawn(reply.into_actor(self).map(move |reply, cluster, ctx| {
            cluster.beating = false;
            cluster.next_look = asked + asked.elapsed() * LOOK_SHARE;
            cluster.has_news |= has_news && !matches!(reply, Ok(Ok(_)));
            let was_cut_off = std::mem::replace(
                &mut cluster.is_cut_off,
                !matches!(reply, Ok(Ok(_) | Err(StoreError::Fenced))),
            );
            if cluster.is_cut_off {
                cluster.next_beat = cluster.next_beat.min(Instant::now() + RETRY);
            } else if was_cut_off {
                let time_to_come_back = settings.heartbeat * 2 + settings.margin;
                cluster.bury_from = Instant::now() + time_to_come_back;
            }
            match reply {
                Ok(Ok(view)) => {
                    cluster
                        .node
                        .local_lease
                        .renew(asked + cluster.lease.saturating_sub(settings.margin));
                    if cluster.must_reconcile() {
                        cluster.reconcile(ctx);
                    } else {
                        cluster.look(view, releases == cluster.releases, ctx);
                    }
                    if has_news {
                        cluster.tell_others();
                    }
                }
                Ok(Err(StoreError::Fenced)) if cluster.leaving => {}
                Ok(Err(StoreError::Fenced)) => {
                    cluster.stand_back("another node has taken this one for dead");
                    cluster.rejoin(ctx);
                }
                Ok(Err(error)) => tracing::warn!(%error, "the lease was not renewed"),
                Err(_) => tracing::warn!("the lease was not renewed: the database does not answer"),
            }
        }));
    }

    /// Acts on the view of the cluster. `is_fresh`: nothing was given back since the view was
    /// requested.
    fn look(&mut self, view: View, is_fresh: bool, ctx: &mut Context<Self>) {
        if self.leaving {
            return;
        }
        let was_stood_back = std::mem::take(&mut self.stood_back);
        if was_stood_back {
            tracing::info!(node = self.me.node, epoch = self.me.epoch, "holds a lease");
        }
        self.bury_the_dead(&view, ctx);
        self.share_counts(&view, ctx);
        let queues: Vec<QueueNeed> = self
            .node
            .queues()
            .iter()
            .map(|port| QueueNeed {
                queue: port.id,
                is_account: port.kind == QueueKind::Account,
                split: match port.kind {
                    QueueKind::Operator | QueueKind::Internal => Split::Always,
                    QueueKind::Account if self.node.may_divide(port.id) => Split::WhenShared,
                    QueueKind::Account | QueueKind::Test => Split::Never,
                },
            })
            .collect();
        let binds: Vec<BindNeed> = self
            .node
            .plan()
            .operators()
            .map(|operator| BindNeed {
                operator: operator.id,
                slots: operator.config.binds,
            })
            .collect();
        let names: Vec<u32> = self
            .node
            .plan()
            .gsms()
            .filter(|gsm| gsm.config.shares_name())
            .map(|gsm| gsm.id)
            .collect();
        let overdue = self.overdue();
        let shares = Shares {
            me: self.me.node,
            view: &view,
            queues: &queues,
            binds: &binds,
            names: &names,
            overdue: &overdue,
        };
        let rebalance = shares.rebalance();
        self.declare(shares.everything(), ctx);
        self.leave_to_others(&rebalance.left);
        let missing_here: Vec<LeasedResource> = {
            let ownership = self.node.local_lease.hold();
            view.held
                .iter()
                .filter(|held| held.node == self.me.node && held.epoch == self.me.epoch)
                .map(|held| held.resource)
                .filter(|resource| {
                    is_fresh && !ownership.has(resource) && !ownership.is_leaving(resource)
                })
                .collect()
        };
        let is_account = |queue| self.node.is_account(queue);
        self.strays.see(&view, self.me.node, self.lease, is_account);
        self.node.local_lease.set_view(view);
        let is_mine = |at: &Partition| missing_here.contains(&LeasedResource::Queue(*at));
        self.forget_failures(|at| is_fresh && !is_mine(at));
        // After standing back: the database still shows these as ours, so no other node has used them.
        let is_too_early = !was_stood_back && Instant::now() < self.adopt_from;
        self.wanted.adopt = if is_too_early {
            Vec::new()
        } else {
            missing_here
        };
        self.wanted.claim = rebalance.claim;
        self.work(ctx);
        self.give_back(rebalance.release, ctx);
    }

    /// What others should have taken by now.
    fn overdue(&self) -> HashSet<LeasedResource> {
        let patience = self.node.config().cluster.heartbeat * WAIT_FOR_OTHERS;
        let left = self.left_since.iter();
        left.filter(|(_, since)| since.elapsed() >= patience)
            .map(|(resource, _)| *resource)
            .collect()
    }

    fn leave_to_others(&mut self, left: &[LeasedResource]) {
        let (now, before) = (Instant::now(), std::mem::take(&mut self.left_since));
        let since = |resource: &LeasedResource| before.get(resource).copied().unwrap_or(now);
        self.left_since = left.iter().map(|left| (*left, since(left))).collect();
    }

    fn declare(&mut self, all: Vec<LeasedResource>, ctx: &mut Context<Self>) {
        let mut new = all;
        new.retain(|resource| !self.declared.contains(resource));
        if !new.is_empty() {
            self.declared.extend(new.iter().copied());
            let reply = self.store.declare(new.clone());
            ctx.spawn(reply.into_actor(self).map(move |done, cluster, _| {
                if done.is_err() {
                    new.iter().for_each(|resource| {
                        cluster.declared.remove(resource);
                    });
                }
            }));
        }
    }

    /// Looks again as soon as it is cheap: at the next tick.
    fn look_soon(&mut self) {
        self.next_beat = self.next_beat.min(self.next_look.max(Instant::now()));
    }

    /// Makes the other nodes look at once at the changes of this node.
    fn tell_others(&self) {
        self.store.wake(&self.node.other_nodes(), Hint::Shares);
    }

    fn slots_changed(&self) {
        post_to(self.supervisor.recipient(), SlotsChanged {});
    }
}

impl Actor for Cluster {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(TICK, |cluster, ctx| cluster.tick(ctx));
        for hint in Hint::ALL {
            self.listen(hint, ctx);
        }
        self.tick(ctx);
    }
}

impl Supervised for Cluster {
    /// The step under way was lost with its items of the hand-off table, so everything is read again.
    fn restarting(&mut self, _: &mut Self::Context) {
        self.stood_back = false;
        self.stand_back("the cluster actor restarts");
        let fresh = Self::new(
            Arc::clone(&self.node),
            Arc::clone(&self.balance),
            Arc::clone(&self.store),
            self.supervisor.clone(),
            self.admin.clone(),
            self.me,
        );
        *self = fresh;
    }
}

impl Handler<LeaveCluster> for Cluster {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: LeaveCluster, _: &mut Self::Context) -> Self::Result {
        self.leaving = true;
        let leave = release::leave(Arc::clone(&self.node), Arc::clone(&self.store));
        Box::pin(leave.into_actor(self))
    }
}

#[cfg(test)]
pub(in crate::actors) mod tests;
