//! The process dies while messages to handsets are under way.

use std::collections::HashMap;
use std::time::Duration;

use super::{serving, subscriber};
use crate::harness::{FakeCore, PATIENCE, Peer, submit, until, within};
use smsc::gsm_core::Phone;

#[test]
fn killed_in_the_middle_nothing_is_lost_and_at_most_one_comes_twice_to_each_subscriber() {
    const SUBSCRIBERS: usize = 20;
    const MESSAGES: usize = 200;
    let core = FakeCore::slow("5ms..30ms");
    let mut smsc = serving(core.address(), "window = 10").start();
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
        // What has just been read from the store is tried by itself; the network may say it, too.
        within(PATIENCE, || {
            core.phones().ready(imsi, 1);
            let all = core.phones().delivered(imsi).len() >= expected[imsi].len();
            std::thread::sleep(Duration::from_millis(50));
            all.then_some(())
        });
    }
    assert_eq!(core.phones().overlaps(), 0);
}

/// Everything has come, in order, and no more than one again for each kill.
fn check(core: &FakeCore, imsi: &str, texts: &[String], kills: usize) {
    until(&format!("everything at {imsi}"), || {
        let got = core.texts(imsi);
        texts.iter().all(|text| got.contains(text)).then_some(())
    });
    let mut got = core.texts(imsi);
    assert!(got.len() <= texts.len() + kills, "{imsi}: {got:?}");
    got.dedup();
    assert_eq!(got, texts, "{imsi}");
}
