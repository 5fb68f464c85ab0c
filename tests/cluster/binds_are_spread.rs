//! The binds of an operator are spread over the nodes, and with them its traffic.
//!
//! Four binds on three nodes: no node is without one while another has two to spare, whoever comes and goes.

use crate::harness::{Cluster, Simulator, until};

const NODES: usize = 3;
const BINDS: usize = 4;
const QUEUE: &str = "operator:up";

/// The binds of the live nodes, ascending, and their partitions of the operator's queue.
fn shares(cluster: &Cluster, seen_by: usize) -> Vec<(usize, u64)> {
    let answer = cluster.nodes[seen_by].admin().get("/v1/nodes");
    let nodes = answer["nodes"].as_array().unwrap().iter();
    let mut shares: Vec<(usize, u64)> = nodes
        .filter(|node| node["state"] != "lost")
        .map(|node| {
            let queues = node["queues"].as_array().unwrap().iter();
            let of_operator = queues.filter(|share| share["queue"] == QUEUE);
            let partitions = of_operator.filter_map(|share| share["partitions"].as_u64());
            (node["binds"].as_array().unwrap().len(), partitions.sum())
        })
        .collect();
    shares.sort_unstable();
    shares
}

fn wait_for(cluster: &Cluster, seen_by: usize, binds: &[usize]) {
    let what = format!("{binds:?} binds, and partitions with each of them");
    until(&what, || {
        let shares = shares(cluster, seen_by);
        let least = 32 / binds.len() as u64;
        let is_even = shares
            .iter()
            .all(|(_, parts)| (least..=least + 1).contains(parts));
        let of_nodes: Vec<usize> = shares.iter().map(|(binds, _)| *binds).collect();
        (of_nodes == binds && is_even).then_some(())
    });
}

#[test]
fn four_binds_on_three_nodes_are_two_and_one_and_one() {
    let operator = Simulator::new().start();
    let address = operator.address();
    let keys = format!("binds = {BINDS}");
    let mut cluster = Cluster::of(NODES)
        .short_lease()
        .each(move |smsc| smsc.operator_with("up", address, &keys).route("", "up"))
        .start();
    wait_for(&cluster, 0, &[1, 1, 2]);
    cluster.nodes[2].kill();
    wait_for(&cluster, 0, &[2, 2]);
    cluster.nodes[2].start_again();
    wait_for(&cluster, 2, &[1, 1, 2]);
    cluster.nodes[0].wait_for_binds("up", BINDS as u64);
}
