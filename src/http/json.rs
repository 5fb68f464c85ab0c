//! The JSON of request bodies (RFC 8259), read strictly: what could mean two things is refused, in words about the body.

use std::cell::RefCell;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::problem::Problem;

/// A byte order mark: what reads UTF-8 may ignore it (RFC 8259 §8.1).
const MARK: &[u8] = &[0xEF, 0xBB, 0xBF];
/// What bodies begin with that are something else, and what to do.
const OTHERS: &[(&[u8], &str)] = &[
    (&[0xFF, 0xFE], "UTF-16"),
    (&[0xFE, 0xFF], "UTF-16"),
    (&[0x1F, 0x8B], "compressed by gzip"),
    (&[0x28, 0xB5, 0x2F, 0xFD], "compressed by zstd"),
];

/// The value of a body.
///
/// # Errors
/// It is no JSON in UTF-8, or a member is given twice.
pub(super) fn value(octets: &[u8]) -> Result<Value, Problem> {
    let other = OTHERS.iter().find(|(start, _)| octets.starts_with(start));
    if let Some((_, what)) = other {
        let detail = format!("the body is {what}; send JSON in UTF-8 as it is");
        return Err(Problem::unsupported_encoding(detail));
    }
    let octets = octets.strip_prefix(MARK).unwrap_or(octets);
    let wrong = |detail: String| Problem::bad_value("body", detail);
    let text = std::str::from_utf8(octets).map_err(|error| {
        let at = error.valid_up_to();
        wrong(format!("the body is not UTF-8 from octet {at} on"))
    })?;
    if text.trim().is_empty() {
        return Err(wrong(
            "the body is empty; it must be a JSON object".to_owned(),
        ));
    }
    let twice = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Unique(&twice).deserialize(&mut reader);
    let read = read.and_then(|value| reader.end().map(|()| value));
    read.map_err(|error| match twice.into_inner() {
        Some(member) => {
            let detail = format!(
                "{member} is given twice in one object, at line {} column {}",
                error.line(),
                error.column()
            );
            Problem::bad_value(&member, detail)
        }
        None => wrong(format!("the body is no JSON: {}", no_json(&error))),
    })
}

/// Why a text is no JSON, and where.
fn no_json(error: &serde_json::Error) -> String {
    let at = format!("at line {} column {}", error.line(), error.column());
    if error.is_eof() {
        return format!("it ends too early, {at}");
    }
    let said = error.to_string();
    let what = said.strip_suffix(&format!(" {at}")).unwrap_or(&said);
    let what = match what {
        "recursion limit exceeded" => "objects and lists are nested too deep",
        "expected ident" | "expected value" => "something is no value",
        "key must be a string" => "the name of a member is no text",
        other => other,
    };
    format!("{what}, {at}")
}

/// The object of a body.
///
/// # Errors
/// It is no JSON object.
pub(super) fn object(octets: &[u8]) -> Result<Map<String, Value>, Problem> {
    match value(octets)? {
        Value::Object(members) => Ok(members),
        other => {
            let detail = format!("the body must be a JSON object, not {}", kind_of(&other));
            Err(Problem::bad_value("body", detail))
        }
    }
}

/// A body as the OpenAPI document describes it.
///
/// # Errors
/// It is no such object; the problem names the member.
pub(super) fn of<T: DeserializeOwned>(octets: &[u8]) -> Result<T, Problem> {
    of_value(Value::Object(object(octets)?))
}

/// The struct that a JSON value, which was read already, stands for.
///
/// # Errors
/// It is none; the problem names the member.
pub(super) fn of_value<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let said = error.into_inner().to_string();
        let unknown = said
            .strip_prefix("unknown field `")
            .and_then(|rest| rest.split('`').next());
        let field = match (unknown, path.as_str()) {
            (Some(name), _) => name,
            (None, "." | "?") => missing(&said).unwrap_or("body"),
            (None, path) => path,
        };
        Problem::bad_value(field, format!("{field}: {}", in_words(&said)))
    })
}

/// What a reader of values says, in words about JSON instead of the types of a program.
fn in_words(said: &str) -> String {
    if let Some(member) = missing(said) {
        return format!("{member} is missing");
    }
    if let Some(rest) = said.strip_prefix("unknown variant ") {
        return format!("unknown value {rest}");
    }
    let wrong = ["invalid type: ", "invalid value: "];
    let pair = wrong.iter().find_map(|start| said.strip_prefix(start));
    match pair.and_then(|pair| pair.rsplit_once(", expected ")) {
        Some((given, wanted)) => {
            format!("must be {}, not {}", wanted_kind(wanted), given_kind(given))
        }
        None => said.to_owned(),
    }
}

/// The kind of value that a type is read from.
fn wanted_kind(wanted: &str) -> &str {
    match wanted {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" | "map" => "an object",
        _ if wanted.starts_with("struct ") || wanted.contains("tagged enum ") => "an object",
        other => other,
    }
}

