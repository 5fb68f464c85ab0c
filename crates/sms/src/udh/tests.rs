//! Headers octet by octet. Sections are those of 3GPP TS 23.040.

use bytes::Bytes;

use super::*;

fn octets(hex: &str) -> Bytes {
    let digits: String = hex.chars().filter(|c| !c.is_whitespace()).collect();
    let octet = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(octet).collect()
}

/// The header and the octets behind it.
fn split(hex: &str) -> (UserDataHeader, Bytes) {
    UserDataHeader::split(&octets(hex)).unwrap()
}

fn concat(reference: u16, wide: bool, total: u8, sequence: u8) -> Option<Concat> {
    Some(Concat {
        reference,
        wide,
        total,
        sequence,
    })
}

#[test]
fn numbers_of_parts() {
    // §9.2.3.24.1 (IEI 00), §9.2.3.24.8 (IEI 08), and what the standard has ignored.
    let cases = [
        ("05 00 03 CC 02 01", concat(0xCC, false, 2, 1)),
        ("05 00 03 00 FF FF", concat(0, false, 255, 255)),
        ("05 00 03 2A 01 01", concat(0x2A, false, 1, 1)),
        ("06 08 04 12 34 03 02", concat(0x1234, true, 3, 2)),
        ("06 08 04 00 CC 02 01", concat(0xCC, true, 2, 1)),
        // A total of 0, a number of 0, a number above the total.
        ("05 00 03 CC 00 00", None),
        ("05 00 03 CC 00 01", None),
        ("05 00 03 CC 02 00", None),
        ("05 00 03 CC 02 03", None),
        ("06 08 04 12 34 03 04", None),
        // Of a length that the element does not have.
        ("04 00 02 CC 02", None),
        ("06 00 04 CC 02 01 00", None),
        ("05 08 03 CC 02 01", None),
        // Two of them: the last one counts (§9.2.3.24) …
        ("0A 00 03 01 02 01 00 03 02 02 02", concat(2, false, 2, 2)),
        (
            "0B 00 03 01 02 01 08 04 12 34 03 02",
            concat(0x1234, true, 3, 2),
        ),
        (
            "0B 08 04 12 34 03 02 00 03 01 02 01",
            concat(1, false, 2, 1),
        ),
        // … unless it is to be ignored.
        ("0A 00 03 01 02 01 00 03 02 02 00", concat(1, false, 2, 1)),
        // Beside ports and a language.
        (
            "0B 05 04 0B 84 23 F0 00 03 03 02 01",
            concat(3, false, 2, 1),
        ),
        ("08 25 01 01 00 03 07 02 02", concat(7, false, 2, 2)),
        ("00", None),
    ];
    for (hex, expected) in cases {
        assert_eq!(split(hex).0.concat(), expected, "{hex}");
    }
}

#[test]
fn ports() {
    let of = |destination, source, wide| {
        Some(Ports {
            destination,
            source,
            wide,
        })
    };
    // §9.2.3.24.3 (IEI 04), §9.2.3.24.4 (IEI 05).
    let cases = [
        ("04 04 02 F0 F1", of(240, 241, false)),
        ("06 05 04 0B 84 23 F0", of(2948, 9200, true)),
        ("06 05 04 15 8A 00 00", of(5514, 0, true)),
        ("0A 04 02 F0 F1 05 04 0B 84 23 F0", of(2948, 9200, true)),
        ("0A 05 04 0B 84 23 F0 04 02 F0 F1", of(240, 241, false)),
        ("05 05 03 0B 84 23", None),
        ("05 00 03 CC 02 01", None),
    ];
    for (hex, expected) in cases {
        assert_eq!(split(hex).0.ports(), expected, "{hex}");
    }
}

#[test]
fn every_element_is_kept_in_its_place() {
    // Enhanced messaging (0A), a vendor's (E0), an empty one (22), special SMS indication (01).
    let hex = "11 0A 03 00 05 20 E0 02 BE EF 22 00 01 02 80 03 E0 00";
    let (header, rest) = split(&format!("{hex} 48 69"));
    let ids: Vec<u8> = header.elements().iter().map(|element| element.id).collect();
    assert_eq!(ids, [0x0A, 0xE0, 0x22, 0x01, 0xE0]);
    assert_eq!(&header.elements()[1].data[..], [0xBE, 0xEF]);
    assert_eq!(header.encode(), octets(hex));
    assert_eq!(header.octets(), 18);
    assert_eq!(&rest[..], b"Hi");
}

#[test]
fn a_header_without_elements_is_none() {
    let (header, rest) = split("00 41 42");
    assert!(header.is_empty());
    assert_eq!((header.octets(), header.encode()), (0, Vec::new()));
    assert_eq!(&rest[..], b"AB");
    assert_eq!(header, UserDataHeader::default());
}

