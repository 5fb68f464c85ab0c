//! The health of a queue's target, by which routing chooses between targets.
//!
//! The queue's actor writes it, and routing reads it for each message: a few atomics beside the queue's
//! counters. Invariant: a target without patience and without a breaker is available exactly while a
//! session serves it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// The health of one queue's target on this node.
#[derive(Debug)]
pub struct TargetHealth {
    availability: AtomicU8,
    /// Whether an open breaker keeps this node from sending.
    tripped: AtomicBool,
    /// Messages of the queue that are not due yet.
    later: AtomicU64,
    /// Messages that the target takes at a time, as the bits of an `f64`.
    capacity: AtomicU64,
}

/// Whether routes choose a target for new messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Availability {
    /// Available while a session serves it.
    WhileServed,
    /// Also available without a session for a moment.
    Available,
    /// Unavailable even with a session.
    Unavailable,
}

// === impl TargetHealth ===

impl TargetHealth {
    /// Without patience or a breaker.
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

    /// Whether an open breaker keeps this node from sending.
    pub fn is_tripped(&self) -> bool {
        self.tripped.load(Ordering::Relaxed)
    }

    pub fn set(&self, availability: Availability, tripped: bool) {
        self.availability
            .store(availability as u8, Ordering::Relaxed);
        self.tripped.store(tripped, Ordering::Relaxed);
    }

    /// Messages of the queue that are not due yet.
    pub fn later(&self) -> u64 {
        self.later.load(Ordering::Relaxed)
    }

    /// Messages that the target takes at a time.
    pub fn capacity(&self) -> f64 {
        f64::from_bits(self.capacity.load(Ordering::Relaxed))
    }

    /// `later`: messages that are not due yet; `capacity`: messages that the target takes at a time.
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
