//! Checks of `[gsm.map]`: what MAP needs, and keys that are for GSUP only.

use std::collections::HashSet;

use super::{Findings, accounts};
use crate::outputs::is_host_and_port;
use crate::{Config, GatewayTransport, Gsm, MapConfig, MapFirewallMode, MapRoutedBy};

/// A network over GSUP has no such table.
pub(super) fn check_no_map(base: &str, one: &Gsm, found: &mut Findings) {
    let message = "means nothing with protocol = \"gsup\"; write protocol = \"map\", or remove it";
    found.require(&format!("{base}.map"), one.map.is_none(), message);
}

/// A network over MAP.
pub(super) fn check_map(config: &Config, index: usize, base: &str, found: &mut Findings) {
    let one = &config.gsm[index];
    check_keys_of_gsup(base, one, found);
    let Some(map) = &one.map else {
        let message = "is missing; write a table with gateways, point_code and destination, as in docs/gsm.md";
        return found.problem(format!("{base}.map"), message);
    };
    let base = format!("{base}.map");
    let key = |name: &str| format!("{base}.{name}");
    check_gateways(&key("gateways"), map, found);
    check_point_codes(config, &base, map, found);
    check_titles(&base, map, found);
    let message = "is missing; write the point code of the STP, such as \"1.2.1\"";
    found.require(&key("destination"), !map.destination.is_empty(), message);
    let message = "is one way to address the HLR, and hlr is another; remove one";
    let are_two = map.hlr.is_some() && map.hlr_point_code.is_some();
    found.require(&key("hlr_point_code"), !are_two, message);
    let message = "says what routing_context says already; remove one";
    let are_two = map.register && map.routing_context.is_some();
    found.require(&key("register"), !are_two, message);
    let nodes: HashSet<_> = map.serving_nodes.iter().collect();
    let message = "has one twice; write each once";
    let is_once = nodes.len() == map.serving_nodes.len();
    found.require(&key("serving_nodes"), is_once, message);
    check_firewall(&base, map, found);
    check_same_point_code(config, index, found);
    check_home_routing(config, index, &key("home_routing"), found);
}

/// Messages that others bring need an account, and our own questions another HLR than us.
fn check_home_routing(config: &Config, index: usize, base: &str, found: &mut Findings) {
    let one = &config.gsm[index];
    let map = one.map();
    let Some(home) = &map.home_routing else {
        return;
    };
    let key = |name: &str| format!("{base}.{name}");
    let message = "is missing, and home_routing needs it: write the account whose messages those of others become";
    let account = format!("gsm[{index}].account");
    found.require(&account, one.account.is_some(), message);
    if let Some(account) = home.account() {
        found.check_known(&key("deliver"), "account", account, &accounts(config));
        return;
    }
    let finds_hlr =
        map.hlr.is_some() || map.hlr_point_code.is_some() || map.hlr_translation_type.is_some();
    if !finds_hlr {
        let message = "delivers through this network, whose HLR is asked by the numbers of subscribers, as others ask us: unless the STP tells them apart, write map.hlr, map.hlr_point_code or map.hlr_translation_type";
        found.warn(key("deliver"), message);
    }
}

/// Who is ours has to be said both ways: a number of ours comes from our own network or from abroad.
fn check_firewall(base: &str, map: &MapConfig, found: &mut Findings) {
    let firewall = &map.firewall;
    let knows_one = !firewall.own_numbers.is_empty() && firewall.own_titles.is_empty();
    if firewall.mode != MapFirewallMode::Off && knows_one {
        let message = "is empty, so that all nodes but this one count as abroad; write the first digits of the global titles of our own network";
        found.warn(format!("{base}.firewall.own_titles"), message);
    }
}

/// Keys that would do nothing.
fn check_keys_of_gsup(base: &str, one: &Gsm, found: &mut Findings) {
    let usual = Gsm::default();
    let gateways = "means nothing with protocol = \"map\"; write map.gateways instead";
    let name = "means nothing with protocol = \"map\", where point codes are the names; remove it";
    let timer = "means nothing with protocol = \"map\"; write map.timer_long instead";
    let beat = "means nothing with protocol = \"map\"; write map.beat_interval and map.beat_timeout instead";
    for (key, is_usual, message) in [
        ("address", one.address.is_empty(), gateways),
        ("ipa_name", one.ipa_name == usual.ipa_name, name),
        ("prove_name", one.prove_name, name),
        (
            "request_timeout",
            one.request_timeout == usual.request_timeout,
            timer,
        ),
        (
            "ping_interval",
            one.ping_interval == usual.ping_interval,
            beat,
        ),
        ("ping_timeout", one.ping_timeout == usual.ping_timeout, beat),
    ] {
        found.require(&format!("{base}.{key}"), is_usual, message);
    }
}

