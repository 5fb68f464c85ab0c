//! Counters of a writer, read by `stats()` and by the metrics page without asking any thread. Both
//! adapters count with these.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::StoreStats;

/// Upper bounds of the commit latency buckets, in seconds.
pub const LATENCY_BOUNDS: [f64; 14] = [
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0,
];
/// Upper bounds of the buckets of rows per commit.
pub const ROWS_BOUNDS: [f64; 12] = [
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 4096.0,
];

/// Counts in fixed buckets; the last one has no upper bound.
#[derive(Debug)]
pub struct Buckets<const N: usize> {
    bounds: &'static [f64; N],
    counts: [AtomicU64; N],
    beyond: AtomicU64,
    /// Sum of what was counted, in millionths.
    sum_micros: AtomicU64,
}

/// A copy of [`Buckets`], in the form that Prometheus needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Upper bounds; the last count has none.
    pub bounds: &'static [f64],
    /// Not cumulative; one more than there are bounds.
    pub counts: Vec<u64>,
    pub sum: f64,
}

/// Latency of commits in seconds, and rows per commit.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitHistograms {
    pub latency_seconds: Histogram,
    pub rows: Histogram,
}

/// What a writer counts.
#[derive(Debug)]
pub struct Gauges {
    pub commits: AtomicU64,
    pub rows: AtomicU64,
    pub commit_nanos: AtomicU64,
    pub quarantined: AtomicU64,
    /// Writers that have tried in vain and will try again.
    pub stalled: AtomicU64,
    pub latency: Buckets<14>,
    pub batch_rows: Buckets<12>,
}

// === impl Buckets ===

impl<const N: usize> Buckets<N> {
    fn new(bounds: &'static [f64; N]) -> Self {
        Self {
            bounds,
            counts: [const { AtomicU64::new(0) }; N],
            beyond: AtomicU64::new(0),
            sum_micros: AtomicU64::new(0),
        }
    }

    fn count(&self, value: f64) {
        let bucket = self.bounds.iter().position(|bound| value <= *bound);
        let counter = bucket.map_or(&self.beyond, |index| &self.counts[index]);
        counter.fetch_add(1, Ordering::Relaxed);
        self.sum_micros
            .fetch_add((value * 1e6) as u64, Ordering::Relaxed);
    }

    fn snapshot(&self) -> Histogram {
        let all = self.counts.iter().chain(std::iter::once(&self.beyond));
        Histogram {
            bounds: self.bounds,
            counts: all.map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum_micros.load(Ordering::Relaxed) as f64 / 1e6,
        }
    }
}

// === impl Gauges ===

impl Gauges {
    /// All zero.
    pub fn new() -> Self {
        Self {
            commits: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            commit_nanos: AtomicU64::new(0),
            quarantined: AtomicU64::new(0),
            stalled: AtomicU64::new(0),
            latency: Buckets::new(&LATENCY_BOUNDS),
            batch_rows: Buckets::new(&ROWS_BOUNDS),
        }
    }

    /// Counts a commit.
    pub fn committed(&self, rows: usize, took: Duration) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.commit_nanos
            .fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
        self.latency.count(took.as_secs_f64());
        self.batch_rows.count(rows as f64);
    }

    /// Whether a writer tries in vain.
    pub fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed) > 0
    }

    /// What they say of a store.
    pub fn stats(&self) -> StoreStats {
        StoreStats {
            commits: self.commits.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            commit_seconds: self.commit_nanos.load(Ordering::Relaxed) as f64 / 1e9,
            stalled: self.is_stalled(),
            quarantined: self.quarantined.load(Ordering::Relaxed),
            histograms: Some(CommitHistograms {
                latency_seconds: self.latency.snapshot(),
                rows: self.batch_rows.snapshot(),
            }),
            ..StoreStats::default()
        }
    }
}

impl Default for Gauges {
    fn default() -> Self {
        Self::new()
    }
}
