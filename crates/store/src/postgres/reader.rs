//! Reads messages by id, and the small tables.
//!
//! Called on the store's thread with a connection of the pool; guarantees that one answer comes from
//! one snapshot, and that the statements of one answer are sent at once.

use super::connect::Object as Client;
use ahash::AHashMap;
use futures_util::future::try_join_all;
use futures_util::{FutureExt as _, TryFutureExt as _};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::around::SpanReader;
use super::failure::{CommitResult, DbError, DbResult};
use super::record::{
    CHANGE_COLUMNS, FIN_COLUMNS, MESSAGE_COLUMNS, PARKED_COLUMNS, SENT_COLUMNS, id_at, number_at,
    read_change, read_fin, read_message, read_parked, read_sent,
};
use super::{PgStore, cold};
use crate::damage::{DamageLog, DamagedRow};
use crate::heard::HeardRow;
use crate::{FinRow, MessageHistory, ParkedRow, RetryRow, StoreResult, Stored, signed};

/// Opens a snapshot that several statements share. Only for a pipeline, in which its end is sent before
/// any answer is read: no connection goes back to the pool within it. No row is read but those that are asked for.
const SNAPSHOT: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_seqscan = off";

/// Ids are given in ascending order, so the first and the last bound the partitions that are read:
/// otherwise every id would be looked up in every day.
macro_rules! among {
    ($id:literal) => {
        concat!(
            $id,
            " = ANY($1) AND ",
            $id,
            " >= $1[1] AND ",
            $id,
            " <= $1[cardinality($1)]"
        )
    };
}
pub(super) use among;

const AMONG: &str = among!("id");
const RETRY: &str = "SELECT id, due_at, attempts FROM retry WHERE id = ANY($1)";
const HEARD: &str = "SELECT id, at, operator, state, word, error, done_at, due FROM heard
     WHERE id = ANY($1) ORDER BY id, at";

/// Final states.
pub fn fins() -> String {
    format!("SELECT {FIN_COLUMNS} FROM fin WHERE {AMONG}")
}

/// Attempts, those of a message in their order.
pub fn attempts() -> String {
    format!("SELECT {SENT_COLUMNS} FROM sent WHERE {AMONG} ORDER BY id, attempt")
}

/// Changes, those of a message in their order.
pub fn changes() -> String {
    format!("SELECT {CHANGE_COLUMNS} FROM change WHERE {AMONG} ORDER BY id, seq")
}

/// Runs statements with one parameter of ids in one snapshot, all sent at once.
pub async fn snapshot(
    client: &Client,
    ids: &[i64],
    statements: &[&str],
) -> DbResult<Vec<Vec<Row>>> {
    let mut prepared: Vec<Statement> = Vec::with_capacity(statements.len());
    for sql in statements {
        prepared.push(client.prepare_cached(sql).await?);
    }
    let parameters: [&(dyn ToSql + Sync); 1] = [&ids];
    let parameters = &parameters;
    let rows = try_join_all(
        prepared
            .iter()
            .map(|statement| async move { client.query(statement, parameters).await }),
    );
    let (begun, rows, ended) = tokio::join!(
        biased;
        client.batch_execute(SNAPSHOT),
        rows,
        client.batch_execute("COMMIT")
    );
    begun?;
    let rows = rows?;
    ended?;
    Ok(rows)
}

/// Messages by id, in the order asked. What is damaged is noted: a message is left out, and a final state is an unknown one.
pub async fn load(
    client: &Client,
    damage: &DamageLog,
    ids: &[u64],
) -> StoreResult<Vec<Option<Stored>>> {
    let keys = keys(ids);
    let read = |keys| load_part(client, damage, keys).boxed();
    let stored = place(client, damage).read(&*keys, read).await?.read;
    let mut found: AHashMap<u64, Stored> = (stored.into_iter())
        .map(|stored| (stored.message.id, stored))
        .collect();
    if keys.len() == ids.len() {
        return Ok(ids.iter().map(|id| found.remove(id)).collect());
    }
    Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
}

