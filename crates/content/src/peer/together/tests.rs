//! Wherever a text is cut, its peer gets it as it was.

use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::divide::divide;
use super::super::shape::shape;
use super::super::tests::LONGS;
use super::super::{PeerTreatment, way};
use super::*;
use crate::pdu::{message_of, submit_sm_of};
use encoding_rs::{GB18030, GBK};
use smsc_proto as pb;
use smsc_proto::{Composition, Kind};
use smsc_smpp::{SubmitSm, Tlvs, tag};
use smsc_sms::convert::{self, Alphabet};
use smsc_sms::language::Shifts;

/// How a text comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArrivalCoding {
    /// data_coding 0, which means this to its sender.
    Default(Alphabet),
    /// data_coding 8.
    Ucs2,
    /// From a client of CMPP.
    Gbk,
}

impl ArrivalCoding {
    fn octets(self, text: &str) -> Vec<u8> {
        match self {
            Self::Default(alphabet) => convert::encode(text, alphabet, Shifts::default()).unwrap(),
            Self::Ucs2 => smsc_sms::ucs2::encode(text),
            Self::Gbk => GB18030.encode(text).0.into_owned(),
        }
    }

    /// One part as ingest stores it.
    fn part(self, octets: &[u8], place: Concat, in_fields: bool) -> Message {
        let text = match self {
            Self::Gbk => {
                let read = GBK.decode_without_bom_handling(octets).0;
                smsc_sms::ucs2::encode(&read)
            }
            _ => octets.to_vec(),
        };
        let mut header = UserDataHeader::default();
        let mut tlvs = Tlvs::default();
        if in_fields {
            tlvs.push(tag::SAR_MSG_REF_NUM, &place.reference.to_be_bytes());
            tlvs.push(tag::SAR_TOTAL_SEGMENTS, &[place.total]);
            tlvs.push(tag::SAR_SEGMENT_SEQNUM, &[place.sequence]);
        } else {
            header.set_concat(Some(place));
        }
        let short_message: Bytes = [header.encode(), text].concat().into();
        let mut message = Message {
            esm_class: if in_fields { 0 } else { UDHI },
            data_coding: if matches!(self, Self::Default(_)) {
                0
            } else {
                8
            },
            ..Message::default()
        };
        if short_message.len() <= 254 {
            message.short_message = short_message;
        } else {
            tlvs.push(tag::MESSAGE_PAYLOAD, &short_message);
        }
        message.tlvs = tlvs.raw().clone();
        match self {
            Self::Default(alphabet) => message.set_alphabet(crate::as_stored(alphabet)),
            Self::Ucs2 => {}
            Self::Gbk => {
                message.composition = Some(Box::new(Composition {
                    gbk: Bytes::copy_from_slice(octets),
                    ..Composition::default()
                }));
            }
        }
        message
    }
}

/// The octets of a text, cut into these lengths, one after the other again.
fn cut(
    came: ArrivalCoding,
    text: &str,
    lengths: &[usize],
    place: Concat,
    in_fields: bool,
) -> Vec<Message> {
    let octets = came.octets(text);
    let mut pieces = Vec::new();
    let mut rest = &octets[..];
    for length in lengths.iter().cycle() {
        let (piece, others) = rest.split_at((*length).min(rest.len()));
        pieces.push(piece);
        rest = others;
        if rest.is_empty() {
            break;
        }
    }
    let total = u8::try_from(pieces.len()).unwrap();
    let parts = (1..=total).zip(pieces);
    parts
        .map(|(sequence, piece)| {
            let place = Concat {
                total,
                sequence,
                ..place
            };
            came.part(piece, place, in_fields)
        })
        .collect()
}

/// What leaves for a peer: the parts as they came, or others.
fn sent(parts: &[Message], to: &PeerEncoding) -> Vec<SubmitSm> {
    let ways: Vec<PeerTreatment> = parts.iter().map(|part| way(part, to)).collect();
    assert!(
        ways.iter().all(|way| *way == ways[0]),
        "some wait for others that have left: {ways:?}"
    );
    let own = if ways[0] == PeerTreatment::Gather && must_join(parts, to) {
        let whole = gather(parts).unwrap();
        let to = PeerEncoding {
            long: match to.long {
                LongMessages::AsIs => numbered_as(parts),
                long => long,
            },
            ..to.clone()
        };
        match way(&whole, &to) {
            PeerTreatment::Divide => divide(&whole, &to, 0x1234).unwrap().0,
            _ => vec![whole],
        }
    } else {
        parts.to_vec()
    };
    own.iter()
        .map(|message| {
            let mut pdu = submit_sm_of(message, 0, 0);
            shape(&mut pdu, message, to);
            pdu
        })
        .collect()
}

