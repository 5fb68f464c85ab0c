//! Messages as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ErrorInWords, Wait, time};
use crate::text;
use smsc_content as content;
use smsc_domain::address::printable;
use smsc_domain::state;
use smsc_proto as pb;
use smsc_proto::Kind;

/// `GET /v1/messages`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Messages {
    /// Newest first, without attempts and changes.
    pub messages: Vec<Message>,
    /// `before` of the next page; null on the last one.
    pub next_before: Option<String>,
}

/// `GET /v1/messages/{id}`, and an entry of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    pub id: String,
    /// `ENROUTE` while it is not final.
    pub state: String,
    /// `waiting`, `scheduled`, `held`, `handed over` or `final`; null in lists while it is not final.
    pub stage: Option<String>,
    /// `MT` or `MO`.
    pub kind: String,
    /// As it is routed and stored: see `original`.
    pub from: String,
    /// As it is routed and stored: see `original`.
    pub to: String,
    /// The original addresses, if a rule of the sender has rewritten one; null otherwise.
    #[serde(default)]
    pub original: Option<Original>,
    /// Who brought it: `account:…` or `operator:…`.
    pub sender: String,
    /// The queue that owns it now.
    pub queue: String,
    /// The network that `to` belongs to; null when it was not looked up or is unknown.
    #[serde(default)]
    pub network: Option<String>,
    /// The IMSI of `to`; null while it is not known.
    #[serde(default)]
    pub imsi: Option<String>,
    /// The TPDU that it came as: `SMS-SUBMIT` of a phone or `SMS-DELIVER` of another service centre; null for any other
    /// message.
    #[serde(default)]
    pub came_as: Option<String>,
    #[schema(format = DateTime)]
    pub accepted_at: Option<String>,
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// When it is tried (again), while it is scheduled.
    #[schema(format = DateTime)]
    pub due_at: Option<String>,
    /// Why it, or its receipt, waits; null when nothing is awaited, and in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Wait>,
    /// Attempts that were counted.
    pub attempts: u32,
    pub priority: u32,
    pub data_coding: u32,
    pub esm_class: u32,
    pub registered_delivery: u32,
    /// `text erased` when its text was there and is not kept any more; null otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// How it belongs to a longer text; null when it is all of its text.
    #[serde(default)]
    pub parts: Option<Parts>,
    /// Where its steps are recorded; null when it is not traced.
    #[serde(default)]
    pub trace: Option<Trace>,
    /// The rule (`/v1/mo-rules`) that took it, or that answers with it; null for none.
    #[serde(default)]
    pub mo_rule: Option<String>,
    /// The message that it answers as a rule says; null for any other message.
    #[serde(default)]
    pub answer_to: Option<String>,
    /// The failed message that it was made of, by order of an operator; null for one that was submitted.
    #[serde(default)]
    pub replay_of: Option<String>,
    /// What it brings its account a second time, on another way or again; null for one that is no copy.
    #[serde(default)]
    pub copy_of: Option<CopyOf>,
    /// The message that it was sent again as, the last one if several.
    #[serde(default)]
    pub replayed_as: Option<String>,
    /// How it ended.
    #[serde(rename = "final")]
    pub fin: Option<Final>,
    /// Every attempt that was answered or timed out, oldest first; empty in lists.
    pub history: Vec<Attempt>,
    /// Every order about it, and what receipts said without ending it, oldest first; empty in lists.
    pub changes: Vec<Change>,
    /// Only with `text=true`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub content: Option<Text>,
}

/// The original addresses of a message; null if no rule has changed them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Original {
    pub from: Option<Address>,
    pub to: Option<Address>,
}

/// An address with its numbering (SMPP 3.4 §5.2.5, §5.2.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Address {
    pub address: String,
    pub ton: u32,
    pub npi: u32,
}

/// What a copy is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CopyOf {
    /// The message.
    pub id: String,
    /// It brings the receipt of that message, otherwise that message.
    pub receipt: bool,
    /// The state before the final one that it brings instead: `queued`, `sent` or `retrying`; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// How a message belongs to a longer text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Parts {
    /// Which part its octets are, by header or sar_ parameters; null for a whole.
    pub part: Option<u8>,
    /// Of how many.
    pub of: Option<u8>,
    /// The message that was divided into this one and others.
    pub message: Option<String>,
    /// The messages that carry the text of this one, in order.
    pub sent_as: Vec<String>,
    /// The messages whose text was put together in this one, in order.
    pub made_of: Vec<String>,
}

