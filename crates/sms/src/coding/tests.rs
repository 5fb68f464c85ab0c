//! Every one of the 256 values, by ranges and by what must hold for all of them.

use proptest::prelude::*;

use super::*;

use Indication::*;

/// A data coding scheme in a word: charset, class, flags.
fn told(dcs: u8) -> String {
    let dcs = DataCodingScheme::parse(dcs);
    let mut told = match dcs.charset {
        Charset::Gsm7 => "gsm".to_owned(),
        Charset::Octets => "data".to_owned(),
        Charset::Ucs2 => "ucs2".to_owned(),
    };
    if let Some(class) = dcs.class {
        told += &format!(" class {class}");
    }
    if dcs.compressed {
        told += " compressed";
    }
    if dcs.auto_delete {
        told += " deleted";
    }
    if let Some(waiting) = dcs.waiting {
        let verb = if waiting.store { "store" } else { "discard" };
        let state = if waiting.active { "on" } else { "off" };
        told += &format!(" {verb} {:?} {state}", waiting.indication);
    }
    told
}

/// First and last value, and their meaning (§4).
#[rustfmt::skip]
const GROUPS: &[(u8, u8, &str)] = &[
    (0x00, 0x03, "gsm"), (0x04, 0x07, "data"), (0x08, 0x0B, "ucs2"), (0x0C, 0x0F, "gsm"),
    (0x10, 0x10, "gsm class 0"), (0x11, 0x11, "gsm class 1"), (0x12, 0x12, "gsm class 2"), (0x13, 0x13, "gsm class 3"),
    (0x14, 0x14, "data class 0"), (0x17, 0x17, "data class 3"),
    (0x18, 0x18, "ucs2 class 0"), (0x1B, 0x1B, "ucs2 class 3"), (0x1D, 0x1D, "gsm class 1"),
    (0x20, 0x23, "gsm compressed"), (0x24, 0x27, "data compressed"), (0x28, 0x2B, "ucs2 compressed"), (0x2C, 0x2F, "gsm compressed"),
    (0x30, 0x30, "gsm class 0 compressed"), (0x39, 0x39, "ucs2 class 1 compressed"),
    (0x40, 0x43, "gsm deleted"), (0x44, 0x47, "data deleted"), (0x48, 0x4B, "ucs2 deleted"), (0x4C, 0x4F, "gsm deleted"),
    (0x50, 0x50, "gsm class 0 deleted"), (0x5A, 0x5A, "ucs2 class 2 deleted"),
    (0x60, 0x63, "gsm compressed deleted"), (0x78, 0x78, "ucs2 class 0 compressed deleted"),
    (0x80, 0xBF, "gsm"),
    (0xC0, 0xC0, "gsm discard Voicemail off"), (0xC8, 0xC8, "gsm discard Voicemail on"), (0xC1, 0xC1, "gsm discard Fax off"),
    (0xCA, 0xCA, "gsm discard Email on"), (0xCF, 0xCF, "gsm discard Other on"),
    (0xD0, 0xD0, "gsm store Voicemail off"), (0xD9, 0xD9, "gsm store Fax on"), (0xDC, 0xDC, "gsm store Voicemail on"),
    (0xE0, 0xE0, "ucs2 store Voicemail off"), (0xEB, 0xEB, "ucs2 store Other on"),
    (0xF0, 0xF0, "gsm class 0"), (0xF3, 0xF3, "gsm class 3"), (0xF4, 0xF4, "data class 0"), (0xF7, 0xF7, "data class 3"),
    (0xF8, 0xF8, "gsm class 0"), (0xFD, 0xFD, "data class 1"),
];

#[test]
fn every_group_is_read() {
    for (first, last, what) in GROUPS {
        for dcs in *first..=*last {
            assert_eq!(told(dcs), *what, "{dcs:#04x}");
        }
    }
}

/// First and last `data_coding`, and how it is read (SMPP 3.4 §5.2.19).
#[rustfmt::skip]
const CODINGS: &[(u8, u8, DataCoding)] = &[
    (0x00, 0x00, DataCoding::Default), (0x01, 0x01, DataCoding::Ascii), (0x02, 0x02, DataCoding::Octets),
    (0x03, 0x03, DataCoding::Latin1), (0x04, 0x04, DataCoding::Octets), (0x08, 0x08, DataCoding::Ucs2),
    (0x10, 0x13, DataCoding::Default), (0x14, 0x17, DataCoding::Octets), (0x18, 0x1B, DataCoding::Ucs2), (0x1C, 0x1F, DataCoding::Default),
    (0x20, 0x3F, DataCoding::Octets),
    (0x40, 0x43, DataCoding::Default), (0x44, 0x47, DataCoding::Octets), (0x48, 0x4B, DataCoding::Ucs2), (0x4C, 0x4F, DataCoding::Default),
    (0x50, 0x53, DataCoding::Default), (0x54, 0x57, DataCoding::Octets), (0x58, 0x5B, DataCoding::Ucs2), (0x5C, 0x5F, DataCoding::Default),
    (0x60, 0x7F, DataCoding::Octets),
    (0xC0, 0xDF, DataCoding::Default), (0xE0, 0xEF, DataCoding::Ucs2),
    (0xF0, 0xF3, DataCoding::Default), (0xF4, 0xF7, DataCoding::Octets), (0xF8, 0xFB, DataCoding::Default), (0xFC, 0xFF, DataCoding::Octets),
];

