//! `[resolver]`: how the network of a number is found.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::section::settings;
use super::value::SECOND;

/// A thread each.
pub(super) const MAX_CONCURRENCY: usize = 256;

settings! {
    /// Handling of a message whose number could not be looked up.
    pub enum LookupFailure {
        /// Route by the table, or without a network.
        Route = "route",
        /// It ends UNDELIVERABLE.
        Refuse = "refuse",
    }

    /// `[resolver]`: the network of a number, for routes with `network` and accounts with `resolve`.
    pub struct ResolverConfig {
        /// File with lines of `prefix,network`. Reloaded when it changes.
        table: Option<PathBuf> = None,
        /// Service for ported numbers, asked for each number: `https://mnp.example/v1/{msisdn}`. Without it, only the table is used.
        @must(|url| has_place(url), "must be an http or https URL with {msisdn} where the number goes; write \"https://mnp.example/v1/{msisdn}\"")
        url: Option<String> = None,
        /// Bearer token for the service.
        token: Option<SecretString> = None,
        /// File with `token`.
        token_file: Option<PathBuf> = None,
        /// PEM file of trusted CAs, instead of the system's.
        ca_file: Option<PathBuf> = None,
        /// JSON pointer (RFC 6901) to the network in the answer. Null, no value or status 404: not ported.
        @must(|pointer| is_pointer(pointer), "is no JSON pointer; write \"/network\", or \"\" when the whole answer is the network")
        pointer: String = "/network".to_owned(),
        /// DNS servers for ENUM (RFC 6116), asked after `url`: `["10.0.0.53:53"]`; none: no ENUM.
        enum_servers: Vec<SocketAddr> = Vec::new(),
        /// Zone of ENUM.
        @must(|zone| is_zone(zone), "is no domain name; write \"e164.arpa\"")
        enum_zone: String = "e164.arpa".to_owned(),
        /// URI parameter with the network (RFC 4769): the routing number `rn`, or another such as `spn`.
        @must(|parameter| is_parameter(parameter), "is no parameter of a URI; write \"rn\"")
        enum_parameter: String = "rn".to_owned(),
        /// Waiting time for an answer.
        @positive timeout: Duration = 2 * SECOND,
        /// Most concurrent requests.
        @between(1, MAX_CONCURRENCY)
        concurrency: usize = 32,
        /// Pauses after the first, second, … failed look-up; after the last one it is given up.
        @positive delays: Vec<Duration> = vec![Duration::from_millis(500), 2 * SECOND, 5 * SECOND],
        /// Handling of messages whose look-up was given up.
        on_failure: LookupFailure = LookupFailure::Route,
        /// Consecutive failures that stop requests for `breaker_pause`; look-ups are given up at once then, or after `delays` with `on_failure = "refuse"`.
        @at_least(1) breaker_failures: u32 = 10,
        /// Length of the stop; then single requests test the service.
        @positive breaker_pause: Duration = 10 * SECOND,
        /// Numbers that each node caches; with `[redis]`, nodes share answers.
        @at_least(1) cache: usize = 100_000,
        /// Lifetime of an answer.
        cache_for: Duration = Duration::from_secs(86_400),
        /// Lifetime of the answer "not ported".
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
