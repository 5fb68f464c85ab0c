//! The opt-out lists of the store, all in memory.
//!
//! Ingest calls [`OptOutLists::has`] for each message of an account. The lists are read at start before any
//! session can submit, then once a second by the follower of the settings, and at once after a change
//! on this node. Invariant: the known lists stay in force while the store does not answer.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::domain::address::{normalise, plain};
use crate::store::StoreError;
use crate::store::opt_out::{OptOutRow, OptOutStore, REMEMBERED};

/// Rows per read.
const PAGE: usize = 10_000;
/// After this long without a read, everything is read again, because a removal may have been missed:
/// half of the time for which the store remembers removals, to allow for clocks that differ.
const STALE: Duration = Duration::from_millis(REMEMBERED as u64 / 2);

/// All opt-out lists.
#[derive(Default)]
pub struct OptOutLists {
    /// Numbers on lists; while it is 0, no lock is taken.
    count: AtomicUsize,
    known: RwLock<KnownOptOuts>,
    /// Serialises reads of the store; holds the time of the last success.
    turn: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct KnownOptOuts {
    version: u64,
    count: usize,
    /// By account; the empty name is the list for all accounts.
    lists: HashMap<String, HashSet<Box<[u8]>, ahash::RandomState>>,
}

// === impl OptOutLists ===

impl OptOutLists {
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
        let mut fresh = anew.then(KnownOptOuts::default);
        let mut version = if anew { 0 } else { self.version() };
        loop {
            let rows = store.opt_outs_after(version, PAGE).await?;
            let full = rows.len() >= PAGE;
            version = rows.last().map_or(version, |row| row.version);
            let is_keyed_anew = anew && key_anew(store, &rows).await;
            match &mut fresh {
                Some(known) => known.learn(rows),
                None if rows.is_empty() => {}
                None => {
                    let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
                    known.learn(rows);
                    self.count.store(known.count, Ordering::Relaxed);
                }
            }
            if !full && !is_keyed_anew {
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

/// Puts numbers on their lists without formatting. Earlier releases kept them as the network of the subscriber wrote them,
/// where only messages to the same characters found them. Whether any was; what cannot be written now is at the next start,
/// and counts meanwhile.
async fn key_anew(store: &(impl OptOutStore + ?Sized), rows: &[OptOutRow]) -> bool {
    let mut any = false;
    for row in rows.iter().filter(|row| row.out) {
        let number = plain(row.number.as_bytes());
        if number == row.number.as_bytes() {
            continue;
        }
        let number = String::from_utf8_lossy(&number).into_owned();
        let (here, there) = (row.clone(), row.clone());
        let changes = [
            OptOutRow { number, ..there },
            OptOutRow { out: false, ..here },
        ];
        for change in changes {
            match store.set_opt_out(change).await {
                Ok(_) => any = true,
                Err(error) => {
                    tracing::warn!(%error, "an opt-out is not kept without formatting yet");
                    return any;
                }
            }
        }
    }
    any
}

// === impl KnownOptOuts ===

impl KnownOptOuts {
    fn learn(&mut self, rows: Vec<OptOutRow>) {
        for row in rows {
            self.version = row.version;
            if row.out {
                let number = plain(row.number.as_bytes()).into_owned();
                let list = self.lists.entry(row.account).or_default();
                self.count += usize::from(list.insert(number.into_boxed_slice()));
            } else if let Some(list) = self.lists.get_mut(&row.account) {
                self.count -= usize::from(list.remove(row.number.as_bytes()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::test_support;
    use crate::store::opt_out::OptOutSearch;

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
        let opt_outs = OptOutLists::default();
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
        // One of an earlier release counts before its number is kept in the form of now, and afterwards.
        learn(vec![row(6, "a", "4-44", true)]);
        assert!(opt_outs.has("a", b"444"));
        learn(vec![row(7, "a", "444", true), row(8, "a", "4-44", false)]);
        assert!(opt_outs.has("a", b"444"));
        assert_eq!((opt_outs.count(), opt_outs.version()), (2, 8));
    }

    #[actix::test]
    async fn numbers_of_earlier_releases_are_keyed_anew() {
        let test = test_support::node(1, None).await;
        let store = &*test.context.store;
        let odd = row(0, "a", "44 7700-900123", true);
        store.set_opt_out(odd).await.unwrap();
        let opt_outs = OptOutLists::default();
        opt_outs.refresh(store).await.unwrap();
        assert!(opt_outs.has("a", b"447700900123"));
        assert_eq!(opt_outs.count(), 1);
        let listed = store
            .opt_outs(OptOutSearch {
                below: u64::MAX,
                limit: 10,
                ..OptOutSearch::default()
            })
            .await
            .unwrap();
        let numbers: Vec<&str> = listed.iter().map(|row| &*row.number).collect();
        assert_eq!(numbers, ["447700900123"]);
    }
}
