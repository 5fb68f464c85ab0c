//! Where the callbacks of one session go, and which of them is sent next: lanes by scheme, host and port, and by URL
//! within them.
//!
//! Held by the actor. Keeps true that what fails holds up itself alone: a URL that takes nothing rests, and so does a
//! host that cannot be connected to, while the others go on; and what waits long for its answer keeps no place that
//! others need ([`places`]). A URL is known without its query, and without what follows an escape of Kannel's form in its
//! path: that differs from message to message, and the states of a message must not overtake each other. No two URLs share
//! a lane. There are [`MOST`] lanes at most: one that is quiet makes room for another URL, and what is known of its failures
//! is kept ([`flow`]). What finds no lane waits in the queue.

mod flow;
mod key;
mod places;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use self::flow::{CallbackFlow, FailingUrl, FailingUrls, left};
use self::key::HostKey;
pub use self::key::LaneKey;
use self::places::{CallbackPlaces, CallbackUnderWay, STUCK, UrlStanding};
use super::lanes::CallbackLanes;
use crate::domain::callback::pace::ReceiverPace;
use crate::domain::callback::target::CallbackTarget;

/// URLs with a lane.
const MOST: usize = 512;
/// What waits for a URL that rests, beside what is in the queue: enough to see whether it works again.
const KEPT: usize = 2;
/// What waits for a URL that has not answered yet and has one under way.
const KEPT_OF_NEW: usize = 8;
/// After this the rest of it comes again.
pub const SOON: Duration = Duration::from_millis(250);

/// All lanes of a session.
pub struct CallbackReceivers<T> {
    urls: HashMap<LaneKey, UrlLane<T>, ahash::RandomState>,
    hosts: HashMap<HostKey, CallbackHost, ahash::RandomState>,
    /// URLs without a lane.
    failing: FailingUrls,
    /// What has lost its lane, by its place, and for how long its URL rests.
    homeless: Vec<(u64, T, Duration)>,
    /// By turn, so the oldest is the first.
    under_way: BTreeMap<u64, CallbackUnderWay>,
    came: u64,
    turn: u64,
}

/// What goes to one URL.
struct UrlLane<T> {
    order: CallbackLanes<Bytes, T>,
    /// Whether it takes callbacks.
    flow: CallbackFlow,
    /// Whether it has answered anything but that it fails.
    has_answered: bool,
    /// It has asked for nothing until then.
    asked_until: Option<Instant>,
    /// When the first one of those under way was sent, or the last one before.
    used: Instant,
}

/// One scheme, host and port.
struct CallbackHost {
    /// Whether it can be connected to.
    flow: CallbackFlow,
    urls: usize,
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

// === impl CallbackReceivers ===

impl<T> CallbackReceivers<T> {
    /// The lane of a URL, with its path as far as that is the same for each message.
    ///
    /// # Errors
    /// It has none: for how long what goes there waits in the queue.
    pub fn lane_of(
        &mut self,
        target: &CallbackTarget,
        path: &Arc<str>,
        now: Instant,
    ) -> Result<LaneKey, Duration> {
        let key = LaneKey::of(target, path);
        if self.urls.contains_key(&key) {
            return Ok(key);
        }
        let rest = self.failing.get(&key).map(|url| url.rest(now));
        if let Some(rest) = rest.filter(|rest| !rest.is_zero()) {
            return Err(rest);
        }
        if self.urls.len() >= MOST && !self.make_room(now) {
            return Err(STUCK);
        }
        let known = self.failing.remove(&key);
        let host = self.hosts.entry(key.host.clone()).or_insert_with(|| {
            let flow = known.map_or_else(
                || CallbackFlow::new(ReceiverPace::of_host()),
                |url| url.host,
            );
            CallbackHost { flow, urls: 0 }
        });
        host.urls += 1;
        self.urls.insert(key.clone(), UrlLane::new(known, now));
        Ok(key)
    }