#[test]
fn every_data_coding_is_read() {
    let mut seen = [false; 256];
    for (first, last, expected) in CODINGS {
        for data_coding in *first..=*last {
            assert_eq!(coding(data_coding), *expected, "{data_coding:#04x}");
            seen[usize::from(data_coding)] = true;
        }
    }
    // JIS, Cyrillic, Hebrew, pictograms, Music, JIS extended, KS C, and all that is reserved.
    for data_coding in [0x05, 0x06, 0x07, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F]
        .into_iter()
        .chain(0x80..=0xBF)
    {
        assert_eq!(coding(data_coding), DataCoding::Other(data_coding));
        seen[usize::from(data_coding)] = true;
    }
    assert!(seen.iter().all(|seen| *seen));
}

/// `data_coding`, the other character set, what it becomes.
#[rustfmt::skip]
const CHANGED: &[(u8, DataCoding, u8)] = &[
    (0x00, DataCoding::Ucs2, 0x08), (0x08, DataCoding::Default, 0x00), (0x03, DataCoding::Default, 0x00),
    (0x01, DataCoding::Octets, 0x04), (0x02, DataCoding::Octets, 0x02), (0x00, DataCoding::Latin1, 0x03),
    (0x10, DataCoding::Ucs2, 0x18), (0x18, DataCoding::Default, 0x10), (0x12, DataCoding::Octets, 0x16),
    (0x1D, DataCoding::Ucs2, 0x19), (0x39, DataCoding::Ucs2, 0x19), (0x21, DataCoding::Default, 0x00),
    (0x23, DataCoding::Ucs2, 0x08), (0x42, DataCoding::Ucs2, 0x48), (0x5A, DataCoding::Default, 0x52),
    (0xC8, DataCoding::Ucs2, 0xE8), (0xD9, DataCoding::Ucs2, 0xE9), (0xEB, DataCoding::Default, 0xDB),
    (0xC8, DataCoding::Octets, 0x04),
    (0xF0, DataCoding::Ucs2, 0x18), (0xF2, DataCoding::Octets, 0xF6), (0xF5, DataCoding::Default, 0xF1),
    (0xF7, DataCoding::Ucs2, 0x1B), (0xF0, DataCoding::Latin1, 0x03), (0x10, DataCoding::Ascii, 0x01),
    (0x06, DataCoding::Ucs2, 0x08), (0x90, DataCoding::Default, 0x00), (0x10, DataCoding::Other(0x06), 0x06),
];

#[test]
fn class_and_indication_stay_with_another_charset() {
    for (from, to, expected) in CHANGED {
        assert_eq!(with_charset(*from, *to), *expected, "{from:#04x} to {to:?}");
    }
    assert_eq!(
        DataCodingScheme::parse(0xE8)
            .waiting
            .map(|waiting| waiting.indication),
        Some(Voicemail)
    );
}

proptest! {
    #[test]
    fn another_charset_is_read_as_that_and_keeps_the_class(from: u8) {
        for to in [DataCoding::Default, DataCoding::Octets, DataCoding::Ucs2] {
            let changed = with_charset(from, to);
            prop_assert_eq!(coding(changed), to);
            let (before, after) = (DataCodingScheme::parse(from), DataCodingScheme::parse(changed));
            if matches!(coding(from), DataCoding::Other(_)) {
                continue;
            }
            prop_assert_eq!(after.class, before.class);
            prop_assert_eq!(after.auto_delete, before.auto_delete);
            if to != DataCoding::Octets {
                let told = |dcs: DataCodingScheme| dcs.waiting.map(|w| (w.indication, w.active));
                prop_assert_eq!(told(after), told(before));
            }
            prop_assert_eq!(with_charset(from, coding(from)), from);
        }
        for to in [DataCoding::Ascii, DataCoding::Latin1] {
            prop_assert_eq!(coding(with_charset(from, to)), to);
        }
    }
}
