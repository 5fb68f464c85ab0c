//! `account.max_waiting` on three nodes: the limit applies to the account, not to each node. It allows
//! messages again when others end, on any node, and is correct again after a node has died.

use crate::harness::{Cluster, Peer, Simulator, submit, until};
use smsc::smpp::{Body, CommandStatus};

const CAP: usize = 300;
/// How many messages three nodes may accept before they know of each other's: a few heartbeats of 300
/// ms at the pace of peers that wait for every response.
const MARGIN: usize = 300;

/// Submits until every node refuses; returns how many messages were accepted.
fn fill(peers: &mut [Peer], prefix: &str) -> usize {
    let mut accepted = 0;
    let mut refused = 0;
    let mut number = 0;
    while refused < peers.len() {
        refused = 0;
        for peer in peers.iter_mut() {
            number += 1;
            let mut message = submit(&format!("{prefix}{number:06}"), "hello");
            message.registered_delivery = 0;
            let sequence = peer.request(Body::SubmitSm(message));
            match peer.answer_to(sequence).status {
                CommandStatus::ESME_ROK => accepted += 1,
                CommandStatus::ESME_RMSGQFUL => refused += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(
            accepted <= CAP + MARGIN,
            "{accepted} accepted, the cap is {CAP}"
        );
    }
    accepted
}

#[test]
fn three_nodes_keep_one_cap() {
    let mut operator = Simulator::new();
    let address = operator.address();
    let mut cluster = Cluster::of(3)
        .short_lease()
        .each(move |smsc| {
            smsc.account_with("test", "test", &format!("max_waiting = {CAP}"))
                .account("free", "free")
                .operator_with("up", address, "binds = 3\nreceipts = \"never\"")
                .route("", "up")
        })
        .start();
    let unfinished = |cluster: &Cluster| -> i64 {
        let rows = cluster
            .postgres
            .rows("SELECT count(*) FROM active WHERE stage <> 'untold'");
        rows[0].get(0)
    };
    let summed = |cluster: &Cluster| -> i64 {
        let rows = cluster
            .postgres
            .rows("SELECT coalesce(sum(count), 0)::bigint FROM unfinished");
        rows[0].get(0)
    };
    let mut peers: Vec<Peer> = cluster
        .nodes
        .iter()
        .map(|node| Peer::bind(node.smpp(), "test", "test"))
        .collect();
    // The operator is down: everything waits.
    let accepted = fill(&mut peers, "4477009");
    assert!(accepted >= CAP, "{accepted}");
    assert_eq!(unfinished(&cluster), accepted as i64);
    // Another account has no limit.
    let mut free = Peer::bind(cluster.nodes[0].smpp(), "free", "free");
    free.submit(submit("447700900001", "hello"));

    operator.start_again();
    until("everything to be finished", || {
        (unfinished(&cluster) == 0).then_some(())
    });
    // Each node learns what the others have ended.
    for peer in &mut peers {
        until("the intake to open", || {
            let sequence = peer.request(Body::SubmitSm(submit("447700900002", "hello")));
            (peer.answer_to(sequence).status == CommandStatus::ESME_ROK).then_some(())
        });
    }

    operator.kill();
    until("nobody to be bound", || {
        let bound = cluster.nodes.iter().map(|node| {
            let operator = node.admin().get("/v1/operators/up");
            operator["bound"].as_u64().unwrap()
        });
        (bound.sum::<u64>() == 0).then_some(())
    });
    fill(&mut peers, "4477008");
    // From now on other nodes own the messages that this node has accepted, and its count.
    cluster.nodes[2].kill();
    peers.pop();
    cluster.wait_until_held_by(0, &[0, 1], "operator:up", 3);
    operator.start_again();
    until("everything to be finished", || {
        (unfinished(&cluster) == 0).then_some(())
    });
    until("nothing to be counted any more", || {
        (summed(&cluster) == 0).then_some(())
    });
    operator.kill();
    let accepted = fill(&mut peers, "4477007");
    assert!(
        accepted >= CAP,
        "{accepted}: the dead node's share still counts"
    );
}
