//! Claims and the hand-off table, one step after another.
//!
//! Partitions that were claimed are read beside the steps (`adoption`): until then they are left out of what is
//! collected, so that an item in that table comes only once, with the reading or after it, and a reading
//! that takes long stops no hand-off of other partitions. For a queue that does not say what it has, what was collected
//! waits beside the steps as well, and nothing more is collected.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::fut::{ActorStreamExt, wrap_stream};
use actix::{ActorFutureExt, AsyncContext, Context, Recipient, WrapFuture};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::Instant;

use super::{Cluster, adoption, again};
use crate::actors::context::NodeContext;
use crate::actors::context::addresses::post_to;
use crate::pb::{Order, QueueItem};
use crate::store::StoreError;
use crate::store::cluster::{
    ClusterStore, DamagedItems, Handed, Hint, LeasedResource, MOST_COLLECTED_OCTETS, Partition,
};
use crate::store::damage::{CHECKSUM, DamagedRow};

/// Most rows taken from the hand-off table at a time, and how often before other work has its turn. Each time costs a
/// commit, which takes half a second on an overloaded database: many small ones would let messages of this node overtake
/// those that wait there.
const INBOX: usize = 4096;
const ROUNDS: usize = 4;
/// Pause after a wake-up before the next one of its kind; meanwhile more rows gather for one step.
const REST: Duration = Duration::from_millis(10);
/// The longer pause under load: fewer and larger steps cost all nodes, and the database, less.
const LONG_REST: Duration = Duration::from_millis(50);
/// A step does not wait for longer until queues have said what they have of its items.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Items in a step that count as load.
const MUCH: usize = 100;

/// The work to do next.
#[derive(Default)]
pub(super) struct WantedWork {
    pub claim: Vec<LeasedResource>,
    /// Held in the database already, but not here.
    pub adopt: Vec<LeasedResource>,
    pub collect: bool,
    pub orders: bool,
}

// === impl WantedWork ===

impl WantedWork {
    fn is_nothing(&self) -> bool {
        !self.collect && !self.orders && !self.has_claims()
    }

    fn has_claims(&self) -> bool {
        !self.claim.is_empty() || !self.adopt.is_empty()
    }
}

// === impl Cluster ===

impl Cluster {
    /// Listens for wake-ups of other nodes without end.
    pub(super) fn listen(&mut self, hint: Hint, ctx: &mut Context<Self>) {
        let woken = self.store.woken(hint);
        let rest = match hint {
            Hint::HandOff if self.is_busy => LONG_REST,
            _ => REST,
        };
        let wait = async move {
            tokio::time::sleep(rest).await;
            woken.notified().await;
        };
        ctx.spawn(wait.into_actor(self).map(move |(), cluster, ctx| {
            match hint {
                Hint::HandOff => {
                    cluster.wanted.collect = true;
                    cluster.work(ctx);
                }
                Hint::Orders => {
                    cluster.wanted.orders = true;
                    cluster.work(ctx);
                }
                // Not at once: many nodes may send this hint at the same time.
                Hint::Shares => cluster.look_soon(),
            }
            cluster.listen(hint, ctx);
        }));
    }

    pub(super) fn work(&mut self, ctx: &mut Context<Self>) {
        if self.wanted.is_nothing()
            || self.working
            || self.leaving
            || self.stood_back
            || !self.node.local_lease.is_valid()
        {
            return;
        }
        self.working = true;
        if self.wanted.has_claims() {
            self.claim(ctx);
        } else {
            self.collect(ctx);
        }
    }

