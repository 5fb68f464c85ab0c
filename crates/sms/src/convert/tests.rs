//! Every alphabet in both directions, what becomes of characters that it lacks, and the choice of
//! tables against a count of all of them.

use proptest::prelude::*;

use super::super::Language;
use super::super::hex::octets;
use super::super::segment::{self, PartNumbering, Units};
use super::super::udh::UserDataHeader;
use super::*;

/// Alphabet, text, octets.
#[rustfmt::skip]
const BOTH_WAYS: &[(Alphabet, &str, &str)] = &[
    (Alphabet::Gsm, "@€", "00 1b65"),
    (Alphabet::GsmPacked, "hello", "e8329bfd06"),
    (Alphabet::GsmPacked, "1234567", "31d98c56b3dd1a"),
    (Alphabet::Latin1, "é@\u{a0}ÿ", "e9 40 a0 ff"),
    (Alphabet::Ascii, "@{}`", "40 7b 7d 60"),
    (Alphabet::Utf8, "é€😀", "c3a9 e282ac f09f9880"),
    (Alphabet::Ucs2, "é€", "00e9 20ac"),
    (Alphabet::Ucs2, "😀", "d83d de00"),
    (Alphabet::Ucs2, "", ""),
];

/// Alphabet, octets, what is read.
#[rustfmt::skip]
const ONLY_READ: &[(Alphabet, &str, &str)] = &[
    (Alphabet::Ucs2, "d83d 0041", "\u{fffd}A"),
    (Alphabet::Ucs2, "0041 de00", "A\u{fffd}"),
    (Alphabet::Ucs2, "0041 d83d", "A\u{fffd}"),
    (Alphabet::Ucs2, "0041 00", "A\u{fffd}"),
    (Alphabet::Ucs2, "41", "\u{fffd}"),
    (Alphabet::Ascii, "41 e9", "A\u{fffd}"),
    (Alphabet::Utf8, "41 e9", "A\u{fffd}"),
    (Alphabet::Latin1, "80", "\u{80}"),
];

#[test]
fn vectors_are_written_and_read() {
    for (alphabet, text, hex) in BOTH_WAYS {
        let shifts = Shifts::default();
        assert_eq!(
            encode(text, *alphabet, shifts),
            Ok(octets(hex)),
            "{alphabet} {text:?}"
        );
        assert_eq!(
            decode(*alphabet, &octets(hex), shifts),
            *text,
            "{alphabet} {hex}"
        );
    }
    for (alphabet, hex, text) in ONLY_READ {
        let read = decode(*alphabet, &octets(hex), Shifts::default());
        assert_eq!(read, *text, "{alphabet} {hex}");
    }
}

#[test]
fn the_character_that_an_alphabet_lacks_is_named() {
    for (alphabet, text, character, at) in [
        (Alphabet::Gsm, "a ï", 'ï', 2),
        (Alphabet::GsmPacked, "`", '`', 0),
        (Alphabet::Latin1, "é€", '€', 1),
        (Alphabet::Ascii, "né", 'é', 1),
    ] {
        let error = encode(text, alphabet, Shifts::default()).unwrap_err();
        assert_eq!((error.character, error.at), (character, at));
    }
}

