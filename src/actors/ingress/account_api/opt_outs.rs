//! The opt-out list of an account: numbers that want none of its messages.
//!
//! The admin API and keywords read and change this list, too. The list for all accounts is not the account's business.

use std::sync::Arc;

use super::AccountApi;
use crate::actors::context::audit::{AuditNote, write_audit};
use crate::actors::context::plan::AccountPlan;
use crate::actors::routing::policy;
use crate::api::OptOuts;
use crate::pb::Refusal;

// === impl AccountApi ===

impl AccountApi {
    /// A page of the account's list, newest first. `number`: only that one, without a plus. `before`: only entries below
    /// this version; 0 for all.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn opt_outs(
        &self,
        account: &AccountPlan,
        number: Option<String>,
        before: u64,
        limit: u32,
    ) -> Result<OptOuts, Refusal> {
        let name = Some(account.config.system_id.clone());
        policy::list_opt_outs(Arc::clone(&self.intake.node), name, number, before, limit).await
    }

    /// Puts a number on the account's list or takes it off: here at once, on other nodes within about a second.
    /// False if it was so already. `by`: who does it.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn opt(
        &self,
        account: &AccountPlan,
        number: String,
        out: bool,
        by: String,
    ) -> Result<bool, Refusal> {
        let name = account.config.system_id.clone();
        let policy = &self.intake.policy;
        Ok(policy.opt(self.node(), name, number, out, by).await?)
    }

    /// Writes an entry of the audit log.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn audit(&self, note: AuditNote) -> Result<(), Refusal> {
        Ok(write_audit(self.node(), note).await?)
    }
}
