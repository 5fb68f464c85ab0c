//! Messages of mobiles that go to a URL: the keys of an account with callbacks.
//!
//! For HTTP connectors of Jasmin and services of Kannel.

use std::net::IpAddr;

use super::draft::{DraftTable, list};

/// Characters that no URL has, and where it ends without being sent.
const NOT_IN_A_URL: [char; 12] = ['#', ' ', '"', '<', '>', '\\', '^', '`', '{', '|', '}', '\t'];

/// Makes messages of an account go to a URL in this form; answers whether callbacks can go there.
pub(super) fn set(table: &mut DraftTable, url: &str, format: &str) -> bool {
    let Some((is_https, host)) = parts_of(url) else {
        return false;
    };
    table.text("deliver_by", "callback");
    table.text("callback_url", url);
    table.text("callback_format", format);
    // Without encryption, and to addresses that are not public, only by name.
    if !is_https || host.parse::<IpAddr>().is_ok() {
        table.set("callback_allow_private", list(&[host]));
    }
    true
}

/// Whether a URL is of HTTPS, and its host; `None` for what callbacks cannot go to.
fn parts_of(url: &str) -> Option<(bool, &str)> {
    let (is_https, rest) = match url.strip_prefix("https://") {
        Some(rest) => (true, rest),
        None => (false, url.strip_prefix("http://")?),
    };
    let authority = rest.split(['/', '?']).next()?;
    if authority.contains('@') || url.contains(NOT_IN_A_URL) || !url.is_ascii() {
        return None;
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let has_port = match port.strip_prefix(':') {
        Some(digits) => digits.parse::<u16>().is_ok_and(|port| port > 0),
        None => port.is_empty(),
    };
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-._:".contains(&octet);
    let is_host = !host.is_empty() && host.bytes().all(is_plain);
    (is_host && has_port).then_some((is_https, host))
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
            ("http://%n.example.com/", None),
            ("http://example.com:0/", None),
            (
                "http://example.com/?q=%k&t=%r",
                Some((false, "example.com")),
            ),
            ("http://example.com/{id}", None),
            ("", None),
        ] {
            assert_eq!(parts_of(url), found, "{url}");
        }
    }
}
