//! How often strangers are answered: answers to a flood must not fill the links.
//!
//! Asked by the table for what belongs to no dialogue, and for its user about what that does not serve. Each peer is counted by
//! itself, so that whoever floods uses up its own answers, and not those of others. Whoever has many addresses uses up those of
//! all. Invariant: no more than [`PEERS`] peers are remembered; the one not heard of for longest is forgotten.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use lru::LruCache;

use super::peers::PeerKey;

/// Most answers in a second to one peer, and to all together.
pub(super) const ANSWERS_TO_PEER: u32 = 100;
pub(super) const ANSWERS_TO_ALL: u32 = 500;
/// Most peers that are counted by themselves.
pub(super) const PEERS: usize = 1_024;
const SECOND: Duration = Duration::from_secs(1);

/// The answers of this second.
#[derive(Debug)]
pub(super) struct StrangerAnswers {
    of_peers: LruCache<PeerKey, AnswersInSecond>,
    all: AnswersInSecond,
}

#[derive(Debug, Default)]
struct AnswersInSecond {
    /// When the second began.
    since: Option<Instant>,
    answered: u32,
}

// === impl StrangerAnswers ===

impl StrangerAnswers {
    pub(super) fn new() -> Self {
        let most = NonZeroUsize::new(PEERS).unwrap_or(NonZeroUsize::MIN);
        Self {
            of_peers: LruCache::sparse(most),
            all: AnswersInSecond::default(),
        }
    }

    /// Whether this peer gets another answer, which is counted.
    pub(super) fn take(&mut self, peer: PeerKey, now: Instant) -> bool {
        let of_peer = (self.of_peers).get_or_insert_mut(peer, AnswersInSecond::default);
        of_peer.take(ANSWERS_TO_PEER, now) && self.all.take(ANSWERS_TO_ALL, now)
    }

    #[cfg(test)]
    pub(super) fn peers(&self) -> usize {
        self.of_peers.len()
    }
}

// === impl AnswersInSecond ===

impl AnswersInSecond {
    fn take(&mut self, most: u32, now: Instant) -> bool {
        let is_over = |since: Instant| now.saturating_duration_since(since) >= SECOND;
        if self.since.is_none_or(is_over) {
            self.since = Some(now);
            self.answered = 0;
        }
        let has_room = self.answered < most;
        self.answered += u32::from(has_room);
        has_room
    }
}