    /// Takes the lane of a URL that has nothing under way: a quiet one, or one that fails. Of several, the one that was used
    /// longest ago.
    fn make_room(&mut self, now: Instant) -> bool {
        let is_failing = |key: &LaneKey, lane: &UrlLane<T>| {
            let host = self.hosts.get(&key.host);
            lane.flow.pace.in_a_row() > 0 || host.is_some_and(|host| host.flow.pace.in_a_row() > 0)
        };
        let idle = (self.urls.iter()).filter(|(_, lane)| lane.flow.under_way == 0);
        let may_go = idle.filter_map(|(key, lane)| {
            let (waits, fails) = (lane.order.waiting() > 0, is_failing(key, lane));
            (fails || !waits).then_some(((waits, fails, lane.used), key))
        });
        let Some((_, key)) = may_go.min_by_key(|(rank, _)| *rank) else {
            return false;
        };
        let (key, fails) = (key.clone(), is_failing(key, &self.urls[key]));
        let (Some(mut lane), Some(host)) = (self.urls.remove(&key), self.hosts.get_mut(&key.host))
        else {
            return false;
        };
        let url = FailingUrl {
            flow: lane.flow,
            host: CallbackFlow {
                under_way: 0,
                ..host.flow
            },
            asked_until: lane.asked_until,
        };
        let rest = url.rest(now);
        for (came, _, item) in lane.order.drain() {
            self.homeless.push((came, item, rest));
        }
        if fails || !rest.is_zero() {
            self.failing.insert(&key, url);
        }
        host.urls -= 1;
        if host.urls == 0 {
            self.hosts.remove(&key.host);
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

    /// For how long what goes to a lane waits in the queue, if enough waits there already.
    pub fn is_full(&self, key: &LaneKey, now: Instant) -> Option<Duration> {
        let lane = self.urls.get(key)?;
        let waiting = lane.order.waiting();
        if waiting < KEPT {
            return None;
        }
        let rest = self.hold_of(key, lane, self.is_crowded(now), now);
        if !rest.is_zero() {
            return Some(rest);
        }
        let is_many = self.urls() > 1 && waiting >= KEPT_OF_NEW;
        (is_many && self.is_on_trial(key, lane)).then_some(SOON)
    }

    /// Takes what waits for lanes that rest, beyond what is kept; in order, and with how long each rests.
    pub fn surplus(&mut self, now: Instant) -> Vec<(T, Duration)> {
        let mut all = std::mem::take(&mut self.homeless);
        let is_crowded = self.is_crowded(now);
        let full = (self.urls.iter()).filter(|(_, lane)| lane.order.waiting() > KEPT);
        let resting: Vec<(LaneKey, Duration)> = full
            .map(|(key, lane)| (key.clone(), self.hold_of(key, lane, is_crowded, now)))
            .filter(|(_, rest)| !rest.is_zero())
            .collect();
        for (key, rest) in resting {
            let Some(lane) = self.urls.get_mut(&key) else {
                continue;
            };
            for (at, (came, subscriber, item)) in lane.order.drain().into_iter().enumerate() {
                if at < KEPT {
                    lane.order.push(came, subscriber, item);
                } else {
                    all.push((came, item, rest));
                }
            }
        }
        all.sort_unstable_by_key(|(came, ..)| *came);
        all.into_iter()
            .map(|(_, item, rest)| (item, rest))
            .collect()
    }

    /// Takes the next one that may be sent, with `most` at once to a host: the one that has waited longest, of those
    /// whose URL has the fewest under way. New URLs come last while they have half of the places.
    pub fn take(&mut self, most: u32, now: Instant) -> Option<TakenCallback<T>> {
        let is_alone = self.urls() == 1;
        let places = CallbackPlaces::count(&self.under_way, most, now);
        let ready = self.urls.iter().filter_map(|(key, lane)| {
            let front = lane.order.front()?;
            if !self.rest_of(key, lane, now).is_zero() {
                return None;
            }
            let at_host = self.hosts.get(&key.host)?.flow.pace.most(most);
            let standing = if is_alone {
                UrlStanding::Proven
            } else {
                self.standing_of(key, lane)
            };
            let most = match standing {
                UrlStanding::Unknown => 1,
                _ => lane.flow.pace.most(most),
            };
            let may = lane.flow.under_way < most && places.has_room(&key.host, at_host, standing);
            let is_new = standing == UrlStanding::Unknown;
            let is_last = is_new && places.new_have_half(&key.host, at_host);
            may.then_some(((is_last, lane.flow.under_way, front), key, standing))
        });
        let (_, key, standing) = ready.min_by_key(|(rank, ..)| *rank)?;
        let key = key.clone();
        let under_way = CallbackUnderWay {
            key: key.clone(),
            since: now,
            standing: self.standing_of(&key, &self.urls[&key]),
            is_aside: standing == UrlStanding::Failing,
        };
        let lane = self.urls.get_mut(&key)?;
        let (came, subscriber, item) = lane.order.take()?;
        if lane.flow.under_way == 0 {
            lane.used = now;
        }
        lane.flow.under_way += 1;
        if let Some(host) = self.hosts.get_mut(&key.host) {
            host.flow.under_way += 1;
        }
        self.turn += 1;
        self.under_way.insert(self.turn, under_way);
        Some(TakenCallback {
            key,
            turn: self.turn,
            came,
            subscriber,
            item,
        })
    }

    fn standing_of(&self, key: &LaneKey, lane: &UrlLane<T>) -> UrlStanding {
        let host = self.hosts.get(&key.host);
        if lane.flow.is_failing() || host.is_some_and(|host| host.flow.is_failing()) {
            return UrlStanding::Failing;
        }
        if lane.flow.pace.is_proven() || lane.has_answered {
            UrlStanding::Proven
        } else {
            UrlStanding::Unknown
        }
    }

    /// Whether it waits for an answer that shows that it works.
    fn is_on_trial(&self, key: &LaneKey, lane: &UrlLane<T>) -> bool {
        lane.flow.under_way > 0 && self.standing_of(key, lane) != UrlStanding::Proven
    }

    fn is_crowded(&self, now: Instant) -> bool {
        // Few under way are no crowd.
        self.urls.len() > 1 && CallbackPlaces::count(&self.under_way, 1, now).is_crowded()
    }

    /// How long nothing begins there. One that waits for its first answers for too long rests until they have come, so that
    /// what waits for it keeps no places of others.
    fn rest_of(&self, key: &LaneKey, lane: &UrlLane<T>, now: Instant) -> Duration {
        let host = self.hosts.get(&key.host);
        let rest = host.map_or(Duration::ZERO, |host| host.flow.rest(now));
        let rest = rest.max(lane.rest(now));
        if lane.used + STUCK <= now && self.is_on_trial(key, lane) {
            rest.max(STUCK)
        } else {
            rest
        }
    }

    /// How long what goes there waits in the queue: also while there are too few places for what is not known to work.
    fn hold_of(
        &self,
        key: &LaneKey,
        lane: &UrlLane<T>,
        is_crowded: bool,
        now: Instant,
    ) -> Duration {
        let rest = self.rest_of(key, lane, now);
        if is_crowded && self.standing_of(key, lane) != UrlStanding::Proven {
            rest.max(STUCK)
        } else {
            rest
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
            CallbackSaid::Nothing => lane.has_answered = true,
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
            lane.flow.forget(ReceiverPace::of_url());
            lane.has_answered = false;
            lane.asked_until = None;
            lane.used = now;
        }
        self.failing.clear();
        for host in self.hosts.values_mut() {
            host.flow.forget(ReceiverPace::of_host());
        }
    }

    /// Takes everything that is not under way, in the order in which it came.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        let lanes = self.urls.values_mut();
        let all = lanes.flat_map(|lane| lane.order.drain());
        let mut all: Vec<(u64, T)> = all.map(|(came, _, item)| (came, item)).collect();
        let homeless = self.homeless.drain(..);
        all.extend(homeless.map(|(came, item, _)| (came, item)));
        all.sort_unstable_by_key(|(came, _)| *came);
        all.into_iter().map(|(_, item)| item)
    }

    /// Everything that waits, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let waiting = self.urls.values().flat_map(|lane| lane.order.iter());
        waiting.chain(self.homeless.iter().map(|(_, item, _)| item))
    }

