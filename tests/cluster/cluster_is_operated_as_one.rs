//! Administrators' commands reach the right node through any node, and the schema of a newer release
//! may be installed while nodes of this one run.

use crate::harness::{self, Cluster, ClusterBuilder, Peer, Simulator, submit, until};
use serde_json::json;
use smsc::smpp::SubmitSm;

const QUEUE: &str = "operator:up";
/// Whose messages are cancelled each by itself, or not at all, and whose by one order.
const ONE_BY_ONE: &str = "447700900901";
const TOGETHER: &str = "447700900902";

/// Of so many nodes, as this builder says.
fn started(builder: ClusterBuilder, nodes: usize, operator: &Simulator) -> Cluster {
    let address = operator.address();
    let cluster = builder
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
            let queue = node.admin().get(&format!("/v1/queues/{QUEUE}?scope=node"));
            queue["waiting"].as_u64().unwrap()
        })
        .sum()
}

fn suspended(cluster: &Cluster) -> usize {
    let is_suspended = |node: &&harness::Node| {
        node.admin().get(&format!("/v1/queues/{QUEUE}?scope=node"))["suspended"] == true
    };
    cluster.nodes.iter().filter(is_suspended).count()
}

#[test]
fn commands_reach_the_node_that_they_concern() {
    let operator = Simulator::new().start();
    let cluster = started(Cluster::of(3), 3, &operator);
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
                source_addr: if number < 30 { ONE_BY_ONE } else { TOGETHER }.into(),
                ..submit(&format!("44770090{number:04}"), "hello")
            })
        })
        .collect();
    until("all messages to wait", || {
        (waiting(&cluster) == 40).then_some(())
    });
    assert!(
        cluster.nodes.iter().all(|node| {
            node.admin().get(&format!("/v1/queues/{QUEUE}?scope=node"))["waiting"] != 0
        }),
        "every node has some of them"
    );

    // One node is asked to cancel all of them, those that it owns and those that it does not.
    for id in &ids[..20] {
        // 409 asks for another try while the partition moves between nodes.
        until("the message to be cancelled", || {
            let (status, _) = second.post(&format!("/v1/messages/{id}/cancel"));
            (status == 200 || status == 202).then_some(())
        });
    }
    for id in &ids[..20] {
        let found = cluster.nodes[2].wait_for_final(id);
        assert_eq!(found["state"], "DELETED");
    }

    // One order cancels what waits on every node.
    let third = cluster.nodes[2].admin();
    let order = json!({ "filter": { "from": TOGETHER } });
    until("ten more to be cancelled", || {
        let (status, report) = third.call("POST", "/v1/messages/cancel", Some(&order));
        assert_eq!(status, 200, "{report}");
        // Those that are moving between nodes are refused, and asked for again.
        (waiting(&cluster) == 10).then_some(())
    });
    for id in &ids[30..] {
        let found = cluster.nodes[0].wait_for_final(id);
        assert_eq!(found["state"], "DELETED");
    }

    let (status, _) = second.post(&format!("/v1/queues/{QUEUE}/resume"));
    assert_eq!(status, 202);
    let arrived = operator.wait_for(10);
    assert_eq!(arrived.len(), 10);
    for id in &ids[20..30] {
        // No receipt was requested: the operator's response is the end.
        assert_eq!(cluster.nodes[0].wait_for_final(id)["state"], "ACCEPTED");
    }
    cluster.wait_until_idle(harness::PATIENCE);
    assert_eq!(
        operator.journal().len(),
        10,
        "what was cancelled stayed away"
    );
}

