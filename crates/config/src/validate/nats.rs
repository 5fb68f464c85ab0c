//! Checks of every connection to NATS. An address may hold a password by mistake, so no message repeats any of it.

use super::Findings;
use crate::NatsConnection;

/// How the address of a server begins.
const SCHEMES: [&str; 2] = ["nats://", "tls://"];

/// Checks the servers and the login of the table `key`.
pub(super) fn check_connection(key: &str, nats: &NatsConnection, found: &mut Findings) {
    found.require(
        &format!("{key}.servers"),
        !nats.servers.is_empty(),
        "is missing; write [\"nats://nats.example:4222\"]",
    );
    check_servers(&format!("{key}.servers"), &nats.servers, found);
    let ways = [
        nats.credentials_file.is_some(),
        nats.user.is_some(),
        nats.token_file.is_some(),
    ];
    found.require(
        &format!("{key}.credentials_file"),
        ways.iter().filter(|is| **is).count() < 2,
        "is not the only login: choose `credentials_file`, `user` with `password_file`, or `token_file`",
    );
    found.require(
        &format!("{key}.password_file"),
        nats.user.is_some() == nats.password_file.is_some(),
        "and `user` belong together",
    );
}

/// Checks the addresses of the servers of one cluster.
pub(super) fn check_servers(key: &str, servers: &[String], found: &mut Findings) {
    let login = match key.strip_suffix(".servers") {
        Some(table) => format!("{table}.credentials_file"),
        None => "credentials_file of the sink or source".to_owned(),
    };
    for (index, server) in servers.iter().enumerate() {
        let address = SCHEMES.iter().find_map(|one| server.strip_prefix(one));
        let place = format!("{key}[{index}]");
        match address {
            None | Some("") => found.problem(
                place,
                "is no address of a NATS server; write \"nats://nats.example:4222\"",
            ),
            Some(address) if address.contains('@') => {
                found.problem(place, format!("must hold no user; log in with {login}"));
            }
            Some(_) => {}
        }
    }
}

/// Whether it is a subject that messages can be published on: tokens without wildcards.
pub(super) fn is_subject(subject: &str) -> bool {
    subject.split('.').all(is_token)
}

/// Whether it is one token of a subject, without wildcards.
pub(super) fn is_token(token: &str) -> bool {
    !token.is_empty()
        && token
            .bytes()
            .all(|octet| octet.is_ascii_graphic() && !b".*>".contains(&octet))
}
