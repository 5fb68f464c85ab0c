//! The column `details` of an archive: what a message has besides the other columns, and all that happened to it.
//!
//! One JSON object. Guarantees that no text is in it unless texts are wanted, and no number of a subscriber where
//! numbers are masked: optional parameters, the sender's own data and original addresses may hold either, so they go
//! with both. Octets are hexadecimal or printable, and no string has a NUL, which PostgreSQL refuses.

use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};

use smsc_content as content;
use smsc_domain::address::printable;
use smsc_domain::{command_status, moment};
use smsc_proto::Message;
use smsc_store::{ChangeRow, MessageHistory, SentRow};

/// Finds the interned name with a number.
type NameLookUp<'n> = dyn Fn(u32) -> Option<&'n str> + 'n;

/// The object as text. `named` finds interned names.
pub(super) fn details(
    history: &MessageHistory,
    named: &NameLookUp<'_>,
    with_text: bool,
    masked: bool,
) -> String {
    let message = &history.stored.message;
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| {
        let is_empty = match &value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Number(number) => number.as_u64() == Some(0),
            Value::Array(all) => all.is_empty(),
            Value::Bool(is) => !is,
            Value::Object(_) => false,
        };
        if !is_empty {
            object.insert(key.to_owned(), value);
        }
    };
    for (key, number) in numbers(message) {
        put(key, number.into());
    }
    put("queue", named(history.stored.queue).into());
    put("service_type", printable(&message.service_type).into());
    put("due_at", time(message.due_at));
    put("expires_at", time(message.expires_at));
    put("network", clean(&message.network).into());
    put("price", message.price.into());
    put("parts_sent", content::parts(message).into());
    put("internal", content::is_internal(message).into());
    let replayed = message.replay_of.as_deref().map(|old| old.id.to_string());
    put("replay_of", replayed.into());
    put("text_erased", message.text_erased.into());
    if with_text && !masked {
        put("tlvs", hex(&message.tlvs).into());
        if let Some(client) = message.client_data.as_deref() {
            put("client_reference", clean(&client.reference).into());
            put("client_metadata", clean(&client.metadata).into());
        }
        if let Some(original) = message.original.as_deref() {
            let digits = |address: &smsc_proto::Address| printable(&address.digits);
            let source = original.source.as_ref().map(digits);
            put("original_source", source.into());
            let destination = original.destination.as_ref().map(digits);
            put("original_destination", destination.into());
        }
    }
    if let Some(ended) = &history.stored.fin {
        put("reported_by", named(ended.operator).into());
        put("receipt_for", named(ended.tell).into());
        put("receipt_acknowledged", history.told.into());
    }
    let attempts = history.attempts.iter();
    let attempts: Vec<Value> = attempts.map(|one| attempt(one, named)).collect();
    put("attempts", attempts.into());
    let changes = history.changes.iter();
    let changes: Vec<Value> = changes.map(|one| change(one, named)).collect();
    put("changes", changes.into());
    Value::Object(object).to_string()
}

/// Fields of submit_sm (SMPP 3.4 §4.4.1) that are numbers; 0 is left out.
fn numbers(message: &Message) -> [(&'static str, u32); 10] {
    [
        ("source_ton", message.source_ton),
        ("source_npi", message.source_npi),
        ("dest_ton", message.dest_ton),
        ("dest_npi", message.dest_npi),
        ("esm_class", message.esm_class),
        ("protocol_id", message.protocol_id),
        ("priority", message.priority),
        ("registered_delivery", message.registered_delivery),
        ("replace_if_present", message.replace_if_present),
        ("sm_default_msg_id", message.sm_default_msg_id),
    ]
}

fn attempt(attempt: &SentRow, named: &NameLookUp<'_>) -> Value {
    let status = match attempt.status {
        SentRow::NO_ANSWER => "no answer".to_owned(),
        status => command_status::display(status),
    };
    json!({
        "attempt": attempt.attempt,
        "at": moment::text(attempt.at),
        "operator": named(attempt.operator),
        "status": status,
        "operator_message_id": printable(&attempt.operator_message_id),
        "latency_ms": attempt.latency_ms,
    })
}

fn change(change: &ChangeRow, named: &NameLookUp<'_>) -> Value {
    json!({
        "at": moment::text(change.at),
        "kind": change.name(),
        "queue": named(change.queue),
        "by": clean(&change.by),
    })
}

fn time(ms: i64) -> Value {
    match ms {
        0 => Value::Null,
        ms => moment::text(ms).into(),
    }
}

pub(super) fn hex(octets: &[u8]) -> String {
    HEXLOWER.encode(octets)
}

fn clean(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use smsc_proto::ClientData;
    use smsc_store::Stored;

    fn history() -> MessageHistory {
        let client = ClientData {
            reference: "their\0own 447700900123".to_owned(),
            ..ClientData::default()
        };
        let message = Message {
            id: 1,
            dest_ton: 1,
            tlvs: b"\x04\x24\x00\x02hi".as_slice().into(),
            client_data: Some(Box::new(client)),
            ..Message::default()
        };
        let sent = SentRow {
            id: 1,
            attempt: 1,
            at: 0,
            operator: 7,
            status: 0x58,
            operator_message_id: b"\0id".as_slice().into(),
            latency_ms: 3,
            correlation: 0,
            bind: 0,
            known_as: None,
        };
        MessageHistory {
            stored: Stored {
                queue: 7,
                fin: None,
                attempts: 1,
                replayed_as: 0,
                sent_at: 0,
                message,
            },
            attempts: vec![sent],
            retry: None,
            told: false,
            changes: Vec::new(),
            heard: Vec::new(),
        }
    }

    fn told(with_text: bool, masked: bool) -> Value {
        let named = |number: u32| (number == 7).then_some("operator:up");
        let text = details(&history(), &named, with_text, masked);
        assert!(!text.contains("\\u0000"), "{text}");
        serde_json::from_str(&text).expect("JSON")
    }

    #[test]
    fn attempts_are_told_by_name() {
        let whole = told(true, false);
        assert_eq!(whole["attempts"][0]["operator"], "operator:up");
        assert_eq!(whole["attempts"][0]["status"], "ESME_RTHROTTLED");
        assert_eq!(whole["dest_ton"], 1);
        assert_eq!(whole["tlvs"], "042400026869");
        assert_eq!(whole["client_reference"], "their\u{FFFD}own 447700900123");
        assert!(whole.get("esm_class").is_none(), "0 is left out");
    }

    #[test]
    fn neither_texts_nor_numbers_that_are_not_wanted() {
        for (with_text, masked) in [(false, false), (true, true), (false, true)] {
            let bare = told(with_text, masked).to_string();
            assert!(!bare.contains("6869") && !bare.contains("4477"), "{bare}");
        }
    }
}
