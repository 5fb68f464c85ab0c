//! Damaged rows, on PostgreSQL.

use futures_util::FutureExt as _;

use super::PgStore;
use super::connect::Object;
use super::failure::DbResult;
use super::reader::{keys, place, snapshot};
use crate::Reply;
use crate::damage::{DamageLog, DamageStore, DamagedRow};

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
        self.ask(|shared| async move {
            let client = shared.reader().await?;
            Ok(unfinished(&client, &shared.damage, &ids).await?)
        })
    }

    fn untold(&self, ids: Vec<u64>) -> Reply<Vec<u64>> {
        self.ask(|shared| async move {
            let client = shared.reader().await?;
            let keys = keys(&ids);
            let untold = |keys| select(&client, UNTOLD, keys).boxed();
            let read = place(&client, &shared.damage).read(&*keys, untold).await?;
            Ok(read.read.into_iter().map(|id| id as u64).collect())
        })
    }
}

/// Those that are stored without a final state. One whose message cannot be read is stored; it is none of them where that
/// of its final state cannot be read either.
async fn unfinished(client: &Object, damage: &DamageLog, ids: &[u64]) -> DbResult<Vec<u64>> {
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

async fn select(client: &Object, sql: &str, keys: &[i64]) -> DbResult<Vec<i64>> {
    let rows = snapshot(client, keys, &[sql]).await?;
    let ids = rows.iter().flatten().map(|row| row.try_get(0));
    Ok(ids.collect::<Result<_, _>>()?)
}
