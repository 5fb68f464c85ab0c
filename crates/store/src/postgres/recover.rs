//! Finds the active messages, in id order and in pages of one snapshot.
//!
//! Called by `recover()`, by take-overs, and by whoever moves the low-water mark. Guarantees that memory
//! does not grow with the backlog, and that nothing active is missed: first the ids in `carry` below the
//! mark, then everything from the mark on. What is carried is read by its ids, so that its cost does not
//! depend on what else is stored.
//!
//! What the database cannot read is noted and left out (`around`), like a row that is damaged.
//!
//! A message is active without `fin`, or with a `fin` that requires a receipt and no `told`.

use std::ops::Range;
use std::sync::Arc;

use ahash::{AHashMap, AHashSet};
use deadpool_postgres::Transaction;
use futures_util::FutureExt as _;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::PostgresShared;
use super::around::SpanReader;
use super::connect::{begin_reading, find_in};
use super::doubts::leave_out_held;
use super::failure::{DbError, DbResult};
use super::reader::{among, asked_for, attempts, changes, fins};
use super::record::{id_at, number_at, read_change, read_fin, read_sent};
use super::upkeep::meta;
use crate::damage::DamageLog;
use crate::failed::ENDED_SESSION;
use crate::{Active, ActivePage, ChangeKind, MessageStage, SentRow, StoreResult};

/// Active messages per page.
pub const PAGE: i64 = 10_000;

/// What makes a message active, of `msg m LEFT JOIN fin f`.
pub const IS_ACTIVE: &str = "(f.id IS NULL OR (f.tell <> 0
    AND NOT EXISTS(SELECT 1 FROM told t WHERE t.id = m.id)))";

const MSG: &str = concat!(
    "SELECT id, sender, queue, part, priority, due_at, expires_at FROM msg WHERE ",
    among!("id")
);
const TOLD: &str = concat!("SELECT id FROM told WHERE ", among!("id"));
const RETRY: &str = "SELECT id, due_at, attempts FROM retry WHERE id = ANY($1)";
/// Without [`TryRow::NOT_MADE`].
///
/// [`TryRow::NOT_MADE`]: crate::TryRow::NOT_MADE
const TRIES: &str = concat!(
    "SELECT id, attempt FROM tries WHERE at <> 0 AND ",
    among!("id")
);

/// Calls `each` for every active message, of one queue or all. Blocks.
pub fn recover(
    shared: &Arc<PostgresShared>,
    queue: Option<u32>,
    each: &mut dyn FnMut(Active),
) -> StoreResult {
    let (pages, mut received) = tokio::sync::mpsc::channel(2);
    let theirs = Arc::clone(shared);
    let done = shared.ask(async move {
        theirs.caught_up().await?;
        let mut client = theirs.reader().await?;
        let snapshot = begin_reading(&mut client).await?;
        read_all(&theirs, &snapshot, &pages).await?;
        Ok(snapshot.commit().await?)
    });
    while let Some(page) = received.blocking_recv() {
        for active in page {
            if queue.is_none_or(|queue| queue == active.owner()) {
                each(active);
            }
        }
    }
    done.wait()
}

/// A page of the active messages with these ids.
pub async fn page(
    shared: &PostgresShared,
    ids: Range<u64>,
    limit: usize,
) -> StoreResult<ActivePage> {
    shared.caught_up().await?;
    let mut client = shared.reader().await?;
    let snapshot = begin_reading(&mut client).await?;
    let mut page = read_page(shared, &snapshot, ids, limit).await?;
    leave_out_held(&snapshot, &mut page.active).await?;
    snapshot.commit().await?;
    Ok(page)
}

/// Those of these messages that are active.
pub async fn these(shared: &PostgresShared, mut ids: Vec<u64>) -> StoreResult<Vec<Active>> {
    ids.sort_unstable();
    ids.dedup();
    let ids: Vec<i64> = ids.into_iter().map(|id| id as i64).collect();
    let mut client = shared.reader().await?;
    let snapshot = begin_reading(&mut client).await?;
    let mut active = Vec::new();
    for page in ids.chunks(PAGE as usize) {
        active.extend(read_ids(&snapshot, &shared.damage, page).await?);
    }
    leave_out_held(&snapshot, &mut active).await?;
    snapshot.commit().await?;
    Ok(active)
}

