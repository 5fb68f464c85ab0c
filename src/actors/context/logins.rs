//! When and from where accounts have bound last, until the store has it.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::actors::runtime::locks::lock;
use crate::clock;
use crate::store::logins::LoginRow;
use crate::store::{Store, StoreError};

/// Logins that are stored in one commit: after a restart all accounts bind within seconds, and commits of messages wait for
/// these.
const STEP: usize = 500;

/// What is stored with a time so far ahead is from a clock that was wrong; nodes differ by less.
const AHEAD_MS: i64 = 60_000;

/// Logins of this node that are not in the store yet, by account: the last one of each.
#[derive(Default)]
pub struct Logins(Mutex<HashMap<String, LoginRow>>);

// === impl Logins ===

impl Logins {
    /// An account has bound.
    pub fn note(&self, login: LoginRow) {
        lock(&self.0).insert(login.account.clone(), login);
    }

    /// The last login of an account, on any node.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn last(
        &self,
        store: &dyn Store,
        account: &str,
    ) -> Result<Option<LoginRow>, StoreError> {
        let own = lock(&self.0).get(account).cloned();
        let kept = store.login_of(account.to_owned()).await?;
        Ok(own.into_iter().chain(kept).max_by_key(|login| login.at))
    }

    /// Forgets the login of an account that was removed.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn forget(&self, store: &dyn Store, account: &str) -> Result<(), StoreError> {
        lock(&self.0).remove(account);
        store.forget_login(account.to_owned()).await
    }

    /// Stores what is new. What cannot be stored stays for the next time.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn keep(&self, store: &dyn Store) -> Result<(), StoreError> {
        let new: Vec<LoginRow> = lock(&self.0).values().cloned().collect();
        for step in new.chunks(STEP) {
            let latest = clock::now_ms() + AHEAD_MS;
            store.keep_logins(step.to_vec(), latest).await?;
            let mut waiting = lock(&self.0);
            for login in step {
                // It may have bound again meanwhile.
                if waiting.get(&login.account) == Some(login) {
                    waiting.remove(&login.account);
                }
            }
        }
        Ok(())
    }
}
