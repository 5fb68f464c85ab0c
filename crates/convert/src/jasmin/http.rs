//! HTTP client connectors, to which MO routes lead, as accounts whose messages go to a URL by callback, in Jasmin's own
//! form.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::read::Captured;
use crate::ConversionNotes;
use crate::draft::{ConfigDraft, DraftTable, NO_PASSWORD, list};

/// The account of each connector.
pub(super) type HttpAccounts = BTreeMap<String, String>;

/// Adds an account for each connector. Call it before operators are added, which may not be named like accounts.
pub(super) fn accounts(
    captured: &Captured,
    draft: &mut ConfigDraft,
    notes: &mut ConversionNotes,
) -> HttpAccounts {
    let mut known = HttpAccounts::new();
    for record in &captured.http {
        if known.contains_key(&record.name) {
            continue;
        }
        let url = record.given("url").unwrap_or_default();
        let Some((is_https, host)) = parts_of(url) else {
            let what = format!("httpccm {}: {url:?}", record.name);
            let instead =
                "left out: that is no URL without a user; write `callback_url` of an account";
            notes.must(&record.place, what, instead);
            continue;
        };
        let mut table = DraftTable::of(&record.place, "httpccm");
        table.text("deliver_by", "callback");
        table.text("callback_url", url);
        let is_get = record
            .given("method")
            .is_some_and(|method| method.eq_ignore_ascii_case("get"));
        table.text(
            "callback_format",
            if is_get { "jasmin_get" } else { "jasmin" },
        );
        // Without encryption, and to addresses that are not public, only by name.
        if !is_https || host.parse::<IpAddr>().is_ok() {
            table.set("callback_allow_private", list(&[host]));
        }
        let name = draft.account_id(&record.name);
        if draft.account(&name, NO_PASSWORD, table, &record.place, notes) {
            let what = format!("httpccm {} is the account {name:?}", record.name);
            let instead =
                "its messages go to the URL; nobody can bind as it before it has a password";
            notes.nothing(&record.place, what, instead);
            known.insert(record.name.clone(), name);
        }
    }
    known
}

/// Whether a URL is of HTTPS, and its host; `None` for what callbacks cannot go to.
fn parts_of(url: &str) -> Option<(bool, &str)> {
    let (is_https, rest) = match url.strip_prefix("https://") {
        Some(rest) => (true, rest),
        None => (false, url.strip_prefix("http://")?),
    };
    let authority = rest.split(['/', '?']).next()?;
    if authority.contains('@') || url.contains(['#', ' ']) {
        return None;
    }
    let host = match authority.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?.0,
        None => authority.split(':').next()?,
    };
    (!host.is_empty()).then_some((is_https, host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_urls() {
        for (url, found) in [
            ("http://10.10.20.125/mo.php", Some((false, "10.10.20.125"))),
            (
                "https://example.com:8443/a?b=c",
                Some((true, "example.com")),
            ),
            ("http://[2001:db8::1]:80", Some((false, "2001:db8::1"))),
            ("ftp://example.com/", None),
            ("http://user@example.com/", None),
            ("http:///mo", None),
            ("", None),
        ] {
            assert_eq!(parts_of(url), found, "{url}");
        }
    }
}
