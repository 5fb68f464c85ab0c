//! A look-up keeps the order of a subscriber's messages: what comes when the IMSI is known is not sent before
//! what had to wait for it.

use super::hlr::{Hlr, Mood};
use super::{QUEUE, of, waiting, with_network_at};
use crate::harness::{Cluster, FakeCore, PATIENCE, Peer, Smsc, submit, until};
use smsc::gsm_core::Phone;

const SUBSCRIBERS: usize = 20;

fn number(at: usize) -> String {
    format!("4916{at:05}")
}

fn imsi(at: usize) -> String {
    format!("00101{at:010}")
}

/// An HLR that knows the subscribers and does not answer yet, and a network where they are there.
fn network() -> (Hlr, FakeCore) {
    let (hlr, core) = (Hlr::start(&[]), FakeCore::start());
    hlr.set(Mood::Silent);
    for at in 0..SUBSCRIBERS {
        hlr.add(&number(at), &imsi(at));
        core.set(&imsi(at), Phone::Here);
    }
    (hlr, core)
}

/// Sends a message to each subscriber, `rounds` times; the texts continue from `first`.
fn send(esme: &mut Peer, first: usize, rounds: usize) {
    for text in first..first + rounds {
        for at in 0..SUBSCRIBERS {
            esme.submit(submit(&number(at), &text.to_string()));
        }
    }
}

fn arrive_in_order(core: &FakeCore, messages: usize) {
    let wanted: Vec<String> = (0..messages).map(|text| text.to_string()).collect();
    for at in 0..SUBSCRIBERS {
        core.wait_for(&imsi(at), messages);
        assert_eq!(core.texts(&imsi(at)), wanted, "{}", number(at));
    }
}

#[test]
fn what_comes_when_the_imsi_is_known_goes_behind_what_waited_for_it() {
    let (hlr, core) = network();
    let smsc = Smsc::new().account("test", "test");
    let address = core.address().to_string();
    let smsc = with_network_at(smsc, &address, &of(&hlr, "timeout = \"60s\"")).start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    send(&mut esme, 0, 30);
    hlr.set(Mood::Good);
    send(&mut esme, 30, 30);
    arrive_in_order(&core, 60);
    // The line is empty again: a message goes there at once.
    let id = esme.submit(submit(&number(0), "60"));
    core.wait_for(&imsi(0), 61);
    assert_eq!(smsc.wait_for_final(&id)["changes"], serde_json::json!([]));
    smsc.assert_no_panic();
}

#[test]
fn what_waited_before_a_kill_goes_first_after_it() {
    // More than the resolver takes at once.
    const WAITING: usize = 250;
    let (hlr, core) = network();
    let smsc = Smsc::new().account("test", "test");
    let address = core.address().to_string();
    let mut smsc = with_network_at(smsc, &address, &of(&hlr, "timeout = \"60s\"")).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    send(&mut esme, 0, WAITING);
    smsc.kill();
    hlr.set(Mood::Good);
    smsc.start_again();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    send(&mut esme, WAITING, 20);
    arrive_in_order(&core, WAITING + 20);
    smsc.assert_no_panic();
}

#[test]
fn nodes_keep_the_order_of_what_comes_to_one_of_them() {
    let (hlr, core) = network();
    let address = core.address().to_string();
    let keys = of(&hlr, "timeout = \"60s\"");
    let cluster = Cluster::of(3)
        .redis()
        .each(move |smsc| with_network_at(smsc.account("test", "test"), &address, &keys))
        .start();
    core.wait_for_connections(3);
    let mut esme = Peer::bind(cluster.nodes[1].smpp(), "test", "test");
    send(&mut esme, 0, 15);
    until("all of them to wait", || {
        let wait = |node: usize| waiting(&cluster.nodes[node], QUEUE);
        ((0..3).map(wait).max()? > 0).then_some(())
    });
    hlr.set(Mood::Good);
    send(&mut esme, 15, 15);
    arrive_in_order(&core, 30);
    cluster.wait_until_idle_with(PATIENCE, || esme.acknowledge_all());
}
