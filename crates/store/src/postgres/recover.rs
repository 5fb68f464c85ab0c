//! Finds the active messages, in id order and in pages of one snapshot.
//!
//! Called by `recover()`, and by the upkeep to find what is still active below a new low-water mark;
//! the pages serve the cluster as well. Guarantees that memory does not grow with the backlog, and
//! that nothing active is missed: first the ids in `carry` below the mark, then everything from the
//! mark on.
//!
//! A message is active without `fin`, or with a `fin` that requires a receipt and no `told`.

use std::ops::Range;
use std::sync::Arc;

use ahash::AHashMap;
use deadpool_postgres::Transaction;
use tokio_postgres::Row;

use super::Shared;
use super::connect::begin_reading;
use super::record::{id_at, number_at, octets_at};
use crate::{Active, ActivePage, SentRow, Stage, StoreError};

/// Active messages per page.
const PAGE: i64 = 10_000;

/// What makes a message active, of `msg m LEFT JOIN fin f`.
pub const IS_ACTIVE: &str = "(f.id IS NULL OR (f.tell <> 0
    AND NOT EXISTS(SELECT 1 FROM told t WHERE t.id = m.id)))";

/// The columns that [`read_active`] expects.
pub const ACTIVE_COLUMNS: &str = "m.id, m.sender, m.queue, m.part, m.priority, m.due_at,
    m.expires_at, f.tell, f.at";

/// Calls `each` for every active message, of one queue or all. Blocks.
pub fn recover(
    shared: &Arc<Shared>,
    queue: Option<u32>,
    each: &mut dyn FnMut(Active),
) -> Result<(), StoreError> {
    let (pages, mut received) = tokio::sync::mpsc::channel(2);
    let theirs = Arc::clone(shared);
    let done = shared.ask(async move {
        let mut client = theirs.reader().await?;
        let snapshot = begin_reading(&mut client).await?;
        read_all(&snapshot, &pages).await?;
        Ok(snapshot.commit().await?)
    });
    while let Some(page) = received.blocking_recv() {
        for active in page {
            // A message that owes its sender a receipt belongs to the queue of that receipt.
            let owner = match active.stage {
                Stage::Untold { tell, .. } => tell,
                _ => active.queue,
            };
            if queue.is_none_or(|queue| queue == owner) {
                each(active);
            }
        }
    }
    done.wait()
}

/// A page of the active messages with these ids.
pub async fn page(
    shared: &Shared,
    ids: Range<u64>,
    limit: usize,
) -> Result<ActivePage, StoreError> {
    let mut client = shared.reader().await?;
    let snapshot = begin_reading(&mut client).await?;
    let page = read_page(&snapshot, ids, limit).await?;
    snapshot.commit().await?;
    Ok(page)
}

async fn read_page(
    client: &Transaction<'_>,
    ids: Range<u64>,
    limit: usize,
) -> Result<ActivePage, StoreError> {
    let mark = low_water(client).await?;
    let (from, end) = (ids.start as i64, ids.end.min(i64::MAX as u64) as i64);
    let (sql, below) = match from < mark {
        true => (carried(), mark.min(end)),
        false => (slice(), end),
    };
    let most = limit as i64;
    let rows = client.query(&sql, &[&from, &below, &most]).await?;
    let mut active = rows
        .iter()
        .map(read_active)
        .collect::<Result<Vec<_>, _>>()?;
    add_stages(client, &mut active).await?;
    let next = match active.last() {
        Some(last) if active.len() == limit => Some(last.id + 1),
        // After what is carried comes what follows the mark.
        _ => (below < end).then_some(below as u64),
    };
    Ok(ActivePage { active, next })
}

async fn low_water(client: &Transaction<'_>) -> Result<i64, StoreError> {
    let row = client
        .query_one(
            "SELECT coalesce((SELECT value FROM meta WHERE key = 'low_water'), 0)",
            &[],
        )
        .await?;
    Ok(row.try_get(0)?)
}

/// From $1 up to $2, at most $3 of those below the low-water mark.
fn carried() -> String {
    format!(
        "SELECT {ACTIVE_COLUMNS} FROM carry c JOIN msg m ON m.id = c.id LEFT JOIN fin f ON f.id = m.id
         WHERE c.id >= $1 AND c.id < $2 AND {IS_ACTIVE} ORDER BY c.id LIMIT $3"
    )
}

/// The same for those from the mark on.
fn slice() -> String {
    format!(
        "SELECT {ACTIVE_COLUMNS} FROM msg m LEFT JOIN fin f ON f.id = m.id AND f.id >= $1
         WHERE m.id >= $1 AND m.id < $2 AND {IS_ACTIVE} ORDER BY m.id LIMIT $3"
    )
}

