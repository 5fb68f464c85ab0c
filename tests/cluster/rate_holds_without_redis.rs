//! The nodes together keep an operator's rate while Redis is away, and when it goes and comes back.
//!
//! The times of the operator's answers are counted in sliding windows of some seconds. A busy machine delays answers,
//! so that a window may have those of some more time; nodes that each use the whole rate send three times as many.

use std::time::Duration;

use crate::harness::{Cluster, Peer, Simulator, submit, until, within};
use smsc::smpp::Body;

const NODES: usize = 3;
const RATE: usize = 100;
const MESSAGES: usize = 2_000;

/// Sends as many at the rate, between two events.
const BETWEEN: usize = RATE * 4;
/// Seconds in which the most answers are looked for.
const WINDOW: usize = 5;

/// Times of answers of the operator, Unix milliseconds, ascending.
fn sent(cluster: &Cluster) -> Vec<i64> {
    let rows = cluster.postgres.rows("SELECT at FROM sent ORDER BY at");
    rows.iter().map(|row| row.get(0)).collect()
}

fn wait_for(cluster: &Cluster, messages: usize) {
    let limit = Duration::from_secs(180);
    let done = within(limit, || (sent(cluster).len() >= messages).then_some(()));
    assert!(done.is_some(), "{} of {messages}", sent(cluster).len());
}

fn most_in_a_window(sent: &[i64]) -> usize {
    let length = WINDOW as i64 * 1_000;
    let within = |first: usize| sent[first..].partition_point(|at| *at < sent[first] + length);
    (0..sent.len()).map(within).max().unwrap_or_default()
}

#[test]
fn redis_goes_and_comes_back_under_load() {
    let operator = Simulator::new().flags("--receipts none").start();
    let address = operator.address();
    let keys = format!("binds = 4\nrate = {RATE}.0\nwindow = 100");
    let mut cluster = Cluster::of(NODES)
        .redis()
        .each(move |smsc| {
            smsc.account_with("test", "test", "window = 3000")
                .operator_with("up", address, &keys)
                .route("", "up")
        })
        .start();
    cluster.wait_until_held_by(0, &[0, 1, 2], "operator:up", 4);
    for node in &cluster.nodes {
        until("limits that are shared", || {
            (node.admin().metric("smsc_throttle_redis_up") == Some(1.0)).then_some(())
        });
    }
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    for number in 0..MESSAGES {
        esme.request(Body::SubmitSm(submit(
            &format!("4477009{number:05}"),
            "hello",
        )));
    }
    wait_for(&cluster, BETWEEN);
    cluster.redis.as_mut().unwrap().kill9();
    let before = sent(&cluster).len();
    let alone = before + BETWEEN;
    wait_for(&cluster, alone);
    // By the times of the answers: a busy machine may show late what was answered earlier.
    let answered = sent(&cluster);
    let took = (answered[alone - 1] - answered[before]) as f64 / 1_000.0;
    let average = BETWEEN as f64 / took;
    assert!(average < RATE as f64 * 1.3, "{average} in a second");
    cluster.redis.as_mut().unwrap().restart();
    for node in &cluster.nodes {
        until("limits that are shared again", || {
            (node.admin().metric("smsc_throttle_redis_up") == Some(1.0)).then_some(())
        });
    }
    wait_for(&cluster, MESSAGES);
    let sent = sent(&cluster);
    let most = most_in_a_window(&sent);
    println!(
        "at most {most} in {WINDOW} seconds, {average:.0} a second without Redis, {alone} by then"
    );
    assert!(most < RATE * WINDOW * 3 / 2, "{most} in {WINDOW} seconds");
}
