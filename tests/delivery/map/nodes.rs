//! Nodes of a cluster and a network over MAP: with one point code one of them is connected at a time, with one for each all are.

use std::net::SocketAddr;

use serde_json::json;
use smsc::sms::tpdu::{SmsSubmit, TpduAddress};

use super::{NEVER, SOON, all_of, configured, is_active, message, numbered, queue};
use crate::harness::map::{MapNetwork, Stp, map_subscriber};
use crate::harness::{Cluster, Peer, saying, submit, until};

/// Point codes of the nodes, if each has its own.
const OWN: [&str; 3] = ["0.1.1", "0.1.2", "0.1.3"];
/// An MSC where nobody of ours roams.
const ABROAD: &str = "43664000001";

struct Region {
    cluster: Cluster,
    network: MapNetwork,
    gateway: SocketAddr,
    _stp: Stp,
}

// === impl Region ===

impl Region {
    fn start(keys: &'static str, map: &'static str) -> Self {
        let stp = Stp::start();
        let gateway = stp.m3ua();
        let network = MapNetwork::start(&[gateway]);
        let cluster = Cluster::of(3)
            .short_lease()
            .each(move |smsc| configured(smsc, &[gateway], keys, map))
            .start();
        Self {
            cluster,
            network,
            gateway,
            _stp: stp,
        }
    }

    /// Waits until one of these nodes has traffic, and no other one.
    fn one_of(&self, nodes: &[usize]) -> usize {
        until("one of the nodes to have traffic", || {
            let with: Vec<usize> = (nodes.iter().copied())
                .filter(|node| is_active(&self.cluster.nodes[*node], self.gateway))
                .collect();
            (with.len() == 1).then(|| with[0])
        })
    }

    fn esme(&self, node: usize) -> Peer {
        Peer::bind(self.cluster.nodes[node].smpp(), "test", "test")
    }
}

#[test]
fn of_nodes_with_one_point_code_one_is_connected_and_another_one_takes_over() {
    let mut region = Region::start(NEVER, "");
    let first = region.one_of(&[0, 1, 2]);
    let others: Vec<usize> = (0..3).filter(|node| *node != first).collect();
    region.network.subscribers(3);
    let reaches = |region: &Region, from: usize, to: usize| {
        let (number, imsi) = map_subscriber(to);
        let id = region.esme(from).submit(submit(&number, "hello"));
        until("its result to be in the store", || {
            let state = message(&region.cluster.nodes[from], &id)["state"].clone();
            (state == "DELIVERED").then_some(())
        });
        assert_eq!(region.network.texts(&imsi), ["hello"]);
    };
    reaches(&region, others[0], 0);
    region.cluster.nodes[first].kill();
    let second = region.one_of(&others);
    let last = others[usize::from(second == others[0])];
    reaches(&region, last, 1);
    // In good order: the last one need not wait for the end of a lease.
    region.cluster.nodes[second].terminate();
    region.one_of(&[last]);
    reaches(&region, last, 2);
    region.network.assert_content();
}

#[test]
fn an_alert_reaches_what_waits_although_the_node_that_sent_it_is_gone() {
    let mut region = Region::start(NEVER, "");
    let (number, imsi) = region
        .network
        .subscriber(1, json!({ "forward": ["absent:1"] }));
    let first = region.one_of(&[0, 1, 2]);
    let others: Vec<usize> = (0..3).filter(|node| *node != first).collect();
    let mut esme = region.esme(others[0]);
    let texts = numbered(6);
    for text in &texts {
        esme.submit(submit(&number, text));
    }
    until("all of them to wait", || {
        (queue(&region.cluster.nodes[others[0]])["scheduled"] == 6).then_some(())
    });
    region.network.wait_for_report(&number, "absentSubscriber");
    region.cluster.nodes[first].kill();
    region.one_of(&others);
    // The HLR says it to the service centre, whichever node that is now.
    until("the alert to be answered", || {
        let order = json!({ "msisdn": number, "forward": ["ok"] });
        region.network.order("subscriber", order);
        let answer = region
            .network
            .order("alert", json!({ "msisdn": number, "version": 2 }));
        (answer["dialogue"] == "end").then_some(())
    });
    assert_eq!(all_of(&region.network, &imsi, &texts), texts);
    region.network.assert_content();
}

