//! Finds the active messages, in id order and in pages of one snapshot.
//!
//! Called by `recover()`, by take-overs, and by whoever moves the low-water mark. Guarantees that memory
//! does not grow with the backlog, and that nothing active is missed: first the ids in `carry` below the
//! mark, then everything from the mark on. What is carried is read by its ids, so that its cost does not
//! depend on what else is stored.
//!
//! A message is active without `fin`, or with a `fin` that requires a receipt and no `told`.

use std::ops::Range;
use std::sync::Arc;

use ahash::AHashMap;
use deadpool_postgres::Transaction;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Shared;
use super::connect::begin_reading;
use super::reader::among;
use super::record::{id_at, number_at, octets_at};
use super::upkeep::meta;
use crate::{Active, ActivePage, SentRow, Stage, StoreError};

/// Active messages per page.
pub const PAGE: i64 = 10_000;

/// What makes a message active, of `msg m LEFT JOIN fin f`.
pub const IS_ACTIVE: &str = "(f.id IS NULL OR (f.tell <> 0
    AND NOT EXISTS(SELECT 1 FROM told t WHERE t.id = m.id)))";

const MSG: &str = concat!(
    "SELECT id, sender, queue, part, priority, due_at, expires_at FROM msg WHERE ",
    among!("id")
);
const FIN: &str = concat!("SELECT id, tell, at FROM fin WHERE ", among!("id"));
const TOLD: &str = concat!("SELECT id FROM told WHERE ", among!("id"));
const CHANGE: &str = concat!(
    "SELECT id, kind, queue, expires_at FROM change
     WHERE (kind IN (1, 4) OR kind = 2 AND by = 'ended the session') AND ",
    among!("id"),
    " ORDER BY id, seq"
);
const RETRY: &str = "SELECT id, due_at, attempts FROM retry WHERE id = ANY($1)";
const SENT: &str = concat!(
    "SELECT id, attempt, at, operator, status, operator_message_id FROM sent WHERE ",
    among!("id"),
    " ORDER BY id, attempt"
);
const TRIES: &str = concat!("SELECT id, attempt FROM tries WHERE ", among!("id"));

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
    let mark = meta(&**client, "low_water").await?;
    let (from, end) = (ids.start as i64, ids.end.min(i64::MAX as u64) as i64);
    let most = limit as i64;
    let (active, last, below) = match from < mark {
        true => {
            let below = mark.min(end);
            let ids = carried(client, from, below, most).await?;
            let last = (ids.len() == limit).then(|| ids.last().copied());
            (read_ids(client, &ids).await?, last.flatten(), below)
        }
        false => {
            let active = slice(client, from, end, most).await?;
            let last = active.last().map(|last| last.id as i64);
            let last = last.filter(|_| active.len() == limit);
            (active, last, end)
        }
    };
    let next = match last {
        Some(last) => Some(last as u64 + 1),
        // After what is carried comes what follows the mark.
        None => (below < end).then_some(below as u64),
    };
    Ok(ActivePage { active, next })
}

