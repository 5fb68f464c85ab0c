//! Octets ↔ frames: a length of two octets, the stream, the payload.
//!
//! Used by the session and by `smsc decode`. A length says where the next frame starts, so one that is
//! too large ends the connection.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The stream of the handshake and the pings.
pub const CCM: u8 = 0xFE;
/// The stream of Osmocom's protocols; the first octet of a payload says which.
pub const OSMO: u8 = 0xEE;
/// The extension that is GSUP.
pub const GSUP: u8 = 0x05;

/// Octets of length and stream.
pub const HEAD: usize = 3;
/// Octets of the longest frame, its head included: the buffers of Osmocom's programs hold no more, and
/// they close a connection that brings a longer one.
pub const FRAME_MAX: usize = 1_200;

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// For whom it is: [`CCM`], [`OSMO`].
    pub stream: u8,
    /// What it carries; the length counts this.
    pub payload: Bytes,
}

/// A frame longer than what is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {octets} octets is longer than {most}")]
pub struct FrameTooLong {
    /// Its octets, with its head.
    pub octets: usize,
    /// How many may be.
    pub most: usize,
}

/// Cuts the next frame off `buffer`, or nothing while it is not all there. No octets are copied.
///
/// # Errors
/// [`FrameTooLong`] when it has more than `most` octets; `buffer` is left as it is.
pub fn next_frame(buffer: &mut BytesMut, most: usize) -> Result<Option<Frame>, FrameTooLong> {
    let Some([high, low, stream]) = buffer.first_chunk::<HEAD>().copied() else {
        return Ok(None);
    };
    let octets = HEAD + usize::from(u16::from_be_bytes([high, low]));
    if octets > most {
        return Err(FrameTooLong { octets, most });
    }
    if buffer.len() < octets {
        return Ok(None);
    }
    let mut frame = buffer.split_to(octets).freeze();
    frame.advance(HEAD);
    Ok(Some(Frame {
        stream,
        payload: frame,
    }))
}

/// Appends a frame whose payload is these pieces.
///
/// # Errors
/// [`FrameTooLong`] when it would have more than [`FRAME_MAX`] octets; `out` is left as it is.
pub fn write_frame(stream: u8, payload: &[&[u8]], out: &mut BytesMut) -> Result<(), FrameTooLong> {
    let length: usize = payload.iter().map(|piece| piece.len()).sum();
    let (octets, most) = (HEAD + length, FRAME_MAX);
    if octets > most {
        return Err(FrameTooLong { octets, most });
    }
    out.reserve(octets);
    out.put_u16(length as u16);
    out.put_u8(stream);
    payload.iter().for_each(|piece| out.put_slice(piece));
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hex::octets;

    fn buffer(hex: &str) -> BytesMut {
        BytesMut::from(&octets(hex)[..])
    }

    #[test]
    fn frames_are_cut_by_their_length() {
        let mut stream = buffer("0001 FE 00 0003 EE 052401 0000 EE 0002");
        let mut frames = Vec::new();
        while let Some(frame) = next_frame(&mut stream, FRAME_MAX).unwrap() {
            frames.push((frame.stream, frame.payload.to_vec()));
        }
        let expected = [
            (CCM, octets("00")),
            (OSMO, octets("052401")),
            (OSMO, Vec::new()),
        ];
        assert_eq!(frames, expected);
        assert_eq!(stream[..], octets("0002"));
    }

    #[test]
    fn the_longest_frame_is_taken_and_one_octet_more_is_not() {
        let mut out = BytesMut::new();
        let payload = vec![0; FRAME_MAX - HEAD];
        write_frame(OSMO, &[&payload], &mut out).unwrap();
        assert_eq!(out.len(), FRAME_MAX);
        assert!(next_frame(&mut out, FRAME_MAX).unwrap().is_some());
        let too_long = FrameTooLong {
            octets: FRAME_MAX + 1,
            most: FRAME_MAX,
        };
        assert_eq!(
            write_frame(OSMO, &[&payload, &[0]], &mut out),
            Err(too_long)
        );
        assert!(out.is_empty());
        let mut long = buffer("04AE EE 05");
        assert_eq!(next_frame(&mut long, FRAME_MAX), Err(too_long));
        assert_eq!(long.len(), 4);
    }

    proptest! {
        #[test]
        fn any_stream_comes_out_as_it_went_in(
            payloads in prop::collection::vec((any::<u8>(), any::<Vec<u8>>()), 0..5),
            cut in 1_usize..64,
        ) {
            let mut written = BytesMut::new();
            for (stream, payload) in &payloads {
                write_frame(*stream, &[payload], &mut written).unwrap();
            }
            let (mut arrived, mut frames) = (BytesMut::new(), Vec::new());
            for piece in written.chunks(cut) {
                arrived.extend_from_slice(piece);
                while let Some(frame) = next_frame(&mut arrived, FRAME_MAX).unwrap() {
                    frames.push((frame.stream, frame.payload.to_vec()));
                }
            }
            prop_assert_eq!(frames, payloads);
            prop_assert!(arrived.is_empty());
        }
    }
}
