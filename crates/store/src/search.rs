//! Which messages to list, and a page of them.

use std::ops::Range;

use super::{Stored, archive};
use smsc_domain::address::normalise;
use smsc_domain::country;
use smsc_domain::id::{Aside, MAX_LEAD_MS};
use smsc_proto::{Message, MessageState};

/// Rows walked per request of a person: a search for something rare must not keep a store busy for long.
pub(super) const MAX_SCAN: i64 = 500_000;

/// Which messages to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// Destination, exact, without a leading plus.
    pub to: Option<String>,
    /// The first digits of the destination, without a plus. This and the two below are compared with what was found: they make
    /// pages shorter.
    pub to_prefix: Option<String>,
    /// ISO 3166-1 code of the destination's country, as [`country::of_number`] says; empty for those that have none.
    pub country: Option<&'static str>,
    /// The network that was looked up for the destination.
    pub network: Option<String>,
    /// Source address, exact, without a leading plus.
    pub from: Option<String>,
    /// Interned name of the account or operator that brought it.
    pub sender: Option<u32>,
    /// Accepted at this time or later, Unix milliseconds.
    pub since: Option<i64>,
    /// Accepted before this time, Unix milliseconds.
    pub until: Option<i64>,
    /// Ended at this time or later, Unix milliseconds; what has not ended fits neither this nor `ended_until`.
    pub ended_since: Option<i64>,
    /// Ended before this time, Unix milliseconds.
    pub ended_until: Option<i64>,
    /// Keep only messages in this state; `Enroute` means not final.
    pub state: Option<MessageState>,
    /// Only ids below this one (paging).
    pub before: Option<u64>,
    pub limit: usize,
}

/// A page of messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundMessages {
    pub messages: Vec<Stored>,
    /// `before` of the next page, which may be empty; `None` when everything was read.
    pub next_before: Option<u64>,
}

// === impl Search ===

impl Search {
    /// This search for another page.
    #[must_use]
    pub fn at(&self, before: Option<u64>, limit: usize) -> Self {
        Self {
            before,
            limit,
            ..self.clone()
        }
    }

    /// The ids that its times and its page leave: from the first up to the second, without it. Ids run
    /// ahead of the time a little, and those that were set aside by far: [`Self::covers`] decides.
    pub(super) fn ids(&self, asides: &[Aside]) -> Range<u64> {
        // Nothing ends before it was accepted.
        let until = self.until.into_iter().chain(self.ended_until).min();
        let until = match until {
            Some(until) if asides.is_empty() => {
                archive::first_id(until.saturating_add(MAX_LEAD_MS))
            }
            _ => i64::MAX as u64,
        };
        let before = self.before.unwrap_or(i64::MAX as u64);
        self.since.map_or(0, archive::first_id)..until.min(before).min(i64::MAX as u64)
    }

    /// Whether only messages fit that have ended at some time.
    pub(super) fn asks_for_ends(&self) -> bool {
        self.ended_since.is_some() || self.ended_until.is_some()
    }

    /// The times of ends that fit.
    pub(super) fn ends(&self) -> Range<i64> {
        self.ended_since.unwrap_or(i64::MIN)..self.ended_until.unwrap_or(i64::MAX)
    }

    /// Whether the destination of a message has its prefix, country and network.
    fn is_to(&self, message: &Message) -> bool {
        let (to, network) = (&message.destination, &message.network);
        let prefix = self.to_prefix.as_deref().unwrap_or_default();
        normalise(to).starts_with(prefix.as_bytes())
            && self
                .country
                .is_none_or(|wanted| country::of_number(to) == wanted)
            && self.network.as_ref().is_none_or(|wanted| wanted == network)
    }

    /// Whether a message was accepted, and has ended, in its times, and has gone where it asks for.
    pub(super) fn covers(&self, stored: &Stored) -> bool {
        let accepted_at = stored.message.accepted_at;
        let ended = stored.fin.as_ref().map(|fin| fin.at);
        self.is_to(&stored.message)
            && self.since.is_none_or(|since| accepted_at >= since)
            && self.until.is_none_or(|until| accepted_at < until)
            && (!self.asks_for_ends() || ended.is_some_and(|at| self.ends().contains(&at)))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn destinations_have_a_prefix_a_country_and_a_network() {
        let message = Message {
            destination: Bytes::from_static(b"+4917012345678"),
            network: "26201".to_owned(),
            ..Message::default()
        };
        let (prefix, network) = (
            |prefix: &str| Search {
                to_prefix: Some(prefix.to_owned()),
                ..Search::default()
            },
            |network: &str| Search {
                network: Some(network.to_owned()),
                ..Search::default()
            },
        );
        let country = |country| Search {
            country: Some(country),
            ..Search::default()
        };
        for (search, fits) in [
            (Search::default(), true),
            (prefix("49170"), true),
            (prefix("4917012345678"), true),
            (prefix("48"), false),
            (country("DE"), true),
            (country("AT"), false),
            (network("26201"), true),
            (network("26202"), false),
        ] {
            assert_eq!(search.is_to(&message), fits, "{search:?}");
        }
    }
}
