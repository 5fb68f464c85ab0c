//! How a URL or a host is doing, and what is kept of URLs that fail and have no lane.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::key::LaneKey;
use crate::actors::runtime::supervise::jitter;
use crate::domain::callback::pace::ReceiverPace;

/// URLs without a lane whose failures are remembered, of about 100 octets each.
const MOST_FAILING: usize = 4_096;

/// How a URL or a host is doing.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallbackFlow {
    pub(super) pace: ReceiverPace,
    pub(super) rest_until: Option<Instant>,
    pub(super) under_way: u32,
}

/// A URL that fails and has no lane, and its host as it was then.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailingUrl {
    pub(super) flow: CallbackFlow,
    pub(super) host: CallbackFlow,
    pub(super) asked_until: Option<Instant>,
}

/// Those URLs, by a digest of theirs.
#[derive(Default)]
pub(super) struct FailingUrls(HashMap<u64, FailingUrl, ahash::RandomState>);

// === impl CallbackFlow ===

impl CallbackFlow {
    pub(super) fn new(pace: ReceiverPace) -> Self {
        Self {
            pace,
            rest_until: None,
            under_way: 0,
        }
    }

    pub(super) fn rest(&self, now: Instant) -> Duration {
        left(self.rest_until, now)
    }

    pub(super) fn succeeded(&mut self) {
        self.pace.succeeded();
        self.rest_until = None;
    }

    pub(super) fn failed(&mut self, longest: Duration, now: Instant) {
        if !self.rest(now).is_zero() {
            return self.pace.failed_meanwhile();
        }
        let rest = self.pace.failed().min(longest);
        self.rest_until = (!rest.is_zero()).then(|| now + jitter(rest));
    }

    pub(super) fn forget(&mut self, pace: ReceiverPace) {
        self.pace = pace;
        self.rest_until = None;
    }

    /// Whether none of its last requests has succeeded, and there were some.
    pub(super) fn is_failing(&self) -> bool {
        self.pace.in_a_row() > 0 && !self.pace.is_proven()
    }
}

// === impl FailingUrl ===

impl FailingUrl {
    pub(super) fn rest(&self, now: Instant) -> Duration {
        let rest = self.flow.rest(now).max(self.host.rest(now));
        rest.max(left(self.asked_until, now))
    }
}

// === impl FailingUrls ===

impl FailingUrls {
    /// Remembers one; forgets the one whose rest has ended first, if they are too many.
    pub(super) fn insert(&mut self, key: &LaneKey, url: FailingUrl) {
        if self.0.len() >= MOST_FAILING {
            let ends = |url: &FailingUrl| url.flow.rest_until.max(url.asked_until);
            let first = self.0.iter().min_by_key(|(_, url)| ends(url));
            if let Some(digest) = first.map(|(digest, _)| *digest) {
                self.0.remove(&digest);
            }
        }
        let digest = self.0.hasher().hash_one(key);
        self.0.insert(digest, url);
    }

    pub(super) fn get(&self, key: &LaneKey) -> Option<&FailingUrl> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&self.0.hasher().hash_one(key))
    }

    /// Takes one out, because it gets a lane.
    pub(super) fn remove(&mut self, key: &LaneKey) -> Option<FailingUrl> {
        if self.0.is_empty() {
            return None;
        }
        let digest = self.0.hasher().hash_one(key);
        self.0.remove(&digest)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn rests(&self, now: Instant) -> impl Iterator<Item = Duration> {
        self.0.values().map(move |url| url.rest(now))
    }
}

pub(super) fn left(until: Option<Instant>, now: Instant) -> Duration {
    until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
}
