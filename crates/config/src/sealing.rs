//! Passwords in the store, sealed: stored accounts and operators contain none in clear.
//!
//! Called by the actors when they read and write bodies of the store. A secret is sealed with the
//! first key of `[secrets]` by XChaCha20-Poly1305 under a random nonce of 192 bits, bound to its
//! resource and field, so that it opens nowhere else; every key opens. Guarantees that a body that is
//! opened is the text it was before it was sealed, and that passwords in clear stay readable.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::section::settings;
use smsc_domain::account;
use smsc_domain::settings::{ResourceKey, ResourceKind};

settings! {
    /// `[secrets]`: how passwords of accounts and operators are kept in the store and its history.
    pub struct SecretsConfig {
        /// Keys of 64 hexadecimal digits (`openssl rand -hex 32`), separated by blanks: the first seals, all open. Without a key, passwords are stored in clear. For the environment; in a file, use `key_file`.
        key: Option<SecretString> = None,
        /// File with the keys, one per line, the same on all nodes of a store.
        key_file: Option<std::path::PathBuf> = None,
    }
}

/// What a sealed secret begins with; after it the name of its key, a colon, nonce and octets.
const SEALED: &str = "sealed:v1:";
/// Octets of a nonce of XChaCha20-Poly1305.
const NONCE: usize = 24;
/// Octets of a key.
const KEY: usize = 32;

/// The keys of a node.
#[derive(Clone, Default)]
pub struct Keyring {
    keys: Vec<SealingKey>,
}

#[derive(Clone)]
struct SealingKey {
    /// Does not reveal the key: the beginning of its hash.
    name: String,
    cipher: XChaCha20Poly1305,
}

/// A secret that cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unopened {
    #[error(
        "{0} is sealed with the key {1}, which this node does not have: add it to secrets.key_file"
    )]
    NoKey(String, String),
    #[error("{0} is sealed, and was changed or moved since")]
    Damaged(String),
}

/// How the secrets of a body are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SecretStorage {
    pub in_clear: usize,
    /// With another key than the first.
    pub with_older_key: usize,
}

/// Whether a key of a resource is a secret, which is not shown and stays where it is left out.
pub fn is_secret(kind: ResourceKind, key: &str) -> bool {
    secrets(kind).contains(&key)
}

/// Which keys of a resource are secrets.
pub(super) fn secrets(kind: ResourceKind) -> &'static [&'static str] {
    match kind {
        ResourceKind::Account => &[
            "password",
            "password_next",
            "carrier_secret",
            "carrier_secret_next",
            "outbind_password",
            "callback_secrets",
        ],
        ResourceKind::Operator => &["password"],
        ResourceKind::Route
        | ResourceKind::List
        | ResourceKind::Limit
        | ResourceKind::Policy
        | ResourceKind::MoRule
        | ResourceKind::Gsm
        | ResourceKind::NumberRange
        | ResourceKind::EventSink
        | ResourceKind::NatsSource => &[],
    }
}

// === impl Keyring ===

impl Keyring {
    /// The keys that are configured.
    ///
    /// # Errors
    /// One of them is none; the text does not say it.
    pub fn new(secrets: &SecretsConfig) -> Result<Self, String> {
        let text = secrets.key.as_ref().map(ExposeSecret::expose_secret);
        let keys = text.unwrap_or_default().split_whitespace().enumerate();
        let keys = keys.map(|(at, digits)| {
            key(digits).ok_or_else(|| {
                format!(
                    "key {} is none; write {} hexadecimal digits, as of `openssl rand -hex {KEY}`",
                    at + 1,
                    2 * KEY
                )
            })
        });
        Ok(Self {
            keys: keys.collect::<Result<_, _>>()?,
        })
    }