    fn claim(&mut self, ctx: &mut Context<Self>) {
        let mut claim = std::mem::take(&mut self.wanted.claim);
        let mut adopt = std::mem::take(&mut self.wanted.adopt);
        // What is left now comes with one of the next views. Half of the connections are for everything else.
        let most = (self.node.config().postgres.readers / 2).max(1);
        claim.retain(|resource| self.adoptions.allow(resource, most));
        adopt.retain(|resource| self.adoptions.allow(resource, most));
        // A reading finds out whether its partitions are still this node's. The rest is claimed again: the view may be from
        // before the end of a release whose answer was lost, and a claim waits for that.
        claim.extend(adopt.extract_if(.., |one| !matches!(one, LeasedResource::Queue(_))));
        let store = Arc::clone(&self.store);
        let generation = self.node.local_lease.generation();
        let doubtful = self.handed_in_what_is_lost(&adopt);
        let work = async move {
            if !doubtful.is_empty() {
                store.doubt(doubtful).await?;
            }
            if !claim.is_empty() {
                adopt.extend(store.claim(claim).await?);
            }
            Ok::<_, StoreError>(adopt)
        };
        ctx.spawn(work.into_actor(self).map(move |gained, cluster, ctx| {
            cluster.working = false;
            match gained {
                Ok(gained) => cluster.gained(generation, gained, ctx),
                // The next heartbeat shows the remaining work again.
                Err(error) => tracing::warn!(%error, "claims failed and are tried again"),
            }
            cluster.forget_given_back();
            cluster.work(ctx);
        }));
    }

    /// Those of these that the database had back before it went back in time: another node may have had them, and have sent
    /// what waits there.
    fn handed_in_what_is_lost(&self, adopt: &[LeasedResource]) -> Vec<Partition> {
        let caution = self.store.caution();
        let is_lost = |at: &Partition| self.handed_in.get(at).is_some_and(|was| *was != caution);
        let lost: Vec<Partition> = (adopt.iter())
            .filter_map(LeasedResource::partition)
            .filter(is_lost)
            .collect();
        if !lost.is_empty() {
            tracing::error!(
                partitions = lost.len(),
                "the database has forgotten that these partitions were given to another node, which may have sent what waits in them: it is held"
            );
        }
        lost
    }

    fn gained(
        &mut self,
        generation: u64,
        mut gained: Vec<LeasedResource>,
        ctx: &mut Context<Self>,
    ) {
        {
            // Since the view was read, an earlier step may have brought them, or they are being given back.
            let ownership = self.node.local_lease.hold();
            gained.retain(|resource| !ownership.has(resource) && !ownership.is_leaving(resource));
        }
        if gained.is_empty() {
            return;
        }
        let (partitions, others): (Vec<LeasedResource>, Vec<LeasedResource>) = gained
            .into_iter()
            .partition(|resource| matches!(resource, LeasedResource::Queue(_)));
        if !self.node.local_lease.gain(generation, &others, || {}) {
            return;
        }
        let is_bind = |resource: &LeasedResource| matches!(resource, LeasedResource::Bind { .. });
        if others.iter().any(is_bind) {
            self.slots_changed();
        }
        self.adopt(partitions, ctx);
        self.look_soon();
        self.tell_others();
    }

    /// Reads partitions beside everything else, and continues them.
    fn adopt(&mut self, resources: Vec<LeasedResource>, ctx: &mut Context<Self>) {
        if resources.is_empty() {
            return;
        }
        let partitions: Vec<Partition> = (resources.iter())
            .filter_map(LeasedResource::partition)
            .collect();
        for partition in &partitions {
            self.handed_in.remove(partition);
        }
        self.adoptions.begin(&partitions);
        let first = self.adoptions.first_group();
        self.adopt_next(partitions, first, None, 0, ctx);
    }

    /// Reads the next so many of these partitions, and then the rest. It is known how much this queue has; so many groups
    /// before could not be read.
    fn adopt_next(
        &mut self,
        mut partitions: Vec<Partition>,
        count: usize,
        known: Option<u32>,
        failures: usize,
        ctx: &mut Context<Self>,
    ) {
        let rest = partitions.split_off(adoption::group(&partitions, count, known));
        let generation = self.node.local_lease.generation();
        let (node, store) = (Arc::clone(&self.node), Arc::clone(&self.store));
        let reading = async move {
            let began = Instant::now();
            let seeds = adoption::read(&node, store.as_ref(), partitions.clone(), generation);
            let seeds = seeds.await;
            (partitions, seeds, began)
        };
        ctx.spawn(
            reading
                .into_actor(self)
                .map(move |(partitions, seeds, began), cluster, ctx| {
                    if cluster.node.local_lease.generation() != generation {
                        return;
                    }
                    cluster.adoptions.has_read(&partitions);
                    let mut known = partitions.last().map(|at| at.queue);
                    let mut failures = failures;
                    let next = match seeds {
                        Ok(_) if cluster.leaving => None,
                        Ok(seeds) => {
                            cluster.forget_failures(|at| partitions.contains(at));
                            let next = adoption::next_group(partitions.len(), seeds.active);
                            adoption::pass_on(&cluster.node, &partitions, seeds, began);
                            Some(next)
                        }
                        // The next heartbeat shows them as this node's again.
                        Err(error) => {
                            tracing::warn!(%error, "a takeover failed and is tried again");
                            cluster.adoptions.has_failed(&partitions);
                            cluster.show_failing();
                            known = None;
                            failures += 1;
                            (!cluster.leaving && failures < adoption::GIVE_UP).then_some(1)
                        }
                    };
                    match next.filter(|_| !rest.is_empty()) {
                        Some(count) => cluster.adopt_next(rest, count, known, failures, ctx),
                        None => cluster.adoptions.end(&rest),
                    }
                    if !cluster.leaving {
                        cluster.wanted.collect = true;
                        cluster.work(ctx);
                    }
                }),
        );
    }

