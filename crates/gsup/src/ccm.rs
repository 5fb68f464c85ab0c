//! The messages of the stream [`crate::ipa::CCM`]: who is at the other end, and whether it is still
//! there.
//!
//! The server asks (ID_GET), the client answers with its names (ID_RESP) and an acknowledgement
//! (ID_ACK) that the server returns. The name with the tag [`SERIAL_NUMBER`] is the one that GSUP
//! messages are routed by; a server closes a connection without one.

use bytes::{Buf, Bytes};

/// Tags of names.
pub const SERIAL_NUMBER: u8 = 0;
pub const UNIT_NAME: u8 = 1;
pub const UNIT_ID: u8 = 8;

/// What a server of Osmocom asks for, in its order.
pub const ASKED: [u8; 8] = [8, 7, 2, 3, 4, 5, 1, 0];

const PING: u8 = 0;
const PONG: u8 = 1;
const ID_GET: u8 = 4;
const ID_RESPONSE: u8 = 5;
const ID_ACK: u8 = 6;
const ID_NACK: u8 = 7;

/// A message of this stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ccm {
    Ping,
    Pong,
    /// ID_GET: the tags of the names that the server wants to know.
    IdGet(Vec<u8>),
    /// ID_RESP: tags and names, without the NUL at their ends.
    IdResponse(Vec<(u8, Bytes)>),
    IdAck,
    IdNack,
}

/// Why a message cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CcmError {
    /// Not even a type.
    #[error("the frame is empty")]
    Empty,
    /// A type that does not exist.
    #[error("message type {0:#04x} is not known")]
    Type(u8),
    /// A list that ends inside an entry.
    #[error("the list of names ends inside an entry")]
    List,
}

// === impl Ccm ===

impl Ccm {
    /// Reads the payload of a frame.
    ///
    /// # Errors
    /// [`CcmError`].
    pub fn decode(payload: &Bytes) -> Result<Self, CcmError> {
        let (kind, list) = payload.split_first().ok_or(CcmError::Empty)?;
        Ok(match *kind {
            PING => Ccm::Ping,
            PONG => Ccm::Pong,
            ID_GET => Ccm::IdGet(asked(list)?),
            ID_RESPONSE => Ccm::IdResponse(names(payload.slice(1..))?),
            ID_ACK => Ccm::IdAck,
            ID_NACK => Ccm::IdNack,
            other => return Err(CcmError::Type(other)),
        })
    }

    /// The payload of its frame. Names end before their first NUL and after 254 octets.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Ccm::Ping => vec![PING],
            Ccm::Pong => vec![PONG],
            Ccm::IdAck => vec![ID_ACK],
            Ccm::IdNack => vec![ID_NACK],
            Ccm::IdGet(tags) => {
                let mut out = vec![ID_GET];
                tags.iter().for_each(|tag| out.extend([1, *tag]));
                out
            }
            Ccm::IdResponse(names) => {
                let mut out = vec![ID_RESPONSE];
                for (tag, name) in names {
                    let name = until_nul(name);
                    // A tag and a NUL beside it.
                    out.extend((name.len() as u16 + 2).to_be_bytes());
                    out.push(*tag);
                    out.extend_from_slice(name);
                    out.push(0);
                }
                out
            }
        }
    }

    /// Its name: `ID_GET`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Ccm::Ping => "PING",
            Ccm::Pong => "PONG",
            Ccm::IdGet(_) => "ID_GET",
            Ccm::IdResponse(_) => "ID_RESP",
            Ccm::IdAck => "ID_ACK",
            Ccm::IdNack => "ID_NACK",
        }
    }
}

/// What the name of a tag is.
#[must_use]
pub fn tag_name(tag: u8) -> &'static str {
    match tag {
        SERIAL_NUMBER => "serial number, the name that is routed by",
        UNIT_NAME => "unit name",
        2 => "location 1",
        3 => "location 2",
        4 => "equipment version",
        5 => "software version",
        6 => "IP address",
        7 => "MAC address",
        UNIT_ID => "unit id",
        _ => "no name known",
    }
}