async fn read_page(
    shared: &PostgresShared,
    client: &Transaction<'_>,
    ids: Range<u64>,
    limit: usize,
) -> DbResult<ActivePage> {
    let mark = meta(&**client, "low_water").await?;
    let (from, end) = (ids.start as i64, ids.end.min(i64::MAX as u64) as i64);
    let most = limit as i64;
    let (active, last, below) = if from < mark {
        let below = mark.min(end);
        let ids = carried(client, &shared.damage, from, below, most).await?;
        let last = (ids.len() == limit).then(|| ids.last().copied());
        let active = read_ids(client, &shared.damage, &ids).await?;
        (active, last.flatten(), below)
    } else {
        let (active, last) = slice(client, &shared.damage, from, end, most).await?;
        (active, last, end)
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
    damage: &DamageLog,
    from: i64,
    below: i64,
    limit: i64,
) -> DbResult<Vec<i64>> {
    let sql = "SELECT id FROM carry WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3";
    first_ids(client, damage, sql, from..below, limit).await
}

/// The first ids that a statement finds in a range ($1, $2), up to a limit ($3). Ascending.
pub async fn first_ids(
    client: &Transaction<'_>,
    damage: &DamageLog,
    sql: &str,
    ids: Range<i64>,
    limit: i64,
) -> DbResult<Vec<i64>> {
    let read = |ids: Range<i64>| {
        let rows = async move {
            let rows = client.query(sql, &[&ids.start, &ids.end, &limit]).await?;
            let ids = rows.iter().map(|row| row.try_get(0));
            Ok(ids.collect::<Result<Vec<i64>, _>>()?)
        };
        rows.boxed()
    };
    let mut ids = place(client, damage).read(ids, read).await?.read;
    // Each of several ranges has found as many.
    ids.sort_unstable();
    ids.truncate(limit as usize);
    Ok(ids)
}

/// Messages that are read in a transaction.
pub fn place<'a, 'b>(
    client: &'a Transaction<'b>,
    damage: &'a DamageLog,
) -> SpanReader<'a, tokio_postgres::Transaction<'b>> {
    SpanReader {
        client: &**client,
        damage,
        table: "msg",
        is_transaction: true,
    }
}

/// Active messages of a range that is read in a row, and the last one read if there may be more.
async fn slice(
    client: &Transaction<'_>,
    damage: &DamageLog,
    from: i64,
    below: i64,
    limit: i64,
) -> DbResult<(Vec<Active>, Option<i64>)> {
    // The bounds are repeated, so that each side of a join reads the range alone.
    let sql = "SELECT m.id FROM msg m LEFT JOIN fin f ON f.id = m.id AND f.id >= $1 AND f.id < $2
           LEFT JOIN told t ON t.id = m.id AND t.id >= $1 AND t.id < $2
         WHERE m.id >= $1 AND m.id < $2 AND (f.id IS NULL OR (f.tell <> 0 AND t.id IS NULL))
         ORDER BY m.id LIMIT $3";
    let ids = first_ids(client, damage, sql, from..below, limit).await?;
    let last = ids.last().copied();
    let active = read_ids(client, damage, &ids).await?;
    Ok((active, last.filter(|_| ids.len() as i64 == limit)))
}

/// Those of these messages that are active. Ids ascend.
/// One with a damaged row is noted and left out.
pub async fn read_ids(
    client: &Transaction<'_>,
    damage: &DamageLog,
    ids: &[i64],
) -> DbResult<Vec<Active>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let read = |ids| read_part(client, damage, ids).boxed();
    let mut active = place(client, damage).read(ids, read).await?.read;
    active.sort_unstable_by_key(|one| one.id);
    Ok(active)
}

/// Those of some messages that are active, if all of them can be read.
async fn read_part(
    client: &Transaction<'_>,
    damage: &DamageLog,
    ids: &[i64],
) -> DbResult<Vec<Active>> {
    // Planned once for any number of ids: planning for each array costs as much as reading. No row is read but theirs.
    client
        .batch_execute(
            "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off",
        )
        .await?;
    let fins = fins();
    let keys: [&(dyn ToSql + Sync); 1] = [&ids];
    let (messages, finals, told) = tokio::try_join!(
        biased;
        find_in(client, MSG, &keys),
        find_in(client, &fins, &keys),
        find_in(client, TOLD, &keys),
    )?;
    // Whom to tell, and since when; nobody where the end is damaged.
    let mut ended: AHashMap<u64, (u32, i64)> = AHashMap::with_capacity(finals.len());
    for row in &finals {
        let (id, read) = asked_for(ids, read_fin(row), |fin| fin.id)?;
        let fin = damage.sift(read);
        ended.insert(id, fin.map_or((0, 0), |fin| (fin.tell, fin.at)));
    }
    for row in &told {
        ended.insert(id_at(row, 0)?, (0, 0));
    }
    let mut active = Vec::with_capacity(messages.len());
    for row in &messages {
        let mut one = read_message(row)?;
        if ids.binary_search(&(one.id as i64)).is_err() {
            return Err(DbError::Strange(one.id));
        }
        match ended.get(&one.id) {
            Some((0, _)) => continue,
            Some(&(tell, at)) => one.stage = MessageStage::Untold { tell, at },
            None => {}
        }
        active.push(one);
    }
    active.sort_unstable_by_key(|one| one.id);
    add_stages(client, damage, &mut active).await?;
    Ok(active)
}

