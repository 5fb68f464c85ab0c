//! What each node has counted is shown as one by all.

use crate::harness::{Cluster, Peer, Simulator, submit, until};

const SHORT: &str = "[history]\nwrite_every = \"1s\"\n";
const MESSAGES: u64 = 300;

#[test]
fn each_node_shows_the_messages_of_all() {
    let operator = Simulator::new().flags("--receipts none").start();
    let cluster = Cluster::of_two(operator.address(), SHORT);
    let mut esme = Peer::transmitter(cluster.nodes[0].smpp(), "test", "test");
    for n in 0..MESSAGES {
        esme.submit(submit(&format!("4477009{n:05}"), "hello"));
    }
    for node in &cluster.nodes {
        for step in ["minute", "hour"] {
            until("the node to show everything", || {
                let path = format!("/v1/history?step={step}&by=operator");
                let history = node.admin().get(&path);
                let is_all = history["total"]["accepted"] == MESSAGES
                    && history["groups"][0]["messages"]["accepted"] == MESSAGES;
                let nodes = history["nodes"].as_array().unwrap().len();
                (is_all && nodes == 2).then_some(())
            });
        }
    }
}
