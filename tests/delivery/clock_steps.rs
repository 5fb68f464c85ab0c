//! Steps of the wall clock do no harm: within a minute nothing changes. Beyond that, nothing is
//! accepted until the clock is right or the ids of the wrong time have been set aside, and no queue
//! stops.

use std::process::Command;
use std::time::Duration;

use crate::harness::{
    self, Cluster, Finished, PATIENCE, Peer, PeerError, Scene, Smsc, WallClock, accept,
    next_submit, receipt, run, send_receipt, submit, taken, until,
};
use bytes::Bytes;
use serde_json::Value;
use smsc::smpp::{Body, CommandStatus, SubmitSm};

const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;
/// Ids may be ahead of the clock by a minute.
const NEAR_MS: i64 = 60_000;
/// Long enough to see that nothing arrives.
const QUIET: Duration = Duration::from_millis(1500);
const HELD_NOT_AT_ALL: &str = "[correlation]\nearly_hold = \"1ms\"";

fn now_ms() -> i64 {
    smsc::clock::now_ms()
}

/// The time in an id, Unix ms.
fn given_at(id: &str) -> i64 {
    (id.parse::<u64>().unwrap() >> 20) as i64
}

/// A submission whose response comes after its receipt has been parked; its sender gets the receipt
/// nevertheless.
fn overtaken(scene: &mut Scene, theirs: &str) -> String {
    let parked = scene.metric("smsc_operator_receipts_unmatched_total");
    let id = scene.submit();
    let (sequence, _) = next_submit(&mut scene.bind);
    let early = receipt(&format!("id:{theirs} stat:DELIVRD err:000"));
    assert_eq!(
        send_receipt(&mut scene.bind, early),
        CommandStatus::ESME_ROK
    );
    assert_eq!(
        scene.metric("smsc_operator_receipts_unmatched_total"),
        parked + 1.0
    );
    accept(&mut scene.bind, sequence, theirs);
    id
}

fn told(scene: &mut Scene, id: &str) {
    let told = scene.esme.deliver();
    assert_eq!(harness::receipted(&told), id);
    let text = String::from_utf8_lossy(&told.short_message);
    assert!(text.contains("stat:DELIVRD"), "{text}");
}

