//! `mode = "operator"`: acknowledged when the operator has answered, and back to the stream above its rate or without a bind.

use std::time::{Duration, Instant};

use crate::harness::dispatch::{Dispatch, command, commands};
use crate::harness::{FakeOperator, Scene, Simulator, Smsc, accept, answer, next_submit, until};
use smsc::smpp::CommandStatus;

use super::{count, exactly_once};

const MODE: &str = "operator = 'up'\nmode = 'operator'";

fn millis() -> i64 {
    smsc::clock::now_ms()
}

#[test]
fn a_command_is_acknowledged_when_the_operator_has_answered() {
    let dispatch = Dispatch::start();
    // Much shorter than the operator takes: the SMSC must ask for more time. It asks every third of that, so that the
    // server hears of it in time although a busy machine stands still for a while.
    let source = dispatch.source(&format!("{MODE}\nack_wait = '8s'"));
    let mut scene = Scene::with("response_timeout = \"5m\"", |smsc| smsc.toml(&source));
    dispatch.publish_all(&commands(0..2));
    let (first, _) = next_submit(&mut scene.bind);
    let (second, _) = next_submit(&mut scene.bind);
    let sent = Instant::now();
    let admin = scene.smsc.admin();
    until("more than twice the wait", || {
        (sent.elapsed() > Duration::from_secs(20)).then_some(())
    });
    let waits = dispatch.consumer();
    assert_eq!(waits.num_ack_pending, 2, "stored, and not acknowledged");
    assert_eq!(waits.num_redelivered, 0, "it has asked for more time");
    assert_eq!(count(&admin, "accepted"), 0.0);
    accept(&mut scene.bind, first, "a");
    // A refusal is an answer, too: the message has ended here.
    answer(&mut scene.bind, second, CommandStatus::ESME_RINVDSTADR, "");
    dispatch.wait_until_done();
    assert_eq!(count(&admin, "accepted"), 2.0);
    exactly_once(&admin, 0..2);
}

#[test]
fn each_part_of_a_long_text_is_waited_for() {
    let dispatch = Dispatch::start();
    let mut scene = super::scene(&dispatch, MODE);
    let mut long = command("long", "447700900123");
    long["text"] = "a".repeat(200).into();
    dispatch.publish(&long);
    let (first, _) = next_submit(&mut scene.bind);
    let (second, _) = next_submit(&mut scene.bind);
    accept(&mut scene.bind, first, "a");
    until("the answer of the first part", || {
        let queue = scene.smsc.admin().get("/v1/queues/operator:up");
        (queue["in_flight"] == 1).then_some(())
    });
    assert_eq!(dispatch.consumer().num_ack_pending, 1);
    accept(&mut scene.bind, second, "b");
    dispatch.wait_until_done();
}

#[test]
fn without_a_bind_a_command_goes_back_and_is_sent_once_there_is_one() {
    let dispatch = Dispatch::start();
    let mut operator = Simulator::new();
    let smsc = Smsc::new()
        .relaying_to(operator.address())
        .toml(&dispatch.source(MODE))
        .start();
    dispatch.publish_all(&commands(0..3));
    let admin = smsc.admin();
    until("commands to go back twice", || {
        (count(&admin, "delayed") >= 6.0).then_some(())
    });
    assert_eq!(count(&admin, "accepted"), 0.0);
    assert!(super::by_recipient(&admin).is_empty(), "nothing is stored");
    operator.start_again();
    dispatch.wait_until_done();
    assert_eq!(operator.wait_for(3).len(), 3);
    exactly_once(&admin, 0..3);
}

/// The test that smpp-connector demands. Commands that need longer than their second to be taken prove nothing: then it
/// is begun anew, with the next hundred and ten.
#[test]
fn of_110_commands_in_a_second_exactly_10_go_back_and_are_sent_later() {
    const LIMIT: usize = 100;
    const MORE: usize = 10;
    let dispatch = Dispatch::start();
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with(
            "up",
            operator.address(),
            &format!("rate = {LIMIT}\nwindow = 1000"),
        )
        .route("", "up")
        // In the second after, so that each goes back once.
        .toml(&dispatch.source(&format!("{MODE}\nnak_delay = '1s'")))
        .start();
    let mut bind = operator.accept_bind();
    smsc.wait_for_binds("up", 1);
    let admin = smsc.admin();
    dispatch.consumer();
    let answering = std::thread::spawn(move || {
        let mut sent = Vec::new();
        while let Ok(pdu) = bind.next(Duration::from_secs(20)) {
            if let smsc::smpp::Body::SubmitSm(submit) = pdu.body {
                sent.push(submit.destination_addr.to_vec());
                accept(&mut bind, pdu.sequence, &sent.len().to_string());
            }
        }
        sent
    });
    let accepted = || admin.metric("smsc_messages_accepted_total").unwrap_or(0.0);
    let mut published = 0;
    let is_shown = (0..20).any(|_| {
        let (before, stored) = (count(&admin, "delayed"), accepted());
        let bodies = commands(published..published + LIMIT + MORE);
        published += LIMIT + MORE;
        // At the start of a second.
        until("the start of a second", || {
            (millis() % 1_000 < 40).then_some(())
        });
        let second = millis() / 1_000;
        dispatch.publish_all(&bodies);
        until("all of them to be judged", || {
            let judged = accepted() - stored + count(&admin, "delayed") - before;
            (judged >= (LIMIT + MORE) as f64).then_some(())
        });
        let in_time = millis() / 1_000 == second;
        dispatch.wait_until_done();
        let went_back = count(&admin, "delayed") - before;
        println!("{went_back} went back, in one second: {in_time}");
        if in_time {
            assert_eq!(went_back, MORE as f64);
        }
        in_time
    });
    assert!(
        is_shown,
        "this machine is too slow for 110 commands in a second"
    );
    exactly_once(&admin, 0..published);
    drop(smsc);
    let mut sent = answering.join().unwrap();
    sent.sort();
    sent.dedup();
    assert_eq!(sent.len(), published, "each was sent");
}
