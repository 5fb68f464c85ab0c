//! `[api]`: the HTTP API for accounts, on an address of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::section::section;

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
        tls_handshake_timeout: Duration = Duration::from_secs(30),
        /// IP addresses and CIDR blocks of load balancers, whose X-Forwarded-For has the address of the client.
        proxy_from: Vec<String> = Vec::new(),
        /// Origins whose pages may use the API from a browser, such as `https://app.example.com`. Keep keys that may send out of pages.
        cors_origins: Vec<String> = Vec::new(),
        /// Most connections of one address that have not shown a valid key; one more closes the one that has been idle for longest.
        strangers: usize = 256,
        /// Most concurrent requests of one key, or of one account with its password; more are answered with status 429, or as Kannel or Jasmin would.
        max_requests: usize = 256,
        /// Serve XML-RPC at `/RPC2`, too (docs/xml-rpc.md).
        xml_rpc: bool = false,
        /// Programs written for Kannel may submit at `/cgi-bin/sendsms`, with the system_id and the password of an account (docs/compatibility.md).
        kannel: bool = false,
        /// Programs written for Jasmin may submit at `/send` and ask `/rate`, `/balance` and `/ping`, with the system_id and the password of an account (docs/compatibility.md).
        jasmin: bool = false,
        /// Threads of the HTTP server.
        workers: usize = 2,
        /// How long the answer to a request with an Idempotency-Key is kept; a repetition within this time gets the same answer.
        idempotency: Duration = Duration::from_secs(48 * 3_600),
        /// Most Idempotency-Keys that the embedded store remembers, about 40 octets of memory each. One account may have half of what the others leave; beyond that, its requests with new keys are refused with status 503. With PostgreSQL there is no limit.
        idempotency_keys: usize = 2_000_000,
    }
}