/// `GET /v1/messages/{id}/trace`, and part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Trace {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// W3C Trace Context of the submission.
    pub traceparent: String,
    /// URL of the trace (`telemetry.trace_url`); null when that is not configured.
    pub url: Option<String>,
}

/// How a message ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Final {
    /// When the state became known here: the receipt arrived, or the message was given up.
    #[schema(format = DateTime)]
    pub at: Option<String>,
    /// When it ended according to the operator's receipt; null if that has no time.
    #[schema(format = DateTime)]
    #[serde(default)]
    pub done_at: Option<String>,
    /// The operator's error code, as it was written; empty without one.
    pub error: String,
    /// What the error means, or an end without one; absent where only the operator knows, and in lists without attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_words: Option<ErrorInWords>,
    /// Who reported the end; empty for ourselves.
    pub reported_by: String,
    /// The account that gets a receipt; empty for none.
    pub receipt_to: String,
    /// The account has acknowledged its receipt; only known for a single message.
    pub receipt_acknowledged: bool,
    /// It was dropped instead: not acknowledged within `validity.receipts`, refused, or purged.
    /// `changes` says when and why.
    #[serde(default)]
    pub receipt_given_up: bool,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    pub attempt: u32,
    #[schema(format = DateTime)]
    pub at: Option<String>,
    /// Where it was sent.
    pub queue: String,
    /// The command_status of the answer by name, or `no answer`.
    pub status: String,
    /// What the answer means; absent where the message was taken, and for vendors' statuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_words: Option<ErrorInWords>,
    pub operator_message_id: String,
    pub latency_ms: u32,
    /// The bind that it was sent on, as node/session; empty when it went by none. The log and `GET
    /// /v1/binds` of that node show the session.
    #[serde(default)]
    pub bind: String,
}

/// One order about a stored message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Change {
    #[schema(format = DateTime)]
    pub at: Option<String>,
    /// `move`, `retry`, `cancel`, `replace`, `replay`, or `give_up` and `tell_again` of its receipt; `heard` for what a
    /// receipt said that has not ended it; `ended_session` when the other side has ended the session on it, or on its
    /// receipt, alone.
    pub kind: String,
    /// The new queue of a move; the operator of what was heard.
    pub queue: String,
    /// Who ordered it; what was heard.
    pub by: String,
}

/// The text of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Text {
    /// Null when the octets are no text, or none that can be read.
    pub text: Option<String>,
    /// In hexadecimal.
    pub octets: String,
    /// The TPDU as it came, in hexadecimal; null without one. `smsc decode --tpdu` explains it.
    #[serde(default)]
    pub tpdu: Option<String>,
}

// === impl Message ===

impl Message {
    /// What a message itself says; its text only on request. Where it is, and what has become of it, is left open.
    pub fn new(message: &pb::Message, state: pb::MessageState, with_text: bool) -> Self {
        Self {
            id: message.id.to_string(),
            state: state::name(i32::from(state) as u8).to_owned(),
            stage: None,
            kind: match message.kind() {
                Kind::Mt => "MT".to_owned(),
                Kind::Mo => "MO".to_owned(),
            },
            from: printable(&message.source),
            to: printable(&message.destination),
            original: message.original.as_deref().map(Original::from),
            sender: String::new(),
            queue: String::new(),
            network: Some(message.network.clone()).filter(|network| !network.is_empty()),
            imsi: Some(message.imsi.clone()).filter(|imsi| !imsi.is_empty()),
            came_as: came_as(message).map(str::to_owned),
            accepted_at: time(message.accepted_at),
            expires_at: time(message.expires_at),
            due_at: None,
            waits: None,
            attempts: 0,
            priority: message.priority,
            data_coding: message.data_coding,
            esm_class: message.esm_class,
            registered_delivery: message.registered_delivery,
            note: message.text_erased.then(|| "text erased".to_owned()),
            parts: Parts::of(message),
            trace: None,
            mo_rule: (message.ruled_by.as_ref())
                .map(|ruled| ruled.rule.clone())
                .filter(|rule| !rule.is_empty()),
            answer_to: (message.ruled_by.as_ref())
                .filter(|ruled| ruled.answers != 0)
                .map(|ruled| ruled.answers.to_string()),
            replay_of: message.replay_of.as_ref().map(|old| old.id.to_string()),
            copy_of: message.copied.as_deref().map(|copied| CopyOf {
                id: copied.of.to_string(),
                receipt: copied.receipt && copied.report.is_none(),
                state: copied.report.as_ref().map(|report| word(report.state())),
            }),
            replayed_as: None,
            fin: None,
            history: Vec::new(),
            changes: Vec::new(),
            content: with_text.then(|| {
                let found = text::of(message);
                Text {
                    text: found.text,
                    octets: found.octets,
                    tpdu: (!message.tpdu.is_empty()).then(|| text::hex(&message.tpdu)),
                }
            }),
        }
    }
}

