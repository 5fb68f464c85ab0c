//! How the target of a queue stands: what routes ask when they choose between targets.
//!
//! Written by the queue's actor, read by everyone on the path of a message: a few atomics beside the
//! queue's counters. Keeps true that a target which is governed by nothing, neither patience nor a
//! breaker, is available exactly while somebody serves it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

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

    /// Messages of the queue that wait for their time.
    pub fn later(&self) -> u64 {
        self.later.load(Ordering::Relaxed)
    }

    /// Messages that the target takes at a time.
    pub fn capacity(&self) -> f64 {
        f64::from_bits(self.capacity.load(Ordering::Relaxed))
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
