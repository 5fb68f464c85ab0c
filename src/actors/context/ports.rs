//! The state that actors share: addresses, counters and published snapshots.
//!
//! Addresses cannot travel as protobuf, so a session registers itself in the [`QueuePort`] of the
//! queue that it serves; everything else is a message.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use actix::dev::RecipientRequest;
use actix::prelude::SendError;
use actix::{Actor, Addr, Context, Handler, Message, Recipient};
use arc_swap::ArcSwap;

use crate::actors::context::addresses::{QueueAddress, Takes, post_to};
use crate::actors::context::backpressure::Backpressure;
use crate::actors::context::local_lease::LocalLease;
use crate::actors::context::messages::AttemptsWritten;
use crate::actors::context::plan::Plan;
use crate::actors::context::target_health::TargetHealth;
use crate::actors::context::unwritten::Unwritten;
use crate::actors::runtime::locks::lock;
use crate::actors::runtime::supervise::Health;
use crate::actors::runtime::timed_mailbox::Timed;
use crate::pb;
use crate::telemetry::metrics::{AttemptMeter, Mailbox, Metrics};

/// The destination of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueKind {
    /// Connections that this SMSC makes: binds of an operator, or those to a GSM network.
    Operator,
    /// Receivers of an account: receipts, MO, and MT for a peer that binds to this SMSC.
    Account,
    /// A built-in target, which delivers, fails or is unreachable.
    Test,
    /// An actor of every delivering node, which passes messages on to other queues.
    Internal,
}

/// The public state of a queue.
pub struct QueuePort {
    pub id: u32,
    /// The interned name: `operator:up`, `gsm:home`, `account:test`, `test:delivered`.
    pub name: String,
    pub kind: QueueKind,
    address: QueueAddress,
    pub local_lease: Arc<LocalLease>,
    pub health: Arc<Health>,
    /// Sessions that can be given deliveries.
    pub bound: AtomicU32,
    pub suspended: AtomicBool,
    /// By whose order; empty if it is not, or if that was before this process.
    pub suspended_by: Published<String>,
    /// By whose order the binds of its operator are suspended; empty as above.
    pub paused_by: Published<String>,
    /// Waiting, scheduled and in flight; compared with the limit before acceptance.
    pub depth: AtomicU64,
    /// The part of it for each sender: the last count, plus messages since. Compared with the share of
    /// one account.
    by_sender: Mutex<HashMap<u32, u64, ahash::RandomState>>,
    /// Given to sessions and not settled.
    pub held: AtomicU64,
    /// Attempts that are answered but not durable yet.
    pub unwritten: Unwritten,
    /// Different messages have ended sessions one after another, and none was answered between: it is the peer.
    pub doubted: AtomicBool,
    /// Whether new messages wait for room.
    pub backpressure: Backpressure,
    /// How routing sees its target.
    pub target_health: TargetHealth,
    pub snapshot: Published<pb::QueueSnapshot>,
    sessions: Mutex<HashMap<u64, SessionPort>>,
    /// How often sessions have joined.
    joins: AtomicU64,
    /// Results of its attempts.
    pub attempts: AttemptMeter,
    mailbox: Mailbox,
}

/// Attempts of a queue that count as unwritten until this is dropped.
pub struct UnwrittenAttempts {
    port: Arc<QueuePort>,
    attempts: u64,
}

/// A session as a queue sees it.
#[derive(Clone)]
pub struct SessionPort {
    pub deliver: Recipient<Timed<pb::DeliverBatch>>,
    pub report: Recipient<pb::ReportHeld>,
    /// The session finishes its messages and takes no more.
    pub retiring: bool,
    /// Tells it from itself: a session may leave, and join again under its number. From 1 on; 0 before it has joined.
    pub joined: u64,
}

impl SessionPort {
    pub fn new(
        deliver: Recipient<Timed<pb::DeliverBatch>>,
        report: Recipient<pb::ReportHeld>,
    ) -> Self {
        Self {
            deliver,
            report,
            retiring: false,
            joined: 0,
        }
    }
}

