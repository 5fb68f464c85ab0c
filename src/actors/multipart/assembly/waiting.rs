//! The parts that wait, within their bounds: a number of parts, and octets of memory.
//!
//! Used by the actor. When a bound is passed, what is given up is the oldest text of the account or operator that has the
//! most octets here, so that who sends parts without end loses his own. Invariant: every part that was taken in comes back
//! exactly once, and its octets count until then.

use bytes::Bytes;

use crate::config;
use crate::domain::share::FairShares;
use crate::pb::Message;
use crate::sms::reassemble::{Added, Assembler, Expired, TextPart};

/// What parts of one message have in common: sender, both addresses, the reference and its width, and
/// the number of parts.
pub(super) type AssemblyKey = (u32, Bytes, Bytes, u16, bool, u8);

/// Parts of texts that are not complete.
pub(super) struct WaitingParts {
    parts: Assembler<AssemblyKey, Message>,
    /// Octets by sender.
    shares: FairShares<u32>,
    /// Most octets.
    most: u64,
}

// === impl WaitingParts ===

impl WaitingParts {
    pub(super) fn new(config: &config::ContentConfig) -> Self {
        let timeout = i64::try_from(config.reassembly_timeout.as_millis()).unwrap_or(i64::MAX);
        Self {
            parts: Assembler::new(config.reassembly_parts as usize, timeout),
            shares: FairShares::default(),
            most: config.reassembly_mib.max(1) << 20,
        }
    }

    /// Most octets that wait.
    pub(super) fn most(&self) -> u64 {
        self.most
    }

    pub(super) fn add(
        &mut self,
        now_ms: i64,
        key: AssemblyKey,
        part: TextPart<Message>,
    ) -> Added<Message> {
        self.shares.take(&part.value.sender, part.value.weight());
        let added = self.parts.add(now_ms, key, part);
        match &added {
            Added::Waiting => {}
            Added::Complete(parts) => self.gone(parts),
            Added::Repeated(part) => self.gone(std::slice::from_ref(part)),
            Added::Replaced { given_up } => self.gone(given_up),
        }
        added
    }

    /// Takes out a text, while there is more than may be.
    pub(super) fn evict(&mut self) -> Option<Vec<Message>> {
        if !self.parts.is_over() && self.shares.all() <= self.most {
            return None;
        }
        let parts = self.parts.take_oldest(*self.shares.largest()?)?;
        self.gone(&parts);
        Some(parts)
    }

    /// Takes out those that have waited too long.
    pub(super) fn expired(&mut self, now_ms: i64) -> Vec<Expired<Message>> {
        let expired = self.parts.expired(now_ms);
        expired.iter().for_each(|set| self.gone(&set.parts));
        expired
    }

    /// Takes out every text of which at least one part fits.
    pub(super) fn take_if(&mut self, fits: impl FnMut(&Message) -> bool) -> Vec<Message> {
        let taken = self.parts.take_if(fits);
        self.gone(&taken);
        taken
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = u64> {
        self.parts.values().map(|part| part.id)
    }

    fn gone(&mut self, parts: &[Message]) {
        for part in parts {
            self.shares.give(&part.sender, part.weight());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(
        sender: u32,
        reference: u16,
        sequence: u8,
        octets: usize,
    ) -> (AssemblyKey, TextPart<Message>) {
        let key = (sender, Bytes::new(), Bytes::new(), reference, true, 3);
        let value = Message {
            id: u64::from(reference) * 10 + u64::from(sequence),
            sender,
            short_message: vec![b'x'; octets].into(),
            ..Message::default()
        };
        let part = TextPart {
            total: 3,
            sequence,
            fingerprint: value.id,
            holder: sender,
            value,
        };
        (key, part)
    }

    fn waiting(parts: u32) -> WaitingParts {
        WaitingParts::new(&config::ContentConfig {
            reassembly_parts: parts,
            reassembly_mib: 1,
            ..config::ContentConfig::default()
        })
    }

    fn add(
        waiting: &mut WaitingParts,
        at: i64,
        (key, part): (AssemblyKey, TextPart<Message>),
    ) -> Vec<u64> {
        waiting.add(at, key, part);
        let mut given_up = Vec::new();
        while let Some(parts) = waiting.evict() {
            given_up.extend(parts.iter().map(|part| part.sender as u64));
        }
        given_up
    }

    #[test]
    fn parts_of_many_octets_stay_within_the_bound_and_cost_only_their_sender() {
        let mut waiting = waiting(100_000);
        assert!(add(&mut waiting, 0, part(1, 0, 1, 100)).is_empty());
        for number in 1..1_000 {
            let given_up = add(&mut waiting, number.into(), part(2, number, 1, 60_000));
            assert!(given_up.iter().all(|sender| *sender == 2));
            assert!(waiting.shares.all() <= waiting.most());
        }
        assert_eq!(waiting.parts.len(), 1 + 17);
        assert!(add(&mut waiting, 2_000, part(1, 0, 2, 100)).is_empty());
        let (key, last) = part(1, 0, 3, 100);
        let Added::Complete(whole) = waiting.add(2_000, key, last) else {
            panic!("the text of the other account is complete");
        };
        assert_eq!(whole.len(), 3);
    }

    #[test]
    fn many_small_parts_cost_only_their_sender_too() {
        let mut waiting = waiting(100);
        assert!(add(&mut waiting, 0, part(1, 0, 1, 100)).is_empty());
        for number in 1..1_000 {
            let given_up = add(&mut waiting, number.into(), part(2, number, 1, 0));
            assert!(given_up.iter().all(|sender| *sender == 2));
        }
        assert_eq!(waiting.parts.len(), 100);
        assert!(waiting.ids().any(|id| id == 1));
    }

    #[test]
    fn what_has_gone_counts_no_more() {
        let mut waiting = waiting(100);
        add(&mut waiting, 0, part(1, 0, 1, 100));
        add(&mut waiting, 0, part(1, 0, 1, 100));
        add(&mut waiting, 0, part(2, 1, 1, 100));
        add(&mut waiting, 0, part(3, 2, 1, 100));
        assert_eq!(waiting.take_if(|part| part.sender == 2).len(), 1);
        assert_eq!(waiting.expired(i64::MAX).len(), 2);
        assert_eq!(waiting.shares.all(), 0);
    }
}
