//! Validation of `[http.oidc]`.

use super::{refused, warnings};

/// A complete table, in which the keys of `other` are different.
fn table(other: &str) -> String {
    let mut lines: Vec<&str> = other.lines().collect();
    for line in [
        "issuer = 'https://sso.example'",
        "client_id = 'smsc'",
        "redirect_url = 'https://smsc.example/oidc/callback'",
        "role_read = ['staff']",
    ] {
        let key = line.split(" =").next().unwrap();
        if !lines.iter().any(|one| one.split(" =").next() == Some(key)) {
            lines.push(line);
        }
    }
    format!("[http.oidc]\n{}", lines.join("\n"))
}

#[test]
fn each_mistake_is_told_with_its_cure() {
    let redirect = "http.oidc.redirect_url: must be a URL whose path is /oidc/callback, such as \"https://smsc.example/oidc/callback\"";
    let cases = [
        (
            "issuer = 'sso.example'",
            "http.oidc.issuer: is no URL; write \"https://sso.example\"",
        ),
        (
            "issuer = 'https://sso.example?a=b'",
            "http.oidc.issuer: is no URL; write \"https://sso.example\"",
        ),
        (
            "issuer = 'http://sso.example'",
            "http.oidc.issuer: must begin with https://, or everybody on the way may say who somebody is",
        ),
        ("redirect_url = 'https://smsc.example/'", redirect),
        ("redirect_url = 'smsc.example/oidc/callback'", redirect),
        (
            "client_id = ''",
            "http.oidc.client_id: is missing; it is how the issuer knows this SMSC",
        ),
        (
            "client_secret = ''",
            "http.oidc.client_secret: is empty; remove it, or write it",
        ),
        (
            "role_read = []",
            "http.oidc.role_read: is empty, like role_operate and role_admin, so nobody is let in; name a group in one of them",
        ),
        (
            "label = ' '",
            "http.oidc.label: must have 1 to 40 characters",
        ),
        (
            "role_claim = ''",
            "http.oidc.role_claim: is empty; name a claim",
        ),
        ("scopes = ['a b']", "http.oidc.scopes[0]: must be one word"),
        (
            "session = '1m'",
            "http.oidc.session: must be between 5m and 7d",
        ),
        (
            "timeout = '0s'",
            "http.oidc.timeout: must be longer than \"0s\"",
        ),
    ];
    for (other, problem) in cases {
        assert_eq!(refused(&table(other)), [problem], "{other}");
    }
    let without = refused("[http.oidc]\nclient_id = 'smsc'");
    let problem = "http.oidc.issuer: is missing; write its URL, or remove [http.oidc]";
    assert_eq!(without, [problem]);
}

#[test]
fn a_console_in_clear_is_warned_about() {
    let plain = warnings(&table("redirect_url = 'http://smsc.example/oidc/callback'"));
    let said = "http.oidc.redirect_url: begins with http://";
    assert!(
        plain.iter().any(|warning| warning.contains(said)),
        "{plain:?}"
    );
    let near = warnings(&table(
        "redirect_url = 'http://127.0.0.1:8080/oidc/callback'",
    ));
    assert!(
        !near.iter().any(|warning| warning.contains("oidc")),
        "{near:?}"
    );
}