#[test]
fn every_node_shows_the_whole_cluster() {
    let operator = Simulator::new().start();
    let cluster = started(Cluster::of(3), 3, &operator);
    let mut esmes: Vec<Peer> = (0..3)
        .map(|node| Peer::bind(cluster.nodes[node].smpp(), "test", "test"))
        .collect();
    for node in &cluster.nodes {
        let admin = node.admin();
        let up = until("all binds to be seen", || {
            let up = admin.get("/v1/operators/up");
            (up["bound"] == 3).then_some(up)
        });
        assert_eq!((&up["configured"], &up["state"]), (&3.into(), &"up".into()));
        let shares = up["nodes"].as_array().unwrap();
        assert_eq!(shares.len(), 3, "{up}");
        assert!(shares.iter().all(|share| share["bound"] == 1), "{up}");
        assert_eq!(up["binds"].as_array().unwrap().len(), 1, "its own");
        let own = admin.get("/v1/operators/up?scope=node");
        assert_eq!(own["bound"], 1);
        assert_eq!(own["nodes"], serde_json::json!([]));
        let ready = admin.get("/health/ready");
        assert_eq!(ready["degraded"], serde_json::json!([]), "{ready}");
    }
    let url = format!("http://{}", cluster.nodes[1].http());
    let token = cluster.nodes[1].admin().token().to_owned();
    let whom = ["--url", &url, "--token", &token];
    let shown = cluster.nodes[0].run(&[&["bind", "list", "up"], &whom[..]].concat());
    assert!(shown.stdout.contains("3/3"), "{}", shown.stdout);

    // Messages that wait on any node count for the cluster.
    let first = cluster.nodes[0].admin();
    first.post(&format!("/v1/queues/{QUEUE}/suspend"));
    until("all nodes to suspend the queue", || {
        (suspended(&cluster) == 3).then_some(())
    });
    for number in 0..40 {
        esmes[number % 3].submit(submit(&format!("44770090{number:04}"), "hello"));
    }
    until("all messages to wait", || {
        (waiting(&cluster) == 40).then_some(())
    });
    for node in &cluster.nodes {
        let queue = until("all of them to be seen", || {
            let queue = node.admin().get(&format!("/v1/queues/{QUEUE}"));
            (queue["waiting"] == 40).then_some(queue)
        });
        let shares = queue["nodes"].as_array().unwrap();
        assert!(shares.iter().all(|share| share["waiting"] != 0), "{queue}");
        // What another node has published is a moment old.
        until("all of them to be seen among the nodes", || {
            let nodes = node.admin().get("/v1/nodes");
            let shown: u64 = (nodes["nodes"].as_array().unwrap().iter())
                .map(|node| node["waiting"].as_u64().unwrap())
                .sum();
            (shown == 40).then_some(())
        });
    }

    // The events that the console and `smsc top` show.
    let top = until("the overview of the whole", || {
        let arguments = [&["top", "--once"], &whom[..]].concat();
        let shown = cluster.nodes[0].run(&arguments).stdout;
        let is_whole = shown.contains("3 of 3") && shown.contains("40");
        is_whole.then_some(shown)
    });
    assert!(!top.contains("partly up"), "{top}");
    first.post(&format!("/v1/queues/{QUEUE}/resume"));
    assert_eq!(operator.wait_for(40).len(), 40);
}

#[test]
fn nodes_go_on_while_the_schema_of_a_newer_release_comes() {
    let operator = Simulator::new().start();
    // Others take over when a node is killed.
    let mut cluster = started(Cluster::of(2).short_lease(), 2, &operator);
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

    // The update is taken back on a node: it starts on the newer schema.
    cluster.nodes[1].kill();
    let migrated = cluster.nodes[1].run(&["migrate", "--config", "smsc.toml"]);
    assert!(migrated.success, "{}", migrated.stderr);
    cluster.nodes[1].start_again();
    let mut back = Peer::bind(cluster.nodes[1].smpp(), "test", "test");
    let there = back.submit(submit("447700900003", "hello"));
    assert_eq!(
        cluster.nodes[0].wait_for_final(&there)["state"],
        "DELIVERED"
    );

    // The release after takes away what this one needs: what runs goes on, and nothing starts.
    cluster.postgres.execute(
        "INSERT INTO refinery_schema_history VALUES(100, 'less', now()::text, '1');
         INSERT INTO meta VALUES('oldest_schema', 99);",
    );
    cluster.nodes[1].kill();
    let refused = cluster.nodes[1].run(&["serve", "--config", "smsc.toml"]);
    assert!(
        refused.stderr.contains("run a newer release"),
        "{}",
        refused.stderr
    );
    let after = esme.submit(submit("447700900002", "hello"));
    assert_eq!(
        cluster.nodes[0].wait_for_final(&after)["state"],
        "DELIVERED"
    );
}
