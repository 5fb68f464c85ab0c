//! Where texts are cut. Sections are those of 3GPP TS 23.040.

use super::super::udh::{Element, LOCKING_SHIFT, PORTS_16, SINGLE_SHIFT};
use super::*;

fn text(length: usize) -> Bytes {
    vec![b'a'; length].into()
}

/// `length` UTF-16 units, a letter each.
fn units(length: usize) -> Vec<u8> {
    [0x04, 0x36].repeat(length)
}

fn header(elements: &[(u8, &[u8])]) -> UserDataHeader {
    let mut header = UserDataHeader::default();
    for (id, data) in elements {
        assert!(header.push(Element {
            id: *id,
            data: Bytes::copy_from_slice(data),
        }));
    }
    header
}

fn lengths(
    octets: &Bytes,
    units: Units,
    header: &UserDataHeader,
    form: PartNumbering,
) -> Vec<usize> {
    let parts = split(octets, units, header, form).unwrap();
    assert_eq!(parts.concat(), octets[..], "the parts are the text");
    assert_eq!(parts.len(), count(octets, units, header, form));
    parts.iter().map(Bytes::len).collect()
}

#[test]
fn room_beside_a_header() {
    // Septets: (140 - header) * 8 / 7, §9.2.3.24.1.
    for (header, septets, octets, ucs2) in [
        (0, 160, 140, 140),
        (5, 154, 135, 134),
        (6, 153, 134, 134),
        (7, 152, 133, 132),
        (8, 150, 132, 132),
        (9, 149, 131, 130),
        (12, 146, 128, 128),
        (139, 1, 1, 0),
        (140, 0, 0, 0),
        (200, 0, 0, 0),
    ] {
        assert_eq!(room(Units::Septets, header), septets, "{header}");
        assert_eq!(room(Units::Octets, header), octets, "{header}");
        assert_eq!(room(Units::Ucs2, header), ucs2, "{header}");
    }
    assert!(fits(160, Units::Septets, 0) && !fits(161, Units::Septets, 0));
}

#[test]
fn the_default_alphabet() {
    let none = UserDataHeader::default();
    let cut = |length, form| lengths(&text(length), Units::Septets, &none, form);
    assert_eq!(cut(0, PartNumbering::Eight), [0]);
    assert_eq!(cut(160, PartNumbering::Eight), [160]);
    assert_eq!(cut(161, PartNumbering::Eight), [153, 8]);
    assert_eq!(cut(306, PartNumbering::Eight), [153, 153]);
    assert_eq!(cut(307, PartNumbering::Eight), [153, 153, 1]);
    assert_eq!(cut(161, PartNumbering::Sixteen), [152, 9]);
    assert_eq!(cut(304, PartNumbering::Sixteen), [152, 152]);
    assert_eq!(
        cut(161, PartNumbering::Fields),
        [153, 8],
        "room for a header later"
    );
}

#[test]
fn octets_and_ucs2() {
    let none = UserDataHeader::default();
    let octets = |length, form| lengths(&text(length), Units::Octets, &none, form);
    assert_eq!(octets(140, PartNumbering::Eight), [140]);
    assert_eq!(octets(141, PartNumbering::Eight), [134, 7]);
    assert_eq!(octets(141, PartNumbering::Sixteen), [133, 8]);
    let ucs2 = |length, form| lengths(&units(length).into(), Units::Ucs2, &none, form);
    assert_eq!(ucs2(70, PartNumbering::Eight), [140]);
    assert_eq!(ucs2(71, PartNumbering::Eight), [134, 8]);
    assert_eq!(ucs2(71, PartNumbering::Sixteen), [132, 10]);
}

