//! What the kernel tells of an association, between its messages (RFC 6458 §6.1).
//!
//! Each notification begins with its type (u16), flags (u16) and length (u32), all in the order of the machine. Pure.

use std::net::SocketAddr;

use super::address::{self, STORAGE};

const ASSOC_CHANGE: u16 = 0x8001;
const PEER_ADDR_CHANGE: u16 = 0x8002;
const SHUTDOWN_EVENT: u16 = 0x8005;

/// A notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SctpNotification {
    /// SCTP_ASSOC_CHANGE (§6.1.1).
    Association {
        change: AssociationChange,
        /// Cause code of RFC 9260 §3.3.10, of the peer's ABORT or the kernel's own; 0 for none.
        error: u16,
        /// Streams that we may write, and read.
        outbound: u16,
        inbound: u16,
    },
    /// SCTP_PEER_ADDR_CHANGE (§6.1.2).
    Path {
        address: SocketAddr,
        change: PathChange,
    },
    /// SCTP_SHUTDOWN_EVENT (§6.1.5): the peer takes nothing more; what it has sent before still comes.
    PeerShutsDown,
    /// One that we did not ask for, by its type.
    Other(u16),
}

/// What has become of an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssociationChange {
    /// It stands.
    Up,
    /// It is lost: the peer has aborted it, or cannot be reached on any path.
    Lost,
    /// The peer has begun anew on the association that stands: what was under way is gone, and M3UA begins anew (RFC 4666
    /// §4.3.3).
    Restarted,
    /// It has been shut down.
    ShutDown,
    /// It could not be made.
    CannotStart,
    Other(u16),
}

/// What has become of an address of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathChange {
    Available,
    Unreachable,
    Removed,
    Added,
    MadePrimary,
    Confirmed,
    PotentiallyFailed,
    Other(i32),
}

// === impl SctpNotification ===

impl SctpNotification {
    /// Reads one; `None` for what is too short.
    pub(crate) fn read(octets: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u16::from_ne_bytes(*octets.get(at..)?.first_chunk()?));
        Some(match word(0)? {
            // sctp_assoc_change: state, error, outbound and inbound streams behind the head of 8 octets.
            ASSOC_CHANGE => Self::Association {
                change: AssociationChange::of(word(8)?),
                // Alone in network order: it is that of the peer's chunk.
                error: u16::from_be(word(10)?),
                outbound: word(12)?,
                inbound: word(14)?,
            },
            // sctp_paddr_change: address, state, error; packed.
            PEER_ADDR_CHANGE => {
                let state = octets.get(8 + STORAGE..)?.first_chunk()?;
                let (address, _) = address::read(octets.get(8..)?)?;
                Self::Path {
                    address,
                    change: PathChange::of(i32::from_ne_bytes(*state)),
                }
            }
            SHUTDOWN_EVENT => Self::PeerShutsDown,
            other => Self::Other(other),
        })
    }
}

// === impl AssociationChange ===

impl AssociationChange {
    /// Whether nothing comes any more.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Lost | Self::ShutDown | Self::CannotStart)
    }

    fn of(state: u16) -> Self {
        match state {
            0 => Self::Up,
            1 => Self::Lost,
            2 => Self::Restarted,
            3 => Self::ShutDown,
            4 => Self::CannotStart,
            other => Self::Other(other),
        }
    }
}

// === impl PathChange ===

impl PathChange {
    fn of(state: i32) -> Self {
        match state {
            0 => Self::Available,
            1 => Self::Unreachable,
            2 => Self::Removed,
            3 => Self::Added,
            4 => Self::MadePrimary,
            5 => Self::Confirmed,
            6 => Self::PotentiallyFailed,
            other => Self::Other(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(kind: u16, length: usize) -> Vec<u8> {
        let mut octets = kind.to_ne_bytes().to_vec();
        octets.extend_from_slice(&0_u16.to_ne_bytes());
        octets.extend_from_slice(&(length as u32).to_ne_bytes());
        octets
    }

    #[test]
    fn a_change_of_the_association_is_read() {
        let mut octets = head(ASSOC_CHANGE, 20);
        for word in [1, 12_u16.to_be(), 10, 9] {
            octets.extend_from_slice(&word.to_ne_bytes());
        }
        octets.extend_from_slice(&7_i32.to_ne_bytes());
        let read = SctpNotification::Association {
            change: AssociationChange::Lost,
            error: 12,
            outbound: 10,
            inbound: 9,
        };
        assert_eq!(SctpNotification::read(&octets), Some(read));
        for length in 0..16 {
            assert_eq!(SctpNotification::read(&octets[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_change_of_a_path_is_read() {
        let address: SocketAddr = "192.0.2.9:2905".parse().unwrap();
        let mut octets = head(PEER_ADDR_CHANGE, 148);
        octets.extend_from_slice(&address::storage(address));
        for number in [1_i32, 0, 7] {
            octets.extend_from_slice(&number.to_ne_bytes());
        }
        assert_eq!(octets.len(), 148, "sctp_paddr_change");
        let read = SctpNotification::Path {
            address,
            change: PathChange::Unreachable,
        };
        assert_eq!(SctpNotification::read(&octets), Some(read));
        assert_eq!(SctpNotification::read(&octets[..139]), None);
    }

    #[test]
    fn others_are_told_by_their_type() {
        let other = SctpNotification::read(&head(0x8009, 12));
        assert_eq!(other, Some(SctpNotification::Other(0x8009)));
        let shuts_down = SctpNotification::read(&head(SHUTDOWN_EVENT, 12));
        assert_eq!(shuts_down, Some(SctpNotification::PeerShutsDown));
        assert_eq!(SctpNotification::read(&[0x01]), None);
    }
}
