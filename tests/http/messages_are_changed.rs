//! `PATCH /v1/messages/{id}`: a message that waits gets another content or other times, and keeps its id.

use super::plain::with_sink;
use crate::harness::{Admin, Peer, Smsc, until};
use serde_json::{Value, json};

const TO: &str = "447700900123";

fn in_hours(hours: i64) -> String {
    smsc::domain::moment::text(smsc::clock::now_ms() + hours * 3_600_000)
}

/// Submits a message that waits for an hour, and returns its path.
fn later(api: &Admin, text: &str) -> String {
    let order = json!({ "to": TO, "from": "ACME", "text": text, "send_at": in_hours(1) });
    let (status, said) = api.call("POST", "/v1/messages", Some(&order));
    assert_eq!(status, 202, "{said}");
    format!(
        "/v1/messages/{}",
        said["messages"][0]["id"].as_str().unwrap()
    )
}

fn change(api: &Admin, path: &str, change: &Value) -> (u16, Value) {
    api.call("PATCH", path, Some(change))
}

fn whats(message: &Value) -> Vec<&str> {
    let timeline = message["timeline"].as_array().unwrap().iter();
    timeline
        .map(|step| step["what"].as_str().unwrap())
        .collect()
}

/// 200, or 202 when the effect of an order was not seen soon: then it comes later.
fn is_ordered(status: u16) -> bool {
    [200, 202].contains(&status)
}

/// Waits until a message has these steps, and perhaps more after them.
fn seen(api: &Admin, path: &str, steps: &[&str]) -> Value {
    until(&format!("the steps {steps:?}"), || {
        let message = api.get(path);
        let has_them = whats(&message).starts_with(steps);
        has_them.then_some(message)
    })
}

#[test]
fn a_replaced_message_goes_out_with_its_new_text_also_after_a_kill() {
    let (mut smsc, _) = with_sink("", "");
    let api = smsc.api_of("user", "both");
    let path = later(&api, "the old text");
    let order = json!({ "text": "the new тext", "valid_for": "3h" });
    let (status, said) = change(&api, &path, &order);
    assert!(is_ordered(status), "{status} {said}");
    assert!(path.ends_with(said["id"].as_str().unwrap()));
    let said = seen(&api, &path, &["accepted", "replaced"]);
    assert_eq!(whats(&said), ["accepted", "replaced"]);
    assert!(said["due_at"].is_string(), "it waits as before: {said}");
    assert!(
        said["expires_at"].as_str().unwrap() > in_hours(3).as_str(),
        "three hours after it is due: {said}"
    );
    smsc.kill();
    smsc.fsck();
    smsc.start_again();
    let mut sink = Peer::bind(smsc.smpp(), "sink", "sink");
    // A time that is over means now.
    let now = json!({ "send_at": "2026-01-01T00:00:00Z" });
    until("the message is in its queue again", || {
        let (status, _) = change(&api, &path, &now);
        is_ordered(status).then_some(())
    });
    seen(&api, &path, &["accepted", "replaced", "replaced"]);
    let pdu = sink.deliver();
    let text: Vec<u16> = pdu
        .short_message
        .chunks(2)
        .map(|unit| u16::from_be_bytes([unit[0], unit[1]]))
        .collect();
    assert_eq!(String::from_utf16(&text).unwrap(), "the new тext");
    assert_eq!(pdu.data_coding, 8);
}

#[test]
fn what_can_no_longer_be_replaced_says_why() {
    let smsc = Smsc::new()
        .with_api()
        .account("test", "test")
        .account("other", "other")
        .route("", "test:delivered")
        .start();
    let api = smsc.api_of("test", "both");
    let text = json!({ "text": "new" });
    let waiting = later(&api, "hello");
    // To another account it is not there.
    let (status, said) = change(&smsc.api_of("other", "both"), &waiting, &text);
    assert_eq!(status, 404, "{said}");
    assert_eq!(change(&smsc.api_of("test", "read"), &waiting, &text).0, 403);
    assert_eq!(change(&api, "/v1/messages/17", &text).0, 404);
    assert_eq!(change(&api, "/v1/messages/abc", &text).0, 400);
    for (order, expected, field) in [
        (json!({}), 400, "body"),
        (json!({ "to": TO }), 400, "to"),
        (json!({ "text": "{{name}}" }), 400, "values"),
        (json!({ "text": "я".repeat(71) }), 422, "text"),
        (
            json!({ "valid_until": "2026-01-01T00:00:00Z" }),
            422,
            "valid_until",
        ),
        (json!({ "send_at": "2099-01-01T00:00:00Z" }), 422, "send_at"),
    ] {
        let (status, said) = change(&api, &waiting, &order);
        assert_eq!(
            (status, said["field"].as_str()),
            (expected, Some(field)),
            "{order}: {said}"
        );
    }
    assert_eq!(whats(&api.get(&waiting)), ["accepted"], "nothing changed");
    let (status, said) = api.call("POST", &format!("{waiting}/cancel"), None);
    assert!(is_ordered(status), "{status} {said}");
    until("the message to be cancelled", || {
        (api.get(&waiting)["state"] == "DELETED").then_some(())
    });
    let (status, said) = change(&api, &waiting, &text);
    assert_eq!(status, 409, "{said}");
    assert!(
        said["detail"].as_str().unwrap().contains("DELETED"),
        "{said}"
    );
}

#[test]
fn a_divided_message_is_not_replaced() {
    let (smsc, _sink) = with_sink("", "");
    let api = smsc.api_of("user", "both");
    let path = later(&api, &"long ".repeat(50));
    let (status, said) = change(&api, &path, &json!({ "text": "short" }));
    assert_eq!(status, 409, "{said}");
    let detail = said["detail"].as_str().unwrap();
    assert!(detail.contains("divided into 2 parts"), "{said}");
}

#[test]
fn replacing_counts_against_the_rate() {
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", "rate = 1.0\nburst = 3")
        .route("", "test:delivered")
        .start();
    let api = smsc.api_of("test", "both");
    let path = later(&api, "hello");
    let statuses: Vec<u16> = (0..20)
        .map(|n| change(&api, &path, &json!({ "text": format!("text {n}") })).0)
        .collect();
    assert!(
        statuses.iter().any(|status| is_ordered(*status)) && statuses.contains(&429),
        "{statuses:?}"
    );
}
