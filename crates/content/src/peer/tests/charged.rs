//! What is charged is what leaves, whatever a message calls itself and whoever gets it.

use proptest::prelude::*;

use super::*;
use crate::segments;
use smsc_proto::Composition;

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn octets_are_counted_and_not_names(
        name in name(),
        data_coding in prop_oneof![Just(0_u32), Just(4), Just(8)],
        length in prop_oneof![0_usize..400, 0_usize..12_000],
        in_payload: bool,
        divide: bool,
    ) {
        // No escapes and no surrogates: every place is one where it may be cut.
        let body = vec![b'a'; length & !1];
        let mut message = name.message(data_coding, &body, in_payload);
        message.divide = divide;
        let is_part = name.total() > 1;
        let numbered = match name {
            Name::Sixteen { .. } if is_part => 7,
            _ => 6,
        };
        let charged = segments(&message) as usize;
        let is_one = !is_part && taken(body.len(), data_coding, 0) == 1;
        let expected = match is_one {
            true => 1,
            false => taken(body.len(), data_coding, numbered),
        };
        prop_assert_eq!(charged, expected, "{:?}", name);

        for long in [
            LongMessages::AsIs,
            LongMessages::Udh,
            LongMessages::Udh16,
            LongMessages::Sar,
            LongMessages::Payload,
        ] {
            let to = peer_encoding(long);
            let way = way(&message, &to);
            prop_assert!(is_part || way != Way::Gather, "{:?} is whole", name);
            let leaves = leaves_as(&message, &to) as usize;
            match way {
                // As one PDU, which counts what its octets take for handsets.
                Way::Single | Way::Gather => prop_assert_eq!(leaves, charged),
                Way::Divide => {
                    let Ok((parts, _)) = divide::divide(&message, &to, 9) else {
                        // More parts than can be numbered: refused, and not charged.
                        prop_assert!(leaves > 255);
                        continue;
                    };
                    prop_assert_eq!(parts.len(), leaves);
                    prop_assert!(parts.iter().all(|part| segments(part) == 1));
                    let whole = Message {
                        composition: Some(Box::new(Composition {
                            sent_as: vec![0; parts.len()],
                            ..Composition::default()
                        })),
                        ..message.clone()
                    };
                    prop_assert_eq!(segments(&whole) as usize, parts.len());
                }
            }
        }
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
