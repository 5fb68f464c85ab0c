//! Nodes that share one name at the HLR: one of them is connected, and another one when that is gone.

use std::net::SocketAddr;

use super::{NEVER, configured, message, subscriber};
use crate::harness::{Cluster, FakeCore, Peer, submit, until};
use serde_json::Value;

const KEYS: &str = "ipa_name = \"SMSC\"\n";

fn three(address: SocketAddr) -> Cluster {
    Cluster::of(3)
        .short_lease()
        .each(move |smsc| configured(smsc, address, &format!("{KEYS}{NEVER}")))
        .start()
}

fn state(cluster: &Cluster, node: usize) -> Value {
    let shown = cluster.nodes[node].admin().get("/v1/gsm/home");
    shown["connections"][0]["state"].clone()
}

/// Waits until one of these nodes is connected and the others stand by.
fn one_of(cluster: &Cluster, core: &FakeCore, nodes: &[usize]) -> usize {
    until("one of them to be connected, and the others to stand by", || {
        let states: Vec<Value> = nodes.iter().map(|node| state(cluster, *node)).collect();
        let standby = states.iter().filter(|state| **state == "standby").count();
        let bound = states.iter().position(|state| *state == "bound")?;
        let one = core.phones().connected() == ["SMSC"];
        (standby + 1 == nodes.len() && one).then_some(nodes[bound])
    })
}

/// A message to this subscriber, by any node, reaches the handset once.
fn reaches(cluster: &Cluster, core: &FakeCore, from: usize, to: usize) {
    let (number, imsi) = subscriber(to);
    let mut esme = Peer::bind(cluster.nodes[from].smpp(), "test", "test");
    let id = esme.submit(submit(&number, "hello"));
    until("its result to be in the store", || {
        let state = message(&cluster.nodes[from], &id)["state"].clone();
        (state == "DELIVERED").then_some(())
    });
    assert_eq!(core.texts(&imsi), ["hello"]);
}

#[test]
fn of_nodes_with_one_name_one_is_connected() {
    let core = FakeCore::start();
    let mut cluster = three(core.address());
    let first = one_of(&cluster, &core, &[0, 1, 2]);
    let others: Vec<usize> = (0..3).filter(|node| *node != first).collect();
    reaches(&cluster, &core, others[0], 1);
    assert_eq!(core.phones().connections().0, 1);
    let shown = cluster.nodes[others[1]].admin().get("/v1/gsm/home");
    assert_eq!(
        (&shown["state"], &shown["connected"], &shown["configured"]),
        (&"up".into(), &1.into(), &1.into())
    );
    let nodes = cluster.nodes[others[1]].admin().get("/v1/nodes");
    let holder = &nodes["nodes"][first];
    assert_eq!(holder["binds"], serde_json::json!(["gsm:home"]));

    cluster.nodes[first].kill();
    let second = one_of(&cluster, &core, &others);
    let last = others[usize::from(second == others[0])];
    reaches(&cluster, &core, last, 2);
    // In good order: the last one need not wait for the end of a lease.
    cluster.nodes[second].terminate();
    one_of(&cluster, &core, &[last]);
    reaches(&cluster, &core, last, 3);
    assert_eq!(core.phones().connections().0, 1);
}