/// Ids in `carry`, ascending. Some of them may have ended.
async fn carried(
    client: &Transaction<'_>,
    from: i64,
    below: i64,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    let sql = "SELECT id FROM carry WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3";
    let rows = client.query(sql, &[&from, &below, &limit]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Active messages of a range that is read in a row.
async fn slice(
    client: &Transaction<'_>,
    from: i64,
    below: i64,
    limit: i64,
) -> Result<Vec<Active>, StoreError> {
    let sql = format!(
        "SELECT m.id, m.sender, m.queue, m.part, m.priority, m.due_at, m.expires_at, f.tell, f.at
         FROM msg m LEFT JOIN fin f ON f.id = m.id AND f.id >= $1
         WHERE m.id >= $1 AND m.id < $2 AND {IS_ACTIVE} ORDER BY m.id LIMIT $3"
    );
    let rows = client.query(&sql, &[&from, &below, &limit]).await?;
    let mut active = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut one = read_message(row)?;
        if let Some(tell) = row.try_get::<_, Option<i32>>(7)? {
            one.stage = Stage::Untold {
                tell: tell as u32,
                at: row.try_get(8)?,
            };
        }
        active.push(one);
    }
    add_stages(client, &mut active).await?;
    Ok(active)
}

/// Those of these messages that are active. Ids ascend.
pub async fn read_ids(client: &Transaction<'_>, ids: &[i64]) -> Result<Vec<Active>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    // Planned once for any number of ids: planning for each array costs as much as reading.
    client
        .batch_execute("SET LOCAL plan_cache_mode = force_generic_plan")
        .await?;
    let (msg, fin, told) = tokio::try_join!(
        client.prepare_cached(MSG),
        client.prepare_cached(FIN),
        client.prepare_cached(TOLD)
    )?;
    let ids: [&(dyn ToSql + Sync); 1] = [&ids];
    let (messages, finals, told) = tokio::try_join!(
        biased;
        client.query(&msg, &ids),
        client.query(&fin, &ids),
        client.query(&told, &ids),
    )?;
    let mut ended: AHashMap<u64, (i32, i64)> = AHashMap::with_capacity(finals.len());
    for row in &finals {
        ended.insert(id_at(row, 0)?, (row.try_get(1)?, row.try_get(2)?));
    }
    for row in &told {
        ended.insert(id_at(row, 0)?, (0, 0));
    }
    let mut active = Vec::with_capacity(messages.len());
    for row in &messages {
        let mut one = read_message(row)?;
        match ended.get(&one.id) {
            Some((0, _)) => continue,
            Some(&(tell, at)) => {
                let tell = tell as u32;
                one.stage = Stage::Untold { tell, at };
            }
            None => {}
        }
        active.push(one);
    }
    active.sort_unstable_by_key(|one| one.id);
    add_stages(client, &mut active).await?;
    Ok(active)
}

async fn read_all(
    client: &Transaction<'_>,
    pages: &tokio::sync::mpsc::Sender<Vec<Active>>,
) -> Result<(), StoreError> {
    // What the caller does with a page takes as long as it takes; no row is locked meanwhile.
    client
        .batch_execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        .await?;
    let mark = meta(&**client, "low_water").await?;
    let mut from = 0;
    loop {
        let ids = carried(client, from, mark, PAGE).await?;
        let Some(&last) = ids.last() else { break };
        from = last + 1;
        if pages.send(read_ids(client, &ids).await?).await.is_err() {
            // The caller is gone and needs no more.
            return Ok(());
        }
    }
    from = mark;
    loop {
        let page = slice(client, from, i64::MAX, PAGE).await?;
        let Some(last) = page.last() else { break };
        from = last.id as i64 + 1;
        if pages.send(page).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// A message as it was accepted, of the columns of [`MSG`].
fn read_message(row: &Row) -> Result<Active, StoreError> {
    Ok(Active {
        id: id_at(row, 0)?,
        sender: number_at(row, 1)?,
        queue: number_at(row, 2)?,
        part: row.try_get::<_, i16>(3)? as u8,
        priority: number_at(row, 4)?,
        due_at: row.try_get(5)?,
        expires_at: row.try_get(6)?,
        attempts: 0,
        ended: 0,
        stage: Stage::Waiting,
    })
}

/// Completes messages with moves, replacements, retries, attempts and tries. Ids ascend.
async fn add_stages(client: &Transaction<'_>, page: &mut [Active]) -> Result<(), StoreError> {
    let ids: Vec<i64> = page.iter().map(|active| active.id as i64).collect();
    let ids: [&(dyn ToSql + Sync); 1] = [&ids];
    let (change, retry, sent, tries) = tokio::try_join!(
        client.prepare_cached(CHANGE),
        client.prepare_cached(RETRY),
        client.prepare_cached(SENT),
        client.prepare_cached(TRIES),
    )?;
    let (changes, retries, sent, tries) = tokio::try_join!(
        biased;
        client.query(&change, &ids),
        client.query(&retry, &ids),
        client.query(&sent, &ids),
        client.query(&tries, &ids),
    )?;
    let places: AHashMap<u64, usize> = page
        .iter()
        .enumerate()
        .map(|(place, active)| (active.id, place))
        .collect();
    let place = |row: &Row| -> Result<usize, StoreError> {
        Ok(places.get(&id_at(row, 0)?).copied().unwrap_or_default())
    };
    let mut ended = Vec::new();
    for row in &changes {
        let active = &mut page[place(row)?];
        match row.try_get::<_, i16>(1)? {
            2 => ended.push((place(row)?, number_at(row, 2)?)),
            1 => active.queue = number_at(row, 2)?,
            _ => active.expires_at = row.try_get(3)?,
        }
    }
    for (place, queue) in ended {
        let active = &mut page[place];
        let owner = match active.stage {
            Stage::Untold { tell, .. } => tell,
            _ => active.queue,
        };
        active.ended += u32::from(owner == queue);
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