/// Policy, alphabet, text, what it reads as at the other side, characters changed.
#[rustfmt::skip]
const FORCED: &[(SubstitutionPolicy, Alphabet, &str, &str, usize)] = &[
    (SubstitutionPolicy::Replace, Alphabet::Gsm, "naïve ☺", "na?ve ?", 2),
    (SubstitutionPolicy::Refuse, Alphabet::Gsm, "ï", "?", 1),
    (SubstitutionPolicy::Transliterate, Alphabet::Gsm, "hello", "hello", 0),
    (SubstitutionPolicy::Transliterate, Alphabet::Gsm, "naïve façade", "naive facade", 2),
    (SubstitutionPolicy::Transliterate, Alphabet::Gsm, "“it’s” – so…", "\"it's\" - so...", 5),
    (SubstitutionPolicy::Transliterate, Alphabet::Gsm, "a\tb`c", "a b'c", 2),
    (SubstitutionPolicy::Transliterate, Alphabet::Gsm, "Łódź", "Lodz", 3),
    (SubstitutionPolicy::Transliterate, Alphabet::Gsm, "Москва", "Moskva", 6),
    (SubstitutionPolicy::Transliterate, Alphabet::Gsm, "北京", "Bei Jing", 2),
    (SubstitutionPolicy::Transliterate, Alphabet::Gsm, "北京.", "Bei Jing.", 2),
    (SubstitutionPolicy::Transliterate, Alphabet::Gsm, "e\u{301}", "e", 1),
    (SubstitutionPolicy::Transliterate, Alphabet::Gsm, "\u{301}", "?", 1),
    (SubstitutionPolicy::Transliterate, Alphabet::Gsm, "\0", "?", 1),
    (SubstitutionPolicy::Transliterate, Alphabet::GsmPacked, "ï", "i", 1),
    (SubstitutionPolicy::Transliterate, Alphabet::Latin1, "é€", "éEUR", 1),
    (SubstitutionPolicy::Transliterate, Alphabet::Ascii, "Ærøskøbing", "AEroskobing", 3),
    (SubstitutionPolicy::Transliterate, Alphabet::Ucs2, "☺", "☺", 0),
    (SubstitutionPolicy::Replace, Alphabet::Gsm, "", "", 0),
];

#[test]
fn text_is_made_to_fit() {
    for (policy, alphabet, text, expected, changed) in FORCED {
        let forced = force(text, *alphabet, Shifts::default(), *policy);
        let read = decode(*alphabet, &forced.octets, Shifts::default());
        assert_eq!(
            (read.as_str(), forced.changed),
            (*expected, *changed),
            "{policy} {text:?}"
        );
    }
}

fn gsm(locking: Language, single: Language) -> Choice {
    Choice::Gsm(Shifts { locking, single })
}

#[test]
fn the_shortest_way_is_chosen() {
    use Language::{Default, Hindi, Portuguese, Spanish, Turkish};
    let all = Language::ALL;
    for (text, languages, expected) in [
        ("".to_owned(), &all[..], gsm(Default, Default)),
        ("hello €".to_owned(), &all, gsm(Default, Default)),
        // One character in all of the text: a single shift does.
        ("doğru".to_owned(), &all, gsm(Default, Turkish)),
        ("doğru".to_owned(), &[Spanish], Choice::Ucs2),
        ("doğru".to_owned(), &[], Choice::Ucs2),
        ("así".to_owned(), &all, gsm(Default, Spanish)),
        (
            "así".to_owned(),
            &[Portuguese, Spanish],
            gsm(Default, Portuguese),
        ),
        // 100 of two septets are two messages, in a locking table one.
        ("ğ".repeat(100), &all, gsm(Turkish, Default)),
        // 155 septets fit beside a header of four octets, 156 do not.
        ("ğ".repeat(155), &all, gsm(Turkish, Default)),
        // 160 euros are three messages of 153 septets, two of the Turkish table.
        ("€".repeat(160), &[], gsm(Default, Default)),
        ("€".repeat(160), &[Turkish], gsm(Turkish, Default)),
        // 153 septets a part without a header, 149 with it: the default alphabet wins.
        (
            format!("€{}", "a".repeat(300)),
            &[Turkish],
            gsm(Default, Default),
        ),
        // Both tables: letters lock, digits and capitals shift.
        ("हिन्दी SMS".to_owned(), &[Hindi], gsm(Hindi, Hindi)),
        // Letters of the locking table are not in the single one.
        ("हिन्दी".to_owned(), &[Hindi], gsm(Hindi, Default)),
        ("日本".to_owned(), &all, Choice::Ucs2),
        ("doğru 😀".to_owned(), &all, Choice::Ucs2),
        (
            "doğru".to_owned(),
            &[Default, Turkish],
            gsm(Default, Turkish),
        ),
    ] {
        assert_eq!(
            choose(&text, languages),
            expected,
            "{text:?} of {languages:?}"
        );
    }
}

