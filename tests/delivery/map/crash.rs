//! The process dies under load while messages to handsets are under way over MAP: nothing that it acknowledged is lost.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::{MapTown, SHORT_TIMERS, SOON, all_of, configured, until_active};
use crate::harness::map::{MSC, MapNetwork, Stp, map_subscriber};
use crate::harness::{self, JournalLine, Peer, Process, Smsc, submit, until, within};
use crate::history;

const KILLS: usize = 3;
const SUBSCRIBERS: usize = 50;
const MESSAGES: usize = 3_000;
const SENDER_BINDS: usize = 2;
const SENDER_WINDOW: usize = 50;
/// Results that may not be durable yet: of each subscriber, what is under way and what was just answered.
const AGAIN: usize = 2;
/// From start to the last receipt, with all restarts.
const LIMIT: Duration = Duration::from_secs(300);

fn load(smsc: &Smsc) -> Process {
    let mut command = Command::new(harness::binary());
    let (first, _) = map_subscriber(0);
    command
        .args(["load", "--host", &smsc.smpp().to_string()])
        .args(["--binds", &SENDER_BINDS.to_string()])
        .args(["--window", &SENDER_WINDOW.to_string(), "--resubmit", "on"])
        .args(["--count", &MESSAGES.to_string(), "--settle", "120s"])
        .args(["--destinations", &format!("{first}+{SUBSCRIBERS}")])
        .args(["--rate", "400"])
        .arg("--journal")
        .arg(smsc.file("load.journal"));
    Process::start("smsc load", command, &smsc.file("load.log"))
}

/// What the handsets have taken, as the history checker wants it.
fn taken(network: &MapNetwork) -> Vec<JournalLine> {
    let messages = network.messages(None).into_iter();
    let line = |message: harness::map::MapMessage| JournalLine {
        id: String::new(),
        destination: message.imsi,
        text: message.text,
        reference: None,
    };
    messages
        .filter(|one| one.outcome == "ok")
        .map(line)
        .collect()
}

#[test]
fn killed_under_load_nothing_that_was_acknowledged_is_lost() {
    let stp = Stp::start();
    let network = MapNetwork::start(&[stp.m3ua()]);
    network.subscribers(SUBSCRIBERS);
    let keys = format!("window = 40\n{SOON}");
    let mut smsc = configured(Smsc::new(), &[stp.m3ua()], &keys, SHORT_TIMERS).start();
    until_active(&smsc, &[stp.m3ua()]);
    let mut load = load(&smsc);
    for kill in 1..=KILLS {
        let before = network.count("delivered");
        network.wait_for_count("delivered", before + 300);
        assert!(load.is_running(), "the load ended before kill {kill}");
        smsc.kill();
        smsc.start_again();
    }
    within(LIMIT, || (!load.is_running()).then_some(()))
        .unwrap_or_else(|| panic!("receipts are missing after {LIMIT:?}"));
    assert!(load.wait().success(), "the load found losses");
    smsc.terminate();
    smsc.assert_no_panic();
    smsc.fsck();
    let sender = history::Sender::read(&smsc.file("load.journal"));
    let stored = history::Stored::embedded(&smsc);
    let found = history::check(&stored, &sender, &taken(&network));
    println!("{found:?}");
    assert_eq!(found.acknowledged, MESSAGES);
    assert!(
        found.duplicates_by_us <= KILLS * SUBSCRIBERS * AGAIN,
        "{found:?}"
    );
    assert!(
        found.sent_again <= KILLS * SENDER_BINDS * SENDER_WINDOW,
        "{found:?}"
    );
    assert_eq!(network.count("overlaps"), 0);
    network.assert_content();
}

#[test]
fn killed_in_the_middle_of_runs_each_subscriber_gets_all_in_order() {
    const SOME: usize = 20;
    const EACH: usize = 10;
    let mut town = MapTown::start(&format!("window = 10\n{SOON}"), SHORT_TIMERS);
    town.network.subscribers(SOME);
    town.network.node(MSC, json!({ "delay": 0.02 }));
    let mut expected = vec![Vec::new(); SOME];
    let mut esme = town.esme();
    for at in 0..SOME * EACH {
        let text = format!("number {at}");
        let (number, _) = map_subscriber(at % SOME);
        esme.submit(submit(&number, &text));
        expected[at % SOME].push(text);
    }
    for kill in 1..=KILLS {
        town.network
            .wait_for_count("delivered", (kill * SOME) as u64);
        town.smsc.kill();
        town.smsc.start_again();
        town.until_active();
    }
    for (subscriber, texts) in expected.iter().enumerate() {
        let (_, imsi) = map_subscriber(subscriber);
        let got = all_of(&town.network, &imsi, texts);
        assert!(got.len() <= texts.len() + AGAIN * KILLS, "{imsi}: {got:?}");
        let mut first = Vec::new();
        for text in got {
            if !first.contains(&text) {
                first.push(text);
            }
        }
        assert_eq!(&first, texts, "{imsi}");
    }
    assert_eq!(town.network.count("overlaps"), 0);
    town.assert_content(&["number 0"]);
}

#[test]
fn what_waited_before_a_kill_goes_out_in_order_when_the_subscriber_is_there() {
    let mut town = MapTown::start(super::NEVER, "");
    let (number, imsi) = town
        .network
        .subscriber(1, json!({ "forward": ["absent:1"] }));
    let mut esme = Peer::bind(town.smsc.smpp(), "test", "test");
    let texts = super::numbered(10);
    let ids: Vec<String> = (texts.iter())
        .map(|text| esme.submit(submit(&number, text)))
        .collect();
    town.network.wait_for_report(&number, "absentSubscriber");
    until("all of them to wait, in the store too", || {
        let is_due_later = |id: &String| !town.message(id)["due_at"].is_null();
        ids.iter().all(is_due_later).then_some(())
    });
    town.smsc.kill();
    town.smsc.start_again();
    town.until_active();
    assert_eq!(town.network.release(&number).len(), 1);
    assert_eq!(all_of(&town.network, &imsi, &texts), texts);
    town.assert_content(&["number 0", "number 9"]);
}
