//! What messages cost, and in which currency.

use super::Plan;
use crate::content;
use crate::pb::Message;

// === impl Plan ===

impl Plan {
    /// Credits for all segments of a message of its sender; 0 where no prices apply.
    pub fn price_of(&self, message: &Message) -> u64 {
        let tariff = self.tariffs.get(&message.sender);
        tariff.map_or(0, |tariff| {
            u64::from(content::segments(message)) * u64::from(tariff.price(&message.destination))
        })
    }

    /// What a credit of an account is.
    pub fn currency_of(&self, account: u32) -> &str {
        let own = self.account_by_id(account);
        let own = own.and_then(|account| account.config.currency.as_deref());
        own.unwrap_or(&self.config.policy.currency)
    }
}
