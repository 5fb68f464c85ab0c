//! What backends of OpenTelemetry expect of the spans of a message.

use super::collector::Span;
use super::one;

/// Names and attributes of OpenTelemetry's semantic conventions for messaging: a span about a destination is named
/// "operation destination", and numbers are numbers.
pub fn are_followed(spans: &[Span], port: u16) {
    let expected = [
        ("submit", "submit_sm operator:up", "submit_sm", "process"),
        ("attempt", "submit_sm operator:up", "submit_sm", "send"),
        ("receipt", "deliver_sm operator:up", "deliver_sm", "process"),
        ("forward", "deliver_sm account:test", "deliver_sm", "send"),
    ];
    for (step, name, operation, operation_type) in expected {
        let span = one(spans, step);
        assert_eq!(span.name, name);
        assert_eq!(span.get("messaging.operation.name"), operation);
        assert_eq!(span.get("messaging.operation.type"), operation_type);
        let destination = name.split_once(' ').unwrap().1;
        assert_eq!(span.get("messaging.destination.name"), destination);
    }
    assert_eq!(one(spans, "store").name, "store");
    let waits = spans.iter().filter(|span| span.step() == "queue");
    let mut waits: Vec<&str> = waits.map(|span| span.name.as_str()).collect();
    waits.sort_unstable();
    assert_eq!(waits, ["queue account:test", "queue operator:up"]);
    let attempt = one(spans, "attempt");
    assert_eq!(attempt.get("server.address"), "127.0.0.1");
    assert_eq!(attempt.get("network.peer.address"), "127.0.0.1");
    let port = i64::from(port);
    for (key, number) in [
        ("server.port", port),
        ("network.peer.port", port),
        ("smsc.attempt", 1),
        ("smsc.parts", 1),
    ] {
        assert_eq!(
            attempt.numbers.get(key),
            Some(&number),
            "{key} of {attempt:?}"
        );
    }
}
