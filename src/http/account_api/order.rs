//! What a submission over HTTP says, and the messages that it makes.

pub(super) mod fields;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use self::fields::{INTERNATIONAL, check_reference, destination, hex, source, time};
use crate::config::parse_duration;
use crate::content::compose::{self, Alphabet, Body};
use crate::http::problem::Problem;
use crate::pb::{ClientData, Message};

/// Most messages of one request.
pub(super) const MOST: usize = 1_000;
const MAX_METADATA: usize = 1_024;
const MAX_PRIORITY: u8 = 3;

/// One text or data to one or many numbers.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(example = json!({"to": "447700900123", "from": "ACME", "text": "hello"}))]
pub(super) struct MessageOrder {
    /// A number in international form, or a list of numbers or recipients.
    #[schema(value_type = Recipients)]
    to: Option<Recipients>,
    /// The sender: a number, a short code, or up to 11 letters.
    from: String,
    /// The text; `{{name}}` stands for a value of the recipient.
    text: Option<String>,
    /// Data instead of a text, as hexadecimal digits.
    #[schema(pattern = "^([0-9A-Fa-f]{2})*$")]
    data: Option<String>,
    /// User data header of the data, as hexadecimal digits, with its length octet.
    #[schema(pattern = "^([0-9A-Fa-f]{2})*$")]
    header: Option<String>,
    /// The alphabet of the text; without it, the one that takes the fewest messages.
    alphabet: Option<AlphabetName>,
    /// Show the text at once on the phone, without keeping it (class 0).
    flash: bool,
    /// Not before this time.
    #[schema(format = DateTime)]
    send_at: Option<String>,
    /// Not after this time; not together with `valid_for`.
    #[schema(format = DateTime)]
    valid_until: Option<String>,
    /// How long it may be delivered, such as `2h` or `1d12h`.
    valid_for: Option<String>,
    /// 0 to 3; higher ones go first.
    #[schema(maximum = 3)]
    priority: Option<u8>,
    /// Whether the account gets a receipt of the final state on its SMPP binds.
    receipt: bool,
    /// Your own name for the message.
    #[schema(max_length = 100)]
    reference: Option<String>,
    /// Values that come back with the message; at most 1,024 octets as JSON.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
}

/// A number in international form, or a list.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Recipients {
    One(String),
    Many(Vec<Recipient>),
}

/// A number, or one with values of its own.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Recipient {
    Number(String),
    WithValues(RecipientValues),
}

/// A number with what is its own.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecipientValues {
    /// In international form.
    number: String,
    /// What stands for `{{name}}` in the text.
    #[serde(default)]
    values: BTreeMap<String, String>,
    /// Instead of the order's.
    #[serde(default)]
    reference: Option<String>,
}

/// The body of a submission. Only its shape: bodies are read one by one, so that a wrong one does not harm the others.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes the body in the OpenAPI document")]
pub(super) enum SubmissionOrder {
    One(Box<MessageOrder>),
    Many(Batch),
}

