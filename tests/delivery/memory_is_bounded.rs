//! Data beyond the memory limits goes to the index file and comes back: a long queue and many awaited
//! receipts lose nothing and repeat nothing.

use crate::history;
use std::process::Command;
use std::time::Duration;

use crate::harness::{self, Process, Simulator, Smsc, until, within};

const LIMIT: Duration = Duration::from_secs(200);

fn load(smsc: &Smsc, flags: &str) -> Process {
    let mut command = Command::new(harness::binary());
    command
        .args(["load", "--host", &smsc.smpp().to_string()])
        .args(["--binds", "2", "--window", "100", "--settle", "60s"])
        .args(flags.split_whitespace())
        .arg("--journal")
        .arg(smsc.file("load.journal"));
    Process::start("smsc load", command, &smsc.file("load.log"))
}

fn finish(load: &mut Process) {
    within(LIMIT, || (!load.is_running()).then_some(()))
        .unwrap_or_else(|| panic!("receipts are missing after {LIMIT:?}"));
    assert!(load.wait().success(), "the load found losses");
}

#[test]
fn a_queue_longer_than_its_memory_is_delivered_once() {
    const MESSAGES: usize = 40_000;
    let mut operator = Simulator::new();
    let mut smsc = Smsc::new()
        .account_with("test", "test", "window = 500")
        .operator_with("up", operator.address(), "window = 250")
        .route("", "up")
        .toml("[queue]\nmemory_items = 10000\npage = 256")
        .start();
    let mut load = load(&smsc, &format!("--count {MESSAGES}"));
    let queue = || smsc.admin().try_get("/v1/queues/operator:up").ok();
    until("all of them to wait, most of them spilled", || {
        let queue = queue()?;
        let waiting = queue["waiting"].as_u64()?;
        (waiting >= MESSAGES as u64 && queue["spilled"].as_u64()? >= 20_000).then_some(())
    });
    operator.start_again();
    finish(&mut load);
    smsc.terminate();
    smsc.assert_no_panic();
    smsc.fsck();
    let journal = operator.journal();
    let found = history::check(
        &history::Stored::embedded(&smsc),
        &history::Sender::read(&smsc.file("load.journal")),
        &journal,
    );
    assert_eq!(found.acknowledged, MESSAGES, "{found:?}");
    assert_eq!(
        (found.duplicates_by_us, found.repeated_receipts),
        (0, 0),
        "{found:?}"
    );
    assert_eq!(found.sent_again, 0, "{found:?}");
}

#[test]
fn more_awaited_receipts_than_memory_find_their_messages() {
    const MESSAGES: usize = 12_000;
    // Longer than it takes to submit more messages than the memory holds.
    let operator = Simulator::new().flags("--receipt-delay 15s").start();
    let mut smsc = Smsc::new()
        .account_with("test", "test", "window = 500")
        .operator_with("up", operator.address(), "window = 250")
        .route("", "up")
        .toml("[correlation]\nmemory = 2000\ncache = 500")
        .start();
    let mut load = load(&smsc, &format!("--count {MESSAGES}"));
    until("some of them in the index file", || {
        (smsc.admin().metric("smsc_correlations_spilled")? > 1000.0).then_some(())
    });
    finish(&mut load);
    assert_eq!(smsc.admin().metric("smsc_receipts_parked"), Some(0.0));
    smsc.terminate();
    smsc.assert_no_panic();
    let found = history::check(
        &history::Stored::embedded(&smsc),
        &history::Sender::read(&smsc.file("load.journal")),
        &operator.journal(),
    );
    assert_eq!(found.acknowledged, MESSAGES, "{found:?}");
    assert_eq!(
        (found.duplicates_by_us, found.repeated_receipts),
        (0, 0),
        "{found:?}"
    );
    assert_eq!(found.sent_again, 0, "{found:?}");
}
