//! The number plan as ingest and explanations ask it.

use super::Plan;
use crate::config::{self, CompiledPolicies, Config};
use crate::domain::number_plan::NumberPlan;
use crate::store::StoreError;

/// The number plan of the configuration. Reads lists of addresses from files: blocks.
pub(super) fn number_plan(config: &Config) -> Result<NumberPlan, StoreError> {
    if config.number_range.is_empty() {
        return Ok(NumberPlan::default());
    }
    let mut wrong = Vec::new();
    let policies = CompiledPolicies::read(config, &mut wrong);
    let plan = config::number_plan(config, &policies, &mut wrong);
    // It was valid when it was checked, but a list file may have changed since.
    match wrong.first() {
        Some(problem) => Err(StoreError::Failed(problem.to_string())),
        None => Ok(plan),
    }
}

impl Plan {
    /// What numbers are.
    pub fn number_plan(&self) -> &NumberPlan {
        &self.number_plan
    }

    /// The range of a number that does not exist: neither the range has it nor an account, as its address.
    pub fn range_without(&self, destination: &[u8]) -> Option<&str> {
        // The usual case, and asked for each message.
        if self.number_plan.is_empty() {
            return None;
        }
        let found = self.number_plan.find(destination);
        let is_missing = !found.exists && self.mo_account(destination).is_none();
        found.range.filter(|_| is_missing)
    }
}
