//! The two cookies of a browser: what a sign-in that is under way must remember, and the session. Pure.
//!
//! Both are HttpOnly and SameSite=Lax: no script reads them, and other sites send them with nothing but a navigation. By
//! https they are Secure, and named `__Host-`, so that no other host, and nobody on the way, can put one of his own there
//! (RFC 6265bis §4.1.3.2). What is in the first needs no seal: it only means something to the browser that has it, and
//! another node can read it as well.

use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header::{COOKIE, HeaderValue};

/// Names without their prefix.
const SESSION: &str = "smsc_session";
const UNDER_WAY: &str = "smsc_sign_in";
/// How long somebody may take at the issuer.
const PATIENCE: Duration = Duration::from_secs(600);
/// Octets of one part of a sign-in: 256 random bits in base64 have fewer.
const MOST: usize = 128;

/// The cookies of this console.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cookies {
    /// Browsers reach the console by https.
    pub is_secure: bool,
}

/// What must come back from the issuer, or belongs to what does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SignInUnderWay {
    pub state: String,
    pub nonce: String,
    /// Of PKCE.
    pub verifier: String,
}

// === impl Cookies ===

impl Cookies {
    pub fn session(self, request: &HttpRequest) -> Option<String> {
        self.read(request, SESSION)
    }

    pub fn set_session(self, secret: &str, lasts: Duration) -> HeaderValue {
        self.write(SESSION, secret, lasts)
    }

    pub fn end_session(self) -> HeaderValue {
        self.write(SESSION, "", Duration::ZERO)
    }

    pub fn under_way(self, request: &HttpRequest) -> Option<SignInUnderWay> {
        let value = self.read(request, UNDER_WAY)?;
        let mut parts = value.split('.').map(str::to_owned);
        let mut part = || parts.next().filter(|part| (1..=MOST).contains(&part.len()));
        Some(SignInUnderWay {
            state: part()?,
            nonce: part()?,
            verifier: part()?,
        })
    }

    pub fn set_under_way(self, sign_in: &SignInUnderWay) -> HeaderValue {
        let SignInUnderWay {
            state,
            nonce,
            verifier,
        } = sign_in;
        self.write(UNDER_WAY, &format!("{state}.{nonce}.{verifier}"), PATIENCE)
    }

    pub fn end_under_way(self) -> HeaderValue {
        self.write(UNDER_WAY, "", Duration::ZERO)
    }

    fn name(self, name: &str) -> String {
        if self.is_secure {
            format!("__Host-{name}")
        } else {
            name.to_owned()
        }
    }

    fn read(self, request: &HttpRequest, name: &str) -> Option<String> {
        let name = self.name(name);
        let headers = request.headers().get_all(COOKIE);
        let texts = headers.filter_map(|header| header.to_str().ok());
        let mut pairs = texts.flat_map(|text| text.split(';'));
        pairs.find_map(|pair| {
            let (found, value) = pair.trim().split_once('=')?;
            (found == name && !value.is_empty()).then(|| value.to_owned())
        })
    }

    /// A cookie that lasts so long; none at all with a time of zero.
    fn write(self, name: &str, value: &str, lasts: Duration) -> HeaderValue {
        let (name, seconds) = (self.name(name), lasts.as_secs());
        let secure = if self.is_secure { "; Secure" } else { "" };
        let text =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        // Names and values are letters, digits and a few signs.
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    const PLAIN: Cookies = Cookies { is_secure: false };
    const SECURE: Cookies = Cookies { is_secure: true };

    fn with(cookie: &str) -> HttpRequest {
        let header = ("Cookie", cookie.to_owned());
        TestRequest::default()
            .insert_header(header)
            .to_http_request()
    }

    #[test]
    fn what_is_written_is_read() {
        let sign_in = SignInUnderWay {
            state: "a_b-c".to_owned(),
            nonce: "d".to_owned(),
            verifier: "e".to_owned(),
        };
        for cookies in [PLAIN, SECURE] {
            let written = cookies.set_under_way(&sign_in);
            let pair = written.to_str().unwrap().split(';').next().unwrap();
            let request = with(&format!("theme=dark; {pair}; x"));
            assert_eq!(cookies.under_way(&request), Some(sign_in.clone()));
            assert_eq!(cookies.session(&request), None);
        }
        // Without https there is no prefix, and one does not count for the other.
        let request = with("smsc_session=smsc_x");
        assert_eq!(PLAIN.session(&request), Some("smsc_x".to_owned()));
        assert_eq!(SECURE.session(&request), None);
    }

    #[test]
    fn attributes_keep_it_from_scripts_and_other_sites() {
        let written = SECURE.set_session("smsc_x", Duration::from_secs(60));
        assert_eq!(
            written,
            "__Host-smsc_session=smsc_x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
        let ended = PLAIN.end_session();
        assert_eq!(
            ended,
            "smsc_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
        );
    }

    #[test]
    fn what_is_no_sign_in_is_none() {
        let long = format!("smsc_sign_in=a.b.{}", "c".repeat(MOST + 1));
        for cookie in [
            "",
            "smsc_sign_in=",
            "smsc_sign_in=a.b",
            "smsc_sign_in=..",
            &long,
        ] {
            assert_eq!(PLAIN.under_way(&with(cookie)), None, "{cookie}");
        }
    }
}