#[test]
fn names_are_read_and_others_are_answered_with_them() {
    for alphabet in Alphabet::ALL {
        assert_eq!(alphabet.name().parse(), Ok(alphabet));
    }
    for policy in SubstitutionPolicy::ALL {
        assert_eq!(policy.name().parse(), Ok(policy));
    }
    for language in Language::ALL {
        assert_eq!(language.name().parse(), Ok(language));
        assert_eq!(
            Language::from_identifier(language.identifier()),
            Some(language)
        );
    }
    assert_eq!(Language::from_identifier(0), None);
    assert_eq!(Language::from_identifier(14), None);
    assert_eq!(
        "gsm7".parse::<Alphabet>().unwrap_err().to_string(),
        "\"gsm7\" is none of gsm, gsm_packed, latin1, ascii, utf8, ucs2"
    );
    assert!("default".parse::<Language>().is_err());
}

/// How many messages a text takes, counted in what is encoded: `choose` counts characters.
fn segments(text: &str, choice: Choice) -> Option<usize> {
    let mut header = UserDataHeader::default();
    let (octets, units) = match choice {
        Choice::Gsm(shifts) => {
            header.set_shifts(shifts);
            assert_eq!(header.octets(), shifts.header_octets());
            (encode(text, Alphabet::Gsm, shifts).ok()?, Units::Septets)
        }
        Choice::Ucs2 => (super::ucs2::encode(text), Units::Ucs2),
    };
    Some(segment::count(
        &octets,
        units,
        &header,
        PartNumbering::Eight,
    ))
}

fn any_language() -> impl Strategy<Value = Language> {
    prop::sample::select(Language::ALL.to_vec())
}

/// Text that some tables have: of ASCII, euros, and the letters of a few languages.
fn any_text() -> impl Strategy<Value = String> {
    let letters = "abc 123€^[]ğışçáíóúêãõहिन्दीসাАйぁ北";
    let character = prop::sample::select(letters.chars().collect::<Vec<_>>());
    (prop::collection::vec(character, 0..5), 0_usize..400).prop_map(|(some, length)| {
        some.iter()
            .cycle()
            .take(length.min(some.len() * 400))
            .collect()
    })
}

proptest! {
    #[test]
    fn no_other_allowed_choice_is_shorter(
        text in any_text(),
        languages in prop::collection::vec(any_language(), 0..4),
    ) {
        let chosen = choose(&text, &languages);
        let parts = segments(&text, chosen);
        prop_assert!(parts.is_some());
        let mut tables = vec![Language::Default];
        tables.extend(&languages);
        let mut others = vec![Choice::Ucs2];
        for locking in &tables {
            for single in &tables {
                others.push(gsm(*locking, *single));
            }
        }
        for other in others {
            if let Some(fewer) = segments(&text, other) {
                prop_assert!(parts.unwrap() <= fewer, "{chosen:?} is beaten by {other:?}");
            }
        }
    }

    #[test]
    fn forced_text_fits_and_is_never_empty(
        text in ".{0,40}",
        alphabet in prop::sample::select(Alphabet::ALL.to_vec()),
        policy in prop::sample::select(vec![SubstitutionPolicy::Transliterate, SubstitutionPolicy::Replace]),
        language in any_language(),
    ) {
        let shifts = Shifts { locking: language, single: language };
        let forced = force(&text, alphabet, shifts, policy);
        prop_assert_eq!(forced.octets.is_empty(), text.is_empty());
        let read = decode(alphabet, &forced.octets, shifts);
        prop_assert_eq!(encode(&read, alphabet, shifts), Ok(forced.octets));
        match encode(&text, alphabet, shifts) {
            Ok(_) => prop_assert_eq!((read, forced.changed), (text, 0)),
            Err(_) => prop_assert!(forced.changed > 0),
        }
    }

    #[test]
    fn no_octets_stop_a_reader(octets: Vec<u8>, language in any_language()) {
        let shifts = Shifts { locking: language, single: language };
        for alphabet in Alphabet::ALL {
            let text = decode(alphabet, &octets, shifts);
            prop_assert!(text.chars().count() <= octets.len().div_ceil(7) * 8);
        }
    }

    #[test]
    fn text_of_an_alphabet_comes_back(
        text in ".{0,40}",
        alphabet in prop::sample::select(Alphabet::ALL.to_vec()),
    ) {
        if let Ok(octets) = encode(&text, alphabet, Shifts::default()) {
            let read = decode(alphabet, &octets, Shifts::default());
            // Packed text may end in two carriage returns instead of one.
            prop_assert_eq!(read.trim_end_matches('\r'), text.trim_end_matches('\r'));
        }
    }
}