/// Messages that are read one snapshot after another.
pub fn place<'a>(
    client: &'a Client,
    damage: &'a DamageLog,
) -> SpanReader<'a, tokio_postgres::Client> {
    SpanReader {
        client: &***client,
        damage,
        table: "msg",
        is_transaction: false,
    }
}

/// Some messages, if all of them can be read.
async fn load_part(client: &Client, damage: &DamageLog, keys: &[i64]) -> DbResult<Vec<Stored>> {
    let messages = format!(
        "SELECT {MESSAGE_COLUMNS} FROM msg m WHERE {}",
        among!("m.id")
    );
    let (fins, attempts, changes) = (fins(), attempts(), changes());
    let statements = [&*messages, &*fins, &*attempts, RETRY, &*changes];
    let rows = snapshot(client, keys, &statements).await?;
    let mut found = AHashMap::with_capacity(keys.len());
    for row in &rows[0] {
        let read = asked_for(keys, read_message(row), |message| message.id)?;
        if let Some(message) = damage.sift(read.1) {
            found.insert(message.id, Stored::new(message));
        }
    }
    for row in &rows[1] {
        let (id, read) = asked_for(keys, read_fin(row), |fin| fin.id)?;
        let fin = damage.sift(read);
        if let Some(stored) = found.get_mut(&id) {
            stored.fin = Some(fin.unwrap_or_else(|| FinRow::damaged(id)));
        }
    }
    // What has not ended ends for a damaged row of it, which may say that it was sent, moved or cancelled.
    let sift = |found: &mut AHashMap<u64, Stored>, row: DamagedRow| {
        if found
            .get(&row.id)
            .is_some_and(|stored| stored.fin.is_none())
        {
            found.remove(&row.id);
        }
        damage.note(row);
    };
    for row in &rows[2] {
        let sent = match asked_for(keys, read_sent(row), |sent| sent.id)?.1 {
            Ok(sent) => sent,
            Err(row) => {
                sift(&mut found, row);
                continue;
            }
        };
        if let Some(stored) = found.get_mut(&sent.id) {
            stored.attempted(&sent);
        }
    }
    for row in &rows[3] {
        if let Some(stored) = found.get_mut(&id_at(row, 0)?) {
            stored.attempts = stored.attempts.max(number_at(row, 2)?);
        }
    }
    for row in &rows[4] {
        let change = match asked_for(keys, read_change(row), |change| change.id)?.1 {
            Ok(change) => change,
            Err(row) => {
                sift(&mut found, row);
                continue;
            }
        };
        if let Some(stored) = found.get_mut(&change.id) {
            stored.changed(change);
        }
    }
    Ok(found.into_values().collect())
}

/// A row of one of these messages, which ascend, and which of them it is.
///
/// # Errors
/// It is of none of them: who reads in halves finds the one whose row it is.
pub fn asked_for<T>(
    keys: &[i64],
    read: Result<T, DamagedRow>,
    id_of: impl FnOnce(&T) -> u64,
) -> DbResult<(u64, Result<T, DamagedRow>)> {
    let id = read.as_ref().map_or_else(|row| row.id, id_of);
    match keys.binary_search(&(id as i64)) {
        Ok(_) => Ok((id, read)),
        Err(_) => Err(DbError::Strange(id)),
    }
}

