//! What a node keeps beside the plan to judge by: buckets of limits, and the opt-out lists.

use std::sync::atomic::{AtomicI64, AtomicU64};

use super::limiter::Limiter;
use super::opt_outs::OptOuts;
use crate::config;

/// What a node keeps beside the plan.
#[derive(Default)]
pub struct PolicyState {
    pub limiter: Limiter,
    pub opt_outs: OptOuts,
    pub(super) said_at: AtomicI64,
    pub(super) unsaid: AtomicU64,
}

// === impl PolicyState ===

impl PolicyState {
    pub fn new(config: &config::Policy) -> Self {
        let state = Self::default();
        state.configure(config);
        state
    }

    /// Brings it in line with the configuration.
    pub fn configure(&self, config: &config::Policy) {
        self.limiter.resize(config.limit_addresses);
    }
}
