//! The PROXY protocol of load balancers, version 2, as far as a receiver must know it (HAProxy's
//! specification, section 2.2).
//!
//! Pure: [`length`] of the first [`HEAD`] octets says how many follow, [`client`] reads the whole.

use std::net::SocketAddr;

use proxy_header::{ParseConfig, ProxyHeader};
use thiserror::Error;

/// Octets before the addresses: signature, command, family, length.
pub(super) const HEAD: usize = 16;
/// What every header of version 2 begins with.
pub(crate) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// What every header of version 1 begins with.
pub(crate) const VERSION_1: &[u8] = b"PROXY ";
/// Longest header taken, after its head: addresses and what load balancers add to them.
const MOST: usize = 4_096;

/// A header that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum BadHeader {
    #[error(
        "no PROXY protocol header came; let the load balancer send version 2, or remove proxy_from"
    )]
    Missing,
    #[error("a PROXY protocol header of version 1 came; let the load balancer send version 2")]
    Version1,
    #[error("the PROXY protocol header is {0} octets long, more than the {MOST} that are taken")]
    TooLong(usize),
    #[error("the connection ended in the middle of the PROXY protocol header")]
    CutOff,
    #[error("the PROXY protocol header cannot be read")]
    Malformed,
}

/// Whether these first octets can become a header of version 2.
///
/// # Errors
/// What they are instead.
pub(super) fn may_begin(octets: &[u8]) -> Result<(), BadHeader> {
    let common = octets.len().min(SIGNATURE.len());
    if octets[..common] == SIGNATURE[..common] {
        return Ok(());
    }
    let common = octets.len().min(VERSION_1.len());
    Err(if octets[..common] == VERSION_1[..common] {
        BadHeader::Version1
    } else {
        BadHeader::Missing
    })
}

/// Octets that follow a head.
///
/// # Errors
/// More than are taken.
pub(super) fn length(head: &[u8]) -> Result<usize, BadHeader> {
    let &[high, low] = &head[HEAD - 2..HEAD] else {
        return Err(BadHeader::Malformed);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length <= MOST {
        Ok(length)
    } else {
        Err(BadHeader::TooLong(length))
    }
}

/// Whom a whole header announces; `None` for the command LOCAL, and for clients without an IP
/// address: then the connection stands for itself.
///
/// # Errors
/// The header breaks the specification.
pub(super) fn client(header: &[u8]) -> Result<Option<SocketAddr>, BadHeader> {
    let config = ParseConfig {
        include_tlvs: false,
        allow_v1: false,
        allow_v2: true,
    };
    let (read, _) = ProxyHeader::parse(header, config).map_err(|_| BadHeader::Malformed)?;
    Ok(read.proxied_address().map(|address| address.source))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
        let mut header = SIGNATURE.to_vec();
        header.extend([command, family]);
        header.extend((body.len() as u16).to_be_bytes());
        header.extend(body);
        header
    }

    #[test]
    fn announced_addresses() {
        let four = [192, 0, 2, 7, 10, 0, 0, 1, 0x12, 0x34, 0x0A, 0xD7];
        let expected = Ok(Some("192.0.2.7:4660".parse().unwrap()));
        assert_eq!(client(&header(0x21, 0x11, &four)), expected);
        // What load balancers add is passed over.
        let with_tlv = [&four[..], &[0xEA, 0, 2, 1, 2]].concat();
        assert_eq!(client(&header(0x21, 0x11, &with_tlv)), expected);
        let mut six = [0; 36];
        six[..4].copy_from_slice(&[0x20, 0x01, 0x0D, 0xB8]);
        six[15] = 9;
        six[32..34].copy_from_slice(&5_000_u16.to_be_bytes());
        assert_eq!(
            client(&header(0x21, 0x21, &six)),
            Ok(Some("[2001:db8::9]:5000".parse().unwrap()))
        );
        assert_eq!(client(&header(0x20, 0x11, &four)), Ok(None), "LOCAL");
        assert_eq!(client(&header(0x21, 0x00, &[])), Ok(None), "UNSPEC");
        assert_eq!(
            client(&header(0x21, 0x11, &four[..8])),
            Err(BadHeader::Malformed)
        );
        assert_eq!(
            client(&header(0x31, 0x11, &four)),
            Err(BadHeader::Malformed)
        );
    }

    #[test]
    fn what_is_no_header_is_told_apart() {
        assert_eq!(may_begin(b""), Ok(()));
        assert_eq!(may_begin(&SIGNATURE[..5]), Ok(()));
        assert_eq!(may_begin(&header(0x21, 0x11, &[0; 12])), Ok(()));
        assert_eq!(may_begin(b"PRO"), Err(BadHeader::Version1));
        assert_eq!(may_begin(b"PROXY TCP4 192."), Err(BadHeader::Version1));
        assert_eq!(may_begin(&[0, 0, 0, 0x2F]), Err(BadHeader::Missing));
        let long = header(0x21, 0x11, &[0; 5_000]);
        assert_eq!(length(&long[..HEAD]), Err(BadHeader::TooLong(5_000)));
        assert_eq!(length(&header(0x21, 0x11, &[0; 12])[..HEAD]), Ok(12));
    }
}
