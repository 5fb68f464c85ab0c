//! A command (SmsDispatchCommand 1.0) as JSON or protobuf, and the message that it becomes. Pure.
//!
//! Fields that are not known are passed over: a later 1.x may have more. What would change the message and is not
//! understood is refused, because a text in another form is worse than a dead letter.

use prost::Message as _;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::content;
use crate::content::compose::{self, TextAlphabet};
use crate::domain::moment;
use crate::numbers::Numbers;
use crate::pb::dispatch::{Encoding, LongMessageStrategy, MessageType, SmsDispatchCommand};
use crate::pb::{ClientData, Message};
use crate::smpp::{Tlvs, tag};

/// A command is valid for at most this time, in milliseconds: a year.
const MOST_VALID: i64 = 365 * 86_400_000;
/// Characters of the ids that are kept with the message.
const MAX_ID: usize = 100;

/// Why a command becomes no message, for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unfit(String);

/// A command that was understood.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NatsCommand {
    pub id: String,
    /// Moved from task to task, so not large.
    pub message: Box<Message>,
    /// Its time was over when it was read.
    pub has_expired: bool,
}

/// The fields, as JSON writes them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CommandFields {
    version: Option<String>,
    event_id: Option<String>,
    message_id: Option<String>,
    to: Option<String>,
    from: Option<String>,
    text: Option<String>,
    operator_id: Option<String>,
    account_id: Option<String>,
    message_type: Option<String>,
    encoding: Option<String>,
    long_message_strategy: Option<String>,
    expires_at: Option<String>,
}

/// What the words of a command mean.
struct Meaning {
    flash: bool,
    alphabet: TextAlphabet,
    is_payload: bool,
    /// Unix milliseconds.
    expires_at: Option<i64>,
}

/// Reads a command. `numbers`: how its account writes recipients; `now`: Unix milliseconds.
///
/// # Errors
/// It is none, or no message can be made of it.
pub(super) fn read(
    octets: &[u8],
    is_protobuf: bool,
    numbers: &Numbers,
    now: i64,
) -> Result<NatsCommand, Unfit> {
    let (fields, meaning) = if is_protobuf {
        of_protobuf(octets)?
    } else {
        of_json(octets)?
    };
    message_of(fields, &meaning, numbers, now)
}

/// Whether a Content-Type names protobuf; anything else is JSON.
pub(super) fn is_protobuf(content_type: &str) -> bool {
    let name = content_type.split(';').next().unwrap_or_default().trim();
    let names = ["application/protobuf", "application/x-protobuf"];
    names.iter().any(|one| name.eq_ignore_ascii_case(one))
}

fn of_json(octets: &[u8]) -> Result<(CommandFields, Meaning), Unfit> {
    let fields: CommandFields = serde_json::from_slice(octets)
        .map_err(|error| Unfit(format!("it is no command in JSON: {error}")))?;
    let word = |given: &Option<String>| given.as_deref().unwrap_or_default().to_owned();
    let flash = match word(&fields.message_type).as_str() {
        "" | "SMS" => false,
        "FLASH" => true,
        other => return Err(unknown("messageType", other, "SMS or FLASH")),
    };
    let alphabet = match word(&fields.encoding).as_str() {
        // As the system that these commands come from does, a text that the GSM alphabet lacks a character of is UCS-2.
        "" | "GSM7" => TextAlphabet::Auto,
        "UCS2" => TextAlphabet::Ucs2,
        other => return Err(unknown("encoding", other, "GSM7 or UCS2")),
    };
    let is_payload = match word(&fields.long_message_strategy).as_str() {
        "" | "CSMS" => false,
        "TLV" => true,
        other => return Err(unknown("longMessageStrategy", other, "CSMS or TLV")),
    };
    let expires_at = match word(&fields.expires_at).as_str() {
        "" => None,
        text => Some(
            moment::parse(text)
                .ok_or_else(|| unknown("expiresAt", text, "a time such as 2036-11-21T09:00:00Z"))?,
        ),
    };
    let meaning = Meaning {
        flash,
        alphabet,
        is_payload,
        expires_at,
    };
    Ok((fields, meaning))
}

