//! What was heard of messages, on PostgreSQL.

use tokio_postgres::Row;

use super::PgStore;
use super::record::{id_at, number_at, octets_at};
use crate::heard::{HeardRow, HeardStore};
use crate::{Reply, StoreError};
use smsc_proto::MessageState;

impl HeardStore for PgStore {
    fn heard_due(&self, at: i64, limit: usize) -> Reply<Vec<HeardRow>> {
        let limit = crate::signed(limit);
        self.ask(|shared| async move {
            let rows = shared
                .reader()
                .await?
                .query(
                    "SELECT id, at, operator, state, word, error, done_at, due FROM heard
                     WHERE due > 0 AND due <= $1 ORDER BY due, id LIMIT $2",
                    &[&at, &limit],
                )
                .await?;
            rows.iter().map(read_heard).collect()
        })
    }

    fn last_heard(&self, ids: Vec<u64>) -> Reply<Vec<HeardRow>> {
        let ids = keys(&ids);
        self.ask(|shared| async move {
            let rows = shared
                .reader()
                .await?
                .query(
                    "SELECT id, at, operator, state, word, error, done_at, due FROM heard
                     WHERE id = ANY($1) AND kind = 1 ORDER BY id",
                    &[&ids],
                )
                .await?;
            rows.iter().map(read_heard).collect()
        })
    }

    fn heard_settled(&self, ids: Vec<u64>) -> Reply<()> {
        let ids = keys(&ids);
        self.ask(|shared| async move {
            shared
                .reader()
                .await?
                .execute("UPDATE heard SET due = 0 WHERE id = ANY($1)", &[&ids])
                .await?;
            Ok(())
        })
    }
}

fn keys(ids: &[u64]) -> Vec<i64> {
    ids.iter().map(|id| *id as i64).collect()
}

/// A row of `id, at, operator, state, word, error, done_at, due`.
pub fn read_heard(row: &Row) -> Result<HeardRow, StoreError> {
    let state: i16 = row.try_get(3)?;
    Ok(HeardRow {
        id: id_at(row, 0)?,
        at: row.try_get(1)?,
        operator: number_at(row, 2)?,
        state: MessageState::try_from(i32::from(state)).unwrap_or_default(),
        word: octets_at(row, 4)?,
        error: octets_at(row, 5)?,
        done_at: row.try_get(6)?,
        due: row.try_get(7)?,
    })
}
