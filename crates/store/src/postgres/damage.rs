//! The list of damaged rows, on PostgreSQL.

use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio_postgres::{GenericClient, Row};

use super::PgStore;
use super::connect::Object;
use super::failure::DbError;
use super::reader::{keys, place, snapshot};
use super::record::id_at;
use crate::damage::{DamageLog, DamageSearch, DamageStore, DamagedRow, ListedDamage};
use crate::{Reply, StoreError, signed};

const STORED: &str = "SELECT m.id FROM msg m WHERE m.id = ANY($1)
    AND NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id AND f.id = ANY($1))";
const NO_FINAL_STATE: &str = "SELECT i FROM unnest($1::bigint[]) i
    WHERE NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = i AND f.id = ANY($1))";

const UNTOLD: &str = "SELECT f.id FROM fin f WHERE f.id = ANY($1) AND f.tell <> 0
    AND NOT EXISTS(SELECT 1 FROM told t WHERE t.id = f.id AND t.id = ANY($1))";

impl DamageStore for PgStore {
    fn take_damage(&self) -> Vec<DamagedRow> {
        self.shared.damage.take()
    }

    fn put_damage_back(&self, rows: Vec<DamagedRow>) {
        self.shared.damage.put_back(rows);
    }

    fn unfinished(&self, ids: Vec<u64>) -> Reply<Vec<u64>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let client = shared.reader().await?;
            Ok(unfinished(&client, &shared.damage, &ids).await?)
        })
    }

    fn untold(&self, ids: Vec<u64>) -> Reply<Vec<u64>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let client = shared.reader().await?;
            let keys = keys(&ids);
            let untold = |keys| select(&client, UNTOLD, keys).boxed();
            let read = place(&client, &shared.damage).read(&*keys, untold).await?;
            Ok(read.read.into_iter().map(|id| id as u64).collect())
        })
    }

    fn list_damage(&self, rows: Vec<DamagedRow>, found_at: i64) -> Reply<()> {
        let shared = Arc::clone(&self.shared);
        self.shared
            .ask(async move { list(&**shared.reader().await?, &rows, found_at).await })
    }

    fn listed_damage(&self, search: DamageSearch) -> Reply<Vec<ListedDamage>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let id = search.id.map(|id| id as i64);
            let (below, table) = match search.after {
                Some((id, table)) => (id as i64, table),
                None => (i64::MAX, String::new()),
            };
            let rows = shared
                .reader()
                .await?
                .query(
                    "SELECT id, origin, found_at, why, legible FROM damaged
                     WHERE ($1::bigint IS NULL OR id = $1) AND (id < $2 OR id = $2 AND origin > $3)
                     ORDER BY id DESC, origin LIMIT $4",
                    &[&id, &below, &table, &signed(search.limit)],
                )
                .await?;
            rows.iter().map(read_listed).collect()
        })
    }

    fn count_damage(&self) -> Reply<u64> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let count = "SELECT count(*) FROM damaged";
            id_at(&shared.reader().await?.query_one(count, &[]).await?, 0)
        })
    }

    fn unlist_damage(&self, row: Option<(String, u64)>) -> Reply<u64> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let client = shared.reader().await?;
            Ok(match row {
                None => client.execute("DELETE FROM damaged", &[]).await?,
                Some((table, id)) => {
                    let one = "DELETE FROM damaged WHERE id = $1 AND origin = $2";
                    client.execute(one, &[&(id as i64), &table]).await?
                }
            })
        })
    }
}

/// Those that are stored without a final state. One whose message cannot be read is stored; it is none of them where that
/// of its final state cannot be read either.
async fn unfinished(client: &Object, damage: &DamageLog, ids: &[u64]) -> Result<Vec<u64>, DbError> {
    let keys = keys(ids);
    let stored = |keys| select(client, STORED, keys).boxed();
    let all = place(client, damage).read(&*keys, stored).await?;
    let damaged = all.damaged_ids();
    let mut unfinished = all.read;
    if !damaged.is_empty() {
        let no_final_state = |keys| select(client, NO_FINAL_STATE, keys).boxed();
        let place = place(client, damage);
        unfinished.extend(place.read(&*damaged, no_final_state).await?.read);
    }
    unfinished.sort_unstable();
    Ok(unfinished.into_iter().map(|id| id as u64).collect())
}

async fn select(client: &Object, sql: &str, keys: &[i64]) -> Result<Vec<i64>, DbError> {
    let rows = snapshot(client, keys, &[sql]).await?;
    let ids = rows.iter().flatten().map(|row| row.try_get(0));
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Lists rows; those that are on the list stay as they are.
pub async fn list(
    client: &impl GenericClient,
    rows: &[DamagedRow],
    found_at: i64,
) -> Result<(), StoreError> {
    let ids: Vec<i64> = rows.iter().map(|row| row.id as i64).collect();
    let column = |of: fn(&DamagedRow) -> &str| -> Vec<_> {
        // Whatever is legible may hold a NUL, which no text may.
        rows.iter().map(|row| of(row).replace('\0', "?")).collect()
    };
    client
        .execute(
            "INSERT INTO damaged(id, origin, found_at, why, legible)
             SELECT id, origin, $5, why, legible
             FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[])
               u(id, origin, why, legible)
             ON CONFLICT DO NOTHING",
            &[
                &ids,
                &column(|row| &row.table),
                &column(|row| &row.why),
                &column(|row| &row.legible),
                &found_at,
            ],
        )
        .await?;
    Ok(())
}

fn read_listed(row: &Row) -> Result<ListedDamage, StoreError> {
    Ok(ListedDamage {
        row: DamagedRow {
            id: id_at(row, 0)?,
            table: row.try_get(1)?,
            why: row.try_get(3)?,
            legible: row.try_get(4)?,
        },
        found_at: row.try_get(2)?,
    })
}
