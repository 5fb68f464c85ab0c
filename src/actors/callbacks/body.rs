//! The JSON of a callback in the standard form, as docs/callbacks.md documents it.
//!
//! Pure: from what the store has, so that every attempt at a callback says the same, also on another node and after a
//! restart. Fields may be added; those that are there stay.

use bytes::Bytes;
use data_encoding::HEXLOWER;
use serde::Serialize;
use serde_json::Value;

use crate::actors::receipts::{self, receipt, shown_id};
use crate::actors::routing::rewrite;
use crate::content::{self, MessageContent};
use crate::domain::callback::states;
use crate::domain::command_status;
use crate::domain::moment;
use crate::domain::state;
use crate::pb::{EarlyState, Kind, Message, StateReport};
use crate::smpp::{SubmitSm, Tlvs, tag};
use crate::store::{FinRow, SentRow};

/// The names that a body shows instead of numbers.
#[derive(Debug, Clone, Copy)]
pub struct ShownNames<'a> {
    pub account: &'a str,
    /// Who delivered, or brought it; empty where nobody did.
    pub operator: &'a str,
}

/// How a message ended, and its receipt for a bind.
#[derive(Debug, Clone, Copy)]
pub struct EndedMessage<'a> {
    pub message: &'a Message,
    pub fin: &'a FinRow,
    pub deliver: &'a Message,
    /// How it was tried, if its sender hears of that.
    pub attempts: &'a [SentRow],
}

/// A state before the final one that a message has reached, and the same for a bind.
#[derive(Debug, Clone, Copy)]
pub struct ReachedState<'a> {
    pub message: &'a Message,
    pub report: &'a StateReport,
    pub deliver: &'a Message,
}

/// The parameters of a form.
pub type FormFields = Vec<(&'static str, Vec<u8>)>;

/// What all callbacks have (Standard Webhooks, "Payload structure").
#[derive(Serialize)]
struct Envelope<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: Option<String>,
    data: T,
}

/// A message that the account submitted.
#[derive(Serialize)]
struct SubmittedMessage<'a> {
    message_id: String,
    account: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    operator: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    network: &'a str,
    from: String,
    to: String,
    /// user_message_reference of the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<u16>,
    /// What came with it over HTTP: the sender's own name for it, and its values.
    #[serde(skip_serializing_if = "str::is_empty")]
    client_reference: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
    /// The id that its sender was told over XML-RPC, where that is one of the Redis SMS platform.
    #[serde(skip_serializing_if = "str::is_empty")]
    platform_id: &'a str,
    parts: u32,
    accepted_at: Option<String>,
}

/// Its final state.
#[derive(Serialize)]
struct FinalReceipt<'a> {
    #[serde(flatten)]
    submitted: SubmittedMessage<'a>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// When an operator accepted it, and in which attempt; for senders that hear of states before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    done_at: Option<String>,
}

/// A state before that.
#[derive(Serialize)]
struct IntermediateState<'a> {
    #[serde(flatten)]
    submitted: SubmittedMessage<'a>,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operator_message_id: Option<String>,
    /// The answer to an attempt that failed; absent if none came.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<String>,
}

/// A message for the account.
#[derive(Serialize)]
struct IncomingMessage<'a> {
    message_id: String,
    account: &'a str,
    /// Whose subscriber sent it, or which account.
    #[serde(skip_serializing_if = "str::is_empty")]
    operator: &'a str,
    from: String,
    to: String,
    /// `null` for what is no text.
    text: Option<String>,
    raw: String,
    udhi: bool,
    data_coding: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<PartPosition>,
    accepted_at: Option<String>,
}

/// Which part of a longer text a message is.
#[derive(Serialize)]
struct PartPosition {
    reference: u16,
    total: u8,
    sequence: u8,
}

/// The id of the callback about the end of a message.
pub fn receipt_id(fin: &FinRow) -> String {
    format!("receipt_{}", fin.id)
}

/// The id of the callback that brings a message.
pub fn message_id(message: &Message) -> String {
    format!("message_{}", message.id)
}

/// The id of a callback that tries a receiver; different each time.
pub fn test_id(account: &str, at: i64) -> String {
    format!("test_{account}_{at}").replace('.', "_")
}

/// The id of the callback about a state before that.
pub fn state_id(message: &Message, report: &StateReport) -> String {
    format!("{}_{}_{}", word(report), message.id, report.attempt)
}

fn word(report: &StateReport) -> &'static str {
    states::word(receipts::states::bit(report.state()))
}

