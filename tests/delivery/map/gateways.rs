//! Gateways that know their servers beforehand: fixed routing contexts, and connections by several own addresses.

use serde_json::json;

use super::{DELIVERED, NEVER, all_of, configured, is_active, reached_by, until_active};
use crate::harness::map::{MapNetwork, NETWORK_CONTEXT, Stp, map_subscriber};
use crate::harness::{Peer, Smsc, free_address, stat_of, submit, until};

/// The routing context of the SMSC.
const CONTEXT: u32 = 100;

#[test]
fn a_gateway_that_knows_the_smsc_by_its_context_and_address_takes_it() {
    let (own, network) = (free_address(), free_address());
    let stp = Stp::knowing(&[own], CONTEXT, network);
    let network = MapNetwork::known_as(&[stp.m3ua()], network, NETWORK_CONTEXT);
    let map = format!(
        "routing_context = {CONTEXT}\n[[gsm.map.gateways]]\naddress = \"{}\"\ntransport = \"tcp\"\nlocal = [\"{own}\"]\n",
        stp.m3ua()
    );
    let smsc = reached_by(Smsc::new(), NEVER, &map).start();
    until_active(&smsc, &[stp.m3ua()]);
    let (number, imsi) = network.subscriber(1, json!({}));
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(&number, "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    assert_eq!(network.texts(&imsi), ["hello"]);
    network.assert_content();
}

#[test]
fn two_connections_to_one_gateway_share_what_it_sends() {
    let (own, network) = ([free_address(), free_address()], free_address());
    let stp = Stp::knowing(&own, CONTEXT, network);
    let network = MapNetwork::known_as(&[stp.m3ua()], network, NETWORK_CONTEXT);
    let gateway = |own| {
        format!(
            "[[gsm.map.gateways]]\naddress = \"{}\"\ntransport = \"tcp\"\nlocal = [\"{own}\"]\n",
            stp.m3ua()
        )
    };
    let map = format!(
        "routing_context = {CONTEXT}\n{}{}",
        gateway(own[0]),
        gateway(own[1])
    );
    let smsc = reached_by(Smsc::new(), NEVER, &map).start();
    let connections = || {
        let shown = smsc.admin().get("/v1/gsm/home");
        let gateways = shown["connections"][0]["gateways"].as_array().cloned();
        gateways.unwrap_or_default()
    };
    until("both connections to be active", || {
        let all = connections();
        let active = all.iter().filter(|one| one["state"] == "active");
        (active.count() == 2).then_some(())
    });
    network.subscribers(10);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for at in 0..100 {
        let (number, _) = map_subscriber(at % 10);
        esme.submit(submit(&number, &format!("number {at}")));
    }
    for subscriber in 0..10 {
        let (_, imsi) = map_subscriber(subscriber);
        let texts: Vec<String> = (subscriber..100)
            .step_by(10)
            .map(|at| format!("number {at}"))
            .collect();
        assert_eq!(all_of(&network, &imsi, &texts), texts);
    }
    for connection in connections() {
        let received = connection["received_total"].as_u64().unwrap();
        assert!(received > 30, "{connection}");
    }
    network.assert_content();
    smsc.assert_no_panic();
}

#[test]
fn a_gateway_that_refuses_the_registration_is_no_way() {
    let refusing = Stp::refusing();
    let open = Stp::start();
    let network = MapNetwork::start(&[open.m3ua()]);
    let gateways = [refusing.m3ua(), open.m3ua()];
    let smsc = configured(Smsc::new(), &gateways, NEVER, "").start();
    until_active(&smsc, &[open.m3ua()]);
    network.subscribers(10);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for at in 0..10 {
        let (number, _) = map_subscriber(at);
        let id = esme.submit(submit(&number, "hello"));
        assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    }
    assert!(!is_active(&smsc, refusing.m3ua()));
    network.assert_content();
}

#[test]
fn a_check_says_as_the_start_does_that_the_kernel_has_no_sctp() {
    const CURE: &str = "load the module sctp (modprobe sctp)";
    // SCTP is the default.
    let map = "[[gsm.map.gateways]]\naddress = \"127.0.0.1:9\"\n";
    let smsc = reached_by(Smsc::new(), NEVER, map).start();
    let checked = smsc.run(&["check-config", "--config", "smsc.toml"]);
    assert!(checked.success, "{}", checked.stderr);
    let is_missing = !smsc::sctp::is_supported();
    let warning = format!("warning: gsm[0].map.gateways: {}", smsc::sctp::NOT_THERE);
    assert_eq!(
        checked.stdout.contains(&warning),
        is_missing,
        "{}",
        checked.stdout
    );
    if is_missing {
        until("the log to say so", || {
            smsc.log().contains(CURE).then_some(())
        });
    }
}
