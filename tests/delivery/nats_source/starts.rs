//! Where a consumer begins that is not there: behind what was taken of its stream, and on an old stream as `start` says.
//!
//! Commands that come again are recognised by their ids for as long as those are kept, so what shows that they do not come is
//! that none is counted as repeated.

use crate::harness::dispatch::{Dispatch, commands};
use crate::harness::{Admin, until};

use super::{count, exactly_once, smsc};

/// Waits until so many commands were accepted by this process, and checks that none came again.
fn accepted(dispatch: &Dispatch, admin: &Admin, commands: f64) {
    until(&format!("{commands} commands to be accepted"), || {
        (count(admin, "accepted") >= commands).then_some(())
    });
    dispatch.wait_until_done();
    assert_eq!(count(admin, "accepted"), commands);
    assert_eq!(count(admin, "repeated"), 0.0, "commands came again");
}

/// Waits until the store knows that the commands up to this one are done with.
fn noted(admin: &Admin, sequence: u64) {
    until("the mark of the last command", || {
        let state = &admin.get("/v1/nats-sources/state")["sources"][0];
        (state["done_up_to"] == sequence).then_some(())
    });
}

#[test]
fn a_consumer_that_was_deleted_begins_behind_what_was_taken() {
    let dispatch = Dispatch::start();
    let mut smsc = smsc(&dispatch, "");
    dispatch.publish_all(&commands(0..20));
    accepted(&dispatch, &smsc.admin(), 20.0);
    noted(&smsc.admin(), 20);
    assert!(smsc.terminate().success());
    dispatch.delete_consumer();
    dispatch.publish_all(&commands(20..22));
    smsc.start_again();
    accepted(&dispatch, &smsc.admin(), 2.0);
    exactly_once(&smsc.admin(), 0..22);
}

#[test]
fn a_consumer_that_was_renamed_begins_behind_what_was_taken() {
    let dispatch = Dispatch::start();
    let mut smsc = smsc(&dispatch, "consumer = 'before'");
    dispatch.publish_all(&commands(0..20));
    noted(&smsc.admin(), 20);
    assert!(smsc.terminate().success());
    let file = smsc.config().replace("consumer = 'before'", "");
    smsc.set_config(&file);
    smsc.start_again();
    smsc.apply();
    dispatch.consumer();
    dispatch.publish_all(&commands(20..22));
    accepted(&dispatch, &smsc.admin(), 2.0);
    exactly_once(&smsc.admin(), 0..22);
}

#[test]
fn a_stream_that_was_made_anew_is_taken_from_its_beginning() {
    let dispatch = Dispatch::start();
    let mut smsc = smsc(&dispatch, "start = 'new'");
    dispatch.consumer();
    dispatch.publish_all(&commands(0..5));
    accepted(&dispatch, &smsc.admin(), 5.0);
    assert!(smsc.terminate().success());
    dispatch.make_anew();
    dispatch.publish_all(&commands(5..8));
    smsc.start_again();
    accepted(&dispatch, &smsc.admin(), 3.0);
    exactly_once(&smsc.admin(), 0..8);
}

#[test]
fn a_stream_that_is_made_later_is_taken_from_its_beginning() {
    let dispatch = Dispatch::start();
    dispatch.delete_stream();
    let smsc = smsc(&dispatch, "start = 'new'");
    until("the source to miss its stream", || {
        let state = &smsc.admin().get("/v1/nats-sources/state")["sources"][0];
        let trouble = state["trouble"].as_str().unwrap_or_default();
        trouble.contains("stream not found").then_some(())
    });
    dispatch.make_stream();
    // All of them are there before the source looks again, which it does every second.
    dispatch.publish_all(&commands(0..3));
    dispatch.consumer();
    accepted(&dispatch, &smsc.admin(), 3.0);
    exactly_once(&smsc.admin(), 0..3);
}

#[test]
fn on_an_old_stream_the_first_consumer_begins_as_it_is_told() {
    for (start, taken) in [
        ("new", 0),
        ("all", 3),
        ("2001-01-01T00:00:00Z", 3),
        ("2999-01-01T00:00:00Z", 0),
    ] {
        let dispatch = Dispatch::start();
        dispatch.publish_all(&commands(0..3));
        let smsc = smsc(&dispatch, &format!("start = '{start}'"));
        dispatch.consumer();
        if start.starts_with("2999") {
            assert_eq!(dispatch.consumer().num_pending, 0);
            continue;
        }
        dispatch.publish_all(&commands(3..5));
        accepted(&dispatch, &smsc.admin(), f64::from(taken + 2));
        exactly_once(&smsc.admin(), 3 - taken as usize..5);
    }
}
