//! What the callbacks of an account have in hand: what was granted, what waits, what is under way; and how much more
//! the queue may grant.
//!
//! Held by the actor. Keeps true that each grant is settled once, and that the queue is never given more credit than
//! there is room for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use crate::actors::callbacks::client::{Answer, Client, NoAnswer};
use crate::actors::callbacks::form::Callback;
use crate::actors::callbacks::lanes::Lanes;
use crate::actors::callbacks::latest::Latest;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::AccountPlan;
use crate::actors::context::ports::{BindPort, QueuePort};
use crate::actors::runtime::supervise::Health;
use crate::actors::session::outgoing::{InFlight, Serving};
use crate::clock;
use crate::domain::callback::pace::Pace;
use crate::domain::limit::Gcra;
use crate::pb::{BindSnapshot, BindState, Delivery};

/// What the queue is asked for beyond what is sent at once: so many times as much. Half of it is asked for at a time,
/// because what is granted at once is also read from the store at once.
const AHEAD: u32 = 8;

/// Which callbacks of an account a session makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// Its MO and receipts, instead of its binds.
    Own,
    /// Copies of its MO and receipts, beside its binds. What waits when that has changed is still sent.
    Second,
    /// Receipts of messages that have named a URL at this host, and MO whose rule has named a callback there.
    Host(String),
}

/// The callbacks of one account.
pub struct CallbackSession {
    pub(super) node: Arc<NodeContext>,
    pub(super) account: u32,
    pub(super) way: Way,
    pub(super) queue: Arc<QueuePort>,
    pub(super) health: Arc<Health>,
    pub(super) port: Arc<BindPort>,
    pub(super) snapshot: BindSnapshot,
    pub(super) plan: Option<Arc<AccountPlan>>,
    /// `None` until it is built, and while the configuration cannot be used.
    pub(super) client: Option<Arc<Client>>,
    pub(super) building: bool,
    pub(super) serving: Option<Serving>,
    /// What was granted and has no body yet, in order.
    pub(super) granted: Vec<Delivery>,
    /// What is being read from the store.
    pub(super) loading: Vec<u64>,
    pub(super) lanes: Lanes<Bytes, Work>,
    pub(super) under_way: FuturesUnordered<LocalBoxFuture<'static, Ended>>,
    /// What they are about.
    pub(super) sending: Vec<u64>,
    /// How far the states of messages have come.
    pub(super) latest: Latest,
    /// Wakes what drives `under_way`.
    pub(super) waker: Option<Waker>,
    /// Credit that the queue has and has not used.
    pub(super) offered: u32,
    pub(super) pace: Pace,
    /// The receiver is left alone until then.
    pub(super) rest_until: Option<Instant>,
    pub(super) rate: Option<Gcra>,
    pub(super) started: Instant,
    pub(super) retired: bool,
}

/// A callback that is ready to be sent.
pub struct Work {
    pub context: InFlight,
    pub callback: Callback,
}

/// A request that has ended.
pub struct Ended {
    /// Its place among the others.
    pub came: u64,
    pub work: Work,
    /// Whom it is about: see [`super::Lanes`].
    pub subscriber: Bytes,
    pub result: Result<Answer, NoAnswer>,
    pub after: Duration,
}

// === impl CallbackSession ===

impl CallbackSession {
    pub(super) fn new(
        node: Arc<NodeContext>,
        (account, way): (u32, Way),
        queue: Arc<QueuePort>,
        health: Arc<Health>,
        port: Arc<BindPort>,
    ) -> Self {
        let snapshot = BindSnapshot {
            session: port.session,
            direction: "callback".to_owned(),
            bind_type: "callback".to_owned(),
            state: BindState::Connecting.into(),
            since: clock::now_ms(),
            queue: queue.name.clone(),
            ..BindSnapshot::default()
        };
        Self {
            node,
            account,
            way,
            queue,
            health,
            port,
            snapshot,
            plan: None,
            client: None,
            building: false,
            serving: None,
            granted: Vec::new(),
            loading: Vec::new(),
            lanes: Lanes::default(),
            under_way: FuturesUnordered::new(),
            latest: Latest::default(),
            sending: Vec::new(),
            waker: None,
            offered: 0,
            pace: Pace::default(),
            rest_until: None,
            rate: None,
            started: Instant::now(),
            retired: false,
        }
    }

