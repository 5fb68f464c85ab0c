//! How each source of this node stands, and what it has counted since the node was started.
//!
//! Written by the work of the sources; read by the Admin actor, for the admin API and for metrics.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::actors::runtime::locks::lock;
use crate::api::{EndedCommand, NatsSourceState, time};
use crate::clock;

/// Commands that ended without a dead letter, of which the last are shown.
const SHOWN: usize = 20;

/// The sources of this node, by name.
#[derive(Default)]
pub struct Board(Mutex<BTreeMap<String, Arc<Standing>>>);

/// One source.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// Commands under way.
    pub in_flight: AtomicU64,
    /// Commands of the stream that nobody has been given.
    pub waiting: AtomicU64,
    /// Sequence up to which the store knows that commands are done with.
    pub done_up_to: AtomicU64,
    pub accepted: AtomicU64,
    pub repeated: AtomicU64,
    pub delayed: AtomicU64,
    pub dead: AtomicU64,
    /// Commands that ended without a dead letter, because it could not be published.
    terminated: AtomicU64,
    ended: Mutex<VecDeque<EndedCommand>>,
    connected: AtomicBool,
    trouble: Mutex<String>,
}

// === impl Board ===

impl Board {
    pub(super) fn add(&self, name: &str) -> Arc<Standing> {
        let standing = Arc::new(Standing::default());
        lock(&self.0).insert(name.to_owned(), Arc::clone(&standing));
        standing
    }

    pub(super) fn remove(&self, name: &str) {
        lock(&self.0).remove(name);
    }

    /// All of them.
    pub fn list(&self) -> Vec<NatsSourceState> {
        let all = lock(&self.0);
        all.iter()
            .map(|(name, standing)| standing.state(name))
            .collect()
    }
}

// === impl Standing ===

impl Standing {
    pub(super) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    /// The consumer is there.
    pub(super) fn connected(&self) {
        self.connected.store(true, Ordering::Relaxed);
        lock(&self.trouble).clear();
    }

    /// The connection is lost or cannot be made.
    pub(super) fn lost(&self, why: &str) {
        self.connected.store(false, Ordering::Relaxed);
        self.failed(why);
    }

    /// Something of its work has failed.
    pub(super) fn failed(&self, why: &str) {
        why.clone_into(&mut lock(&self.trouble));
    }

    /// What has failed works again.
    pub(super) fn works_again(&self) {
        lock(&self.trouble).clear();
    }

    /// A command has ended without a dead letter.
    pub(super) fn ended(&self, sequence: u64, why: &str) {
        self.terminated.fetch_add(1, Ordering::Relaxed);
        let mut ended = lock(&self.ended);
        ended.truncate(SHOWN - 1);
        ended.push_front(EndedCommand {
            at: time(clock::now_ms()),
            stream_sequence: sequence,
            reason: why.to_owned(),
        });
    }

    fn state(&self, name: &str) -> NatsSourceState {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let trouble = lock(&self.trouble).clone();
        NatsSourceState {
            name: name.to_owned(),
            connected: self.is_connected(),
            in_flight: read(&self.in_flight),
            waiting: read(&self.waiting),
            accepted: read(&self.accepted),
            repeated: read(&self.repeated),
            delayed: read(&self.delayed),
            dead: read(&self.dead),
            terminated: read(&self.terminated),
            done_up_to: read(&self.done_up_to),
            ended: lock(&self.ended).iter().cloned().collect(),
            trouble: (!trouble.is_empty()).then_some(trouble),
        }
    }
}
