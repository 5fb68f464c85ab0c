//! Who is who among peers: when two addresses are those of one node, and how many dialogues each peer holds.

use ahash::AHashMap;
use smsc_sigtran::SccpAddress;

/// What two addresses of one node have in common: the digits of its global title, otherwise its point code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum PeerKey {
    Digits(String),
    Point(u32),
    /// Neither: then all such are one.
    Unknown,
}

/// How many dialogues each peer has begun.
#[derive(Debug, Default)]
pub(super) struct DialoguesOfPeers {
    of_peer: AHashMap<PeerKey, usize>,
    all: usize,
}

// === impl PeerKey ===

impl PeerKey {
    pub(super) fn of(address: &SccpAddress) -> Self {
        match (&address.global_title, &address.point_code) {
            (Some(title), _) => Self::Digits(title.digits.clone()),
            (None, Some(point)) => Self::Point(point.0),
            (None, None) => Self::Unknown,
        }
    }
}

/// Whether a message from `other` is from the node at `address`. A global title may come with a point code or
/// without, so what both have is compared; the subsystem 0 is one that the sender did not name.
pub(super) fn is_same_node(address: &SccpAddress, other: &SccpAddress) -> bool {
    let is_same_subsystem = address.ssn == other.ssn || address.ssn == 0 || other.ssn == 0;
    let is_same_place = match (&address.global_title, &other.global_title) {
        (Some(title), Some(other)) => title.digits == other.digits,
        (None, None) => address.point_code == other.point_code,
        _ => false,
    };
    is_same_subsystem && is_same_place
}

/// Whether an answer can be sent there.
pub(super) fn is_reachable(address: &SccpAddress) -> bool {
    address.global_title.is_some() || address.point_code.is_some()
}

// === impl DialoguesOfPeers ===

impl DialoguesOfPeers {
    /// How many there are.
    pub(super) fn all(&self) -> usize {
        self.all
    }

    pub(super) fn of(&self, peer: &PeerKey) -> usize {
        self.of_peer.get(peer).copied().unwrap_or(0)
    }

    pub(super) fn opened(&mut self, peer: PeerKey) {
        *self.of_peer.entry(peer).or_default() += 1;
        self.all += 1;
    }

    pub(super) fn closed(&mut self, peer: &PeerKey) {
        if let Some(count) = self.of_peer.get_mut(peer) {
            *count -= 1;
            self.all -= 1;
            if *count == 0 {
                self.of_peer.remove(peer);
            }
        }
    }
}