/// The text that a peer reads in what it gets: octets first, where the parts are written alike.
fn read(pdus: &[SubmitSm], to: &PeerEncoding) -> String {
    let contents: Vec<MessageContent> = pdus
        .iter()
        .map(|pdu| {
            let mut message = message_of(pdu.clone(), Kind::Mt);
            message.set_alphabet(crate::as_stored(to.alphabet));
            MessageContent::read(&message)
        })
        .collect();
    let alike = contents
        .windows(2)
        .all(|two| two[0].coding == two[1].coding);
    if alike {
        let body: Vec<u8> = contents.iter().flat_map(|one| one.body.to_vec()).collect();
        let whole = MessageContent {
            body: body.into(),
            ..contents[0].clone()
        };
        whole.text().unwrap()
    } else {
        contents.iter().map(|one| one.text().unwrap()).collect()
    }
}

fn peer(alphabet: Alphabet, long: LongMessages) -> PeerEncoding {
    PeerEncoding {
        alphabet,
        long,
        ..PeerEncoding::default()
    }
}

const PLACE: Concat = Concat {
    reference: 7,
    wide: false,
    total: 1,
    sequence: 1,
};

#[test]
fn a_character_in_two_parts_arrives_whole() {
    for (came, text, lengths, alphabet) in [
        (
            ArrivalCoding::Default(Alphabet::Gsm),
            "10€",
            vec![3, 1],
            Alphabet::Ascii,
        ),
        (
            ArrivalCoding::Default(Alphabet::Gsm),
            "a{b",
            vec![2, 2],
            Alphabet::Latin1,
        ),
        (
            ArrivalCoding::Default(Alphabet::Utf8),
            "grün",
            vec![3, 2],
            Alphabet::Gsm,
        ),
        (
            ArrivalCoding::Default(Alphabet::Utf8),
            "a😀b",
            vec![2, 1, 1, 2],
            Alphabet::Gsm,
        ),
        (
            ArrivalCoding::Default(Alphabet::Ucs2),
            "x😀",
            vec![4, 2],
            Alphabet::Gsm,
        ),
        (
            ArrivalCoding::Default(Alphabet::Ucs2),
            "xyz",
            vec![3, 2, 1],
            Alphabet::Gsm,
        ),
        (
            ArrivalCoding::Gbk,
            "a你好世界b",
            vec![4, 4, 2],
            Alphabet::Gsm,
        ),
        (
            ArrivalCoding::Gbk,
            "a你好世界b",
            vec![4, 4, 2],
            Alphabet::Ascii,
        ),
        // Four octets of GB 18030.
        (ArrivalCoding::Gbk, "a㐀b", vec![2, 1, 3], Alphabet::Gsm),
    ] {
        for long in LONGS {
            let to = peer(alphabet, long);
            let octets = came.octets(text);
            let parts = cut(came, text, &lengths, PLACE, false);
            assert!(parts.len() > 1, "{octets:02x?}");
            assert_eq!(read(&sent(&parts, &to), &to), text, "{came:?} {long}");
        }
    }
}

#[test]
fn parts_that_go_out_as_they_came_do_not_wait() {
    let gsm = ArrivalCoding::Default(Alphabet::Gsm);
    let as_is = peer(Alphabet::Gsm, LongMessages::AsIs);
    for (came, to) in [
        (gsm, as_is.clone()),
        (gsm, peer(Alphabet::Gsm, LongMessages::Udh)),
        (gsm, peer(Alphabet::GsmPacked, LongMessages::AsIs)),
        (gsm, peer(Alphabet::Gsm, LongMessages::Sar)),
        (
            ArrivalCoding::Ucs2,
            peer(Alphabet::Latin1, LongMessages::AsIs),
        ),
        (
            ArrivalCoding::Ucs2,
            peer(Alphabet::Ascii, LongMessages::Udh),
        ),
        (
            ArrivalCoding::Default(Alphabet::Utf8),
            peer(Alphabet::Utf8, LongMessages::AsIs),
        ),
    ] {
        for part in cut(came, "zwei Teile", &[6], PLACE, false) {
            assert_eq!(way(&part, &to), PeerTreatment::Single, "{came:?} {to:?}");
        }
    }
    // One of its binds may get ASCII.
    let client = PeerEncoding {
        may_be_carrier: true,
        ..as_is
    };
    let parts = cut(gsm, "10€", &[3], PLACE, false);
    assert!(
        parts
            .iter()
            .all(|part| way(part, &client) == PeerTreatment::Gather)
    );
    assert!(must_join(&parts, &client));
    // Those that wait in vain, or for nothing.
    let to = peer(Alphabet::Ascii, LongMessages::Udh);
    let parts = cut(gsm, "zwei Teile", &[5], PLACE, false);
    assert!(
        parts
            .iter()
            .all(|part| way(part, &to) == PeerTreatment::Gather)
    );
    assert!(!must_join(&parts, &to), "they are whole, and fit");
}

