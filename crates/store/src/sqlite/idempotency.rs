//! The idempotency port on SQLite: rows are appended, and found by an index in memory.
//!
//! An index with random keys in `smsc.db` would slow down every commit (see `schema.rs`), so the table has none.
//! The index is read at open. It is bounded, and each account has a share of it ([`FairShares`]): beyond that, its requests
//! with new keys are refused, so that no key is ever forgotten before its time, and others find room for theirs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::{AHashMap, AHashSet};
use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Row};

use smsc_domain::share::FairShares;

use super::{SqliteShared, SqliteStore, writer};
use crate::idempotency::{Claimed, HASH, IdempotencyStore, KeyClaim};
use crate::{Reply, StoreResult};

/// An account and the hash of a key.
pub type IdempotencyKey = (u32, [u8; HASH]);

/// The index, and the claims of this process.
pub struct IdempotencyKeys {
    state: Mutex<ClaimsState>,
    most: usize,
}

#[derive(Default)]
struct ClaimsState {
    /// The last row of each key, by [`short`].
    rows: AHashMap<u64, i64>,
    open: AHashSet<IdempotencyKey>,
    /// How many of both each account has.
    shares: FairShares<u32>,
}

/// What memory knows of a key.
enum KnownClaim {
    Claimed(Claimed),
    /// It has this row.
    Row(i64),
}

// === impl IdempotencyKeys ===

