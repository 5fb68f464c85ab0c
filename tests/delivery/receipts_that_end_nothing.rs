//! Receipts that are not the end: words of no standard end nothing, and UNKNOWN and ACCEPTD are final only when nothing
//! better has come in time. There is still one final state, one receipt and one record.

use std::time::Duration;

use crate::harness::{
    Peer, PeerError, Scene, SmscBuilder, database, migrate, receipt, send_receipt, stat_of, until,
};
use serde_json::Value;
use smsc::smpp::CommandStatus;

/// Long enough for a second receipt to arrive, if there were one.
const QUIET: Duration = Duration::from_millis(700);

const DELIVERED: u32 = 2;
const UNDELIVERABLE: u32 = 5;
const ACCEPTED: u32 = 6;
const UNKNOWN: u32 = 7;

/// A scene in each store, with more configuration.
fn in_both_stores(keys: &str, toml: &str, test: fn(Scene)) {
    let with = |builder: SmscBuilder| builder.toml(toml);
    test(Scene::with(keys, with));
    let database = database();
    migrate(database.url());
    test(Scene::with(keys, |builder| {
        with(builder).toml(&format!("[postgres]\nurl = {:?}", database.url()))
    }));
}

/// Sends a receipt that must be answered with ESME_ROK.
fn report(bind: &mut Peer, text: &str) {
    assert_eq!(
        send_receipt(bind, receipt(text)),
        CommandStatus::ESME_ROK,
        "{text}"
    );
}

/// What was heard of a message, oldest first.
fn heard(scene: &Scene, id: &str) -> Vec<String> {
    let message = scene.message(id);
    let changes = message["changes"].as_array().unwrap().iter();
    let heard = changes.filter(|change| change["kind"] == "heard");
    heard
        .map(|change| change["by"].as_str().unwrap().to_owned())
        .collect()
}

fn is_open(scene: &mut Scene, id: &str) {
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence), "told");
    assert_eq!(scene.message(id)["state"], "ENROUTE");
}

/// The end comes once: one receipt, one record.
fn ended(scene: &mut Scene, id: &str, state: u32, name: &str) {
    assert_eq!(stat_of(&scene.esme.deliver()), (id.to_owned(), state));
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence), "told once");
    assert_eq!(scene.smsc.wait_for_final(id)["state"], name);
    let records: Vec<Value> = until("its record", || {
        let records = scene.smsc.records().into_iter();
        let of: Vec<Value> = records.filter(|record| record["id"] == *id).collect();
        (!of.is_empty()).then_some(of)
    });
    let states: Vec<&Value> = records.iter().map(|record| &record["state"]).collect();
    assert_eq!(states, [name]);
}

#[test]
fn words_of_no_standard_end_nothing() {
    in_both_stores("", "", |mut scene| {
        let id = scene.submit_as("one");
        for word in ["SENT", "QUEUED", "HANDSET-BUSY"] {
            report(
                &mut scene.bind,
                &format!("id:one sub:001 dlvrd:000 stat:{word} err:0A1"),
            );
        }
        is_open(&mut scene, &id);
        until("the last word to be kept", || {
            (heard(&scene, &id) == ["HANDSET-BUSY err:0A1"]).then_some(())
        });
        report(&mut scene.bind, "id:one stat:DELIVRD err:000");
        ended(&mut scene, &id, DELIVERED, "DELIVERED");
        // Nothing is known to come behind them: they are no end after all others either.
        report(&mut scene.bind, "id:one stat:SENT err:000");
        assert_eq!(scene.message(&id)["state"], "DELIVERED");
        let log = scene.smsc.log();
        assert_eq!(
            log.matches("a state that no standard has").count(),
            1,
            "{log}"
        );
    });
}