/// How a message ended.
pub fn receipt(ended: EndedMessage<'_>, names: ShownNames<'_>) -> Bytes {
    let EndedMessage {
        message,
        fin,
        attempts,
        ..
    } = ended;
    let state = state::name(fin.state as i32 as u8);
    let accepted = attempts.iter().rev().find(|attempt| attempt.status == 0);
    let data = FinalReceipt {
        submitted: submitted(message, names),
        state,
        error: (!fin.error.is_empty()).then(|| text(&fin.error)),
        sent_at: accepted.and_then(|attempt| moment::show(attempt.at)),
        attempt: accepted.map(|attempt| attempt.attempt),
        done_at: moment::show(receipt::done_at(message.accepted_at, fin)),
    };
    let kind = format!("message.{}", state.to_ascii_lowercase());
    document(&kind, fin.at, data)
}

/// A state of a message before that.
pub fn early(reached: ReachedState<'_>, names: ShownNames<'_>) -> Bytes {
    let ReachedState {
        message, report, ..
    } = reached;
    let is_retrying = report.state() == EarlyState::Retrying;
    let has_answer = report.status != SentRow::NO_ANSWER;
    let theirs = &report.operator_message_id;
    let data = IntermediateState {
        submitted: submitted(message, names),
        state: word(report).to_ascii_uppercase(),
        attempt: (report.attempt != 0).then_some(report.attempt),
        operator_message_id: (!theirs.is_empty()).then(|| text(theirs)),
        error: (is_retrying && has_answer).then(|| command_status::display(report.status)),
        next_attempt_at: is_retrying.then(|| moment::show(report.due_at)).flatten(),
    };
    document(&format!("message.{}", word(report)), report.at, data)
}

fn submitted<'a>(message: &'a Message, names: ShownNames<'a>) -> SubmittedMessage<'a> {
    let tlvs = Tlvs::from_raw(message.tlvs.clone());
    let reference = tlvs.get(tag::USER_MESSAGE_REFERENCE);
    let reference = reference.and_then(|octets| octets.try_into().ok());
    let client = message.client_data.as_deref();
    SubmittedMessage {
        message_id: shown_id::of(message),
        account: names.account,
        operator: names.operator,
        network: &message.network,
        from: text(&rewrite::original_source(message).digits),
        to: text(&rewrite::original_destination(message).digits),
        reference: reference.map(u16::from_be_bytes),
        client_reference: client.map_or("", |client| &client.reference),
        metadata: client.and_then(|client| serde_json::from_str(&client.metadata).ok()),
        platform_id: client.map_or("", |client| &client.platform_id),
        parts: content::segments(message),
        accepted_at: moment::show(message.accepted_at),
    }
}

/// A message for the account; `addressed` has its addresses as `rewrite_out` wants them.
pub fn incoming(message: &Message, addressed: &SubmitSm, names: ShownNames<'_>) -> Bytes {
    let part = MessageContent::read(message).part.map(|part| PartPosition {
        reference: part.reference,
        total: part.total,
        sequence: part.sequence,
    });
    let raw = content::payload(message);
    let kind = match message.kind() {
        Kind::Mo => "message.received",
        // It was routed to this account as to an operator.
        Kind::Mt => "message.submitted",
    };
    let data = IncomingMessage {
        message_id: message.id.to_string(),
        account: names.account,
        operator: names.operator,
        from: text(&addressed.source_addr),
        to: text(&addressed.destination_addr),
        text: content::text_of(message),
        raw: HEXLOWER.encode(&raw),
        udhi: message.esm_class & content::UDHI != 0,
        data_coding: message.data_coding,
        part,
        accepted_at: moment::show(message.accepted_at),
    };
    document(kind, message.accepted_at, data)
}

/// What an administrator sends to see whether a receiver works.
pub fn test(account: &str, at: i64) -> Bytes {
    document("test", at, serde_json::json!({ "account": account }))
}

/// An address or code as it came; it is ASCII, unless somebody sent something else.
fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

