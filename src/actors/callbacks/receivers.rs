//! Where the callbacks of one session go, and which of them is sent next: lanes by scheme, host and port, and by URL
//! within them.
//!
//! Held by the actor. Keeps true that what fails holds up itself alone: a URL that takes nothing rests, and so does a
//! host that cannot be connected to, while the others go on; and what waits long for its answer keeps no place that
//! others need. A URL is known without its query, and without what follows an escape of Kannel's form in its path: that
//! differs from message to message, and the states of a message must not overtake each other. There are [`MOST`] URLs at
//! most; further ones at a host share one lane, and further hosts another.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::lanes::Lanes;
use crate::actors::runtime::supervise::jitter;
use crate::domain::callback::pace::Pace;
use crate::domain::callback::target::Target;

/// URLs with a lane of their own, and hosts.
const MOST: usize = 64;
/// What waits for a URL that rests, beside what is in the queue: enough to see whether it works again.
const KEPT: usize = 2;
/// What has waited for its answer for so long keeps no place that others need.
const STUCK: Duration = Duration::from_secs(1);
/// Hosts that get as many callbacks at once as one may, all together.
const HOSTS_AT_ONCE: u32 = 4;
/// A lane that nothing has gone to for so long may be forgotten, although its URL has failed.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// Names a lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LaneKey {
    /// Whether by HTTPS, port and host; `None` for what is beyond the bound.
    host: Option<HostKey>,
    /// `None` for what is beyond the bound at its host.
    path: Option<Arc<str>>,
}

type HostKey = (bool, u16, Arc<str>);

/// All lanes of a session.
pub struct Receivers<T> {
    urls: HashMap<LaneKey, UrlLane<T>, ahash::RandomState>,
    hosts: HashMap<Option<HostKey>, CallbackHost, ahash::RandomState>,
    /// By turn, so the oldest is the first.
    under_way: BTreeMap<u64, CallbackUnderWay>,
    came: u64,
    turn: u64,
}

/// What goes to one URL.
struct UrlLane<T> {
    order: Lanes<Bytes, T>,
    /// Whether it takes callbacks.
    flow: CallbackFlow,
    /// It has asked for nothing until then.
    asked_until: Option<Instant>,
    used: Instant,
}

/// One scheme, host and port.
struct CallbackHost {
    /// Whether it can be connected to.
    flow: CallbackFlow,
    urls: usize,
}

/// How a URL or a host is doing.
struct CallbackFlow {
    pace: Pace,
    rest_until: Option<Instant>,
    under_way: u32,
}

struct CallbackUnderWay {
    key: LaneKey,
    since: Instant,
}

/// What was taken to be sent.
pub struct TakenCallback<T> {
    pub key: LaneKey,
    /// Names it while it is under way.
    pub turn: u64,
    /// Its place among the others.
    pub came: u64,
    pub subscriber: Bytes,
    pub item: T,
}

/// What the end of a request says about where it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackSaid {
    /// The URL takes callbacks.
    Works,
    /// Nothing about other callbacks, but that the host is there.
    Nothing,
    /// The URL fails; it wants nothing for so long.
    Fails(Duration),
    /// There is no connection.
    Unreachable,
}

// === impl LaneKey ===

impl LaneKey {
    fn of(target: &Target, path: &Arc<str>) -> Self {
        Self {
            host: Some((target.is_https(), target.port(), target.host().into())),
            path: Some(Arc::clone(path)),
        }
    }
}

// === impl Receivers ===

impl<T> Receivers<T> {
    /// The lane of a URL, with its path as far as that is the same for each message.
    pub fn lane_of(&mut self, target: &Target, path: &Arc<str>, now: Instant) -> LaneKey {
        let mut key = LaneKey::of(target, path);
        if self.urls.contains_key(&key) {
            return key;
        }
        // What went to the common lane is not overtaken.
        let common = LaneKey {
            host: key.host.clone(),
            path: None,
        };
        let common_is_empty = (self.urls.get(&common)).is_none_or(UrlLane::is_idle);
        if !common_is_empty || !self.has_room(now) {
            key = common;
        }
        if !self.hosts.contains_key(&key.host) && self.hosts.len() > MOST {
            key.host = None;
            key.path = None;
        }
        if !self.urls.contains_key(&key) {
            let host = self.hosts.entry(key.host.clone());
            host.or_insert_with(CallbackHost::new).urls += 1;
            self.urls.insert(key.clone(), UrlLane::new(now));
        }
        key
    }

