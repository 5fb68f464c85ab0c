//! The addresses of a peer, and how each of them is (RFC 6458 §8.2.2).
//!
//! Asked by who shows the paths of an association. Pure: the octets come from `connection`.

use std::net::SocketAddr;
use std::time::Duration;

use super::address::{self, STORAGE};

/// Octets of sctp_paddrinfo: association, address, state, window, round trip, timeout, MTU; packed.
pub(crate) const INFO: usize = 4 + STORAGE + 5 * 4;

/// One address of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SctpPath {
    pub address: SocketAddr,
    pub state: PathState,
    /// Smoothed round trip.
    pub round_trip: Duration,
    /// The present retransmission timeout.
    pub timeout: Duration,
}

/// Whether messages go to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathState {
    /// It does not answer.
    Inactive,
    /// It begins to fail: others are preferred.
    PotentiallyFailed,
    Active,
    /// Said by the peer, and not tried yet.
    Unconfirmed,
    Unknown,
}

// === impl SctpPath ===

impl SctpPath {
    /// The question about an address.
    pub(crate) fn question(address: SocketAddr) -> Vec<u8> {
        let mut octets = 0_i32.to_ne_bytes().to_vec();
        octets.extend_from_slice(&address::storage(address));
        octets.resize(INFO, 0);
        octets
    }

    /// Its answer; `None` for what is too short.
    pub(crate) fn read(address: SocketAddr, octets: &[u8]) -> Option<Self> {
        let word = |number: usize| {
            let at = 4 + STORAGE + number * 4;
            Some(u32::from_ne_bytes(*octets.get(at..)?.first_chunk()?))
        };
        let millis = |number| Some(Duration::from_millis(word(number)?.into()));
        Some(Self {
            address,
            state: match word(0)? {
                0 => PathState::Inactive,
                1 => PathState::PotentiallyFailed,
                2 => PathState::Active,
                3 => PathState::Unconfirmed,
                _ => PathState::Unknown,
            },
            round_trip: millis(2)?,
            timeout: millis(3)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_the_question_is_read() {
        let address: SocketAddr = "192.0.2.9:2905".parse().unwrap();
        let mut octets = SctpPath::question(address);
        assert_eq!(octets.len(), 152, "sctp_paddrinfo");
        for (number, value) in [2_u32, 4380, 12, 500, 1500].into_iter().enumerate() {
            let at = 132 + number * 4;
            octets[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        let path = SctpPath::read(address, &octets).unwrap();
        assert_eq!(path.state, PathState::Active);
        assert_eq!(path.round_trip, Duration::from_millis(12));
        assert_eq!(path.timeout, Duration::from_millis(500));
        assert_eq!(SctpPath::read(address, &octets[..140]), None);
    }
}