fn document(kind: &str, at: i64, data: impl Serialize) -> Bytes {
    let timestamp = moment::show(at);
    let envelope = Envelope {
        kind,
        timestamp,
        data,
    };
    // Texts and numbers only: there is nothing that JSON could refuse.
    serde_json::to_vec(&envelope).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::content::pdu;
    use crate::pb::MessageState;

    const AT: i64 = 1_700_000_000_000;

    fn names(operator: &str) -> ShownNames<'_> {
        ShownNames {
            account: "acme",
            operator,
        }
    }

    fn read(callback: &Bytes) -> Value {
        serde_json::from_slice(callback).unwrap()
    }

    #[test]
    fn a_receipt_says_how_the_message_ended() {
        let mut tlvs = Tlvs::default();
        tlvs.push(tag::USER_MESSAGE_REFERENCE, &[0x01, 0x02]);
        let message = Message {
            id: 77,
            source: Bytes::from_static(b"ACME"),
            destination: Bytes::from_static(b"447700900123"),
            accepted_at: AT,
            tlvs: tlvs.raw().clone(),
            ..Message::default()
        };
        let fin = FinRow {
            id: 77,
            at: AT + 5_000,
            state: MessageState::Undeliverable,
            error: Bytes::from_static(b"0A1"),
            operator: 3,
            tell: 1,
            done_at: AT + 3_000,
            remote_item: Bytes::new(),
            remote_part: 0,
        };
        let ended = EndedMessage {
            message: &message,
            fin: &fin,
            deliver: &Message::default(),
            attempts: &[],
        };
        let callback = super::receipt(ended, names("up"));
        assert_eq!(receipt_id(&fin), "receipt_77");
        assert_eq!(
            read(&callback),
            json!({
                "type": "message.undeliverable",
                "timestamp": "2023-11-14T22:13:25.000Z",
                "data": {
                    "message_id": "77",
                    "account": "acme",
                    "state": "UNDELIVERABLE",
                    "error": "0A1",
                    "operator": "up",
                    "from": "ACME",
                    "to": "447700900123",
                    "reference": 258,
                    "parts": 1,
                    "accepted_at": "2023-11-14T22:13:20.000Z",
                    "done_at": "2023-11-14T22:13:23.000Z",
                },
            })
        );
    }

    #[test]
    fn a_state_says_what_follows() {
        let message = Message {
            id: 77,
            source: Bytes::from_static(b"ACME"),
            destination: Bytes::from_static(b"447700900123"),
            accepted_at: AT,
            ..Message::default()
        };
        let report = StateReport {
            state: EarlyState::Retrying.into(),
            at: AT + 1_000,
            attempt: 2,
            operator: 3,
            status: 0x14,
            due_at: AT + 3_000,
            ..StateReport::default()
        };
        let say = |report: &StateReport| {
            let reached = ReachedState {
                message: &message,
                report,
                deliver: &message,
            };
            early(reached, names("up"))
        };
        let callback = say(&report);
        assert_eq!(state_id(&message, &report), "retrying_77_2");
        assert_eq!(
            read(&callback),
            json!({
                "type": "message.retrying",
                "timestamp": "2023-11-14T22:13:21.000Z",
                "data": {
                    "message_id": "77",
                    "account": "acme",
                    "state": "RETRYING",
                    "attempt": 2,
                    "error": "ESME_RMSGQFUL",
                    "operator": "up",
                    "from": "ACME",
                    "to": "447700900123",
                    "parts": 1,
                    "accepted_at": "2023-11-14T22:13:20.000Z",
                    "next_attempt_at": "2023-11-14T22:13:23.000Z",
                },
            })
        );
        let sent = StateReport {
            state: EarlyState::Sent.into(),
            operator_message_id: Bytes::from_static(b"A1"),
            ..report
        };
        let data = read(&say(&sent))["data"].clone();
        assert_eq!(
            (&data["state"], &data["attempt"]),
            (&json!("SENT"), &json!(2))
        );
        assert_eq!(data["operator_message_id"], "A1");
        assert!(data.get("error").is_none() && data.get("next_attempt_at").is_none());
    }

    #[test]
    fn a_message_comes_as_text_and_as_octets() {
        let message = Message {
            id: 78,
            kind: Kind::Mo.into(),
            source: Bytes::from_static(b"447700900123"),
            destination: Bytes::from_static(b"12345"),
            accepted_at: AT,
            data_coding: 8,
            esm_class: 0x40,
            short_message: Bytes::from_static(b"\x05\x00\x03\x2a\x02\x01\x04\x1f"),
            ..Message::default()
        };
        let addressed = pdu::deliver_sm_of(&message);
        let callback = incoming(&message, &addressed, names("up"));
        assert_eq!(message_id(&message), "message_78");
        let found = read(&callback);
        assert_eq!(found["type"], "message.received");
        assert_eq!(found["data"]["text"], "П");
        assert_eq!(found["data"]["raw"], "0500032a0201041f");
        assert_eq!(
            found["data"]["part"],
            json!({"reference": 42, "total": 2, "sequence": 1})
        );
        assert_eq!(found["data"]["from"], "447700900123");
        let binary = Message {
            data_coding: 4,
            esm_class: 0,
            ..message
        };
        let callback = incoming(&binary, &addressed, names(""));
        assert_eq!(read(&callback)["data"]["text"], Value::Null);
    }
}
