//! When a node joins, others give it partitions of each queue as soon as nothing of that queue is under way: an operator
//! that answers nothing does not hold up the messages of another one.

use crate::harness::{Answerer, Cluster, Peer, submit, until};

const MESSAGES: usize = 200;
/// Of each operator; so each node holds one.
const BINDS: usize = 2;
const WARNING: &str = "given back with unanswered messages";

#[test]
fn a_silent_operator_does_not_hold_up_another_one_when_a_node_joins() {
    let (silent, good) = (Answerer::start(), Answerer::start());
    silent.be_silent();
    let addresses = (silent.address(), good.address());
    let keys = format!("binds = {BINDS}\nresponse_timeout = \"10m\"");
    let mut cluster = Cluster::of(2)
        .short_lease()
        .each(move |smsc| {
            smsc.account("test", "test")
                .operator_with("silent", addresses.0, &keys)
                .operator_with("good", addresses.1, &keys)
                .route("1", "silent")
                .route("2", "good")
        })
        .start();
    let binds = 2 * BINDS;
    cluster.wait_until_held_by(0, &[0, 1], "operator:good", binds);
    cluster.nodes[1].kill();
    cluster.wait_until_held_by(0, &[0], "operator:good", binds);
    let (status, _) = cluster.nodes[0]
        .admin()
        .post("/v1/queues/operator:good/suspend");
    assert_eq!(status, 200);
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    for text in 0..MESSAGES {
        esme.submit(submit(&format!("{}4477009{text:05}", 1 + text % 2), "x"));
    }
    until("the silent operator to have all of its messages", || {
        (silent.submits() >= MESSAGES / 2).then_some(())
    });

    cluster.nodes[1].start_again();
    until("the new node to have a bind of the other operator", || {
        (cluster.binds_of(1, 0) > 0).then_some(())
    });
    let (status, _) = cluster.nodes[0]
        .admin()
        .post("/v1/queues/operator:good/resume");
    assert_eq!(status, 202);
    until("the other operator to have all of its messages", || {
        (good.submits() >= MESSAGES / 2).then_some(())
    });
    assert_eq!(cluster.nodes[0].log_lines_with(WARNING), 0);
    assert_eq!(
        (silent.submits(), good.submits()),
        (MESSAGES / 2, MESSAGES / 2)
    );
}
