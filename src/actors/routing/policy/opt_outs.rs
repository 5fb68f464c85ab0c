//! The opt-out lists of the store, all in memory.
//!
//! Ingest calls [`OptOuts::has`] for each message of an account. The lists are read at start before any
//! session can submit, then once a second by the follower of the settings, and at once after a change
//! on this node. Invariant: the known lists stay in force while the store does not answer.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::domain::address::normalise;
use crate::store::StoreError;
use crate::store::opt_out::{OptOutRow, OptOutStore, REMEMBERED};

/// Rows per read.
const PAGE: usize = 10_000;
/// After this long without a read, everything is read again, because a removal may have been missed:
/// half of the time for which the store remembers removals, to allow for clocks that differ.
const STALE: Duration = Duration::from_millis(REMEMBERED as u64 / 2);

/// All opt-out lists.
#[derive(Default)]
pub struct OptOuts {
    /// Numbers on lists; while it is 0, no lock is taken.
    count: AtomicUsize,
    known: RwLock<Known>,
    /// Serialises reads of the store; holds the time of the last success.
    turn: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Known {
    version: u64,
    count: usize,
    /// By account; the empty name is the list for all accounts.
    lists: HashMap<String, HashSet<Box<[u8]>, ahash::RandomState>>,
}

// === impl OptOuts ===

impl OptOuts {
    /// Whether a number has opted out of messages of an account, or of all.
    pub fn has(&self, account: &str, number: &[u8]) -> bool {
        if self.count.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let number = normalise(number);
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let on = |list: &str| {
            known
                .lists
                .get(list)
                .is_some_and(|list| list.contains(number))
        };
        on("") || on(account)
    }

    /// Numbers on all lists together.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Reads the changes since the last read; reads everything if that is long ago.
    ///
    /// # Errors
    /// The store does not answer; the known lists stay.
    pub async fn refresh(&self, store: &(impl OptOutStore + ?Sized)) -> Result<(), StoreError> {
        let mut last = self.turn.lock().await;
        let asked = Instant::now();
        let anew = last.is_none_or(|last| asked - last > STALE);
        let mut fresh = anew.then(Known::default);
        let mut version = match anew {
            true => 0,
            false => self.version(),
        };
        loop {
            let rows = store.opt_outs_after(version, PAGE).await?;
            let full = rows.len() >= PAGE;
            version = rows.last().map_or(version, |row| row.version);
            match &mut fresh {
                Some(known) => known.learn(rows),
                None if rows.is_empty() => {}
                None => {
                    let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
                    known.learn(rows);
                    self.count.store(known.count, Ordering::Relaxed);
                }
            }
            if !full {
                break;
            }
        }
        if let Some(fresh) = fresh {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            self.count.store(fresh.count, Ordering::Relaxed);
            *known = fresh;
        }
        *last = Some(asked);
        Ok(())
    }

    fn version(&self) -> u64 {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.version
    }
}

// === impl Known ===

impl Known {
    fn learn(&mut self, rows: Vec<OptOutRow>) {
        for row in rows {
            self.version = row.version;
            let number = row.number.into_bytes().into_boxed_slice();
            if row.out {
                let list = self.lists.entry(row.account).or_default();
                self.count += usize::from(list.insert(number));
            } else if let Some(list) = self.lists.get_mut(&row.account) {
                self.count -= usize::from(list.remove(&number));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(version: u64, account: &str, number: &str, out: bool) -> OptOutRow {
        OptOutRow {
            account: account.to_owned(),
            number: number.to_owned(),
            out,
            version,
            ..OptOutRow::default()
        }
    }

    #[test]
    fn lists_are_of_an_account_or_of_everybody() {
        let opt_outs = OptOuts::default();
        let learn = |rows: Vec<OptOutRow>| {
            let mut known = opt_outs.known.write().unwrap();
            known.learn(rows);
            opt_outs.count.store(known.count, Ordering::Relaxed);
        };
        assert!(!opt_outs.has("a", b"441"));
        learn(vec![row(1, "a", "441", true), row(2, "", "442", true)]);
        learn(vec![row(3, "a", "441", true)]);
        for (account, number, out) in [
            ("a", "441", true),
            ("a", "+441", true),
            ("b", "441", false),
            ("a", "442", true),
            ("b", "+442", true),
            ("b", "443", false),
        ] {
            assert_eq!(
                opt_outs.has(account, number.as_bytes()),
                out,
                "{account} {number}"
            );
        }
        assert_eq!((opt_outs.count(), opt_outs.version()), (2, 3));
        learn(vec![
            row(4, "a", "441", false),
            row(5, "nobody", "1", false),
        ]);
        assert!(!opt_outs.has("a", b"441") && opt_outs.has("a", b"442"));
        assert_eq!((opt_outs.count(), opt_outs.version()), (1, 5));
    }
}