    /// Readings of these have nothing more to do with their failures.
    pub(super) fn forget_failures(&mut self, is_over: impl Fn(&Partition) -> bool) {
        self.adoptions.forget_failures(is_over);
        self.show_failing();
    }

    fn show_failing(&self) {
        let failing = self.adoptions.failing() as i64;
        self.node.metrics.takeovers_failing.set(failing);
    }

    /// Puts items that were handed off for the other kind of partition where they are collected.
    pub(super) fn find_strays(&mut self, ctx: &mut Context<Self>) {
        if self.stood_back || self.leaving {
            return;
        }
        let Some((whole, divided)) = self.strays.begin() else {
            return;
        };
        let reply = self.store.rehome(whole, divided);
        ctx.spawn(reply.into_actor(self).map(|moved, cluster, ctx| {
            cluster.strays.end();
            match moved {
                Ok(moved) if moved.is_empty() => {}
                Ok(moved) => {
                    cluster.node.wake_owners(moved);
                    cluster.wanted.collect = true;
                    cluster.work(ctx);
                }
                Err(error) => {
                    tracing::warn!(%error, "the hand-off table could not be looked through")
                }
            }
        }));
    }

    fn collect(&mut self, ctx: &mut Context<Self>) {
        self.wanted.collect = false;
        let orders = std::mem::take(&mut self.wanted.orders);
        let (node, store) = (Arc::clone(&self.node), Arc::clone(&self.store));
        let admin = self.admin.clone();
        let mut except = self.adoptions.partitions();
        if !self.late_queues.is_empty() {
            let held = self.node.local_lease.held().into_iter();
            let partitions = held.filter_map(|resource| resource.partition());
            except.extend(partitions.filter(|at| self.late_queues.contains(&at.queue)));
        }
        let work = async move {
            let collected = collect(&node, &store, &except).await;
            if orders && let Err(error) = take_orders(store.as_ref(), &admin).await {
                tracing::warn!(%error, "orders of other nodes could not be read, and are tried again");
            }
            collected
        };
        ctx.spawn(work.into_actor(self).map(|collected, cluster, ctx| {
            cluster.working = false;
            cluster.forget_given_back();
            // Their next owner reads them from the tables.
            cluster.give_back(collected.damaged, ctx);
            cluster.late_queues.extend(collected.late_queues);
            cluster.hand_over_later(collected.late, ctx);
            cluster.is_busy = collected.items >= MUCH;
            cluster.wanted.collect |= collected.more;
            cluster.work(ctx);
        }));
    }

    /// Waits for queues that have not answered yet, beside everything else.
    fn hand_over_later(&mut self, late: HandingOver, ctx: &mut Context<Self>) {
        if late.is_empty() {
            return;
        }
        let answered =
            wrap_stream(late).map(|queue, cluster: &mut Self, ctx: &mut Context<Self>| {
                cluster.late_queues.remove(&queue);
                cluster.wanted.collect = true;
                cluster.work(ctx);
            });
        ctx.spawn(answered.finish());
    }
}

/// Items on the way to their queues, whose numbers come when they have them.
type HandingOver = FuturesUnordered<LocalBoxFuture<'static, u32>>;

