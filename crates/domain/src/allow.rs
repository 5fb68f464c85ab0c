//! Allow-lists of peers: single addresses and CIDR blocks.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;

/// One entry: an address and how many of its leading bits count.
///
/// IPv4 is kept as the mapped IPv6 address, so that a dual-stack listener, which shows IPv4 peers
/// as `::ffff:a.b.c.d`, matches the same entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpNetwork {
    bits: u128,
    mask: u128,
}

/// Addresses that may bind; empty means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowList {
    networks: Vec<IpNetwork>,
}

/// An entry that is neither an address nor a CIDR block.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("\"{0}\" is neither an IP address nor a CIDR block such as 192.0.2.0/24")]
pub struct NotANetwork(pub String);

// === impl IpNetwork ===

impl FromStr for IpNetwork {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || NotANetwork(text.to_owned());
        let (address, length) = match text.trim().split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text.trim(), None),
        };
        let address: IpAddr = address.parse().map_err(|_| refuse())?;
        let width: u32 = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => width,
            Some(length) => length.parse().map_err(|_| refuse())?,
        };
        if length > width {
            return Err(refuse());
        }
        let free = width - length;
        let mask = u128::MAX.checked_shl(free).unwrap_or(0);
        Ok(Self {
            bits: as_bits(address) & mask,
            mask,
        })
    }
}

impl IpNetwork {
    /// Whether the address lies in this network.
    pub fn contains(&self, address: IpAddr) -> bool {
        as_bits(address) & self.mask == self.bits
    }
}

// === impl AllowList ===

impl AllowList {
    /// A list of these entries.
    ///
    /// # Errors
    /// The first entry that is not a network.
    pub fn parse<S: AsRef<str>>(entries: &[S]) -> Result<Self, NotANetwork> {
        let networks = entries
            .iter()
            .map(|entry| entry.as_ref().parse())
            .collect::<Result<_, _>>()?;
        Ok(Self { networks })
    }

    /// Whether a peer at this address may connect.
    pub fn allows(&self, address: IpAddr) -> bool {
        self.networks.is_empty()
            || self
                .networks
                .iter()
                .any(|network| network.contains(address))
    }
}

fn as_bits(address: IpAddr) -> u128 {
    let mapped: Ipv6Addr = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    mapped.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(entries: &[&str], address: &str) -> bool {
        AllowList::parse(entries)
            .unwrap()
            .allows(address.parse().unwrap())
    }

    #[test]
    fn table() {
        assert!(allows(&[], "192.0.2.1"), "empty: everybody");
        assert!(allows(&["192.0.2.1"], "192.0.2.1"));
        assert!(!allows(&["192.0.2.1"], "192.0.2.2"));
        assert!(allows(&["198.51.100.1", "192.0.2.128/25"], "192.0.2.200"));
        assert!(!allows(&["192.0.2.128/25"], "192.0.2.100"));
        assert!(
            allows(&["192.0.2.77/24"], "192.0.2.1"),
            "host bits are ignored"
        );
        assert!(allows(&["0.0.0.0/0"], "203.0.113.9"));
        assert!(!allows(&["0.0.0.0/0"], "2001:db8::1"));
        assert!(allows(&["2001:db8::/32"], "2001:db8:1::1"));
        assert!(!allows(&["2001:db8::/32"], "2001:db9::1"));
        assert!(allows(&["::/0"], "203.0.113.9"));
        assert!(allows(&["192.0.2.0/24"], "::ffff:192.0.2.9"), "dual stack");
    }

    #[test]
    fn refuses_what_is_not_a_network() {
        for entry in [
            "",
            "localhost",
            "192.0.2.0/33",
            "192.0.2.0/",
            "192.0.2/24",
            "::/129",
            "::/-1",
        ] {
            let refused = AllowList::parse(&[entry]).unwrap_err();
            assert_eq!(refused, NotANetwork(entry.to_owned()));
        }
    }
}
