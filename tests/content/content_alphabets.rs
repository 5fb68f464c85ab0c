//! The alphabets of short messages, checked by other implementations: every position of every table by
//! the Python packages gsm0338 and gsmcodecs, packing and fill bits by tshark, whole texts by the crate
//! rusmpp.

use std::collections::BTreeMap;

use crate::harness::{Client, debian_tool, python_script, run};
use proptest::prelude::*;
use rusmpp::extra::encoding::gsm7bit::Gsm7BitUnpacked;
use rusmpp::extra::encoding::{latin1::Latin1, ucs2::Ucs2};
use serde_json::Value;
use smsc::sms::convert::{self, Alphabet};
use smsc::sms::gsm7::{self, ESCAPE};
use smsc::sms::pack::{fill_bits, pack};
use smsc::sms::{Language, Shifts, ucs2};

/// A table of gsmcodecs.
type Theirs = BTreeMap<u8, char>;

/// Language, table, code, gsmcodecs' character, ours: exactly the misprints that
/// `crates/sms/src/tables.rs` lists.
#[rustfmt::skip]
const DIFFERENCES: &[(Language, &str, u8, Option<char>, char)] = &[
    (Language::Bengali, "locking", 0x2C, Some('\''), ','),
    (Language::Gujarati, "locking", 0x2C, Some('\''), ','),
    (Language::Hindi, "locking", 0x2C, Some('\''), ','),
    (Language::Kannada, "locking", 0x24, Some('\u{0caa}'), '\u{0ca1}'),
    (Language::Kannada, "locking", 0x2C, Some('\''), ','),
    (Language::Malayalam, "locking", 0x2C, Some('\''), ','),
    (Language::Oriya, "locking", 0x2C, Some('\''), ','),
    (Language::Punjabi, "locking", 0x2C, Some('\''), ','),
    (Language::Tamil, "locking", 0x2C, Some('\''), ','),
    (Language::Telugu, "locking", 0x2C, Some('\''), ','),
    (Language::Telugu, "single", 0x65, None, '€'),
    (Language::Urdu, "locking", 0x2C, Some('\''), ','),
];

#[test]
fn every_position_is_what_others_have_there() {
    let judges = Client::run(python_script("gsm_codecs.py", &[]));
    default_alphabet(&judges["default"]);
    let mut differences = Vec::new();
    for language in [Language::Default].into_iter().chain(Language::ALL) {
        let tables = &judges["national"][usize::from(language.identifier())];
        let (locking, single) = (table(&tables["locking"]), table(&tables["single"]));
        assert!(single.len() >= 10, "{language}: {single:?}");
        if language.has_locking() {
            assert!(locking.len() > 100, "{language}: {locking:?}");
            differences.extend(compare(language, "locking", &locking));
        }
        differences.extend(compare(language, "single", &single));
    }
    assert_eq!(differences, DIFFERENCES);
}

/// Both directions against gsm0338.
fn default_alphabet(judge: &Value) {
    let shifts = Shifts::default();
    let mut written = 0;
    for character in ('\0'..='\u{ffff}').filter(|character| *character != char::from(ESCAPE)) {
        let theirs = judge["written"].get(character.to_string());
        let ours = gsm7::encode(&character.to_string(), shifts).ok().map(hex);
        assert_eq!(
            ours.as_deref(),
            theirs.and_then(Value::as_str),
            "{character:?}"
        );
        written += usize::from(ours.is_some());
    }
    assert_eq!(written, 127 + 10);
    let read = judge["read"].as_object().unwrap();
    assert_eq!(read.len(), 2 * 128);
    for code in (0..0x80).filter(|code| *code != ESCAPE) {
        assert_eq!(
            gsm7::decode(&[code], shifts),
            read[&hex([code])].as_str().unwrap()
        );
        if let Some(theirs) = read[&hex([ESCAPE, code])].as_str() {
            assert_eq!(
                gsm7::decode(&[ESCAPE, code], shifts),
                theirs,
                "after an escape: {code:#04x}"
            );
        }
    }
}

/// Positions where our table differs from theirs. A character in both is also encoded to the code it
/// was read from.
fn compare(
    language: Language,
    kind: &'static str,
    theirs: &Theirs,
) -> Vec<(Language, &'static str, u8, Option<char>, char)> {
    let (shifts, prefix) = match kind {
        "locking" => (Shifts::locking(language), &[][..]),
        _ => (Shifts::single(language), &[ESCAPE][..]),
    };
    let read = |code: u8| {
        gsm7::decode(&[prefix, &[code]].concat(), shifts)
            .chars()
            .next()
    };
    let mut differences = Vec::new();
    for code in (0..0x80).filter(|code| *code != ESCAPE) {
        // Codes without a character in the single shift table mean the basic one.
        let fallback = match kind {
            "locking" => char::REPLACEMENT_CHARACTER,
            _ => gsm7::decode(&[code], shifts).chars().next().unwrap(),
        };
        let (their, our) = (theirs.get(&code).copied(), read(code).unwrap());
        if their.unwrap_or(fallback) == our {
            continue;
        }
        // 0x0D after an escape is reserved, not a character.
        if (kind, code, their) != ("single", 0x0D, Some('\n')) {
            differences.push((language, kind, code, their, our));
        }
    }
    for character in theirs.values() {
        let known = DIFFERENCES.iter().any(|(of, table, _, their, _)| {
            (*of, *table, *their) == (language, kind, Some(*character))
        });
        if known {
            continue;
        }
        let septets = gsm7::encode(&character.to_string(), shifts).unwrap();
        assert_eq!(gsm7::decode(&septets, shifts), character.to_string());
        let code = *septets.last().unwrap();
        let own = kind == "locking" || septets.len() == 2;
        assert!(
            !own || theirs[&code] == *character,
            "{language} {kind} {character:?}"
        );
    }
    differences
}

