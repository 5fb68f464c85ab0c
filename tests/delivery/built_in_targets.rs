//! Messages of the built-in targets end with their answer: a kill leaves none without a final state, and every sender
//! is told.

use std::process::Command;
use std::time::Duration;

use crate::harness::{self, Process, Smsc, within};
use crate::history;

const KILLS: usize = 8;
const MESSAGES: usize = 60_000;
/// Even a busy machine takes a fraction of it.
const LIMIT: Duration = Duration::from_secs(200);

fn load(smsc: &Smsc) -> Process {
    let mut command = Command::new(harness::binary());
    command
        .args(["load", "--host", &smsc.smpp().to_string()])
        .args(["--binds", "2", "--window", "500", "--resubmit", "on"])
        .args(["--count", &MESSAGES.to_string(), "--rate", "15000"])
        .args(["--settle", "30s", "--destinations", "4477000+200"])
        .arg("--journal")
        .arg(smsc.file("load.journal"));
    Process::start("smsc load", command, &smsc.file("load.log"))
}

fn acknowledged(smsc: &Smsc) -> usize {
    let journal = std::fs::read(smsc.file("load.journal")).unwrap_or_default();
    journal.iter().filter(|octet| **octet == b'\n').count()
}

#[test]
fn a_kill_leaves_no_message_without_an_end() {
    let mut smsc = Smsc::new()
        .account_with("test", "test", "window = 500")
        .route("", "test:delivered")
        .route("44770001", "test:failed")
        .start();
    let mut load = load(&smsc);
    for _ in 0..KILLS {
        let before = acknowledged(&smsc);
        within(LIMIT, || {
            (acknowledged(&smsc) > before + 3_000).then_some(())
        })
        .expect("traffic before a kill");
        smsc.kill();
        smsc.start_again();
    }
    within(LIMIT, || (!load.is_running()).then_some(())).expect("all are told");
    assert!(load.wait().success(), "the load found losses");
    smsc.terminate();
    smsc.assert_no_panic();
    smsc.fsck();
    let sender = history::Sender::read(&smsc.file("load.journal"));
    assert_eq!(sender.accepted.len(), MESSAGES);
    let untold = sender.accepted.keys();
    let untold: Vec<_> = untold
        .filter(|id| !sender.receipts.contains_key(id))
        .collect();
    assert!(untold.is_empty(), "{} are not told", untold.len());
}
