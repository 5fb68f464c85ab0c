//! The HTTP servers: tokens, certificates, load balancers, and what can be read on the way.

use secrecy::ExposeSecret;

use super::Findings;
use super::oidc::check_oidc;
use crate::{Config, HttpConfig};

/// Tokens are sent with every request: fewer characters than this are guessed.
const SHORT_TOKEN: usize = 8;

/// The admin API and the API of accounts.
pub(super) fn check(config: &Config, found: &mut Findings) {
    check_http(&config.http, found);
    check_api(config, found);
}

fn check_http(http: &HttpConfig, found: &mut Findings) {
    warn_open_doors(http, found);
    if http
        .health_listen
        .is_some_and(|own| own == http.listen && own.port() != 0)
    {
        found.problem("http.health_listen", "is http.listen; choose another port");
    }
    check_oidc(&http.oidc, found);
    found.check_pair("http.", &http.tls_cert, &http.tls_key);
}

fn check_api(config: &Config, found: &mut Findings) {
    let api = &config.api;
    found.check_pair("api.", &api.tls_cert, &api.tls_key);
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

/// What works, and lets in more people than are meant.
fn warn_open_doors(http: &HttpConfig, found: &mut Findings) {
    let token = http.admin_token.as_ref().map(|token| token.expose_secret());
    if token.is_some_and(|token| (1..SHORT_TOKEN).contains(&token.len())) {
        let message = format!(
            "has fewer than {SHORT_TOKEN} characters and can be guessed; remove it to have one generated"
        );
        found.warn("http.admin_token", message);
    }
    if http.listen.ip().is_loopback() || http.in_clear {
        return;
    }
    if http.tls_cert.is_none() && http.proxy_from.is_empty() {
        let message = format!(
            "tokens and numbers cross the network in clear at {}; set http.tls_cert and http.tls_key, \
             listen on 127.0.0.1, name the balancer that speaks HTTPS in http.proxy_from, or say by http.in_clear \
             that it is meant so",
            http.listen
        );
        found.warn("http.listen", message);
    }
}
