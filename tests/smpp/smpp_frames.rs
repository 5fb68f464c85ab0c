//! For any octets: frames are split by `command_length` alone, nothing panics, and what was written is
//! read back (SMPP 3.4 §3.2, §5.1.1).

use crate::smpp_generate;
use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;
use smsc::smpp::*;

fn encoded(pdu: &Pdu) -> Bytes {
    let mut out = BytesMut::new();
    pdu.encode(&mut out);
    out.freeze()
}

/// A frame of any known or unknown operation with any body.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let command_id = prop_oneof![
        8 => proptest::sample::select(CommandId::ALL),
        1 => any::<u32>().prop_map(CommandId),
    ];
    let status = prop_oneof![Just(0_u32), any::<u32>()];
    let body = prop_oneof![
        vec(any::<u8>(), 0..80),
        vec(prop_oneof![4 => Just(0_u8), 1 => any::<u8>()], 0..80),
    ];
    (command_id, status, any::<u32>(), body).prop_map(|(command_id, status, sequence, body)| {
        let mut out = BytesMut::new();
        let header = Header {
            length: (HEADER_LEN + body.len()) as u32,
            command_id,
            status: CommandStatus(status),
            sequence,
        };
        header.encode(&mut out);
        out.extend_from_slice(&body);
        out.to_vec()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_written_is_read(body in smpp_generate::body(), sequence: u32) {
        let pdu = Pdu::request(sequence, body);
        let frame = encoded(&pdu);
        let header = Header::parse(&frame).unwrap();
        prop_assert_eq!(header.length as usize, frame.len());
        for leniency in [Leniency::strict(), Leniency::default()] {
            prop_assert_eq!(decode(&frame, &leniency), Decoded::Pdu(pdu.clone()));
        }
    }

    #[test]
    fn a_pdu_may_be_cut_anywhere(body in smpp_generate::body(), cut: prop::sample::Index) {
        let frame = encoded(&Pdu::request(7, body));
        let cut = cut.index(frame.len());
        // The frame is incomplete: nothing is taken.
        let mut buf = BytesMut::from(&frame[..cut]);
        prop_assert_eq!(next_frame(&mut buf, DEFAULT_MAX_PDU), Ok(None));
        prop_assert_eq!(buf.len(), cut);
        // A frame with a shortened length is a PDU or an error, and never a panic.
        if cut >= HEADER_LEN {
            let mut short = BytesMut::from(&frame[..cut]);
            short[..4].copy_from_slice(&(cut as u32).to_be_bytes());
            let short = short.freeze();
            for leniency in [Leniency::strict(), Leniency::default()] {
                if let Decoded::Malformed(malformed) = decode(&short, &leniency) {
                    prop_assert_eq!(malformed.header.sequence, 7);
                    prop_assert!(!malformed.status.is_ok());
                }
            }
        }
    }

    #[test]
    fn exactly_one_length_is_consumed(frames in vec(any_frame(), 1..5), tail in vec(any::<u8>(), 0..3)) {
        let mut buf = BytesMut::new();
        for frame in &frames {
            buf.extend_from_slice(frame);
        }
        buf.extend_from_slice(&tail);
        for frame in &frames {
            let cut = next_frame(&mut buf, DEFAULT_MAX_PDU).unwrap().unwrap();
            prop_assert_eq!(&cut[..], &frame[..]);
            let sequence = Header::parse(&cut).unwrap().sequence;
            for leniency in [Leniency::strict(), Leniency::default()] {
                match decode(&cut, &leniency) {
                    Decoded::Pdu(pdu) => {
                        prop_assert_eq!(pdu.sequence, sequence);
                        // A decoded PDU can be encoded again.
                        let again = encoded(&pdu);
                        prop_assert_eq!(again.len(), Header::parse(&again).unwrap().length as usize);
                    }
                    Decoded::Malformed(malformed) => {
                        prop_assert_eq!(malformed.header.sequence, sequence);
                    }
                }
            }
        }
        prop_assert_eq!(&buf[..], &tail[..]);
    }

    #[test]
    fn no_octets_panic(octets in vec(any::<u8>(), 0..200)) {
        let mut buf = BytesMut::from(&octets[..]);
        while let Ok(Some(frame)) = next_frame(&mut buf, 128) {
            prop_assert!(frame.len() >= HEADER_LEN && frame.len() <= 128);
            let _ = decode(&frame, &Leniency::default());
        }
        // Octets that no next_frame has checked, too.
        let _ = decode(&Bytes::from(octets), &Leniency::default());
    }

    #[test]
    fn a_session_answers_or_hands_up_every_request(frames in vec(any_frame(), 1..20), server: bool) {
        let now = std::time::Instant::now();
        let role = if server { session::Role::Server } else { session::Role::Client };
        let config = SessionConfig { role, ..SessionConfig::default() };
        let mut session: Session<u32> = Session::new(config, now);
        let mut out = BytesMut::new();
        for frame in frames {
            let header = Header::parse(&frame).unwrap();
            out.clear();
            let event = session.on_frame(now, frame.into(), &mut out);
            if let session::Event::Bind { sequence, .. } = &event {
                session.accept_bind(now, *sequence, &mut out);
            }
            if matches!(event, session::Event::Unbind) {
                session.answer_unbind(&mut out);
            }
            let handed_up = matches!(event, session::Event::Request(_));
            let is_answerable = header.command_id.has_response()
                || !header.command_id.is_known() && !header.command_id.is_response();
            let answer = next_frame(&mut out, DEFAULT_MAX_PDU).unwrap();
            prop_assert_eq!(answer.is_some(), is_answerable && !handed_up);
            if let Some(answer) = answer {
                let answer = Header::parse(&answer).unwrap();
                prop_assert_eq!(answer.sequence, header.sequence);
                prop_assert!(answer.command_id.is_response());
            }
            prop_assert!(out.is_empty());
        }
    }
}