    /// Whether another URL may have a lane of its own; forgets one for it.
    fn has_room(&mut self, now: Instant) -> bool {
        if self.urls.len() < MOST {
            return true;
        }
        let unused = self.urls.iter().filter(|(_, lane)| lane.is_idle());
        let may_go = unused.filter(|(_, lane)| {
            lane.flow.pace.in_a_row() == 0 || lane.used + FORGOTTEN.max(lane.rest(now)) < now
        });
        let oldest = may_go.min_by_key(|(_, lane)| lane.used);
        let Some(key) = oldest.map(|(key, _)| key.clone()) else {
            return false;
        };
        self.urls.remove(&key);
        if let Some(host) = self.hosts.get_mut(&key.host) {
            host.urls -= 1;
            if host.urls == 0 {
                self.hosts.remove(&key.host);
            }
        }
        true
    }

    /// Adds one behind all others of its URL and subscriber. The lane is one of [`Self::lane_of`].
    pub fn push(&mut self, key: &LaneKey, subscriber: Bytes, item: T) {
        self.came += 1;
        if let Some(lane) = self.urls.get_mut(key) {
            lane.order.push(self.came, subscriber, item);
        }
    }

    /// For how long a lane rests, if enough waits for it already.
    pub fn is_full(&self, key: &LaneKey, now: Instant) -> Option<Duration> {
        let lane = self.urls.get(key)?;
        let rest = self.rest_of(key, lane, now);
        (!rest.is_zero() && lane.order.waiting() >= KEPT).then_some(rest)
    }

    /// Takes what waits for lanes that rest, beyond what is kept; in order, and with how long each rests.
    pub fn surplus(&mut self, now: Instant) -> Vec<(T, Duration)> {
        let mut all = Vec::new();
        let crowded = self
            .urls
            .iter()
            .filter(|(_, lane)| lane.order.waiting() > KEPT);
        let resting: Vec<(LaneKey, Duration)> = crowded
            .map(|(key, lane)| (key.clone(), self.rest_of(key, lane, now)))
            .filter(|(_, rest)| !rest.is_zero())
            .collect();
        for (key, rest) in resting {
            let Some(lane) = self.urls.get_mut(&key) else {
                continue;
            };
            for (at, (came, subscriber, item)) in lane.order.drain().into_iter().enumerate() {
                match at < KEPT {
                    true => lane.order.push(came, subscriber, item),
                    false => all.push((came, item, rest)),
                }
            }
        }
        all.sort_unstable_by_key(|(came, ..)| *came);
        all.into_iter()
            .map(|(_, item, rest)| (item, rest))
            .collect()
    }

    /// Takes the next one that may be sent, with `most` at once to a host: the one that has waited longest, of those
    /// whose URL has the fewest under way.
    pub fn take(&mut self, most: u32, now: Instant) -> Option<TakenCallback<T>> {
        let ready = self.urls.iter().filter_map(|(key, lane)| {
            let front = lane.order.front()?;
            let may = self.may_begin(key, lane, most, now);
            may.then_some(((lane.flow.under_way, front), key))
        });
        let (_, key) = ready.min_by_key(|(rank, _)| *rank)?;
        let key = key.clone();
        let lane = self.urls.get_mut(&key)?;
        let (came, subscriber, item) = lane.order.take()?;
        lane.flow.under_way += 1;
        lane.used = now;
        if let Some(host) = self.hosts.get_mut(&key.host) {
            host.flow.under_way += 1;
        }
        self.turn += 1;
        let under_way = CallbackUnderWay {
            key: key.clone(),
            since: now,
        };
        self.under_way.insert(self.turn, under_way);
        Some(TakenCallback {
            key,
            turn: self.turn,
            came,
            subscriber,
            item,
        })
    }

