//! Orders of an administrator about messages: cancel, retry, purge, and find.

use std::collections::HashMap;
use std::time::Duration;

use crate::harness::{
    Peer, PeerError, Scene, Simulator, Smsc, accept, next_submit, stat_of, submit, until,
};
use bytes::Bytes;
use serde_json::Value;
use smsc::smpp::{Body, CommandStatus, SubmitSm};

const QUIET: Duration = Duration::from_millis(700);
const DELIVERED: u32 = 2;
const DELETED: u32 = 4;

/// An operator that is down: messages wait.
fn down() -> (Simulator, Smsc, Peer) {
    let operator = Simulator::new();
    let smsc = Smsc::new()
        .relaying_to(operator.address())
        .route("99", "test:delivered")
        .start();
    let esme = Peer::bind(smsc.smpp(), "test", "test");
    (operator, smsc, esme)
}

fn message(smsc: &Smsc, id: &str) -> Value {
    smsc.admin().get(&format!("/v1/messages/{id}"))
}

fn found(smsc: &Smsc, query: &str) -> Vec<String> {
    let answer = smsc.admin().get(&format!("/v1/messages?{query}"));
    let messages = answer["messages"].as_array().unwrap();
    messages
        .iter()
        .map(|message| message["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_waiting_message_is_cancelled_and_its_sender_told() {
    let (mut operator, smsc, mut esme) = down();
    let id = esme.submit(submit("447700900123", "cancelled"));
    let other = esme.submit(submit("447700900124", "stays"));
    assert_eq!(
        smsc.admin().post(&format!("/v1/messages/{id}/cancel")).0,
        200
    );
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), DELETED));
    let cancelled = message(&smsc, &id);
    assert_eq!(cancelled["state"], "DELETED");
    assert_eq!(cancelled["changes"][0]["kind"], "cancel");
    // A second cancellation and an unknown id are refused.
    assert_eq!(
        smsc.admin().post(&format!("/v1/messages/{id}/cancel")).0,
        409
    );
    assert_eq!(smsc.admin().post("/v1/messages/1/cancel").0, 404);
    operator.start_again();
    assert_eq!(stat_of(&esme.deliver()), (other, DELIVERED));
    let journal = operator.wait_for(1);
    assert_eq!(journal.len(), 1);
    assert_eq!(journal[0].text, "stays");
}

#[test]
fn a_cancelled_message_stays_cancelled_over_a_kill() {
    let (mut operator, mut smsc, mut esme) = down();
    let id = esme.submit(submit("447700900123", "cancelled"));
    assert_eq!(
        smsc.admin().post(&format!("/v1/messages/{id}/cancel")).0,
        200
    );
    smsc.kill();
    operator.start_again();
    smsc.start_again();
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    let other = transmitter.submit(submit("447700900124", "stays"));
    // Its receipt was sent before the kill, but never acknowledged.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut told = HashMap::from([stat_of(&esme.deliver()), stat_of(&esme.deliver())]);
    assert_eq!(told.remove(&other), Some(DELIVERED));
    assert_eq!(told.remove(&id), Some(DELETED));
    assert_eq!(operator.wait_for(1).len(), 1);
}

#[test]
fn a_message_at_the_operator_is_not_cancelled() {
    let mut scene = Scene::new("");
    let id = scene.submit();
    let (sequence, _) = next_submit(&mut scene.bind);
    // In flight: its outcome is unknown.
    for verb in ["cancel", "retry"] {
        let (status, answer) = scene
            .smsc
            .admin()
            .post(&format!("/v1/messages/{id}/{verb}"));
        assert_eq!(status, 409, "{verb}: {answer}");
    }
    accept(&mut scene.bind, sequence, "x1");
    until("it to be handed over", || {
        (message(&scene.smsc, &id)["stage"] == "handed over").then_some(())
    });
    // The operator has accepted it.
    for verb in ["cancel", "retry"] {
        assert_eq!(
            scene
                .smsc
                .admin()
                .post(&format!("/v1/messages/{id}/{verb}"))
                .0,
            409
        );
    }
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence));
    assert_eq!(message(&scene.smsc, &id)["state"], "ENROUTE");
}

#[test]
fn a_scheduled_message_is_sent_now() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new().relaying_to(operator.address()).start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(SubmitSm {
        schedule_delivery_time: Bytes::from_static(b"000001000000000R"),
        ..submit("447700900123", "tomorrow")
    });
    assert_eq!(message(&smsc, &id)["stage"], "scheduled");
    assert_eq!(esme.next(QUIET), Err(PeerError::Silence));
    assert_eq!(
        smsc.admin().post(&format!("/v1/messages/{id}/retry")).0,
        200
    );
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    assert_eq!(operator.wait_for(1).len(), 1);
}

