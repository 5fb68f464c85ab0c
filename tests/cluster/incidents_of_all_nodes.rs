//! What any node finds about an operator is shown by all, and acknowledged for all.

use serde_json::Value;

use crate::harness::{Cluster, Node, Peer, Simulator, submit, until};

/// Long enough that nothing ends while the test runs.
const SHORT: &str = "[incidents]\nwindow = \"1m\"\nlook_every = \"500ms\"\nmin_messages = 20\n";
const MESSAGES: usize = 300;

/// The incident of refusals that a node shows, if it does.
fn refusals(node: &Node) -> Option<Value> {
    let page = node.admin().get("/v1/incidents");
    let all = page["incidents"].as_array().unwrap();
    let of = |one: &&Value| one["about"] == "operator:up" && one["kind"] == "refused";
    let found: Vec<&Value> = all.iter().filter(of).collect();
    assert!(found.len() <= 1, "of several nodes it is one: {page}");
    found.first().map(|one| (*one).clone())
}

fn is_told_by_health(node: &Node) -> bool {
    let said = node.command(&["health"]);
    assert!(said.success, "{}", said.stderr);
    said.stdout.contains("degraded: operator up refuses")
}

#[test]
fn what_one_node_finds_all_show_and_one_may_acknowledge() {
    let operator = Simulator::new()
        .flags("--reject-percent 70 --reject-status ESME_RINVSRCADR --receipts none")
        .start();
    let cluster = Cluster::of_two(operator.address(), SHORT);
    let mut esme = Peer::transmitter(cluster.nodes[0].smpp(), "test", "test");
    for n in 0..MESSAGES {
        esme.submit(submit(&format!("4477009{n:05}"), "hello"));
    }
    for node in &cluster.nodes {
        until("each node to name the operator", || {
            (refusals(node).is_some() && is_told_by_health(node)).then_some(())
        });
    }
    let id = refusals(&cluster.nodes[1]).unwrap()["id"].clone();
    let path = format!("/v1/incidents/{}/acknowledge", id.as_str().unwrap());
    let (status, done) = cluster.nodes[1].admin().post(&path);
    assert_eq!(status, 200, "{done}");
    for node in &cluster.nodes {
        until("no node to tell of it", || {
            let known = refusals(node)?;
            let is_known = known["acknowledged_by"].is_string() && known["ended_at"].is_null();
            (is_known && !is_told_by_health(node)).then_some(())
        });
    }
}
