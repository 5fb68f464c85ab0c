//! Commands on NATS JetStream become messages, by a real server: every acknowledged command exactly one.

mod crashes;
mod nodes;
mod operator_mode;
mod shared_counter;
mod starts;
mod unburied;

use std::collections::BTreeMap;

use crate::harness::dispatch::{Dispatch, command, commands, recipient};
use crate::harness::{Admin, Scene, Smsc, next_submit, taken, until};
use prost::Message as _;
use serde_json::{Value, json};
use smsc::pb::dispatch::{MessageType, SmsDispatchCommand};
use smsc::smpp::tag;

/// An SMSC that takes commands, and an operator played by the test.
fn scene(dispatch: &Dispatch, keys: &str) -> Scene {
    let source = dispatch.source(keys);
    Scene::with("", move |smsc| smsc.toml(&source))
}

/// An SMSC whose messages all arrive.
fn smsc(dispatch: &Dispatch, keys: &str) -> Smsc {
    Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .toml(&dispatch.source(keys))
        .start()
}

/// How many messages each recipient has.
fn by_recipient(admin: &Admin) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut before = String::new();
    loop {
        let page = admin.get(&format!("/v1/messages?limit=1000{before}"));
        for message in page["messages"].as_array().unwrap() {
            let to = message["to"].as_str().unwrap();
            *counts.entry(to.to_owned()).or_default() += 1;
        }
        match page["next_before"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => return counts,
        }
    }
}

fn exactly_once(admin: &Admin, numbers: std::ops::Range<usize>) {
    let expected: BTreeMap<String, usize> = numbers.map(|n| (recipient(n), 1)).collect();
    assert_eq!(by_recipient(admin), expected);
}

fn count(admin: &Admin, result: &str) -> f64 {
    let name = format!("smsc_nats_source_commands_total{{source=\"up\",result=\"{result}\"}}");
    admin.metric(&name).unwrap_or(0.0)
}

#[test]
fn a_command_becomes_a_message_with_all_that_it_says() {
    let dispatch = Dispatch::start();
    let mut scene = scene(&dispatch, "");
    let mut full = command("m-1", "+447700900123");
    for (field, value) in [
        ("eventId", json!("e-1")),
        ("operatorId", json!("op-1")),
        ("accountId", json!("tenant-7")),
        ("messageType", json!("FLASH")),
        ("encoding", json!("UCS2")),
        ("longMessageStrategy", json!("CSMS")),
        ("enqueuedAt", json!("2026-01-01T00:00:00Z")),
        ("expiresAt", json!("2090-01-01T00:00:00Z")),
    ] {
        full[field] = value;
    }
    dispatch.publish(&full);
    let submit = taken(&mut scene.bind, "theirs");
    assert_eq!(&submit.source_addr[..], b"ACME");
    assert_eq!((submit.source_addr_ton, submit.source_addr_npi), (5, 0));
    assert_eq!(&submit.destination_addr[..], b"447700900123");
    // 3GPP TS 23.038 §4: UCS-2 of class 0.
    assert_eq!(submit.data_coding, 0x18);
    assert_eq!(submit.short_message.len(), 2 * "hello m-1".len());
    assert_eq!(submit.registered_delivery & 1, 1, "its state is wanted");
    dispatch.wait_until_done();
    let admin = scene.smsc.admin();
    assert_eq!(count(&admin, "accepted"), 1.0);
    assert_eq!(by_recipient(&admin).len(), 1);
    assert!(dispatch.dead_letters().is_empty());
    // The same command again: no second message, and it is acknowledged.
    dispatch.publish(&full);
    until("the repetition", || {
        (count(&admin, "repeated") == 1.0).then_some(())
    });
    dispatch.wait_until_done();
    exactly_one(&admin);
    // And once more when its time is over: it was taken, so it is no dead letter.
    full["expiresAt"] = json!("2020-01-01T00:00:00Z");
    dispatch.publish(&full);
    until("the late repetition", || {
        (count(&admin, "repeated") == 2.0).then_some(())
    });
    dispatch.wait_until_done();
    exactly_one(&admin);
    assert!(dispatch.dead_letters().is_empty());
}

fn exactly_one(admin: &Admin) {
    let counts = by_recipient(admin);
    assert_eq!(counts.values().sum::<usize>(), 1, "{counts:?}");
}

#[test]
fn a_long_text_goes_as_the_command_says() {
    let dispatch = Dispatch::start();
    let mut scene = scene(&dispatch, "");
    let mut long = command("as-a-whole", "447700900123");
    long["text"] = json!("a".repeat(300));
    long["longMessageStrategy"] = json!("TLV");
    dispatch.publish(&long);
    let whole = taken(&mut scene.bind, "whole");
    assert_eq!(
        whole
            .tlvs
            .get(tag::MESSAGE_PAYLOAD)
            .map(|octets| octets.len()),
        Some(300)
    );
    assert_eq!(whole.esm_class & 0x40, 0);
    long["messageId"] = json!("in-parts");
    long["longMessageStrategy"] = json!("CSMS");
    dispatch.publish(&long);
    for part in ["one", "two"] {
        let submit = taken(&mut scene.bind, part);
        assert_eq!(submit.esm_class & 0x40, 0x40, "a user data header");
        assert!(submit.tlvs.get(tag::MESSAGE_PAYLOAD).is_none());
    }
    dispatch.wait_until_done();
}

