//! Vectors of every table, what a reader does with codes that no table has, and the identity of
//! encoding and decoding for every text that the tables can write.

use proptest::prelude::*;

use super::super::hex::octets;
use super::super::language::Language;
use super::*;

use Language::*;

fn septets_of(character: char, shifts: Shifts) -> Option<usize> {
    Tables::of(shifts).width(character)
}

const fn shifts(locking: Language, single: Language) -> Shifts {
    Shifts { locking, single }
}

/// Section of 23.038, tables, text, septet string. Written and read.
#[rustfmt::skip]
const BOTH_WAYS: &[(&str, Language, Language, &str, &str)] = &[
    ("6.2.1", Default, Default, "", ""),
    ("6.2.1", Default, Default, "hello", "68 65 6c 6c 6f"),
    ("6.2.1", Default, Default, "@£$¥èéùìòÇ\nØø\rÅå", "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f"),
    ("6.2.1", Default, Default, "Δ_ΦΓΛΩΠΨΣΘΞÆæßÉ", "10 11 12 13 14 15 16 17 18 19 1a 1c 1d 1e 1f"),
    ("6.2.1", Default, Default, " !\"#¤%&'()*+,-./", "20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d 2e 2f"),
    ("6.2.1", Default, Default, "¡ÄÖÑÜ§¿äöñüà", "40 5b 5c 5d 5e 5f 60 7b 7c 7d 7e 7f"),
    ("6.2.1.1", Default, Default, "^{}\\[~]|€", "1b14 1b28 1b29 1b2f 1b3c 1b3d 1b3e 1b40 1b65"),
    ("6.2.1.1", Default, Default, "a\u{0c}b", "61 1b0a 62"),
    ("A.2.1", Default, Turkish, "ĞİŞçğış€", "1b47 1b49 1b53 1b63 1b67 1b69 1b73 1b65"),
    ("A.3.1", Turkish, Default, "€ıĞğŞşİç", "04 07 0b 0c 1c 1d 40 60"),
    ("A.3.1", Turkish, Turkish, "ağız", "61 0c 07 7a"),
    ("A.2.2", Default, Spanish, "áíóúÁÍÓÚç", "1b61 1b69 1b6f 1b75 1b41 1b49 1b4f 1b55 1b09"),
    ("A.3.2", Spanish, Default, "¿ñ?", "60 7d 3f"),
    ("A.2.3", Default, Portuguese, "êçÔôÁáÊÀÍÓÚÃÕÂ", "1b05 1b09 1b0b 1b0c 1b0e 1b0f 1b1f 1b41 1b49 1b4f 1b55 1b5b 1b5c 1b61"),
    ("A.2.3", Default, Portuguese, "íóúãõâΦ", "1b69 1b6f 1b75 1b7b 1b7c 1b7f 12"),
    ("A.3.3", Portuguese, Default, "êúíóçÔôÁáªÇÀ∞^\\€Ó|", "04 06 07 08 09 0b 0c 0e 0f 12 13 14 15 16 17 18 19 1a"),
    ("A.3.3", Portuguese, Portuguese, "ÂâÊºÍÃÕÚ~ãõ`Φ", "1c 1d 1e 24 40 5b 5c 5d 60 7b 7c 7d 1b12"),
    ("A.3.4", Bengali, Bengali, "বাংলা ৳", "40 50 01 46 50 20 1b2c"),
    ("A.3.5", Gujarati, Gujarati, "ગુજરાતી ૧", "17 53 1d 44 50 27 52 20 1b1d"),
    ("A.3.6", Hindi, Hindi, "हिन्दी १", "4d 51 2f 5f 2b 52 20 1b1d"),
    ("A.3.6", Hindi, Default, "हिन्दी", "4d 51 2f 5f 2b 52"),
    ("A.2.6", Default, Hindi, "HINDI ०", "48 49 4e 44 49 20 1b1c"),
    ("A.2.6", Hindi, Hindi, "SMS", "1b53 1b4d 1b53"),
    ("A.3.7", Kannada, Kannada, "ಕನ್ನಡ ೧", "15 2f 5f 2f 24 20 1b1d"),
    ("A.3.8", Malayalam, Malayalam, "മലയാളം ൧", "42 46 43 50 47 01 20 1b1d"),
    ("A.3.9", Oriya, Oriya, "ଓଡ଼ିଆ", "13 24 4e 51 04"),
    ("A.3.10", Punjabi, Punjabi, "ਪੰਜਾਬੀ ੧", "3d 7b 1d 50 40 52 20 1b1d"),
    ("A.3.11", Tamil, Tamil, "தமிழ் ௧", "27 42 51 48 5f 20 1b1d"),
    ("A.3.12", Telugu, Telugu, "తెలుగు ౧", "27 58 46 53 17 53 20 1b1d"),
    ("A.3.13", Urdu, Urdu, "اردو ۱", "00 25 1a 53 20 1b1d"),
    ("A.3.13", Urdu, Default, ")(", "28 29"),
];

