//! Reads messages for export and erases texts and numbers.
//!
//! Called by the export, the janitor and the admin API. Guarantees that an active message is never
//! changed, and that the current day has no further index: the indexes on source and sender are
//! created per day partition, when its day is over (see `index_closed_days`).

use std::ops::Range;

use ahash::{AHashMap, AHashSet};
use tokio_postgres::GenericClient;
use tokio_postgres::types::ToSql;

use super::connect::{Object as Client, begin_slowly, find};
use super::reader::load;
use super::record::{MESSAGE_COLUMNS, SENT_COLUMNS, ids_of, read_message, read_sent, text_of};
use super::upkeep::{meta, raise};
use super::{PgStore, PostgresShared};
use crate::archive::{
    ArchiveStore, Each, Erased, Exported, first_id, matches, without_address, without_text,
};
use crate::damage::DamageLog;
use crate::record::encode_again;
use crate::{Reply, SentRow, StoreResult, signed};
use smsc_domain::address::normalise;
use smsc_proto::Message;

/// Messages read, or changed, at once.
const PAGE: usize = 1000;
/// `meta`: below this id only messages in `text_left` have a text that is too old.
const TEXT_MARK: &str = "text_upto";

impl ArchiveStore for PgStore {
    fn export(&self, ids: Range<u64>, each: &mut Each<'_>) -> StoreResult {
        let below = ids.end;
        let mut from = ids.start;
        loop {
            let (page, last) = self
                .ask(|shared| async move {
                    page(&shared.admin_reader().await?, &shared.damage, from, below).await
                })
                .wait()?;
            let Some(last) = last else { return Ok(()) };
            for exported in page {
                if each(exported).is_break() {
                    return Ok(());
                }
            }
            from = last + 1;
        }
    }

    fn erase_text(&self, before: i64, limit: usize) -> Reply<u64> {
        self.ask(|shared| async move { erase_texts(&shared, before, limit).await })
    }

    fn erase_msisdn(&self, digits: String) -> Reply<Erased> {
        self.ask(|shared| async move { erase_address(&shared, normalise(digits.as_bytes())).await })
    }
}

async fn ids(client: &Client, from: u64, below: u64, limit: usize) -> StoreResult<Vec<u64>> {
    let sql = "SELECT id FROM msg WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3";
    let range: [&(dyn ToSql + Sync); 3] = [&signed(from), &signed(below), &(limit as i64)];
    ids_of(&find(client, sql, &range).await?)
}

/// The next messages of a range, and the last id that was read.
async fn page(
    client: &Client,
    damage: &DamageLog,
    from: u64,
    below: u64,
) -> StoreResult<(Vec<Exported>, Option<u64>)> {
    let ids = ids(client, from, below, PAGE).await?;
    let keys: Vec<i64> = ids.iter().map(|id| signed(*id)).collect();
    let sql = format!(
        "SELECT DISTINCT ON (id) {SENT_COLUMNS} FROM sent WHERE id = ANY($1)
         ORDER BY id, (status = 0) DESC, attempt DESC"
    );
    let mut attempts: AHashMap<u64, SentRow> = AHashMap::new();
    for row in find(client, &sql, &[&keys]).await? {
        if let Some(attempt) = damage.sift(read_sent(&row)) {
            attempts.insert(attempt.id, attempt);
        }
    }
    let found = load(client, damage, &ids).await?.into_iter().flatten();
    let page = found.map(|stored| Exported {
        attempt: attempts.remove(&stored.message.id),
        stored,
    });
    Ok((page.collect(), ids.last().copied()))
}

/// Those that are final and whose receipt is acknowledged.
async fn ended(client: &Client, ids: &[u64], before: i64) -> StoreResult<AHashSet<u64>> {
    let keys: Vec<i64> = ids.iter().map(|id| signed(*id)).collect();
    let sql = "SELECT f.id FROM fin f WHERE f.id = ANY($1) AND f.at < $2
        AND (f.tell = 0 OR EXISTS(SELECT 1 FROM told t WHERE t.id = f.id))";
    ids_of(&find(client, sql, &[&keys, &before]).await?)
}

async fn erase_texts(shared: &PostgresShared, before: i64, limit: usize) -> StoreResult<u64> {
    let _turn = shared.erasing.lock().await;
    let mut client = shared.upkeep.get().await?;
    let mut erased = 0;
    let mut next = meta(&**client, TEXT_MARK).await? as u64;
    while erased < limit {
        let step = PAGE.min(limit - erased);
        let ids = ids(&client, next, first_id(before), step).await?;
        let Some(&last) = ids.last() else { break };
        next = last + 1;
        erased += erase_some(&mut client, &shared.damage, &ids, before, Some(next)).await?;
    }
    // Once per pass: messages that it skipped as active may have ended since.
    let mut after = 0;
    while erased < limit {
        let sql = "SELECT id FROM text_left WHERE id > $1 ORDER BY id LIMIT $2";
        let step = PAGE.min(limit - erased) as i64;
        let left: Vec<u64> = ids_of(&client.query(sql, &[&signed(after), &step]).await?)?;
        let Some(&last) = left.last() else { break };
        after = last;
        erased += erase_some(&mut client, &shared.damage, &left, before, None).await?;
    }
    Ok(erased as u64)
}

