//! Kills of the SMSC and of the broker: no command is lost, and none becomes two messages.

use crate::harness::dispatch::{Dispatch, commands};
use crate::harness::{Client, python_script, until};
use serde_json::Value;

use super::{by_recipient, count, exactly_once, smsc};

#[test]
fn a_kill_of_the_smsc_loses_no_command_and_doubles_none() {
    const EACH: usize = 400;
    const ROUNDS: usize = 3;
    let dispatch = Dispatch::start();
    // What the killed process had under way comes again after a second.
    let mut smsc = smsc(&dispatch, "ack_wait = '1s'");
    for round in 0..ROUNDS {
        let before = round * EACH;
        dispatch.publish_all(&commands(before..before + EACH));
        // In the middle of them.
        until("some of them", || {
            (by_recipient(&smsc.admin()).len() > before + EACH / 10).then_some(())
        });
        smsc.kill();
        smsc.start_again();
    }
    dispatch.wait_until_done();
    exactly_once(&smsc.admin(), 0..ROUNDS * EACH);
    assert!(dispatch.dead_letters().is_empty());
    let fsck = smsc.terminate();
    assert!(fsck.success());
}

#[test]
fn a_kill_between_answer_and_acknowledgement_sends_nothing_twice() {
    let dispatch = Dispatch::start();
    let keys = "operator = 'up'\nmode = 'operator'\nack_wait = '1s'";
    let mut scene = super::scene(&dispatch, keys);
    dispatch.publish_all(&commands(0..1));
    let submit = scene.take("theirs");
    assert_eq!(&submit.short_message[..], b"hello m-0");
    let admin = scene.smsc.admin();
    let listed = admin.get("/v1/messages");
    let id = listed["messages"][0]["id"].as_str().unwrap();
    scene.smsc.wait_until_sent(id);
    scene.kill_and_start_again();
    dispatch.wait_until_done();
    exactly_once(&admin, 0..1);
}

#[test]
fn a_broker_that_is_killed_and_comes_back_has_its_commands_taken() {
    let mut dispatch = Dispatch::start();
    let smsc = smsc(&dispatch, "ack_wait = '2s'");
    let admin = smsc.admin();
    dispatch.publish_all(&commands(0..50));
    dispatch.wait_until_done();
    dispatch.nats.kill9();
    let state = || admin.get("/v1/nats-sources/state")["sources"][0].clone();
    until("the source to be away", || {
        (state()["connected"] == false).then_some(())
    });
    assert!(state()["trouble"].is_string());
    dispatch.nats.restart();
    dispatch.publish_all(&commands(50..100));
    until("the source to be back", || {
        (state()["connected"] == true).then_some(())
    });
    dispatch.wait_until_done();
    exactly_once(&admin, 0..100);
    assert_eq!(count(&admin, "accepted"), 100.0);
}

/// By nats-py, which knows nothing of this project.
#[test]
fn a_publisher_of_others_is_understood() {
    let dispatch = Dispatch::start();
    let smsc = smsc(&dispatch, "");
    let url = dispatch.nats.url();
    let said: Value = Client::run(python_script("nats_publisher.py", &[&url, "20"]));
    assert_eq!(said["published"], 20);
    dispatch.wait_until_done();
    exactly_once(&smsc.admin(), 0..20);
}