/// Section, tables, septet string, what a reader makes of it.
#[rustfmt::skip]
const ONLY_READ: &[(&str, Language, Language, &str, &str)] = &[
    ("6.2.1.1 not in the extension: the basic character", Default, Default, "1b41 1b7f", "Aà"),
    ("6.2.1.1 not in the extension: that of the locking table", Turkish, Default, "1b0b", "Ğ"),
    ("6.2.1.1 escape for another table: a space", Default, Default, "61 1b1b 62", "a b"),
    ("6.2.1.1 the reserved control character", Default, Default, "1b0d", "\r"),
    ("an escape at the end announces nothing", Default, Default, "61 1b", "a"),
    ("no septet", Default, Default, "61 80 ff", "a\u{fffd}\u{fffd}"),
    ("no septet after an escape", Default, Default, "1b80 61", "\u{fffd}a"),
    ("A.3.11 a free position", Tamil, Default, "00", "\u{fffd}"),
    ("A.2.4 the second place of a character", Default, Bengali, "1b15 1b18", "¡*"),
    ("A.2.1 takes the place of the extension: no ^ of its own at 0x0b", Default, Turkish, "1b0b", "Ø"),
];

/// Tables, text, the first character that they lack and how many stand before it.
const UNREPRESENTABLE: &[(Language, Language, &str, char, usize)] = &[
    (Default, Default, "naïve", 'ï', 2),
    (Default, Default, "€ ç", 'ç', 2),
    (Default, Default, "\u{1b}", '\u{1b}', 0),
    (Default, Default, "a\0", '\0', 1),
    (Default, Default, "`", '`', 0),
    (Default, Default, "ok 😀", '😀', 3),
    (Hindi, Default, "अ A", 'A', 2),
    (Default, Turkish, "á", 'á', 0),
    (Turkish, Turkish, "è", 'è', 0),
];

#[test]
fn vectors_are_written_and_read() {
    for (section, locking, single, text, hex) in BOTH_WAYS {
        let shifts = shifts(*locking, *single);
        let septets = octets(hex);
        assert_eq!(
            encode(text, shifts),
            Ok(septets.clone()),
            "§{section} {text:?}"
        );
        assert_eq!(decode(&septets, shifts), *text, "§{section} {hex}");
    }
}

#[test]
fn a_reader_takes_what_it_gets() {
    for (what, locking, single, hex, text) in ONLY_READ {
        let shifts = shifts(*locking, *single);
        assert_eq!(decode(&octets(hex), shifts), *text, "{what}");
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    for (locking, single, text, character, at) in UNREPRESENTABLE {
        let shifts = shifts(*locking, *single);
        let error = encode(text, shifts).unwrap_err();
        assert_eq!((error.character, error.at), (*character, *at), "{text:?}");
        assert_eq!(septets_of(*character, shifts), None);
    }
    assert_eq!(
        encode("naïve", Shifts::default()).unwrap_err().to_string(),
        "'ï' (U+00EF), character 2 of the text, is not in the alphabet"
    );
}

#[test]
fn septets_are_counted_as_they_are_written() {
    let shifts = shifts(Default, Turkish);
    assert_eq!(septets_of('a', shifts), Some(1));
    assert_eq!(septets_of('€', shifts), Some(2));
    assert_eq!(septets_of('ğ', shifts), Some(2));
    assert_eq!(septets_of('ğ', Shifts::default()), None);
}

#[test]
fn every_table_has_what_every_text_needs() {
    let all = [Default].into_iter().chain(Language::ALL);
    for locking in all.clone() {
        for single in all.clone() {
            for character in "\n\r 0123456789?.,:;!()abcxyz".chars() {
                let width = septets_of(character, shifts(locking, single));
                assert_eq!(width, Some(1), "{character:?} in {locking}");
            }
        }
    }
}

/// The characters that a pair of tables can write.
fn characters(shifts: Shifts) -> Vec<char> {
    (0..0x80)
        .flat_map(|septet| [vec![septet], vec![ESCAPE, septet]])
        .flat_map(|septets| decode(&septets, shifts).chars().collect::<Vec<_>>())
        .filter(|character| septets_of(*character, shifts).is_some())
        .collect()
}

fn any_shifts() -> impl Strategy<Value = Shifts> {
    let language = prop::sample::select(
        [Default]
            .into_iter()
            .chain(Language::ALL)
            .collect::<Vec<_>>(),
    );
    (language.clone(), language).prop_map(|(locking, single)| shifts(locking, single))
}

#[test]
fn what_reads_as_ascii_is_the_same_in_three_alphabets() {
    for octet in 0..=u8::MAX {
        let is_same = octet.is_ascii()
            && decode(&[octet], Shifts::default()) == char::from(octet).to_string();
        let is_line_or_shown = matches!(octet, b'\n' | b'\r') || !octet.is_ascii_control();
        assert_eq!(
            reads_as_ascii(&[octet]),
            is_same && is_line_or_shown,
            "{octet:#04X}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_text_of_a_table_comes_back(
        shifts in any_shifts(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
    ) {
        let characters = characters(shifts);
        let text: String = picks.iter().map(|pick| *pick.get(&characters)).collect();
        let septets = encode(&text, shifts).unwrap();
        prop_assert!(septets.iter().all(|septet| *septet < 0x80));
        let widths = text.chars().map(|c| septets_of(c, shifts).unwrap());
        prop_assert_eq!(septets.len(), widths.sum::<usize>());
        prop_assert_eq!(decode(&septets, shifts), text);
    }

    #[test]
    fn no_octets_stop_a_reader(shifts in any_shifts(), septets: Vec<u8>) {
        let text = decode(&septets, shifts);
        prop_assert!(text.chars().count() <= septets.len());
        // What was read and has no U+FFFD can be written, and reads the same again.
        if !text.contains(char::REPLACEMENT_CHARACTER) {
            prop_assert_eq!(decode(&encode(&text, shifts).unwrap(), shifts), text);
        }
    }
}