fn of_protobuf(octets: &[u8]) -> Result<(CommandFields, Meaning), Unfit> {
    let command = SmsDispatchCommand::decode(octets)
        .map_err(|error| Unfit(format!("it is no command in protobuf: {error}")))?;
    let number = |field: &str, number: i32, known: &str| unknown(field, &number.to_string(), known);
    let flash = match MessageType::try_from(command.message_type) {
        Ok(MessageType::Unspecified | MessageType::Sms) => false,
        Ok(MessageType::Flash) => true,
        Err(_) => return Err(number("message_type", command.message_type, "SMS or FLASH")),
    };
    let alphabet = match Encoding::try_from(command.encoding) {
        Ok(Encoding::Unspecified | Encoding::Gsm7) => TextAlphabet::Auto,
        Ok(Encoding::Ucs2) => TextAlphabet::Ucs2,
        Err(_) => return Err(number("encoding", command.encoding, "GSM7 or UCS2")),
    };
    let is_payload = match LongMessageStrategy::try_from(command.long_message_strategy) {
        Ok(LongMessageStrategy::Unspecified | LongMessageStrategy::Csms) => false,
        Ok(LongMessageStrategy::Tlv) => true,
        Err(_) => {
            let given = command.long_message_strategy;
            return Err(number("long_message_strategy", given, "CSMS or TLV"));
        }
    };
    let meaning = Meaning {
        flash,
        alphabet,
        is_payload,
        expires_at: (command.expires_at != 0).then_some(command.expires_at),
    };
    let fields = CommandFields {
        version: Some(command.version),
        event_id: Some(command.event_id),
        message_id: Some(command.message_id),
        to: Some(command.to),
        from: Some(command.from),
        text: Some(command.text),
        operator_id: Some(command.operator_id),
        account_id: Some(command.account_id),
        ..CommandFields::default()
    };
    Ok((fields, meaning))
}

fn unknown(field: &str, given: &str, known: &str) -> Unfit {
    let given: String = given.chars().take(MAX_ID).collect();
    Unfit(format!("{field} must be {known}, not {given:?}"))
}

fn missing(field: &str) -> Unfit {
    Unfit(format!("{field} is missing"))
}

fn message_of(
    fields: CommandFields,
    meaning: &Meaning,
    numbers: &Numbers,
    now: i64,
) -> Result<NatsCommand, Unfit> {
    let wrong = |field: &str, error: &dyn ToString| Unfit(format!("{field} {}", error.to_string()));
    let present = |given: Option<String>| given.filter(|text| !text.is_empty());
    if let Some(version) = present(fields.version.clone())
        && version != "1"
        && !version.starts_with("1.")
    {
        return Err(unknown("version", &version, "1.0"));
    }
    let id = present(fields.message_id.clone()).ok_or_else(|| missing("messageId"))?;
    compose::check_reference(&id).map_err(|error| wrong("messageId", &error))?;
    let to = present(fields.to.clone()).ok_or_else(|| missing("to"))?;
    let destination = numbers.read(&to).map_err(|error| wrong("to", &error))?;
    let from = fields.from.clone().unwrap_or_default();
    let source = compose::sender(&from).map_err(|error| wrong("from", &error))?;
    let text = fields.text.clone().ok_or_else(|| missing("text"))?;
    let has_expired = meaning.expires_at.is_some_and(|until| until <= now);
    let body = compose::text(&text, meaning.alphabet, meaning.flash)
        .map_err(|error| wrong("text:", &error))?;
    let mut message = Message {
        client_data: Some(Box::new(ClientData {
            reference: id.clone(),
            metadata: metadata(&fields)?,
            ..ClientData::default()
        })),
        ..compose::between(source, destination.into())
    };
    // SMPP has two digits for the year: what is far away must not be taken for the century before.
    let expires_at = meaning.expires_at.map(|until| until.min(now + MOST_VALID));
    compose::set_times(&mut message, None, expires_at);
    body.carry(&mut message);
    if meaning.is_payload {
        as_payload(&mut message);
    }
    Ok(NatsCommand {
        id,
        message: Box::new(message),
        has_expired,
    })
}

/// What of the command is kept with the message, as JSON.
fn metadata(fields: &CommandFields) -> Result<String, Unfit> {
    let mut kept = Map::new();
    for (name, value) in [
        ("accountId", &fields.account_id),
        ("eventId", &fields.event_id),
        ("operatorId", &fields.operator_id),
    ] {
        let Some(value) = value.as_deref().filter(|value| !value.is_empty()) else {
            continue;
        };
        if compose::check_reference(value).is_err() {
            let text = format!("{name} must be at most {MAX_ID} printable characters");
            return Err(Unfit(text));
        }
        kept.insert(name.to_owned(), Value::from(value));
    }
    Ok(if kept.is_empty() {
        String::new()
    } else {
        Value::Object(kept).to_string()
    })
}

/// A text of several messages goes as a whole, in message_payload (SMPP 3.4 §5.3.2.32), to an operator that does not say
/// otherwise.
fn as_payload(message: &mut Message) {
    message.divide = false;
    if content::segments(message) > 1 && !message.short_message.is_empty() {
        let octets = std::mem::take(&mut message.short_message);
        let mut tlvs = Tlvs::from_raw(std::mem::take(&mut message.tlvs));
        tlvs.push(tag::MESSAGE_PAYLOAD, &octets);
        message.tlvs = tlvs.raw().clone();
    }
}

#[cfg(test)]
mod tests;
