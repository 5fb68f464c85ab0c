//! The cluster actor with a simulated database, whose answers the test controls.

mod counts;
mod hints;
mod names;
pub(in crate::actors) mod permits;
mod slow_database;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use prost::Message as _;
use tokio::sync::Notify;

use super::*;
use crate::actors::context::binds::BindPort;
use crate::actors::control::admin::Admin;
use crate::actors::control::supervisor::Supervisor;
use crate::actors::runtime::locks::lock;
use crate::actors::runtime::supervise::{self, Escalate, Health};
use crate::actors::test_support::{self, TestNode, until};
use crate::pb::{Enqueue, QueueItem};
use crate::store::balance::{BlockOrder, BlockStore};
use crate::store::cluster::{Handed, IsWanted, NodeView, Partition, Permit, ResourceHolder};
use crate::store::{Active, Reply};

const ME: Membership = Membership { node: 0, epoch: 1 };
const OTHER: Membership = Membership { node: 1, epoch: 2 };

/// A cluster in memory as this node sees it; the other node takes at once what is given back.
#[derive(Default)]
pub(in crate::actors) struct Shelf {
    state: Mutex<State>,
    /// One for each hint.
    woken: [Arc<Notify>; Hint::ALL.len()],
    pub(in crate::actors) permits: permits::Permits,
}

/// A delayed answer.
type Late = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    /// Whether the other node is a member.
    is_joined: bool,
    held: BTreeMap<LeasedResource, Membership>,
    /// Calls whose answers are delayed.
    slow: Vec<Call>,
    late: Vec<(Call, Late)>,
    beats: usize,
    /// How often orders were requested.
    looked: usize,
    /// Items that the hand-off table always has, and how often it was read.
    waiting: usize,
    collected: usize,
    /// Whether each reading of partitions is still wanted.
    readings: Vec<IsWanted>,
    /// A partition that cannot be read.
    unreadable: Option<Partition>,
    /// The partitions that were left out of it the last time.
    left_out: Vec<Partition>,
    /// Whether nothing can be collected.
    is_gone: bool,
    /// For which items come next that are damaged.
    damaged: Option<Partition>,
    /// For which an item comes next that may have come before.
    repeated: Option<Partition>,
    /// Results of counts of unfinished messages, one after the other, and the corrections.
    found: VecDeque<Vec<(u32, i64)>>,
    corrected: Vec<(u32, i64)>,
    /// Whether the database is away.
    is_down: bool,
    /// Whether the lease of the other node is over, and how often it was buried.
    is_dead: bool,
    buried: usize,
    /// How often the other node was notified of changed shares.
    told: usize,
    /// GSM networks that this node does not reach, as it has said last.
    cut_off: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Beat,
    Claim,
    TakeOver,
}

// === impl Shelf ===

impl Shelf {
    /// Answers now, or when the test releases it; either way with the state at the time of the call.
    fn answer<T: Send + 'static>(&self, state: &mut State, call: Call, answer: T) -> Reply<T> {
        let (sender, reply) = Reply::pair();
        let send = move || drop(sender.send(Ok(answer)));
        if state.slow.contains(&call) {
            state.late.push((call, Box::new(send)));
        } else {
            send();
        }
        reply
    }

    /// Delays answers to such calls from now on.
    fn keep_back(&self, call: Call) {
        lock(&self.state).slow.push(call);
    }

    fn is_waited_for(&self, call: Call) -> bool {
        let state = lock(&self.state);
        state.late.iter().any(|(late, _)| *late == call)
    }

    /// Sends the delayed answers, and delays no more.
    fn let_go(&self, call: Call) {
        let mut state = lock(&self.state);
        state.slow.retain(|slow| *slow != call);
        for (_, send) in state.late.extract_if(.., |(late, _)| *late == call) {
            send();
        }
    }

    fn holder(&self, resource: LeasedResource) -> Option<Membership> {
        lock(&self.state).held.get(&resource).copied()
    }
}

impl State {
    fn view(&self) -> View {
        let node = |member: Membership| NodeView {
            node: member.node,
            epoch: member.epoch,
            card: NodeCard {
                roles: vec!["delivery".to_owned()],
                cut_off: if member == ME {
                    self.cut_off.clone()
                } else {
                    Vec::new()
                },
                ..NodeCard::default()
            },
            lives_for: (!self.is_dead || member == ME).then_some(Duration::from_secs(5)),
            dead_for: Duration::from_secs(if self.is_dead { 60 } else { 0 }),
            since: 0,
        };
        let members = [ME, OTHER]
            .into_iter()
            .take(1 + usize::from(self.is_joined));
        let held = self.held.iter().map(|(resource, holder)| ResourceHolder {
            resource: *resource,
            node: holder.node,
            epoch: holder.epoch,
        });
        View {
            nodes: members.map(node).collect(),
            held: held.collect(),
            now: 0,
        }
    }
}

impl ClusterStore for Shelf {
    fn join(&self, _: NodeCard, _: Duration, _: Option<u8>) -> Result<Membership, StoreError> {
        Ok(ME)
    }