/// Erases the texts of those that may lose them; the others go to `text_left`, with the mark.
async fn erase_some(
    client: &mut Client,
    damage: &DamageLog,
    ids: &[u64],
    before: i64,
    mark: Option<u64>,
) -> StoreResult<usize> {
    let ended = ended(client, ids, before).await?;
    let loaded = load(client, damage, ids).await?;
    let (mut bare, mut settled, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for (&id, stored) in ids.iter().zip(loaded) {
        if stored.is_some() && !ended.contains(&id) {
            left.push(signed(id));
            continue;
        }
        settled.push(signed(id));
        bare.extend(stored.map(|stored| stored.message));
    }
    bare.retain_mut(without_text);
    let transaction = client.transaction().await?;
    rewrite(&*transaction, &bare).await?;
    let insert = "INSERT INTO text_left SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING";
    transaction.execute(insert, &[&left]).await?;
    let delete = "DELETE FROM text_left WHERE id = ANY($1)";
    transaction.execute(delete, &[&settled]).await?;
    if let Some(mark) = mark {
        raise(&*transaction, TEXT_MARK, signed(mark)).await?;
    }
    transaction.commit().await?;
    Ok(bare.len())
}

async fn erase_address(shared: &PostgresShared, digits: &[u8]) -> StoreResult<Erased> {
    let _turn = shared.erasing.lock().await;
    let mut client = shared.upkeep.get().await?;
    let with_plus = [b"+", digits].concat();
    let forms = [
        text_of(digits).into_owned(),
        text_of(&with_plus).into_owned(),
    ];
    let mut erased = Erased::default();
    let mut after = 0;
    loop {
        let ids = of_address(&mut client, &forms, after).await?;
        let Some(&last) = ids.last() else {
            return Ok(erased);
        };
        after = last;
        let ended = ended(&client, &ids, i64::MAX).await?;
        let mut changed = Vec::new();
        for mut stored in load(&client, &shared.damage, &ids)
            .await?
            .into_iter()
            .flatten()
        {
            if !matches(&stored.message, digits) {
                continue;
            }
            if !ended.contains(&stored.message.id) {
                erased.active += 1;
                continue;
            }
            without_address(&mut stored.message, digits);
            changed.push(stored.message);
        }
        let transaction = client.transaction().await?;
        rewrite(&*transaction, &changed).await?;
        transaction.commit().await?;
        erased.erased += changed.len() as u64;
    }
}

/// The next messages with an address on either side. The source has no index on the current day, so
/// this may take as long as reading that day.
async fn of_address(client: &mut Client, forms: &[String], after: u64) -> StoreResult<Vec<u64>> {
    let transaction = begin_slowly(client).await?;
    let select = "SELECT id FROM msg WHERE destination = ANY($1) AND id > $2
         UNION SELECT id FROM msg WHERE source = ANY($1) AND id > $2 ORDER BY id LIMIT $3";
    let rows = transaction
        .query(select, &[&forms, &signed(after), &(PAGE as i64)])
        .await?;
    transaction.commit().await?;
    ids_of(&rows)
}

/// Writes messages over their old rows, in the order of their ids.
async fn rewrite(client: &impl GenericClient, messages: &[Message]) -> StoreResult {
    if messages.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = messages.iter().map(|message| signed(message.id)).collect();
    let by_id = format!("SELECT {MESSAGE_COLUMNS} FROM msg m WHERE m.id = ANY($1)");
    let rows = client.query(&by_id, &[&ids]).await?;
    // One that was damaged a moment ago is left to those who read it.
    let whole = rows.iter().filter_map(|row| read_message(row).ok());
    let mut rows: AHashMap<u64, Message> = whole.map(|row| (row.id, row)).collect();
    let (mut ids, mut bodies) = (Vec::new(), Vec::new());
    let (mut sources, mut destinations) = (Vec::new(), Vec::new());
    for message in messages {
        let Some(row) = rows.remove(&message.id) else {
            continue;
        };
        let mut body = Vec::new();
        encode_again(message, row, &mut body);
        ids.push(signed(message.id));
        bodies.push(body);
        sources.push(text_of(&message.source).into_owned());
        destinations.push(text_of(&message.destination).into_owned());
    }
    // The messages are as the last replacement made them: its content is erased as well.
    let update = "UPDATE change SET body = '' WHERE id = ANY($1) AND kind IN (1, 4)";
    client.execute(update, &[&ids]).await?;
    let update = "UPDATE msg SET source = u.source, destination = u.destination, body = u.body
         FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[])
           u(id, source, destination, body) WHERE msg.id = u.id";
    client
        .execute(update, &[&ids, &sources, &destinations, &bodies])
        .await?;
    Ok(())
}
