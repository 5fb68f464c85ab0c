//! `[api]`: the HTTP API for accounts, on an address of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;

use super::section::section;

/// How long an answer is kept at least and at most: longer than a sender repeats a request.
const MINUTE: Duration = Duration::from_secs(60);
const WEEK: Duration = Duration::from_secs(7 * 86_400);

section! {
    /// `[api]`: the HTTP API by which accounts submit messages. It is served by nodes with the role `api`.
    pub struct Api {
        /// Address of the API, such as `0.0.0.0:8081`; without it, the API is off.
        listen: Option<SocketAddr> = None,
        /// File with the certificate chain (PEM); with it, the API is served by HTTPS. Read again when it changes.
        tls_cert: Option<PathBuf> = None,
        /// File with the key of the certificate (PEM).
        tls_key: Option<PathBuf> = None,
        /// A client that has not ended the TLS handshake within this time is disconnected.
        @positive tls_handshake_timeout: Duration = Duration::from_secs(30),
        /// IP addresses and CIDR blocks of load balancers, whose X-Forwarded-For has the address of the client.
        @network proxy_from: Vec<String> = Vec::new(),
        /// Origins whose pages may use the API from a browser, such as `https://app.example.com`. Keep keys that may send out of pages.
        @must(|origin| is_origin(origin), "is no origin: write scheme, host and port as browsers do, such as \"https://app.example.com\"")
        cors_origins: Vec<String> = Vec::new(),
        /// Most connections of one address that have not shown a valid key; one more closes the one that has been idle for longest.
        @at_least(1) strangers: usize = 256,
        /// Most concurrent requests of one key, or of one account with its password; more are answered with status 429, or as Kannel or Jasmin would.
        @at_least(1) max_requests: usize = 256,
        /// Serve XML-RPC at `/RPC2`, too (docs/xml-rpc.md).
        xml_rpc: bool = false,
        /// Programs written for Kannel may submit at `/cgi-bin/sendsms`, with the system_id and the password of an account (docs/coming-from.md).
        kannel: bool = false,
        /// Programs written for Jasmin may submit at `/send` and ask `/rate`, `/balance` and `/ping`, with the system_id and the password of an account (docs/coming-from.md).
        jasmin: bool = false,
        /// Threads of the HTTP server.
        @at_least(1) workers: usize = 2,
        /// How long the answer to a request with an Idempotency-Key is kept; a repetition within this time gets the same answer.
        @between(MINUTE, WEEK) idempotency: Duration = Duration::from_secs(48 * 3_600),
        /// Most Idempotency-Keys that the embedded store remembers, about 40 octets of memory each. One account may have half of what the others leave; beyond that, its requests with new keys are refused with status 503. With PostgreSQL there is no limit.
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