    fn beat(&self, card: NodeCard) -> Reply<View> {
        let mut state = lock(&self.state);
        state.cut_off = card.cut_off;
        let view = state.view();
        state.beats += 1;
        if state.is_down {
            return Reply::ready(Err(StoreError::Failed("down".to_owned())));
        }
        self.answer(&mut state, Call::Beat, view)
    }

    fn bury(&self, _: u8, _: u64, _: Duration) -> Reply<bool> {
        lock(&self.state).buried += 1;
        Reply::ready(Ok(true))
    }

    fn declare(&self, _: Vec<LeasedResource>) -> Reply<()> {
        Reply::ready(Ok(()))
    }

    fn claim(&self, mut resources: Vec<LeasedResource>) -> Reply<Vec<LeasedResource>> {
        let mut state = lock(&self.state);
        resources.retain(|resource| *state.held.entry(*resource).or_insert(ME) == ME);
        self.answer(&mut state, Call::Claim, resources)
    }

    fn release(&self, resources: Vec<LeasedResource>) -> Reply<()> {
        let mut state = lock(&self.state);
        for resource in resources {
            state.held.insert(resource, OTHER);
        }
        Reply::ready(Ok(()))
    }

    fn membership(&self) -> Option<Membership> {
        self.permits.membership()
    }

    fn take_bind_permit(&self, account: u32, most: u32) -> Reply<Option<Permit>> {
        self.permits.take(account, most)
    }

    fn give_bind_permit(&self, permit: Permit) -> Reply<()> {
        self.permits.give(permit)
    }

    fn take_over(&self, partitions: Vec<Partition>, is_wanted: IsWanted) -> Reply<Vec<Active>> {
        let mut state = lock(&self.state);
        state.readings.push(is_wanted);
        if (state.unreadable).is_some_and(|one| partitions.contains(&one)) {
            return Reply::ready(Err(StoreError::Failed("unreadable".to_owned())));
        }
        self.answer(&mut state, Call::TakeOver, Vec::new())
    }

    fn collect(&self, _: usize, except: Vec<Partition>) -> Reply<Vec<Handed>> {
        let mut state = lock(&self.state);
        state.collected += 1;
        state.left_out = except;
        if state.is_gone {
            return Reply::ready(Err(StoreError::Failed("gone".to_owned())));
        }
        if let Some(partition) = state.damaged.take() {
            return Reply::ready(Ok(vec![Handed::new(partition, &b"\x0a\x7f"[..])]));
        }
        if let Some(partition) = state.repeated.take() {
            let item = QueueItem {
                id: 1,
                again: true,
                ..QueueItem::default()
            };
            let octets = Enqueue { items: vec![item] }.encode_to_vec();
            return Reply::ready(Ok(vec![Handed::new(partition, octets)]));
        }
        let items = Enqueue {
            items: vec![QueueItem::default(); state.waiting],
        };
        let partition = Partition { queue: 0, part: 0 };
        Reply::ready(Ok(vec![Handed::new(partition, items.encode_to_vec())]))
    }

    fn keep(&self, resources: Vec<LeasedResource>) -> Reply<Vec<LeasedResource>> {
        Reply::ready(Ok(resources))
    }

    fn doubt(&self, _: Vec<Partition>) -> Reply<()> {
        Reply::ready(Ok(()))
    }

    fn still_active(&self, _: Vec<u64>) -> Reply<Vec<Active>> {
        Reply::ready(Ok(Vec::new()))
    }

    fn rehome(&self, _: Vec<u32>, _: Vec<u32>) -> Reply<Vec<Partition>> {
        Reply::ready(Ok(Vec::new()))
    }

    fn sweep_correlations(&self, _: i64) -> Reply<u64> {
        Reply::ready(Ok(0))
    }

    fn barrier(&self) -> Reply<()> {
        Reply::ready(Ok(()))
    }

    fn wake(&self, nodes: &[u8], hint: Hint) {
        let is_told = hint == Hint::Shares && nodes.contains(&OTHER.node);
        lock(&self.state).told += usize::from(is_told);
    }

    fn woken(&self, hint: Hint) -> Arc<Notify> {
        Arc::clone(&self.woken[hint as usize])
    }

    fn order(&self, _: Vec<u8>, _: Vec<u8>) -> Reply<()> {
        Reply::ready(Ok(()))
    }

    fn orders(&self) -> Reply<Vec<Vec<u8>>> {
        lock(&self.state).looked += 1;
        Reply::ready(Ok(Vec::new()))
    }

    fn count_unfinished(&self, _: Vec<(u32, i64)>) -> Reply<Vec<(u32, i64)>> {
        Reply::ready(Ok(Vec::new()))
    }

    fn correct_unfinished(&self, more: Vec<(u32, i64)>) -> Reply<()> {
        lock(&self.state).corrected.extend(more);
        Reply::ready(Ok(()))
    }

    fn recount_unfinished(&self, _: Vec<u32>) -> Reply<Vec<(u32, i64)>> {
        let found = lock(&self.state).found.pop_front();
        Reply::ready(Ok(found.unwrap_or_default()))
    }