impl IdempotencyKeys {
    /// Reads the index; no more than `most` keys will be claimed.
    pub fn read(connection: &Connection, most: usize) -> rusqlite::Result<Self> {
        let mut state = ClaimsState::default();
        let mut statement =
            connection.prepare("SELECT id, account, key FROM idempotency ORDER BY id")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, key) = read_key(row)?;
            state.put(&key, id);
        }
        Ok(Self {
            state: Mutex::new(state),
            most,
        })
    }

    /// Keys that are answered or claimed.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Claims a key, unless memory knows it. A row that does not count is passed over.
    fn claim(&self, key: IdempotencyKey, passed_over: Option<i64>) -> KnownClaim {
        let mut state = self.lock();
        if state.open.contains(&key) {
            return KnownClaim::Claimed(Claimed::InProgress);
        }
        let row = state.rows.get(&short(&key)).copied();
        match row.filter(|id| Some(*id) != passed_over) {
            Some(id) => KnownClaim::Row(id),
            None if !state.shares.try_take(&key.0, 1, self.most as u64) => {
                KnownClaim::Claimed(Claimed::Full)
            }
            None => {
                state.open.insert(key);
                KnownClaim::Claimed(Claimed::New)
            }
        }
    }

    fn release(&self, key: &IdempotencyKey) {
        self.lock().close(key);
    }

    /// Rows are durable: their keys have answers now.
    pub fn answered(&self, rows: impl Iterator<Item = (IdempotencyKey, i64)>) {
        let mut state = self.lock();
        for (key, id) in rows {
            state.put(&key, id);
            state.close(&key);
        }
    }

    /// Rows are deleted; a key may have a newer one.
    fn forget(&self, gone: &[(i64, IdempotencyKey)]) {
        let mut state = self.lock();
        for (id, key) in gone {
            let short = short(key);
            if state.rows.get(&short) == Some(id) {
                state.rows.remove(&short);
                state.shares.give(&key.0, 1);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, ClaimsState> {
        // The state is valid between any two statements, so a poisoned lock can be used.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl ClaimsState ===

impl ClaimsState {
    fn len(&self) -> usize {
        self.rows.len() + self.open.len()
    }

    /// The last row of a key.
    fn put(&mut self, key: &IdempotencyKey, id: i64) {
        if self.rows.insert(short(key), id).is_none() {
            self.shares.take(&key.0, 1);
        }
    }

    /// A claim is over.
    fn close(&mut self, key: &IdempotencyKey) {
        if self.open.remove(key) {
            self.shares.give(&key.0, 1);
        }
    }
}

impl IdempotencyStore for SqliteStore {
    fn claim_key(&self, claim: KeyClaim) -> Reply<Claimed> {
        match self.shared.keys.claim((claim.account, claim.key), None) {
            KnownClaim::Claimed(claimed) => Reply::ready(Ok(claimed)),
            KnownClaim::Row(_) => {
                let shared = Arc::clone(&self.shared);
                self.loader
                    .ask(move |connection| look_up(&shared, connection, &claim))
            }
        }
    }

    fn claim_keys(&self, claims: Vec<KeyClaim>) -> Reply<Vec<Claimed>> {
        let keys = &self.shared.keys;
        let known = claims
            .iter()
            .map(|claim| keys.claim((claim.account, claim.key), None));
        let known: Vec<KnownClaim> = known.collect();
        if known.iter().any(|one| matches!(one, KnownClaim::Row(_))) {
            let shared = Arc::clone(&self.shared);
            return self
                .loader
                .ask(move |connection| look_all_up(&shared, connection, &claims, known));
        }
        let claimed = known.into_iter().filter_map(|one| match one {
            KnownClaim::Claimed(claimed) => Some(claimed),
            KnownClaim::Row(_) => None,
        });
        Reply::ready(Ok(claimed.collect()))
    }

    fn release_key(&self, claim: KeyClaim) -> Reply<()> {
        self.shared.keys.release(&(claim.account, claim.key));
        Reply::ready(Ok(()))
    }

    fn forget_keys(&self, before: i64, limit: usize) -> Reply<u64> {
        let shared = Arc::clone(&self.shared);
        writer::transact(&self.shared, move |connection, _| {
            let gone = older(connection, before, limit)?;
            let mut delete = connection.prepare_cached("DELETE FROM idempotency WHERE id = ?1")?;
            for (id, _) in &gone {
                delete.execute([id])?;
            }
            // Should the commit fail, they are too old to count all the same.
            shared.keys.forget(&gone);
            Ok(gone.len() as u64)
        })
    }
}

/// Finds out what is not known yet; gives back what was claimed if that fails.
fn look_all_up(
    shared: &SqliteShared,
    connection: &Connection,
    claims: &[KeyClaim],
    known: Vec<KnownClaim>,
) -> StoreResult<Vec<Claimed>> {
    let mut found = Vec::with_capacity(known.len());
    let mut failed = None;
    for (claim, known) in claims.iter().zip(known) {
        let looked_up = match (known, &failed) {
            (KnownClaim::Claimed(claimed), _) => Ok(claimed),
            (KnownClaim::Row(_), None) => look_up(shared, connection, claim),
            (KnownClaim::Row(_), Some(_)) => continue,
        };
        match looked_up {
            Ok(claimed) => found.push((claim, claimed)),
            Err(error) => failed = Some(error),
        }
    }
    let Some(error) = failed else {
        return Ok(found.into_iter().map(|(_, claimed)| claimed).collect());
    };
    for (claim, claimed) in found {
        if claimed == Claimed::New {
            shared.keys.release(&(claim.account, claim.key));
        }
    }
    Err(error)
}

/// Finds out what the row of a key says; claims the key when that does not count.
fn look_up(
    shared: &SqliteShared,
    connection: &Connection,
    claim: &KeyClaim,
) -> StoreResult<Claimed> {
    let mut passed_over = None;
    loop {
        match shared.keys.claim((claim.account, claim.key), passed_over) {
            KnownClaim::Claimed(claimed) => return Ok(claimed),
            KnownClaim::Row(id) => match answer(connection, id, claim)? {
                Some(claimed) => return Ok(claimed),
                None => passed_over = Some(id),
            },
        }
    }
}

/// What a row says; `None` when it is too old, deleted, or of another key.
fn answer(connection: &Connection, id: i64, claim: &KeyClaim) -> rusqlite::Result<Option<Claimed>> {
    let found = connection
        .prepare_cached(
            "SELECT request, answer FROM idempotency
             WHERE id = ?1 AND account = ?2 AND key = ?3 AND at >= ?4",
        )?
        .query_row((id, claim.account, &claim.key[..], claim.since), |row| {
            Ok((row.get::<_, [u8; HASH]>(0)?, row.get::<_, Vec<u8>>(1)?))
        })
        .optional()?;
    Ok(found.map(|(request, answer)| {
        if request == claim.request {
            Claimed::Done(Bytes::from(answer))
        } else {
            Claimed::Other
        }
    }))
}

/// The first rows of the table, those of them that are older. Rows of a wrong clock, which stay among the first,
/// do not keep others for long: there are fewer than the limit, or they get old.
fn older(
    connection: &Connection,
    before: i64,
    limit: usize,
) -> rusqlite::Result<Vec<(i64, IdempotencyKey)>> {
    let sql = "SELECT id, account, key
         FROM (SELECT id, account, key, at FROM idempotency ORDER BY id LIMIT ?2) WHERE at < ?1";
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map((before, crate::signed(limit)), read_key)?;
    rows.collect()
}

fn read_key(row: &Row<'_>) -> rusqlite::Result<(i64, IdempotencyKey)> {
    Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
}

/// Eight octets for a key: the row that they lead to has the whole of it.
fn short((account, key): &IdempotencyKey) -> u64 {
    let start = key
        .first_chunk()
        .map_or(0, |start| u64::from_le_bytes(*start));
    start ^ u64::from(*account).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::{Claimed, ClaimsState, IdempotencyKey, IdempotencyKeys, KnownClaim};

    fn keys(most: usize) -> IdempotencyKeys {
        IdempotencyKeys {
            state: ClaimsState::default().into(),
            most,
        }
    }

    fn claim(keys: &IdempotencyKeys, key: IdempotencyKey) -> Claimed {
        match keys.claim(key, None) {
            KnownClaim::Claimed(claimed) => claimed,
            KnownClaim::Row(id) => panic!("row {id}"),
        }
    }

    #[test]
    fn an_account_that_has_its_share_gets_no_new_keys_and_none_is_forgotten() {
        let key = |account, number| (account, [number; 32]);
        let keys = keys(8);
        let claimed = |account| {
            let claims = (0..8).map(|number| claim(&keys, key(account, number)));
            claims.filter(|one| *one == Claimed::New).count()
        };
        assert_eq!([claimed(1), claimed(2), claimed(3)], [4, 2, 1]);
        assert_eq!(claim(&keys, key(1, 0)), Claimed::InProgress);
        keys.answered([(key(1, 0), 5)].into_iter());
        assert!(matches!(keys.claim(key(1, 0), None), KnownClaim::Row(5)));
        assert_eq!(claim(&keys, key(1, 7)), Claimed::Full);
        assert_eq!(claim(&keys, key(4, 0)), Claimed::New, "the reserve");
        assert_eq!(claim(&keys, key(5, 0)), Claimed::Full, "all of them");
        keys.release(&key(2, 0));
        assert_eq!(
            claim(&keys, key(1, 7)),
            Claimed::Full,
            "it has more than is free"
        );
        assert_eq!(claim(&keys, key(5, 0)), Claimed::New);
        keys.forget(&[(4, key(1, 0))]);
        assert_eq!(keys.len(), 8, "an earlier row of the key");
        keys.forget(&[(5, key(1, 0))]);
        assert_eq!(claim(&keys, key(6, 0)), Claimed::New);
    }
}
