//! `[resolver]`: where it is known which network a number belongs to.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::section::{choice, section};

const SECOND: Duration = Duration::from_secs(1);

choice! {
    /// What becomes of a message whose number could not be looked up.
    pub enum LookupFailure {
        /// It is routed by what the table says, or without a network.
        Route = "route",
        /// It ends UNDELIVERABLE.
        Refuse = "refuse",
    }
}

section! {
    /// `[resolver]`: which network a number belongs to, for routes with `network` and accounts with `resolve`.
    pub struct Resolver {
        /// File with lines of `prefix,network`: which range of numbers was given to which network. Read again when it changes.
        table: Option<PathBuf> = None,
        /// Service that is asked for each number, such as `https://mnp.example/v1/{msisdn}`; it knows of ported numbers. Without it only the table counts.
        url: Option<String> = None,
        /// Sent to the service as a bearer token.
        token: Option<SecretString> = None,
        /// File with the token, instead of `token`.
        token_file: Option<PathBuf> = None,
        /// File with the certificates (PEM) that the service's must descend from; without it, those that the machine trusts.
        ca_file: Option<PathBuf> = None,
        /// Where the network is in the service's answer: a JSON pointer (RFC 6901). Null, nothing there, or status 404: the number is not ported.
        pointer: String = "/network".to_owned(),
        /// A question that is not answered within this time has failed.
        timeout: Duration = 2 * SECOND,
        /// Most questions at once.
        concurrency: usize = 32,
        /// Pauses after the first, second, … failed question for a number; after the last one it is given up.
        delays: Vec<Duration> = vec![Duration::from_millis(500), 2 * SECOND, 5 * SECOND],
        /// What becomes of messages to a number that was given up.
        on_failure: LookupFailure = LookupFailure::Route,
        /// After so many failures in a row the service is left alone for `breaker_pause`; meanwhile every number is given up at once, or after its pauses when `on_failure` is `refuse`.
        breaker_failures: u32 = 10,
        /// Then one question at a time tries whether it is back.
        breaker_pause: Duration = 10 * SECOND,
        /// Numbers whose network each node keeps in memory; with `[redis]`, answers are shared there too.
        cache: usize = 100_000,
        /// How long an answer counts.
        cache_for: Duration = Duration::from_secs(86_400),
        /// How long it counts that a number is not ported.
        cache_unknown_for: Duration = Duration::from_secs(600),
    }
}