async fn read_all(
    client: &Transaction<'_>,
    pages: &tokio::sync::mpsc::Sender<Vec<Active>>,
) -> Result<(), StoreError> {
    // What the caller does with a page takes as long as it takes; no row is locked meanwhile.
    client
        .batch_execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        .await?;
    let mark = low_water(client).await?;
    for (sql, mut from, below) in [(carried(), 0, mark), (slice(), mark, i64::MAX)] {
        let statement = client.prepare(&sql).await?;
        while from < below {
            let rows = client.query(&statement, &[&from, &below, &PAGE]).await?;
            let mut page = rows
                .iter()
                .map(read_active)
                .collect::<Result<Vec<_>, _>>()?;
            let Some(last) = page.last() else { break };
            from = last.id as i64 + 1;
            add_stages(client, &mut page).await?;
            // The caller is gone and needs no more.
            if pages.send(page).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A row of [`ACTIVE_COLUMNS`], without what [`add_stages`] adds.
pub fn read_active(row: &Row) -> Result<Active, StoreError> {
    let tell: Option<i32> = row.try_get(7)?;
    Ok(Active {
        id: id_at(row, 0)?,
        sender: number_at(row, 1)?,
        queue: number_at(row, 2)?,
        part: row.try_get::<_, i16>(3)? as u8,
        priority: number_at(row, 4)?,
        due_at: row.try_get(5)?,
        expires_at: row.try_get(6)?,
        attempts: 0,
        stage: match tell {
            Some(tell) => Stage::Untold {
                tell: tell as u32,
                at: row.try_get(8)?,
            },
            None => Stage::Waiting,
        },
    })
}

/// Completes messages with moves, replacements, retries, attempts and tries. Ids ascend.
pub async fn add_stages(client: &Transaction<'_>, page: &mut [Active]) -> Result<(), StoreError> {
    let ids: Vec<i64> = page.iter().map(|active| active.id as i64).collect();
    let ids: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&ids];
    let (changes, retries, sent, tries) = tokio::try_join!(
        biased;
        client.query(
            "SELECT id, kind, queue, expires_at FROM change
             WHERE id = ANY($1) AND kind IN (1, 4) ORDER BY id, seq",
            &ids
        ),
        client.query("SELECT id, due_at, attempts FROM retry WHERE id = ANY($1)", &ids),
        client.query(
            "SELECT id, attempt, at, operator, status, operator_message_id FROM sent
             WHERE id = ANY($1) ORDER BY id, attempt",
            &ids
        ),
        client.query("SELECT id, attempt FROM tries WHERE id = ANY($1)", &ids),
    )?;
    let places: AHashMap<u64, usize> = page
        .iter()
        .enumerate()
        .map(|(place, active)| (active.id, place))
        .collect();
    let place = |row: &Row| -> Result<usize, StoreError> {
        Ok(places.get(&id_at(row, 0)?).copied().unwrap_or_default())
    };
    for row in &changes {
        let active = &mut page[place(row)?];
        match row.try_get::<_, i16>(1)? {
            1 => active.queue = number_at(row, 2)?,
            _ => active.expires_at = row.try_get(3)?,
        }
    }
    for row in &retries {
        let active = &mut page[place(row)?];
        active.due_at = row.try_get(1)?;
        active.attempts = number_at(row, 2)?;
    }
    let mut settled: AHashMap<u64, Vec<u32>> = AHashMap::new();
    for row in &sent {
        let active = &mut page[place(row)?];
        let (attempt, status) = (number_at(row, 1)?, number_at(row, 4)?);
        // One without an answer is as unsure as one without a row.
        if status != SentRow::NO_ANSWER && !tries.is_empty() {
            settled.entry(active.id).or_default().push(attempt);
        }
        active.attempts = active.attempts.max(attempt);
        if status == 0 && !matches!(active.stage, Stage::Untold { .. }) {
            let one = (number_at(row, 3)?, octets_at(row, 5)?);
            let answered: i64 = row.try_get(2)?;
            match &mut active.stage {
                Stage::Sent { at, ids } => {
                    *at = answered.max(*at);
                    ids.push(one);
                }
                stage => {
                    *stage = Stage::Sent {
                        at: answered,
                        ids: vec![one],
                    };
                }
            }
        }
    }
    for row in &tries {
        let active = &mut page[place(row)?];
        let attempt = number_at(row, 1)?;
        let is_settled = settled
            .get(&active.id)
            .is_some_and(|attempts| attempts.contains(&attempt));
        if active.stage == Stage::Waiting && !is_settled {
            active.stage = Stage::OutcomeUnknown;
        }
    }
    Ok(())
}