/// A value that was given, as JSON has it.
fn given_kind(given: &str) -> String {
    let (kind, value) = given.split_once(' ').unwrap_or((given, ""));
    match (kind, value) {
        ("integer" | "boolean", value) => value.trim_matches('`').to_owned(),
        ("floating", value) => value
            .trim_start_matches("point ")
            .trim_matches('`')
            .to_owned(),
        ("string", value) => format!("the text {value}"),
        ("sequence", "") => "a list".to_owned(),
        ("map", "") => "an object".to_owned(),
        ("unit", _) => "null".to_owned(),
        _ => given.to_owned(),
    }
}

/// The member that an error misses.
fn missing(said: &str) -> Option<&str> {
    said.strip_prefix("missing field `")?.split('`').next()
}

/// What a value is, in words.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Reads a value in whose objects each member is given once; notes the one that is not.
#[derive(Clone, Copy)]
struct Unique<'n>(&'n RefCell<Option<String>>);

// === impl Unique ===

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, is: bool) -> Result<Value, E> {
        Ok(is.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                *self.0.borrow_mut() = Some(name);
                return Err(A::Error::custom("a member is given twice"));
            }
            let value = members.next_value_seed(self)?;
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    fn wrong(octets: &[u8]) -> (Option<String>, String) {
        let details = value(octets).unwrap_err().details();
        (details.field, details.detail)
    }

    #[test]
    fn errors_speak_of_json() {
        for (said, words) in [
            (
                "invalid value: integer `-1`, expected u8",
                "must be a whole number from 0 to 255, not -1",
            ),
            (
                "invalid type: floating point `1.5`, expected u8",
                "must be a whole number from 0 to 255, not 1.5",
            ),
            (
                "invalid type: integer `1`, expected a string",
                "must be a text, not 1",
            ),
            (
                "invalid type: sequence, expected a map",
                "must be an object, not a list",
            ),
            (
                "invalid type: null, expected i64",
                "must be a whole number, not null",
            ),
            (
                "invalid type: string \"x, expected y\", expected f64",
                "must be a number, not the text \"x, expected y\"",
            ),
            (
                "invalid type: boolean `true`, expected struct Draft",
                "must be an object, not true",
            ),
            ("missing field `number`", "number is missing"),
            (
                "unknown variant `klingon`, expected `auto`",
                "unknown value `klingon`, expected `auto`",
            ),
            ("a list has two numbers", "a list has two numbers"),
        ] {
            assert_eq!(super::in_words(said), words);
        }
        for (body, words) in [
            (
                "{",
                "the body is no JSON: it ends too early, at line 1 column 1",
            ),
            (
                "to=1",
                "the body is no JSON: something is no value, at line 1 column 2",
            ),
            (
                "{1: 2}",
                "the body is no JSON: the name of a member is no text, at line 1 column 2",
            ),
        ] {
            let problem = super::value(body.as_bytes()).unwrap_err();
            assert_eq!(problem.details().detail, words);
        }
    }

    #[test]
    fn values_are_those_of_serde() {
        let text = r#"{"a": [1, -2, 2.5, "x", null, true, {"b": {}}], "c": "\u00e9"}"#;
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(value(text.as_bytes()).unwrap(), expected);
        let marked = [MARK, text.as_bytes()].concat();
        assert_eq!(value(&marked).unwrap(), expected);
    }

    #[test]
    fn what_is_wrong_is_said_of_the_body() {
        for (octets, field, part) in [
            (&br#"{"to": "1", "to": "2"}"#[..], "to", "given twice"),
            (br#"{"a": {"b": 1, "b": 2}}"#, "b", "given twice"),
            (b"", "body", "is empty"),
            (b"{", "body", "no JSON"),
            (b"{} x", "body", "no JSON"),
            (b"{\"a\": \"\xff\"}", "body", "not UTF-8 from octet 7"),
        ] {
            let (found, said) = wrong(octets);
            assert_eq!(found.as_deref(), Some(field), "{said}");
            assert!(said.contains(part), "{said}");
        }
        for (octets, part) in [
            (&b"\xff\xfe{\0}\0"[..], "UTF-16"),
            (b"\x1f\x8b\x08", "gzip"),
        ] {
            let problem = value(octets).unwrap_err();
            assert_eq!(problem.details().status, 415);
            assert!(problem.to_string().contains(part), "{problem}");
        }
        // As deep as serde_json allows.
        let deep = "[".repeat(100_000);
        assert!(wrong(deep.as_bytes()).1.contains("nested too deep"));
    }

    #[test]
    fn members_are_named() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only read")]
        struct Order {
            name: String,
            inner: Option<Box<Order>>,
        }
        for (body, field) in [
            (json!({"name": 1}), "name"),
            (json!({"name": "x", "colour": 1}), "colour"),
            (json!({}), "name"),
            (json!({"name": "x", "inner": {"name": []}}), "inner.name"),
        ] {
            let problem = of::<Order>(body.to_string().as_bytes()).unwrap_err();
            assert_eq!(problem.details().field.as_deref(), Some(field), "{problem}");
        }
        let list = object(b"[]").unwrap_err();
        assert!(list.to_string().contains("not a list"), "{list}");
    }
}
