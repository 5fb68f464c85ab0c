//! Reads messages by id, and the small tables.
//!
//! Called on the store's thread with a connection of the pool; guarantees that one answer comes from
//! one snapshot, and that the statements of one answer are sent at once.

use super::connect::Object as Client;
use ahash::AHashMap;
use futures_util::future::try_join_all;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::failure::Failure;
use super::heard::read_heard;
use super::record::{
    MESSAGE_COLUMNS, id_at, number_at, octets_at, read_change, read_fin, read_message, read_sent,
};
use crate::record::{moved, replace};
use crate::{ChangeKind, FinRow, History, ParkedRow, RetryRow, StoreError, Stored, signed};

/// Opens a snapshot that several statements share. Only for a pipeline, in which its end is sent before
/// any answer is read: no connection goes back to the pool within it.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

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

const FIN: &str = concat!(
    "SELECT id, at, state, error, operator, tell, done_at FROM fin WHERE ",
    among!("id")
);
const SENT: &str = concat!(
    "SELECT id, attempt, at, operator, status, operator_message_id, latency_ms, correlation,
       bind
     FROM sent WHERE ",
    among!("id"),
    " ORDER BY id, attempt"
);
const RETRY: &str = "SELECT id, due_at, attempts FROM retry WHERE id = ANY($1)";
const CHANGE: &str = concat!(
    "SELECT id, at, kind, queue, by, expires_at, body FROM change WHERE ",
    among!("id"),
    " ORDER BY id, seq"
);

const HEARD: &str = "SELECT id, at, operator, state, word, error, done_at, due FROM heard
     WHERE id = ANY($1) ORDER BY id, at";

/// Runs statements with one parameter of ids in one snapshot, all sent at once.
pub async fn snapshot(
    client: &Client,
    ids: &[i64],
    statements: &[&str],
) -> Result<Vec<Vec<Row>>, StoreError> {
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

/// Messages by id, in the order asked.
pub async fn load(client: &Client, ids: &[u64]) -> Result<Vec<Option<Stored>>, StoreError> {
    let keys = keys(ids);
    let messages = format!(
        "SELECT {MESSAGE_COLUMNS} FROM msg m WHERE {}",
        among!("m.id")
    );
    let last = concat!(
        "SELECT id, max(attempt), coalesce(max(at) FILTER (WHERE status = 0), 0) FROM sent WHERE ",
        among!("id"),
        " GROUP BY id"
    );
    let rows = snapshot(client, &keys, &[&messages, FIN, last, RETRY, CHANGE]).await?;
    let mut found = AHashMap::with_capacity(keys.len());
    for row in &rows[0] {
        let message = read_message(row)?;
        let stored = Stored {
            queue: message.queue,
            message,
            fin: None,
            attempts: 0,
            replayed_as: 0,
            sent_at: 0,
        };
        found.insert(stored.message.id, stored);
    }
    for row in &rows[1] {
        if let Some(stored) = found.get_mut(&id_at(row, 0)?) {
            stored.fin = Some(read_fin(row)?);
        }
    }
    for row in &rows[2] {
        if let Some(stored) = found.get_mut(&id_at(row, 0)?) {
            stored.sent_at = row.try_get(2)?;
        }
    }
    for (rows, column) in [(&rows[2], 1), (&rows[3], 2)] {
        for row in rows {
            if let Some(stored) = found.get_mut(&id_at(row, 0)?) {
                stored.attempts = stored.attempts.max(number_at(row, column)?);
            }
        }
    }
    for row in &rows[4] {
        let change = read_change(row)?;
        let Some(stored) = found.get_mut(&change.id) else {
            continue;
        };
        match change.kind {
            ChangeKind::Move => moved(stored, &change),
            ChangeKind::Replace => {
                replace(&mut stored.message, change.body, change.expires_at);
            }
            ChangeKind::Replay => stored.replayed_as = change.replay(),
            ChangeKind::Retry | ChangeKind::Cancel | ChangeKind::GiveUp => {}
        }
    }
    if keys.len() == ids.len() {
        return Ok(ids.iter().map(|id| found.remove(id)).collect());
    }
    Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
}

/// Ascending, each once.
fn keys(ids: &[u64]) -> Vec<i64> {
    let mut keys: Vec<i64> = ids.iter().map(|id| *id as i64).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A message with all that happened to it.
pub async fn history(client: &Client, id: u64) -> Result<Option<History>, StoreError> {
    Ok(histories(client, &[id]).await?.pop().flatten())
}

/// Messages with their history, in the order requested; each id once.
pub async fn histories(client: &Client, ids: &[u64]) -> Result<Vec<Option<History>>, StoreError> {
    let loaded = load(client, ids).await?;
    let mut all: AHashMap<u64, History> = AHashMap::with_capacity(ids.len());
    for stored in loaded.into_iter().flatten() {
        let history = History {
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
    let rows = snapshot(client, &keys(ids), &[SENT, RETRY, told, CHANGE, HEARD]).await?;
    for row in &rows[0] {
        let attempt = read_sent(row)?;
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
    for row in &rows[3] {
        let change = read_change(row)?;
        if let Some(history) = all.get_mut(&change.id) {
            history.changes.push(change);
        }
    }
    for row in &rows[4] {
        let heard = read_heard(row)?;
        if let Some(history) = all.get_mut(&heard.id) {
            history.heard.push(heard);
        }
    }
    Ok(ids.iter().map(|id| all.remove(id)).collect())
}

/// Parked receipts in id order.
pub async fn parked(client: &Client, limit: usize) -> Result<Vec<ParkedRow>, StoreError> {
    let limit = signed(limit);
    let rows = client
        .query(
            "SELECT id, operator, operator_message_id, at, receipt FROM parked ORDER BY id LIMIT $1",
            &[&limit],
        )
        .await?;
    rows.iter().map(read_parked).collect()
}

/// A row of `id, operator, operator_message_id, at, receipt`.
pub fn read_parked(row: &Row) -> Result<ParkedRow, StoreError> {
    Ok(ParkedRow {
        id: id_at(row, 0)?,
        operator: number_at(row, 1)?,
        operator_message_id: octets_at(row, 2)?,
        at: row.try_get(3)?,
        receipt: row.try_get::<_, Vec<u8>>(4)?.into(),
    })
}

/// All interned names.
pub async fn names(client: &Client) -> Result<Vec<(u32, String)>, StoreError> {
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
) -> Result<AHashMap<u64, FinRow>, Failure> {
    let mut found = AHashMap::with_capacity(ids.len());
    for row in client.query(FIN, &[&keys(ids)]).await? {
        let fin = read_fin(&row).map_err(|error| Failure::Other(error.to_string()))?;
        found.insert(fin.id, fin);
    }
    Ok(found)
}
