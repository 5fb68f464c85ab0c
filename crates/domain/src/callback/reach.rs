//! Which addresses a callback may be sent to: public ones, and those that the administrator allows.
//!
//! The URL of a callback comes from a customer. Without this check it would reach what only this machine
//! reaches: its own ports, its neighbours, the metadata service of its cloud. Asked for the address that is
//! dialled, after the name was resolved: a name may resolve to anything, and to something else the next time.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::allow::IpNetwork;

/// Hosts and networks that may be reached although they are not public.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    networks: Vec<IpNetwork>,
    /// In lower case.
    hosts: Vec<String>,
}

/// An entry that is neither.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("\"{0}\" is neither a host name nor an IP address nor a CIDR block such as 10.1.0.0/16")]
pub struct NotReachable(pub String);

// === impl Reach ===

impl Reach {
    /// From IP addresses, CIDR blocks and host names.
    ///
    /// # Errors
    /// The first entry that is none of them.
    pub fn parse<S: AsRef<str>>(entries: &[S]) -> Result<Self, NotReachable> {
        let mut reach = Self::default();
        for entry in entries {
            let entry = entry.as_ref().trim();
            let is_name = |octet: u8| octet.is_ascii_alphanumeric() || b"-._".contains(&octet);
            if let Ok(network) = entry.parse() {
                reach.networks.push(network);
            } else if !entry.is_empty() && entry.bytes().all(is_name) {
                reach.hosts.push(entry.to_ascii_lowercase());
            } else {
                return Err(NotReachable(entry.to_owned()));
            }
        }
        Ok(reach)
    }

    /// Whether a host, as a URL has it, is listed: by its name, or by its address if it is one.
    pub fn lists(&self, host: &str) -> bool {
        let is_named = self.hosts.iter().any(|one| one.eq_ignore_ascii_case(host));
        is_named || host.parse().is_ok_and(|address| self.contains(address))
    }

    /// Whether this address may be dialled for this host.
    pub fn may_dial(&self, host: &str, address: IpAddr) -> bool {
        is_public(address) || self.contains(address) || self.lists(host)
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.networks
            .iter()
            .any(|network| network.contains(address))
    }
}

/// Whether an address belongs to the public internet (IANA's registries of special-purpose addresses).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_special = match (first, second, third) {
        // "This network", private, loopback.
        (0 | 10 | 127, ..) => true,
        // Carrier-grade NAT.
        (100, 64..=127, _) => true,
        // Link-local, where clouds have their metadata.
        (169, 254, _) => true,
        (172, 16..=31, _) | (192, 168, _) => true,
        // Protocol assignments, documentation, 6to4 relays.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 51, 100) | (203, 0, 113) => true,
        // Benchmarks.
        (198, 18 | 19, _) => true,
        // Multicast, reserved, broadcast.
        (224.., ..) => true,
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = embedded_v4(address) {
        return is_public_v4(inner);
    }
    let [first, second, ..] = address.segments();
    let is_special = match (first, second) {
        // Protocol assignments (Teredo among them), documentation.
        (0x2001, 0..=0x01ff | 0x0db8) | (0x3fff, 0..=0x0fff) => true,
        // Global unicast is 2000::/3: the rest is loopback, unique-local, link-local, multicast, …
        _ => first & 0xe000 != 0x2000,
    };
    !is_special
}

/// The address of IPv4 that is reached by this one: mapped (RFC 4291), NAT64 (RFC 6052) or 6to4 (RFC 3056).
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(joined(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(joined(high, low)),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(address: &str) -> bool {
        is_public(address.parse().unwrap())
    }

    #[test]
    fn only_the_internet_is_public() {
        for address in [
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2600:1901::1",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(public(address), "{address}");
        }
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!public(address), "{address}");
        }
    }

    #[test]
    fn what_is_listed_may_be_private() {
        let reach = Reach::parse(&["10.1.0.0/16", "::1", "Hooks.internal"]).unwrap();
        let may = |host: &str, address: &str| reach.may_dial(host, address.parse().unwrap());
        assert!(may("example.com", "10.1.2.3"));
        assert!(!may("example.com", "10.2.2.3"));
        assert!(may("hooks.internal", "10.2.2.3"), "by its name");
        assert!(may("x", "::1"));
        assert!(may("x", "8.8.8.8"), "the public ones always");
        assert!(reach.lists("HOOKS.internal"));
        assert!(reach.lists("10.1.255.1"));
        assert!(!reach.lists("10.2.0.1"));
        assert!(!Reach::default().lists("localhost"));
        assert!(!Reach::default().may_dial("localhost", "127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn refuses_what_is_neither_host_nor_network() {
        for entry in ["", " ", "http://a", "a b", "10.0.0.0/33", "a/8"] {
            let refused = Reach::parse(&[entry]);
            assert_eq!(refused, Err(NotReachable(entry.trim().to_owned())));
        }
    }
}
