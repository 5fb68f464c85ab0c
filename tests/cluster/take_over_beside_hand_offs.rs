//! While a node reads the partitions that it takes over, everything else of it goes on.

use std::thread;

use serde_json::json;

use crate::harness::{Cluster, Peer, PrivatePostgres, Simulator, submit, until};

const MESSAGES: usize = 20;
/// The node of the ESMEs, and the one that delivers.
const ENTRY: usize = 0;
const DELIVERY: usize = 1;

/// Holds a lock that every reading of active messages waits for, until [`release`].
fn hold_up_readings(postgres: &PrivatePostgres) -> thread::JoinHandle<()> {
    let url = format!("{}?application_name=holding", postgres.url());
    let holding = thread::spawn(move || {
        let sql = "BEGIN; LOCK TABLE change IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3600)";
        // It ends by being terminated.
        let _ = std::panic::catch_unwind(|| crate::harness::execute(&url, sql));
    });
    until("the lock", || {
        let held = "SELECT 1 FROM pg_locks WHERE relation = 'change'::regclass AND granted
                    AND mode = 'AccessExclusiveLock'";
        (!postgres.rows(held).is_empty()).then_some(())
    });
    holding
}

fn release(postgres: &PrivatePostgres) {
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE application_name = 'holding'";
    postgres.rows(end);
}

/// How many partitions of a queue a node has, as it reports them.
fn partitions(cluster: &Cluster, queue: &str) -> u64 {
    let answer = cluster.nodes[ENTRY].admin().get("/v1/nodes");
    let nodes = answer["nodes"].as_array().unwrap().iter();
    let queues = nodes.flat_map(|node| node["queues"].as_array().unwrap());
    let of_queue = queues.filter(|share| share["queue"] == queue);
    of_queue
        .filter_map(|share| share["partitions"].as_u64())
        .sum()
}

#[test]
fn receipts_of_other_accounts_arrive_while_a_queue_is_read() {
    let operator = Simulator::new().start();
    let address = operator.address();
    let cluster = Cluster::of(2)
        .roles(ENTRY, &["smpp", "http"])
        .roles(DELIVERY, &["delivery", "http", "janitor"])
        .each(move |smsc| {
            smsc.account("test", "test")
                .operator("up", address)
                .route("", "up")
        })
        .start();
    cluster.nodes[DELIVERY].wait_for_binds("up", 1);
    let mut esme = Peer::bind(cluster.nodes[ENTRY].smpp(), "test", "test");
    let mut all_arrive = |text: &str| {
        for number in 0..MESSAGES {
            esme.submit(submit(&format!("4477009{number:05}"), text));
            esme.deliver();
        }
    };
    // Their partitions have been read then, one group after another.
    all_arrive("before");

    let holding = hold_up_readings(&cluster.postgres);
    // Its queue is new, and the entry begins to read it.
    let added = cluster.nodes[ENTRY].admin().put(
        "/v1/accounts/late",
        &json!({ "system_id": "late", "password": "late" }),
    );
    assert!(added.status < 300, "{added:?}");
    until("the entry to claim the queue", || {
        (partitions(&cluster, "account:late") == 1).then_some(())
    });
    until("a reading that waits", || {
        let waiting = "SELECT 1 FROM pg_locks WHERE relation = 'change'::regclass AND NOT granted";
        (!cluster.postgres.rows(waiting).is_empty()).then_some(())
    });
    all_arrive("meanwhile");
    release(&cluster.postgres);
    holding.join().unwrap();
    let mut late = Peer::bind(cluster.nodes[ENTRY].smpp(), "late", "late");
    late.submit(submit("447700900001", "after"));
    late.deliver();
}
