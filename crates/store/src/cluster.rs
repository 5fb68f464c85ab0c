//! The cluster port: what nodes that share a store ask of it beyond [`Store`](super::Store).
//!
//! A node is a row with a lease; its *epoch* is new at every join. Everything that only one node may
//! own (a queue partition, a bind slot of an operator, the janitor's work) is a [`LeasedResource`] that
//! names its owner by node and epoch. A dead node owns nothing: to take a resource of a dead node,
//! another node first [removes](ClusterStore::bury) it from the cluster, which waits for its writes
//! under way and makes every later one fail with [`StoreError::Fenced`](super::StoreError::Fenced), and then
//! [claims](ClusterStore::claim) by compare-and-set. Leases end by the clock of the database.

mod finding;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;
use tokio::sync::Notify;

use super::balance::BlockStore;
use super::hand_off::are_sound;
use super::{Active, Reply, StoreResult};
use smsc_domain::partition::WHOLE;
use smsc_proto::{Enqueue, QueueItem};

pub use self::finding::FindingFigures;

/// One partition of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition {
    /// Interned name of the queue.
    pub queue: u32,
    /// Below [`smsc_domain::partition::PARTITIONS`], or [`smsc_domain::partition::WHOLE`].
    pub part: u8,
}

/// Whether somebody still waits for the result of a [take-over](ClusterStore::take_over). Once false, it stays false, and
/// only then may the same partitions be read again: a reading whose result is dropped must not take rows of the hand-off
/// table that a later one has not seen.
pub type IsWanted = Arc<dyn Fn() -> bool + Send + Sync>;

/// Something that one node at a time may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LeasedResource {
    Queue(Partition),
    /// One of the binds that an operator is configured with, or the one connection to a GSM network whose name all
    /// nodes have.
    Bind {
        /// Interned name of the operator or the network.
        operator: u32,
        slot: u32,
    },
    /// Sweeps, retention, the low-water mark.
    Janitor,
}

// === impl LeasedResource ===

impl LeasedResource {
    /// The partition of a queue, if it is one.
    pub fn partition(&self) -> Option<Partition> {
        match self {
            Self::Queue(partition) => Some(*partition),
            Self::Bind { .. } | Self::Janitor => None,
        }
    }
}

/// One of the binds that an account may have over all nodes. It ends with the membership that took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Permit {
    /// Interned name.
    pub account: u32,
    pub number: u32,
    /// Of the membership in whose name it is taken.
    pub epoch: u64,
}

/// What a node reports with every heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct NodeCard {
    /// Host name and process, for people.
    pub name: String,
    pub version: String,
    pub roles: Vec<String>,
    /// Address of its admin API.
    pub http: String,
    /// Addresses of its SMPP listeners.
    pub smpp: Vec<String>,
    /// Interned names of the queues that it has sessions for.
    pub serving: Vec<u32>,
    /// Those of them that a circuit breaker keeps it from sending to.
    pub tripped: Vec<u32>,
    /// Messages that wait or are unanswered, by queue; queues without any are left out.
    pub to_do: Vec<(u32, u64)>,
    /// It is stopping: it releases its resources and claims no more.
    pub draining: bool,
    /// It enforces limits by itself: there is no Redis, or it does not answer this node.
    pub limits_alone: bool,
    /// It knows partitions of accounts' queues; a build that does not holds such a queue as a whole only.
    pub splits_accounts: bool,
    /// What it does for the Redis SMS platform; empty where that is off, `None` of a build that knows no such roles.
    pub platform_roles: Option<Vec<String>>,
    /// Interned names of GSM networks whose HLR it has tried to reach in vain: others should have their names.
    pub cut_off: Vec<u32>,
    /// The history of the database with which it has compared what it had written: system and timeline. Empty where the
    /// database does not say.
    pub database: String,
    /// The database waits for a standby before it confirms: a failover loses nothing.
    pub is_synchronous: bool,
    /// For views of the whole cluster.
    pub figures: Figures,
}

/// The figures of a node at one moment. Counters are since the start of its process.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Figures {
    /// Queues with anything to show.
    pub queues: Vec<QueueFigures>,
    /// Operators of which it has a bind, up or not.
    pub operators: Vec<OperatorFigures>,
    /// Bound ESMEs.
    pub esmes: u64,
    pub accepted: u64,
    pub refused: u64,
    pub delivered: u64,
    pub failed: u64,
    pub told: u64,
}