async fn read_all(
    shared: &PostgresShared,
    client: &Transaction<'_>,
    pages: &tokio::sync::mpsc::Sender<Vec<Active>>,
) -> DbResult {
    // What the caller does with a page takes as long as it takes; no row is locked meanwhile.
    client
        .batch_execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        .await?;
    let mark = meta(&**client, "low_water").await?;
    let mut from = 0;
    loop {
        let ids = carried(client, &shared.damage, from, mark, PAGE).await?;
        let Some(&last) = ids.last() else { break };
        from = last + 1;
        let mut active = read_ids(client, &shared.damage, &ids).await?;
        leave_out_held(client, &mut active).await?;
        if pages.send(active).await.is_err() {
            // The caller is gone and needs no more.
            return Ok(());
        }
    }
    from = mark;
    loop {
        let (mut page, last) = slice(client, &shared.damage, from, i64::MAX, PAGE).await?;
        leave_out_held(client, &mut page).await?;
        if pages.send(page).await.is_err() {
            break;
        }
        let Some(last) = last else { break };
        from = last + 1;
    }
    Ok(())
}

/// A message as it was accepted, of the columns of [`MSG`].
fn read_message(row: &Row) -> StoreResult<Active> {
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
        stage: MessageStage::Waiting,
    })
}

/// An attempt was answered with ESME_ROK.
fn handed_over(stage: &mut MessageStage, sent: SentRow) {
    let one = (sent.operator, sent.operator_message_id);
    match stage {
        MessageStage::Sent { at, ids } => {
            *at = sent.at.max(*at);
            ids.push(one);
        }
        stage => {
            *stage = MessageStage::Sent {
                at: sent.at,
                ids: vec![one],
            };
        }
    }
}

/// Completes messages with moves, replacements, retries, attempts and tries. Ids ascend.
/// Those that a damaged row keeps from going on are taken out.
async fn add_stages(
    client: &Transaction<'_>,
    damage: &DamageLog,
    page: &mut Vec<Active>,
) -> DbResult {
    let ids: Vec<i64> = page.iter().map(|active| active.id as i64).collect();
    let ids: [&(dyn ToSql + Sync); 1] = [&ids];
    let (changes, attempts) = (changes(), attempts());
    let (changes, retries, sent, tries) = tokio::try_join!(
        biased;
        find_in(client, &changes, &ids),
        find_in(client, RETRY, &ids),
        find_in(client, &attempts, &ids),
        find_in(client, TRIES, &ids),
    )?;
    let places: AHashMap<u64, usize> = page
        .iter()
        .enumerate()
        .map(|(place, active)| (active.id, place))
        .collect();
    let place_of = |id| places.get(&id).copied().ok_or(DbError::Strange(id));
    let place = |row: &Row| place_of(id_at(row, 0)?);
    let mut ended = Vec::new();
    let mut damaged = AHashSet::new();
    for row in &changes {
        let read = read_change(row);
        let place = place_of(read.as_ref().map_or_else(|row| row.id, |change| change.id))?;
        let active = &mut page[place];
        match read {
            Ok(change) => match change.kind {
                ChangeKind::Retry if change.by == ENDED_SESSION => {
                    ended.push((place, change.queue))
                }
                ChangeKind::Move => active.queue = change.queue,
                ChangeKind::Replace => active.expires_at = change.expires_at,
                _ => {}
            },
            Err(row) => {
                damaged.insert(row.id);
                damage.note(row);
            }
        }
    }
    for (place, queue) in ended {
        let active = &mut page[place];
        active.ended += u32::from(active.owner() == queue);
    }
    for row in &retries {
        let active = &mut page[place(row)?];
        active.due_at = row.try_get(1)?;
        active.attempts = number_at(row, 2)?;
    }
    let mut settled: AHashMap<u64, Vec<u32>> = AHashMap::new();
    for row in &sent {
        let read = read_sent(row);
        let place = place_of(read.as_ref().map_or_else(|row| row.id, |sent| sent.id))?;
        let active = &mut page[place];
        let read = match read {
            Ok(read) => read,
            Err(row) => {
                damaged.insert(row.id);
                damage.note(row);
                continue;
            }
        };
        let (attempt, status) = (read.attempt, read.status);
        // One without an answer is as unsure as one without a row.
        if status != SentRow::NO_ANSWER && !tries.is_empty() {
            settled.entry(active.id).or_default().push(attempt);
        }
        active.attempts = active.attempts.max(attempt);
        if status == 0 && !matches!(active.stage, MessageStage::Untold { .. }) {
            handed_over(&mut active.stage, read);
        }
    }
    for row in &tries {
        let active = &mut page[place(row)?];
        let attempt = number_at(row, 1)?;
        let is_settled = settled
            .get(&active.id)
            .is_some_and(|attempts| attempts.contains(&attempt));
        if active.stage == MessageStage::Waiting && !is_settled {
            active.stage = MessageStage::OutcomeUnknown;
        }
    }
    if !damaged.is_empty() {
        // What has ended only owes a receipt.
        let goes_on = |active: &Active| matches!(active.stage, MessageStage::Untold { .. });
        page.retain(|active| goes_on(active) || !damaged.contains(&active.id));
    }
    Ok(())
}
