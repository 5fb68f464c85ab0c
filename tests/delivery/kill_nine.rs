//! A process that is killed at full load loses nothing it has acknowledged.
//!
//! `smsc load` sends as fast as the windows allow while the SMSC is killed with SIGKILL and started
//! again, five times. After the drain every acknowledged message is in exactly one final state, its
//! sender has been notified, and the operator has it. Duplicates are counted: at each kill at most the
//! windows in flight and one commit batch.

use crate::history;
use std::process::Command;
use std::time::Duration;

use crate::harness::{self, Process, Simulator, Smsc, within};

const KILLS: usize = 5;
const BINDS: usize = 2;
const WINDOW: usize = 250;
const SENDER_BINDS: usize = 4;
const SENDER_WINDOW: usize = 100;
const RECEIPT_WINDOW: usize = 500;
const COMMIT_BATCH: usize = 1024;
const MESSAGES: usize = 60_000;
/// From start to the last receipt, with all restarts; even a busy machine takes a fraction of it.
const LIMIT: Duration = Duration::from_secs(300);

fn smsc(operator: &Simulator) -> Smsc {
    Smsc::new()
        .account_with("test", "test", &format!("window = {RECEIPT_WINDOW}"))
        .operator_with(
            "up",
            operator.address(),
            &format!("binds = {BINDS}\nwindow = {WINDOW}"),
        )
        .route("", "up")
        .start()
}

fn load(smsc: &Smsc) -> Process {
    let mut command = Command::new(harness::binary());
    command
        .args(["load", "--host", &smsc.smpp().to_string()])
        .args(["--binds", &SENDER_BINDS.to_string()])
        .args(["--window", &SENDER_WINDOW.to_string(), "--resubmit", "on"])
        .args(["--count", &MESSAGES.to_string(), "--settle", "60s"])
        .args(["--rate", "6000"])
        .arg("--journal")
        .arg(smsc.file("load.journal"));
    Process::start("smsc load", command, &smsc.file("load.log"))
}

/// Lines of the load's journal so far.
fn acknowledged(smsc: &Smsc) -> usize {
    std::fs::read(smsc.file("load.journal"))
        .map(|text| text.iter().filter(|octet| **octet == b'\n').count())
        .unwrap_or(0)
}

#[test]
fn pain_01_killed_five_times_at_full_load() {
    let operator = Simulator::new().start();
    let mut smsc = smsc(&operator);
    let mut load = load(&smsc);
    for kill in 1..=KILLS {
        wait_for_traffic(&smsc, kill);
        assert!(load.is_running(), "the load ended before kill {kill}");
        smsc.kill();
        smsc.start_again();
    }
    finish(&mut load);
    let found = checked(&mut smsc, &operator);
    let bound = KILLS * (BINDS * WINDOW + COMMIT_BATCH);
    assert!(
        found.duplicates_by_us <= bound,
        "more than {bound}: {found:?}"
    );
    let lost_answers = KILLS * SENDER_BINDS * SENDER_WINDOW;
    assert!(
        found.sent_again <= lost_answers,
        "more than {lost_answers}: {found:?}"
    );
    let unconfirmed = KILLS * (SENDER_BINDS * RECEIPT_WINDOW + COMMIT_BATCH);
    assert!(
        found.repeated_receipts <= unconfirmed,
        "more than {unconfirmed}: {found:?}"
    );
    assert_eq!(found.acknowledged, MESSAGES);
}

#[test]
fn the_operator_is_dead_for_the_whole_load_and_comes_back() {
    let mut operator = Simulator::new();
    let mut smsc = smsc(&operator);
    let mut load = load(&smsc);
    for kill in 1..=KILLS {
        wait_for_traffic(&smsc, kill);
        smsc.kill();
        smsc.start_again();
    }
    within(LIMIT, || (acknowledged(&smsc) >= MESSAGES).then_some(())).expect("all acknowledged");
    operator.start_again();
    finish(&mut load);
    let found = checked(&mut smsc, &operator);
    assert_eq!(
        found.duplicates_by_us, 0,
        "nothing was in flight at a kill: {found:?}"
    );
    assert_eq!(found.acknowledged, MESSAGES);
}

/// More is acknowledged, so that this kill is one at full load.
fn wait_for_traffic(smsc: &Smsc, kill: usize) {
    let before = acknowledged(smsc);
    within(Duration::from_secs(60), || {
        (acknowledged(smsc) > before + 4_000).then_some(())
    })
    .unwrap_or_else(|| panic!("no traffic before kill {kill}"));
}

/// Stops it, and compares what it stored with what was sent and what the operator got.
fn checked(smsc: &mut Smsc, operator: &Simulator) -> history::Findings {
    smsc.terminate();
    smsc.assert_no_panic();
    smsc.fsck();
    let sender = history::Sender::read(&smsc.file("load.journal"));
    let stored = history::Stored::embedded(smsc);
    let found = history::check(&stored, &sender, &operator.journal());
    println!("{found:?}");
    found
}

/// The load ends by itself when everything acknowledged has its receipt.
fn finish(load: &mut Process) {
    within(LIMIT, || (!load.is_running()).then_some(()))
        .unwrap_or_else(|| panic!("receipts are missing after {LIMIT:?}"));
    assert!(load.wait().success(), "the load found losses");
}
