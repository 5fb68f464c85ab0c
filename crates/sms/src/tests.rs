//! Long messages as a whole: cut, numbered, packed, carried in any order, put together again.

use std::collections::BTreeSet;

use bytes::Bytes;
use proptest::prelude::*;

use super::convert::{Choice, choose};
use super::reassemble::{Added, Assembler, TextPart};
use super::segment::{self, PartNumbering, TextTooLong, USER_DATA, Units};
use super::udh::{Concat, UserDataHeader};
use super::{Language, Shifts, gsm7, pack, ucs2};

/// Texts of every kind, some of them long.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        "[ -~]{1,80}",
        "[a-z€\\[\\]{}~^|]{1,80}",
        "[a-zğışçĞİŞÇ]{1,80}",
        "[\u{0900}-\u{097F} ]{1,60}",
        "[😀-🙏a]{1,60}",
        "\\PC{1,40}",
    ];
    prop::collection::vec(pieces, 0..10).prop_map(|pieces| pieces.concat())
}

fn form() -> impl Strategy<Value = PartNumbering> {
    prop_oneof![
        Just(PartNumbering::Eight),
        Just(PartNumbering::Sixteen),
        Just(PartNumbering::Fields)
    ]
}

fn units() -> impl Strategy<Value = Units> {
    prop_oneof![Just(Units::Septets), Just(Units::Octets), Just(Units::Ucs2)]
}

/// A message on the air, and its numbering outside the user data.
#[derive(Debug, Clone, PartialEq)]
struct Aired {
    user_data: Bytes,
    has_header: bool,
    /// Septets or octets behind the header.
    length: usize,
    fields: Option<(u8, u8)>,
}

fn air(text: &str, form: PartNumbering, reference: u16) -> (Units, Vec<Aired>) {
    let (units, shifts, octets) = match choose(text, &[Language::Turkish, Language::Hindi]) {
        Choice::Gsm(shifts) => (Units::Septets, shifts, gsm7::encode(text, shifts).unwrap()),
        Choice::Ucs2 => (Units::Ucs2, Shifts::default(), ucs2::encode(text)),
    };
    let mut header = UserDataHeader::default();
    assert!(header.set_shifts(shifts));
    let bodies = segment::split(&octets.into(), units, &header, form).unwrap();
    let total = bodies.len() as u8;
    let number = |(body, sequence): (Bytes, u8)| {
        let mut header = header.clone();
        if total > 1 && form != PartNumbering::Fields {
            let wide = form == PartNumbering::Sixteen;
            assert!(header.set_concat(Some(Concat {
                reference: if wide { reference } else { reference & 0xFF },
                wide,
                total,
                sequence,
            })));
        }
        let packed = match units {
            Units::Septets => pack::pack(&body, pack::fill_bits(header.octets())),
            _ => body.to_vec(),
        };
        Aired {
            has_header: !header.is_empty(),
            user_data: [header.encode(), packed].concat().into(),
            length: body.len(),
            fields: (form == PartNumbering::Fields).then_some((total, sequence)),
        }
    };
    (units, bodies.into_iter().zip(1..).map(number).collect())
}

/// What a phone reads: its place in the whole, its text.
fn receive(aired: &Aired, units: Units) -> (u8, u8, String) {
    let (header, rest) = if aired.has_header {
        UserDataHeader::split(&aired.user_data).unwrap()
    } else {
        (UserDataHeader::default(), aired.user_data.clone())
    };
    let text = match units {
        Units::Septets => {
            let fill = pack::fill_bits(header.octets());
            gsm7::decode(&pack::unpack(&rest, fill, aired.length), header.shifts())
        }
        _ => ucs2::decode(&rest),
    };
    let (total, sequence) = match (header.concat(), aired.fields) {
        (Some(concat), _) => (concat.total, concat.sequence),
        (None, fields) => fields.unwrap_or((1, 1)),
    };
    (total, sequence, text)
}

fn expired(assembler: &mut Assembler<u8, u32>, now: i64) -> Vec<u32> {
    let sets = assembler.expired(now).into_iter();
    sets.flat_map(|set| set.parts).collect()
}

