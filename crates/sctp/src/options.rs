//! What may be set about an association, and the octets by which the kernel is told.
//!
//! The defaults are for signalling (RFC 4666 §1.4.7, Q.2111 Annex): a path that does not answer is left after some seconds, not after
//! the half minute of RFC 9260 §16. Sections are those of RFC 6458. Pure.

use std::time::Duration;

use super::address::STORAGE;

/// Milliseconds that the kernel is told at most.
const LONGEST: u128 = u32::MAX as u128;
/// SPP_HB_ENABLE (§8.1.12).
const HEARTBEAT_ENABLE: u32 = 1;
/// Octets of sctp_paddrparams as all kernels know it: without flow label and DSCP.
const PATH_PARAMETERS: usize = 4 + STORAGE + 20;

/// What is set before an association is made. Times are told in milliseconds; zero leaves what the kernel has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SctpOptions {
    /// The payload protocol identifier of what is sent.
    pub payload_protocol: u32,
    /// Streams that we ask for, and take, in each direction; the peer may grant fewer. For M3UA one for management and one for
    /// each of the 16 values of SLS.
    pub streams: u16,
    /// How often INIT is sent, and the longest time between two (§5.3.1).
    pub init_attempts: u16,
    pub init_timeout: Duration,
    /// Retransmission timeout before anything was measured, and its bounds (§8.1.1).
    pub rto_initial: Duration,
    pub rto_min: Duration,
    pub rto_max: Duration,
    /// Time between heartbeats on a path that is idle (§8.1.12).
    pub heartbeat: Duration,
    /// Retransmissions in a row before a path counts as failed, and before the association does (§8.1.2).
    pub path_attempts: u16,
    pub association_attempts: u16,
}

/// An option of a socket at the level of SCTP, by its number in linux/sctp.h. None of them has an address of memory in its
/// value, on which `system` depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum SctpOption {
    RtoInfo = 0,
    AssociationInfo = 1,
    InitMessage = 2,
    NoDelay = 3,
    PathParameters = 9,
    Events = 11,
    Status = 14,
    PathInfo = 15,
    ReceiveInfo = 32,
    BindAddresses = 100,
    PeerAddresses = 108,
    Connect = 110,
}

// === impl SctpOptions ===

impl Default for SctpOptions {
    fn default() -> Self {
        Self {
            payload_protocol: super::M3UA,
            streams: 17,
            init_attempts: 4,
            init_timeout: Duration::from_secs(2),
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_millis(250),
            rto_max: Duration::from_secs(2),
            heartbeat: Duration::from_secs(5),
            path_attempts: 3,
            association_attempts: 6,
        }
    }
}

impl SctpOptions {
    /// What every socket has: the notifications that we read, the stream of each message, and no waiting for more to send.
    pub(crate) fn switches() -> [(SctpOption, Vec<u8>); 3] {
        [
            // sctp_event_subscribe, up to what we want: data_io, association, address, send_failure, peer_error, shutdown,
            // partial_delivery.
            (SctpOption::Events, vec![0, 1, 1, 0, 0, 1, 1]),
            (SctpOption::ReceiveInfo, one()),
            (SctpOption::NoDelay, one()),
        ]
    }

    /// What is set before there is an association; those that a listener takes inherit it. Afterwards the kernel refuses
    /// some of it, as attempts of an association that are more than those of its paths.
    pub(crate) fn parameters(&self) -> [(SctpOption, Vec<u8>); 4] {
        [
            (SctpOption::InitMessage, self.init_message()),
            (SctpOption::RtoInfo, self.rto_info()),
            (SctpOption::AssociationInfo, self.association_info()),
            (SctpOption::PathParameters, self.path_parameters()),
        ]
    }

    /// sctp_initmsg.
    fn init_message(&self) -> Vec<u8> {
        let timeout = u16::try_from(millis(self.init_timeout)).unwrap_or(u16::MAX);
        [self.streams, self.streams, self.init_attempts, timeout]
            .map(u16::to_ne_bytes)
            .concat()
    }

    /// sctp_rtoinfo: association, initial, max, min.
    fn rto_info(&self) -> Vec<u8> {
        let times = [self.rto_initial, self.rto_max, self.rto_min];
        let mut octets = vec![0; 4];
        times
            .iter()
            .for_each(|time| octets.extend_from_slice(&millis(*time).to_ne_bytes()));
        octets
    }

    /// sctp_assocparams: association, attempts, and what is left as it is.
    fn association_info(&self) -> Vec<u8> {
        let mut octets = vec![0; 20];
        octets[4..6].copy_from_slice(&self.association_attempts.to_ne_bytes());
        octets
    }

    /// sctp_paddrparams for all addresses: association, address, interval, attempts, MTU, delay, flags; packed.
    fn path_parameters(&self) -> Vec<u8> {
        let mut octets = vec![0; PATH_PARAMETERS];
        octets[132..136].copy_from_slice(&millis(self.heartbeat).to_ne_bytes());
        octets[136..138].copy_from_slice(&self.path_attempts.to_ne_bytes());
        octets[146..150].copy_from_slice(&HEARTBEAT_ENABLE.to_ne_bytes());
        octets
    }
}

fn millis(time: Duration) -> u32 {
    time.as_millis().min(LONGEST) as u32
}

/// A switch that is on.
fn one() -> Vec<u8> {
    1_i32.to_ne_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(octets: &[u8], at: usize) -> u32 {
        u32::from_ne_bytes(octets[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn the_kernel_is_told_by_its_own_structures() {
        let options = SctpOptions {
            streams: 10,
            init_attempts: 3,
            init_timeout: Duration::from_secs(100),
            rto_initial: Duration::from_millis(700),
            rto_max: Duration::from_millis(900),
            rto_min: Duration::from_millis(300),
            heartbeat: Duration::from_secs(7),
            path_attempts: 2,
            association_attempts: 6,
            ..SctpOptions::default()
        };
        let init = options.init_message();
        assert_eq!(init, [10_u16, 10, 3, 65_535].map(u16::to_ne_bytes).concat());
        let rto = options.rto_info();
        assert_eq!([4, 8, 12].map(|at| word(&rto, at)), [700, 900, 300]);
        let association = options.association_info();
        assert_eq!(
            (association.len(), association[4..6].to_vec()),
            (20, 6_u16.to_ne_bytes().to_vec())
        );
        let path = options.path_parameters();
        // The size of the structure before it had spp_ipv6_flowlabel, rounded to its alignment.
        assert_eq!(path.len(), 152);
        assert_eq!((word(&path, 132), word(&path, 146)), (7000, 1));
        assert_eq!(path[136..138], 2_u16.to_ne_bytes());
    }

    #[test]
    fn a_time_without_end_does_not_wrap() {
        assert_eq!(millis(Duration::MAX), u32::MAX);
    }
}
