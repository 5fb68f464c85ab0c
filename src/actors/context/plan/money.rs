//! What messages cost, and in which currency.

use super::Plan;
use crate::content::{self, peer};
use crate::pb::Message;

// === impl Plan ===

impl Plan {
    /// How many short messages a message takes at the peer of a queue, if that is known: what it is charged for there.
    pub fn segments_at(&self, queue: u32, message: &Message) -> u32 {
        let to = self.peer_encoding_of(queue);
        to.map_or_else(
            || content::by_octets(message),
            |to| peer::leaves_as(message, to),
        )
    }

    /// Notes the same in the message.
    pub fn note_segments_at(&self, queue: u32, message: &mut Message) {
        match self.peer_encoding_of(queue) {
            Some(to) => peer::note(message, peer::way(message, to), to),
            None => message.note_short_messages(0),
        }
    }

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
