//! Nodes that share one name at the HLR: one of them is connected, and another one when that is gone.

use super::{NEVER, configured, message, subscriber};
use crate::harness::{Cluster, FakeCore, Peer, submit, until};
use serde_json::Value;

#[test]
fn of_nodes_with_one_name_one_is_connected() {
    let core = FakeCore::start();
    let address = core.address();
    let keys = format!("ipa_name = \"SMSC\"\n{NEVER}");
    let mut cluster = Cluster::of(3)
        .short_lease()
        .each(move |smsc| configured(smsc, address, &keys))
        .start();
    let state = |cluster: &Cluster, node: usize| {
        let shown = cluster.nodes[node].admin().get("/v1/gsm/home");
        let said = shown["last_error"].as_str().unwrap_or_default();
        assert!(
            said.is_empty() || said.contains("is connected as"),
            "{said}"
        );
        shown["connections"][0]["state"].clone()
    };
    // Two may connect before they hear of one another.
    let first = until(
        "one of them to be connected, and the others to wait",
        || {
            let states: Vec<Value> = (0..3).map(|node| state(&cluster, node)).collect();
            let waiting = states.iter().filter(|state| **state == "waiting").count();
            let bound = states.iter().position(|state| *state == "bound")?;
            (waiting == 2 && core.phones().connected() == ["SMSC"]).then_some(bound)
        },
    );
    let others: Vec<usize> = (0..3).filter(|node| *node != first).collect();
    let (number, imsi) = subscriber(1);
    let mut esme = Peer::bind(cluster.nodes[others[0]].smpp(), "test", "test");
    let id = esme.submit(submit(&number, "first"));
    until("its result to be in the store", || {
        let state = message(&cluster.nodes[first], &id)["state"].clone();
        (state == "DELIVERED").then_some(())
    });
    cluster.nodes[first].kill();
    esme.submit(submit(&number, "second"));
    core.wait_for(&imsi, 2);
    assert_eq!(core.texts(&imsi), ["first", "second"]);
    assert_eq!(core.phones().connected(), ["SMSC"]);
}
