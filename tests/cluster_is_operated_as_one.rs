//! Operators' commands reach the node they concern, whichever node is asked, and the schema of a
//! newer release may come while the nodes of this one run.

mod harness;

use harness::{Cluster, Peer, Simulator, submit, until};
use smsc::smpp::SubmitSm;

const QUEUE: &str = "operator:up";

fn cluster(nodes: usize, operator: &Simulator) -> Cluster {
    let address = operator.address();
    let cluster = Cluster::of(nodes)
        .short_lease()
        .each(move |smsc| {
            smsc.account("test", "test")
                .operator_with("up", address, &format!("binds = {nodes}"))
                .route("", "up")
        })
        .start();
    // Each has its share, and nothing moves any more.
    let all: Vec<usize> = (0..nodes).collect();
    cluster.wait_until_held_by(0, &all, QUEUE, nodes);
    until("even shares", || {
        let answer = cluster.nodes[0].admin().get("/v1/nodes");
        let shares = answer["nodes"].as_array()?.iter().map(|node| {
            let queues = node["queues"].as_array().unwrap();
            let share = queues.iter().find(|share| share["queue"] == QUEUE);
            share.map_or(0, |share| share["partitions"].as_u64().unwrap())
        });
        let fair = 32 / nodes as u64;
        shares.into_iter().all(|share| share >= fair).then_some(())
    });
    for node in &cluster.nodes {
        node.wait_for_binds("up", 1);
    }
    cluster
}

/// Waiting messages of the queue on all nodes together.
fn waiting(cluster: &Cluster) -> u64 {
    cluster
        .nodes
        .iter()
        .map(|node| {
            let queue = node.admin().get(&format!("/v1/queues/{QUEUE}"));
            queue["waiting"].as_u64().unwrap()
        })
        .sum()
}

fn suspended(cluster: &Cluster) -> usize {
    let is_suspended = |node: &&harness::Node| {
        node.admin().get(&format!("/v1/queues/{QUEUE}"))["suspended"] == true
    };
    cluster.nodes.iter().filter(is_suspended).count()
}

#[test]
fn commands_reach_the_node_that_they_concern() {
    let operator = Simulator::new().start();
    let cluster = cluster(3, &operator);
    let [first, second] = [cluster.nodes[0].admin(), cluster.nodes[1].admin()];
    let (status, _) = first.post(&format!("/v1/queues/{QUEUE}/suspend"));
    assert_eq!(status, 202, "the other nodes have not answered yet");
    until("all nodes to suspend the queue", || {
        (suspended(&cluster) == 3).then_some(())
    });

    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let ids: Vec<String> = (0..40)
        .map(|number| {
            esme.submit(SubmitSm {
                registered_delivery: 0,
                ..submit(&format!("44770090{number:04}"), "hello")
            })
        })
        .collect();
    until("all messages to wait", || {
        (waiting(&cluster) == 40).then_some(())
    });
    assert!(
        cluster
            .nodes
            .iter()
            .all(|node| { node.admin().get(&format!("/v1/queues/{QUEUE}"))["waiting"] != 0 }),
        "every node has some of them"
    );

    // By the node that has it, or by one that has not: all are asked of the same node.
    for id in &ids[..20] {
        // 409 asks to try again while its partition is on its way between nodes.
        until("the message to be cancelled", || {
            let (status, _) = second.post(&format!("/v1/messages/{id}/cancel"));
            (status == 200 || status == 202).then_some(())
        });
    }
    for id in &ids[..20] {
        let found = cluster.nodes[2].wait_for_final(id);
        assert_eq!(found["state"], "DELETED");
    }

    let (status, _) = second.post(&format!("/v1/queues/{QUEUE}/resume"));
    assert_eq!(status, 202);
    let arrived = operator.wait_for(20);
    assert_eq!(arrived.len(), 20);
    for id in &ids[20..] {
        // No receipt was asked for: the operator's answer is the end.
        assert_eq!(cluster.nodes[0].wait_for_final(id)["state"], "ACCEPTED");
    }
    cluster.wait_until_idle(harness::PATIENCE);
    assert_eq!(
        operator.journal().len(),
        20,
        "what was cancelled stayed away"
    );
}

#[test]
fn nodes_go_on_while_the_schema_of_a_newer_release_comes() {
    let operator = Simulator::new().start();
    let mut cluster = cluster(2, &operator);
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let before = esme.submit(submit("447700900001", "hello"));
    cluster.nodes[0].wait_for_final(&before);

    // As `smsc migrate` of the next release does: only additions.
    cluster.postgres.execute(
        "ALTER TABLE msg ADD COLUMN colour text;
         ALTER TABLE node ADD COLUMN mood text NOT NULL DEFAULT 'good';
         CREATE TABLE news(id bigint PRIMARY KEY);
         INSERT INTO refinery_schema_history VALUES(99, 'news', now()::text, '1');",
    );
    let ids: Vec<String> = (0..20)
        .map(|number| esme.submit(submit(&format!("4477009001{number:02}"), "hello")))
        .collect();
    for id in &ids {
        assert_eq!(cluster.nodes[1].wait_for_final(id)["state"], "DELIVERED");
    }

    // A node of this release that starts now could not know what the newer schema asks of it.
    cluster.nodes[1].kill();
    let refused = cluster.nodes[1].run(&["serve", "--config", "smsc.toml"]);
    assert!(
        refused.stderr.contains("run the release that wrote it"),
        "{}",
        refused.stderr
    );
    let after = esme.submit(submit("447700900002", "hello"));
    assert_eq!(
        cluster.nodes[0].wait_for_final(&after)["state"],
        "DELIVERED"
    );
}
