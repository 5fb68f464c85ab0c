//! The URL that callbacks of an account go to, read by the same parser as the one that sends them.

use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;
use thiserror::Error;

/// A URL that callbacks can be sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackTarget {
    uri: Uri,
    host: String,
    port: u16,
    is_https: bool,
}

/// Why a text is no such URL.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotATarget {
    #[error("is no URL: {0}")]
    Malformed(String),
    #[error("must begin with https://, or http:// for a host of `callback_allow_private`")]
    Scheme,
    #[error("must not contain a user or a password; receivers know us by the signature")]
    UserInfo,
    #[error("must not contain `#`: a fragment is never sent")]
    Fragment,
}

// === impl CallbackTarget ===

impl CallbackTarget {
    /// Reads an absolute URL.
    ///
    /// # Errors
    /// See [`NotATarget`].
    pub fn parse(text: &str) -> Result<Self, NotATarget> {
        if text.contains('#') {
            return Err(NotATarget::Fragment);
        }
        let malformed = |error: &dyn std::fmt::Display| NotATarget::Malformed(error.to_string());
        let uri: Uri = text.parse().map_err(|error| malformed(&error))?;
        let is_https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(NotATarget::Scheme),
        };
        let authority = uri.authority().ok_or(NotATarget::Scheme)?;
        if authority.as_str().contains('@') {
            return Err(NotATarget::UserInfo);
        }
        // It begins with the host, because there is no user.
        let (host, port) = authority.as_str().split_at(authority.host().len());
        let port = match port.strip_prefix(':') {
            Some(digits) => digits.parse().ok().filter(|port| *port > 0),
            None if is_https => Some(443),
            None => Some(80),
        };
        let port = port.ok_or_else(|| malformed(&"its port is none"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(malformed(&"it has no host"));
        }
        let host = host.to_ascii_lowercase();
        Ok(Self {
            host,
            port,
            is_https,
            uri,
        })
    }

    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// In lower case; an address of IPv6 without its brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The host, if it is an address.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn is_https(&self) -> bool {
        self.is_https
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports() {
        for (text, host, port, is_https) in [
            ("https://Example.com/a?b=c", "example.com", 443, true),
            ("https://example.com:8443", "example.com", 8443, true),
            ("http://10.0.0.1/hook", "10.0.0.1", 80, false),
            ("HTTPS://[2001:db8::1]:9/", "2001:db8::1", 9, true),
        ] {
            let target = CallbackTarget::parse(text).unwrap();
            let found = (target.host(), target.port(), target.is_https());
            assert_eq!(found, (host, port, is_https), "{text}");
        }
        let address = CallbackTarget::parse("http://[::1]/").unwrap().address();
        assert_eq!(address, Some("::1".parse().unwrap()));
        // Left to the resolver, and its answer is looked at.
        assert_eq!(
            CallbackTarget::parse("http://2130706433/")
                .unwrap()
                .address(),
            None
        );
    }

    #[test]
    fn refuses_what_cannot_be_called() {
        for text in ["/hook", "example.com", "ftp://example.com/"] {
            assert_eq!(
                CallbackTarget::parse(text),
                Err(NotATarget::Scheme),
                "{text}"
            );
        }
        let with_password = "https://user:password@example.com/";
        assert_eq!(
            CallbackTarget::parse(with_password),
            Err(NotATarget::UserInfo)
        );
        assert_eq!(
            CallbackTarget::parse("https://a/#b"),
            Err(NotATarget::Fragment)
        );
        for text in [
            "",
            "https://",
            "https:///x",
            "https://a b/",
            "https://a:99999/",
            "https://a:/",
        ] {
            let refused = CallbackTarget::parse(text);
            assert!(
                matches!(refused, Err(NotATarget::Malformed(_))),
                "{text} {refused:?}"
            );
        }
    }
}
