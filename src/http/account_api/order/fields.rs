//! Fields of a submission: numbers, senders, times, octets. Every error names the field and the cure.

use bytes::Bytes;

pub(in crate::http::account_api) use crate::content::compose::INTERNATIONAL;

use crate::content::compose;
use crate::domain::moment;
use crate::http::problem::Problem;

/// Digits of the longest number (E.164 has 15; national forms may have more).
const DIGITS: std::ops::RangeInclusive<usize> = 3..=20;
const MAX_LETTERS: usize = 11;
const MAX_REFERENCE: usize = 100;

/// SMPP has two digits for the year (3.4 §7.1.1.1).
const YEAR_2100: i64 = 4_102_444_800_000;

/// A number as people write it: digits, with or without a plus sign, spaces, dots, hyphens and parentheses.
pub(in crate::http::account_api) fn destination(text: &str) -> Result<Bytes, Problem> {
    let is_decoration = |sign: char| matches!(sign, ' ' | '-' | '.' | '(' | ')' | '\u{a0}');
    let digits: String = text
        .trim()
        .chars()
        .filter(|sign| !is_decoration(*sign))
        .collect();
    let digits = digits
        .strip_prefix('+')
        .or_else(|| digits.strip_prefix("00"))
        .unwrap_or(&digits);
    let is_number = digits.bytes().all(|octet| octet.is_ascii_digit());
    if !is_number || !DIGITS.contains(&digits.len()) {
        return Err(Problem::bad_value(
            "to",
            format!("to must be a number in international form such as 447700900123, not {text:?}"),
        ));
    }
    Ok(Bytes::copy_from_slice(digits.as_bytes()))
}

/// The sender with its TON and NPI.
pub(in crate::http::account_api) fn source(text: &str) -> Result<((u32, u32), Bytes), Problem> {
    let text = text.trim();
    let digits = text.strip_prefix('+').unwrap_or(text);
    let is_number = digits.bytes().all(|octet| octet.is_ascii_digit());
    let fits = match is_number {
        true => digits.len() <= *DIGITS.end(),
        false => {
            text.len() <= MAX_LETTERS && text.bytes().all(|octet| (b' '..0x7F).contains(&octet))
        }
    };
    if !fits {
        return Err(Problem::bad_value(
            "from",
            format!(
                "from must be a number, a short code or up to {MAX_LETTERS} letters, not {text:?}"
            ),
        ));
    }
    Ok(compose::source(text))
}

pub(in crate::http::account_api) fn check_reference(
    reference: Option<&str>,
) -> Result<(), Problem> {
    let is_fine =
        |text: &str| text.chars().count() <= MAX_REFERENCE && !text.chars().any(char::is_control);
    if reference.is_none_or(is_fine) {
        return Ok(());
    }
    let detail = format!("reference must be at most {MAX_REFERENCE} printable characters");
    Err(Problem::bad_value("reference", detail))
}

pub(super) fn time(field: &str, text: &str) -> Result<i64, Problem> {
    let found = moment::parse(text).filter(|at| (0..YEAR_2100).contains(at));
    found.ok_or_else(|| {
        let detail = format!("{field} must be a time such as 2036-11-21T09:00:00Z, not {text:?}");
        Problem::bad_value(field, detail)
    })
}

pub(in crate::http::account_api) fn hex(field: &str, text: &str) -> Result<Bytes, Problem> {
    let wrong = || {
        let detail = format!("{field} must be hexadecimal digits, two for each octet");
        Problem::bad_value(field, detail)
    };
    let pairs = text.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair)
            .ok()
            .filter(|pair| pair.len() == 2)?;
        let digits = pair.bytes().all(|octet| octet.is_ascii_hexdigit());
        digits.then(|| u8::from_str_radix(pair, 16).ok()).flatten()
    });
    pairs
        .collect::<Option<Vec<u8>>>()
        .map(Bytes::from)
        .ok_or_else(wrong)
}
