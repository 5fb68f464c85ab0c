//! The API keys port: who may submit over HTTP for which account.
//!
//! Used by the actors, for the HTTP side. Guarantees that a key is stored as its hash only, and that its
//! id is unique.

use super::Reply;
use super::access::HASH;
use super::cold::{ColdRecord as _, ColdTables, note_uses, record, values};
use smsc_domain::access::KeyRole;

record! {
    /// One key of an account.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ApiKeyRow in "api_keys" {
        /// Unique; it names the key in lists and in the audit log, and opens nothing.
        pub id: String,
        /// system_id of the account.
        pub account: String,
        /// What it is for, in the words of who made it; may be empty.
        pub label: String,
        pub hash: [u8; HASH],
        pub role: KeyRole,
        /// IP addresses and CIDR blocks it may be used from; any if empty.
        pub allow: Vec<String>,
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

/// The API keys part of a store. Calls never block.
pub trait ApiKeyStore {
    /// All keys, by account and id.
    fn api_keys(&self) -> Reply<Vec<ApiKeyRow>>;

    /// The key with this hash.
    fn api_key_of(&self, hash: [u8; HASH]) -> Reply<Option<ApiKeyRow>>;

    /// Keeps a new key; false when its id is taken.
    fn add_api_key(&self, key: ApiKeyRow) -> Reply<bool>;

    /// Forgets a key; gives it, if there was one.
    fn remove_api_key(&self, id: String) -> Reply<Option<ApiKeyRow>>;

    /// Notes when keys were last used, by their ids.
    fn api_keys_used(&self, used: Vec<(String, i64)>) -> Reply<()>;
}

impl<S: ColdTables> ApiKeyStore for S {
    fn api_keys(&self) -> Reply<Vec<ApiKeyRow>> {
        let all = ApiKeyRow::select("ORDER BY account, id", Vec::new());
        self.look_up(all, ApiKeyRow::all)
    }

    fn api_key_of(&self, hash: [u8; HASH]) -> Reply<Option<ApiKeyRow>> {
        let one = ApiKeyRow::select("WHERE hash = $1", values![hash]);
        self.look_up(one, ApiKeyRow::first)
    }

    fn add_api_key(&self, key: ApiKeyRow) -> Reply<bool> {
        let insert = key.insert("ON CONFLICT(id) DO NOTHING");
        self.change(vec![insert], |done| Ok(done.rows > 0))
    }

    fn remove_api_key(&self, id: String) -> Reply<Option<ApiKeyRow>> {
        let delete = ApiKeyRow::delete("WHERE id = $1", values![id]);
        self.change(vec![delete], |done| ApiKeyRow::first(done.returned))
    }

    fn api_keys_used(&self, used: Vec<(String, i64)>) -> Reply<()> {
        let sql = "UPDATE api_keys SET used_at = $2 WHERE id = $1 AND used_at < $2";
        self.change(note_uses(sql, used), |_| Ok(()))
    }
}
