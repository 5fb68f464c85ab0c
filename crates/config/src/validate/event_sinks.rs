//! `[[event_sink]]`: servers, subjects and topics. A key of the other broker is refused: it would do
//! nothing.

use super::Findings;
use super::kafka::{check_kafka, is_topic};
use super::nats::{check_connection, is_subject};
use crate::event_sink::{DEFAULT_SUBJECT, DEFAULT_TOPIC};
use crate::{Config, EventSink, SaslMechanism, SinkEventKind, SinkKind};

pub(super) fn check_event_sinks(config: &Config, found: &mut Findings) {
    for (index, sink) in config.event_sink.iter().enumerate() {
        let base = format!("event_sink[{index}]");
        match sink.kind {
            SinkKind::Nats => check_on_nats(&base, sink, found),
            SinkKind::Kafka => check_on_kafka(&base, sink, found),
        }
    }
}

fn check_on_nats(base: &str, sink: &EventSink, found: &mut Findings) {
    let key = |field: &str| format!("{base}.{field}");
    check_connection(base, &sink.nats_connection(), found);
    let filled = sink.destination_for(SinkEventKind::Ended, "o", "a");
    found.require(
        &key("subject"),
        is_subject(&filled) && !filled.contains(['{', '}']),
        "must be a subject without wildcards, such as \"sms.events.{event}\", and may have {event}, {operator} and {account}",
    );
    for (field, is_set, instead) in [
        ("tls", sink.tls, "write tls:// in front of the servers"),
        (
            "sasl_mechanism",
            sink.sasl_mechanism != SaslMechanism::ScramSha512,
            "leave it out",
        ),
        ("cert_file", sink.cert_file.is_some(), "leave it out"),
        ("key_file", sink.key_file.is_some(), "leave it out"),
        ("topic", sink.topic != DEFAULT_TOPIC, "write `subject`"),
    ] {
        let message = format!("is for `kind = \"kafka\"`; {instead}");
        found.require(&key(field), !is_set, &message);
    }
}

fn check_on_kafka(base: &str, sink: &EventSink, found: &mut Findings) {
    let key = |field: &str| format!("{base}.{field}");
    check_kafka(base, sink, found);
    found.require(
        &key("topic"),
        is_topic(&sink.destination_for(SinkEventKind::Ended, "o", "a")),
        "must be up to 249 letters, digits, `.`, `-` and `_`, such as \"sms.{event}\", and may have {event}, {operator} and {account}",
    );
    let login = "log in with `user` and `password_file`";
    for (field, is_set, instead) in [
        ("credentials_file", sink.credentials_file.is_some(), login),
        ("token_file", sink.token_file.is_some(), login),
        ("subject", sink.subject != DEFAULT_SUBJECT, "write `topic`"),
    ] {
        let message = format!("is for `kind = \"nats\"`; {instead}");
        found.require(&key(field), !is_set, &message);
    }
}
