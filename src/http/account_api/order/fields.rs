//! Fields of a submission: numbers, senders, times, octets. Every error names the field and the cure.

use std::time::Duration;

use bytes::Bytes;

use crate::config::parse_duration;
use crate::content::compose::{self, YEAR_2100};
use crate::domain::moment;
use crate::domain::rewrite::TypedAddress;
use crate::http::problem::Problem;
use crate::numbers::Numbers;

/// A destination as the account writes it, in international form.
pub(in crate::http::account_api) fn destination(
    text: &str,
    numbers: &Numbers,
) -> Result<Bytes, Problem> {
    number("to", text, numbers).map(Bytes::from)
}

/// A number in international form, without a plus; `field` is what the answer to a wrong one calls it.
pub(in crate::http::account_api) fn number(
    field: &str,
    text: &str,
    numbers: &Numbers,
) -> Result<String, Problem> {
    let read = numbers.read(text);
    read.map_err(|wrong| Problem::bad_value(field, format!("{field} {wrong}")))
}

/// The sender with its TON and NPI.
pub(in crate::http::account_api) fn source(text: &str) -> Result<TypedAddress, Problem> {
    compose::sender(text).map_err(|wrong| Problem::bad_value("from", format!("from {wrong}")))
}

pub(in crate::http::account_api) fn check_reference(
    reference: Option<&str>,
) -> Result<(), Problem> {
    compose::check_reference(reference.unwrap_or_default())
        .map_err(|wrong| Problem::bad_value("reference", format!("reference {wrong}")))
}

pub(super) fn time(field: &str, text: &str) -> Result<i64, Problem> {
    let found = moment::parse(text).filter(|at| (0..YEAR_2100).contains(at));
    found.ok_or_else(|| {
        let detail = format!("{field} must be a time such as 2036-11-21T09:00:00Z, not {text:?}");
        Problem::bad_value(field, detail)
    })
}

/// A period as `valid_for` writes it, in milliseconds.
pub(super) fn period(text: &str) -> Result<i64, Problem> {
    let period = parse_duration(text).filter(|period| *period >= Duration::from_secs(1));
    let period = period.ok_or_else(|| {
        let detail = format!("valid_for must be a time such as 2h or 1d12h, not {text:?}");
        Problem::bad_value("valid_for", detail)
    })?;
    Ok(i64::try_from(period.as_millis()).unwrap_or(i64::MAX))
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
