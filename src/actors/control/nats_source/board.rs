//! How each source of this node stands: what metrics count, and what they do not say.
//!
//! Written by the work of the sources, read by the Admin actor.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::actors::context::NodeContext;
use crate::actors::runtime::locks::lock;
use crate::pb::{NatsSourceList, NatsSourceState};
use crate::telemetry::metrics::SourceMeter;

/// The sources of this node, by name.
#[derive(Default)]
pub struct Board(Mutex<BTreeMap<String, Arc<Standing>>>);

/// One source.
pub(super) struct Standing {
    pub meter: SourceMeter,
    connected: AtomicBool,
    trouble: Mutex<String>,
}

// === impl Board ===

impl Board {
    pub(super) fn add(&self, name: &str, node: &NodeContext) -> Arc<Standing> {
        let standing = Arc::new(Standing {
            meter: node.metrics.nats_source(name),
            connected: AtomicBool::new(false),
            trouble: Mutex::default(),
        });
        lock(&self.0).insert(name.to_owned(), Arc::clone(&standing));
        standing
    }

    pub(super) fn remove(&self, name: &str, node: &NodeContext) {
        lock(&self.0).remove(name);
        node.metrics.forget_nats_source(name);
    }

    /// All of them.
    pub fn list(&self) -> NatsSourceList {
        let all = lock(&self.0);
        let sources = all.iter().map(|(name, standing)| standing.state(name));
        NatsSourceList {
            sources: sources.collect(),
        }
    }
}

// === impl Standing ===

impl Standing {
    /// The consumer is there.
    pub(super) fn connected(&self) {
        self.connected.store(true, Ordering::Relaxed);
        lock(&self.trouble).clear();
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    /// It is not, or something of its work has failed.
    pub(super) fn failed(&self, why: &str, is_lost: bool) {
        if is_lost {
            self.connected.store(false, Ordering::Relaxed);
        }
        why.clone_into(&mut lock(&self.trouble));
    }

    fn state(&self, name: &str) -> NatsSourceState {
        let meter = &self.meter;
        let gauge = |value: i64| u64::try_from(value).unwrap_or(0);
        NatsSourceState {
            name: name.to_owned(),
            connected: self.connected.load(Ordering::Relaxed),
            in_flight: gauge(meter.in_flight.get()),
            waiting: gauge(meter.waiting.get()),
            accepted: meter.accepted.get(),
            repeated: meter.repeated.get(),
            delayed: meter.delayed.get(),
            dead: meter.dead.get(),
            trouble: lock(&self.trouble).clone(),
        }
    }
}