#[test]
fn nodes_with_point_codes_of_their_own_are_all_connected_and_an_alert_to_any_is_heard_by_all() {
    let map = "point_codes = [\"0.1.1\", \"0.1.2\", \"0.1.3\"]";
    let mut region = Region::start(NEVER, map);
    for node in &region.cluster.nodes {
        super::until_active(node, &[region.gateway]);
    }
    let subscribers = region.network.subscribers(12);
    let mut esme = region.esme(0);
    for (at, (number, _)) in subscribers.iter().enumerate() {
        esme.submit(submit(number, &format!("number {at}")));
    }
    for (at, (_, imsi)) in subscribers.iter().enumerate() {
        let taken = region.network.wait_for(imsi, 1);
        assert_eq!(taken[0].text, format!("number {at}"));
    }

    // Each subscriber's messages are delivered by one node; the HLR tells another one that it is there.
    for (at, own) in OWN.into_iter().enumerate() {
        let (number, imsi) = region
            .network
            .subscriber(20 + at, json!({ "forward": ["absent:1"] }));
        let id = esme.submit(submit(&number, "waits"));
        super::until_tried(&region.cluster.nodes[0], &id, "MAP_ABSENT_IMSI_DETACHED");
        let order = json!({ "msisdn": number, "forward": ["ok"] });
        region.network.order("subscriber", order);
        let alert = json!({ "msisdn": number, "point_code": own });
        let answer = region.network.order("alert", alert);
        assert_eq!(answer["dialogue"], "end", "{answer}");
        assert_eq!(region.network.wait_for(&imsi, 1)[0].text, "waits");
        // And what handsets send is taken by any.
        let tpdu = saying(
            "from a handset",
            SmsSubmit {
                message_reference: at as u8,
                destination_address: TpduAddress::international("12345"),
                ..SmsSubmit::default()
            },
        );
        let order = json!({
            "msisdn": number, "tpdu": crate::harness::map::hex(&tpdu), "version": 3, "point_code": own,
        });
        let answer = region.network.order("submit", order);
        assert_eq!(answer["dialogue"], "end", "{answer}");
    }
    region.cluster.nodes[2].kill();
    region.network.assert_content();
}

#[test]
fn each_node_shows_what_the_firewalls_of_all_have_found() {
    let map = "point_codes = [\"0.1.1\", \"0.1.2\", \"0.1.3\"]\n[gsm.map.firewall]\nmode = \"on\"\n\
               own_titles = [\"4917\"]\nown_numbers = [\"4916\"]\nvisited_titles = [\"33\"]";
    let region = Region::start(NEVER, map);
    for node in &region.cluster.nodes {
        super::until_active(node, &[region.gateway]);
    }
    region.network.node(ABROAD, json!({ "kind": "msc" }));
    let (number, _) = region.network.subscriber(1, json!({}));
    for own in &OWN[..2] {
        let tpdu = crate::harness::map::hex(&crate::harness::from_handset("12345", "spoofed"));
        let answer = region.network.order(
            "submit",
            json!({
                "msisdn": number, "tpdu": tpdu, "version": 3, "node": ABROAD, "point_code": own,
            }),
        );
        assert!(answer.get("error").is_some(), "{answer}");
    }
    for node in &region.cluster.nodes {
        until("both nodes' findings as one", || {
            let found = node.admin().get("/v1/gsm/home")["firewall"].clone();
            let newest = &found[0];
            let nodes = newest["nodes"].as_array().map_or(0, Vec::len);
            let is_it = newest["rule"] == "spoofed" && newest["calling"] == ABROAD;
            (is_it && nodes == 2 && newest["count"] == 2).then_some(())
        });
    }
    let mut own = 0;
    for node in &region.cluster.nodes {
        let shown = node.admin().get("/v1/gsm/home?scope=node");
        own += shown["firewall"].as_array().map_or(0, Vec::len);
    }
    assert_eq!(own, 2, "those of each node alone");
    region.network.assert_content();
}

#[test]
fn messages_survive_nodes_that_change_while_subscribers_come_and_go() {
    let mut region = Region::start(SOON, super::SHORT_TIMERS);
    let subscribers = region.network.subscribers(10);
    let mut now = region.one_of(&[0, 1, 2]);
    let mut alive = vec![0, 1, 2];
    let mut expected = vec![Vec::new(); subscribers.len()];
    // The load balancer of a test: a node that stays.
    let stays = (0..3).find(|node| *node != now).unwrap();
    let mut esme = region.esme(stays);
    for at in 0..60 {
        let to = at % subscribers.len();
        let (number, _) = &subscribers[to];
        if at % 20 == 5 {
            let away = json!({ "msisdn": number, "forward": ["absent:1", "ok"] });
            region.network.order("subscriber", away);
        }
        let text = format!("number {at}");
        esme.submit(submit(number, &text));
        expected[to].push(text);
        if at == 30 && now != stays {
            region.cluster.nodes[now].kill();
            alive.retain(|node| *node != now);
            now = region.one_of(&alive);
        }
    }
    for ((_, imsi), texts) in subscribers.iter().zip(&expected) {
        let mut got = all_of(&region.network, imsi, texts);
        // What was under way at the kill may come twice.
        got.dedup();
        assert_eq!(&got, texts, "{imsi}");
    }
    assert_eq!(region.network.count("overlaps"), 0);
    region.network.assert_content();
}
