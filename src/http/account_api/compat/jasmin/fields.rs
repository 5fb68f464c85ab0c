//! Which parameters Jasmin knows, and what they may be.

use super::JasminError;
use crate::http::account_api::compat::args::Args;

/// A parameter.
pub(super) struct JasminParameter {
    name: &'static str,
    is_needed: bool,
    fits: fn(&[u8]) -> bool,
}

const TO: JasminParameter = needed("to", is_number);
const FROM: JasminParameter = optional("from", anything);
const CODING: JasminParameter = optional("coding", is_coding);
const USERNAME: JasminParameter = needed("username", is_something);
const PASSWORD: JasminParameter = needed("password", is_something);
const PRIORITY: JasminParameter = optional("priority", |value| matches!(value, [b'0'..=b'3']));
const VALIDITY: JasminParameter = optional("validity-period", is_digits);
const TAGS: JasminParameter = optional("tags", is_tags);
const CONTENT: JasminParameter = optional("content", anything);
const HEX_CONTENT: JasminParameter = optional("hex-content", anything);

/// Of `/send`.
pub(super) const SEND: &[JasminParameter] = &[
    TO,
    FROM,
    CODING,
    USERNAME,
    PASSWORD,
    PRIORITY,
    optional("sdt", is_time),
    VALIDITY,
    optional("dlr", |value| matches!(value, b"yes" | b"no")),
    optional("dlr-url", is_url),
    optional("dlr-level", |value| matches!(value, [b'1'..=b'3'])),
    optional("dlr-method", is_method),
    TAGS,
    CONTENT,
    HEX_CONTENT,
    // They have the numbers of the old network's operators. An empty list is none.
    optional("custom_tlvs", |value| matches!(value, b"" | b"[]")),
];

/// Of `/rate`.
pub(super) const RATE: &[JasminParameter] = &[
    TO,
    FROM,
    CODING,
    USERNAME,
    PASSWORD,
    PRIORITY,
    VALIDITY,
    TAGS,
    CONTENT,
    HEX_CONTENT,
];

/// Of `/balance`.
pub(super) const BALANCE: &[JasminParameter] = &[USERNAME, PASSWORD];

/// Checks the parameters of a request.
///
/// # Errors
/// One is not known, missing, or not what it may be; in this order, and the text says which.
pub(super) fn check(args: &Args, fields: &[JasminParameter]) -> Result<(), JasminError> {
    if args.names().next().is_none() {
        let said = "Mandatory arguments not found, please refer to the HTTPAPI specifications.";
        return Err(JasminError::invalid(said));
    }
    let is_known = |name: &str| fields.iter().any(|field| field.name == name);
    if let Some(unknown) = args.names().find(|name| !is_known(name)) {
        return Err(JasminError::invalid(format!(
            "Argument [{unknown}] is unknown."
        )));
    }
    for field in fields {
        match args.octets(field.name) {
            Some(value) if !(field.fits)(value) => {
                return Err(JasminError::of_value(field.name, args));
            }
            None if field.is_needed => {
                let said = format!("Mandatory argument [{}] is not found.", field.name);
                return Err(JasminError::invalid(said));
            }
            _ => {}
        }
    }
    Ok(())
}

const fn needed(name: &'static str, fits: fn(&[u8]) -> bool) -> JasminParameter {
    JasminParameter {
        name,
        is_needed: true,
        fits,
    }
}

const fn optional(name: &'static str, fits: fn(&[u8]) -> bool) -> JasminParameter {
    JasminParameter {
        name,
        is_needed: false,
        fits,
    }
}

fn anything(_: &[u8]) -> bool {
    true
}

fn is_something(value: &[u8]) -> bool {
    !value.is_empty()
}

fn is_digits(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_digit)
}

fn is_number(value: &[u8]) -> bool {
    is_digits(value.strip_prefix(b"+").unwrap_or(value))
}

fn is_coding(value: &[u8]) -> bool {
    matches!(value, [b'0'..=b'9'] | b"10" | b"13" | b"14")
}

/// A time of SMPP 3.4 §7.1.1.
fn is_time(value: &[u8]) -> bool {
    matches!(value, [digits @ .., b'+' | b'-' | b'R'] if digits.len() == 15 && is_digits(digits))
}

fn is_url(value: &[u8]) -> bool {
    value.starts_with(b"http://") || value.starts_with(b"https://")
}

fn is_method(value: &[u8]) -> bool {
    value.eq_ignore_ascii_case(b"get") || value.eq_ignore_ascii_case(b"post")
}

fn is_tags(value: &[u8]) -> bool {
    let fits = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b',');
    value.iter().all(fits)
}
