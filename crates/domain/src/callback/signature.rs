//! Signatures of callbacks: Standard Webhooks 1.0.0, "Signature scheme".
//!
//! The signed content is `id.timestamp.body`; each live secret gives one signature, so that a secret can be
//! replaced without a moment in which receivers know none of those in use.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use thiserror::Error;

/// What a secret begins with.
const PREFIX: &str = "whsec_";
/// Octets of a secret, as the specification recommends.
const LENGTH: std::ops::RangeInclusive<usize> = 24..=64;
/// Secrets at once: the one in use and the one that replaces it, or is replaced by it.
const MOST: usize = 2;

/// The live secrets of an account.
#[derive(Clone, Default)]
pub struct SigningSecrets(Vec<Hmac<Sha256>>);

/// Why a text is no list of secrets. Does not repeat any of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotSecrets {
    #[error("secret {0} does not begin with whsec_")]
    Prefix(usize),
    #[error("secret {0} is not base64 behind whsec_")]
    Base64(usize),
    #[error("secret {0} must have 24 to 64 octets; `openssl rand -base64 32` makes 32")]
    Length(usize),
    #[error("has more than two secrets")]
    TooMany,
}

// === impl SigningSecrets ===

impl SigningSecrets {
    /// One or two secrets, `whsec_` and base64 each, separated by blanks; an empty text has none.
    ///
    /// # Errors
    /// See [`NotSecrets`]; secrets are counted from 1.
    pub fn parse(text: &str) -> Result<Self, NotSecrets> {
        let mut secrets = Vec::new();
        for (at, secret) in (1..).zip(text.split_ascii_whitespace()) {
            let encoded = secret.strip_prefix(PREFIX).ok_or(NotSecrets::Prefix(at))?;
            let octets = BASE64.decode(encoded);
            let octets = octets.map_err(|_| NotSecrets::Base64(at))?;
            if !LENGTH.contains(&octets.len()) {
                return Err(NotSecrets::Length(at));
            }
            // HMAC takes keys of any length.
            let key = Hmac::new_from_slice(&octets).map_err(|_| NotSecrets::Length(at))?;
            secrets.push(key);
        }
        if secrets.len() > MOST {
            Err(NotSecrets::TooMany)
        } else {
            Ok(Self(secrets))
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The header webhook-signature of a body sent at this time (Unix seconds).
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let mut header = String::new();
        for secret in &self.0 {
            let mut mac = secret.clone();
            mac.update(id.as_bytes());
            mac.update(b".");
            mac.update(timestamp.to_string().as_bytes());
            mac.update(b".");
            mac.update(body);
            let signature = BASE64.encode(mac.finalize().into_bytes());
            let blank = if header.is_empty() { "" } else { " " };
            // A String takes everything.
            let _ = write!(header, "{blank}v1,{signature}");
        }
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";

    #[test]
    fn the_vector_of_the_specification() {
        let secrets = SigningSecrets::parse(SECRET).unwrap();
        let signed = secrets.sign(ID, 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn each_live_secret_signs_and_every_part_counts() {
        let other = format!("{PREFIX}{}", BASE64.encode([7; 32]));
        let both = SigningSecrets::parse(&format!(" {SECRET}\n{other} ")).unwrap();
        let signed = both.sign(ID, 1, b"{}");
        let one = |secret: &str| SigningSecrets::parse(secret).unwrap().sign(ID, 1, b"{}");
        assert_eq!(signed, format!("{} {}", one(SECRET), one(&other)));
        for different in [
            both.sign("msg_2", 1, b"{}"),
            both.sign(ID, 2, b"{}"),
            both.sign(ID, 1, b"{ }"),
        ] {
            assert_ne!(signed, different);
        }
    }

    #[test]
    fn refuses_what_is_no_secret_without_repeating_it() {
        let short = format!("{PREFIX}{}", BASE64.encode([7; 23]));
        let long = format!("{PREFIX}{}", BASE64.encode([7; 65]));
        let three = [SECRET; 3].join(" ");
        for (text, why) in [
            ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", NotSecrets::Prefix(1)),
            ("whsec_not-base64", NotSecrets::Base64(1)),
            (&format!("{SECRET} {short}"), NotSecrets::Length(2)),
            (&long, NotSecrets::Length(1)),
            (&three, NotSecrets::TooMany),
        ] {
            assert_eq!(SigningSecrets::parse(text).err(), Some(why), "{text}");
        }
        assert!(SigningSecrets::parse(" ").unwrap().is_empty());
    }
}
