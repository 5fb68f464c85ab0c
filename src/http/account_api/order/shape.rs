//! The JSON of a submission, as the OpenAPI document describes it.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::http::json::kind_of;

/// One text or data to one or many numbers.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"to": "447700900123", "from": "ACME", "text": "hello"}))]
pub(in crate::http) struct MessageOrder {
    /// A number in international form or as the account's country dials it, or a list of numbers or recipients.
    #[schema(value_type = Recipients)]
    pub(super) to: Option<Recipients>,
    /// The sender: a number, a short code, or up to 11 letters.
    #[serde(default)]
    pub(super) from: String,
    /// The text; `{{name}}` stands for a value of the recipient.
    pub(super) text: Option<String>,
    /// Data instead of a text, as hexadecimal digits.
    #[schema(pattern = "^([0-9A-Fa-f]{2})*$")]
    pub(super) data: Option<String>,
    /// User data header of the data, as hexadecimal digits, with its length octet.
    #[schema(pattern = "^([0-9A-Fa-f]{2})*$")]
    pub(super) header: Option<String>,
    /// The alphabet of the text; without it, the one that takes the fewest messages.
    pub(super) alphabet: Option<AlphabetName>,
    /// Show the text at once on the phone, without keeping it (class 0).
    #[serde(default)]
    pub(super) flash: bool,
    /// Not before this time.
    #[schema(format = DateTime)]
    pub(super) send_at: Option<String>,
    /// Not after this time; not together with `valid_for`.
    #[schema(format = DateTime)]
    pub(super) valid_until: Option<String>,
    /// How long it may be delivered, such as `2h` or `1d12h`.
    pub(super) valid_for: Option<String>,
    /// 0 to 3; higher ones go first.
    #[schema(maximum = 3)]
    pub(super) priority: Option<u8>,
    /// Whether the account gets a receipt of the final state, on its SMPP binds or as a callback.
    #[serde(default)]
    pub(super) receipt: bool,
    /// Where its receipt goes instead: a URL at one of the account's `callback_hosts`, or the name of one of its
    /// `callbacks`. Implies `receipt`.
    #[schema(max_length = 2048)]
    pub(super) callback: Option<String>,
    /// States before the final one that callbacks report as well: `queued`, `sent` and `retrying`, or some of them;
    /// none with an empty list. Without it, the account's `callback_states`. Implies `receipt`.
    #[schema(example = json!(["queued", "sent", "retrying"]))]
    pub(super) callback_states: Option<Vec<String>>,
    /// Your own name for the message.
    #[schema(max_length = 100)]
    pub(super) reference: Option<String>,
    /// Values that come back with the message; at most 1,024 octets as JSON.
    #[schema(value_type = Option<BTreeMap<String, Value>>)]
    pub(super) metadata: Option<Map<String, Value>>,
}

/// A number in international form, or a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub(in crate::http) enum Recipients {
    One(String),
    Many(Vec<Recipient>),
}

/// A number, or one with values of its own.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Recipient {
    Number(String),
    WithValues(RecipientValues),
}

/// A number with what is its own.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecipientValues {
    /// In international form, or as the account's country dials it.
    pub(super) number: String,
    /// What stands for `{{name}}` in the text.
    #[serde(default)]
    pub(super) values: BTreeMap<String, String>,
    /// Instead of the order's.
    #[serde(default)]
    pub(super) reference: Option<String>,
}

/// The body of a submission. Only its shape: bodies are read one by one, so that a wrong one does not harm the others.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes the body in the OpenAPI document")]
pub(in crate::http) enum SubmissionOrder {
    One(Box<MessageOrder>),
    Many(Batch),
}

/// Several messages at once.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes the body in the OpenAPI document")]
pub(in crate::http) struct Batch {
    /// At most 1,000 recipients together.
    #[schema(min_items = 1, max_items = 1000)]
    messages: Vec<MessageOrder>,
}

/// An alphabet.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum AlphabetName {
    Gsm,
    Ucs2,
    Latin1,
}

// === impl Recipients ===

/// By hand: serde says of an untagged value only that it fits nothing.
impl<'de> Deserialize<'de> for Recipients {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        match Value::deserialize(reader)? {
            Value::String(number) => Ok(Self::One(number)),
            Value::Array(list) => {
                let list = list.into_iter().map(Recipient::of);
                let list: Result<Vec<Recipient>, String> = list.collect();
                list.map(Self::Many).map_err(D::Error::custom)
            }
            other => Err(D::Error::custom(format!(
                "must be a number in quotes, such as \"447700900123\", or a list, not {}",
                kind_of(&other)
            ))),
        }
    }
}

// === impl Recipient ===

impl Recipient {
    fn of(value: Value) -> Result<Self, String> {
        match value {
            Value::String(number) => Ok(Self::Number(number)),
            Value::Object(_) => {
                let own = RecipientValues::deserialize(value).map_err(|error| error.to_string());
                own.map(Self::WithValues)
            }
            other => Err(format!(
                "an entry of the list must be a number in quotes, or an object with number and values, not {}",
                kind_of(&other)
            )),
        }
    }
}
