//! Checks of the listeners for ESMEs.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::Findings;
use crate::{Config, ListenerConfig, ListenerProtocol};

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
        check_tls(&key(""), listener, found);
    }
}

/// Whether the files of TLS are complete; `base` stands before their keys.
pub(super) fn check_tls(base: &str, listener: &ListenerConfig, found: &mut Findings) {
    let (has_cert, has_key) = (listener.tls_cert.is_some(), listener.tls_key.is_some());
    found.check_pair(base, &listener.tls_cert, &listener.tls_key);
    found.require(
        &format!("{base}tls_client_ca"),
        listener.tls_client_ca.is_none() || has_cert || has_key,
        "means nothing without `tls_cert` and `tls_key`; set all three",
    );
    found.require(
        &format!("{base}tls_client_crl"),
        listener.tls_client_crl.is_none() || listener.tls_client_ca.is_some(),
        "means nothing without `tls_client_ca`; set both",
    );
}
