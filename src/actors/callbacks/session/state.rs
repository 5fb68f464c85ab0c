//! What the callbacks of an account have in hand: what was granted, what waits, what is under way; and how much more
//! the queue may grant.
//!
//! Held by the actor. Keeps true that each grant is settled once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use crate::actors::callbacks::client::{CallbackClient, CallbackResponse, NoAnswer};
use crate::actors::callbacks::form::Callback;
use crate::actors::callbacks::gone::GoneUrls;
use crate::actors::callbacks::latest::LatestStates;
use crate::actors::callbacks::receivers::{CallbackReceivers, SOON, TakenCallback};
use crate::actors::context::NodeContext;
use crate::actors::context::binds::BindPort;
use crate::actors::context::plan::AccountPlan;
use crate::actors::context::ports::QueuePort;
use crate::actors::runtime::supervise::Health;
use crate::actors::session::bound::InFlight;
use crate::actors::session::served_queue::{RequestRoom, ServedQueue};
use crate::clock;
use crate::domain::callback::pace::LONGEST_REST;
use crate::domain::limit::Gcra;
use crate::pb::{BindDirection, BindSnapshot, BindState, Delivery};

/// What the queue is asked for beyond what is sent at once: so many times as much. Half of it is asked for at a time.
const AHEAD: u32 = 8;
/// Hosts that it is asked for as much for as for one.
const HOSTS_AHEAD: u32 = 4;
/// What is given back because its URL rests comes again one after another, so far apart.
const APART: Duration = Duration::from_millis(2);
/// While what was given back takes longer than this to come again, nothing more is asked for: it is kept in memory.
const FARTHEST: Duration = Duration::from_secs(200);

/// Which callbacks of an account a session makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallbackScope {
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
    pub(super) way: CallbackScope,
    pub(super) queue: Arc<QueuePort>,
    pub(super) health: Arc<Health>,
    pub(super) port: Arc<BindPort>,
    pub(super) snapshot: BindSnapshot,
    pub(super) plan: Option<Arc<AccountPlan>>,
    /// `None` until it is built, and while the configuration cannot be used.
    pub(super) client: Option<Arc<CallbackClient>>,
    pub(super) building: bool,
    pub(super) served: ServedQueue,
    /// What was granted and has no body yet, in order.
    pub(super) granted: Vec<Delivery>,
    /// What is being read from the store.
    pub(super) loading: Vec<u64>,
    pub(super) receivers: CallbackReceivers<ReadyCallback>,
    pub(super) gone: GoneUrls,
    /// By whose order the queue is suspended, or is not: made anew by each such order.
    pub(super) ordered_by: Arc<String>,
    /// When the last one comes again that was given back because its URL rests, as if that did not rest.
    pub(super) held_upto: Instant,
    pub(super) under_way: FuturesUnordered<LocalBoxFuture<'static, EndedRequest>>,
    /// What they are about.
    pub(super) sending: Vec<u64>,
    /// How far the states of messages have come.
    pub(super) latest: LatestStates,
    /// Wakes what drives `under_way`.
    pub(super) waker: Option<Waker>,
    /// When the configuration is looked at again, which cannot be used.
    pub(super) rest_until: Option<Instant>,
    pub(super) rate: Option<Gcra>,
    pub(super) started: Instant,
}

/// A callback that is ready to be sent.
pub struct ReadyCallback {
    pub context: InFlight,
    pub callback: Callback,
}

/// A request that has ended.
pub struct EndedRequest {
    pub taken: TakenCallback<ReadyCallback>,
    pub result: Result<CallbackResponse, NoAnswer>,
    pub after: Duration,
}

// === impl CallbackSession ===

