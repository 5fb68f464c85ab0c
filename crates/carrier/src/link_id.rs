//! LinkID of CMPP 3.0 and SMGP: which message of a handset is answered by a message, so that both are billed together.
//! SMPP has no field for it; it is a TLV of ours, which accounts over SMPP may read and write as well.

use bytes::Bytes;
use smsc_smpp::{SubmitSm, Tlvs, tag};

/// Octets of a LinkID.
pub const MOST: usize = 20;

/// The LinkID of a message; empty if it has none, or none that fits.
pub fn link_id(message: &SubmitSm) -> Bytes {
    let value = message.tlvs.get(tag::LINK_ID).unwrap_or_default();
    let end = value.iter().position(|octet| *octet == 0);
    let value = &value[..end.unwrap_or(value.len())];
    if value.len() <= MOST {
        Bytes::copy_from_slice(value)
    } else {
        Bytes::new()
    }
}

/// Adds a LinkID, unless it is empty.
pub fn push_link_id(tlvs: &mut Tlvs, link_id: &[u8]) {
    if !link_id.is_empty() {
        tlvs.push(tag::LINK_ID, link_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_id_is_read_as_it_was_written() {
        for (written, read) in [
            (&b"0123456789"[..], &b"0123456789"[..]),
            (b"0123456789\0\0", b"0123456789"),
            (b"", b""),
            (b"longer than twenty octets", b""),
        ] {
            let mut message = SubmitSm::default();
            push_link_id(&mut message.tlvs, written);
            assert_eq!(link_id(&message), read);
        }
    }
}
