//! What is charged is what leaves, whatever a message calls itself and whoever gets it.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::pdu::message_of;
use crate::{as_stored, by_octets};
use smsc_sms::language::Shifts;
use smsc_sms::{convert, pack};

/// What a message says that it is.
#[derive(Debug, Clone, Copy)]
enum Name {
    Whole,
    /// A part by its header, or by TLVs.
    Eight {
        total: u8,
    },
    Sixteen {
        total: u8,
    },
    Fields {
        total: u8,
    },
}

// === impl Name ===

impl Name {
    fn total(self) -> u8 {
        match self {
            Self::Whole => 1,
            Self::Eight { total } | Self::Sixteen { total } | Self::Fields { total } => total,
        }
    }

    fn header(self) -> Vec<u8> {
        match self {
            Self::Eight { total } => vec![5, 0, 3, 7, total, 1],
            Self::Sixteen { total } => vec![6, 8, 4, 0, 7, total, 1],
            Self::Whole | Self::Fields { .. } => Vec::new(),
        }
    }

    fn message(self, data_coding: u32, body: &[u8], in_payload: bool) -> Message {
        let header = self.header();
        let octets = [&header[..], body].concat();
        let mut message = Message {
            id: 7,
            data_coding,
            esm_class: if header.is_empty() { 0 } else { UDHI },
            ..Message::default()
        };
        let mut tlvs = Tlvs::new();
        if let Self::Fields { total } = self {
            tlvs.push(tag::SAR_MSG_REF_NUM, &[0, 7]);
            tlvs.push(tag::SAR_TOTAL_SEGMENTS, &[total]);
            tlvs.push(tag::SAR_SEGMENT_SEQNUM, &[1]);
        }
        if in_payload || octets.len() > SHORT_MESSAGE {
            tlvs.push(tag::MESSAGE_PAYLOAD, &octets);
        } else {
            message.short_message = octets.into();
        }
        message.tlvs = tlvs.raw().clone();
        message
    }
}

fn name() -> impl Strategy<Value = Name> {
    prop_oneof![
        Just(Name::Whole),
        (1_u8..4).prop_map(|total| Name::Eight { total }),
        (1_u8..4).prop_map(|total| Name::Sixteen { total }),
        (1_u8..4).prop_map(|total| Name::Fields { total }),
    ]
}

/// How many short messages so many octets take behind a header of these octets that numbers them.
fn taken(octets: usize, data_coding: u32, numbered: usize) -> usize {
    let room = match data_coding {
        0 => (140 - numbered) * 8 / 7,
        8 => (140 - numbered) & !1,
        _ => 140 - numbered,
    };
    octets.div_ceil(room).max(1)
}

/// How the characters of a message are written.
#[derive(Debug, Clone, Copy)]
enum TextCoding {
    Default(Alphabet),
    Latin1,
    Ucs2,
    Data,
}

// === impl TextCoding ===

impl TextCoding {
    fn message(self, text: &str, name: Name, in_payload: bool) -> Message {
        let (data_coding, alphabet) = match self {
            Self::Default(alphabet) => (0, alphabet),
            Self::Latin1 => (3, Alphabet::Latin1),
            Self::Ucs2 => (8, Alphabet::Ucs2),
            Self::Data => (4, Alphabet::Utf8),
        };
        let octets = match alphabet {
            Alphabet::GsmPacked => {
                let septets = forced(text, Alphabet::Gsm);
                match name.header().len() {
                    0 => pack::pack_text(&septets),
                    header => pack::pack(&septets, pack::fill_bits(header)),
                }
            }
            other => forced(text, other),
        };
        let mut message = name.message(data_coding, &octets, in_payload);
        if data_coding == 0 {
            message.set_alphabet(as_stored(alphabet));
        }
        message
    }
}

/// What the alphabet does not have is replaced.
fn forced(text: &str, alphabet: Alphabet) -> Vec<u8> {
    convert::force(
        text,
        alphabet,
        Shifts::default(),
        UnrepresentableRule::Replace.into(),
    )
    .octets
}

fn codings() -> impl Strategy<Value = TextCoding> {
    prop_oneof![
        select(&Alphabet::ALL[..]).prop_map(TextCoding::Default),
        Just(TextCoding::Latin1),
        Just(TextCoding::Ucs2),
        Just(TextCoding::Data),
    ]
}

/// Characters that alphabets write in one octet, in two septets, in a national table, or not at all.
fn text() -> impl Strategy<Value = String> {
    let characters = ["a", "aé", "a€[", "aaaaaΔ", "ığ", "aç", "a你", "a😀"];
    let length = prop_oneof![0_usize..=8, 60_usize..=180, 0_usize..=700];
    (select(characters.to_vec()), length)
        .prop_map(|(characters, length)| characters.chars().cycle().take(length).collect())
}

