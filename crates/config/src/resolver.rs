//! `[resolver]`: how the network of a number is found.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::section::{choice, section};

const SECOND: Duration = Duration::from_secs(1);
/// A thread each.
pub(super) const MAX_CONCURRENCY: usize = 256;

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
        @must(|url| has_place(url), "must be an http or https URL with {msisdn} where the number goes; write \"https://mnp.example/v1/{msisdn}\"")
        url: Option<String> = None,
        /// Sent to the service as a bearer token.
        token: Option<SecretString> = None,
        /// File with the token, instead of `token`.
        token_file: Option<PathBuf> = None,
        /// File with the authorities (PEM) that may issue the service's certificate; without it, those that the machine trusts.
        ca_file: Option<PathBuf> = None,
        /// Where the network is in the service's answer: a JSON pointer (RFC 6901). Null, a missing value, or status 404: the number is not ported.
        @must(|pointer| is_pointer(pointer), "is no JSON pointer; write \"/network\", or \"\" when the whole answer is the network")
        pointer: String = "/network".to_owned(),
        /// DNS servers that are asked for the number by ENUM (RFC 6116), such as `["10.0.0.53:53"]`; after the service of `url` where both are set. Without any, ENUM is not used.
        enum_servers: Vec<SocketAddr> = Vec::new(),
        /// The zone below which ENUM has the numbers.
        @must(|zone| is_zone(zone), "is no domain name; write \"e164.arpa\"")
        enum_zone: String = "e164.arpa".to_owned(),
        /// The parameter of a record's URI that names the network (RFC 4769): the routing number `rn`, or another one, such as `spn`.
        @must(|parameter| is_parameter(parameter), "is no parameter of a URI; write \"rn\"")
        enum_parameter: String = "rn".to_owned(),
        /// A request that is not answered within this time has failed.
        @positive timeout: Duration = 2 * SECOND,
        /// Most concurrent requests.
        @between(1, MAX_CONCURRENCY)
        concurrency: usize = 32,
        /// Pauses after the first, second, … failed question for a number; after the last one it is given up.
        @positive delays: Vec<Duration> = vec![Duration::from_millis(500), 2 * SECOND, 5 * SECOND],
        /// What happens to messages to a number whose look-up was given up.
        on_failure: LookupFailure = LookupFailure::Route,
        /// After this many failures in a row the service gets no requests for `breaker_pause`; meanwhile every look-up is given up at once, or after its pauses if `on_failure` is `refuse`.
        @at_least(1) breaker_failures: u32 = 10,
        /// How long the service gets no requests; then one request at a time tests it.
        @positive breaker_pause: Duration = 10 * SECOND,
        /// Numbers whose network each node keeps in memory; with `[redis]`, answers are shared there too.
        @at_least(1) cache: usize = 100_000,
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

/// Whether a service can be asked for a number there.
pub(super) fn has_place(url: &str) -> bool {
    let has_scheme = url.starts_with("http://") || url.starts_with("https://");
    has_scheme && url.contains("{msisdn}")
}

/// Whether it is a JSON pointer (RFC 6901).
pub(super) fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/')
}

/// Whether it is a domain name that has room for a number below it.
fn is_zone(text: &str) -> bool {
    let allowed = |octet: u8| octet.is_ascii_alphanumeric() || b"-_".contains(&octet);
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(allowed);
    text.len() <= 200 && text.trim_matches('.').split('.').all(is_label)
}

/// Whether it is the name of a parameter of a URI.
fn is_parameter(text: &str) -> bool {
    let allowed = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'-';
    !text.is_empty() && text.bytes().all(allowed)
}