#[test]
fn a_part_that_no_longer_fits_takes_the_others_with_it() {
    // 140 characters, of which the first needs UCS-2: the second part would fit by itself.
    let text = format!("č{}", "x".repeat(180));
    let came = ArrivalCoding::Default(Alphabet::Utf8);
    for long in LONGS {
        let to = peer(Alphabet::Gsm, long);
        let parts = cut(came, &text, &[134], PLACE, false);
        let sent = sent(&parts, &to);
        assert_eq!(read(&sent, &to), text, "{long}");
        if long != LongMessages::Payload {
            assert!(sent.len() > parts.len(), "{long}");
            assert!(sent.iter().all(|pdu| pdu.short_message.len() <= 140));
        }
    }
}

#[test]
fn references_of_16_bits_are_not_folded_into_8() {
    let gsm = ArrivalCoding::Default(Alphabet::Gsm);
    let to = peer(Alphabet::Gsm, LongMessages::Udh);
    let handset = PeerEncoding {
        keeps_headers: true,
        ..to.clone()
    };
    for (reference, wide, in_fields, waits, for_handset) in [
        (0x0101, true, false, true, false),
        (0x0001, true, false, false, false),
        (0x0201, true, true, true, true),
        (0x0001, false, false, false, false),
    ] {
        let place = Concat {
            reference,
            wide,
            ..PLACE
        };
        let parts = cut(gsm, "zwei Teile", &[5], place, in_fields);
        assert_eq!(must_join(&parts, &to), waits, "{reference:#x}");
        assert_eq!(must_join(&parts, &handset), for_handset, "{reference:#x}");
        for part in &parts {
            assert_eq!(way(part, &to) == PeerTreatment::Gather, waits || in_fields);
        }
    }
}

#[test]
fn a_text_of_each_peer_that_comes_whole_is_as_before() {
    let mut latin1 = Message::default();
    latin1.set_alphabet(pb::Alphabet::Latin1);
    latin1.short_message = Bytes::from_static(b"caf\xE9");
    for long in LONGS {
        assert_eq!(
            way(&latin1, &peer(Alphabet::Gsm, long)),
            PeerTreatment::Single
        );
    }
}

fn texts_of(came: ArrivalCoding) -> BoxedStrategy<String> {
    match came {
        ArrivalCoding::Default(Alphabet::Gsm) => "[a-z0-9 {}\\[\\]€~äöü]{1,400}".boxed(),
        ArrivalCoding::Default(Alphabet::Latin1) => "[a-z0-9 {}êçÀé]{1,300}".boxed(),
        ArrivalCoding::Gbk => "[a-z0-9一-龥，。]{1,200}".boxed(),
        _ => "[a-z0-9 €äž一-龥😀-😏]{1,200}".boxed(),
    }
}

fn case() -> impl Strategy<Value = (ArrivalCoding, String)> {
    let came = select(vec![
        ArrivalCoding::Default(Alphabet::Gsm),
        ArrivalCoding::Default(Alphabet::Latin1),
        ArrivalCoding::Default(Alphabet::Utf8),
        ArrivalCoding::Default(Alphabet::Ucs2),
        ArrivalCoding::Ucs2,
        ArrivalCoding::Gbk,
    ]);
    came.prop_flat_map(|came| texts_of(came).prop_map(move |text| (came, text)))
}

proptest! {
    #[test]
    fn wherever_a_text_is_cut_its_peer_reads_it(
        (came, text) in case(),
        lengths in prop::collection::vec(20_usize..=134, 1..4),
        alphabet in select(vec![
            Alphabet::Gsm, Alphabet::Latin1, Alphabet::Ascii, Alphabet::Utf8, Alphabet::Ucs2,
        ]),
        long in select(LONGS.to_vec()),
        (reference, wide) in (any::<u16>(), any::<bool>()),
        in_fields: bool,
        user_data_only: bool,
    ) {
        let to = PeerEncoding { user_data_only, ..peer(alphabet, long) };
        let place = Concat {
            reference: if wide || in_fields { reference } else { reference & 0xFF },
            wide: wide || in_fields,
            ..PLACE
        };
        let parts = cut(came, &text, &lengths, place, in_fields);
        let sent = sent(&parts, &to);
        prop_assert_eq!(read(&sent, &to), text);
        // One text has one reference.
        let references: Vec<_> = sent
            .iter()
            .filter_map(|pdu| MessageContent::read(&message_of(pdu.clone(), Kind::Mt)).part)
            .map(|part| part.reference)
            .collect();
        prop_assert!(references.windows(2).all(|two| two[0] == two[1]));
    }
}