proptest! {
    #[test]
    fn split_and_reassembled_a_text_is_what_it_was(
        text in text(),
        other in text(),
        form in form(),
        reference: u16,
        order in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..60),
    ) {
        let (units, parts) = air(&text, form, reference);
        for part in &parts {
            prop_assert!(part.user_data.len() <= USER_DATA, "{}", part.user_data.len());
            // A number outside the user data can still be put in.
            if part.fields.is_some_and(|(total, _)| total > 1) {
                let header = if part.has_header { 5 } else { 6 };
                prop_assert!(part.user_data.len() + header <= USER_DATA);
            }
        }
        // Duplicates and parts of another text in between, in any order; then all that is missing.
        let (other_units, others) = air(&other, form, reference);
        let mut arriving: Vec<(bool, &Aired)> = order
            .iter()
            .map(|(index, ours)| (*ours, index.get(if *ours { &parts } else { &others })))
            .collect();
        arriving.extend(parts.iter().map(|part| (true, part)));
        let mut assembler: Assembler<bool, String> = Assembler::new(1_000, 1_000);
        let mut wholes = Vec::new();
        for (ours, aired) in arriving {
            let units = if ours { units } else { other_units };
            let (total, sequence, value) = receive(aired, units);
            let fingerprint = u64::from(sequence);
            let part = TextPart { total, sequence, fingerprint, holder: 0, value };
            match assembler.add(0, ours, part) {
                Added::Complete(texts) if ours => wholes.push(texts.concat()),
                Added::Complete(texts) => prop_assert_eq!(texts.concat(), other.as_str()),
                Added::Waiting | Added::Repeated(_) => {}
                Added::Replaced { .. } => prop_assert!(false, "nothing is used anew here"),
            }
        }
        // All of a text that comes again is that text again.
        prop_assert!(!wholes.is_empty());
        prop_assert!(wholes.iter().all(|whole| *whole == text));
    }

    #[test]
    fn parts_are_as_many_as_counted_and_no_cut_is_inside_a_character(
        octets in prop::collection::vec(prop_oneof![Just(0x1B_u8), Just(0xD8), any::<u8>()], 0..3_000),
        units in units(),
        form in form(),
        header in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let octets = Bytes::from(octets);
        let header = UserDataHeader::split(&header.into()).map(|(header, _)| header).unwrap_or_default();
        let count = segment::count(&octets, units, &header, form);
        match segment::split(&octets, units, &header, form) {
            Err(TextTooLong::Parts { parts }) => prop_assert_eq!(parts, count),
            Err(TextTooLong::Header { .. }) => prop_assert_eq!(count, usize::MAX),
            Ok(parts) => {
                prop_assert_eq!(parts.len(), count);
                prop_assert_eq!(parts.concat(), &octets[..]);
                for pair in parts.windows(2) {
                    let escapes = pair[0].iter().rev().take_while(|octet| **octet == 0x1B).count();
                    prop_assert!(units != Units::Septets || escapes % 2 == 0);
                    prop_assert!(units != Units::Ucs2 || pair[0].len() % 2 == 0);
                }
            }
        }
    }

    #[test]
    fn a_header_of_any_octets_reads_back_or_is_refused(octets in prop::collection::vec(any::<u8>(), 0..300)) {
        let octets = Bytes::from(octets);
        if let Ok((mut header, rest)) = UserDataHeader::split(&octets) {
            let written = header.encode();
            if header.is_empty() {
                prop_assert_eq!(octets[0], 0);
            } else {
                prop_assert_eq!([&written[..], &rest[..]].concat(), &octets[..]);
            }
            let _ = (header.ports(), header.shifts());
            if let Some(concat) = header.concat() {
                prop_assert!(concat.is_possible());
                prop_assert!(header.set_concat(Some(concat)));
                prop_assert_eq!(header.concat(), Some(concat));
            }
        }
    }

    #[test]
    fn every_part_comes_back_exactly_once(
        limit in 0_usize..8,
        steps in prop::collection::vec((0_u8..12, 0_u8..3, 0_u8..5, 0_u8..6, 0_u8..3, -300_i64..700), 0..200),
    ) {
        let mut assembler: Assembler<u8, u32> = Assembler::new(limit, 1_000);
        let mut here: BTreeSet<u32> = BTreeSet::new();
        let (mut now, mut serial) = (0, 0_u32);
        for (step, key, total, sequence, content, passed) in steps {
            now += passed;
            let came_back: Vec<u32> = match step {
                0 => expired(&mut assembler, now),
                1 => assembler.take_if(|value| value % 5 == 0),
                2 => assembler.take_oldest(key.into()).unwrap_or_default(),
                _ => {
                    serial += 1;
                    here.insert(serial);
                    let fingerprint = u64::from(content);
                    let part = TextPart { total, sequence, fingerprint, holder: key.into(), value: serial };
                    match assembler.add(now, key, part) {
                        Added::Waiting => Vec::new(),
                        Added::Complete(values) => {
                            prop_assert_eq!(values.len(), usize::from(total.max(1)).min(values.len()));
                            values
                        }
                        Added::Repeated(value) => {
                            prop_assert_eq!(value, serial, "the one that came last");
                            vec![value]
                        }
                        Added::Replaced { given_up } => {
                            prop_assert!(!given_up.is_empty() && !given_up.contains(&serial));
                            given_up
                        }
                    }
                }
            };
            for value in came_back {
                prop_assert!(here.remove(&value), "{value} came back twice");
            }
            while let Some(values) = assembler.evict() {
                for value in values {
                    prop_assert!(here.remove(&value), "{value} came back twice");
                }
            }
            prop_assert!(assembler.len() <= limit);
            let kept: BTreeSet<u32> = assembler.values().copied().collect();
            prop_assert_eq!(&kept, &here, "nothing is lost");
            prop_assert_eq!(assembler.len(), here.len());
        }
        for value in expired(&mut assembler, i64::MAX) {
            prop_assert!(here.remove(&value));
        }
        prop_assert!(here.is_empty() && assembler.is_empty() && assembler.sets() == 0);
    }
}