    /// Whether it seals.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// A body with its secrets sealed; as it is when there is no key. A hash stays: it is no password.
    pub fn seal(&self, of: &ResourceKey, body: &str) -> String {
        let Some(key) = self.keys.first() else {
            return body.to_owned();
        };
        let sealed = with_secrets(of, body, |field, secret| {
            if secret.is_empty() || account::is_hash(secret) || secret.starts_with(SEALED) {
                return Ok(None);
            }
            Ok::<_, Unopened>(key.seal(&place(of, field), secret))
        });
        // Sealing refuses nothing.
        sealed.unwrap_or_else(|_| body.to_owned())
    }

    /// A body with its secrets in clear.
    ///
    /// # Errors
    /// [`Unopened`], for the first secret that cannot be opened.
    pub fn open(&self, of: &ResourceKey, body: &str) -> Result<String, Unopened> {
        if !body.contains(SEALED) {
            return Ok(body.to_owned());
        }
        with_secrets(of, body, |field, secret| {
            let Some(sealed) = secret.strip_prefix(SEALED) else {
                return Ok(None);
            };
            let place = place(of, field);
            let (name, octets) = sealed.split_once(':').unwrap_or((sealed, ""));
            let key = self.keys.iter().find(|key| key.name == name);
            let key = key.ok_or_else(|| Unopened::NoKey(place.clone(), name.to_owned()))?;
            match key.open(&place, octets) {
                Some(secret) => Ok(Some(secret)),
                None => Err(Unopened::Damaged(place)),
            }
        })
    }

    /// How the secrets of a kept body are sealed.
    pub fn look(&self, of: &ResourceKey, body: &str) -> SecretStorage {
        let first = self.keys.first().map(|key| key.name.as_str());
        let mut kept = SecretStorage::default();
        let looked = with_secrets(of, body, |_, secret| {
            match secret
                .strip_prefix(SEALED)
                .and_then(|one| one.split_once(':'))
            {
                Some((name, _)) if Some(name) != first => kept.with_older_key += 1,
                Some(_) => {}
                None if secret.is_empty() || account::is_hash(secret) => {}
                None => kept.in_clear += 1,
            }
            Ok::<_, Unopened>(None)
        });
        debug_assert!(looked.is_ok());
        kept
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.keys.iter().map(|key| &key.name);
        f.debug_list().entries(names).finish()
    }
}

// === impl SealingKey ===

impl SealingKey {
    fn seal(&self, place: &str, secret: &str) -> Option<String> {
        let nonce: [u8; NONCE] = rand::random();
        let payload = Payload {
            msg: secret.as_bytes(),
            aad: place.as_bytes(),
        };
        let octets = self.cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        let octets = BASE64.encode([&nonce[..], &octets].concat());
        Some(format!("{SEALED}{}:{octets}", self.name))
    }

    fn open(&self, place: &str, octets: &str) -> Option<String> {
        let octets = BASE64.decode(octets).ok()?;
        let (nonce, msg) = octets.split_first_chunk::<NONCE>()?;
        let aad = place.as_bytes();
        let payload = Payload { msg, aad };
        let secret = self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()?;
        String::from_utf8(secret).ok()
    }
}

