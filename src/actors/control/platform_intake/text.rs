//! `MT:<id>` as a string: a JSON object, with the fields of the hash or those of an SGIP Submit.

use serde_json::{Map, Value};

use crate::store::redis::PendingFields;

/// Names of a field, as they are without case and underscores: ours, and those of Submit (SGIP 1.2 section 4.2.3.1).
const TO: &[&str] = &["to", "usernumber", "usernumbers"];
const FROM: &[&str] = &["from", "spnumber"];
const TEXT: &[&str] = &["text", "content", "messagecontent"];

/// Why a string says nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoFields {
    /// It is no JSON object.
    NotJson,
    /// The value of this field is none that it may have.
    Value(String),
}

/// The fields in a string; empty where it has none.
pub(super) fn fields_in(text: &[u8]) -> Result<PendingFields, NoFields> {
    let object: Map<String, Value> = serde_json::from_slice(text).map_err(|_| NoFields::NotJson)?;
    let mut fields = PendingFields::default();
    for (name, value) in &object {
        let plain = name.replace('_', "").to_ascii_lowercase();
        let places = [
            (TO, &mut fields.to),
            (FROM, &mut fields.from),
            (TEXT, &mut fields.text),
        ];
        let place = places
            .into_iter()
            .find(|(names, _)| names.contains(&&plain[..]));
        if let Some((_, place)) = place {
            let one = one_of(value).ok_or_else(|| NoFields::Value(name.clone()))?;
            *place = one.into_bytes();
        }
    }
    Ok(fields)
}

/// A text, or a number that was written without quotes, alone or as the only one of a list: an id is one message.
fn one_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null => Some(String::new()),
        Value::Array(all) => match &all[..] {
            [one] if !one.is_array() => one_of(one),
            _ => None,
        },
        Value::Bool(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ours_or_those_of_submit() {
        let wanted = PendingFields {
            from: b"10655".to_vec(),
            to: b"8613000000001".to_vec(),
            text: "你好".into(),
        };
        for text in [
            r#"{"from": "10655", "to": "8613000000001", "text": "\u4f60好"}"#,
            r#"{"sp_number": 10655, "user_numbers": ["8613000000001"], "content": "你好", "coding": 8}"#,
            r#"{"SPNumber": "10655", "UserNumber": 8613000000001, "MessageContent": "你好"}"#,
        ] {
            assert_eq!(fields_in(text.as_bytes()).as_ref(), Ok(&wanted), "{text}");
        }
        let none = fields_in(br#"{"from": null, "fee_type": 1}"#);
        assert_eq!(none, Ok(PendingFields::default()));
    }

    #[test]
    fn what_says_nothing_is_told_apart() {
        for text in ["", "no hash", "[1]", "7", "(dp0\nS'to'\n", "{\"to\": "] {
            assert_eq!(fields_in(text.as_bytes()), Err(NoFields::NotJson), "{text}");
        }
        for (text, field) in [
            (r#"{"user_numbers": ["1", "2"]}"#, "user_numbers"),
            (r#"{"to": [["1"]]}"#, "to"),
            (r#"{"text": {"a": 1}}"#, "text"),
        ] {
            let wrong = NoFields::Value(field.to_owned());
            assert_eq!(fields_in(text.as_bytes()), Err(wrong), "{text}");
        }
    }
}