fn peers() -> impl Strategy<Value = PeerEncoding> {
    let policy = [
        UnrepresentableRule::Ucs2,
        UnrepresentableRule::Transliterate,
        UnrepresentableRule::Replace,
    ];
    let languages = [Vec::new(), vec![Language::Turkish]];
    (
        (select(&Alphabet::ALL[..]), select(&LONGS[..])),
        (select(policy.to_vec()), select(languages.to_vec())),
        any::<bool>(),
    )
        .prop_map(|((alphabet, long), (policy, languages), is_carrier)| {
            let encoding = PeerEncoding {
                alphabet,
                long,
                policy,
                languages,
                ..PeerEncoding::default()
            };
            if is_carrier {
                encoding.over_carrier()
            } else {
                encoding
            }
        })
}

/// What the operator counts in a PDU that it gets.
fn read_by(to: &PeerEncoding, message: &Message) -> u32 {
    let mut pdu = submit_sm_of(message, 0, 0);
    shape(&mut pdu, message, to);
    assert!(pdu.short_message.len() <= SHORT_MESSAGE);
    let mut read = message_of(pdu, pb::Kind::Mt);
    read.set_alphabet(as_stored(to.alphabet));
    by_octets(&read)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// In whatever form a message comes and its peer wants it: what is noted, and so charged and recorded, is what the
    /// peer counts in what leaves.
    #[test]
    fn what_is_noted_is_what_leaves(
        name in name(),
        coding in codings(),
        text in text(),
        in_payload: bool,
        divide: bool,
        to in peers(),
    ) {
        let mut message = coding.message(&text, name, in_payload);
        message.divide = divide;
        let way = way(&message, &to);
        let charged = leaves_as(&message, &to);
        note(&mut message, way, &to);
        prop_assert_eq!(segments(&message), charged);
        prop_assert_eq!(leaves_as(&message, &to), charged, "noted");
        match way {
            PeerTreatment::Divide => {
                let Ok((parts, _)) = divide::divide(&message, &to, 9) else {
                    return Ok(());
                };
                prop_assert_eq!(parts.len(), charged as usize);
                for part in &parts {
                    prop_assert_eq!(segments(part), 1);
                    prop_assert_eq!(read_by(&to, part), 1);
                }
                let composition = message.composition.get_or_insert_default();
                composition.sent_as = vec![0; parts.len()];
                prop_assert_eq!(segments(&message), charged);
            }
            PeerTreatment::Single => prop_assert_eq!(read_by(&to, &message), charged),
            // What leaves of a text whose parts are joined is known when all are there.
            PeerTreatment::Gather => {
                let content = MessageContent::read(&message);
                if shape::fits_as_part(&message, &content, &to) {
                    prop_assert_eq!(read_by(&to, &message), charged);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn octets_are_counted_and_not_names(
        name in name(),
        data_coding in prop_oneof![Just(0_u32), Just(4), Just(8)],
        length in prop_oneof![0_usize..400, 0_usize..12_000],
        in_payload: bool,
    ) {
        // No escapes and no surrogates: every place is one where it may be cut.
        let body = vec![b'a'; length & !1];
        let message = name.message(data_coding, &body, in_payload);
        let is_part = name.total() > 1;
        let numbered = match name {
            Name::Sixteen { .. } if is_part => 7,
            _ => 6,
        };
        // The header of what calls itself the only part leaves with it.
        let header = name.header().len();
        let is_one = !is_part && taken(body.len(), data_coding, header) == 1;
        let expected = if is_one { 1 } else { taken(body.len(), data_coding, numbered) };
        prop_assert_eq!(by_octets(&message) as usize, expected, "{:?}", name);
    }
}

/// They leave as they came to a peer that gets all as it is, so they are charged, whatever they contain.
#[test]
fn elements_that_number_nothing_are_counted() {
    let filled = |length: usize| vec![0x4A; length];
    let text = |length: usize| vec![0x78; length];
    for (header, body, charged) in [
        // A number of parts of the wrong length.
        ([&[0xFF, 0x00, 0xFD][..], &filled(253)].concat(), 140, 3),
        // Many numbers, none of which is possible.
        ([&[0xFF][..], &[0, 3, 10, 1, 1].repeat(51)].concat(), 140, 3),
        (vec![0], 140, 2),
        // A part with a second element beside its number.
        (
            [&[0xFD, 0x08, 0xF6][..], &filled(246), &[0, 3, 10, 2, 1]].concat(),
            134,
            3,
        ),
        // What is as it should be.
        (vec![5, 0, 3, 10, 2, 1], 134, 1),
        (vec![6, 8, 4, 0, 10, 2, 1], 133, 1),
        (vec![6, 5, 4, 0x0B, 0x84, 0, 0], 133, 1),
        (vec![11, 5, 4, 0x0B, 0x84, 0, 0, 0, 3, 10, 2, 1], 128, 1),
        // No header at all: its first octet says more than there is.
        (vec![0xFF], 139, 1),
    ] {
        let mut tlvs = Tlvs::new();
        tlvs.push(tag::MESSAGE_PAYLOAD, &[&header[..], &text(body)].concat());
        let message = Message {
            data_coding: 4,
            esm_class: UDHI,
            tlvs: tlvs.raw().clone(),
            ..Message::default()
        };
        assert_eq!(segments(&message), charged, "{header:02X?}");
    }
}