#[test]
fn an_escape_pair_stays_together() {
    let none = UserDataHeader::default();
    let with_euro = |at: usize| {
        let mut text = vec![b'a'; 200];
        text[at..at + 2].copy_from_slice(&[0x1B, 0x65]);
        lengths(&text.into(), Units::Septets, &none, PartNumbering::Eight)
    };
    assert_eq!(with_euro(151), [153, 47], "it just fits");
    assert_eq!(with_euro(152), [152, 48], "the pair moves on");
    assert_eq!(with_euro(153), [153, 47]);
    // Escapes pair from the left: two of them before the cut are a pair of their own.
    let mut two = vec![b'a'; 200];
    two[151..153].fill(0x1B);
    let none_moves = lengths(&two.into(), Units::Septets, &none, PartNumbering::Eight);
    assert_eq!(none_moves, [153, 47]);
    let only_pairs: Bytes = [0x1B, 0x65].repeat(90).into();
    assert_eq!(
        lengths(&only_pairs, Units::Septets, &none, PartNumbering::Eight),
        [152, 28]
    );
    // In one part nothing is cut.
    let whole: Bytes = [0x1B, 0x65].repeat(80).into();
    assert_eq!(
        lengths(&whole, Units::Septets, &none, PartNumbering::Eight),
        [160]
    );
}

#[test]
fn a_surrogate_pair_stays_together() {
    let none = UserDataHeader::default();
    let with_emoji = |at: usize| {
        let mut text = units(80);
        text[at * 2..at * 2 + 4].copy_from_slice(&[0xD8, 0x3D, 0xDE, 0x00]);
        lengths(&text.into(), Units::Ucs2, &none, PartNumbering::Eight)
    };
    assert_eq!(with_emoji(65), [134, 26], "it just fits");
    assert_eq!(with_emoji(66), [132, 28], "the pair moves on");
    assert_eq!(with_emoji(67), [134, 26]);
    // Half a pair is no pair.
    let mut lone = units(80);
    lone[132..134].copy_from_slice(&[0xD8, 0x3D]);
    assert_eq!(
        lengths(&lone.into(), Units::Ucs2, &none, PartNumbering::Eight),
        [134, 26]
    );
}

#[test]
fn a_header_of_its_own_leaves_less() {
    // A locking and a single shift: 6 octets more beside the number, 146 septets (§9.2.3.24.15).
    let shifts = header(&[(SINGLE_SHIFT, &[1]), (LOCKING_SHIFT, &[1])]);
    let septets = |length| lengths(&text(length), Units::Septets, &shifts, PartNumbering::Eight);
    assert_eq!(septets(152), [152]);
    assert_eq!(septets(153), [146, 7]);
    let ports = header(&[(PORTS_16, &[0x0B, 0x84, 0x23, 0xF0])]);
    let octets = |length| lengths(&text(length), Units::Octets, &ports, PartNumbering::Eight);
    assert_eq!(octets(133), [133]);
    assert_eq!(octets(134), [128, 6]);
    let wide = lengths(&text(134), Units::Octets, &ports, PartNumbering::Sixteen);
    assert_eq!(wide, [127, 7]);
}

#[test]
fn what_cannot_be_numbered_is_refused() {
    let none = UserDataHeader::default();
    let most = lengths(
        &text(255 * 153),
        Units::Septets,
        &none,
        PartNumbering::Eight,
    );
    assert_eq!(most.len(), 255);
    let more = text(255 * 153 + 1);
    assert_eq!(
        split(&more, Units::Septets, &none, PartNumbering::Eight),
        Err(TextTooLong::Parts { parts: 256 })
    );
    assert_eq!(
        count(&more, Units::Septets, &none, PartNumbering::Eight),
        256
    );
    let full = header(&[(0xE0, &[0; 131])]);
    let octet_by_octet = lengths(&text(7), Units::Octets, &full, PartNumbering::Eight);
    assert_eq!(octet_by_octet, [1; 7]);
    let fuller = header(&[(0xE0, &[0; 137])]);
    assert_eq!(
        split(&text(7), Units::Octets, &fuller, PartNumbering::Eight),
        Err(TextTooLong::Header { octets: 145 })
    );
    // Room for one septet is none for an escape pair.
    let pair = Bytes::from([0x1B, 0x65].repeat(10));
    assert_eq!(
        split(&pair, Units::Septets, &full, PartNumbering::Eight),
        Err(TextTooLong::Header { octets: 139 })
    );
}
