//! The event sinks of a plan, for who writes events and who publishes them.

use std::sync::Arc;

use super::{Plan, SinkPlan};
use crate::store::sinks::Wants;

impl Plan {
    /// The enabled event sinks.
    pub fn sinks(&self) -> &[Arc<SinkPlan>] {
        &self.sinks
    }

    /// The mirror in Redis, which reads what happens before the end of messages like a sink; `None` without it.
    pub fn mirror(&self) -> Option<Wants> {
        self.mirror
    }

    /// What sinks and the mirror want to hear of.
    pub fn wanted_by_sinks(&self) -> Vec<Wants> {
        let sinks = self.sinks.iter().map(|sink| sink.wants);
        sinks.chain(self.mirror).collect()
    }
}
