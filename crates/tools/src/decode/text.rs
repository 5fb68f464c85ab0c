//! User data: the elements of its header, its alphabet, its text (3GPP TS 23.038, 23.040 §9.2.3.24).

use bytes::Bytes;

use super::elements;
use super::hex;
use super::report::{DecodedUserData, FieldDetail};
use smsc_sms::coding::{DataCoding, DataCodingScheme, coding};
use smsc_sms::convert::{self, Alphabet};
use smsc_sms::language::{Language, Shifts};
use smsc_sms::udh::UserDataHeader;
use smsc_sms::{gsm7, pack, tpdu, ucs2};

const GSM: &str = "GSM 7-bit, one septet per octet";
const GSM_PACKED: &str = "GSM 7-bit, packed";

/// What is known of user data before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserDataHints {
    /// `None`: not told.
    pub data_coding: Option<u8>,
    /// Whether it begins with a header; `None`: to be guessed.
    pub has_header: Option<bool>,
    /// Whether septets are packed; `None`: to be guessed.
    pub packed: Option<bool>,
}

/// Explains user data whose first octet is number `at` of what was given. The second value is the
/// error of the header, if any; then everything is read as text.
pub fn explain(
    octets: &Bytes,
    at: usize,
    reading: UserDataHints,
) -> (DecodedUserData, Option<String>) {
    let split = UserDataHeader::split(octets);
    let wanted = reading
        .has_header
        .unwrap_or_else(|| split.as_ref().is_ok_and(|(header, _)| is_likely(header)));
    let (header, body, problem) = match (wanted, split) {
        (false, _) => (UserDataHeader::default(), octets.clone(), None),
        (true, Ok((header, body))) => (header, body, None),
        (true, Err(error)) => (
            UserDataHeader::default(),
            octets.clone(),
            Some(format!("{error}; phones ignore such a header")),
        ),
    };
    let taken = octets.len() - body.len();
    let mut user_data = DecodedUserData {
        at,
        octets: octets.len(),
        header: elements::explain(&header),
        ..DecodedUserData::default()
    };
    read(&mut user_data, &body, header.shifts(), taken, reading);
    (user_data, problem)
}

/// Explains the user data of a TPDU, which has `octets` octets from number `at` of what was given.
pub fn of_tpdu(
    user_data: &tpdu::UserData,
    data_coding: u8,
    at: usize,
    octets: usize,
) -> DecodedUserData {
    let (header, body) = (&user_data.header, &user_data.body);
    let text = user_data.text(data_coding);
    let dcs = DataCodingScheme::parse(data_coding);
    let alphabet = match dcs.coding() {
        DataCoding::Default => with_tables(GSM_PACKED, header.shifts()),
        DataCoding::Ucs2 => "UCS-2".to_owned(),
        _ if dcs.compressed => "compressed, not read here".to_owned(),
        _ => "data".to_owned(),
    };
    DecodedUserData {
        at,
        octets,
        header: elements::explain(header),
        alphabet,
        characters: match &text {
            Some(text) => text.chars().count(),
            None => body.len(),
        },
        data: text.is_none().then(|| hex::spaced(body)),
        text,
        or: Vec::new(),
    }
}

/// Whether octets begin with a header, if that was not given: only if it has elements that phones
/// know.
fn is_likely(header: &UserDataHeader) -> bool {
    header.concat().is_some() || header.ports().is_some() || !header.shifts().is_default()
}

