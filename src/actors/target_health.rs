//! How the target of a queue stands: what routes ask when they choose between targets.
//!
//! Written by the queue's actor, read by everyone on the path of a message: a few atomics beside the
//! queue's counters. Keeps true that a target which is governed by nothing, neither patience nor a
//! breaker, is available exactly while somebody serves it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::actors::context::NodeContext;
use crate::actors::plan::Targets;
use crate::actors::ports::QueuePort;

/// Of one queue, on this node.
#[derive(Debug)]
pub struct TargetHealth {
    availability: AtomicU8,
    /// A breaker keeps this node from sending.
    tripped: AtomicBool,
    /// Messages of the queue that wait for their time.
    later: AtomicU64,
    /// Messages that the target takes at a time, as the octets of an `f64`.
    capacity: AtomicU64,
}

/// Whether routes choose a target for new messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Availability {
    /// It is available while somebody serves it.
    WhileServed,
    /// Also while nobody serves it for a moment.
    Available,
    /// Not even while somebody serves it.
    Unavailable,
}

// === impl TargetHealth ===

impl TargetHealth {
    /// Governed by nothing.
    pub fn new() -> Self {
        Self {
            availability: AtomicU8::new(Availability::WhileServed as u8),
            tripped: AtomicBool::new(false),
            later: AtomicU64::new(0),
            capacity: AtomicU64::new(1f64.to_bits()),
        }
    }

    pub fn availability(&self) -> Availability {
        const AVAILABLE: u8 = Availability::Available as u8;
        const UNAVAILABLE: u8 = Availability::Unavailable as u8;
        match self.availability.load(Ordering::Relaxed) {
            AVAILABLE => Availability::Available,
            UNAVAILABLE => Availability::Unavailable,
            _ => Availability::WhileServed,
        }
    }

    /// Whether a breaker keeps this node from sending.
    pub fn is_tripped(&self) -> bool {
        self.tripped.load(Ordering::Relaxed)
    }

    pub fn set(&self, availability: Availability, tripped: bool) {
        self.availability
            .store(availability as u8, Ordering::Relaxed);
        self.tripped.store(tripped, Ordering::Relaxed);
    }

    /// `later`: messages that wait for their time; `capacity`: those that the target takes at a time.
    pub fn set_load(&self, later: u64, capacity: f64) {
        self.later.store(later, Ordering::Relaxed);
        self.capacity.store(capacity.to_bits(), Ordering::Relaxed);
    }
}

impl Default for TargetHealth {
    fn default() -> Self {
        Self::new()
    }
}

// === impl QueuePort ===

impl QueuePort {
    /// Messages that wait here for nothing but their turn, or for an answer.
    pub fn to_do(&self) -> u64 {
        let depth = self.depth.load(Ordering::Relaxed);
        depth.saturating_sub(self.target_health.later.load(Ordering::Relaxed))
    }

    /// So many have been taken; the next snapshot counts anew.
    pub fn less_to_do(&self, messages: usize) {
        let less = |depth: u64| Some(depth.saturating_sub(messages as u64));
        let _ = self
            .depth
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

// === impl NodeContext ===

impl Targets for NodeContext {
    fn available(&self, queue: u32) -> bool {
        NodeContext::available(self, queue)
    }

    /// What waits and is unanswered, on all nodes, for each that the target takes at a time.
    fn load(&self, queue: u32) -> f64 {
        let Some(port) = self.queue(queue) else {
            return f64::INFINITY;
        };
        let elsewhere = match self.local_lease.is_shared() {
            true => self
                .local_lease
                .cluster_view()
                .to_do(queue, self.ids.node()),
            false => 0,
        };
        let capacity = f64::from_bits(port.target_health.capacity.load(Ordering::Relaxed));
        (port.to_do() + elsewhere) as f64 / capacity
    }
}