/// One queue of [`Figures`]. Names are short in the stored JSON: there are many, written with every
/// heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct QueueFigures {
    /// Interned name.
    #[serde(rename = "q")]
    pub queue: u32,
    #[serde(rename = "w", skip_serializing_if = "is_zero")]
    pub waiting: u64,
    #[serde(rename = "s", skip_serializing_if = "is_zero")]
    pub scheduled: u64,
    #[serde(rename = "i", skip_serializing_if = "is_zero")]
    pub in_flight: u64,
    #[serde(rename = "n", skip_serializing_if = "is_zero")]
    pub sessions: u64,
    #[serde(rename = "m", skip_serializing_if = "is_zero")]
    pub room: u64,
    /// Unix milliseconds, 0 when nothing waits.
    #[serde(rename = "o", skip_serializing_if = "is_zero")]
    pub oldest_at: i64,
    #[serde(rename = "d", skip_serializing_if = "is_zero")]
    pub delivered: u64,
    #[serde(rename = "f", skip_serializing_if = "is_zero")]
    pub failed: u64,
    #[serde(rename = "r", skip_serializing_if = "is_zero")]
    pub retried: u64,
    #[serde(rename = "e", skip_serializing_if = "is_zero")]
    pub expired: u64,
    #[serde(rename = "h", skip_serializing_if = "is_zero")]
    pub suspended: bool,
    /// Attempts: all, throttled, refused for another reason, not answered.
    #[serde(rename = "a", skip_serializing_if = "is_zero")]
    pub attempts: u64,
    #[serde(rename = "t", skip_serializing_if = "is_zero")]
    pub throttled: u64,
    #[serde(rename = "x", skip_serializing_if = "is_zero")]
    pub refused: u64,
    #[serde(rename = "u", skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Nothing is sent for a moment.
    #[serde(rename = "y", skip_serializing_if = "is_zero")]
    pub on_hold: bool,
}

/// The binds to one operator of [`Figures`].
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct OperatorFigures {
    /// Interned name.
    pub operator: u32,
    pub binds: u32,
    pub bound: u32,
    pub paused: u32,
    pub last_error: String,
    /// Of a GSM network: another program seems to have our name.
    #[serde(skip_serializing_if = "is_zero")]
    pub name_taken: bool,
    /// Mean of how long the bound ones take to answer, microseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub answer_us: u64,
    /// Of a GSM network over MAP: what its firewall has found lately, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingFigures>,
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// This process as a member of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// 0-255, part of every message id made here.
    pub node: u8,
    /// Greater than every epoch before it.
    pub epoch: u64,
}

/// A node as all see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeView {
    pub node: u8,
    pub epoch: u64,
    pub card: NodeCard,
    /// Until its lease ends by the database's clock; `None` when that is past.
    pub lives_for: Option<Duration>,
    /// How long ago its lease ended, zero while it is valid.
    pub dead_for: Duration,
    /// When it joined, Unix milliseconds of the database.
    pub since: i64,
}

/// A resource and who holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceHolder {
    pub resource: LeasedResource,
    pub node: u8,
    pub epoch: u64,
}

/// The cluster at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Live nodes and dead ones that were not removed yet, by number.
    pub nodes: Vec<NodeView>,
    /// Resources that exist and are held by one of `nodes`.
    pub held: Vec<ResourceHolder>,
    /// The database's clock, Unix milliseconds.
    pub now: i64,
}

/// The content of a row of the hand-off table for a queue of this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    pub partition: Partition,
    /// [`Enqueue`] in protobuf, each item with its checksum.
    octets: Bytes,
}

/// What [`ClusterStore::collect`] takes at a time is not much larger: it is in memory as a whole.
pub const MOST_COLLECTED_OCTETS: usize = 16 * 1024 * 1024;

/// Items that are not what was written: nothing of them is used. The tables have their messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamagedItems(pub Partition);