#[test]
fn commands_come_in_protobuf_too() {
    let dispatch = Dispatch::start();
    let mut scene = scene(&dispatch, "");
    let command = SmsDispatchCommand {
        message_id: "m-1".to_owned(),
        to: "447700900123".to_owned(),
        text: "hello".to_owned(),
        message_type: MessageType::Flash.into(),
        ..SmsDispatchCommand::default()
    };
    let content_type = [("Content-Type", "application/protobuf")];
    dispatch.publish_with(&content_type, &[command.encode_to_vec()]);
    let submit = taken(&mut scene.bind, "theirs");
    assert_eq!(
        (&submit.short_message[..], submit.data_coding),
        (&b"hello"[..], 0x10)
    );
}

#[test]
fn an_operator_named_by_the_source_gets_its_messages_whatever_routes_say() {
    let dispatch = Dispatch::start();
    let mut scene = Scene::with("", |smsc| {
        smsc.route("44", "test:delivered")
            .toml(&dispatch.source("operator = 'up'"))
    });
    dispatch.publish(&command("m-1", "447700900123"));
    let submit = taken(&mut scene.bind, "theirs");
    assert_eq!(&submit.short_message[..], b"hello m-1");
}

#[test]
fn what_is_no_command_goes_to_the_dead_letters_and_stops_nothing() {
    let dispatch = Dispatch::start();
    let smsc = Smsc::new()
        .account_with("test", "test", "destinations = ['4477009*']")
        .route("", "test:delivered")
        .toml(&dispatch.source(""))
        .start();
    let with = |id: &str, field: &str, value: Value| {
        let mut command = command(id, &recipient(0));
        command[field] = value;
        command.to_string().into_bytes()
    };
    let mut bodies = vec![
        b"{ this is no JSON".to_vec(),
        Vec::new(),
        with("encoded", "encoding", json!("GBK")),
        with("expired", "expiresAt", json!("2020-01-01T00:00:00Z")),
        // The policy of the account refuses it.
        with("abroad", "to", json!("33612345678")),
    ];
    let poisoned = bodies.len();
    bodies.extend(commands(1..21));
    dispatch.publish_all(&bodies);
    dispatch.wait_until_done();
    let admin = smsc.admin();
    exactly_once(&admin, 1..21);
    let dead = dispatch.dead_letters();
    assert_eq!(dead.len(), poisoned, "{dead:?}");
    for (body, reason) in [
        (&bodies[0], "it is no command in JSON"),
        (&bodies[1], "it is no command in JSON"),
        (&bodies[2], "encoding must be GSM7 or UCS2, not \"GBK\""),
        (&bodies[3], "it has expired (expiresAt)"),
        (
            &bodies[4],
            "to is a number to which the account may not send",
        ),
    ] {
        let body = String::from_utf8_lossy(body);
        let letter = dead.iter().find(|letter| letter.body == body).unwrap();
        assert!(letter.reason.starts_with(reason), "{letter:?}");
        assert!(letter.id.starts_with("SMS_DISPATCH."), "{letter:?}");
    }
    assert_eq!(count(&admin, "dead"), poisoned as f64);
    assert_eq!(count(&admin, "accepted"), 20.0);
    assert_eq!(dispatch.consumer().num_redelivered, 0);
}

#[test]
fn a_full_account_delays_commands_and_loses_none() {
    let dispatch = Dispatch::start();
    let source = dispatch.source("nak_delay = '200ms'");
    let mut scene = Scene::of("max_waiting = 1", "", move |smsc| smsc.toml(&source));
    dispatch.publish_all(&commands(0..5));
    let admin = scene.smsc.admin();
    let mut texts = Vec::new();
    for n in 0..5 {
        let (sequence, submit) = next_submit(&mut scene.bind);
        until("a delayed command", || {
            (n == 4 || count(&admin, "delayed") > 0.0).then_some(())
        });
        let theirs = n.to_string();
        crate::harness::accept(&mut scene.bind, sequence, &theirs);
        scene.report(&theirs, "DELIVRD");
        texts.push(String::from_utf8(submit.short_message.to_vec()).unwrap());
    }
    dispatch.wait_until_done();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 5, "{texts:?}");
    assert!(dispatch.dead_letters().is_empty());
}

#[test]
fn a_source_is_a_resource_of_the_api_and_shows_how_it_stands() {
    let dispatch = Dispatch::start();
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let admin = smsc.admin();
    let settings = json!({
        "servers": [dispatch.nats.url()], "subject": "smpp.operator.up", "account": "test",
    });
    admin.put("/v1/nats-sources/up", &settings);
    dispatch.publish_all(&commands(0..3));
    let state = until("three accepted commands", || {
        let state = admin.get("/v1/nats-sources/state")["sources"][0].clone();
        (state["accepted"] == 3).then_some(state)
    });
    assert_eq!(
        (&state["name"], &state["connected"]),
        (&json!("up"), &json!(true))
    );
    assert_eq!(state["trouble"], Value::Null);
    let [read, operate] = ["read", "operate"].map(|role| admin.with_role(role, role));
    assert_eq!(read.call("GET", "/v1/nats-sources", None).0, 200);
    assert_eq!(read.call("GET", "/v1/nats-sources/up", None).0, 200);
    assert_eq!(read.call("GET", "/v1/nats-sources/state", None).0, 200);
    assert_eq!(
        operate
            .call("PUT", "/v1/nats-sources/up", Some(&settings))
            .0,
        403
    );
    assert_eq!(operate.call("DELETE", "/v1/nats-sources/up", None).0, 403);
    let shown = smsc.command(&["source", "list"]);
    assert!(shown.stdout.contains("connected"), "{}", shown.stdout);
    // Removed, it takes no more; the commands wait in the stream.
    let (status, answer) = admin.call("DELETE", "/v1/nats-sources/up", None);
    assert_eq!(status, 200, "{answer}");
    until("no source", || {
        let states = admin.get("/v1/nats-sources/state");
        states["sources"]
            .as_array()
            .unwrap()
            .is_empty()
            .then_some(())
    });
}