    fn may_begin(&self, key: &LaneKey, lane: &UrlLane<T>, most: u32, now: Instant) -> bool {
        let Some(host) = self.hosts.get(&key.host) else {
            return false;
        };
        if !self.rest_of(key, lane, now).is_zero()
            || lane.flow.under_way >= lane.flow.pace.most(most)
        {
            return false;
        }
        let at_host = host.flow.pace.most(most);
        let in_all = most.saturating_mul(HOSTS_AT_ONCE);
        let total = u32::try_from(self.under_way.len()).unwrap_or(u32::MAX);
        if host.flow.under_way < at_host && total < in_all {
            return true;
        }
        // What is stuck elsewhere has its place beside, as many again at most; of a URL that nothing is known of, one.
        if lane.flow.under_way > 0 && !lane.flow.pace.is_proven() {
            return false;
        }
        let (mut here, mut anywhere) = (0, 0);
        for one in self.stuck(now).filter(|one| one.key != *key) {
            anywhere += 1;
            here += u32::from(one.key.host == key.host);
        }
        host.flow.under_way - here.min(at_host) < at_host && total - in_all.min(anywhere) < in_all
    }

    /// What has waited long for its answer.
    fn stuck(&self, now: Instant) -> impl Iterator<Item = &CallbackUnderWay> {
        let is_stuck = move |one: &&CallbackUnderWay| one.since + STUCK <= now;
        self.under_way.values().take_while(is_stuck)
    }

    /// How long nothing begins there. One that waits for its first answers for too long rests until they have come, so that
    /// what waits for it keeps no places of others.
    fn rest_of(&self, key: &LaneKey, lane: &UrlLane<T>, now: Instant) -> Duration {
        let host = self.hosts.get(&key.host);
        let rest = host.map_or(Duration::ZERO, |host| host.flow.rest(now));
        let rest = rest.max(lane.rest(now));
        let is_unproven = lane.flow.under_way > 0 && !lane.flow.pace.is_proven();
        match is_unproven && self.stuck(now).any(|one| one.key == *key) {
            true => rest.max(STUCK),
            false => rest,
        }
    }

    /// What was taken has ended: its subscriber may get the next one.
    pub fn finished(&mut self, key: &LaneKey, turn: u64, subscriber: &Bytes) {
        self.landed(key, turn);
        if let Some(lane) = self.urls.get_mut(key) {
            lane.order.finished(subscriber);
        }
    }

    /// What was taken was not sent after all: it waits in its place again.
    pub fn put_back(&mut self, taken: TakenCallback<T>) {
        self.landed(&taken.key, taken.turn);
        if let Some(lane) = self.urls.get_mut(&taken.key) {
            lane.order
                .put_back(taken.came, taken.subscriber, taken.item);
        }
    }

    fn landed(&mut self, key: &LaneKey, turn: u64) {
        if self.under_way.remove(&turn).is_none() {
            return;
        }
        if let Some(lane) = self.urls.get_mut(key) {
            lane.flow.under_way -= 1;
        }
        if let Some(host) = self.hosts.get_mut(&key.host) {
            host.flow.under_way -= 1;
        }
    }

    /// Notes what a request has said. For that its URL or host is left alone no longer than `longest`, unless it has
    /// asked for more.
    pub fn note(&mut self, key: &LaneKey, said: CallbackSaid, longest: Duration, now: Instant) {
        let (Some(lane), Some(host)) = (self.urls.get_mut(key), self.hosts.get_mut(&key.host))
        else {
            return;
        };
        if said != CallbackSaid::Unreachable {
            host.flow.succeeded();
        }
        match said {
            CallbackSaid::Works => lane.flow.succeeded(),
            CallbackSaid::Nothing => {}
            CallbackSaid::Fails(asked) => {
                lane.flow.failed(longest, now);
                if !asked.is_zero() {
                    lane.asked_until = lane.asked_until.max(Some(now + asked));
                }
            }
            CallbackSaid::Unreachable => host.flow.failed(longest, now),
        }
    }

