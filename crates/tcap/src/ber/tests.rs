//! Lengths that lie, and both of their forms.

use proptest::prelude::*;

use super::*;
use crate::hex::octets;

#[test]
fn elements_are_cut_where_their_lengths_say() {
    // X.690 §8.1: octets, tag, content, what is behind.
    for (input, tag, content, behind) in [
        ("02 01 2D", 0x02, "2D", ""),
        ("05 00 05 00", 0x05, "", "05 00"),
        ("30 03 02 01 01", 0x30, "02 01 01", ""),
        ("04 81 02 AB CD", 0x04, "AB CD", ""),
        ("04 82 00 02 AB CD EF", 0x04, "AB CD", "EF"),
        ("04 8A 00 00 00 00 00 00 00 00 00 01 AB", 0x04, "AB", ""),
        ("9F 22 01 AB", 0x9F22, "AB", ""),
        ("BF 81 7F 00", 0x00BF_817F, "", ""),
        ("30 80 02 01 01 00 00 FF", 0x30, "02 01 01", "FF"),
        ("30 80 00 00", 0x30, "", ""),
        (
            "A1 80 30 80 04 02 00 00 00 00 00 00 01",
            0xA1,
            "30 80 04 02 00 00 00 00",
            "01",
        ),
    ] {
        let input = octets(input);
        let (element, rest) = first(&input).unwrap();
        assert_eq!((element.tag, element.content), (tag, &octets(content)[..]));
        assert_eq!(rest, octets(behind));
        assert_eq!(element.whole.len() + rest.len(), input.len());
    }
}

#[test]
fn what_is_no_element_is_refused() {
    for (input, why) in [
        ("", MalformedBer::CutShort),
        ("30", MalformedBer::CutShort),
        ("1F", MalformedBer::CutShort),
        ("30 01", MalformedBer::CutShort),
        ("30 82 01", MalformedBer::CutShort),
        ("30 84 FF FF FF FF 00", MalformedBer::CutShort),
        ("30 88 FF FF FF FF FF FF FF FF", MalformedBer::CutShort),
        ("30 89 01 00 00 00 00 00 00 00 00", MalformedBer::CutShort),
        ("04 80 01 00 00", MalformedBer::LengthForm),
        ("30 FF 00", MalformedBer::LengthForm),
        ("9F FF FF FF 01 00", MalformedBer::LongTag),
        ("30 80 02 01 01", MalformedBer::CutShort),
        ("30 80 02 01 01 00", MalformedBer::CutShort),
        ("30 80 02 7F 01 00 00", MalformedBer::CutShort),
        ("30 80 04 80 00 00", MalformedBer::LengthForm),
    ] {
        assert_eq!(first(&octets(input)), Err(why), "{input}");
    }
    assert_eq!(only(&octets("05 00 00")), Err(MalformedBer::Unexpected));
    assert_eq!(only(&[]), Err(MalformedBer::Unexpected));
}

#[test]
fn nesting_has_an_end() {
    let nested = |depth: usize| [[0x30, 0x80].repeat(depth), [0, 0].repeat(depth)].concat();
    assert!(first(&nested(DEEPEST)).is_ok());
    assert_eq!(first(&nested(DEEPEST + 1)), Err(MalformedBer::TooDeep));
    assert_eq!(first(&nested(30_000)), Err(MalformedBer::TooDeep));
    // Definite lengths are not gone into, but to make them so.
    let mut deep = element(NULL, &[]);
    for _ in 0..5_000 {
        deep = element(SEQUENCE, &deep);
    }
    assert!(first(&deep).is_ok());
    assert_eq!(definite(&deep), None);
}

#[test]
fn lengths_become_definite() {
    for (input, output) in [
        ("30 80 00 00", "30 00"),
        (
            "30 80 04 02 00 00 A1 80 05 00 00 00 00 00",
            "30 08 04 02 00 00 A1 02 05 00",
        ),
        ("30 06 A0 80 04 00 00 00", "30 04 A0 02 04 00"),
        ("30 80 00 00 05 00", "30 00 05 00"),
    ] {
        assert_eq!(definite(&octets(input)), Some(octets(output)), "{input}");
    }
    // Definite already, or not to be understood.
    for input in [
        "",
        "30 00",
        "30 81 00",
        "04 02 30 80",
        "30 80",
        "30 04 30 80 04 01",
    ] {
        assert_eq!(definite(&octets(input)), None, "{input}");
    }
}

#[test]
fn integers_have_up_to_eight_octets() {
    for (input, value) in [
        ("00", Some(0)),
        ("7F", Some(127)),
        ("FF", Some(-1)),
        ("00 FF", Some(255)),
        ("80 00", Some(-32768)),
        ("7F FF FF FF FF FF FF FF", Some(i64::MAX)),
        ("80 00 00 00 00 00 00 00", Some(i64::MIN)),
        ("", None),
        ("00 00 00 00 00 00 00 00 01", None),
    ] {
        assert_eq!(integer(&octets(input)), value, "{input}");
    }
    let mut out = Vec::new();
    write_unsigned(&mut out, INTEGER, 127);
    write_unsigned(&mut out, INTEGER, 128);
    assert_eq!(out, octets("02 01 7F 02 02 00 80"));
}

#[test]
fn fields_come_in_their_order() {
    let content = octets("02 01 01 80 01 05");
    let mut fields = BerElements::of(&content);
    assert_eq!(fields.next_if(0x80), Ok(None));
    assert_eq!(fields.expect(INTEGER).unwrap().content, [1]);
    assert_eq!(fields.expect(INTEGER), Err(MalformedBer::Unexpected));
    assert!(fields.next_if(0x80).unwrap().is_some());
    assert!(fields.is_empty());
    assert_eq!(fields.expect(0x80), Err(MalformedBer::Unexpected));
}

proptest! {
    #[test]
    fn no_octets_panic(input in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok((element, rest)) = first(&input) {
            prop_assert_eq!(element.whole.len() + rest.len(), input.len());
            prop_assert!(element.content.len() < element.whole.len());
        }
        let _ = (only(&input), definite(&input), opened(&input), integer(&input));
        let read = BerElements::of(&input).count();
        prop_assert!(read <= input.len());
    }

    /// As above, of octets that often are elements.
    #[test]
    fn no_elements_panic(input in prop::collection::vec(
        prop::sample::select(vec![0x30, 0x80, 0x00, 0x04, 0x01, 0x02, 0x81, 0x82, 0x1F, 0xFF]),
        0..200,
    )) {
        if let Some(definite) = definite(&input) {
            prop_assert!(BerElements::of(&definite).all(|element| element.is_ok()));
        }
    }

    #[test]
    fn what_is_written_is_read(
        tag in prop::sample::select(vec![0x00_u32, 0x04, 0x30, 0x6C, 0x9F22, 0x00BF_817F, 0x9F80_8001]),
        content in prop::collection::vec(any::<u8>(), 0..70_000),
    ) {
        let written = element(tag, &content);
        let read = only(&written).unwrap();
        prop_assert_eq!((read.tag, read.content), (tag, &content[..]));
    }
}
