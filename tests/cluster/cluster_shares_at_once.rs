//! Resources move at once, not with the next heartbeat: nodes notify each other when an account is served
//! elsewhere, when something was given back, and when a node joins or leaves.
//!
//! The nodes of these clusters look at each other only when they are notified.

use crate::harness::{self, Cluster, ClusterBuilder, Peer, Simulator, submit};
use smsc::smpp::{Body, CommandStatus};

const BINDS: usize = 4;
const QUEUE: &str = "operator:up";

fn cluster(nodes: usize, operator: std::net::SocketAddr) -> ClusterBuilder {
    Cluster::of(nodes).without_heartbeat().each(move |smsc| {
        smsc.account("test", "test")
            .operator_with("up", operator, &format!("binds = {BINDS}"))
            .route("", "up")
    })
}

#[test]
fn the_queue_of_an_account_follows_its_bind() {
    let operator = Simulator::new().start();
    let cluster = cluster(3, operator.address()).start();
    cluster.wait_until_held_by(0, &[0, 1, 2], QUEUE, BINDS);
    for node in [0, 1, 2, 1, 0, 2] {
        let mut esme = Peer::connect(cluster.nodes[node].smpp());
        let status = esme.bind_as(Body::BindTransceiver, "test", "test");
        assert_eq!(status, CommandStatus::ESME_ROK);
        let id = esme.submit(submit("447700900123", "hello"));
        let receipt = String::from_utf8(esme.deliver().short_message.to_vec()).unwrap();
        assert!(receipt.starts_with(&format!("id:{id} ")), "{receipt}");
        esme.unbind();
    }
    cluster.wait_until_idle(harness::PATIENCE);
}

#[test]
fn a_node_that_stops_leaves_everything_to_the_others() {
    let operator = Simulator::new().start();
    let mut cluster = cluster(3, operator.address()).start();
    cluster.wait_until_held_by(0, &[0, 1, 2], QUEUE, BINDS);
    assert!(cluster.nodes[2].terminate().success());
    cluster.wait_until_held_by(0, &[0, 1], QUEUE, BINDS);
    cluster.nodes[2].start_again();
    cluster.wait_until_held_by(0, &[0, 1, 2], QUEUE, BINDS);
}