smsc_domain::named! {
    /// The reason of a wake-up.
    /// Its words are what notifications carry.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Hint, payload {
        /// The hand-off table has something for it.
        HandOff: "",
        /// An order waits for it.
        Orders: "orders",
        /// Shares must be recomputed: a resource is free, or a node serves other queues than before.
        Shares: "shares",
    }
}

// === impl QueueFigures ===

impl QueueFigures {
    /// Those of a queue in which nothing is and nothing ever was.
    pub fn nothing(queue: u32) -> Self {
        Self {
            queue,
            ..Self::default()
        }
    }
}

// === impl View ===

impl View {
    /// Nodes whose lease is not over.
    pub fn living(&self) -> impl Iterator<Item = &NodeView> + Clone {
        self.nodes.iter().filter(|node| node.lives_for.is_some())
    }

    /// Queues of which parts are held; one for each part.
    pub fn divided(&self) -> impl Iterator<Item = u32> {
        self.held.iter().filter_map(|held| match held.resource {
            LeasedResource::Queue(Partition { queue, part }) if part != WHOLE => Some(queue),
            _ => None,
        })
    }
}

// === impl Handed ===

impl Handed {
    pub fn new(partition: Partition, octets: impl Into<Bytes>) -> Self {
        Self {
            partition,
            octets: octets.into(),
        }
    }

    /// Size of its items as they are stored.
    pub fn octets(&self) -> usize {
        self.octets.len()
    }

    /// The items in the order of their ids, as an in-memory hand-off has them, with this partition: they may have
    /// been written for another one. Decode them on the
    /// thread that uses them: memory that one thread allocates and another frees costs more.
    pub fn into_items(self) -> Result<Vec<QueueItem>, DamagedItems> {
        let Self { partition, octets } = self;
        let damaged = DamagedItems(partition);
        if !are_sound(&octets) {
            return Err(damaged);
        }
        let mut batch = Enqueue::decode(octets).map_err(|_| damaged)?;
        let items = batch.items.iter_mut();
        items.for_each(|item| item.part = partition.part.into());
        Ok(batch.items)
    }
}

/// Outcomes of attempts in `smpp.message_correlations`, on this node since its start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CorrelationCounts {
    /// Rows that an operator's reused id took over.
    pub taken_over: u64,
    /// Attempts without a row, because the row of their id still waits for its receipt, or is none of ours.
    pub in_use: u64,
    /// Attempts without a row, because the operator's id is longer than the column.
    pub too_long: u64,
    /// Rows whose time was over before their receipt came.
    pub expired: u64,
    /// Rows deleted at the end of their retention.
    pub deleted: u64,
}

