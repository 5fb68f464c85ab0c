//! Checks of `[nats]`. An address may hold a password by mistake, so no message repeats any of it.

use super::Findings;
use crate::Config;

/// How the address of a server begins.
const SCHEMES: [&str; 2] = ["nats://", "tls://"];

pub(super) fn check_nats(config: &Config, found: &mut Findings) {
    let nats = &config.nats;
    found.check_positive("nats.timeout", nats.timeout);
    for (index, server) in nats.servers.iter().enumerate() {
        let address = SCHEMES.iter().find_map(|one| server.strip_prefix(one));
        let key = format!("nats.servers[{index}]");
        match address {
            None | Some("") => found.problem(
                key,
                "is no address of a NATS server; write \"nats://nats.example:4222\"",
            ),
            Some(address) if address.contains('@') => {
                found.problem(key, "must hold no user; log in with nats.credentials_file")
            }
            Some(_) => {}
        }
    }
    let is_token = |token: &str| {
        !token.is_empty()
            && token
                .bytes()
                .all(|octet| octet.is_ascii_graphic() && !b"*>".contains(&octet))
    };
    found.require(
        "nats.subject",
        nats.subject.split('.').all(is_token),
        "must be a subject without wildcards, such as \"sms.events.status\"",
    );
}
