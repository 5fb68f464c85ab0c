//! What a node remembers of accepted and of pending submissions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::domain::duplicate::{DuplicateKey, RecentSubmissions};
use crate::smpp::CommandStatus;
use crate::store::redis::Redis;
use crate::telemetry::metrics::Metrics;

/// The outcome of a submission: the id by which its sender knows it, or the status of its refusal.
pub(super) type SubmissionOutcome = Result<u64, CommandStatus>;
/// Receives the outcome of a pending submission; closed without one if it was given up.
pub(super) type Later = watch::Receiver<Option<SubmissionOutcome>>;

/// Accepted and pending submissions of a node.
pub struct Duplicates {
    pub(super) state: Mutex<State>,
    /// Windows use this clock, because the wall clock may step back.
    started: Instant,
    pub(super) redis: OnceLock<Arc<Redis>>,
}

pub(super) struct State {
    pub(super) recent: RecentSubmissions,
    pub(super) pending: HashMap<DuplicateKey, Later, ahash::RandomState>,
}

// === impl Duplicates ===

impl Default for Duplicates {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                recent: RecentSubmissions::new(0),
                pending: HashMap::default(),
            }),
            started: Instant::now(),
            redis: OnceLock::new(),
        }
    }
}

impl Duplicates {
    /// Shares the guard with other nodes from now on.
    pub fn share(&self, redis: Arc<Redis>) {
        // Called once, at start.
        let _ = self.redis.set(redis);
    }

    pub(super) fn now(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}

// === impl State ===

impl State {
    /// Remembers an accepted submission until its window is over; `most`: how many entries there is
    /// room for.
    pub(super) fn keep(
        &mut self,
        key: DuplicateKey,
        id: u64,
        until: i64,
        now: i64,
        most: usize,
        metrics: &Metrics,
    ) {
        let lost = self.recent.resize(most, now) + self.recent.keep(key, id, until, now);
        if lost > 0 {
            metrics.duplicates_forgotten.inc_by(lost as u64);
        }
        let entries = i64::try_from(self.recent.len()).unwrap_or(i64::MAX);
        metrics.duplicate_entries.set(entries);
    }
}