#[test]
fn the_end_behind_unknown_and_acceptd_counts() {
    in_both_stores("", "", |mut scene| {
        for (word, stat, state, name) in [
            ("ACCEPTD", "DELIVRD", DELIVERED, "DELIVERED"),
            ("UNKNOWN", "UNDELIV", UNDELIVERABLE, "UNDELIVERABLE"),
        ] {
            let theirs = format!("of-{word}");
            let id = scene.submit_as(&theirs);
            report(&mut scene.bind, &format!("id:{theirs} stat:{word} err:000"));
            is_open(&mut scene, &id);
            assert_eq!(heard(&scene, &id), [format!("{word} err:000")]);
            report(&mut scene.bind, &format!("id:{theirs} stat:{stat} err:000"));
            ended(&mut scene, &id, state, name);
        }
        // In one batch, and the other way round.
        let id = scene.submit_as("both");
        report(&mut scene.bind, "id:both stat:DELIVRD err:000");
        report(&mut scene.bind, "id:both stat:ACCEPTD err:000");
        ended(&mut scene, &id, DELIVERED, "DELIVERED");
    });
}

#[test]
fn what_was_heard_last_is_the_end_after_a_while() {
    // It has not ended before the look at it, or before the kill.
    in_both_stores("", "[receipts]\nsettle_after = \"10s\"", |mut scene| {
        let id = scene.submit_as("late");
        report(&mut scene.bind, "id:late stat:ACCEPTD err:001");
        report(&mut scene.bind, "id:late stat:UNKNOWN err:0F2");
        assert_eq!(scene.message(&id)["state"], "ENROUTE");
        // What an operator was told is stored survives.
        scene.kill_and_start_again();
        ended(&mut scene, &id, UNKNOWN, "UNKNOWN");
        let message = scene.message(&id);
        assert_eq!(message["final"]["error"], "0F2");
        assert_eq!(message["final"]["reported_by"], "operator:up");
        report(&mut scene.bind, "id:late stat:DELIVRD err:000");
        assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence), "told once");
        assert_eq!(scene.message(&id)["state"], "UNKNOWN");
    });
}

#[test]
fn the_end_of_the_correlation_comes_first() {
    // Long enough for the receipt to come before the end.
    let toml = "[correlation]\nsweep = \"200ms\"";
    in_both_stores("correlation_ttl = \"10s\"", toml, |mut scene| {
        let id = scene.submit_as("swept");
        report(&mut scene.bind, "id:swept stat:ACCEPTD err:005");
        ended(&mut scene, &id, ACCEPTED, "ACCEPTED");
        assert_eq!(scene.message(&id)["final"]["error"], "005");
    });
}

#[test]
fn without_a_wait_they_are_the_end() {
    let mut scene = Scene::with("", |builder| {
        builder.toml("[receipts]\nsettle_after = \"0s\"")
    });
    for (word, state, name) in [
        ("ACCEPTD", ACCEPTED, "ACCEPTED"),
        ("UNKNOWN", UNKNOWN, "UNKNOWN"),
    ] {
        let theirs = format!("of-{word}");
        let id = scene.submit_as(&theirs);
        report(&mut scene.bind, &format!("id:{theirs} stat:{word} err:000"));
        ended(&mut scene, &id, state, name);
    }
    let id = scene.submit_as("word");
    report(&mut scene.bind, "id:word stat:SENT err:000");
    is_open(&mut scene, &id);
}

#[test]
fn what_the_operator_s_configuration_says_is_not_waited_for() {
    let mut scene = Scene::new("receipt_states = { ACCEPTD = \"ACCEPTED\", SENT = \"UNKNOWN\" }");
    for (word, state, name) in [
        ("ACCEPTD", ACCEPTED, "ACCEPTED"),
        ("SENT", UNKNOWN, "UNKNOWN"),
    ] {
        let theirs = format!("of-{word}");
        let id = scene.submit_as(&theirs);
        report(&mut scene.bind, &format!("id:{theirs} stat:{word} err:000"));
        ended(&mut scene, &id, state, name);
    }
}

#[test]
fn one_that_came_before_its_answer_waits_as_well() {
    let mut scene = Scene::new("");
    report(&mut scene.bind, "id:early stat:ACCEPTD err:000");
    until("it to be parked", || {
        (scene.metric("smsc_receipts_parked") == 1.0).then_some(())
    });
    let id = scene.submit_as("early");
    until("it to be heard", || {
        (heard(&scene, &id) == ["ACCEPTD err:000"]).then_some(())
    });
    is_open(&mut scene, &id);
    assert_eq!(scene.metric("smsc_receipts_parked"), 0.0);
    report(&mut scene.bind, "id:early stat:EXPIRED err:000");
    ended(&mut scene, &id, 3, "EXPIRED");
}