    /// Whether the receiver may be called, as far as that does not depend on what is under way.
    pub(super) fn may_send(&self) -> bool {
        self.client.is_some() && self.rest_until.is_none() && !self.is_suspended()
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.queue.suspended.load(Ordering::Relaxed)
    }

    /// Most that it holds at once: what is sent and a little to follow.
    pub(super) fn most_held(&self) -> u32 {
        match &self.plan {
            Some(plan) if self.may_send() && !self.retired => {
                plan.config.callback_concurrency * AHEAD
            }
            _ => 0,
        }
    }

    /// How many it has been given and not settled.
    pub(super) fn held(&self) -> usize {
        self.granted.len() + self.loading.len() + self.lanes.waiting() + self.sending.len()
    }

    pub(super) fn held_ids(&self) -> Vec<u64> {
        let granted = self.granted.iter().map(|delivery| delivery.id);
        let waiting = self.lanes.iter().map(|work| work.context.id);
        let all = granted.chain(waiting).chain(self.loading.iter().copied());
        all.chain(self.sending.iter().copied()).collect()
    }

    /// Room that the queue does not know of yet; it does afterwards.
    pub(super) fn new_room(&mut self) -> u32 {
        let held = u32::try_from(self.held()).unwrap_or(u32::MAX);
        let taken = held.saturating_add(self.offered);
        let most = self.most_held();
        let room = match most.saturating_sub(taken) {
            few if few < most / 2 => 0,
            room => room,
        };
        self.offered += room;
        room
    }

    /// Forgets everything and leaves the queue, which takes back what was granted; idempotent.
    pub(super) fn leave(&mut self) {
        self.serving = None;
        self.granted.clear();
        self.loading.clear();
        self.lanes = Lanes::default();
        self.under_way.clear();
        self.sending.clear();
        self.offered = 0;
    }

    /// Sends what may be sent, and tells the queue what became of the rest and how much more it may grant.
    pub(super) fn go_on(&mut self) {
        while let Some((came, subscriber, work)) = self.next() {
            self.send(came, subscriber, work);
        }
        let room = self.new_room();
        if let Some(serving) = &mut self.serving {
            serving.settle(room);
        }
    }

    /// The next callback, if one may be sent now.
    pub(super) fn next(&mut self) -> Option<(u64, Bytes, Work)> {
        let plan = self.plan.as_ref().filter(|_| self.may_send())?;
        let most = match self.pace.is_probing() {
            true => 1,
            false => plan.config.callback_concurrency as usize,
        };
        if !self.lanes.has_ready() || self.sending.len() >= most {
            return None;
        }
        // Without a valid lease another node may be sending the same.
        if !self.queue.local_lease.is_valid() {
            self.give_back_waiting();
            return None;
        }
        if let Some(rate) = &mut self.rate {
            let now = self.started.elapsed().as_nanos() as u64;
            if rate.take(now, 1).granted == 0 {
                return None;
            }
        }
        self.lanes.take()
    }

    pub(super) fn send(&mut self, came: u64, subscriber: Bytes, work: Work) {
        let Some(client) = self.client.clone() else {
            return self.lanes.put_back(came, subscriber, work);
        };
        self.snapshot.sent_total += 1;
        self.sending.push(work.context.id);
        self.under_way.push(Box::pin(async move {
            let sent = Instant::now();
            let result = client.send(&work.callback).await;
            Ended {
                after: sent.elapsed(),
                came,
                work,
                subscriber,
                result,
            }
        }));
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }

    /// Gives back what is not under way, in order.
    pub(super) fn give_back_waiting(&mut self) {
        for (_, work) in self.lanes.drain() {
            self.give_back(work.context.id, work.context.attempt);
        }
        for delivery in std::mem::take(&mut self.granted) {
            self.give_back(delivery.id, delivery.attempt);
        }
    }

    pub(super) fn give_back(&mut self, id: u64, attempt: u32) {
        if let Some(serving) = &mut self.serving {
            serving.give_back(id, attempt);
        }
    }
}