    fn leave(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl BlockStore for Shelf {
    fn order_block(&self, _: BlockOrder) -> Reply<i64> {
        Reply::ready(Ok(0))
    }
}

/// A node, and the two bind slots of its operator, of which `first_held_by` may hold the first.
async fn started(first_held_by: Option<Membership>) -> (Arc<Shelf>, TestNode, [LeasedResource; 2]) {
    started_with(first_held_by, |_| {}).await
}

async fn started_with(
    first_held_by: Option<Membership>,
    change: impl FnOnce(&mut Config),
) -> (Arc<Shelf>, TestNode, [LeasedResource; 2]) {
    let shelf = Arc::new(Shelf::default());
    let node = test_support::node_with(2, Some(Arc::<Shelf>::clone(&shelf)), change).await;
    tokio::time::pause();
    let operator = node.operator;
    let slots = [0, 1].map(|slot| LeasedResource::Bind { operator, slot });
    lock(&shelf.state)
        .held
        .extend(first_held_by.map(|holder| (slots[0], holder)));
    let (_, slot) = supervise::slot(MAILBOX);
    let (supervisor, _) = supervise::slot::<Supervisor>(1);
    let (admin, _) = supervise::slot::<Admin>(1);
    let escalate: Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
    let (context, store) = (Arc::clone(&node.context), Arc::<Shelf>::clone(&shelf));
    slot.start(
        &actix::Arbiter::current(),
        Health::new("cluster"),
        escalate,
        move || {
            Cluster::new(
                context,
                Arc::default(),
                store,
                supervisor.into(),
                admin.recipient(),
                ME,
            )
        },
    );
    (shelf, node, slots)
}

impl TestNode {
    fn has(&self, resource: LeasedResource) -> bool {
        self.context.local_lease.hold().has(&resource)
    }

    /// A session that uses a slot until it is removed.
    fn bind(&self, resource: LeasedResource) -> u64 {
        let LeasedResource::Bind { operator, slot } = resource else {
            panic!("not a slot: {resource:?}");
        };
        let session = self.context.binds.next_session();
        let port = BindPort::new(session, None);
        port.owner.store(operator, Ordering::Relaxed);
        port.slot.store(slot, Ordering::Relaxed);
        self.context.binds.add(port);
        session
    }
}

/// While time passes, the resource that was given back stays with the other node.
async fn stays_away(node: &TestNode, shelf: &Shelf, given_back: LeasedResource) {
    for _ in 0..1000 {
        assert!(!node.has(given_back), "taken up again");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(shelf.holder(given_back), Some(OTHER));
}

#[actix::test]
async fn a_slot_too_many_goes_to_a_node_that_joins() {
    let (shelf, node, [kept, given_back]) = started(None).await;
    until("both", || node.has(kept) && node.has(given_back)).await;
    lock(&shelf.state).is_joined = true;
    until("given back", || shelf.holder(given_back) == Some(OTHER)).await;
    stays_away(&node, &shelf, given_back).await;
    assert!(node.has(kept));
}

#[actix::test]
async fn a_view_from_before_a_release_brings_nothing_back() {
    let (shelf, node, [_, given_back]) = started(None).await;
    until("its slot", || node.has(given_back)).await;
    let session = node.bind(given_back);
    lock(&shelf.state).is_joined = true;
    until("given up", || !node.has(given_back)).await;
    // While its session ends, the next view is requested, in which the slot is this node's.
    shelf.keep_back(Call::Beat);
    until("a view under way", || shelf.is_waited_for(Call::Beat)).await;
    node.context.binds.remove(session);
    until("given back", || shelf.holder(given_back) == Some(OTHER)).await;
    shelf.let_go(Call::Beat);
    stays_away(&node, &shelf, given_back).await;
}

#[actix::test]
async fn a_step_asked_for_before_a_release_brings_nothing_back() {
    let (shelf, node, [other, given_back]) = started(Some(OTHER)).await;
    // It is claimed, but this node does not know that yet: the next view says that it must be adopted.
    shelf.keep_back(Call::Claim);
    until("a claim", || shelf.is_waited_for(Call::Claim)).await;
    lock(&shelf.state).held.remove(&other);
    tokio::time::sleep(node.context.config().cluster.heartbeat * 2).await;
    assert!(!node.has(given_back));
    // That step waits for its own claim; meanwhile the resource of the first claim is given back.
    shelf.let_go(Call::Claim);
    shelf.keep_back(Call::Claim);
    until("its slot", || node.has(given_back)).await;
    until("the next claim", || shelf.holder(other) == Some(ME)).await;
    lock(&shelf.state).is_joined = true;
    until("given back", || shelf.holder(given_back) == Some(OTHER)).await;
    shelf.let_go(Call::Claim);
    stays_away(&node, &shelf, given_back).await;
    assert!(node.has(other));
}

/// Far less than a heartbeat.
const SOON: Duration = Duration::from_millis(250);

#[actix::test]
async fn binds_that_came_are_used_though_the_hand_off_table_cannot_be_read() {
    let (shelf, node, slots) = started(None).await;
    lock(&shelf.state).is_gone = true;
    until("both", || slots.iter().all(|slot| node.has(*slot))).await;
}
