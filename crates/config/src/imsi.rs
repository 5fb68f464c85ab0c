//! `[imsi]`: how the IMSI of a number is found.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::outputs::is_host_and_port;
use super::resolver::{MAX_CONCURRENCY, has_place, is_pointer};
use super::section::settings;
use super::value::SECOND;

settings! {
    /// Who is asked for the IMSI of a number.
    pub enum ImsiSource {
        /// The HLR of `hlr`.
        Hlr = "hlr",
        /// The service of `url`.
        Http = "http",
        /// A program at `local.socket` with the role `imsi`.
        Local = "local",
    }

    /// `[imsi]`: the IMSI of a number, for messages to GSM interfaces.
    pub struct ImsiConfig {
        /// File with lines of `number,IMSI`, or `prefix*,IMSI*` for ranges whose further digits are equal. Asked first; reloaded when it changes.
        table: Option<PathBuf> = None,
        /// Control interface of an OsmoHLR: `127.0.0.1:4259`.
        @must(|address| is_host_and_port(address), "is no address; write \"host:port\", such as \"127.0.0.1:4259\"")
        hlr: Option<String> = None,
        /// HTTP service: `https://hlr.example/v1/{msisdn}`.
        @must(|url| has_place(url), "must be an http or https URL with {msisdn} where the number goes; write \"https://hlr.example/v1/{msisdn}\"")
        url: Option<String> = None,
        /// Bearer token for the service.
        token: Option<SecretString> = None,
        /// File with `token`.
        token_file: Option<PathBuf> = None,
        /// PEM file of trusted CAs, instead of the system's.
        ca_file: Option<PathBuf> = None,
        /// JSON pointer (RFC 6901) to the IMSI, a text, in the answer. Null, no value or status 404: no such subscriber.
        @must(|pointer| is_pointer(pointer), "is no JSON pointer; write \"/imsi\", or \"\" when the whole answer is the IMSI")
        pointer: String = "/imsi".to_owned(),
        /// Order of the sources `hlr`, `http` (`url`) and `local` (a program at `local.socket`); the next one is asked when one fails or does not know the number.
        ask: Vec<ImsiSource> = vec![ImsiSource::Hlr, ImsiSource::Http],
        /// Waiting time for an answer.
        @positive timeout: Duration = 2 * SECOND,
        /// Most concurrent requests.
        @between(1, MAX_CONCURRENCY)
        concurrency: usize = 64,
        /// Pauses after the first, second, … failed look-up; the last one repeats until the message expires.
        @filled("is empty; write the pauses between questions for a number, such as [\"1s\", \"5s\"]")
        @positive delays: Vec<Duration> = vec![SECOND, 2 * SECOND, 5 * SECOND],
        /// Consecutive failures that stop requests to a source for `breaker_pause`; without any source, messages wait in the queue `internal:imsi`.
        @at_least(1) breaker_failures: u32 = 10,
        /// Length of the stop; then single requests test the source.
        @positive breaker_pause: Duration = 5 * SECOND,
        /// Numbers that each node caches; with `[redis]`, nodes share answers.
        @at_least(1) cache: usize = 100_000,
        /// Lifetime of an answer.
        cache_for: Duration = Duration::from_secs(3_600),
        /// Lifetime of the answer "no such subscriber".
        cache_unknown_for: Duration = Duration::from_secs(30),
    }
}

// === impl ImsiConfig ===

impl ImsiConfig {
    /// Whether anybody can be asked, besides the table.
    pub fn has_service(&self) -> bool {
        self.ask.iter().any(|source| match source {
            ImsiSource::Hlr => self.hlr.is_some(),
            ImsiSource::Http => self.url.is_some(),
            ImsiSource::Local => true,
        })
    }

    /// Whether any IMSI can become known.
    pub fn has_source(&self) -> bool {
        self.table.is_some() || self.has_service()
    }
}