    /// How many wait for a URL that does not rest, and is not tried.
    pub fn awake(&self, now: Instant) -> usize {
        let is_crowded = self.is_crowded(now);
        let is_alone = self.urls() == 1;
        let lanes = (self.urls.iter()).filter(|(_, lane)| lane.order.waiting() > 0);
        let awake = lanes.filter(|(key, lane)| {
            let is_on_trial = !is_alone && self.is_on_trial(key, lane);
            !is_on_trial && self.hold_of(key, lane, is_crowded, now).is_zero()
        });
        awake.map(|(_, lane)| lane.order.waiting()).sum()
    }

    /// URLs that are known, with a lane or because they fail.
    pub fn urls(&self) -> usize {
        self.urls.len() + self.failing.len()
    }

    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// For how long each URL rests that does.
    pub fn rests(&self, now: Instant) -> impl Iterator<Item = Duration> {
        let rests = (self.urls.iter()).map(move |(key, lane)| self.rest_of(key, lane, now));
        let rests = rests.chain(self.failing.rests(now));
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

impl<T> Default for CallbackReceivers<T> {
    fn default() -> Self {
        Self {
            urls: HashMap::default(),
            hosts: HashMap::default(),
            failing: FailingUrls::default(),
            homeless: Vec::new(),
            under_way: BTreeMap::new(),
            came: 0,
            turn: 0,
        }
    }
}

// === impl UrlLane ===

impl<T> UrlLane<T> {
    fn new(known: Option<FailingUrl>, now: Instant) -> Self {
        Self {
            order: CallbackLanes::default(),
            flow: known.map_or_else(|| CallbackFlow::new(ReceiverPace::of_url()), |url| url.flow),
            has_answered: false,
            asked_until: known.and_then(|url| url.asked_until),
            used: now,
        }
    }

    fn rest(&self, now: Instant) -> Duration {
        let asked = left(self.asked_until, now);
        asked.max(self.flow.rest(now))
    }
}

#[cfg(test)]
mod tests;
