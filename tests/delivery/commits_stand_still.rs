//! While nothing can be committed, little is sent: a crash then repeats no more than any other crash.
//!
//! `smsc load` has submitted thousands of messages to an operator that is down. Then the disk is really
//! full, or the database does not answer, and the operator comes back and answers at once. It gets no
//! more than one window and one commit, because the store knows none of these results. After SIGKILL,
//! and with space or the database back, each message ends once and its sender is notified.

use std::process::Command;
use std::time::Duration;

use crate::harness::{self, Cluster, Process, Simulator, Smsc, SmscBuilder, until, within};
use crate::history::{self, Findings, Sender, Stored};

const MESSAGES: usize = 6_000;
const WINDOW: usize = 100;
/// `store.batch_rows` and `postgres.batch_rows`.
const COMMIT_ROWS: usize = 1_024;
const COMMIT_ROWS_OF_POSTGRES: usize = 512;
/// The operator would accept everything within a fraction of this; shorter than the lease of a node.
const LOOKED_FOR: Duration = Duration::from_secs(2);
/// From the end of the fault to the last receipt; it takes a fraction.
const LIMIT: Duration = Duration::from_secs(180);

fn configured(smsc: SmscBuilder, operator: &Simulator) -> SmscBuilder {
    let keys = format!("binds = 1\nwindow = {WINDOW}");
    smsc.account_with("test", "test", "window = 500")
        .operator_with("up", operator.address(), &keys)
        .route("", "up")
}

/// Submits until everything is acknowledged and waits where it is sent from.
fn submit_all(smsc: &Smsc) -> Process {
    let mut command = Command::new(harness::binary());
    command
        .args(["load", "--host", &smsc.smpp().to_string()])
        .args(["--count", &MESSAGES.to_string(), "--settle", "150s"])
        .args(["--window", "100", "--resubmit", "on", "--journal"])
        .arg(smsc.file("load.journal"));
    let load = Process::start("smsc load", command, &smsc.file("load.log"));
    until("all messages to be acknowledged", || {
        let journal = std::fs::read(smsc.file("load.journal")).unwrap_or_default();
        let lines = journal.split(|octet| *octet == b'\n');
        let acknowledged = lines.filter(|line| line.starts_with(b"A\t")).count();
        (acknowledged == MESSAGES).then_some(())
    });
    // While a queue is divided, its node has it not, and messages wait in the database.
    until("all messages to wait in the queue", || {
        let queue = smsc.admin().get("/v1/queues/operator:up");
        (queue["waiting"] == MESSAGES).then_some(())
    });
    load
}

/// The operator is back, and gets no more than may be repeated.
fn assert_little_is_sent(operator: &mut Simulator, most: usize) {
    operator.start_again();
    operator.wait_for(1);
    within(LOOKED_FOR, || {
        let sent = operator.journal().len();
        assert!(
            sent <= most,
            "{sent} messages were sent, not {most} at most"
        );
        None::<()>
    });
}

fn walk(smsc: &Smsc, stored: &Stored, operator: &Simulator) -> Findings {
    smsc.assert_no_panic();
    let sender = Sender::read(&smsc.file("load.journal"));
    let found = history::check(stored, &sender, &operator.journal());
    println!("{found:?}");
    found
}

/// The load ends by itself when everything acknowledged has its receipt.
fn finish(mut load: Process) {
    within(LIMIT, || (!load.is_running()).then_some(()))
        .unwrap_or_else(|| panic!("receipts are missing after {LIMIT:?}"));
    assert!(load.wait().success(), "the load found losses");
}

#[test]
fn a_full_disk_makes_no_more_duplicates_than_a_crash() {
    let mut operator = Simulator::new();
    let mut smsc = configured(Smsc::new(), &operator)
        .on_a_small_disk(64)
        .start();
    let load = submit_all(&smsc);
    smsc.disk().fill();
    assert_little_is_sent(&mut operator, WINDOW + COMMIT_ROWS);
    let (status, text) = smsc.admin().text("/health/ready").unwrap();
    assert_eq!(status, 503, "{text}");
    smsc.kill();
    smsc.disk().empty();
    smsc.start_again();
    finish(load);
    smsc.terminate();
    smsc.fsck();
    let found = walk(&smsc, &Stored::embedded(&smsc), &operator);
    let most = WINDOW + COMMIT_ROWS;
    assert!(
        found.duplicates_by_us <= most,
        "more than {most}: {found:?}"
    );
}

#[test]
fn what_waited_for_space_is_written_when_there_is_some() {
    let mut operator = Simulator::new();
    let mut smsc = configured(Smsc::new(), &operator)
        .on_a_small_disk(64)
        .start();
    let load = submit_all(&smsc);
    smsc.disk().fill();
    assert_little_is_sent(&mut operator, WINDOW + COMMIT_ROWS);
    assert_eq!(smsc.admin().metric("smsc_store_stalled"), Some(1.0));
    smsc.disk().empty();
    finish(load);
    assert_eq!(smsc.admin().metric("smsc_store_stalled"), Some(0.0));
    smsc.terminate();
    smsc.fsck();
    let found = walk(&smsc, &Stored::embedded(&smsc), &operator);
    assert_eq!(found.duplicates_by_us, 0, "{found:?}");
}

#[test]
fn a_silent_database_makes_no_more_duplicates_than_a_crash() {
    let mut operator = Simulator::new();
    let address = operator.address();
    let keys = format!("binds = 1\nwindow = {WINDOW}");
    let mut cluster = Cluster::of(1)
        .usual_lease()
        .each(move |smsc| {
            smsc.account_with("test", "test", "window = 500")
                .operator_with("up", address, &keys)
                .route("", "up")
        })
        .start();
    let load = submit_all(&cluster.nodes[0]);
    cluster.postgres.freeze();
    assert_little_is_sent(&mut operator, WINDOW + COMMIT_ROWS_OF_POSTGRES);
    cluster.nodes[0].kill();
    cluster.postgres.thaw();
    cluster.nodes[0].start_again();
    finish(load);
    cluster.nodes[0].terminate();
    let stored = Stored::shared(&cluster.postgres.url());
    let found = walk(&cluster.nodes[0], &stored, &operator);
    let most = WINDOW + COMMIT_ROWS_OF_POSTGRES;
    assert!(
        found.duplicates_by_us <= most,
        "more than {most}: {found:?}"
    );
}