/// The key of 64 hexadecimal digits.
fn key(digits: &str) -> Option<SealingKey> {
    let digits = digits.as_bytes();
    let mut octets = [0; KEY];
    if digits.len() != 2 * KEY {
        return None;
    }
    for (octet, pair) in octets.iter_mut().zip(digits.chunks(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *octet = (digit(0)? * 16 + digit(1)?) as u8;
    }
    let hash = Sha256::digest(octets);
    let name = hash.iter().take(4).map(|octet| format!("{octet:02x}"));
    Some(SealingKey {
        name: name.collect(),
        cipher: XChaCha20Poly1305::new(&octets.into()),
    })
}

/// What a secret is bound to.
fn place(of: &ResourceKey, field: &str) -> String {
    format!("{of}.{field}")
}

/// A body with those secrets changed for which `change` gives another one.
fn with_secrets<E>(
    of: &ResourceKey,
    body: &str,
    mut change: impl FnMut(&str, &str) -> Result<Option<String>, E>,
) -> Result<String, E> {
    let fields = secrets(of.kind);
    if fields.is_empty() {
        return Ok(body.to_owned());
    }
    let Ok(Json::Object(mut map)) = serde_json::from_str::<Json>(body) else {
        return Ok(body.to_owned());
    };
    let mut changed = false;
    for field in fields {
        if let Some(Json::String(secret)) = map.get_mut(*field)
            && let Some(other) = change(field, secret)?
        {
            *secret = other;
            changed = true;
        }
    }
    Ok(if changed {
        Json::Object(map).to_string()
    } else {
        body.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(keys: &[&str]) -> Keyring {
        Keyring::new(&SecretsConfig {
            key: Some(keys.join("\n").into()),
            ..SecretsConfig::default()
        })
        .unwrap()
    }

    const BODY: &str = r#"{"address":"h:1","id":"up","password":"pa55word","rate":5}"#;

    #[test]
    fn what_is_sealed_opens_as_it_was_and_nowhere_else() {
        let (one, other) = ("0f".repeat(32), "A1".repeat(32));
        let (old, both) = (ring(&[&one]), ring(&[&other, &one]));
        let up = ResourceKey::new(ResourceKind::Operator, "up");
        let sealed = old.seal(&up, BODY);
        assert!(
            !sealed.contains("pa55word") && sealed.contains("\"rate\":5"),
            "{sealed}"
        );
        assert_ne!(sealed, old.seal(&up, BODY), "no nonce comes twice");
        assert_eq!(old.open(&up, &sealed).unwrap(), BODY);
        assert_eq!(both.open(&up, &sealed).unwrap(), BODY);
        assert_eq!(old.seal(&up, &sealed), sealed, "once is enough");
        let moved = old.open(&ResourceKey::new(ResourceKind::Operator, "down"), &sealed);
        assert!(matches!(moved, Err(Unopened::Damaged(_))), "{moved:?}");
        let damaged = sealed.replace("\",\"rate", "A\",\"rate");
        assert!(matches!(old.open(&up, &damaged), Err(Unopened::Damaged(_))));
        let said = ring(&[&other]).open(&up, &sealed).unwrap_err().to_string();
        assert!(said.contains("operators/up.password") && said.contains("secrets.key_file"));
        assert_eq!(both.look(&up, &sealed).with_older_key, 1);
        assert_eq!(old.look(&up, &sealed), SecretStorage::default());
        assert_eq!(old.look(&up, BODY).in_clear, 1);
    }

    #[test]
    fn what_is_in_clear_stays_readable() {
        let up = ResourceKey::new(ResourceKind::Operator, "up");
        for ring in [Keyring::default(), ring(&[&"0f".repeat(32)])] {
            assert_eq!(ring.open(&up, BODY).unwrap(), BODY);
        }
        assert_eq!(Keyring::default().seal(&up, BODY), BODY);
        let account = ResourceKey::new(ResourceKind::Account, "a");
        let hash = r#"{"password":"$argon2id$v=19$x","system_id":"a"}"#;
        assert_eq!(ring(&[&"0f".repeat(32)]).seal(&account, hash), hash);
        let route = ResourceKey::new(ResourceKind::Route, "password");
        let body = r#"{"password":"x"}"#;
        assert_eq!(ring(&[&"0f".repeat(32)]).seal(&route, body), body);
    }

    #[test]
    fn a_key_that_is_none_is_not_said() {
        for wrong in ["0f", &"0g".repeat(32), &"é0".repeat(32), &"0f".repeat(33)] {
            let secrets = SecretsConfig {
                key: Some(format!("{} {wrong}", "0f".repeat(32)).into()),
                ..SecretsConfig::default()
            };
            let said = Keyring::new(&secrets).unwrap_err();
            assert!(said.starts_with("key 2") && !said.contains(wrong), "{said}");
        }
        assert!(Keyring::new(&SecretsConfig::default()).unwrap().is_empty());
    }
}
