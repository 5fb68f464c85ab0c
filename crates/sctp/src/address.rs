//! Addresses as the kernel reads them in lists (`sctp_bindx`, `sctp_connectx`) and writes them in its structures.
//!
//! A list is sockaddr_in and sockaddr_in6 packed one behind the other (RFC 6458 §9.1); a structure has a
//! sockaddr_storage, 128 octets. The family is a native u16, the port in network order. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use socket2::Domain;

/// Octets of sockaddr_storage.
pub(crate) const STORAGE: usize = 128;

const FAMILY_V4: u16 = libc::AF_INET as u16;
const FAMILY_V6: u16 = libc::AF_INET6 as u16;
const OCTETS_V4: usize = 16;
const OCTETS_V6: usize = 28;

/// What a socket must be for all of these: of IPv6 if one of them is, for it takes both.
pub(crate) fn domain_of(addresses: &[SocketAddr]) -> Domain {
    if addresses.iter().any(SocketAddr::is_ipv6) {
        Domain::IPV6
    } else {
        Domain::IPV4
    }
}

/// A list of addresses, packed.
pub(crate) fn packed(addresses: &[SocketAddr]) -> Vec<u8> {
    let mut list = Vec::with_capacity(addresses.len() * OCTETS_V6);
    addresses
        .iter()
        .for_each(|address| push(&mut list, *address));
    list
}

/// One address as a sockaddr_storage.
pub(crate) fn storage(address: SocketAddr) -> Vec<u8> {
    let mut octets = Vec::with_capacity(STORAGE);
    push(&mut octets, address);
    octets.resize(STORAGE, 0);
    octets
}

fn push(list: &mut Vec<u8>, address: SocketAddr) {
    match address {
        SocketAddr::V4(v4) => {
            list.extend_from_slice(&FAMILY_V4.to_ne_bytes());
            list.extend_from_slice(&v4.port().to_be_bytes());
            list.extend_from_slice(&v4.ip().octets());
            list.extend_from_slice(&[0; 8]);
        }
        SocketAddr::V6(v6) => {
            list.extend_from_slice(&FAMILY_V6.to_ne_bytes());
            list.extend_from_slice(&v6.port().to_be_bytes());
            list.extend_from_slice(&v6.flowinfo().to_ne_bytes());
            list.extend_from_slice(&v6.ip().octets());
            list.extend_from_slice(&v6.scope_id().to_ne_bytes());
        }
    }
}

/// The address at the beginning of these octets, and how many it has in a list; `None` for another family and for too few
/// octets. An IPv4 address in an IPv6 one (`::ffff:…`) is one of IPv4.
pub(crate) fn read(octets: &[u8]) -> Option<(SocketAddr, usize)> {
    let family = u16::from_ne_bytes(*octets.first_chunk()?);
    let port = u16::from_be_bytes(*octets.get(2..)?.first_chunk()?);
    match family {
        FAMILY_V4 => {
            let ip = Ipv4Addr::from(*octets.get(..OCTETS_V4)?.get(4..)?.first_chunk::<4>()?);
            Some((SocketAddr::new(ip.into(), port), OCTETS_V4))
        }
        FAMILY_V6 => {
            let octets = octets.get(..OCTETS_V6)?;
            let ip = Ipv6Addr::from(*octets.get(8..)?.first_chunk::<16>()?);
            let flow = u32::from_ne_bytes(*octets.get(4..)?.first_chunk()?);
            let scope = u32::from_ne_bytes(*octets.get(24..)?.first_chunk()?);
            let address = match ip.to_canonical() {
                IpAddr::V4(v4) => SocketAddr::new(v4.into(), port),
                IpAddr::V6(v6) => SocketAddrV6::new(v6, port, flow, scope).into(),
            };
            Some((address, OCTETS_V6))
        }
        _ => None,
    }
}

/// The addresses of a list, up to the first that cannot be read.
pub(crate) fn unpacked(mut list: &[u8], count: usize) -> Vec<SocketAddr> {
    let mut addresses = Vec::new();
    while addresses.len() < count {
        let Some((address, octets)) = read(list) else {
            break;
        };
        addresses.push(address);
        list = list.get(octets..).unwrap_or_default();
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_packed_as_the_kernel_reads_it() {
        let addresses: Vec<SocketAddr> = ["192.0.2.1:2905", "[2001:db8::7]:2905", "192.0.2.2:0"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        let list = packed(&addresses);
        assert_eq!(list.len(), OCTETS_V4 + OCTETS_V6 + OCTETS_V4);
        assert_eq!(list[2..8], [0x0B, 0x59, 192, 0, 2, 1], "port and address");
        assert_eq!(unpacked(&list, 3), addresses);
        assert_eq!(unpacked(&list, 2), addresses[..2]);
        assert_eq!(domain_of(&addresses), Domain::IPV6);
        assert_eq!(domain_of(&addresses[..1]), Domain::IPV4);
    }

    #[test]
    fn what_is_cut_or_of_another_family_is_not_read() {
        let list = packed(&["[2001:db8::7]:2905".parse().unwrap()]);
        for length in 0..list.len() {
            assert_eq!(read(&list[..length]), None, "{length}");
        }
        assert_eq!(read(&[1; 128]), None);
        assert_eq!(unpacked(&list[..20], 1), []);
        // A kernel that says more than it gives.
        assert_eq!(unpacked(&list, 1000).len(), 1);
    }

    #[test]
    fn an_ipv4_address_in_an_ipv6_one_is_one_of_ipv4() {
        let list = packed(&["[::ffff:192.0.2.1]:2905".parse().unwrap()]);
        let (address, octets) = read(&list).unwrap();
        assert_eq!(
            (address.to_string().as_str(), octets),
            ("192.0.2.1:2905", 28)
        );
        assert_eq!(read(&storage(address)).unwrap().0, address);
        assert_eq!(storage(address).len(), STORAGE);
    }
}
