//! The HTTP servers: tokens, certificates, load balancers, and what can be read on the way.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use secrecy::ExposeSecret;

use super::Findings;
use super::oidc::check_oidc;
use crate::setting::join;
use crate::{Config, HttpConfig};
use smsc_domain::allow::IpNetwork;

/// Tokens are sent with every request: fewer characters than this are guessed.
const SHORT_TOKEN: usize = 8;
/// A minute to a week: longer than a sender repeats a request.
const IDEMPOTENCY: RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(7 * 86_400);
/// About two gigabytes.
const MAX_IDEMPOTENCY_KEYS: usize = 50_000_000;

/// The admin API and the API of accounts.
pub(super) fn check(config: &Config, found: &mut Findings) {
    check_http(&config.http, found);
    check_api(config, found);
}

fn check_http(http: &HttpConfig, found: &mut Findings) {
    let token = http.admin_token.as_ref();
    if token.is_some_and(|token| token.expose_secret().is_empty()) {
        let message = "is empty; remove it to have one generated";
        found.problem("http.admin_token", message);
    }
    warn_open_doors(http, found);
    if http
        .health_listen
        .is_some_and(|own| own == http.listen && own.port() != 0)
    {
        found.problem("http.health_listen", "is http.listen; choose another port");
    }
    found.check_positive("http.audit_retention", http.audit_retention);
    check_oidc(&http.oidc, found);
    check_server(
        "http",
        CommonServer {
            tls_cert: &http.tls_cert,
            tls_key: &http.tls_key,
            proxy_from: &http.proxy_from,
            tls_handshake_timeout: http.tls_handshake_timeout,
            counts: [
                ("strangers", http.strangers),
                ("workers", http.workers),
                ("max_requests", http.max_requests),
            ],
        },
        found,
    );
}

fn check_api(config: &Config, found: &mut Findings) {
    let api = &config.api;
    check_server(
        "api",
        CommonServer {
            tls_cert: &api.tls_cert,
            tls_key: &api.tls_key,
            proxy_from: &api.proxy_from,
            tls_handshake_timeout: api.tls_handshake_timeout,
            counts: [
                ("strangers", api.strangers),
                ("workers", api.workers),
                ("max_requests", api.max_requests),
            ],
        },
        found,
    );
    found.require(
        "api.idempotency",
        IDEMPOTENCY.contains(&api.idempotency),
        "must be between 1m and 7d",
    );
    found.require(
        "api.idempotency_keys",
        (1..=MAX_IDEMPOTENCY_KEYS).contains(&api.idempotency_keys),
        "must be between 1 and 50000000",
    );
    for (at, origin) in api.cors_origins.iter().enumerate() {
        found.require(
            &format!("api.cors_origins[{at}]"),
            is_origin(origin),
            "is no origin: write scheme, host and port as browsers do, such as \"https://app.example.com\"",
        );
    }
    let Some(listen) = api.listen else { return };
    if listen.port() != 0 && listen == config.http.listen {
        found.problem("api.listen", "is http.listen; choose another port");
    }
    if !listen.ip().is_loopback() && api.tls_cert.is_none() && api.proxy_from.is_empty() {
        let message = format!(
            "keys and texts cross the network in clear at {listen}; set api.tls_cert and api.tls_key, \
             listen on 127.0.0.1, or name the balancer that speaks HTTPS in api.proxy_from"
        );
        found.warn("api.listen", message);
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

/// What the HTTP servers have in common.
struct CommonServer<'c> {
    tls_cert: &'c Option<PathBuf>,
    tls_key: &'c Option<PathBuf>,
    proxy_from: &'c [String],
    tls_handshake_timeout: Duration,
    /// Numbers that must not be 0.
    counts: [(&'static str, usize); 3],
}

fn check_server(table: &str, server: CommonServer<'_>, found: &mut Findings) {
    for (key, count) in server.counts {
        found.at_least_one(&join(table, key), count as u64);
    }
    found.check_positive(
        &join(table, "tls_handshake_timeout"),
        server.tls_handshake_timeout,
    );
    for (at, entry) in server.proxy_from.iter().enumerate() {
        if let Err(error) = entry.parse::<IpNetwork>() {
            found.problem(format!("{table}.proxy_from[{at}]"), error.to_string());
        }
    }
    let missing = match (server.tls_cert, server.tls_key) {
        (Some(_), None) => ("tls_key", "tls_cert"),
        (None, Some(_)) => ("tls_cert", "tls_key"),
        _ => return,
    };
    let message = format!("is missing; set it beside {}", join(table, missing.1));
    found.problem(join(table, missing.0), message);
}

/// What works, and lets in more people than are meant.
fn warn_open_doors(http: &HttpConfig, found: &mut Findings) {
    let token = http.admin_token.as_ref().map(|token| token.expose_secret());
    if token.is_some_and(|token| (1..SHORT_TOKEN).contains(&token.len())) {
        let message = format!(
            "has fewer than {SHORT_TOKEN} characters and can be guessed; remove it to have one generated"
        );
        found.warn("http.admin_token", message);
    }
    if http.listen.ip().is_loopback() {
        return;
    }
    if http.tls_cert.is_none() && http.proxy_from.is_empty() {
        let message = format!(
            "tokens and numbers cross the network in clear at {}; set http.tls_cert and http.tls_key, \
             listen on 127.0.0.1, or name the balancer that speaks HTTPS in http.proxy_from",
            http.listen
        );
        found.warn("http.listen", message);
    }
}