    /// Nothing is known of any URL any more.
    pub fn forget(&mut self, now: Instant) {
        for lane in self.urls.values_mut() {
            lane.flow.forget(Pace::of_url());
            lane.asked_until = None;
            lane.used = now;
        }
        for host in self.hosts.values_mut() {
            host.flow.forget(Pace::of_host());
        }
    }

    /// Takes everything that is not under way, in the order in which it came.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        let lanes = self.urls.values_mut();
        let mut all: Vec<_> = lanes.flat_map(|lane| lane.order.drain()).collect();
        all.sort_unstable_by_key(|(came, ..)| *came);
        all.into_iter().map(|(_, _, item)| item)
    }

    /// Everything that waits, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.urls.values().flat_map(|lane| lane.order.iter())
    }

    /// How many wait for a URL that does not rest.
    pub fn awake(&self, now: Instant) -> usize {
        let lanes = self.urls.iter();
        let awake = lanes.filter(|(key, lane)| self.rest_of(key, lane, now).is_zero());
        awake.map(|(_, lane)| lane.order.waiting()).sum()
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.urls.values().map(|lane| lane.order.waiting()).sum()
    }

    pub fn urls(&self) -> usize {
        self.urls.len()
    }

    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// For how long each URL rests that does.
    pub fn rests(&self, now: Instant) -> impl Iterator<Item = Duration> {
        let rests = (self.urls.iter()).map(move |(key, lane)| self.rest_of(key, lane, now));
        rests.filter(|rest| !rest.is_zero())
    }

    /// Most failures in a row, of a URL or host.
    pub fn failures(&self) -> u32 {
        let urls = self.urls.values().map(|lane| lane.flow.pace);
        let hosts = self.hosts.values().map(|host| host.flow.pace);
        let all = urls.chain(hosts).map(|pace| pace.in_a_row());
        all.max().unwrap_or_default()
    }
}

impl<T> Default for Receivers<T> {
    fn default() -> Self {
        Self {
            urls: HashMap::default(),
            hosts: HashMap::default(),
            under_way: BTreeMap::new(),
            came: 0,
            turn: 0,
        }
    }
}

// === impl UrlLane ===

impl<T> UrlLane<T> {
    fn new(now: Instant) -> Self {
        Self {
            order: Lanes::default(),
            flow: CallbackFlow::new(Pace::of_url()),
            asked_until: None,
            used: now,
        }
    }

    fn is_idle(&self) -> bool {
        self.flow.under_way == 0 && self.order.waiting() == 0
    }

    fn rest(&self, now: Instant) -> Duration {
        let asked = left(self.asked_until, now);
        asked.max(self.flow.rest(now))
    }
}

// === impl CallbackHost ===

impl CallbackHost {
    fn new() -> Self {
        Self {
            flow: CallbackFlow::new(Pace::of_host()),
            urls: 0,
        }
    }
}

// === impl CallbackFlow ===

impl CallbackFlow {
    fn new(pace: Pace) -> Self {
        Self {
            pace,
            rest_until: None,
            under_way: 0,
        }
    }

    fn rest(&self, now: Instant) -> Duration {
        left(self.rest_until, now)
    }

    fn succeeded(&mut self) {
        self.pace.succeeded();
        self.rest_until = None;
    }

    fn failed(&mut self, longest: Duration, now: Instant) {
        if !self.rest(now).is_zero() {
            return self.pace.failed_meanwhile();
        }
        let rest = self.pace.failed().min(longest);
        self.rest_until = (!rest.is_zero()).then(|| now + jitter(rest));
    }

    fn forget(&mut self, pace: Pace) {
        self.pace = pace;
        self.rest_until = None;
    }
}

fn left(until: Option<Instant>, now: Instant) -> Duration {
    until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
}

#[cfg(test)]
mod tests;
