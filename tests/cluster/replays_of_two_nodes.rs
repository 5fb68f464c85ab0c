//! Two people replay the same messages at the same time, on two nodes: each message goes once.

use std::thread;

use serde_json::{Value, json};

use crate::harness::{Admin, Cluster, Peer, Simulator, submit, until};

const MESSAGES: u64 = 60;

/// Replays what was accepted before a time, Unix milliseconds.
fn replay(admin: &Admin, before: &str, dry_run: bool) -> Value {
    let order = json!({
        "filter": { "error": "11", "until": before },
        "rate": 100,
        "dry_run": dry_run,
    });
    let (status, report) = admin.call("POST", "/v1/messages/replay", Some(&order));
    assert_eq!(status, 200, "{report}");
    report
}

#[test]
fn what_two_nodes_replay_at_once_goes_once() {
    let operator = Simulator::new()
        .flags("--reject-percent 100 --reject-status ESME_RINVDSTADR --receipts none")
        .start();
    let cluster = Cluster::of_two(operator.address(), "");
    let mut esme = Peer::transmitter(cluster.nodes[0].smpp(), "test", "test");
    for n in 0..MESSAGES {
        esme.submit(submit(&format!("4477009{n:05}"), "hello"));
    }
    // What is sent again fails again, and does not fit then.
    let before = (smsc::clock::now_ms() + 1).to_string();
    until("all messages to fail", || {
        let report = replay(&cluster.nodes[0].admin(), &before, true);
        (report["matched"] == MESSAGES).then_some(())
    });
    let both = [0, 1].map(|place| {
        let (admin, before) = (cluster.nodes[place].admin(), before.clone());
        thread::spawn(move || replay(&admin, &before, false))
    });
    let reports = both.map(|one| one.join().unwrap());
    let replayed = |place: usize| reports[place]["replayed"].as_u64().unwrap();
    assert_eq!(replayed(0) + replayed(1), MESSAGES, "{reports:?}");
    assert_eq!(reports[0]["left"], 0, "{reports:?}");
    assert_eq!(reports[1]["left"], 0, "{reports:?}");
}
