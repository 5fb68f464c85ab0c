//! How many alerts of others are believed: whoever reaches the signalling network reaches us.
//!
//! Asked by `incoming`. An alertServiceCentre makes the queues look for what waits for its subscriber, and an HLR may be
//! forged. Invariants: memory is bounded; what is too much is counted.

use std::time::Instant;

use ahash::AHashMap;
use smsc_domain::limit::Gcra;

/// Alerts a second that are believed, of one peer and of all.
const ALERTS_OF_PEER: u32 = 200;
const ALERTS: u32 = 1_000;
/// Most peers whose alerts are limited by themselves. Those of more are limited all together only.
const PEERS_MAX: usize = 1_024;

/// What was asked and not done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnservedCounts {
    /// Dialogues for an operation or a context that is not served, that cannot be read, are unknown, or above a bound, which
    /// were refused.
    pub refused: u64,
    /// Such dialogues that were not even refused, because there were more than 100 a second of their peer, or 500 of all.
    pub unanswered: u64,
    /// Alerts that were not believed, because there were more than 200 a second of their peer, or 1,000 of all.
    pub alerts: u64,
}

/// The brakes, and how often they were too much.
pub(super) struct AlertBrakes {
    /// What the brakes count their time from.
    since: Option<Instant>,
    alerts: Gcra,
    /// By the digits of who alerts.
    of_peers: AHashMap<String, Gcra>,
    disbelieved: u64,
}

// === impl AlertBrakes ===

impl AlertBrakes {
    pub(super) fn new() -> Self {
        Self {
            since: None,
            alerts: Gcra::new(f64::from(ALERTS), ALERTS),
            of_peers: AHashMap::new(),
            disbelieved: 0,
        }
    }

    /// Whether an alert of this peer is believed.
    pub(super) fn is_believed(&mut self, peer: &str, now: Instant) -> bool {
        let at = self.nanoseconds(now);
        if !self.of_peers.contains_key(peer) && self.of_peers.len() < PEERS_MAX {
            let brake = Gcra::new(f64::from(ALERTS_OF_PEER), ALERTS_OF_PEER);
            self.of_peers.insert(peer.to_owned(), brake);
        }
        let brake = self.of_peers.get_mut(peer);
        let is_of_few = brake.is_none_or(|brake| brake.take(at, 1).granted > 0);
        let is_believed = is_of_few && self.alerts.take(at, 1).granted > 0;
        self.disbelieved += u64::from(!is_believed);
        is_believed
    }

    /// How many alerts were not believed, since the last call.
    pub(super) fn take_disbelieved(&mut self) -> u64 {
        std::mem::take(&mut self.disbelieved)
    }

    /// Forgets peers that have not alerted for a while.
    pub(super) fn forget_old(&mut self, now: Instant) {
        let at = self.nanoseconds(now);
        self.of_peers
            .retain(|_, brake| brake.available(at) < ALERTS_OF_PEER);
    }

    fn nanoseconds(&mut self, now: Instant) -> u64 {
        let since = *self.since.get_or_insert(now);
        now.saturating_duration_since(since).as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn alerts_of_a_forger_leave_room_for_those_of_others() {
        let (mut brakes, now) = (AlertBrakes::new(), Instant::now());
        let believed = (0..10_000).filter(|_| brakes.is_believed("44770", now));
        assert_eq!(believed.count(), 200);
        assert!(brakes.is_believed("49170", now));
        assert_eq!(brakes.take_disbelieved(), 9_800);
        // One that says to be many.
        let peers = (0..100_000).map(|peer| peer.to_string());
        let believed = peers.filter(|peer| brakes.is_believed(peer, now)).count();
        assert_eq!(believed, 799);
        assert!(brakes.of_peers.len() <= PEERS_MAX);
        let later = now + Duration::from_secs(2);
        brakes.forget_old(later);
        assert!(brakes.of_peers.is_empty());
        assert!(brakes.is_believed("49170", later));
    }
}
