//! The access port: tokens of the admin API and the audit log.
//!
//! Used by the actors, for the HTTP side. Guarantees that a token is stored as its hash only, that its
//! name is unique, and that audit entries are never changed, only removed when they are old.

use super::Reply;
use smsc_domain::access::AccessRole;

/// Octets of a token's hash (SHA-256).
pub const HASH: usize = 32;

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Unique.
    pub name: String,
    pub hash: [u8; HASH],
    pub role: AccessRole,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Who made it.
    pub created_by: String,
    /// Unix milliseconds, 0 for never.
    pub expires_at: i64,
    /// Unix milliseconds, coarse; 0 for never.
    pub used_at: i64,
}

/// One command or change, with what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditRow {
    /// From the sequence of message ids: it carries the time, and ascends on every node.
    pub id: u64,
    /// Name of the token.
    pub token: String,
    /// Its role at that time.
    pub role: String,
    /// Where the request came from.
    pub address: String,
    pub method: String,
    pub path: String,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The node that answered.
    pub node: u8,
    /// Details that are not in the path; often empty.
    pub detail: String,
}

/// Which entries of the audit log to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditSearch {
    pub token: Option<String>,
    /// Paths that begin so.
    pub path: Option<String>,
    /// From this id on.
    pub from: u64,
    /// Below this id.
    pub below: u64,
    pub limit: usize,
}

/// The access part of a store. Calls never block.
pub trait AccessStore {
    /// All tokens, by name.
    fn tokens(&self) -> Reply<Vec<TokenRow>>;

    /// The token with this hash.
    fn token_of(&self, hash: [u8; HASH]) -> Reply<Option<TokenRow>>;

    /// Keeps a new token; false when the name is taken.
    fn add_token(&self, token: TokenRow) -> Reply<bool>;

    /// Forgets a token; false when there is none of this name.
    fn remove_token(&self, name: String) -> Reply<bool>;

    /// Notes when tokens were last used.
    fn tokens_used(&self, used: Vec<(String, i64)>) -> Reply<()>;

    /// Adds an entry to the audit log.
    fn audit(&self, row: AuditRow) -> Reply<()>;

    /// Entries of the audit log, newest first.
    fn audited(&self, search: AuditSearch) -> Reply<Vec<AuditRow>>;

    /// Deletes entries below an id, at most `limit`; returns how many.
    fn forget_audit(&self, below: u64, limit: usize) -> Reply<u64>;
}
