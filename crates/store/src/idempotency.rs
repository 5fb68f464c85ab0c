//! The idempotency port: which requests over HTTP were answered, and how.
//!
//! Used by the actors, for requests with an Idempotency-Key. A key is claimed first ([`Claimed::New`]). Its answer
//! is a row of the batch that has the request's messages, so both are durable, or neither. Keys of different
//! accounts are different keys.
//!
//! Guarantees that one of any number of simultaneous claims of a key wins, on whichever node, and that an answer
//! is written only by whoever holds the claim. A claim is over when it is released, or with its process. In the
//! shared store it is also over after [`ABANDONED`]; an answer that comes later is refused with its messages.

use bytes::Bytes;

use super::checksum::{self, SEAL};
use super::{Reply, StoreError, StoreResult};

/// Octets of a hash (SHA-256) of a key or a request.
pub const HASH: usize = 32;
/// Another node may take a claim over that is older than this, in milliseconds.
pub const ABANDONED: i64 = 60_000;
/// Keys that the embedded store remembers, unless configured otherwise.
pub const KEYS: usize = 2_000_000;

/// A request, about to be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyClaim {
    /// Interned name of the account.
    pub account: u32,
    /// Hash of the key.
    pub key: [u8; HASH],
    /// Hash of the request; two requests with equal ones are the same.
    pub request: [u8; HASH],
    /// Unix milliseconds; names the claim together with its key. How old the claim is goes by it, so what no answer guards
    /// takes the clock of the store ([`Store::now_ms`](super::Store::now_ms)).
    pub at: i64,
    /// Older answers do not count any more, Unix milliseconds.
    pub since: i64,
}

/// What is known of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// It is new, and the caller's to carry out.
    New,
    /// It was carried out: the answer, as written.
    Done(Bytes),
    /// A different request had the same key.
    Other,
    /// A request with this key is being carried out.
    InProgress,
    /// No more keys can be remembered (embedded store).
    Full,
}

/// The answer to a request whose key is claimed. The last row of a key wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRow {
    /// As in the [`KeyClaim`].
    pub account: u32,
    pub key: [u8; HASH],
    pub request: [u8; HASH],
    /// When the key was claimed.
    pub at: i64,
    /// An encoded [`IdempotentAnswer`](smsc_proto::IdempotentAnswer), as [`KeyClaim::seal`] gives it.
    pub answer: Bytes,
}

/// The idempotency part of a store. Calls never block.
pub trait IdempotencyStore {
    /// Claims a key, unless it has an answer or is claimed.
    fn claim_key(&self, claim: KeyClaim) -> Reply<Claimed>;

    /// Claims the keys of requests that have come together; what is known of each, in their order. If this fails, those
    /// that were claimed are free again; in the shared store, if that does not answer, after [`ABANDONED`].
    fn claim_keys(&self, claims: Vec<KeyClaim>) -> Reply<Vec<Claimed>>;

    /// Gives a claim back that gets no answer: the key is free again. Does nothing to one that has an answer.
    fn release_key(&self, claim: KeyClaim) -> Reply<()>;

    /// Deletes up to `limit` answers to requests before `before` (Unix milliseconds); returns how many.
    fn forget_keys(&self, before: i64, limit: usize) -> Reply<u64>;
}

// === impl KeyClaim ===

impl KeyClaim {
    /// An encoded answer as it is to be stored: behind its checksum, as field 98, which builds before skip.
    pub fn seal(&self, answer: &[u8]) -> Bytes {
        let mut sealed = Vec::with_capacity(SEAL + answer.len());
        checksum::leave_room(&mut sealed);
        sealed.extend_from_slice(answer);
        checksum::seal(&mut sealed, self.sum(answer));
        sealed.into()
    }

    /// The encoded answer of [`Self::seal`].
    ///
    /// # Errors
    /// It is not the one that was stored for this request.
    pub fn open(&self, sealed: &Bytes) -> StoreResult<Bytes> {
        match checksum::unseal(sealed) {
            (seal, answer) if seal.fits(|| self.sum(answer)) => Ok(sealed.slice_ref(answer)),
            _ => Err(StoreError::Failed(
                "the answer to the request with this Idempotency-Key is damaged: what became of its messages is in \
                 the lists of messages"
                    .to_owned(),
            )),
        }
    }

    fn sum(&self, answer: &[u8]) -> u32 {
        checksum::sum([self.account.into()], [&self.key, &self.request, answer])
    }

    /// The row for its answer.
    pub fn answered(&self, answer: Bytes) -> IdempotencyRow {
        IdempotencyRow {
            account: self.account,
            key: self.key,
            request: self.request,
            at: self.at,
            answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_one_that_was_stored_or_none() {
        let claim = KeyClaim {
            account: 1,
            key: [2; HASH],
            request: [3; HASH],
            at: 4,
            since: 0,
        };
        let sealed = claim.seal(b"answer");
        assert_eq!(claim.open(&sealed), Ok(Bytes::from_static(b"answer")));
        // A build before has stored it.
        let bare = Bytes::from_static(b"\x0a\x00");
        assert_eq!(claim.open(&bare), Ok(bare.clone()));
        for octet in 0..sealed.len() {
            let mut other = sealed.to_vec();
            other[octet] ^= 4;
            assert!(claim.open(&other.into()).is_err(), "octet {octet}");
        }
        let other = KeyClaim {
            account: 2,
            ..claim
        };
        assert!(other.open(&sealed).is_err());
    }
}