/// Several messages at once.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes the body in the OpenAPI document")]
pub(super) struct Batch {
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

/// A message to one recipient, ready to be submitted, or why it is not.
pub(super) struct Drafted {
    /// As the request wrote it.
    pub to: String,
    pub reference: Option<String>,
    pub message: Result<Draft, Problem>,
}

/// A message, ready to be submitted.
pub(super) struct Draft {
    pub message: Message,
    /// The alphabet in words.
    pub alphabet: &'static str,
}

/// The messages of a request body, in its order.
///
/// # Errors
/// The body as a whole cannot be read, or has no or too many recipients.
pub(super) fn read(octets: &[u8], now: i64) -> Result<Vec<Drafted>, Problem> {
    let body: Value = serde_json::from_slice(octets)
        .map_err(|error| Problem::bad_value("body", format!("the body is no JSON: {error}")))?;
    let orders = match body {
        Value::Object(mut members) if members.contains_key("messages") => {
            let orders = members.remove("messages");
            if let Some(other) = members.keys().next() {
                let detail = format!("{other} does not belong beside messages; put it into each");
                return Err(Problem::bad_value(other, detail));
            }
            match orders {
                Some(Value::Array(orders)) => orders,
                _ => return Err(Problem::bad_value("messages", "messages must be a list")),
            }
        }
        single @ Value::Object(_) => {
            // Alone, what is wrong with it is what is wrong with the request.
            let drafts = MessageOrder::parse(single)?.drafts(now)?;
            return counted(drafts);
        }
        _ => return Err(Problem::bad_value("body", "the body must be a JSON object")),
    };
    let drafts = orders.into_iter().flat_map(|order| {
        let to = order.get("to").and_then(Value::as_str).unwrap_or_default();
        let to = to.to_owned();
        let drafts = MessageOrder::parse(order).and_then(|order| order.drafts(now));
        drafts.unwrap_or_else(|problem| {
            vec![Drafted {
                to,
                reference: None,
                message: Err(problem),
            }]
        })
    });
    counted(drafts.collect())
}

fn counted(drafts: Vec<Drafted>) -> Result<Vec<Drafted>, Problem> {
    match drafts.len() {
        0 => Err(Problem::bad_value("to", "there is no recipient")),
        1..=MOST => Ok(drafts),
        count => Err(Problem::bad_value(
            "to",
            format!("there are {count} recipients; a request may have {MOST}"),
        )),
    }
}

// === impl MessageOrder ===

impl MessageOrder {
    fn parse(value: Value) -> Result<Self, Problem> {
        serde_json::from_value(value).map_err(|error| {
            let detail =
                format!("it is not a message as the OpenAPI document describes it: {error}");
            Problem::bad_value("message", detail)
        })
    }

    /// A message for each recipient.
    fn drafts(self, now: i64) -> Result<Vec<Drafted>, Problem> {
        let template = self.template(now)?;
        let recipients = match self.to.clone() {
            None => return Err(Problem::bad_value("to", "to is missing: who shall get it?")),
            Some(Recipients::One(number)) => vec![Recipient::Number(number)],
            Some(Recipients::Many(many)) => many,
        };
        if recipients.len() > MOST {
            return Err(Problem::bad_value(
                "to",
                format!(
                    "to has {} recipients; a request may have {MOST}",
                    recipients.len()
                ),
            ));
        }
        // The same body for all, unless it has values to fill in.
        let fixed = match &self.text {
            Some(text) if text.contains("{{") => None,
            _ => Some(self.body(&BTreeMap::new())?),
        };
        let draft = |recipient| {
            let RecipientValues {
                number,
                values,
                reference,
            } = match recipient {
                Recipient::Number(number) => RecipientValues {
                    number,
                    values: BTreeMap::new(),
                    reference: None,
                },
                Recipient::WithValues(own) => own,
            };
            let reference = reference.or_else(|| self.reference.clone());
            let message = check_reference(reference.as_deref())
                .and_then(|()| destination(&number))
                .and_then(|destination| {
                    let body = match &fixed {
                        Some(body) => body.clone(),
                        None => self.body(&values)?,
                    };
                    let mut message = Message {
                        destination,
                        ..template.clone()
                    };
                    self.attach(reference.as_deref(), &mut message);
                    body.carry(&mut message);
                    Ok(Draft {
                        message,
                        alphabet: body.alphabet,
                    })
                });
            Drafted {
                to: number,
                reference,
                message,
            }
        };
        Ok(recipients.into_iter().map(draft).collect())
    }

