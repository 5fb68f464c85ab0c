//! The access port: tokens of the admin API and the audit log.
//!
//! Used by the actors, for the HTTP side. Guarantees that a token is stored as its hash only, that its
//! name is unique, and that audit entries are never changed, only removed when they are old.

use super::Reply;
use super::cold::{ColdRecord as _, ColdStatement, ColdTables, note_uses, record, values};
use smsc_domain::access::AccessRole;

/// Octets of a token's hash (SHA-256).
pub const HASH: usize = 32;

record! {
    /// One token.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct TokenRow in "tokens" {
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
}

record! {
    /// One command or change, with what came of it.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct AuditRow in "audit" {
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
        /// The version of the configuration that it made, 0 for none.
        pub version: u64,
    }
}

/// Which entries of the audit log to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditSearch {
    pub token: Option<String>,
    /// Paths that begin so.
    pub path: Option<String>,
    /// This path, and those below it.
    pub about: Option<String>,
    /// With `about`, also paths below this one, whose colons are written as such.
    pub queue: Option<String>,
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

impl<S: ColdTables> AccessStore for S {
    fn tokens(&self) -> Reply<Vec<TokenRow>> {
        let all = TokenRow::select("ORDER BY name", Vec::new());
        self.look_up(all, TokenRow::all)
    }

    fn token_of(&self, hash: [u8; HASH]) -> Reply<Option<TokenRow>> {
        let one = TokenRow::select("WHERE hash = $1", values![hash]);
        self.look_up(one, TokenRow::first)
    }

    fn add_token(&self, token: TokenRow) -> Reply<bool> {
        let insert = token.insert("ON CONFLICT(name) DO NOTHING");
        self.change(vec![insert], |done| Ok(done.rows > 0))
    }

    fn remove_token(&self, name: String) -> Reply<bool> {
        let delete = ColdStatement::new("DELETE FROM tokens WHERE name = $1", values![name]);
        self.change(vec![delete], |done| Ok(done.rows > 0))
    }

    fn tokens_used(&self, used: Vec<(String, i64)>) -> Reply<()> {
        let sql = "UPDATE tokens SET used_at = $2 WHERE name = $1 AND used_at < $2";
        self.change(note_uses(sql, used), |_| Ok(()))
    }

    fn audit(&self, row: AuditRow) -> Reply<()> {
        self.change(vec![row.insert("")], |_| Ok(()))
    }

    fn audited(&self, search: AuditSearch) -> Reply<Vec<AuditRow>> {
        let AuditSearch {
            token,
            path,
            about,
            queue,
            from,
            below,
            limit,
        } = search;
        let found = AuditRow::select(
            "WHERE id >= $1 AND id < $2 AND (CAST($3 AS text) IS NULL OR token = $3)
               AND (CAST($4 AS text) IS NULL OR substr(path, 1, length($4)) = $4)
               AND (CAST($5 AS text) IS NULL OR path = $5 OR substr(path, 1, length($5) + 1) = $5 || '/'
                 OR substr(replace(path, '%3A', ':'), 1, length(CAST($6 AS text)) + 1) = CAST($6 AS text) || '/')
             ORDER BY id DESC LIMIT $7",
            values![from, below, token, path, about, queue, limit],
        );
        self.select(found, AuditRow::all)
    }

    fn forget_audit(&self, below: u64, limit: usize) -> Reply<u64> {
        let delete = "DELETE FROM audit WHERE id IN
            (SELECT id FROM audit WHERE id < $1 ORDER BY id LIMIT $2)";
        let delete = ColdStatement::new(delete, values![below, limit]);
        self.change(vec![delete], |done| Ok(done.rows))
    }
}