/// Ascending, each once.
pub fn keys(ids: &[u64]) -> Vec<i64> {
    let mut keys: Vec<i64> = ids.iter().map(|id| *id as i64).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A message with all that happened to it.
pub async fn history(
    client: &Client,
    damage: &DamageLog,
    id: u64,
) -> StoreResult<Option<MessageHistory>> {
    Ok(histories(client, damage, &[id]).await?.pop().flatten())
}

/// Messages with their history, in the order requested; each id once.
pub async fn histories(
    client: &Client,
    damage: &DamageLog,
    ids: &[u64],
) -> StoreResult<Vec<Option<MessageHistory>>> {
    let loaded = load(client, damage, ids).await?;
    let mut all: AHashMap<u64, MessageHistory> = AHashMap::with_capacity(ids.len());
    for stored in loaded.into_iter().flatten() {
        let history = MessageHistory {
            stored,
            attempts: Vec::new(),
            retry: None,
            told: false,
            changes: Vec::new(),
            heard: Vec::new(),
        };
        all.insert(history.stored.message.id, history);
    }
    if all.is_empty() {
        return Ok(ids.iter().map(|_| None).collect());
    }
    let told = concat!("SELECT id FROM told WHERE ", among!("id"));
    let (attempts, changes) = (attempts(), changes());
    let statements = [&*attempts, RETRY, told, &*changes, HEARD];
    let keys = keys(ids);
    let read = |keys| {
        let rows = snapshot(client, keys, &statements);
        rows.map_ok(|rows| vec![rows]).boxed()
    };
    for rows in place(client, damage).read(&*keys, read).await?.read {
        add_histories(&mut all, damage, &rows)?;
    }
    Ok(ids.iter().map(|id| all.remove(id)).collect())
}

/// Adds attempts, retries, acknowledged receipts, changes and reports.
fn add_histories(
    all: &mut AHashMap<u64, MessageHistory>,
    damage: &DamageLog,
    rows: &[Vec<Row>],
) -> StoreResult {
    for attempt in rows[0].iter().filter_map(|row| damage.sift(read_sent(row))) {
        if let Some(history) = all.get_mut(&attempt.id) {
            history.attempts.push(attempt);
        }
    }
    for row in &rows[1] {
        let id = id_at(row, 0)?;
        if let Some(history) = all.get_mut(&id) {
            history.retry = Some(RetryRow {
                id,
                due_at: row.try_get(1)?,
                attempts: number_at(row, 2)?,
            });
        }
    }
    for row in &rows[2] {
        if let Some(history) = all.get_mut(&id_at(row, 0)?) {
            history.told = true;
        }
    }
    for change in rows[3]
        .iter()
        .filter_map(|row| damage.sift(read_change(row)))
    {
        if let Some(history) = all.get_mut(&change.id) {
            history.changes.push(change);
        }
    }
    for row in &rows[4] {
        let heard = HeardRow::read::<PgStore>(cold::read(row)?)?;
        if let Some(history) = all.get_mut(&heard.id) {
            history.heard.push(heard);
        }
    }
    Ok(())
}

/// Parked receipts in id order.
pub async fn parked(
    client: &Client,
    damage: &DamageLog,
    limit: usize,
) -> StoreResult<Vec<ParkedRow>> {
    let sql = format!("SELECT {PARKED_COLUMNS} FROM parked ORDER BY id LIMIT $1");
    let rows = client.query(&sql, &[&signed(limit)]).await?;
    let whole = rows.iter().filter_map(|row| damage.sift(read_parked(row)));
    Ok(whole.collect())
}

/// All interned names.
pub async fn names(client: &Client) -> StoreResult<Vec<(u32, String)>> {
    let rows = client
        .query("SELECT number, name FROM names ORDER BY number", &[])
        .await?;
    rows.iter()
        .map(|row| Ok((number_at(row, 0)?, row.try_get(1)?)))
        .collect()
}

/// Final states by id.
pub async fn read_fins(
    client: &tokio_postgres::Client,
    ids: &[u64],
) -> CommitResult<AHashMap<u64, FinRow>> {
    let mut found = AHashMap::with_capacity(ids.len());
    for row in client.query(&fins(), &[&keys(ids)]).await? {
        // One that is damaged is not the one that was to be written.
        if let Ok(fin) = read_fin(&row) {
            found.insert(fin.id, fin);
        }
    }
    Ok(found)
}