fn check_gateways(key: &str, map: &MapConfig, found: &mut Findings) {
    let message = "is empty; write at least one, such as [{ address = \"stp.example\" }]";
    found.require(key, !map.gateways.is_empty(), message);
    let mut known = HashSet::new();
    for (index, gateway) in map.gateways.iter().enumerate() {
        let key = |name: &str| format!("{key}[{index}].{name}");
        let address = gateway.host_and_port();
        if gateway.address.is_empty() {
            found.problem(key("address"), "is missing; write the host of the gateway");
        } else if !is_host_and_port(&address) {
            let message = format!(
                "{:?} is not an address; write \"host:port\"",
                gateway.address
            );
            found.problem(key("address"), message);
        } else if !known.insert((address, &gateway.local)) {
            let message =
                "is that of another gateway; write each once, or with other addresses in local";
            found.problem(key("address"), message);
        }
        let is_one = gateway.local.len() <= 1;
        let message = "has several addresses, and TCP is connected from one; remove the others";
        let is_possible = is_one || gateway.transport == GatewayTransport::Sctp;
        found.require(&key("local"), is_possible, message);
        let ports: HashSet<u16> = gateway
            .own_addresses()
            .iter()
            .map(|own| own.port())
            .collect();
        let message =
            "has several ports, and an association has one; write the same port with each address";
        found.require(&key("local"), ports.len() <= 1, message);
    }
}

fn check_point_codes(config: &Config, base: &str, map: &MapConfig, found: &mut Findings) {
    let key = |name: &str| format!("{base}.{name}");
    match (&map.point_code, map.point_codes.as_slice()) {
        (None, []) => {
            let message =
                "is missing; write the point code of this SMSC, such as \"1.2.3\", or point_codes";
            found.problem(key("point_code"), message);
        }
        (Some(_), [_, ..]) => {
            let message = "is that of each node, and point_code that of all; remove one";
            found.problem(key("point_codes"), message);
        }
        (Some(_), []) if config.postgres.url.is_some() => {
            let message = "is one for all nodes, so only one node is connected; write point_codes for all of them";
            found.warn(key("point_code"), message);
        }
        _ => {}
    }
    let codes: Vec<u32> = (0..=u8::MAX)
        .map_while(|node| map.point_code_of(node))
        .collect();
    if !map.shares_point_code() {
        let all: HashSet<&u32> = codes.iter().collect();
        let message = "has one twice; each node has its own";
        found.require(&key("point_codes"), all.len() == codes.len(), message);
    }
    let is_other = |code: &u32| map.destination_code() != Some(*code);
    let message = "is the point code of this SMSC; write that of the STP";
    found.require(&key("destination"), codes.iter().all(is_other), message);
}

/// With one global title for all nodes, the answer to one of them would come to any.
fn check_titles(base: &str, map: &MapConfig, found: &mut Findings) {
    let key = format!("{base}.global_titles");
    let is_one = map.global_titles.is_empty() || map.global_title.is_none();
    let message = "are those of single nodes, and global_title is that of all; remove one";
    found.require(&key, is_one, message);
    let (titles, codes) = (map.global_titles.len(), map.point_codes.len());
    let message = "must be as many as point_codes, one for each node";
    found.require(&key, titles == codes || titles == 0, message);
    if titles == 0 && codes > 1 && map.routed_by == MapRoutedBy::GlobalTitle {
        let message = "is empty, so all nodes have one title: an answer comes to the right one only where the STP sends it to the point code that has asked";
        found.warn(&key, message);
    }
}

/// Two networks with one point code at one gateway would get the messages of one another.
fn check_same_point_code(config: &Config, index: usize, found: &mut Findings) {
    let one = config.gsm[index].map();
    let is_same = |other: &&Gsm| {
        let (enabled, other) = (other.enabled, other.map());
        let gateways: HashSet<String> =
            other.gateways.iter().map(|at| at.host_and_port()).collect();
        let shares = one
            .gateways
            .iter()
            .any(|at| gateways.contains(&at.host_and_port()));
        let code = |map: &MapConfig, node| map.point_code_of(node);
        let is_one = (0..=u8::MAX)
            .any(|node| code(&one, node).is_some() && code(&one, node) == code(&other, node));
        enabled && shares && is_one && one.routing_context == other.routing_context
    };
    let before = config.gsm[..index].iter().filter(|other| other.is_map());
    let other = before.filter(|_| config.gsm[index].enabled).find(is_same);
    if let Some(other) = other {
        let message = format!(
            "is also that of {:?} at a gateway of both, which then has one way for two",
            other.name
        );
        found.warn(format!("gsm[{index}].map.point_code"), message);
    }
}
