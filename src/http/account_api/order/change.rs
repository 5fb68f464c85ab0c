//! The body of `PATCH /v1/messages/{id}`: what of a waiting message changes.

use std::collections::BTreeMap;

use serde::Deserialize;
use utoipa::ToSchema;

use super::fields::time;
use super::shape::{AlphabetName, MessageOrder};
use crate::actors::ingress::account_api::MessageChange;
use crate::http::json;
use crate::http::problem::Problem;

/// What changes; everything else stays as it was.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"text": "hello again", "valid_for": "2h"}))]
pub(in crate::http::account_api) struct ChangeOrder {
    /// The new text.
    text: Option<String>,
    /// Data instead of a text, as hexadecimal digits.
    #[schema(pattern = "^([0-9A-Fa-f]{2})*$")]
    data: Option<String>,
    /// User data header of the data, as hexadecimal digits, with its length octet.
    #[schema(pattern = "^([0-9A-Fa-f]{2})*$")]
    header: Option<String>,
    /// The alphabet of the text; without it, the one that takes the fewest messages.
    alphabet: Option<AlphabetName>,
    /// Show the new text at once on the phone, without keeping it (class 0).
    #[serde(default)]
    flash: bool,
    /// Not before this time.
    #[schema(format = DateTime)]
    send_at: Option<String>,
    /// Not after this time; not together with `valid_for`.
    #[schema(format = DateTime)]
    valid_until: Option<String>,
    /// How long it may be delivered from the time when it may be sent, such as `2h` or `1d12h`.
    valid_for: Option<String>,
    /// Whether the account gets a receipt of the final state.
    receipt: Option<bool>,
}

// === impl ChangeOrder ===

impl ChangeOrder {
    /// What a request body changes.
    ///
    /// # Errors
    /// It cannot be read, or changes nothing.
    pub(in crate::http::account_api) fn read(octets: &[u8]) -> Result<MessageChange, Problem> {
        json::of::<Self>(octets)?.change()
    }

    fn change(self) -> Result<MessageChange, Problem> {
        let send_at = self.send_at.as_deref().map(|text| time("send_at", text));
        let send_at = send_at.transpose()?;
        let receipt = self.receipt;
        let has_content = self.text.is_some() || self.data.is_some();
        let of_content = [
            ("header", self.header.is_some()),
            ("alphabet", self.alphabet.is_some()),
            ("flash", self.flash),
        ];
        if let Some((field, _)) = of_content.iter().find(|(_, given)| *given && !has_content) {
            let detail = format!("{field} belongs to a new text or new data, and there is none");
            return Err(Problem::bad_value(field, detail));
        }
        let order = MessageOrder {
            text: self.text,
            data: self.data,
            header: self.header,
            alphabet: self.alphabet,
            flash: self.flash,
            valid_until: self.valid_until,
            valid_for: self.valid_for,
            ..MessageOrder::default()
        };
        let expiry = order.expiry()?;
        let body = has_content.then(|| order.body(&BTreeMap::new()));
        let body = body.transpose()?;
        if body.is_none() && send_at.is_none() && expiry.is_none() && receipt.is_none() {
            let detail =
                "nothing changes; give text, data, send_at, valid_until, valid_for or receipt";
            return Err(Problem::bad_value("body", detail));
        }
        Ok(MessageChange {
            body,
            send_at,
            expiry,
            receipt,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::ingress::account_api::Expiry;

    fn read(json: &str) -> Result<MessageChange, Problem> {
        ChangeOrder::read(json.as_bytes())
    }

    #[test]
    fn what_is_given_changes() {
        let change = read(r#"{"text": "hello", "flash": true, "valid_for": "2h"}"#).unwrap();
        assert_eq!(change.body.unwrap().data_coding, 0x10);
        assert_eq!(change.expiry, Some(Expiry::After(7_200_000)));
        assert_eq!((change.send_at, change.receipt), (None, None));
        let change = read(r#"{"send_at": "2036-11-21T09:00:00Z", "receipt": false}"#).unwrap();
        assert!(change.body.is_none() && change.send_at.is_some());
        assert_eq!(change.receipt, Some(false));
        let change = read(r#"{"data": "0102", "valid_until": "2036-11-21T09:00:00Z"}"#).unwrap();
        assert_eq!(change.body.unwrap().data_coding, 4);
        assert!(matches!(change.expiry, Some(Expiry::At(_))));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (json, part) in [
            ("[]", "not a list"),
            (r#"{"text": ""}"#, "text is empty"),
            ("{}", "nothing changes"),
            (r#"{"text": null}"#, "nothing changes"),
            (r#"{"to": "447700900123"}"#, "to"),
            (r#"{"flash": true}"#, "flash belongs"),
            (
                r#"{"alphabet": "gsm", "receipt": true}"#,
                "alphabet belongs",
            ),
            (r#"{"text": "a", "data": "00"}"#, "either text or data"),
            (r#"{"text": "я", "alphabet": "gsm"}"#, "U+044F"),
            (r#"{"valid_for": "long"}"#, "valid_for must be"),
            (
                r#"{"valid_for": "1h", "valid_until": "2036-11-21T09:00:00Z"}"#,
                "one of them",
            ),
            (r#"{"send_at": "soon"}"#, "send_at must be"),
        ] {
            let said = read(json).unwrap_err().to_string();
            assert!(said.contains(part), "{json}: {said}");
        }
    }
}