impl CallbackSession {
    pub(super) fn new(
        node: Arc<NodeContext>,
        account: u32,
        way: CallbackScope,
        queue: Arc<QueuePort>,
        health: Arc<Health>,
        port: Arc<BindPort>,
    ) -> Self {
        let snapshot = BindSnapshot {
            session: port.session,
            direction: BindDirection::Callback.into(),
            bind_type: "callback".to_owned(),
            state: BindState::Connecting.into(),
            since: clock::now_ms(),
            queue: queue.name.clone(),
            ..BindSnapshot::default()
        };
        let ordered_by = queue.suspended_by.get();
        let served = ServedQueue::new(&node, port.session, "callback");
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
            served,
            granted: Vec::new(),
            loading: Vec::new(),
            receivers: CallbackReceivers::default(),
            gone: GoneUrls::default(),
            ordered_by,
            held_upto: Instant::now(),
            under_way: FuturesUnordered::new(),
            latest: LatestStates::default(),
            sending: Vec::new(),
            waker: None,
            rest_until: None,
            rate: None,
            started: Instant::now(),
        }
    }

    /// Whether receivers may be called, as far as that does not depend on how they are doing.
    pub(super) fn may_send(&self) -> bool {
        self.client.is_some() && self.rest_until.is_none() && !self.is_suspended()
    }

    /// Whether all callbacks go to one URL. Then what waits keeps its place while that rests, and an answer of 410
    /// suspends the queue.
    pub(super) fn has_one_url(&self) -> bool {
        let Some(plan) = &self.plan else { return true };
        let config = &plan.config;
        let receipts = config.callback_receipt_url.as_ref();
        !matches!(self.way, CallbackScope::Host(_))
            && self.receivers.urls() <= 1
            && receipts.is_none_or(|url| Some(url) == config.callback_url.as_ref())
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.queue.suspended.load(Ordering::Relaxed)
    }

    /// Most that it holds at once, beside what waits for URLs that rest: what is sent and a little to follow.
    fn most_held(&self, now: Instant) -> u32 {
        let Some(plan) = &self.plan else { return 0 };
        let has_rest = self.has_one_url() && self.receivers.rests(now).next().is_some();
        let is_far = self.held_upto.saturating_duration_since(now) > FARTHEST;
        if has_rest || is_far || !self.may_send() {
            return 0;
        }
        let hosts = u32::try_from(self.receivers.hosts()).unwrap_or(u32::MAX);
        let ahead = AHEAD * hosts.clamp(1, HOSTS_AHEAD);
        plan.config.callback_concurrency.saturating_mul(ahead)
    }

    /// How many it has been given and not settled, without those that wait for URLs that rest.
    fn held(&self, now: Instant) -> usize {
        self.granted.len() + self.loading.len() + self.receivers.awake(now) + self.sending.len()
    }

    pub(super) fn held_ids(&self) -> Vec<u64> {
        let granted = self.granted.iter().map(|delivery| delivery.id);
        let waiting = self.receivers.iter().map(|work| work.context.id);
        let all = granted.chain(waiting).chain(self.loading.iter().copied());
        all.chain(self.sending.iter().copied()).collect()
    }

    /// How much it may hold, and holds.
    pub(super) fn room(&self) -> RequestRoom {
        let now = Instant::now();
        let (most, held) = (self.most_held(now), self.held(now));
        RequestRoom {
            most,
            held,
            least: most / 2,
        }
    }

    /// Forgets everything and leaves the queue, which takes back what was granted; idempotent.
    pub(super) fn leave(&mut self) {
        self.served.leave();
        self.granted.clear();
        self.loading.clear();
        self.receivers = CallbackReceivers::default();
        self.under_way.clear();
        self.sending.clear();
    }

    /// Sends what may be sent, and tells the queue what became of the rest and how much more it may grant.
    pub(super) fn go_on(&mut self) {
        while let Some(taken) = self.next() {
            self.send(taken);
        }
        self.hold_up_surplus();
        let room = self.room();
        self.served.settle(room);
    }

    /// The next callback, if one may be sent now.
    fn next(&mut self) -> Option<TakenCallback<ReadyCallback>> {
        loop {
            let plan = self.plan.as_ref().filter(|_| self.may_send())?;
            let most = plan.config.callback_concurrency;
            let now = Instant::now();
            let taken = self.receivers.take(most, now)?;
            // Without a valid lease another node may be sending the same.
            if !self.queue.local_lease.is_valid() {
                self.receivers.put_back(taken);
                self.give_back_waiting();
                return None;
            }
            if self.is_gone(&taken.item.callback) {
                let (key, turn) = (&taken.key, taken.turn);
                self.receivers.finished(key, turn, &taken.subscriber);
                self.hold_up(&taken.item, LONGEST_REST);
                continue;
            }
            if let Some(rate) = &mut self.rate {
                let now = self.started.elapsed().as_nanos() as u64;
                if rate.take(now, 1).granted == 0 {
                    self.receivers.put_back(taken);
                    return None;
                }
            }
            return Some(taken);
        }
    }

    fn send(&mut self, taken: TakenCallback<ReadyCallback>) {
        let Some(client) = self.client.clone() else {
            return self.receivers.put_back(taken);
        };
        self.snapshot.sent_total += 1;
        self.sending.push(taken.item.context.id);
        self.under_way.push(Box::pin(async move {
            let sent = Instant::now();
            let result = client.send(&taken.item.callback).await;
            EndedRequest {
                after: sent.elapsed(),
                taken,
                result,
            }
        }));
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }

    /// Whether the URL of a callback wants no more.
    pub(super) fn is_gone(&self, callback: &Callback) -> bool {
        self.gone.has(|| callback.target.uri().to_string())
    }

    /// Puts a callback with its lane. What would only wait there is given back to the queue.
    pub(super) fn take_up(&mut self, subscriber: Bytes, work: ReadyCallback) {
        let now = Instant::now();
        if self.is_gone(&work.callback) {
            return self.hold_up(&work, LONGEST_REST);
        }
        let Callback { target, path, .. } = &work.callback;
        let key = match self.receivers.lane_of(target, path, now) {
            Ok(key) => key,
            Err(rest) => return self.hold_up(&work, rest),
        };
        match self.receivers.is_full(&key, now) {
            Some(rest) if !self.has_one_url() => self.hold_up(&work, rest),
            _ => self.receivers.push(&key, subscriber, work),
        }
    }

    /// Gives back what waits for URLs that rest, so that others come.
    pub(super) fn hold_up_surplus(&mut self) {
        if self.has_one_url() {
            return;
        }
        for (work, rest) in self.receivers.surplus(Instant::now()) {
            self.hold_up(&work, rest);
        }
    }

    /// Gives back one whose URL rests for so long. They come again in order, and not all at once.
    pub(super) fn hold_up(&mut self, work: &ReadyCallback, rest: Duration) {
        let now = Instant::now();
        let pause = if rest > SOON {
            self.held_upto = self.held_upto.max(now) + APART;
            rest + (self.held_upto - now)
        } else {
            // Its URL may work by then, and does not wait for those that do not.
            rest
        };
        self.served
            .note(|serving| serving.held_up(&work.context, pause));
    }

    /// Gives back what is not under way, in order.
    pub(super) fn give_back_waiting(&mut self) {
        for work in self.receivers.drain() {
            self.give_back(work.context.id, work.context.attempt);
        }
        for delivery in std::mem::take(&mut self.granted) {
            self.give_back(delivery.id, delivery.attempt);
        }
    }

    pub(super) fn give_back(&mut self, id: u64, attempt: u32) {
        self.served.note(|serving| serving.give_back(id, attempt));
    }
}