/// Longest name: what an element of GSUP has room for, beside a NUL.
const NAME_MAX: usize = 254;

fn until_nul(name: &[u8]) -> &[u8] {
    let name = &name[..name.len().min(NAME_MAX)];
    name.split(|octet| *octet == 0).next().unwrap_or_default()
}

/// Tags, each behind a length that counts it.
fn asked(mut list: &[u8]) -> Result<Vec<u8>, CcmError> {
    let mut tags = Vec::new();
    while let Some((length, rest)) = list.split_first() {
        let entry = rest.get(..usize::from(*length)).ok_or(CcmError::List)?;
        tags.extend(entry.first());
        list = &rest[entry.len()..];
    }
    Ok(tags)
}

/// Tags and names, behind a length of two octets that counts both.
fn names(mut list: Bytes) -> Result<Vec<(u8, Bytes)>, CcmError> {
    let mut names = Vec::new();
    while !list.is_empty() {
        let length = list.first_chunk::<2>().ok_or(CcmError::List)?;
        let length = usize::from(u16::from_be_bytes(*length));
        list.advance(2);
        if length > list.len() {
            return Err(CcmError::List);
        }
        let entry = list.split_to(length);
        if let Some(tag) = entry.first() {
            let name = until_nul(&entry[1..]).len();
            names.push((*tag, entry.slice(1..=name)));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hex::octets;

    fn table() -> Vec<(&'static str, Ccm)> {
        let unit = (UNIT_ID, Bytes::from_static(b"0/0/0"));
        let name = (SERIAL_NUMBER, Bytes::from_static(b"SMSC"));
        vec![
            ("00", Ccm::Ping),
            ("01", Ccm::Pong),
            // As a server of Osmocom asks.
            (
                "04 0108 0107 0102 0103 0104 0105 0101 0100",
                Ccm::IdGet(ASKED.to_vec()),
            ),
            (
                "05 0007 08 302F302F3000 0006 00 534D534300",
                Ccm::IdResponse(vec![unit, name]),
            ),
            ("06", Ccm::IdAck),
            ("07", Ccm::IdNack),
        ]
    }

    #[test]
    fn messages_are_read_and_written() {
        for (hex, ccm) in table() {
            let payload = Bytes::from(octets(hex));
            assert_eq!(Ccm::decode(&payload), Ok(ccm.clone()), "{hex}");
            assert_eq!(ccm.encode(), payload, "{hex}");
        }
    }

    #[test]
    fn odd_lists_are_read_as_far_as_they_make_sense() {
        let name = |name: &'static [u8]| Ccm::IdResponse(vec![(0, Bytes::from_static(name))]);
        for (hex, read) in [
            // A name without a NUL, an empty one, an entry without a tag, more behind a tag.
            ("05 0003 00 4142", Ok(name(b"AB"))),
            ("05 0001 00", Ok(name(b""))),
            ("05 0000 0002 00 41", Ok(name(b"A"))),
            ("04 00 02 08FF 01 00", Ok(Ccm::IdGet(vec![8, 0]))),
            ("04 02 08", Err(CcmError::List)),
            ("05 0003 00 41", Err(CcmError::List)),
            ("05 00", Err(CcmError::List)),
            ("08", Err(CcmError::Type(8))),
            ("", Err(CcmError::Empty)),
        ] {
            assert_eq!(Ccm::decode(&octets(hex).into()), read, "{hex}");
        }
    }

    proptest! {
        #[test]
        fn no_octets_panic(octets: Vec<u8>, kind in 0_u8..9) {
            let payload: Bytes = [&[kind][..], &octets].concat().into();
            if let Ok(read) = Ccm::decode(&payload) {
                prop_assert_eq!(Ccm::decode(&read.encode().into()), Ok(read));
            }
        }
    }
}