/// The ids that a search lists.
fn listed(smsc: &Smsc, query: &str) -> Vec<String> {
    let found = smsc.admin().get(&format!("/v1/messages?{query}"));
    let ids = found["messages"].as_array().unwrap().iter();
    ids.map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

fn refused(esme: &mut Peer) -> CommandStatus {
    let sequence = esme.request(Body::SubmitSm(submit("447700900123", "hello")));
    esme.answer_to(sequence).status
}

/// A start that is expected to fail; returns its output.
fn fails_to_start(smsc: &Smsc, clock: &WallClock) -> Finished {
    let mut serve = Command::new(harness::binary());
    serve
        .args(["serve", "--config", "smsc.toml"])
        .current_dir(smsc.file(""))
        .envs(clock.variables());
    let said = run(&mut serve);
    assert!(!said.success, "it started: {}{}", said.stdout, said.stderr);
    said
}

fn not_ready_because(smsc: &Smsc, words: &str) {
    until(&format!("the node to be unready: {words}"), || {
        let (status, body) = smsc.admin().text("/health/ready").ok()?;
        (status == 503 && body.contains(words)).then_some(())
    });
}

#[test]
fn ids_that_are_ahead_by_less_than_a_minute_are_told_from_times() {
    let clock = WallClock::new();
    let mut scene = Scene::with("", |smsc| clock.of(smsc.toml(HELD_NOT_AT_ALL)));
    clock.set(50);
    scene.submit_as("before");
    clock.set(0);
    let id = overtaken(&mut scene, "ahead");
    assert!(given_at(&id) > now_ms() + 30_000, "its id is not ahead");
    told(&mut scene, &id);
    let until = now_ms() + 1_000;
    let since = until - 20_000;
    let query = format!("since={since}&until={until}");
    assert_eq!(listed(&scene.smsc, &query), [id.as_str()]);
    let query = format!("to=447700900123&{query}");
    assert_eq!(listed(&scene.smsc, &query), [id.as_str()]);
    let ahead = scene.metric("smsc_ids_ahead_seconds");
    assert!((20.0..=51.0).contains(&ahead), "{ahead}");
}

#[test]
fn a_day_that_never_was_is_set_aside() {
    let clock = WallClock::new();
    let mut scene = Scene::with("", |smsc| clock.of(smsc.toml(HELD_NOT_AT_ALL)));
    scene.submit_as("right");
    clock.set(DAY);
    let ahead = scene.submit_as("wrong");
    assert!(given_at(&ahead) > now_ms() + (DAY - 60) * 1_000);
    clock.set(0);

    assert_eq!(refused(&mut scene.esme), CommandStatus::ESME_RSYSERR);
    not_ready_because(&scene.smsc, "repair-ids");
    // The operator must keep an MO message and an unknown receipt.
    let unknown = receipt("id:nobody stat:DELIVRD err:000");
    assert_eq!(
        send_receipt(&mut scene.bind, unknown),
        CommandStatus::ESME_RX_T_APPN
    );
    // Accepted messages continue.
    scene.report("wrong", "DELIVRD");
    told(&mut scene, &ahead);
    let waiting = {
        clock.set(DAY);
        let id = scene.submit();
        clock.set(0);
        id
    };

    assert!(scene.smsc.terminate().success());
    let said = fails_to_start(&scene.smsc, &clock);
    assert!(
        said.stderr.contains("ahead of the clock") && said.stderr.contains("smsc repair-ids"),
        "{}",
        said.stderr
    );
    let asked = scene.smsc.command(&["repair-ids"]);
    assert!(
        !asked.success && asked.stdout.contains("2 messages"),
        "{asked:?}"
    );
    fails_to_start(&scene.smsc, &clock);
    let done = scene.smsc.command(&["repair-ids", "--yes"]);
    assert!(done.success, "{done:?}");

    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    scene.esme = Peer::bind(scene.smsc.smpp(), "test", "test");
    // The waiting message is sent, and its receipt matches.
    taken(&mut scene.bind, "waited");
    scene.report("waited", "DELIVRD");
    told(&mut scene, &waiting);
    let id = overtaken(&mut scene, "after");
    assert!(given_at(&id) <= now_ms() + NEAR_MS, "{id}");
    told(&mut scene, &id);
    let (since, until) = (now_ms() - 120_000, now_ms() + 1_000);
    for query in ["", "to=447700900123&"] {
        let query = format!("{query}since={since}&until={until}");
        let found = listed(&scene.smsc, &query);
        assert!(found.contains(&id) && !found.contains(&ahead), "{found:?}");
    }
    let found = listed(&scene.smsc, "to=447700900123");
    assert!(found.contains(&id) && found.contains(&ahead), "{found:?}");
    assert_eq!(scene.message(&ahead)["state"], "DELIVERED");

    // The same after a restart, which reports no problem.
    scene.smsc.wait_until_told(&id);
    scene.kill_and_start_again();
    let id = overtaken(&mut scene, "later");
    told(&mut scene, &id);
    scene.smsc.kill();
    scene.smsc.fsck();
}

#[test]
fn a_step_back_by_an_hour_stops_no_queue_for_an_hour() {
    let clock = WallClock::new();
    let keys = "[retry]\ndelays = [\"5s\"]\nthrottled_delay = \"5s\"";
    let mut scene = Scene::with("", |smsc| clock.of(smsc.toml(keys)));
    // A pause of one message, then of the whole queue.
    for status in [CommandStatus::ESME_RSYSERR, CommandStatus::ESME_RTHROTTLED] {
        let id = scene.submit();
        scene.refuse(status);
        until("the refusal to be settled", || {
            let queue = scene.smsc.admin().get("/v1/queues");
            in_flight(&queue).eq(&0).then_some(())
        });
        clock.set(-HOUR);
        let again = format!("again-{}", status.0);
        taken(&mut scene.bind, &again);
        scene.report(&again, "DELIVRD");
        told(&mut scene, &id);
        clock.set(0);
    }
}

fn in_flight(queues: &Value) -> u64 {
    let queues = queues["queues"].as_array().or(queues.as_array()).unwrap();
    let up = queues.iter().find(|queue| queue["name"] == "operator:up");
    up.unwrap()["in_flight"].as_u64().unwrap()
}

#[test]
fn what_its_sender_has_scheduled_waits_for_its_time_of_day() {
    let clock = WallClock::new();
    let mut scene = Scene::with("", |smsc| clock.of(smsc));
    clock.set(-HOUR);
    let in_an_hour = SubmitSm {
        schedule_delivery_time: Bytes::from_static(b"000000010000000R"),
        ..submit("447700900123", "later")
    };
    let id = scene.esme.submit(in_an_hour);
    // A step back leaves the scheduled time of day unchanged, and a step forward reaches it.
    clock.set(-2 * HOUR);
    assert_eq!(scene.bind.next(QUIET), Err(PeerError::Silence));
    assert_eq!(scene.message(&id)["attempts"], 0);
    clock.set(60);
    taken(&mut scene.bind, "later");
}

/// Gives a finished message an id of tomorrow, without the checksums of its rows.
fn tomorrow(cluster: &Cluster, id: &str) -> String {
    let ahead = id.parse::<i64>().unwrap() + ((DAY * 1_000) << 20);
    for (table, bare) in [
        ("msg", ", body = substr(body, 7)"),
        ("sent", ", checksum = NULL"),
        ("fin", ", checksum = NULL"),
        ("told", ""),
    ] {
        cluster.postgres.execute(&format!(
            "UPDATE {table} SET id = {ahead} {bare} WHERE id = {id}"
        ));
    }
    ahead.to_string()
}

#[test]
fn one_node_of_many_with_a_wrong_clock_stops_no_other() {
    let clock = WallClock::new();
    let wall = clock.variables();
    let mut cluster = Cluster::of(1)
        .short_lease()
        .each(move |smsc| {
            let smsc = smsc.account("test", "test").route("", "test:delivered");
            let wall = wall.clone().into_iter();
            wall.fold(smsc, |smsc, (key, value)| smsc.env(key, &value))
        })
        .start();
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    // It follows the clock of the database, whatever becomes of its own.
    clock.set(DAY);
    let id = esme.submit(submit("447700900123", "from a wrong tomorrow"));
    assert!(given_at(&id) <= now_ms() + NEAR_MS, "{id}");
    clock.set(0);
    let id = esme.submit(submit("447700900123", "from today"));
    // The simulated operator is within the node: a kill before its receipt would take that along.
    cluster.nodes[0].wait_for_final(&id);
    cluster.nodes[0].kill();
    // As a build that follows its own clock leaves it.
    let ahead = tomorrow(&cluster, &id);

    // It starts neither with the right clock, unless the ids are set aside, nor with a wrong one.
    let said = fails_to_start(&cluster.nodes[0], &clock);
    assert!(said.stderr.contains("smsc repair-ids"), "{}", said.stderr);
    let done = cluster.nodes[0].command(&["repair-ids", "--yes"]);
    assert!(
        done.success && done.stdout.contains("1 messages"),
        "{done:?}"
    );
    clock.set(DAY);
    let said = fails_to_start(&cluster.nodes[0], &clock);
    assert!(said.stderr.contains("the database's"), "{}", said.stderr);
    clock.set(0);

    cluster.nodes[0].start_again();
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "from today"));
    assert!(given_at(&id) <= now_ms() + NEAR_MS);
    let number = |id: &str| (id.parse::<u64>().unwrap() >> 12) & 0xFF;
    assert_ne!(number(&id), number(&ahead), "the number is kept apart");
    cluster.wait_until_idle_with(PATIENCE + Duration::from_secs(30), || {
        esme.acknowledge_all()
    });
    assert_eq!(
        cluster.nodes[0].wait_for_final(&ahead)["state"],
        "DELIVERED"
    );
    let (since, until) = (now_ms() - 120_000, now_ms() + 1_000);
    let found = listed(&cluster.nodes[0], &format!("since={since}&until={until}"));
    assert!(found.contains(&id), "{found:?}");
}