fn table(json: &Value) -> Theirs {
    let entries = json.as_object().unwrap().iter();
    entries
        .map(|(code, character)| {
            let character = character.as_str().unwrap().chars().next().unwrap();
            (code.parse().unwrap(), character)
        })
        .collect()
}

fn hex(octets: impl AsRef<[u8]>) -> String {
    octets
        .as_ref()
        .iter()
        .map(|octet| format!("{octet:02x}"))
        .collect()
}

/// Printable characters of the default alphabet and its extension, in the order of the tables.
const PRINTABLE: &str = "@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJ\
                         KLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà^{}\\[~]|€";

#[test]
fn tshark_reads_packed_text_behind_headers_of_any_length() {
    let mut expected = Vec::new();
    let mut tpdus = Vec::new();
    // Every number of septets modulo 8, and texts that end in @, which looks like padding.
    for length in 1..=17 {
        let text: String = PRINTABLE
            .chars()
            .cycle()
            .skip(length * 7)
            .take(length)
            .collect();
        tpdus.push(deliver(&[], &septets(&text), 0x00));
        expected.push(text);
        let text = format!("{}@", "x".repeat(length - 1));
        tpdus.push(deliver(&[], &septets(&text), 0x00));
        expected.push(text);
    }
    // An unassigned element in front, so that the fill bits go from 0 to 6.
    for filling in 0..=14 {
        let mut header = vec![filling + 2, 0x7F, filling];
        header.extend(vec![0xAA; usize::from(filling)]);
        let text: String = PRINTABLE
            .chars()
            .skip(usize::from(filling) * 8)
            .take(20)
            .collect();
        tpdus.push(deliver(&header, &septets(&text), 0x00));
        expected.push(text);
    }
    let text: String = PRINTABLE.chars().rev().take(60).collect();
    tpdus.push(deliver(&[], &Written::Octets(ucs2::encode(&text)), 0x08));
    expected.push(text);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tpdu.pcap");
    std::fs::write(&file, capture(&tpdus)).unwrap();
    let mut tshark = debian_tool("tshark");
    tshark
        .arg("-r")
        .arg(&file)
        .args([
            "-o",
            r#"uat:user_dlts:"User 0 (DLT=147)","gsm_sms","0","","0","""#,
        ])
        .args([
            "-T",
            "json",
            "-e",
            "gsm_sms.sms_text",
            "-e",
            "_ws.malformed",
        ]);
    let finished = run(&mut tshark);
    assert!(finished.success, "{}", finished.stderr);
    let packets: Vec<Value> = serde_json::from_str(&finished.stdout).unwrap();
    let read: Vec<&str> = packets
        .iter()
        .map(|packet| {
            let layers = &packet["_source"]["layers"];
            assert!(layers.get("_ws.malformed").is_none(), "{layers}");
            layers["gsm_sms.sms_text"][0].as_str().unwrap_or_default()
        })
        .collect();
    assert_eq!(read, expected);
}

/// A text encoded for user data.
enum Written {
    Septets(Vec<u8>),
    Octets(Vec<u8>),
}

fn septets(text: &str) -> Written {
    Written::Septets(gsm7::encode(text, Shifts::default()).unwrap())
}

/// An SMS-DELIVER (23.040 §9.2.2.1) with a header of these octets, which include its length.
fn deliver(header: &[u8], text: &Written, dcs: u8) -> Vec<u8> {
    let udhi = if header.is_empty() { 0x00 } else { 0x40 };
    let mut tpdu = vec![0x04 | udhi, 0x04, 0x81, 0x21, 0x43, 0x00, dcs];
    tpdu.extend([0x62, 0x11, 0x22, 0x21, 0x00, 0x00, 0x00]);
    match text {
        Written::Septets(septets) => {
            let fill = fill_bits(header.len());
            let before = (header.len() * 8 + usize::from(fill)) / 7;
            tpdu.push((before + septets.len()) as u8);
            tpdu.extend(header);
            tpdu.extend(pack(septets, fill));
        }
        Written::Octets(octets) => {
            tpdu.push((header.len() + octets.len()) as u8);
            tpdu.extend(header);
            tpdu.extend(octets);
        }
    }
    tpdu
}

/// A pcap file whose packets are exactly these octets (LINKTYPE_USER0).
fn capture(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 0xFFFF, 147] {
        file.extend(word.to_le_bytes());
    }
    for packet in packets {
        let length = packet.len() as u32;
        for word in [0, 0, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn rusmpp_writes_the_same_octets(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..80),
        others in ".{0,20}",
    ) {
        let printable: Vec<char> = PRINTABLE.chars().collect();
        let text: String = picks.iter().map(|pick| *pick.get(&printable)).collect();
        for text in [&text, &others] {
            let none = Shifts::default();
            let ours = convert::encode(text, Alphabet::Gsm, none).ok();
            prop_assert_eq!(ours, Gsm7BitUnpacked::new().encode_to_vec(text).ok());
            let ours = convert::encode(text, Alphabet::Latin1, none).ok();
            prop_assert_eq!(ours, Latin1::new().encode_to_vec(text).ok());
            // rusmpp implements UCS-2 proper, without surrogate pairs.
            if let Ok(theirs) = Ucs2::new().encode_to_vec(text) {
                prop_assert_eq!(ucs2::encode(text), theirs);
            }
        }
    }
}
