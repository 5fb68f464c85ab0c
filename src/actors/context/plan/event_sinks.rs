//! The event sinks of a plan, for who writes events and who publishes them.

use std::sync::Arc;

use super::{Plan, SinkPlan};
use crate::store::sinks::Wants;

impl Plan {
    /// The enabled event sinks.
    pub fn sinks(&self) -> &[Arc<SinkPlan>] {
        &self.sinks
    }

    /// What they want to hear of.
    pub fn wanted_by_sinks(&self) -> Vec<Wants> {
        self.sinks.iter().map(|sink| sink.wants).collect()
    }
}
