//! Nodes that share one name at the HLR: one of them is connected, and another one when that is gone. And programs that
//! are not ours and have our name.

use std::net::SocketAddr;
use std::time::Duration;

use super::{NEVER, configured, message, serving, subscriber};
use crate::harness::{Cluster, FakeCore, Namesake, Peer, Smsc, submit, until, within};
use serde_json::Value;
use smsc::gsm_core::Namesakes;

/// Long enough to see that nothing is sent.
const QUIET: Duration = Duration::from_millis(1500);

const KEYS: &str = "ipa_name = \"SMSC\"\nping_timeout = \"500ms\"\n";
const MOMENT: Duration = Duration::from_millis(50);

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
    until(
        "one of them to be connected, and the others to stand by",
        || {
            let states: Vec<Value> = nodes.iter().map(|node| state(cluster, *node)).collect();
            let standby = states.iter().filter(|state| **state == "standby").count();
            let bound = states.iter().position(|state| *state == "bound")?;
            let one = core.phones().connected() == ["SMSC"];
            (standby + 1 == nodes.len() && one).then_some(nodes[bound])
        },
    )
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

#[test]
fn a_node_that_stands_still_keeps_the_name_from_others_until_it_goes_on() {
    let core = FakeCore::start();
    let cluster = three(core.address());
    let first = one_of(&cluster, &core, &[0, 1, 2]);
    let others: Vec<usize> = (0..3).filter(|node| *node != first).collect();
    cluster.nodes[first].freeze();
    // Its connection is still there, and OsmoHLR would use no other one: nothing is sent that would come again.
    let second = until("another one to find the name taken", || {
        let is_taken = |node: &&usize| {
            let shown = cluster.nodes[**node].admin().get("/v1/gsm/home?scope=node");
            shown["state"] == "name taken"
        };
        others.iter().find(is_taken).copied()
    });
    let (number, imsi) = subscriber(1);
    let mut esme = Peer::bind(cluster.nodes[second].smpp(), "test", "test");
    esme.submit(submit(&number, "hello"));
    let sent = within(QUIET, || {
        (!core.phones().arrived_so_far().is_empty()).then_some(())
    });
    assert!(sent.is_none(), "it is sent while another node has the name");
    cluster.nodes[first].thaw();
    core.wait_for(&imsi, 1);
    one_of(&cluster, &core, &[0, 1, 2]);
    assert_eq!(core.texts(&imsi), ["hello"]);
}

fn shown(smsc: &Smsc) -> Value {
    smsc.admin().get("/v1/gsm/home")
}

fn wait_for(smsc: &Smsc, wanted: &str) {
    until(&format!("the network to be {wanted}"), || {
        (shown(smsc)["state"] == wanted).then_some(())
    });
    let metric = smsc.admin().metric("smsc_gsm_name_taken{gsm=\"home\"}");
    assert_eq!(metric, Some(f64::from(u8::from(wanted == "name taken"))));
}

#[test]
fn a_foreign_program_with_our_name_gets_our_answers_and_nothing_is_sent_meanwhile() {
    let core = FakeCore::start();
    let foreign = Namesake::start(core.address(), "SMSC", MOMENT);
    core.wait_for_connections(1);
    let smsc = serving(core.address(), &format!("{KEYS}{NEVER}")).start();
    wait_for(&smsc, "name taken");
    let why = shown(&smsc)["last_error"].clone();
    assert!(why.as_str().unwrap().contains("no answers come"), "{why}");
    assert_eq!(shown(&smsc)["name_taken"], true);
    let (number, imsi) = subscriber(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit(&number, "hello"));
    let (_, made) = core.phones().connections();
    until("more attempts to connect", || {
        (core.phones().connections().1 > made + 2).then_some(())
    });
    assert!(core.phones().arrived_so_far().is_empty());
    assert!(
        smsc.log()
            .contains("another program may be connected under it")
    );
    drop(foreign);
    core.wait_for(&imsi, 1);
    wait_for(&smsc, "up");
    assert_eq!(shown(&smsc)["last_error"], "");
}

#[test]
fn a_foreign_program_that_takes_our_name_stops_us_after_what_was_under_way() {
    let core = FakeCore::start();
    core.phones().set_namesakes(Namesakes::LastCounts);
    // Long enough for the answers of the core on a busy machine: a message whose answer is late comes once more.
    let keys = "ipa_name = \"SMSC\"\nping_timeout = \"3s\"\nrequest_timeout = \"3s\"\nretry = { delays = [\"1s\"] }";
    let smsc = serving(core.address(), keys).start();
    wait_for(&smsc, "up");
    let _foreign = Namesake::start(core.address(), "SMSC", MOMENT);
    until("two connections of the name", || {
        (core.phones().connections().0 == 2).then_some(())
    });
    // The first one reaches its handset, and its result goes to the other program. Then we connect anew, and have the name.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let [(one, first), (other, second)] = [1, 2].map(subscriber);
    let id = esme.submit(submit(&one, "hello"));
    until("the end of its time", || {
        let history = message(&smsc, &id)["history"].as_array()?.len();
        (history > 0).then_some(())
    });
    esme.submit(submit(&other, "hello"));
    assert_eq!(smsc.wait_for_final(&id)["state"], "DELIVERED");
    core.wait_for(&second, 1);
    assert_eq!(
        core.texts(&first),
        ["hello", "hello"],
        "once again, and not more"
    );
    assert_eq!(core.texts(&second), ["hello"]);
    wait_for(&smsc, "up");
}

#[test]
fn two_that_close_one_another_do_not_go_on_for_ever() {
    let core = FakeCore::slow("300ms");
    core.phones().set_namesakes(Namesakes::LastCloses);
    let smsc = serving(core.address(), &format!("{KEYS}{NEVER}")).start();
    wait_for(&smsc, "up");
    let foreign = Namesake::start(core.address(), "SMSC", MOMENT);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (number, imsi) = subscriber(1);
    esme.submit(submit(&number, "hello"));
    wait_for(&smsc, "name taken");
    let why = shown(&smsc)["last_error"].clone();
    assert!(why.as_str().unwrap().contains("again and again"), "{why}");
    // Every connection that was closed may have had it under way; those from now on must last.
    let (_, made) = core.phones().connections();
    let before = core.phones().arrived_so_far().len();
    assert!(before <= 3, "{before}");
    until("more attempts to connect", || {
        (core.phones().connections().1 > made + 6).then_some(())
    });
    assert_eq!(core.phones().arrived_so_far().len(), before);
    drop(foreign);
    // The administrator has found the other program, and need not wait.
    let (status, _) = smsc.admin().post("/v1/gsm/home/rebind");
    assert!(matches!(status, 200 | 202), "{status}");
    wait_for(&smsc, "up");
    core.wait_for(&imsi, 1);
}
