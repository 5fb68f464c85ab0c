//! Checks of `[http.oidc]`.

use http::Uri;

use super::Findings;
use crate::{OIDC_CALLBACK, Oidc};

pub(super) fn check_oidc(oidc: &Oidc, found: &mut Findings) {
    let key = |name: &str| format!("http.oidc.{name}");
    let Some(issuer) = &oidc.issuer else {
        if *oidc != Oidc::default() {
            found.problem(
                key("issuer"),
                "is missing; write its URL, or remove [http.oidc]",
            );
        }
        return;
    };
    match address(issuer) {
        None => found.problem(key("issuer"), "is no URL; write \"https://sso.example\""),
        Some(url) if url.is_plain && !url.is_near => found.problem(
            key("issuer"),
            "must begin with https://, or everybody on the way may say who somebody is",
        ),
        Some(_) => {}
    }
    check_redirect(&key("redirect_url"), oidc.redirect_url.as_deref(), found);
    found.require(
        &key("client_id"),
        !oidc.client_id.is_empty(),
        "is missing; it is how the issuer knows this SMSC",
    );
    let roles = [&oidc.role_read, &oidc.role_operate, &oidc.role_admin];
    found.require(
        &key("role_read"),
        roles.iter().any(|words| !words.is_empty()),
        "is empty, like role_operate and role_admin, so nobody is let in; name a group in one of them",
    );
}

fn check_redirect(key: &str, url: Option<&str>, found: &mut Findings) {
    let Some(url) = url else {
        let message = format!(
            "is missing; write the console's address and {OIDC_CALLBACK}, such as \"https://smsc.example{OIDC_CALLBACK}\""
        );
        return found.problem(key, message);
    };
    match address(url) {
        Some(url) if url.path == OIDC_CALLBACK => {
            if url.is_plain && !url.is_near {
                let message = "begins with http://, so that sessions cross the network in clear; serve the console by https";
                found.warn(key, message);
            }
        }
        _ => {
            let message = format!(
                "must be a URL whose path is {OIDC_CALLBACK}, such as \"https://smsc.example{OIDC_CALLBACK}\""
            );
            found.problem(key, message);
        }
    }
}

/// What matters of a URL.
struct UrlParts {
    path: String,
    /// By HTTP without TLS.
    is_plain: bool,
    /// On this machine.
    is_near: bool,
}

/// `None` for what is no URL of HTTP, and for one with a user, a query or a fragment.
fn address(url: &str) -> Option<UrlParts> {
    let uri: Uri = url.parse().ok().filter(|_| !url.contains(['#', '@']))?;
    let is_plain = match uri.scheme_str()? {
        "http" => true,
        "https" => false,
        _ => return None,
    };
    let host = uri.host().filter(|host| !host.is_empty())?;
    let near = ["localhost", "127.0.0.1", "[::1]"];
    uri.query().is_none().then(|| UrlParts {
        path: uri.path().to_owned(),
        is_plain,
        is_near: near.contains(&host),
    })
}
