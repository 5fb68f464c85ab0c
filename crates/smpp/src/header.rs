//! The 16-octet header that opens every PDU (SMPP 3.4 §3.2, §5.1).
//!
//! Read by the codec and by the session, which decides on the header alone whether a body is worth
//! decoding.

use bytes::{BufMut, BytesMut};

use super::{CommandId, CommandStatus};

/// Octets of the header: four 32-bit integers, most significant octet first (§3.1).
pub const HEADER_LEN: usize = 16;

/// The header's four integers (§5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// `command_length`: octets of the whole PDU, these four included (§5.1.1).
    pub length: u32,
    /// Which operation (§5.1.2).
    pub command_id: CommandId,
    /// Result; 0 in requests (§5.1.3).
    pub status: CommandStatus,
    /// Ties a response to its request (§5.1.4).
    pub sequence: u32,
}

impl Header {
    /// Reads the first 16 octets; `None` when there are fewer.
    pub fn parse(octets: &[u8]) -> Option<Header> {
        let octets: &[u8; HEADER_LEN] = octets.first_chunk()?;
        let word = |at: usize| {
            u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
        };
        Some(Header {
            length: word(0),
            command_id: CommandId(word(4)),
            status: CommandStatus(word(8)),
            sequence: word(12),
        })
    }

    /// Appends the four integers.
    pub fn encode(&self, out: &mut BytesMut) {
        let mut octets = [0u8; HEADER_LEN];
        octets[..4].copy_from_slice(&self.length.to_be_bytes());
        octets[4..8].copy_from_slice(&self.command_id.0.to_be_bytes());
        octets[8..12].copy_from_slice(&self.status.0.to_be_bytes());
        octets[12..].copy_from_slice(&self.sequence.to_be_bytes());
        out.put_slice(&octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enquire_link_of_section_4_11() {
        let octets = [0, 0, 0, 16, 0, 0, 0, 0x15, 0, 0, 0, 0, 0, 0, 0, 9];
        let header = Header::parse(&octets).unwrap();
        assert_eq!(header.length, 16);
        assert_eq!(header.command_id, CommandId::ENQUIRE_LINK);
        assert_eq!(header.sequence, 9);
        let mut out = BytesMut::new();
        header.encode(&mut out);
        assert_eq!(&out[..], &octets);
        assert_eq!(Header::parse(&octets[..15]), None);
    }
}
