//! The process dies while messages to handsets are under way.

use std::collections::HashMap;

use super::{NEVER, all_of, message, serving, subscriber};
use crate::harness::{FakeCore, Peer, submit, until};
use smsc::gsm_core::Phone;

/// Messages of one subscriber that may come again after a kill.
const AGAIN: usize = 1;

#[test]
fn killed_in_the_middle_nothing_is_lost_and_little_comes_twice() {
    const SUBSCRIBERS: usize = 20;
    const MESSAGES: usize = 200;
    let core = FakeCore::slow("5ms..30ms");
    let smsc = serving(core.address(), "window = 10\nretry = { delays = [\"1s\"] }");
    let mut smsc = smsc.start();
    core.wait_for_connections(1);
    let absent: Vec<String> = (0..3).map(|at| subscriber(at).1).collect();
    for imsi in &absent {
        core.set(imsi, Phone::Away(0x0A));
    }
    let mut expected: HashMap<String, Vec<String>> = HashMap::new();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for at in 0..MESSAGES {
        let (number, imsi) = subscriber(at % SUBSCRIBERS);
        let text = format!("number {at}");
        esme.submit(submit(&number, &text));
        expected.entry(imsi).or_default().push(text);
    }
    for kill in 1..=3 {
        until("some of them to arrive", || {
            (core.phones().counts().0 as usize > kill * 20).then_some(())
        });
        smsc.kill();
        until("the end of its connection", || {
            core.phones().connected().is_empty().then_some(())
        });
        smsc.start_again();
        core.wait_for_connections(1);
    }
    let present = expected.iter().filter(|(imsi, _)| !absent.contains(*imsi));
    for (imsi, texts) in present {
        check(&core, imsi, texts, 3);
    }
    for imsi in &absent {
        core.set(imsi, Phone::Here);
    }
    for imsi in &absent {
        // What had been set to wait without that being durable at a kill may have come first.
        let mut got = all_of(&core, imsi, &expected[imsi]);
        let mut texts = expected[imsi].clone();
        got.sort();
        texts.sort();
        assert_eq!(got, texts, "{imsi}");
    }
    assert_eq!(core.phones().overlaps(), 0);
}

/// Everything has come, in order. What was under way at a kill, or had arrived without a durable result, comes again.
fn check(core: &FakeCore, imsi: &str, texts: &[String], kills: usize) {
    let got = all_of(core, imsi, texts);
    let again = got.len() - texts.len();
    assert!(again <= AGAIN * kills, "{imsi}: {got:?}");
    let mut first = Vec::new();
    for text in got {
        if !first.contains(&text) {
            first.push(text);
        }
    }
    assert_eq!(first, texts, "{imsi}");
}

#[test]
fn what_waited_before_a_kill_goes_out_in_order_when_the_subscriber_is_there() {
    waits_over_a_kill(NEVER, |core, imsi| core.phones().ready(imsi, 1));
}

#[test]
fn what_waited_before_a_kill_goes_out_in_order_when_it_is_due() {
    // None of them is due before the kill.
    waits_over_a_kill("retry = { delays = [\"15s\"] }", |_, _| {});
}

/// Ten messages wait for a subscriber, the process is killed, and the subscriber is there again.
fn waits_over_a_kill(keys: &str, say: impl Fn(&FakeCore, &str)) {
    let core = FakeCore::start();
    let mut smsc = serving(core.address(), keys).start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (number, imsi) = subscriber(1);
    core.set(&imsi, Phone::Away(0x0A));
    let texts: Vec<String> = (0..10).map(|at| format!("number {at}")).collect();
    let ids: Vec<String> = (texts.iter())
        .map(|text| esme.submit(submit(&number, text)))
        .collect();
    until("all of them to wait, in the store too", || {
        let is_due_later = |id: &String| !message(&smsc, id)["due_at"].is_null();
        ids.iter().all(is_due_later).then_some(())
    });
    smsc.kill();
    until("the end of its connection", || {
        core.phones().connected().is_empty().then_some(())
    });
    smsc.start_again();
    core.wait_for_connections(1);
    core.set(&imsi, Phone::Here);
    say(&core, &imsi);
    assert_eq!(all_of(&core, &imsi, &texts), texts);
}
