//! Commands and the messages that they become.

use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Value, json};

use super::*;
use crate::content::{UDHI, text_of};

const NOW: i64 = 1_700_000_000_000;

fn full() -> Value {
    json!({
        "version": "1.0", "eventId": "e-1", "messageId": "m-1", "to": "+447700900123", "from": "ACME",
        "text": "hello", "operatorId": "op-1", "accountId": "tenant-7", "messageType": "SMS", "encoding": "GSM7",
        "longMessageStrategy": "CSMS", "enqueuedAt": "2023-11-14T22:13:20Z", "expiresAt": "2023-11-14T23:13:20Z",
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut command = full();
    command[field] = value;
    command
}

fn read_json(command: &Value) -> Result<NatsCommand, Unfit> {
    read(
        command.to_string().as_bytes(),
        false,
        &Numbers::default(),
        NOW,
    )
}

fn message(command: &Value) -> Message {
    *read_json(command).expect("a command").message
}

fn why(command: &Value) -> String {
    read_json(command).expect_err("no message").to_string()
}

#[test]
fn every_field_has_its_place() {
    let command = read_json(&full()).expect("a command");
    assert_eq!(command.id, "m-1");
    let message = command.message;
    assert_eq!(&message.destination[..], b"447700900123");
    assert_eq!((message.dest_ton, message.dest_npi), (1, 1));
    // SMPP 3.4 §5.2.5: alphanumeric.
    assert_eq!((message.source_ton, message.source_npi), (5, 0));
    assert_eq!(&message.source[..], b"ACME");
    assert_eq!(&message.short_message[..], b"hello");
    assert_eq!(message.data_coding, 0);
    assert!(message.divide && message.follow);
    // SMPP 3.4 §7.1.1.1
    assert_eq!(&message.validity_period[..], b"231114231320000+");
    let kept = message.client_data.expect("what is kept");
    assert_eq!(kept.reference, "m-1");
    let kept: Value = serde_json::from_str(&kept.metadata).expect("JSON");
    let expected = json!({"accountId": "tenant-7", "eventId": "e-1", "operatorId": "op-1"});
    assert_eq!(kept, expected);
}

#[test]
fn only_three_fields_are_needed() {
    let command =
        json!({"messageId": "1", "to": "447700900123", "text": "a", "unknown": {"later": 1}});
    let message = message(&command);
    assert_eq!(&message.source[..], b"");
    assert!(message.validity_period.is_empty());
    assert_eq!(message.client_data.expect("kept").metadata, "");
}

#[test]
fn senders_have_the_type_of_their_form() {
    for (from, ton, npi, digits) in [
        ("+447700900999", 1, 1, "447700900999"),
        ("12345", 0, 0, "12345"),
        ("ACME Ltd", 5, 0, "ACME Ltd"),
    ] {
        let message = message(&with("from", json!(from)));
        let source = (message.source_ton, message.source_npi, &message.source[..]);
        assert_eq!(source, (ton, npi, digits.as_bytes()), "{from}");
    }
}

#[test]
fn the_alphabet_is_that_of_the_command_or_ucs2_where_gsm_lacks_a_character() {
    for (encoding, kind, text, data_coding) in [
        ("GSM7", "SMS", "hello", 0),
        ("GSM7", "SMS", "привет", 8),
        ("UCS2", "SMS", "hello", 8),
        // 3GPP TS 23.038 §4: class 0.
        ("GSM7", "FLASH", "hello", 0x10),
        ("UCS2", "FLASH", "hello", 0x18),
    ] {
        let mut command = with("encoding", json!(encoding));
        command["messageType"] = json!(kind);
        command["text"] = json!(text);
        let message = message(&command);
        assert_eq!(message.data_coding, data_coding, "{encoding} {kind} {text}");
        assert_eq!(text_of(&message).as_deref(), Some(text));
    }
}

#[test]
fn a_long_text_is_divided_or_goes_as_a_whole() {
    for (length, strategy, divide, in_payload) in [
        (160, "TLV", false, false),
        (161, "TLV", false, true),
        (300, "TLV", false, true),
        (161, "CSMS", true, false),
        // Too long for short_message; it is divided when its operator is known.
        (300, "CSMS", true, true),
    ] {
        let mut command = with("longMessageStrategy", json!(strategy));
        command["text"] = json!("a".repeat(length));
        let message = message(&command);
        assert_eq!(message.divide, divide, "{length} {strategy}");
        assert_eq!(
            message.short_message.is_empty(),
            in_payload,
            "{length} {strategy}"
        );
        assert_eq!(message.esm_class & UDHI, 0);
        assert_eq!(text_of(&message).map(|text| text.len()), Some(length));
    }
}

#[test]
fn what_is_not_understood_becomes_no_message_and_says_why() {
    for (command, reason) in [
        (json!([1]), "it is no command in JSON"),
        (json!({}), "messageId is missing"),
        (with("messageId", json!("")), "messageId is missing"),
        (
            with("messageId", json!("x".repeat(101))),
            "messageId must be at most 100",
        ),
        (with("to", Value::Null), "to is missing"),
        (with("to", json!("ACME")), "to "),
        (
            with("from", json!("ACME Limited Company")),
            "from must be a number",
        ),
        (with("text", Value::Null), "text is missing"),
        (
            with("version", json!("2.0")),
            "version must be 1.0, not \"2.0\"",
        ),
        (
            with("encoding", json!("GBK")),
            "encoding must be GSM7 or UCS2, not \"GBK\"",
        ),
        (
            with("messageType", json!("MMS")),
            "messageType must be SMS or FLASH",
        ),
        (
            with("longMessageStrategy", json!("SAR")),
            "longMessageStrategy must be CSMS or TLV",
        ),
        (
            with("expiresAt", json!("tomorrow")),
            "expiresAt must be a time",
        ),
        (
            with("accountId", json!("a\nb")),
            "accountId must be at most 100",
        ),
        (
            with("text", json!("a".repeat(60_001))),
            "text: it has 60001 octets",
        ),
    ] {
        let why = why(&command);
        assert!(why.starts_with(reason), "{why}");
    }
}

#[test]
fn protobuf_says_the_same() {
    let command = SmsDispatchCommand {
        version: "1.0".to_owned(),
        event_id: "e-1".to_owned(),
        message_id: "m-1".to_owned(),
        to: "+447700900123".to_owned(),
        from: "ACME".to_owned(),
        text: "hello".to_owned(),
        operator_id: "op-1".to_owned(),
        account_id: "tenant-7".to_owned(),
        message_type: MessageType::Sms.into(),
        encoding: Encoding::Gsm7.into(),
        long_message_strategy: LongMessageStrategy::Csms.into(),
        enqueued_at: NOW,
        expires_at: NOW + 3_600_000,
    };
    let read = |command: &SmsDispatchCommand| {
        read(&command.encode_to_vec(), true, &Numbers::default(), NOW)
    };
    assert_eq!(read(&command), read_json(&full()));
    let refused = |change: fn(&mut SmsDispatchCommand)| {
        let mut command = command.clone();
        change(&mut command);
        read(&command).expect_err("no message").to_string()
    };
    let encoding = refused(|command| command.encoding = 7);
    assert_eq!(encoding, "encoding must be GSM7 or UCS2, not \"7\"");
    for (expires_at, has_expired) in [(NOW, true), (NOW + 1, false)] {
        let command = SmsDispatchCommand {
            expires_at,
            ..command.clone()
        };
        assert_eq!(read(&command).expect("a message").has_expired, has_expired);
    }
    let garbage = super::read(b"\x08", true, &Numbers::default(), NOW);
    assert!(garbage.is_err_and(|unfit| {
        unfit
            .to_string()
            .starts_with("it is no command in protobuf")
    }));
}

#[test]
fn a_time_far_away_counts_as_a_year() {
    for far in ["2050-01-01T00:00:00Z", "2123-01-01T00:00:00Z"] {
        let message = message(&with("expiresAt", json!(far)));
        assert_eq!(&message.validity_period[..], b"241113221320000+", "{far}");
    }
}

#[test]
fn the_content_type_says_which() {
    for (given, expected) in [
        ("application/protobuf", true),
        ("Application/X-Protobuf; messageType=a", true),
        ("application/json", false),
        ("", false),
    ] {
        assert_eq!(is_protobuf(given), expected, "{given}");
    }
}

proptest! {
    #[test]
    fn nothing_that_comes_does_any_harm(octets in proptest::collection::vec(any::<u8>(), 0..200), protobuf in any::<bool>()) {
        let _ = read(&octets, protobuf, &Numbers::default(), NOW);
    }

    #[test]
    fn any_text_arrives_as_it_is(text in "\\PC{1,200}", tlv in any::<bool>()) {
        let mut command = with("text", json!(text));
        command["longMessageStrategy"] = json!(if tlv { "TLV" } else { "CSMS" });
        let message = message(&command);
        prop_assert_eq!(text_of(&message), Some(text));
    }
}