/// A store that several nodes share. Calls never block unless documented.
pub trait ClusterStore: BlockStore + Send + Sync + 'static {
    /// Becomes a member, with the wished number when it is free, else the lowest free one. Writes
    /// are refused before the first join and after being fenced, until the next. Blocks.
    fn join(
        &self,
        card: NodeCard,
        lease: Duration,
        preferred: Option<u8>,
    ) -> StoreResult<Membership>;

    /// Renews the lease and returns the state of the cluster. [`StoreError::Fenced`](super::StoreError::Fenced) when this node
    /// has been removed.
    fn beat(&self, card: NodeCard) -> Reply<View>;

    /// Removes a node whose lease has been over for `margin`: resolves when none of its writes can
    /// happen any more. False when it is alive, or already removed.
    fn bury(&self, node: u8, epoch: u64, margin: Duration) -> Reply<bool>;

    /// Registers resources, so that they can be claimed; existing ones do not change.
    fn declare(&self, resources: Vec<LeasedResource>) -> Reply<()>;

    /// Takes those that no node of the cluster holds; answers the ones that are this node's now.
    fn claim(&self, resources: Vec<LeasedResource>) -> Reply<Vec<LeasedResource>>;

    /// Releases resources. Call [`ClusterStore::barrier`] first: afterwards nothing may be written
    /// in their name.
    fn release(&self, resources: Vec<LeasedResource>) -> Reply<()>;

    /// In whose name this node writes now; `None` before the first join, and from being fenced until the next.
    fn membership(&self) -> Option<Membership>;

    /// Takes one of the `most` binds that an account may have over all nodes; `None` when live nodes
    /// have taken them all. The permits of a node that is removed, or leaves, are released. It is taken
    /// also when nobody waits for the answer any more, but not for long if the answer is an error.
    fn take_bind_permit(&self, account: u32, most: u32) -> Reply<Option<Permit>>;

    /// Releases a permit of this node; one of an earlier membership is released already. While the database does not
    /// answer, the release is kept and repeated, also after the answer here.
    fn give_bind_permit(&self, permit: Permit) -> Reply<()>;

    /// Reads everything active in partitions that this node owns now, except messages that wait for an
    /// operator's receipt, and takes their rows of the hand-off table: both in one snapshot, so that each
    /// message is in this result or comes by [`ClusterStore::collect`] later, never both. Fails and takes nothing if the
    /// result is not wanted any more.
    fn take_over(&self, partitions: Vec<Partition>, is_wanted: IsWanted) -> Reply<Vec<Active>>;

    /// Takes up to `limit` rows for this node's partitions out of the hand-off table, oldest first, and no further ones
    /// once they have [`MOST_COLLECTED_OCTETS`]. Those of partitions in `except` stay there.
    fn collect(&self, limit: usize, except: Vec<Partition>) -> Reply<Vec<Handed>>;

    /// Grows when the database may have gone back in time: it moved to another server, or is known to have gone back.
    fn caution(&self) -> u64 {
        0
    }

    /// Claims again what this node holds in memory and nobody else does, without reading it; returns what it holds then.
    /// What it holds but has not [taken over](ClusterStore::take_over) in the database counts as taken over.
    fn keep(&self, resources: Vec<LeasedResource>) -> Reply<Vec<LeasedResource>>;

    /// What waits in these partitions, and was accepted until now, may have been sent by another node: whoever reads them
    /// next holds it.
    fn doubt(&self, partitions: Vec<Partition>) -> Reply<()>;

    /// Whether rows of the hand-off table may have been taken out before: the database may have gone back in time a moment
    /// ago.
    fn may_repeat_hand_offs(&self) -> bool {
        false
    }

    /// Those of these messages that are active and not held, as they are.
    fn still_active(&self, ids: Vec<u64>) -> Reply<Vec<Active>>;

    /// Finds items in the hand-off table that were written for parts of `whole` queues, or for the whole of
    /// `divided` ones, and puts them where the holders of these queues look; returns for whom.
    fn rehome(&self, whole: Vec<u32>, divided: Vec<u32>) -> Reply<Vec<Partition>>;

    /// Resolves when every write requested before this call has ended.
    fn barrier(&self) -> Reply<()>;

    /// Expires the rows of `smpp.message_correlations` whose time is over and deletes those of ours that ended
    /// before `before` (Unix ms); returns the number of rows. Run by one node of the cluster.
    fn sweep_correlations(&self, before: i64) -> Reply<u64>;

    /// Notifies nodes what to check; the hint may get lost.
    fn wake(&self, nodes: &[u8], hint: Hint);

    /// Notified when this node gets that hint.
    fn woken(&self, hint: Hint) -> Arc<Notify>;

    /// Leaves an encoded [`smsc_proto::Order`] for each of these nodes; wake them with [`Hint::Orders`]
    /// afterwards.
    fn order(&self, nodes: Vec<u8>, order: Vec<u8>) -> Reply<()>;

    /// Takes the orders that were left for this node, oldest first.
    fn orders(&self) -> Reply<Vec<Vec<u8>>>;

    /// Adds the messages of accounts that this node has accepted, less those it has ended, since
    /// its last report; returns the number of unfinished messages of each account on all nodes.
    fn count_unfinished(&self, changes: Vec<(u32, i64)>) -> Reply<Vec<(u32, i64)>>;

    /// Counts the unfinished messages of these accounts; returns how many more of each there are than
    /// [`ClusterStore::count_unfinished`] returns. This includes changes that nodes have not reported
    /// yet. Reads everything active.
    fn recount_unfinished(&self, accounts: Vec<u32>) -> Reply<Vec<(u32, i64)>>;

    /// Corrects the result of [`ClusterStore::count_unfinished`] by these numbers per account.
    fn correct_unfinished(&self, more: Vec<(u32, i64)>) -> Reply<()>;

    /// Releases everything and leaves the cluster; the others are notified. Blocks.
    fn leave(&self) -> StoreResult;
}
