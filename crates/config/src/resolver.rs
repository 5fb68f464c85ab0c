//! `[resolver]`: how the network of a number is found.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::section::{choice, section};

const SECOND: Duration = Duration::from_secs(1);

choice! {
    /// What happens to a message whose number could not be looked up.
    pub enum LookupFailure {
        /// It is routed by the table, or without a network.
        Route = "route",
        /// It ends UNDELIVERABLE.
        Refuse = "refuse",
    }
}

section! {
    /// `[resolver]`: the network of a number, for routes with `network` and accounts with `resolve`.
    pub struct ResolverConfig {
        /// File with lines of `prefix,network`: which network each range of numbers belongs to. Read again when it changes.
        table: Option<PathBuf> = None,
        /// Service that knows ported numbers and is asked for each number, such as `https://mnp.example/v1/{msisdn}`. Without it only the table is used.
        url: Option<String> = None,
        /// Sent to the service as a bearer token.
        token: Option<SecretString> = None,
        /// File with the token, instead of `token`.
        token_file: Option<PathBuf> = None,
        /// File with the authorities (PEM) that may issue the service's certificate; without it, those that the machine trusts.
        ca_file: Option<PathBuf> = None,
        /// Where the network is in the service's answer: a JSON pointer (RFC 6901). Null, a missing value, or status 404: the number is not ported.
        pointer: String = "/network".to_owned(),
        /// DNS servers that are asked for the number by ENUM (RFC 6116), such as `["10.0.0.53:53"]`; after the service of `url` where both are set. Without any, ENUM is not used.
        enum_servers: Vec<SocketAddr> = Vec::new(),
        /// The zone below which ENUM has the numbers.
        enum_zone: String = "e164.arpa".to_owned(),
        /// The parameter of a record's URI that names the network (RFC 4769): the routing number `rn`, or another one, such as `spn`.
        enum_parameter: String = "rn".to_owned(),
        /// A request that is not answered within this time has failed.
        timeout: Duration = 2 * SECOND,
        /// Most concurrent requests.
        concurrency: usize = 32,
        /// Pauses after the first, second, … failed question for a number; after the last one it is given up.
        delays: Vec<Duration> = vec![Duration::from_millis(500), 2 * SECOND, 5 * SECOND],
        /// What happens to messages to a number whose look-up was given up.
        on_failure: LookupFailure = LookupFailure::Route,
        /// After this many failures in a row the service gets no requests for `breaker_pause`; meanwhile every look-up is given up at once, or after its pauses if `on_failure` is `refuse`.
        breaker_failures: u32 = 10,
        /// How long the service gets no requests; then one request at a time tests it.
        breaker_pause: Duration = 10 * SECOND,
        /// Numbers whose network each node keeps in memory; with `[redis]`, answers are shared there too.
        cache: usize = 100_000,
        /// How long an answer is used.
        cache_for: Duration = Duration::from_secs(86_400),
        /// How long the answer that a number is not ported is used.
        cache_unknown_for: Duration = Duration::from_secs(600),
    }
}

// === impl ResolverConfig ===

impl ResolverConfig {
    /// Whether anybody can be asked, besides the table.
    pub fn has_source(&self) -> bool {
        self.url.is_some() || !self.enum_servers.is_empty()
    }
}