    /// What the messages have in common.
    fn template(&self, now: i64) -> Result<Message, Problem> {
        let ((source_ton, source_npi), source) = source(&self.from)?;
        let priority = self.priority.unwrap_or_default();
        if priority > MAX_PRIORITY {
            let detail = format!("priority must be 0 to {MAX_PRIORITY}, not {priority}");
            return Err(Problem::bad_value("priority", detail));
        }
        check_reference(self.reference.as_deref())?;
        if let Some(metadata) = &self.metadata
            && Value::Object(metadata.clone()).to_string().len() > MAX_METADATA
        {
            let detail = format!("metadata has more than {MAX_METADATA} octets as JSON");
            return Err(Problem::bad_value("metadata", detail));
        }
        let send_at = self.send_at.as_deref().map(|text| time("send_at", text));
        let send_at = send_at.transpose()?;
        let mut message = Message {
            source_ton,
            source_npi,
            source,
            dest_ton: INTERNATIONAL.0,
            dest_npi: INTERNATIONAL.1,
            priority: u32::from(priority),
            registered_delivery: u32::from(self.receipt),
            follow: true,
            ..Message::default()
        };
        let valid_until = self.valid_until(send_at.unwrap_or(now))?;
        compose::set_times(&mut message, send_at, valid_until);
        Ok(message)
    }

    fn valid_until(&self, from: i64) -> Result<Option<i64>, Problem> {
        match (&self.valid_until, &self.valid_for) {
            (None, None) => Ok(None),
            (Some(until), None) => time("valid_until", until).map(Some),
            (None, Some(text)) => {
                let period =
                    parse_duration(text).filter(|period| *period >= Duration::from_secs(1));
                let period = period.ok_or_else(|| {
                    let detail =
                        format!("valid_for must be a time such as 2h or 1d12h, not {text:?}");
                    Problem::bad_value("valid_for", detail)
                })?;
                let period = i64::try_from(period.as_millis()).unwrap_or(i64::MAX);
                Ok(Some(from.saturating_add(period)))
            }
            (Some(_), Some(_)) => Err(Problem::bad_value(
                "valid_for",
                "valid_for and valid_until say the same; give one of them",
            )),
        }
    }

    fn body(&self, values: &BTreeMap<String, String>) -> Result<Body, Problem> {
        match (&self.text, &self.data) {
            (Some(text), None) => {
                if self.header.is_some() {
                    let detail = "header belongs to data; a text gets its own";
                    return Err(Problem::bad_value("header", detail));
                }
                let text = filled(text, values)?;
                let alphabet = match self.alphabet {
                    None => Alphabet::Auto,
                    Some(AlphabetName::Gsm) => Alphabet::Gsm,
                    Some(AlphabetName::Ucs2) => Alphabet::Ucs2,
                    Some(AlphabetName::Latin1) => Alphabet::Latin1,
                };
                compose::text(&text, alphabet, self.flash)
                    .map_err(|refused| Problem::bad_value("text", format!("text: {refused}")))
            }
            (None, Some(data)) => {
                if self.alphabet.is_some() {
                    let detail = "alphabet belongs to text; data has none";
                    return Err(Problem::bad_value("alphabet", detail));
                }
                let header = hex("header", self.header.as_deref().unwrap_or_default())?;
                compose::data(hex("data", data)?, header, self.flash)
                    .map_err(|refused| Problem::bad_value("header", format!("header: {refused}")))
            }
            (Some(_), Some(_)) => Err(Problem::bad_value(
                "data",
                "a message has either text or data",
            )),
            (None, None) => Err(Problem::bad_value("text", "text is missing, and data too")),
        }
    }

    fn attach(&self, reference: Option<&str>, message: &mut Message) {
        if reference.is_none() && self.metadata.is_none() {
            return;
        }
        let metadata = self.metadata.clone().map(Value::Object);
        message.client_data = Some(Box::new(ClientData {
            reference: reference.unwrap_or_default().to_owned(),
            metadata: metadata.map_or_else(String::new, |metadata| metadata.to_string()),
        }));
    }
}

/// The text with the recipient's values in it. Values are not looked through again.
fn filled(text: &str, values: &BTreeMap<String, String>) -> Result<String, Problem> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (name, after) = after
            .split_once("}}")
            .ok_or_else(|| Problem::bad_value("text", "text has {{ without }}; write {{name}}"))?;
        let name = name.trim();
        let value = values.get(name).ok_or_else(|| {
            let detail = format!("there is no value for {{{{{name}}}}}");
            Problem::bad_value("values", detail)
        })?;
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests;
