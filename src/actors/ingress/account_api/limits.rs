//! The limits of an account as its clients are told of them: how much there is, how much is left, and until when.

use super::refused::OverBurst;
use super::{AccountApi, NotSubmitted};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::ingest;
use crate::clock;
use crate::content;
use crate::domain::price;
use crate::pb::Message;

const DAY_S: u64 = 86_400;

/// A limit in short messages, and what is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitState {
    /// As refusals name it.
    pub name: &'static str,
    /// How many there are in each window.
    pub quota: u64,
    /// Seconds.
    pub window: u64,
    pub left: u64,
    /// Seconds until all of the quota is there again.
    pub resets_in: u64,
}

// === impl AccountApi ===

impl AccountApi {
    /// The rate of the account and its quota of the day, as far as it has them. Where nodes share them, what is left is
    /// about a second old.
    pub async fn limits(&self, account: &AccountPlan) -> Vec<LimitState> {
        let node = self.node();
        let mut limits = Vec::new();
        if let Some((rate, burst)) = node.rate_of(account.id) {
            // Without an answer nothing is said.
            if let Some(taken) = ingest::take_tokens(node, account.id, 0).await {
                let left = taken.left.min(burst);
                let seconds = |tokens: u32| (f64::from(tokens) / rate).ceil() as u64;
                limits.push(LimitState {
                    name: "rate",
                    quota: burst.into(),
                    window: seconds(burst).max(1),
                    left: left.into(),
                    resets_in: seconds(burst - left),
                });
            }
        }
        if let Some((quota, left)) = self.intake.balance.quota_left(node, account.id) {
            let now = clock::now_ms();
            let rest_ms = price::end_of_day(now).saturating_sub(now);
            limits.push(LimitState {
                name: "quota",
                quota: quota.unsigned_abs(),
                window: DAY_S,
                left: left.unsigned_abs(),
                resets_in: rest_ms.unsigned_abs().div_ceil(1_000),
            });
        }
        limits
    }

    /// Refuses messages that are several, and more than the account may ever submit at once. One with more parts costs
    /// all that there is.
    pub(super) fn check_burst(
        &self,
        account: &AccountPlan,
        messages: &[Message],
    ) -> Result<(), NotSubmitted> {
        let Some((_, most)) = self.node().rate_of(account.id) else {
            return Ok(());
        };
        let price = |message: &Message| u64::from(content::by_octets(message).min(most));
        let wanted = messages.iter().map(price).sum();
        if messages.len() > 1 && wanted > u64::from(most) {
            Err(NotSubmitted::OverBurst(OverBurst { wanted, most }))
        } else {
            Ok(())
        }
    }
}
