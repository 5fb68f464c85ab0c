//! Commands whose dead letters cannot be published end all the same, and keep no places of others.

use serde_json::{Value, json};

use super::{count, exactly_once};
use crate::harness::dispatch::{Dispatch, commands, recipient};
use crate::harness::{Login, Smsc, until};

/// `in_flight`: commands that cannot end would take all places.
const PLACES: usize = 20;
const PASSWORD: &str = "swordfish";

/// Commands whose time is over.
fn expired(count: usize) -> Vec<Vec<u8>> {
    let one = |n: usize| {
        let id = format!("expired-{n}");
        json!({"version": "1.0", "messageId": id, "to": recipient(n), "text": "late", "expiresAt": "2020-01-01T00:00:00Z"})
    };
    (0..count)
        .map(|n| one(n).to_string().into_bytes())
        .collect()
}

fn taking(dispatch: &Dispatch, keys: &str) -> Smsc {
    let keys = format!("in_flight = {PLACES}\n{keys}");
    Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .file("nats.password", PASSWORD)
        .toml(&dispatch.source(&keys))
        .start()
}

fn state(smsc: &Smsc) -> Value {
    smsc.admin().get("/v1/nats-sources/state")["sources"][0].clone()
}

/// Four times as many dead ones as there are places, and then some that live.
fn dead_ones_end_and_others_go_on(dispatch: &Dispatch, keys: &str, said: &str) {
    let dead = PLACES * 4;
    let mut bodies = expired(dead);
    bodies.extend(commands(1..11));
    dispatch.publish_all(&bodies);
    let smsc = taking(dispatch, keys);
    let admin = smsc.admin();
    until("the commands that live", || {
        (count(&admin, "accepted") >= 10.0).then_some(())
    });
    dispatch.wait_until_done();
    exactly_once(&admin, 1..11);
    // Deliveries are counted, and one whose end came late may be delivered once more.
    let terminated = count(&admin, "terminated");
    assert!(
        (dead as f64..2.0 * dead as f64).contains(&terminated),
        "{terminated}"
    );
    assert_eq!(count(&admin, "dead"), 0.0);
    let state = state(&smsc);
    let trouble = state["trouble"].as_str().unwrap();
    assert!(
        trouble.contains("a dead letter cannot be published") && trouble.contains(said),
        "{trouble}"
    );
    assert_eq!(state["terminated"].as_f64(), Some(terminated));
    let ended = state["ended"].as_array().unwrap();
    assert_eq!(ended.len(), 20, "the last ones");
    assert_eq!(ended[0]["reason"], "it has expired (expiresAt)");
    let place = ended[0]["stream_sequence"].as_u64().unwrap();
    assert!((1..=dead as u64).contains(&place), "{place}");
    let shown = smsc.command(&["source", "list"]).stdout;
    assert!(
        shown.contains(&place.to_string()) && shown.contains("it has expired"),
        "{shown}"
    );
    let log = smsc.log();
    let lines = log.matches("commands end without a dead letter").count();
    assert!((1..10).contains(&lines), "{lines} lines");
    smsc.assert_no_panic();
}

#[test]
fn without_a_stream_for_dead_letters_they_end_and_others_go_on() {
    let dispatch = Dispatch::start();
    let keys = "dead_letters = 'nobody.takes.this'";
    dead_ones_end_and_others_go_on(&dispatch, keys, "nobody.takes.this");
}

/// The rights that docs/events.md names.
fn rights(dead_letters: bool) -> Vec<&'static str> {
    let mut all = vec![
        "$JS.API.STREAM.INFO.SMS_DISPATCH",
        "$JS.API.CONSUMER.INFO.SMS_DISPATCH.smsc-up",
        "$JS.API.CONSUMER.CREATE.SMS_DISPATCH.smsc-up.>",
        "$JS.API.CONSUMER.MSG.NEXT.SMS_DISPATCH.smsc-up",
        "$JS.ACK.SMS_DISPATCH.smsc-up.>",
    ];
    if dead_letters {
        all.push("sms.outbound.deadletter");
    }
    all
}

fn limited(rights: &[&str]) -> Dispatch {
    let login = Login::limited("smsc", PASSWORD, rights, &["_INBOX.>"]);
    Dispatch::with(login)
}

const LIMITED: &str = "user = 'smsc'\npassword_file = 'nats.password'";

#[test]
fn without_a_permission_for_dead_letters_they_end_and_others_go_on() {
    let dispatch = limited(&rights(false));
    dead_ones_end_and_others_go_on(&dispatch, LIMITED, "sms.outbound.deadletter");
}

#[test]
fn the_permissions_of_the_manual_are_enough() {
    let dispatch = limited(&rights(true));
    let mut bodies = expired(3);
    bodies.extend(commands(1..11));
    dispatch.publish_all(&bodies);
    let smsc = taking(&dispatch, LIMITED);
    dispatch.wait_until_done();
    exactly_once(&smsc.admin(), 1..11);
    assert_eq!(dispatch.dead_letters().len(), 3);
    assert_eq!(state(&smsc)["trouble"], Value::Null);
    let manual = include_str!("../../../docs/events.md");
    for right in rights(true) {
        assert!(
            manual.contains(&format!("| publish | `{right}`")),
            "{right}"
        );
    }
}

/// A stream that is made late: the dead letters that are still tried get there, and nothing is in trouble any more.
#[test]
fn what_can_be_published_in_time_is() {
    let dispatch = Dispatch::start();
    let smsc = taking(&dispatch, "dead_letters = 'late.stream'\nnak_delay = '1s'");
    dispatch.publish_all(&expired(3));
    until("trouble", || {
        state(&smsc)["trouble"].is_string().then_some(())
    });
    dispatch.add_stream("LATE", "late.stream");
    dispatch.wait_until_done();
    let admin = smsc.admin();
    assert_eq!(
        (count(&admin, "dead"), count(&admin, "terminated")),
        (3.0, 0.0)
    );
    assert_eq!(state(&smsc)["trouble"], Value::Null);
}