fn read(
    user_data: &mut DecodedUserData,
    body: &[u8],
    shifts: Shifts,
    header_octets: usize,
    reading: UserDataHints,
) {
    let data_coding = reading.data_coding.unwrap_or(0);
    let is_guess = reading.data_coding.is_none();
    let gsm = || gsm7::decode(body, shifts);
    let packed = || unpacked(body, header_octets, shifts);
    let latin1 = || convert::decode(Alphabet::Latin1, body, shifts);
    let coding = match coding(data_coding) {
        // Some peers call the 7-bit alphabet ASCII; a header that names its tables settles it.
        DataCoding::Ascii if !shifts.is_default() => DataCoding::Default,
        coding => coding,
    };
    let (alphabet, text) = match coding {
        DataCoding::Default => {
            let is_packed = match reading.packed {
                Some(packed) => packed,
                // A septet string has no octet above 0x7F.
                None => is_guess && !body.is_ascii(),
            };
            if is_packed {
                (with_tables(GSM_PACKED, shifts), Some(packed()))
            } else {
                (with_tables(GSM, shifts), Some(gsm()))
            }
        }
        DataCoding::Ascii => ("ASCII".to_owned(), Some(latin1())),
        DataCoding::Latin1 => ("Latin-1".to_owned(), Some(latin1())),
        DataCoding::Ucs2 => ("UCS-2".to_owned(), Some(ucs2::decode(body))),
        DataCoding::Octets => ("data".to_owned(), None),
        DataCoding::Other(other) => (format!("data_coding {other}, not read here"), None),
    };
    let is_certain = matches!(coding, DataCoding::Latin1 | DataCoding::Ucs2) && !is_guess;
    // Octets that a septet string of a text does not have: the given coding may be wrong.
    let is_odd = is_guess || !body.is_ascii() || body.contains(&0);
    if !is_certain {
        user_data.or = alternatives(
            body,
            text.as_deref(),
            &[
                (GSM, gsm()),
                (GSM_PACKED, if is_odd { packed() } else { String::new() }),
                ("Latin-1", latin1()),
                (
                    "UTF-8",
                    String::from_utf8(body.to_vec()).unwrap_or_default(),
                ),
                (
                    "UCS-2",
                    if is_odd && body.len().is_multiple_of(2) {
                        ucs2::decode(body)
                    } else {
                        String::new()
                    },
                ),
            ],
        );
    }
    user_data.alphabet = alphabet;
    user_data.characters = match &text {
        Some(text) => text.chars().count(),
        None => body.len(),
    };
    if text.is_none() {
        user_data.data = Some(hex::spaced(body));
    }
    user_data.text = text;
}

/// Readings that give something printable, and something else than `text`.
fn alternatives(body: &[u8], text: Option<&str>, readings: &[(&str, String)]) -> Vec<FieldDetail> {
    let mut seen: Vec<&str> = text.into_iter().collect();
    let mut or = Vec::new();
    for (alphabet, read) in readings {
        let is_new = !body.is_empty() && is_printable(read) && !seen.contains(&read.as_str());
        if is_new {
            seen.push(read);
            or.push(FieldDetail::new(*alphabet, read.clone(), ""));
        }
    }
    or
}

fn is_printable(text: &str) -> bool {
    let odd = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
            || matches!(c, '\u{FFFD}' | '\u{E000}'..='\u{F8FF}')
    };
    !text.is_empty() && !text.chars().any(odd)
}

fn unpacked(body: &[u8], header_octets: usize, shifts: Shifts) -> String {
    let fill_bits = pack::fill_bits(header_octets);
    let bits = (body.len() * 8).saturating_sub(fill_bits.into());
    let mut septets = pack::unpack(body, fill_bits, bits / 7);
    // Without a count, seven zero bits at the very end are padding rather than an @.
    if bits.is_multiple_of(7) && septets.last() == Some(&0) {
        septets.pop();
    }
    gsm7::decode(&septets, shifts)
}

/// An alphabet, with the national tables that replace or extend it.
pub fn with_tables(alphabet: &str, shifts: Shifts) -> String {
    let mut said = alphabet.to_owned();
    for (language, kind) in [(shifts.locking, "locking"), (shifts.single, "single")] {
        if language != Language::Default {
            said.push_str(&format!(", {language} {kind} shift"));
        }
    }
    said
}
