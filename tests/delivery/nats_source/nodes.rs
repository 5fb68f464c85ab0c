//! Three nodes take commands from one consumer; what a killed one had is taken by others.

use crate::harness::dispatch::{Dispatch, commands};
use crate::harness::{Cluster, until};

use super::{by_recipient, exactly_once};

#[test]
fn three_nodes_share_a_consumer_and_one_may_be_killed() {
    const EACH: usize = 300;
    let dispatch = Dispatch::start();
    let source = dispatch.source("ack_wait = '2s'\nin_flight = 50");
    let mut cluster = Cluster::of(3).short_lease().delivering(source).start();
    for node in &cluster.nodes {
        until("every node to be connected", || {
            let state = node.admin().get("/v1/nats-sources/state");
            (state["sources"][0]["connected"] == true).then_some(())
        });
    }
    dispatch.publish_all(&commands(0..EACH));
    dispatch.wait_until_done();
    dispatch.publish_all(&commands(EACH..2 * EACH));
    until("some of the second half", || {
        (by_recipient(&cluster.nodes[0].admin()).len() > EACH).then_some(())
    });
    cluster.nodes[1].kill();
    dispatch.publish_all(&commands(2 * EACH..3 * EACH));
    dispatch.wait_until_done();
    exactly_once(&cluster.nodes[2].admin(), 0..3 * EACH);
    assert!(dispatch.dead_letters().is_empty());
}
