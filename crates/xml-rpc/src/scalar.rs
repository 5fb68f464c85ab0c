//! The text of scalar values, both ways.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::{Error, XmlRpcValue};

/// Characters of a wrong text that an error repeats.
const SHOWN: usize = 40;

/// The value in an element of this name; `None` if there is no such scalar.
pub(crate) fn parse(name: &str, text: String) -> Option<Result<XmlRpcValue, Error>> {
    let (kind, value) = match name {
        "string" => return Some(Ok(XmlRpcValue::String(text))),
        "int" | "i4" => ("32-bit integer", int(&text)),
        "i8" => (
            "64-bit integer",
            text.trim().parse().ok().map(XmlRpcValue::Int),
        ),
        "boolean" => ("boolean, 0 or 1", boolean(&text)),
        "double" => ("double", double(&text)),
        "dateTime.iso8601" => ("dateTime.iso8601 such as 20361121T09:00:00", time(&text)),
        "base64" => ("base64", base64(&text)),
        "nil" => (
            "nil, which is empty",
            text.trim().is_empty().then_some(XmlRpcValue::Nil),
        ),
        _ => return None,
    };
    Some(value.ok_or_else(|| Error::Scalar {
        kind,
        text: text.chars().take(SHOWN).collect(),
    }))
}

/// `20361121T09:00:00`, in UTC and whole seconds; `None` beyond the calendar.
pub(crate) fn time_text(ms: i64) -> Option<String> {
    let time = Timestamp::from_millisecond(ms).ok()?;
    Some(time.strftime("%Y%m%dT%H:%M:%S").to_string())
}

pub(crate) fn base64_text(octets: &[u8]) -> String {
    STANDARD.encode(octets)
}

fn int(text: &str) -> Option<XmlRpcValue> {
    let number: i32 = text.trim().parse().ok()?;
    Some(XmlRpcValue::Int(number.into()))
}

fn boolean(text: &str) -> Option<XmlRpcValue> {
    match text.trim() {
        "0" => Some(XmlRpcValue::Boolean(false)),
        "1" => Some(XmlRpcValue::Boolean(true)),
        _ => None,
    }
}

/// No infinity and no NaN, which XML-RPC lacks.
fn double(text: &str) -> Option<XmlRpcValue> {
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some(XmlRpcValue::Double(number))
}

/// With or without hyphens, and in UTC unless an offset follows.
fn time(text: &str) -> Option<XmlRpcValue> {
    let text = text.trim();
    let local = || {
        let time: DateTime = text.contains(':').then_some(text)?.parse().ok()?;
        Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let time: Timestamp = text.parse().ok().or_else(local)?;
    Some(XmlRpcValue::DateTime(time.as_millisecond()))
}

/// Lines and blanks in it do not count.
fn base64(text: &str) -> Option<XmlRpcValue> {
    let text: String = text.split_ascii_whitespace().collect();
    let octets = STANDARD.decode(text).ok()?;
    Some(XmlRpcValue::Base64(Bytes::from(octets)))
}