#[test]
fn a_message_that_waits_for_its_next_attempt_is_sent_now() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:unreachable")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    for attempts in 1..4 {
        until("the attempt", || {
            let message = message(&smsc, &id);
            (message["attempts"] == attempts && message["stage"] == "scheduled").then_some(())
        });
        assert_eq!(
            smsc.admin().post(&format!("/v1/messages/{id}/retry")).0,
            200
        );
    }
}

#[test]
fn a_purge_ends_what_waits_with_receipts() {
    const MESSAGES: usize = 2_500;
    let (mut operator, smsc, esme) = down();
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    drop(esme);
    for number in 0..MESSAGES {
        let to = format!("4477009{number:05}");
        transmitter.request(Body::SubmitSm(submit(&to, "hello")));
    }
    for _ in 0..MESSAGES {
        let answer = transmitter.expect("an answer", |pdu| pdu.command_id().is_response());
        assert_eq!(answer.status, CommandStatus::ESME_ROK);
    }
    // A scheduled message, too.
    transmitter.submit(SubmitSm {
        schedule_delivery_time: Bytes::from_static(b"000001000000000R"),
        ..submit("447700900123", "tomorrow")
    });
    let (status, answer) = smsc.admin().post("/v1/queues/operator:up/purge");
    assert!([200, 202].contains(&status), "{answer}");
    assert_eq!(answer["count"], MESSAGES as u64 + 1);
    let mut receiver = Peer::connect(smsc.smpp());
    receiver.bind_as(Body::BindReceiver, "test", "test");
    for _ in 0..=MESSAGES {
        assert_eq!(stat_of(&receiver.deliver()).1, DELETED);
    }
    assert_eq!(receiver.next(QUIET), Err(PeerError::Silence));
    let queue = smsc.admin().get("/v1/queues/operator:up");
    assert_eq!(
        (&queue["waiting"], &queue["scheduled"]),
        (&Value::from(0), &Value::from(0))
    );
    // Messages after the purge are not affected.
    operator.start_again();
    let id = transmitter.submit(submit("447700900999", "after"));
    assert_eq!(stat_of(&receiver.deliver()), (id, DELIVERED));
    assert_eq!(operator.wait_for(1).len(), 1);
    smsc.assert_no_panic();
}

#[test]
fn messages_are_found_by_number_and_state() {
    let (_operator, smsc, mut esme) = down();
    let waiting: Vec<String> = (0..5)
        .map(|_| esme.submit(submit("447700900123", "hello")))
        .collect();
    let elsewhere = esme.submit(submit("447700900124", "hello"));
    let delivered = esme.submit(submit("9912345", "hello"));
    smsc.wait_for_final(&delivered);
    let newest_first: Vec<String> = waiting.iter().rev().cloned().collect();
    // The search index is updated after the store.
    until("the index", || {
        (found(&smsc, "to=447700900123") == newest_first).then_some(())
    });
    until("the index", || {
        (found(&smsc, "to=9912345") == [delivered.as_str()]).then_some(())
    });
    assert_eq!(found(&smsc, "to=%2B447700900123"), newest_first);
    assert_eq!(found(&smsc, "to=447700900123&limit=2"), newest_first[..2]);
    assert_eq!(
        found(
            &smsc,
            &format!("to=447700900123&limit=2&before={}", newest_first[1])
        ),
        newest_first[2..4]
    );
    assert_eq!(found(&smsc, "state=DELIVERED"), [delivered.as_str()]);
    assert_eq!(
        found(&smsc, "to=9912345&state=DELIVERED"),
        [delivered.as_str()]
    );
    assert!(found(&smsc, "to=9912345&state=ENROUTE").is_empty());
    assert!(
        found(&smsc, "to=4477009001").is_empty(),
        "whole numbers only"
    );
    let enroute = found(&smsc, "state=ENROUTE");
    assert_eq!(enroute.len(), 6);
    assert!(enroute.contains(&elsewhere));
    for wrong in ["state=NONE", "limit=0", "limit=x", "number=1"] {
        let (status, _) = smsc.admin().text(&format!("/v1/messages?{wrong}")).unwrap();
        assert_eq!(status, 400, "{wrong}");
    }
}

#[test]
fn every_command_leaves_a_line_without_numbers() {
    let (_operator, smsc, mut esme) = down();
    let id = esme.submit(submit("447700900123", "hello"));
    smsc.admin().post(&format!("/v1/messages/{id}/cancel"));
    smsc.admin().post("/v1/queues/operator:up/suspend");
    until("the audit lines", || {
        let log = smsc.log();
        let audit: Vec<&str> = log.lines().filter(|line| line.contains("audit")).collect();
        (audit.iter().any(|line| line.contains(&id))
            && audit.iter().any(|line| line.contains("suspend")))
        .then_some(())
    });
    assert!(!smsc.log().contains("447700900123"));
}
