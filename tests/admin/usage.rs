//! Usage: REST, CSV and the command line, for administrators and for accounts.

use crate::harness::{Scene, Smsc, SmscBuilder, until};
use bytes::Bytes;
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus, SubmitSm};

fn counting(smsc: SmscBuilder) -> SmscBuilder {
    smsc.with_api()
        .account("other", "other")
        .toml("[usage]\nenabled = true\n[policy]\ncurrency = \"EUR\"\n[policy.prices]\ndefault = 3")
}

/// The sums that this path shows, once they have so many messages.
fn sums(smsc: &Smsc, path: &str, messages: u64) -> Vec<Value> {
    until(&format!("{messages} messages at {path}"), || {
        let answer = smsc.admin().get(path);
        let sums = answer["usage"].as_array().unwrap().clone();
        let total: u64 = sums
            .iter()
            .map(|sum| sum["messages"].as_u64().unwrap())
            .sum();
        (total == messages).then_some(sums)
    })
}

#[test]
fn ended_messages_are_summed_for_administrators_and_accounts() {
    let mut scene = Scene::with("", counting);
    for (theirs, stat) in [("a", "DELIVRD"), ("b", "DELIVRD"), ("c", "UNDELIV")] {
        scene.submit_as(theirs);
        scene.report(theirs, stat);
    }
    let smsc = &scene.smsc;
    let by_state = sums(smsc, "/v1/usage?by=state,country,account,operator", 3);
    let sum = |state: &str, messages: u64| {
        json!({ "day": null, "account": "test", "operator": "up", "country": "GB", "state": state,
            "kind": null, "currency": "EUR", "messages": messages, "parts": messages,
            "price": messages * 3 })
    };
    assert_eq!(by_state, [sum("DELIVERED", 2), sum("UNDELIVERABLE", 1)]);
    let none = smsc.admin().get("/v1/usage?account=other");
    assert_eq!(none, json!({ "usage": [] }));
    let answer = smsc.admin().text("/v1/usage?by=country&format=csv");
    let (status, text) = answer.unwrap();
    assert_eq!(status, 200);
    assert_eq!(
        text,
        "day,account,operator,country,state,kind,currency,messages,parts,price\r\n\
         ,,,GB,,,EUR,3,3,9\r\n"
    );
    for (query, part) in [
        ("by=week", "by names some of day"),
        ("state=GONE", "state is one of"),
        ("format=xml", "format is json or csv"),
        ("from=2026-11-02&to=2026-11-01", "from must not be after to"),
        ("account=nobody", "account:nobody is not known"),
        ("days=3", "days is not known"),
    ] {
        let (status, problem) = smsc
            .admin()
            .call("GET", &format!("/v1/usage?{query}"), None);
        assert!((400..500).contains(&status), "{query}: {status}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(part), "{query}: {detail}");
    }
    let own = smsc.api_of("test", "read").get("/v1/usage?by=kind");
    assert_eq!(own["usage"][0]["messages"], 3, "{own}");
    assert_eq!(own["usage"][0]["kind"], "MT");
    let others = smsc.api_of("other", "read").get("/v1/usage");
    assert_eq!(others, json!({ "usage": [] }));
    let (status, _) = smsc
        .api_of("test", "read")
        .call("GET", "/v1/usage?account=other", None);
    assert_eq!(status, 400, "of its own only");
    let shown = smsc.command(&["usage", "--by", "country,state"]);
    assert!(shown.success, "{}", shown.stderr);
    assert!(shown.stdout.contains("UNDELIVERABLE"), "{}", shown.stdout);
    let csv = smsc.command(&["usage", "--by", "country", "--csv"]);
    assert!(csv.stdout.contains(",,,GB,,,EUR,3,3,9"), "{}", csv.stdout);
}

#[test]
fn what_was_sent_and_what_came_are_apart_unless_asked_otherwise() {
    let receives = "addresses = [\"12345\"]\n";
    let mut scene = Scene::of(receives, "", counting);
    scene.submit_as("a");
    scene.report("a", "DELIVRD");
    let came = scene.bind.request(Body::DeliverSm(SubmitSm {
        destination_addr: Bytes::from_static(b"12345"),
        source_addr: Bytes::from_static(b"447700900123"),
        ..SubmitSm::default()
    }));
    let answer = scene.bind.answer_to(came);
    assert_eq!(answer.status, CommandStatus::ESME_ROK);
    // The receipt and the message.
    scene.esme.deliver();
    scene.esme.deliver();
    let smsc = &scene.smsc;
    sums(smsc, "/v1/usage?by=account", 2);
    let shown = smsc.command(&["usage", "-o", "csv"]);
    let kinds: Vec<&str> = shown
        .stdout
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(5).unwrap())
        .collect();
    assert_eq!(kinds, ["MT", "MO"], "{}", shown.stdout);
    let before = smsc.command(&["usage", "--since", "2020-01-01", "--until", "2020-01-02"]);
    let said = "no message that fits has ended in these days";
    assert!(before.stdout.contains(said), "{}", before.stdout);
}

#[test]
fn who_asks_for_usage_that_is_not_counted_is_told_how() {
    let mut scene = Scene::new("");
    let (status, problem) = scene.smsc.admin().call("GET", "/v1/usage", None);
    assert_eq!(status, 409);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("usage.enabled = true"), "{detail}");
    scene.submit_as("a");
    scene.report("a", "DELIVRD");
    until("the record", || {
        (scene.smsc.records().len() == 1).then_some(())
    });
    let store = rusqlite::Connection::open(scene.smsc.data_dir().join("smsc.db")).unwrap();
    let waiting = "SELECT count(*) FROM outbox WHERE reader = 2";
    let count: i64 = store.query_row(waiting, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 0, "nobody reads these events");
}
