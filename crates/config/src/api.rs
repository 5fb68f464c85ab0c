//! `[api]`: the HTTP API for accounts, on an address of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;

use super::section::settings;
use super::value::{DAY, MINUTE};

settings! {
    /// `[api]`: the HTTP API for accounts, on nodes with the role `api`.
    pub struct Api {
        /// Address, such as `0.0.0.0:8081`; without it, the API is off.
        listen: Option<SocketAddr> = None,
        /// PEM file of the certificate chain; it enables HTTPS. Reloaded when it changes.
        tls_cert: Option<PathBuf> = None,
        /// PEM file of the certificate's key.
        tls_key: Option<PathBuf> = None,
        /// Time for the TLS handshake.
        @positive tls_handshake_timeout: Duration = Duration::from_secs(30),
        /// IP addresses and CIDR blocks of load balancers whose X-Forwarded-For is trusted.
        @network proxy_from: Vec<String> = Vec::new(),
        /// Origins of web pages that may call the API: `https://app.example.com`. Do not put keys that may submit into pages.
        @must(|origin| is_origin(origin), "is no origin: write scheme, host and port as browsers do, such as \"https://app.example.com\"")
        cors_origins: Vec<String> = Vec::new(),
        /// Most connections of one address without a valid key; another one closes the one idle longest.
        @at_least(1) strangers: usize = 256,
        /// Most concurrent requests of one key or account; more get status 429, or the answer of Kannel or Jasmin.
        @at_least(1) max_requests: usize = 256,
        /// Serve XML-RPC at `/RPC2`, too (docs/xml-rpc.md).
        xml_rpc: bool = false,
        /// Serve Kannel's `/cgi-bin/sendsms`; clients log in with system_id and password (docs/coming-from.md).
        kannel: bool = false,
        /// Serve Jasmin's `/send`, `/rate`, `/balance` and `/ping`; clients log in with system_id and password (docs/coming-from.md).
        jasmin: bool = false,
        /// Threads of the HTTP server.
        @at_least(1) workers: usize = 2,
        /// Lifetime of an Idempotency-Key; a repeated request gets the first answer.
        @between(MINUTE, 7 * DAY) idempotency: Duration = Duration::from_secs(48 * 3_600),
        /// Most Idempotency-Keys in the embedded store, about 40 octets of memory each; no limit with PostgreSQL. One account may use half of what the others leave; further new keys get status 503.
        @between(1, 50_000_000) idempotency_keys: usize = 2_000_000,
    }
}

/// Whether a browser could send this as the origin of a page (RFC 6454 section 6.2): no path, no blank, small letters.
fn is_origin(text: &str) -> bool {
    let parsed = text.parse::<Uri>();
    let is_whole = |uri: Uri| {
        let scheme = uri
            .scheme_str()
            .filter(|scheme| matches!(*scheme, "http" | "https"));
        let authority = uri
            .authority()
            .filter(|authority| !authority.as_str().contains('@'));
        scheme.zip(authority).is_some_and(|(scheme, authority)| {
            text == format!("{scheme}://{authority}").to_lowercase()
        })
    };
    parsed.is_ok_and(is_whole)
}
