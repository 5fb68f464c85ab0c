//! Checks of a connection to Kafka. An address may hold a password by mistake, so no message repeats any of it.

use super::Findings;
use crate::outputs::is_host_and_port;
use crate::{EventSink, SaslMechanism};

/// The longest name of a topic.
const LONGEST_TOPIC: usize = 249;

/// Checks the brokers, TLS and the login of the sink `base`.
pub(super) fn check_kafka(base: &str, sink: &EventSink, found: &mut Findings) {
    let key = |field: &str| format!("{base}.{field}");
    found.require(
        &key("servers"),
        !sink.servers.is_empty(),
        "is missing; write [\"kafka.example:9092\"]",
    );
    for (index, server) in sink.servers.iter().enumerate() {
        let place = format!("{base}.servers[{index}]");
        if server.contains('@') {
            let message = format!("must hold no user; log in with {base}.password_file");
            found.problem(place, message);
        } else if !is_host_and_port(server) {
            let message = "is no address of a broker of Kafka; write \"kafka.example:9092\"";
            found.problem(place, message);
        }
    }
    found.require(
        &key("password_file"),
        sink.user.is_some() == sink.password_file.is_some(),
        "and `user` belong together",
    );
    found.require(
        &key("key_file"),
        sink.cert_file.is_some() == sink.key_file.is_some(),
        "and `cert_file` belong together",
    );
    for (field, is_set) in [
        ("ca_file", sink.ca_file.is_some()),
        ("cert_file", sink.cert_file.is_some()),
    ] {
        let is_used = sink.tls || !is_set;
        found.require(&key(field), is_used, "is of use only with `tls = true`");
    }
    if sink.user.is_some() && sink.sasl_mechanism == SaslMechanism::Plain && !sink.tls {
        let message = "sends the password over the network as it is; set `tls = true`, or write \"SCRAM-SHA-512\"";
        found.warn(key("sasl_mechanism"), message);
    }
}

/// Whether it is a name of a topic.
pub(super) fn is_topic(topic: &str) -> bool {
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || b"._-".contains(&octet);
    !matches!(topic, "" | "." | "..") && topic.len() <= LONGEST_TOPIC && topic.bytes().all(is_plain)
}
