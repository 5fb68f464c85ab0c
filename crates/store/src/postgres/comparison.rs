//! Whether the database has what it had confirmed: what lanes find, and readers wait for.
//!
//! Lanes compare (`went_back.rs`) on each new connection and under each new membership; this is what they, the readers and
//! the heartbeat share about it. Guarantees that a reader that waits sees everything that was confirmed to this node, as far
//! as it was kept.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::PostgresShared;
use super::failure::failed;
use crate::cluster::{Membership, NodeCard};
use crate::{StoreError, StoreResult};

/// How long rows of the hand-off table may be there again that were taken out before.
const CAREFUL: Duration = Duration::from_secs(60);

/// For whom a lane has compared: the generation of the server, and the membership.
type ComparedFor = (u64, Option<Membership>);

/// What lanes, readers and the heartbeat share.
pub struct DatabaseComparison {
    lanes: watch::Sender<Vec<Option<ComparedFor>>>,
    /// Makes a lane compare now.
    wake: Vec<Notify>,
    times: Mutex<ComparisonTimes>,
    /// Names by their numbers, as this process uses them.
    names: Mutex<BTreeMap<u32, String>>,
    pub counts: StepBackCounts,
}

#[derive(Debug)]
struct ComparisonTimes {
    /// When the database was asked something that it has answered.
    answered_at: Instant,
    careful_until: Option<Instant>,
    /// How often there was a reason to be careful.
    reasons: u64,
    /// The history of the database that all lanes have compared with.
    history: String,
    /// Whether that waits for a standby before it confirms.
    is_synchronous: bool,
    /// Whether the server that the heartbeat has waits for a standby before it confirms.
    has_standbys: bool,
}

/// Of this process.
#[derive(Debug, Default)]
pub struct StepBackCounts {
    /// How often a lane has found that the database went back.
    pub steps: AtomicU64,
    /// Commits that were written again.
    pub rewritten: AtomicU64,
    /// How often more was lost than was kept.
    pub forgotten: AtomicU64,
}

// === impl DatabaseComparison ===

impl DatabaseComparison {
    pub fn new(lanes: usize) -> Self {
        Self {
            lanes: watch::Sender::new(vec![None; lanes]),
            wake: (0..lanes).map(|_| Notify::new()).collect(),
            times: Mutex::new(ComparisonTimes {
                answered_at: Instant::now(),
                careful_until: None,
                reasons: 0,
                history: String::new(),
                is_synchronous: false,
                has_standbys: false,
            }),
            names: Mutex::default(),
            counts: StepBackCounts::default(),
        }
    }

    /// The name has this number.
    pub fn remember_name(&self, number: u32, name: String) {
        self.names().insert(number, name);
    }

    pub fn names(&self) -> MutexGuard<'_, BTreeMap<u32, String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lane has compared.
    pub fn has_compared(&self, lane: usize, generation: u64, member: Option<Membership>) {
        self.lanes
            .send_modify(|lanes| lanes[lane] = Some((generation, member)));
    }

    /// Resolves when a lane is asked to compare.
    pub async fn asked(&self, lane: usize) {
        self.wake[lane].notified().await;
    }

    /// What was asked at this time was answered.
    pub fn answered(&self, asked: Instant) {
        let mut times = self.times();
        times.answered_at = times.answered_at.max(asked);
    }

    pub fn answered_at(&self) -> Instant {
        self.times().answered_at
    }

    /// Whether what comes from the hand-off table may have come before.
    pub fn is_careful(&self) -> bool {
        let until = self.times().careful_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Whether the server waits for a standby before it confirms.
    pub fn set_synchronous(&self, has_standbys: bool) {
        self.times().has_standbys = has_standbys;
    }

    /// A lane has met another server, or found that something is missing.
    pub fn be_careful(&self) {
        let mut times = self.times();
        times.careful_until = Some(Instant::now() + CAREFUL);
        times.reasons += 1;
    }

    fn times(&self) -> MutexGuard<'_, ComparisonTimes> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl PostgresShared ===

impl PostgresShared {
    /// Grows when the database may have gone back in time.
    pub(super) fn caution(&self) -> u64 {
        self.connect.hosts().generation() + self.comparison.times().reasons
    }

    /// The card with what it says of the database, as far as all lanes have compared.
    pub(super) fn signed(&self, card: NodeCard) -> NodeCard {
        let has_caught_up = self.has_caught_up();
        let mut times = self.comparison.times();
        if has_caught_up {
            times.history = self.connect.hosts().history();
            times.is_synchronous = times.has_standbys;
        }
        NodeCard {
            database: times.history.clone(),
            is_synchronous: times.is_synchronous,
            ..card
        }
    }

    fn has_caught_up(&self) -> bool {
        self.have_all_compared(&self.comparison.lanes.borrow())
    }

    fn have_all_compared(&self, lanes: &[Option<ComparedFor>]) -> bool {
        let now = (self.connect.hosts().generation(), self.membership());
        lanes.iter().all(|lane| *lane == Some(now))
    }

    /// Waits until all lanes have compared what the database has with what it had confirmed.
    pub(super) async fn caught_up(&self) -> StoreResult {
        if self.has_caught_up() {
            return Ok(());
        }
        let comparison = &self.comparison;
        comparison.wake.iter().for_each(Notify::notify_one);
        let mut lanes = comparison.lanes.subscribe();
        let waiting = lanes.wait_for(|lanes| self.have_all_compared(lanes));
        match tokio::time::timeout(self.options.write_timeout, waiting).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(StoreError::Closed),
            Err(_) => Err(failed(
                "it is not known yet whether the database has all that it had confirmed",
            )),
        }
    }
}
