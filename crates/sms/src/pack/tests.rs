//! Vectors of packed text, the padding of texts without a count, and the identity of packing.

use proptest::prelude::*;

use super::super::hex::octets;
use super::super::{Shifts, gsm7};
use super::*;

fn septets(text: &str) -> Vec<u8> {
    gsm7::encode(text, Shifts::default()).unwrap()
}

/// Text, fill bits, packed octets.
#[rustfmt::skip]
const PACKED: &[(&str, u8, &str)] = &[
    ("", 0, ""),
    ("", 3, "00"),
    ("a", 0, "61"),
    ("@", 0, "00"),
    ("hello", 0, "e8329bfd06"),
    ("hellohello", 0, "e8329bfd4697d9ec37"),
    ("How are you?", 0, "c8f71d14969741f977fd07"),
    ("test text", 0, "f4f29c0ea297f174"),
    // 39 and 40 septets take 35 octets each: only the last octet differs.
    ("enhanced ^ {][} test |+~ ^ test", 0, "65373aec1e97c9a00d05b4416d7c1bde2605a297e774d006b8daf4401b0a885e9ed301"),
    ("enhanced ^ {][} test |+~ ^ tests", 0, "65373aec1e97c9a00d05b4416d7c1bde2605a297e774d006b8daf4401b0a885e9ed3e7"),
    // Seven septets: seven zero bits at the end. Eight, of which the last is an @: the same octets.
    ("1234567", 0, "31d98c56b3dd00"),
    ("1234567@", 0, "31d98c56b3dd00"),
    ("12345678", 0, "31d98c56b3dd70"),
    // Behind headers of 6, 7, 8, 4, 5 and 12 octets.
    ("A", 1, "82"),
    ("AB", 0, "4121"),
    ("AB", 6, "405008"),
    ("A", 3, "0802"),
    ("AB", 2, "0485"),
];

#[test]
fn vectors_are_packed_and_unpacked() {
    for (text, fill, hex) in PACKED {
        let (septets, packed) = (septets(text), octets(hex));
        assert_eq!(pack(&septets, *fill), packed, "{text:?} after {fill}");
        assert_eq!(
            unpack(&packed, *fill, septets.len()),
            septets,
            "{text:?} after {fill}"
        );
    }
}

#[test]
fn text_behind_a_header_begins_on_a_septet() {
    // (octets of the header with its length, fill bits): 23.040 §9.2.3.24.
    for (header, fill) in [
        (0, 0),
        (4, 3),
        (5, 2),
        (6, 1),
        (7, 0),
        (8, 6),
        (12, 2),
        (140, 0),
    ] {
        assert_eq!(fill_bits(header), fill, "{header} octets");
    }
}

/// Text and its octets, no count beside them (§6.1.2.3.1).
#[rustfmt::skip]
const UNCOUNTED: &[(&str, &str)] = &[
    ("hello", "e8329bfd06"),
    // Seven septets: zero bits would read as an @, so a carriage return fills.
    ("1234567", "31d98c56b3dd1a"),
    ("123456@", "31d98c56b3011a"),
    ("12345678", "31d98c56b3dd70"),
    ("1234567@", "31d98c56b3dd00"),
    ("123456", "31d98c56b301"),
];

#[test]
fn uncounted_texts_are_padded() {
    for (text, hex) in UNCOUNTED {
        let packed = octets(hex);
        assert_eq!(pack_text(&septets(text)), packed, "{text:?}");
        assert_eq!(unpack_text(&packed), septets(text), "{hex}");
    }
}

#[test]
fn a_carriage_return_at_the_boundary_is_doubled_and_may_be_read_twice() {
    let packed = pack_text(&septets("1234567\r"));
    assert_eq!(packed, octets("31d98c56b3dd1a0d"));
    assert_eq!(unpack_text(&packed), septets("1234567\r\r"));
    assert_eq!(
        unpack_text(&pack_text(&septets("123456\r"))),
        septets("123456\r")
    );
}

#[test]
fn zero_bits_instead_of_padding_read_as_an_at() {
    assert_eq!(unpack_text(&octets("31d98c56b3dd00")), septets("1234567@"));
}

proptest! {
    #[test]
    fn packing_is_undone(
        septets in prop::collection::vec(0_u8..0x80, 0..200),
        fill in 0_u8..20,
    ) {
        let packed = pack(&septets, fill);
        prop_assert_eq!(packed.len(), (usize::from(fill) + septets.len() * 7).div_ceil(8));
        prop_assert_eq!(unpack(&packed, fill, septets.len()), septets);
    }

    #[test]
    fn uncounted_packing_is_undone(septets in prop::collection::vec(0_u8..0x80, 0..200)) {
        let read = unpack_text(&pack_text(&septets));
        // A carriage return at the boundary may be there twice: by §6.1.2.3.1 it means the same.
        let doubled = septets.len() % 8 == 0 && septets.last() == Some(&0x0D);
        prop_assert_eq!(&read[..septets.len()], &septets[..]);
        prop_assert_eq!(&read[septets.len()..], if doubled { &[0x0D][..] } else { &[] });
    }

    #[test]
    fn unpacking_stays_within_the_octets(octets: Vec<u8>, fill: u8, count: usize) {
        let septets = unpack(&octets, fill, count);
        prop_assert!(septets.len() <= count);
        prop_assert!(usize::from(fill) + septets.len() * 7 <= octets.len() * 8 || septets.is_empty());
        prop_assert!(septets.iter().all(|septet| *septet < 0x80));
        prop_assert!(unpack_text(&octets).len() <= octets.len() * 8 / 7);
    }

    #[test]
    fn text_behind_a_header_is_aligned(header in 0_usize..=140) {
        prop_assert_eq!((header * 8 + usize::from(fill_bits(header))) % 7, 0);
        prop_assert!(fill_bits(header) < 7);
    }
}
