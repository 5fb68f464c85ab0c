//! Checking an ESME's password: plain (constant time) or an argon2id hash.
//!
//! argon2id costs tens of milliseconds and megabytes on purpose, so the caller runs [`Passwords::verify`] on
//! a blocking thread, not too many at once, and a verified password is remembered as a keyed digest in RAM:
//! an ESME that re-binds a hundred sessions pays once. Wrong passwords are never remembered; they always cost
//! the full price. Errors fail closed.

use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::{Mutex, PoisonError};

use argon2::{Argon2, PasswordVerifier};
use siphasher::sip128::{Hasher128, SipHasher24};
use subtle::ConstantTimeEq;

/// What a stored argon2id hash starts with (PHC string format).
const ARGON2ID: &str = "$argon2id$";
/// More accounts than this are not remembered at once; the cache starts again.
const CACHE_LIMIT: usize = 100_000;

/// Memory that one check of this configured password takes, in KiB; `None` for a plain one.
pub fn memory_kib(stored: &str) -> Option<u32> {
    let hash = argon2::PasswordHash::new(stored).ok()?;
    let params = argon2::Params::try_from(&hash).ok()?;
    is_hash(stored).then(|| params.m_cost())
}

/// Verifies passwords and remembers the verified ones.
pub struct Passwords {
    /// Random per process: digests are useless outside it.
    key: [u8; 16],
    /// system_id → digests of (stored hash, password) that were verified, the newest first: an account may have two
    /// passwords.
    verified: Mutex<HashMap<Box<str>, [[u8; 16]; 2]>>,
}

/// Whether a configured password is an argon2id hash.
pub fn is_hash(stored: &str) -> bool {
    stored.starts_with(ARGON2ID)
}

/// Whether a configured hash can be read at all; `true` for a plain password.
pub fn is_well_formed(stored: &str) -> bool {
    !is_hash(stored) || argon2::PasswordHash::new(stored).is_ok()
}

// === impl Passwords ===

impl Default for Passwords {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passwords").finish_non_exhaustive()
    }
}

impl Passwords {
    /// An empty cache with a fresh key.
    pub fn new() -> Self {
        Self {
            key: rand::random(),
            verified: Mutex::default(),
        }
    }

    /// Whether `given` is the password of `system_id`, whose configured password is `stored`
    /// (plain, or `$argon2id$…`). CPU heavy for a hash seen for the first time: tens of
    /// milliseconds.
    pub fn verify(&self, system_id: &str, stored: &str, given: &[u8]) -> bool {
        if !is_hash(stored) {
            return stored.as_bytes().ct_eq(given).into();
        }
        if let Some(known) = self.verify_cached(system_id, stored, given) {
            return known;
        }
        let right = Argon2::default().verify_password(given, stored).is_ok();
        if right {
            let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
            if verified.len() >= CACHE_LIMIT {
                verified.clear();
            }
            let digest = self.digest(stored, given);
            let known = verified.entry(system_id.into()).or_insert([digest; 2]);
            *known = [digest, known[0]];
        }
        right
    }

    /// The answer if it is cheap: always for a plain password, and for a hash when the same
    /// password was verified before. `None`: call [`Passwords::verify`] on a blocking thread.
    pub fn verify_cached(&self, system_id: &str, stored: &str, given: &[u8]) -> Option<bool> {
        if !is_hash(stored) {
            return Some(stored.as_bytes().ct_eq(given).into());
        }
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        let known = verified.get(system_id)?;
        let digest = self.digest(stored, given);
        let same = known[0].ct_eq(&digest) | known[1].ct_eq(&digest);
        bool::from(same).then_some(true)
    }

    /// Keyed digest of the stored hash and the password; the stored one is part of it, so a changed
    /// configuration invalidates it.
    pub fn digest(&self, stored: &str, given: &[u8]) -> [u8; 16] {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write_usize(stored.len());
        hasher.write(stored.as_bytes());
        hasher.write(given);
        hasher.finish128().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use argon2::{Algorithm, Params, PasswordHasher, Version};

    use super::*;

    fn cheap_hash(password: &[u8]) -> String {
        let params = Params::new(8, 1, 1, None).unwrap();
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password(password)
            .unwrap()
            .to_string()
    }

    #[test]
    fn plain_passwords() {
        let passwords = Passwords::new();
        assert!(passwords.verify("a", "secret", b"secret"));
        assert!(!passwords.verify("a", "secret", b"Secret"));
        assert!(!passwords.verify("a", "secret", b"secret1"));
        assert!(!passwords.verify("a", "secret", b""));
        assert_eq!(passwords.verify_cached("a", "secret", b"x"), Some(false));
    }

    #[test]
    fn hashes_are_verified_and_remembered() {
        let passwords = Passwords::new();
        let stored = cheap_hash(b"secret");
        assert!(is_hash(&stored) && is_well_formed(&stored));
        assert_eq!(memory_kib(&stored), Some(8));
        assert_eq!(memory_kib("secret"), None);
        assert_eq!(passwords.verify_cached("a", &stored, b"secret"), None);
        assert!(!passwords.verify("a", &stored, b"wrong"));
        assert_eq!(
            passwords.verify_cached("a", &stored, b"wrong"),
            None,
            "never remembered"
        );
        assert!(passwords.verify("a", &stored, b"secret"));
        assert_eq!(passwords.verify_cached("a", &stored, b"secret"), Some(true));
        assert_eq!(passwords.verify_cached("a", &stored, b"wrong"), None);
        assert_eq!(
            passwords.verify_cached("b", &stored, b"secret"),
            None,
            "per account"
        );
        assert!(passwords.verify("a", &stored, b"secret"));
    }

    #[test]
    fn two_passwords_of_an_account_are_remembered_beside_each_other() {
        let passwords = Passwords::new();
        let (old, new) = (cheap_hash(b"old"), cheap_hash(b"new"));
        for _ in 0..2 {
            assert!(passwords.verify("a", &old, b"old") && passwords.verify("a", &new, b"new"));
            assert_eq!(passwords.verify_cached("a", &old, b"old"), Some(true));
            assert_eq!(passwords.verify_cached("a", &new, b"new"), Some(true));
        }
        assert_eq!(passwords.verify_cached("a", &new, b"old"), None);
    }

    #[test]
    fn a_changed_hash_forgets() {
        let passwords = Passwords::new();
        let before = cheap_hash(b"secret");
        assert!(passwords.verify("a", &before, b"secret"));
        let after = cheap_hash(b"other");
        assert!(!passwords.verify("a", &after, b"secret"));
        assert!(passwords.verify("a", &after, b"other"));
    }

    #[test]
    fn a_broken_hash_fails_closed() {
        let passwords = Passwords::new();
        let broken = "$argon2id$v=19$broken";
        assert!(!is_well_formed(broken));
        assert!(!passwords.verify("a", broken, broken.as_bytes()));
        assert!(!passwords.verify("a", broken, b""));
    }

    #[test]
    fn shows_nothing() {
        assert_eq!(format!("{:?}", Passwords::new()), "Passwords { .. }");
    }
}