/// A snapshot that its actor replaces and everyone can read, even while the actor is down.
pub struct Published<T>(ArcSwap<T>);

// === impl QueuePort ===

impl QueuePort {
    pub fn new(
        id: u32,
        name: String,
        kind: QueueKind,
        address: QueueAddress,
        local_lease: Arc<LocalLease>,
        metrics: &Metrics,
    ) -> Self {
        Self {
            id,
            attempts: metrics.attempts_of(&name),
            mailbox: metrics.mailbox("queue"),
            health: Health::new(name.clone()),
            name,
            kind,
            address,
            local_lease,
            bound: AtomicU32::new(0),
            suspended: AtomicBool::new(false),
            doubted: AtomicBool::new(false),
            suspended_by: Published::default(),
            paused_by: Published::default(),
            depth: AtomicU64::new(0),
            by_sender: Mutex::default(),
            held: AtomicU64::new(0),
            unwritten: Unwritten::default(),
            backpressure: Backpressure::default(),
            target_health: TargetHealth::new(),
            snapshot: Published::default(),
            sessions: Mutex::default(),
            joins: AtomicU64::new(0),
        }
    }

    /// Sends to the queue, through its measured mailbox.
    pub fn post<M>(&self, message: M)
    where
        QueueAddress: Takes<Timed<M>>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        post_to(self.address.recipient(), Timed::new(message, &self.mailbox));
    }

    /// Tells the queue that a subscriber is there.
    pub fn post_ready(&self, ready: pb::SubscriberReady) {
        post_to(self.address.recipient(), ready);
    }

    /// Sends a request to the queue.
    pub fn send<M>(&self, message: M) -> RecipientRequest<M>
    where
        QueueAddress: Takes<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.address.recipient().send(message)
    }

    /// Sends to the queue; fails if its mailbox is full or the queue is gone.
    pub fn try_send<M>(&self, message: M) -> Result<(), SendError<M>>
    where
        QueueAddress: Takes<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.address.recipient().try_send(message)
    }

    /// Puts a message about partitions into the mailbox, even if it is full: if it came later than work
    /// for the partitions, it would undo that work.
    #[expect(
        clippy::disallowed_methods,
        reason = "a handful per change of ownership"
    )]
    pub fn post_in_order<M>(&self, message: M)
    where
        QueueAddress: Takes<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.address.recipient().do_send(message);
    }

    /// Counts items that are on their way into the queue.
    pub fn more_waits(&self, items: &[pb::QueueItem]) {
        self.depth.fetch_add(items.len() as u64, Ordering::Relaxed);
        if self.kind == QueueKind::Account {
            return;
        }
        let mut counts = lock(&self.by_sender);
        // The messages of one commit nearly always have one sender.
        for same in items.chunk_by(|one, next| one.sent_by() == next.sent_by()) {
            let sender = same.first().map_or(0, pb::QueueItem::sent_by);
            *counts.entry(sender).or_default() += same.len() as u64;
        }
    }

    /// Sets how many messages of each sender wait. An empty map resets the counts to 0.
    pub fn set_waiting(&self, depth: u64, by_sender: HashMap<u32, u64, ahash::RandomState>) {
        self.depth.store(depth, Ordering::Relaxed);
        if self.kind != QueueKind::Account {
            *lock(&self.by_sender) = by_sender;
        }
    }

    /// Whether another message of this sender would exceed its share.
    pub fn is_full_for(&self, sender: u32, plan: &Plan) -> bool {
        let depth = self.depth.load(Ordering::Relaxed);
        let most = plan.most_of_one();
        let has = || lock(&self.by_sender).get(&sender).copied().unwrap_or(0);
        depth >= plan.config.queue.max_waiting || (depth >= most && has() >= most)
    }

    /// Messages that wait here only for their turn or an answer.
    pub fn to_do(&self) -> u64 {
        let depth = self.depth.load(Ordering::Relaxed);
        depth.saturating_sub(self.target_health.later())
    }

    /// `messages` messages have been taken; the next snapshot counts exactly.
    pub fn less_to_do(&self, messages: usize) {
        let less = |depth: u64| Some(depth.saturating_sub(messages as u64));
        let _ = self
            .depth
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// A session begins to serve this queue; its credit follows. Returns which joining that is.
    pub fn join(&self, session: u64, port: SessionPort) -> u64 {
        let joined = self.joins.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&self.sessions).insert(session, SessionPort { joined, ..port });
        self.bound.fetch_add(1, Ordering::Relaxed);
        joined
    }

    /// An actor begins to serve this queue as this session, with room for so many. Returns which joining that is.
    pub fn serve<A>(&self, session: u64, actor: &Addr<A>, room: u32) -> u64
    where
        A: Actor<Context = Context<A>> + Handler<Timed<pb::DeliverBatch>> + Handler<pb::ReportHeld>,
    {
        let port = SessionPort::new(actor.clone().recipient(), actor.clone().recipient());
        let joined = self.join(session, port);
        self.post(pb::Credit {
            session,
            room,
            retire: false,
            joined,
        });
        joined
    }

    /// A session takes no more messages but still settles those that it has.
    pub fn retire(&self, session: u64) {
        if let Some(port) = lock(&self.sessions).get_mut(&session)
            && !port.retiring
        {
            port.retiring = true;
            self.bound.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A session is given nothing more.
    pub fn leave(&self, session: u64) {
        if lock(&self.sessions)
            .remove(&session)
            .is_some_and(|port| !port.retiring)
        {
            self.bound.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A session has ended: the queue takes back what it has not settled.
    pub fn session_down(&self, session: u64) {
        self.leave(session);
        self.post(pb::SessionDown { session });
    }

    pub fn session(&self, session: u64) -> Option<SessionPort> {
        lock(&self.sessions).get(&session).cloned()
    }

    pub fn sessions(&self) -> Vec<(u64, SessionPort)> {
        lock(&self.sessions)
            .iter()
            .map(|(session, port)| (*session, port.clone()))
            .collect()
    }

    /// Whether this node has a session for the queue.
    pub fn is_bound(&self) -> bool {
        matches!(self.kind, QueueKind::Test | QueueKind::Internal)
            || self.bound.load(Ordering::Relaxed) > 0
    }
}

// === impl UnwrittenAttempts ===

impl UnwrittenAttempts {
    /// Counts attempts whose rows the caller is about to write; `None` if there are none.
    pub fn new(port: &Arc<QueuePort>, attempts: usize) -> Option<Self> {
        port.unwritten.add(attempts);
        Self::counted_before(port, attempts)
    }

    /// Like [`Self::new`], for attempts that were counted when their answer came.
    pub fn counted_before(port: &Arc<QueuePort>, attempts: usize) -> Option<Self> {
        (attempts > 0).then(|| Self {
            port: Arc::clone(port),
            attempts: attempts as u64,
        })
    }
}

impl Drop for UnwrittenAttempts {
    fn drop(&mut self) {
        if self.port.unwritten.written(self.attempts) {
            // If the mailbox is full, the queue looks by itself, at the latest with its timer.
            let _ = self.port.try_send(AttemptsWritten);
        }
    }
}

// === impl Published ===

impl<T> Published<T> {
    pub fn set(&self, value: T) {
        self.0.store(Arc::new(value));
    }

    pub fn get(&self) -> Arc<T> {
        self.0.load_full()
    }
}

impl<T: Clone + PartialEq> Published<T> {
    /// Publishes a copy of this, unless it is published already.
    pub fn update(&self, value: &T) {
        if **self.0.load() != *value {
            self.set(value.clone());
        }
    }
}

impl<T: Default> Default for Published<T> {
    fn default() -> Self {
        Self(ArcSwap::from_pointee(T::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_already_is_not_copied_again() {
        let published = Published::<String>::default();
        published.update(&"bound".to_owned());
        let before = published.get();
        assert_eq!(*before, "bound");
        published.update(&"bound".to_owned());
        assert!(Arc::ptr_eq(&before, &published.get()));
        published.update(&"waiting".to_owned());
        assert_eq!(*published.get(), "waiting");
    }
}
