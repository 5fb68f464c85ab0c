//! Checks of the listeners for ESMEs.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::Findings;
use crate::{Config, ListenerConfig, ListenerProtocol};
use smsc_domain::allow::IpNetwork;

pub(super) fn check_listeners(config: &Config, found: &mut Findings) {
    found.require(
        "smpp.listen",
        !(config.smpp.listen.is_empty() && config.listener.is_empty()),
        "is empty; write \"127.0.0.1:2775\", or a [[listener]]",
    );
    let mut owners: HashMap<SocketAddr, String> = HashMap::new();
    let mut take = |key: &str, addresses: &[SocketAddr], found: &mut Findings| {
        for address in addresses.iter().filter(|address| address.port() != 0) {
            if let Some(other) = owners.insert(*address, key.to_owned()) {
                let cure = match other.as_str() {
                    "smpp.listen" => "choose another, or write smpp.listen = []",
                    _ => "choose another",
                };
                found.problem(key, format!("{address} is already in {other}; {cure}"));
            }
        }
    };
    take("smpp.listen", &config.smpp.listen, found);
    let mut names: HashMap<String, usize> = HashMap::new();
    for (index, listener) in config.listener.iter().enumerate() {
        let key = |name: &str| format!("listener[{index}].{name}");
        found.require(
            &key("listen"),
            !listener.listen.is_empty(),
            "is missing; write an address such as \"0.0.0.0:3550\"",
        );
        take(&key("listen"), &listener.listen, found);
        if listener.protocol == ListenerProtocol::Cmpp && listener.alphabet.is_some() {
            let message = "means nothing with CMPP, whose Msg_Fmt says what a text is; remove it";
            found.problem(key("alphabet"), message);
        }
        let first = *names.entry(listener.name()).or_insert(index);
        if first != index && !listener.listen.is_empty() {
            let message = format!("\"{}\" is already listener[{first}]", listener.name());
            found.problem(key("name"), message);
        }
        if listener.name.as_ref().is_some_and(String::is_empty) {
            found.problem(key("name"), "is empty; remove it, or write a name");
        }
        check_tls(key, listener, found);
        for (at, entry) in listener.proxy_from.iter().enumerate() {
            if let Err(error) = entry.parse::<IpNetwork>() {
                found.problem(format!("{}[{at}]", key("proxy_from")), error.to_string());
            }
        }
    }
}

/// Whether the files of TLS are complete, under the keys that this gives.
pub(super) fn check_tls(
    key: impl Fn(&str) -> String,
    listener: &ListenerConfig,
    found: &mut Findings,
) {
    match (&listener.tls_cert, &listener.tls_key) {
        (Some(_), None) => found.problem(key("tls_key"), "is missing; set it beside tls_cert"),
        (None, Some(_)) => found.problem(key("tls_cert"), "is missing; set it beside tls_key"),
        (None, None) if listener.tls_client_ca.is_some() => found.problem(
            key("tls_client_ca"),
            "means nothing without `tls_cert` and `tls_key`; set all three",
        ),
        _ => {}
    }
    if listener.tls_client_crl.is_some() && listener.tls_client_ca.is_none() {
        let message = "means nothing without `tls_client_ca`; set both";
        found.problem(key("tls_client_crl"), message);
    }
}