/// The kind of its TPDU by the name in 3GPP TS 23.040.
fn came_as(message: &pb::Message) -> Option<&'static str> {
    match message.payload_kind() {
        pb::PayloadKind::Smpp => None,
        pb::PayloadKind::SmsSubmit => Some("SMS-SUBMIT"),
        pb::PayloadKind::SmsDeliver => Some("SMS-DELIVER"),
    }
}

/// A state before the final one, in the words of submissions.
fn word(state: pb::EarlyState) -> String {
    let word = match state {
        pb::EarlyState::Unspecified => "",
        pb::EarlyState::Queued => "queued",
        pb::EarlyState::Sent => "sent",
        pb::EarlyState::Retrying => "retrying",
    };
    word.to_owned()
}

// === impl Parts ===

impl Parts {
    fn of(message: &pb::Message) -> Option<Self> {
        let place = content::part_of(message);
        let composition = message.composition.as_deref();
        if place.is_none() && composition.is_none() {
            return None;
        }
        let ids = |ids: &[u64]| ids.iter().map(u64::to_string).collect();
        Some(Self {
            part: place.map(|place| place.sequence),
            of: place.map(|place| place.total),
            message: content::parent_of(message).map(|parent| parent.to_string()),
            sent_as: composition.map_or_else(Vec::new, |all| ids(&all.sent_as)),
            made_of: composition.map_or_else(Vec::new, |all| ids(&all.made_of)),
        })
    }
}

impl From<&pb::Original> for Original {
    fn from(original: &pb::Original) -> Self {
        Self {
            from: original.source.as_ref().map(Address::from),
            to: original.destination.as_ref().map(Address::from),
        }
    }
}

impl From<&pb::Address> for Address {
    fn from(address: &pb::Address) -> Self {
        Self {
            address: printable(&address.digits),
            ton: address.ton,
            npi: address.npi,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn stored() -> pb::Message {
        pb::Message {
            id: 1_782_579_200_000_000_000,
            accepted_at: 1_700_000_000_000,
            source: Bytes::from_static(b"ACME"),
            destination: Bytes::from_static(b"447700900123"),
            short_message: Bytes::from_static(b"hello"),
            ..pb::Message::default()
        }
    }

    fn shown(message: &pb::Message, with_text: bool) -> serde_json::Value {
        let shown = Message::new(message, pb::MessageState::Enroute, with_text);
        serde_json::to_value(shown).unwrap()
    }

    #[test]
    fn ids_are_strings_and_text_is_shown_on_request_only() {
        let plain = shown(&stored(), false);
        assert_eq!(plain["id"], "1782579200000000000");
        assert_eq!(plain["to"], "447700900123");
        assert_eq!(plain["state"], "ENROUTE");
        assert!(plain["final"].is_null() && plain.get("content").is_none());
        assert!(!plain.to_string().contains("hello"));
        let asked = shown(&stored(), true);
        assert_eq!(asked["content"]["text"], "hello");
        assert_eq!(asked["content"]["octets"], "68656c6c6f");
    }

    #[test]
    fn a_tpdu_is_named_and_shown_with_the_text_only() {
        let mut message = stored();
        message.imsi = "001010000000001".to_owned();
        message.set_payload_kind(pb::PayloadKind::SmsSubmit);
        message.tpdu = vec![0x01, 0x00, 0xE8];
        let plain = shown(&message, false);
        assert_eq!(plain["imsi"], "001010000000001");
        assert_eq!(plain["came_as"], "SMS-SUBMIT");
        assert!(!plain.to_string().contains("0100e8"));
        assert_eq!(shown(&message, true)["content"]["tpdu"], "0100e8");
    }

    #[test]
    fn the_command_line_reads_what_is_shown() {
        let message = Message::new(&stored(), pb::MessageState::Enroute, true);
        let json = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), message);
    }
}