/// What was taken from the hand-off table.
#[derive(Default)]
struct Collected {
    items: usize,
    /// Whether there may be more.
    more: bool,
    /// Partitions of which items are damaged.
    damaged: Vec<LeasedResource>,
    /// Queues that have not answered in time, and their items.
    late_queues: HashSet<u32>,
    late: HandingOver,
}

/// Passes orders of other nodes to Admin.
async fn take_orders(store: &dyn ClusterStore, admin: &Recipient<Order>) -> Result<(), StoreError> {
    for octets in store.orders().await? {
        match <Order as prost::Message>::decode(octets.as_slice()) {
            Ok(order) => post_to(admin, order),
            Err(error) => tracing::warn!(%error, "an order that cannot be read is dropped"),
        }
    }
    Ok(())
}

/// Gives items the terms in which this node owns their partitions. They were taken after their partitions were read, so no
/// reading contains them.
fn give_terms(node: &NodeContext, by_queue: &mut HashMap<u32, Vec<QueueItem>>) {
    let ownership = node.local_lease.hold();
    for (queue, items) in by_queue {
        items.retain_mut(|item| {
            let term = ownership.term(*queue, item.part as u8);
            item.term = term.unwrap_or_default();
            // The partition was lost meanwhile: its owner finds the item in the store.
            term.is_some()
        });
    }
}

/// Takes items from the hand-off table, and gives them to their queues.
async fn collect(
    node: &Arc<NodeContext>,
    store: &Arc<dyn ClusterStore>,
    except: &[Partition],
) -> Collected {
    let mut collected = Collected::default();
    for _ in 0..ROUNDS {
        let rows = match store.collect(INBOX, except.to_vec()).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%error, "the hand-off table could not be read, and is tried again");
                collected.more = false;
                break;
            }
        };
        let octets: usize = rows.iter().map(Handed::octets).sum();
        collected.more = rows.len() == INBOX || octets >= MOST_COLLECTED_OCTETS;
        let mut by_queue: HashMap<u32, Vec<QueueItem>> = HashMap::new();
        for row in rows {
            let partition = row.partition;
            match row.into_items() {
                Ok(mut items) => by_queue
                    .entry(partition.queue)
                    .or_default()
                    .append(&mut items),
                Err(DamagedItems(Partition { queue, part })) => {
                    tracing::error!(
                        queue,
                        part,
                        "what was handed over is damaged: the partition is read from the tables"
                    );
                    let legible = format!("for part {part} of {}", node.name_of(queue));
                    node.store.put_damage_back(vec![DamagedRow {
                        legible,
                        ..DamagedRow::new("inbox", queue.into(), CHECKSUM)
                    }]);
                    collected.damaged.push(LeasedResource::Queue(partition));
                }
            }
        }
        collected.items += by_queue.values().map(Vec::len).sum::<usize>();
        give_terms(node, &mut by_queue);
        // A queue that does not answer yet keeps no other waiting for its items.
        let mut waiting: HashSet<u32> = by_queue.keys().copied().collect();
        let mut handing: HandingOver = by_queue
            .into_iter()
            .map(|(queue, items)| -> LocalBoxFuture<'static, u32> {
                Box::pin(hand_over(Arc::clone(node), Arc::clone(store), queue, items))
            })
            .collect();
        let answered = async {
            while let Some(queue) = handing.next().await {
                waiting.remove(&queue);
            }
        };
        if tokio::time::timeout(ANSWER_WITHIN, answered).await.is_err() {
            tracing::warn!(
                queues = waiting.len(),
                "queues do not say what they have of what was handed off: it waits for them, and others go on"
            );
            (collected.late_queues, collected.late) = (waiting, handing);
            break;
        }
        if !collected.more {
            break;
        }
    }
    collected
}

/// Gives a queue its items, without those that it has or has done; gives the queue.
async fn hand_over(
    node: Arc<NodeContext>,
    store: Arc<dyn ClusterStore>,
    queue: u32,
    mut items: Vec<QueueItem>,
) -> u32 {
    items.sort_unstable_by_key(|item| item.id);
    let items = again::sift(&node, store.as_ref(), queue, items).await;
    node.metrics.items_collected.inc_by(items.len() as u64);
    node.enqueue(queue, items);
    queue
}
