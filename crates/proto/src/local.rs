//! The structs of `proto/smsc/local/v1`, and their frames: what programs on the same machine and the SMSC say to each
//! other over a UNIX socket.
//!
//! Called by the connection of the server and by `smsc send --socket`. Pure. A frame is one message behind its length,
//! a varint as protobuf writes it (Protocol Buffers, "Encoding", base 128 varints).

#![allow(missing_docs, clippy::all)]

use bytes::{Buf as _, Bytes, BytesMut};

include!(concat!(env!("OUT_DIR"), "/smsc.local.v1.rs"));

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// The detail of a failure whose cause is not known.
pub const UNANSWERED: &str = "no answer in time; whether it was carried out is not known";

/// Octets of the longest length: those of a 32-bit number in base 128.
const LENGTH: usize = 5;

/// What is no frame. Nothing behind it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFrame {
    /// It has more octets than may be.
    TooLong,
    /// What stands for its length is none.
    NoLength,
}

/// Takes the next frame off the front, without its length; `None` while it is not complete. `most`: octets of a frame.
///
/// # Errors
/// It is too long, or begins with no length.
pub fn take_frame(octets: &mut BytesMut, most: usize) -> Result<Option<Bytes>, NoFrame> {
    let mut length: u64 = 0;
    for (at, octet) in octets.iter().take(LENGTH).enumerate() {
        length |= u64::from(octet & 0x7F) << (7 * at);
        if octet & 0x80 == 0 {
            let begins = at + 1;
            if length > most as u64 {
                return Err(NoFrame::TooLong);
            }
            let ends = begins + length as usize;
            if octets.len() < ends {
                return Ok(None);
            }
            octets.advance(begins);
            return Ok(Some(octets.split_to(ends - begins).freeze()));
        }
    }
    if octets.len() < LENGTH {
        Ok(None)
    } else {
        Err(NoFrame::NoLength)
    }
}

/// Appends a message as a frame.
pub fn put_frame(message: &impl prost::Message, out: &mut BytesMut) {
    // A BytesMut has room for everything.
    let _ = message.encode_length_delimited(out);
}

// === impl FromSmsc ===

impl FromSmsc {
    /// What the SMSC says about a request, or by itself with the number 0.
    pub fn new(request: u64, what: from_smsc::What) -> Self {
        Self {
            request,
            what: Some(what),
        }
    }
}

// === impl Failure ===

impl Failure {
    /// Why a request was not carried out, without a code.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            detail: detail.into(),
            code: 0,
        }
    }
}

// === impl ToSmsc ===

impl ToSmsc {
    /// A request, or an answer.
    pub fn new(request: u64, what: to_smsc::What) -> Self {
        Self {
            request,
            what: Some(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    /// The octets as they arrive, and what is read of them with at most 300 octets in a frame.
    #[test]
    fn frames_are_cut_at_their_lengths() {
        let frame = |octets: &[u8]| Ok(Some(Bytes::copy_from_slice(octets)));
        let long = [&[0xAC, 0x02][..], &[7; 300]].concat();
        for (arrived, read, left) in [
            (&[][..], Ok(None), &[][..]),
            (&[0x00], frame(&[]), &[]),
            (&[0x02, 0x08], Ok(None), &[0x02, 0x08]),
            (&[0x02, 0x08, 0x01], frame(&[0x08, 0x01]), &[]),
            (&[0x02, 0x08, 0x01, 0x02], frame(&[0x08, 0x01]), &[0x02]),
            // A length of two octets, and the first of one.
            (&long, frame(&[7; 300]), &[]),
            (&[0xAC], Ok(None), &[0xAC]),
            // A length that is written longer than need be is one all the same.
            (&[0x81, 0x00, 0x09], frame(&[0x09]), &[]),
            (&[0xAD, 0x02], Err(NoFrame::TooLong), &[0xAD, 0x02]),
            (
                &[0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
                Err(NoFrame::TooLong),
                &[0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
            ),
            (&[0xFF; 4], Ok(None), &[0xFF; 4]),
            (&[0xFF; 5], Err(NoFrame::NoLength), &[0xFF; 5]),
        ] {
            let mut octets = BytesMut::from(arrived);
            assert_eq!(take_frame(&mut octets, 300), read, "{arrived:02X?}");
            assert_eq!(&octets[..], left, "{arrived:02X?}");
        }
    }

    #[test]
    fn what_is_put_is_taken_again_however_it_is_cut() {
        let frames = [
            ToSmsc::default(),
            ToSmsc::new(
                1,
                to_smsc::What::Hello(Hello {
                    version: VERSION,
                    program: "x".repeat(200),
                    role: "imsi".to_owned(),
                }),
            ),
            ToSmsc::new(u64::MAX, to_smsc::What::Cancel(Cancel { id: 1 << 60 })),
        ];
        let mut all = BytesMut::new();
        frames.iter().for_each(|frame| put_frame(frame, &mut all));
        for cut in 0..all.len() {
            let mut octets = BytesMut::new();
            let mut found = Vec::new();
            for piece in [&all[..cut], &all[cut..]] {
                octets.extend_from_slice(piece);
                while let Some(frame) = take_frame(&mut octets, 1024).unwrap() {
                    found.push(ToSmsc::decode(frame).unwrap());
                }
            }
            assert_eq!(found, frames, "cut at {cut}");
        }
    }

    #[test]
    fn a_hello_has_these_octets() {
        // Fields 1 and 2 of Hello in field 2 of ToSmsc, whose request is 1 in field 1.
        let hello = Hello {
            version: 1,
            program: "cat".to_owned(),
            role: String::new(),
        };
        let mut octets = BytesMut::new();
        put_frame(&ToSmsc::new(1, to_smsc::What::Hello(hello)), &mut octets);
        let expected = b"\x0b\x08\x01\x12\x07\x08\x01\x12\x03cat";
        assert_eq!(&octets[..], expected);
    }
}
