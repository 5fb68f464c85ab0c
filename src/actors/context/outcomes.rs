//! What became of messages lately, counted where it becomes known, and the incidents that were found in that.
//!
//! Queues, Correlation and Receipts count, a batch under one lock; the task that looks for incidents reads, and publishes the
//! incidents of all nodes for readiness, the console and metrics. The task that keeps the history takes what was counted since it
//! last did.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::actors::context::ports::Published;
use crate::actors::runtime::locks::lock;
use crate::domain::outcomes::{OutcomeLog, PairOutcomes, UntoldMessages};
use crate::store::incidents::IncidentRow;

/// Counts until a task says how long a bucket is.
const FIRST_BUCKET_MS: i64 = 60_000;

/// Counts what becomes of messages.
pub struct OutcomeMeter {
    is_on: AtomicBool,
    log: Mutex<OutcomeLog>,
    /// Those of all nodes as the store has them, the newest first.
    pub incidents: Published<Vec<IncidentRow>>,
}

// === impl OutcomeMeter ===

impl OutcomeMeter {
    /// Counts a batch, unless nobody looks for incidents and nobody keeps a history.
    pub fn count(&self, count: impl FnOnce(&mut OutcomeLog)) {
        if self.is_on.load(Ordering::Relaxed) {
            count(&mut lock(&self.log));
        }
    }

    /// Whether to count, and in buckets of which length; another length begins anew.
    pub fn configure(&self, is_on: bool, bucket_ms: i64) {
        let mut log = lock(&self.log);
        if !is_on {
            *log = OutcomeLog::new(bucket_ms);
        } else if log.bucket_ms() != bucket_ms.max(1) {
            log.restart(bucket_ms);
        }
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// Everything that was counted since the last call.
    pub fn take_traffic(&self) -> UntoldMessages {
        lock(&self.log).take_traffic()
    }

    /// What is known of each operator and account at this time, Unix milliseconds.
    pub fn look(&self, now_ms: i64) -> Vec<PairOutcomes> {
        lock(&self.log).look(now_ms)
    }
}

impl Default for OutcomeMeter {
    fn default() -> Self {
        Self {
            is_on: AtomicBool::new(true),
            log: Mutex::new(OutcomeLog::new(FIRST_BUCKET_MS)),
            incidents: Published::default(),
        }
    }
}