#[test]
fn lengths_that_do_not_fit_are_told() {
    // §9.2.3.24: too few or too many octets, and the whole header is ignored.
    use HeaderError::*;
    let cases = [
        ("", Absent),
        (
            "05",
            TooLong {
                length: 5,
                there: 0,
            },
        ),
        (
            "05 00 03 CC 02",
            TooLong {
                length: 5,
                there: 4,
            },
        ),
        (
            "FF 00 03 CC 02 01",
            TooLong {
                length: 255,
                there: 5,
            },
        ),
        ("05 00 04 CC 02 01 41", Element { id: 0, at: 1 }),
        ("06 00 03 CC 02 01 24", Element { id: 0x24, at: 6 }),
        ("07 00 03 CC 02 01 24 01 41", Element { id: 0x24, at: 6 }),
        ("01 00", Element { id: 0, at: 1 }),
        ("02 00 FF", Element { id: 0, at: 1 }),
    ];
    for (hex, expected) in cases {
        assert_eq!(UserDataHeader::split(&octets(hex)), Err(expected), "{hex}");
    }
    assert_eq!(
        UserDataHeader::split(&octets("07 00 03 CC 02 01 24 01 41"))
            .unwrap_err()
            .to_string(),
        "element 0x24 at octet 6 does not end within the header"
    );
}

#[test]
fn a_number_takes_the_place_of_the_old_one() {
    let (mut header, _) = split("0B 05 04 0B 84 23 F0 00 03 03 02 01");
    header.set_concat(concat(0x1234, true, 4, 3));
    assert_eq!(
        header.encode(),
        octets("0C 05 04 0B 84 23 F0 08 04 12 34 04 03")
    );
    header.set_concat(None);
    assert_eq!(header.encode(), octets("06 05 04 0B 84 23 F0"));
    header.set_concat(concat(0x1234, false, 2, 1));
    assert_eq!(
        header.encode(),
        octets("0B 00 03 34 02 01 05 04 0B 84 23 F0"),
        "in front, the reference cut to 8 bits"
    );
    let mut twice = split("0A 00 03 01 02 01 08 03 02 02 02").0;
    twice.set_concat(concat(9, false, 2, 2));
    assert_eq!(twice.encode(), octets("05 00 03 09 02 02"), "both replaced");
}

#[test]
fn a_header_grows_no_longer_than_its_length_can_count() {
    let element = |length: usize| Element {
        id: 0xE0,
        data: vec![7; length].into(),
    };
    let mut header = UserDataHeader::default();
    assert!(header.push(element(250)));
    assert!(!header.push(element(2)), "253 + 4");
    assert!(header.push(element(1)));
    assert_eq!(header.octets(), 256);
    let written: Bytes = header.encode().into();
    assert_eq!(UserDataHeader::split(&written), Ok((header, Bytes::new())));
}

#[test]
fn national_languages() {
    use Language::{Default, Hindi, Portuguese, Turkish, Urdu};
    // §9.2.3.24.15 (IEI 24, single), §9.2.3.24.16 (IEI 25, locking).
    let cases = [
        ("03 24 01 01", (Default, Turkish)),
        ("03 25 01 03", (Portuguese, Default)),
        ("06 24 01 06 25 01 06", (Hindi, Hindi)),
        ("06 24 01 01 24 01 0D", (Default, Urdu)),
        // Reserved languages, and elements of a wrong length, count as absent.
        ("03 24 01 0E", (Default, Default)),
        ("06 25 01 01 25 01 FF", (Turkish, Default)),
        ("04 24 02 01 01", (Default, Default)),
        ("02 24 00", (Default, Default)),
        ("05 00 03 CC 02 01", (Default, Default)),
    ];
    for (hex, (locking, single)) in cases {
        let header = split(hex).0;
        assert_eq!(header.shifts(), Shifts { locking, single }, "{hex}");
    }
    let mut header = split("08 24 01 01 00 03 CC 02 01").0;
    assert!(header.set_shifts(Shifts {
        locking: Hindi,
        single: Urdu,
    }));
    let written = octets("0B 00 03 CC 02 01 24 01 0D 25 01 06");
    assert_eq!(header.encode(), written);
    assert!(header.set_shifts(Shifts::default()));
    assert_eq!(header.encode(), octets("05 00 03 CC 02 01"));
}

#[test]
fn a_full_header_takes_no_number() {
    let mut header = UserDataHeader::default();
    assert!(header.push(Element {
        id: 0xE0,
        data: vec![7; 252].into(),
    }));
    assert!(!header.set_concat(concat(1, false, 2, 1)));
    assert!(!header.set_shifts(Shifts::single(Language::Turkish)));
    assert_eq!(header.octets(), 255);
}
