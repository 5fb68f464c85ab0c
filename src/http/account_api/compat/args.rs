//! Parameters of a request: of its query, and of a body that is a form or JSON.
//!
//! Values are octets, because texts and user data headers need not be UTF-8. They hold passwords and texts: nothing
//! here has a `Debug`, and nothing is logged.

use std::borrow::Cow;

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpMessage as _, HttpRequest};
use bytes::Bytes;
use percent_encoding::percent_decode;

use super::json::JsonMembers;

/// Most parameters of a request. They are counted before anybody has logged in; Kannel and Jasmin know some forty names.
pub(super) const MOST: usize = 128;

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

/// The parameters, in their order.
#[derive(Default)]
pub(super) struct Args(Vec<(String, Bytes)>);

/// Why a request has no parameters.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// The body is none that has any.
    Kind,
    /// There are more than [`MOST`].
    TooMany,
}

// === impl Args ===

impl Args {
    /// Those of the query, then those of a form.
    ///
    /// # Errors
    /// The body is something else, or has too many.
    pub(super) fn of_form(request: &HttpRequest, body: &[u8]) -> Result<Self, Unreadable> {
        let mut args = Self::default();
        args.add_form(request.query_string().as_bytes())?;
        match request.content_type() {
            _ if body.is_empty() => {}
            // What a client sends that names no type is what it meant as a form.
            FORM => args.add_form(body)?,
            _ if !request.headers().contains_key(CONTENT_TYPE) => args.add_form(body)?,
            _ => return Err(Unreadable::Kind),
        }
        Ok(args)
    }

    /// Those of the query, then those of a form or a JSON object.
    ///
    /// # Errors
    /// The body is something else, or has too many.
    pub(super) fn of_form_or_json(request: &HttpRequest, body: &[u8]) -> Result<Self, Unreadable> {
        if request.content_type() != JSON || body.is_empty() {
            return Self::of_form(request, body);
        }
        let members: JsonMembers = serde_json::from_slice(body).map_err(|_| Unreadable::Kind)?;
        let mut args = Self(members.0);
        // As the original does: what the body says is stronger.
        args.add_form(request.query_string().as_bytes())?;
        Ok(args)
    }

    fn add_form(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        for pair in text.split(|octet| *octet == b'&') {
            if pair.is_empty() {
                continue;
            }
            if self.0.len() == MOST {
                return Err(Unreadable::TooMany);
            }
            let at = pair.iter().position(|octet| *octet == b'=');
            let (name, value) = pair.split_at(at.unwrap_or(pair.len()));
            let name = String::from_utf8_lossy(&decoded(name)).into_owned();
            let value = value.strip_prefix(b"=").unwrap_or(value);
            self.0.push((name, decoded(value)));
        }
        Ok(())
    }

    /// The first value of this name, also an empty one.
    pub(super) fn octets(&self, name: &str) -> Option<&Bytes> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        Some(value)
    }

    /// The first value of one of two names for one thing, also an empty one.
    pub(super) fn either(&self, name: &str, other: &str) -> Option<&Bytes> {
        self.octets(name).or_else(|| self.octets(other))
    }

    /// The value as characters, empty without one.
    pub(super) fn text(&self, name: &str) -> Cow<'_, str> {
        self.octets(name)
            .map_or(Cow::Borrowed(""), |value| String::from_utf8_lossy(value))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

/// Without percent signs; a plus sign is a blank.
fn decoded(text: &[u8]) -> Bytes {
    let blanks: Vec<u8> = text
        .iter()
        .map(|octet| if *octet == b'+' { b' ' } else { *octet })
        .collect();
    match percent_decode(&blanks).into() {
        Cow::Borrowed(_) => blanks.into(),
        Cow::Owned(octets) => octets.into(),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn read(query: &str, content_type: &str, body: &str) -> Result<Args, Unreadable> {
        let request = TestRequest::with_uri(&format!("/send?{query}"))
            .insert_header(("Content-Type", content_type))
            .to_http_request();
        Args::of_form_or_json(&request, body.as_bytes())
    }

    #[test]
    fn octets_are_octets() {
        let args = read(
            "udh=%06%05%04%0B%84%23%F0&to=%2B1+2&empty=&bare&a=b=c",
            FORM,
            "",
        )
        .unwrap();
        assert_eq!(
            &args.octets("udh").unwrap()[..],
            b"\x06\x05\x04\x0B\x84\x23\xF0"
        );
        assert_eq!(args.text("to"), "+1 2");
        assert_eq!(
            (args.text("empty"), args.text("bare")),
            ("".into(), "".into())
        );
        assert!(args.octets("bare").is_some() && args.octets("missing").is_none());
        assert_eq!(args.text("a"), "b=c");
    }

    #[test]
    fn a_body_is_a_form_or_json() {
        let args = read("to=1", FORM, "to=2&text=h%C3%A9").unwrap();
        assert_eq!(
            (args.text("to"), args.text("text")),
            ("1".into(), "hé".into())
        );
        let args = read(
            "to=1",
            JSON,
            r#"{"to": "2", "coding": 8, "custom_tlvs": []}"#,
        )
        .unwrap();
        assert_eq!(
            (args.text("to"), args.text("coding")),
            ("2".into(), "8".into())
        );
        assert_eq!(args.text("custom_tlvs"), "[]");
        assert!(read("", JSON, "[1]").is_err() && read("", "text/xml", "<a/>").is_err());
        assert!(read("to=1", "text/xml", "").is_ok());
    }

    #[test]
    fn there_are_not_too_many() {
        let many = |count: usize| "a&".repeat(count);
        assert!(read("", FORM, &many(MOST)).is_ok());
        assert!(read("", FORM, &many(MOST + 1)).is_err());
        assert!(read("b=1", FORM, &many(MOST)).is_err(), "of both together");
        assert!(read(&many(MOST + 1), FORM, "").is_err());
        assert!(
            read("", FORM, &"&".repeat(100_000)).is_ok(),
            "these are none"
        );
    }
}
