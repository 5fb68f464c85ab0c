//! Who has the places of callbacks that are sent at once.
//!
//! A host gets as many at once as its pace allows, all hosts together [`HOSTS_AT_ONCE`] times as many. Beside these places
//! there are some for URLs that are not known to work: for one that has waited long for its first answer, and for one
//! that fails. So neither takes a place of URLs that work.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use super::key::{HostKey, LaneKey};

/// What has waited for its answer for so long keeps no place that others need.
pub(super) const STUCK: Duration = Duration::from_secs(1);
/// Hosts that get as many callbacks at once as one may, all together.
const HOSTS_AT_ONCE: u32 = 4;
/// Places aside for URLs that are not known to work: of a host, and of all.
const ASIDE_OF_HOST: u32 = 64;
const ASIDE: u32 = 2 * ASIDE_OF_HOST;

/// What is known of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UrlStanding {
    /// It has answered lately.
    Proven,
    /// It is new.
    Unknown,
    /// None of its last callbacks was taken.
    Failing,
}

pub(super) struct CallbackUnderWay {
    pub(super) key: LaneKey,
    pub(super) since: Instant,
    /// Of its URL, when it was begun.
    pub(super) standing: UrlStanding,
    /// It was begun in a place aside.
    pub(super) is_aside: bool,
}

/// Who has the places, at one moment.
pub(super) struct CallbackPlaces<'r> {
    all: PlaceCount,
    hosts: HashMap<&'r HostKey, PlaceCount, ahash::RandomState>,
    /// Most at once of a host.
    most: u32,
}

/// Of one host, or of all.
#[derive(Debug, Default, Clone, Copy)]
struct PlaceCount {
    /// In places of their own.
    own: u32,
    /// Of these, of URLs that are new.
    new: u32,
    /// Of URLs that work, and waits long for its answer.
    slow: u32,
    aside: u32,
}

// === impl CallbackPlaces ===

impl<'r> CallbackPlaces<'r> {
    pub(super) fn count(
        under_way: &'r BTreeMap<u64, CallbackUnderWay>,
        most: u32,
        now: Instant,
    ) -> Self {
        let mut places = Self {
            all: PlaceCount::default(),
            hosts: HashMap::default(),
            most,
        };
        for one in under_way.values() {
            places.all.add(one, now);
            places.hosts.entry(&one.key.host).or_default().add(one, now);
        }
        places
    }

    /// Whether there are few places for URLs that are not known to work: those that have them do not answer.
    pub(super) fn is_crowded(&self) -> bool {
        self.all.aside >= ASIDE / 2
    }

    /// Whether new URLs have half of the places of a host: then those that work come first.
    pub(super) fn new_have_half(&self, host: &HostKey, at_host: u32) -> bool {
        let here = self.hosts.get(host);
        here.is_some_and(|here| here.new >= at_host.div_ceil(2))
    }

    /// Whether a URL like that may begin another one, at a host with a pace of `at_host`. Where it would fail it begins
    /// aside.
    pub(super) fn has_room(&self, host: &HostKey, at_host: u32, standing: UrlStanding) -> bool {
        let here = self.hosts.get(host).copied().unwrap_or_default();
        let in_all = self.most.saturating_mul(HOSTS_AT_ONCE);
        let has_own =
            here.taken(at_host, ASIDE_OF_HOST) < at_host && self.all.taken(in_all, ASIDE) < in_all;
        match standing {
            UrlStanding::Proven => has_own,
            // As long as those that hang are few, new ones may have all places; then half of them.
            UrlStanding::Unknown => {
                has_own
                    && here.has_room_for_new(at_host, ASIDE_OF_HOST)
                    && self.all.has_room_for_new(in_all, ASIDE)
            }
            UrlStanding::Failing => here.aside < ASIDE_OF_HOST && self.all.aside < ASIDE,
        }
    }
}

// === impl PlaceCount ===

impl PlaceCount {
    fn add(&mut self, one: &CallbackUnderWay, now: Instant) {
        let is_stuck = one.since + STUCK <= now;
        match one.standing {
            _ if one.is_aside => self.aside += 1,
            UrlStanding::Proven if is_stuck => self.slow += 1,
            UrlStanding::Proven => self.own += 1,
            _ if is_stuck => self.aside += 1,
            _ => {
                self.own += 1;
                self.new += 1;
            }
        }
    }

    /// How many of `most` places are taken. What works and is slow has as many again beside them, at most.
    fn taken(&self, most: u32, aside: u32) -> u32 {
        self.own + self.slow.saturating_sub(most) + self.aside.saturating_sub(aside)
    }

    fn has_room_for_new(&self, most: u32, aside: u32) -> bool {
        let new = self.new + self.aside.saturating_sub(aside);
        self.aside < aside / 2 || new < most.div_ceil(2)
    }
}
