//! The outbox on PostgreSQL: rows that many nodes write, and one holder at a time reads.
//!
//! A row is taken by an update that passes over rows that others are just taking, and finished by a delete that
//! names its holder: whatever nodes believe about themselves, a row is finished once.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Transaction};

use super::columns::Parameter;
use super::connect::{Object as Client, begin_slowly, find};
use super::reader::load;
use super::record::{id_at, key_of, number_at, summed};
use super::{PgStore, PostgresShared, usage};
use crate::archive::ERASED;
use crate::checksum::{Summed as _, check_numbered, of_event, of_events, of_reader};
use crate::cold::{ColdStatement, ColdTables as _, values};
use crate::damage::DamagedRow;
use crate::outbox::{
    CdrRow, EventClaim, EventKind, EventReader, EventRow, MOST_COUNTED, OutboxStore, ReaderBacklog,
    ReaderOutcome, TakeEvents, TakenEvents,
};
use crate::{FinRow, Reply, StoreResult, Stored, signed};
use smsc_domain::state;
use smsc_proto::MessageState;

/// Rows that are taken at once; each has the messages of a commit.
const MOST_ROWS: i64 = 1000;

impl OutboxStore for PgStore {
    fn write_events_for(&self, readers: &[EventReader]) {
        let readers = readers.to_vec();
        self.shared.listeners.change(|all| all.readers = readers);
    }

    fn take_events(&self, take: TakeEvents) -> Reply<Option<TakenEvents>> {
        self.ask(|shared| async move { take_events(&shared, take).await })
    }

    fn read_ended(&self, ids: Vec<u64>) -> Reply<Vec<Option<Stored>>> {
        self.ask(
            |shared| async move { load(&shared.outbox.get().await?, &shared.damage, &ids).await },
        )
    }

    fn finish_events(&self, claim: EventClaim, outcome: ReaderOutcome) -> Reply<bool> {
        self.ask(|shared| async move { finish_events(&shared, &claim, &outcome).await })
    }

    fn backlog(&self) -> Reply<Vec<ReaderBacklog>> {
        let number = |reader: EventReader| reader as i16;
        self.ask(|shared| async move {
            backlog(&shared.outbox.get().await?, &EventReader::ALL, number).await
        })
    }

    fn drop_events(&self, before: i64, limit: usize) -> Reply<u64> {
        self.ask(
            |shared| async move { drop_events(&shared.outbox.get().await?, before, limit).await },
        )
    }

    fn erase_records(&self, digits: String) -> Reply<u64> {
        self.ask(|shared| async move { erase_records(&shared, &digits).await })
    }

    fn forget_records(&self, before: i64, limit: usize) -> Reply<u64> {
        let delete = "DELETE FROM cdr WHERE id IN (SELECT id FROM cdr WHERE final_at < $1
            ORDER BY final_at LIMIT $2)";
        let delete = ColdStatement::new(delete, values![before, limit]);
        self.change(vec![delete], |done| Ok(done.rows))
    }
}

async fn drop_events(client: &Client, before: i64, limit: usize) -> StoreResult<u64> {
    let mut dropped = 0;
    // One look at the index for each reader, however many rows it has.
    let readers = client.query(
        "WITH RECURSIVE r AS (SELECT min(reader) AS reader FROM outbox UNION ALL
           SELECT (SELECT min(o.reader) FROM outbox o WHERE o.reader > r.reader) FROM r
           WHERE r.reader IS NOT NULL)
         SELECT reader FROM r WHERE reader IS NOT NULL",
        &[],
    );
    for reader in readers.await? {
        let reader: i16 = reader.try_get(0)?;
        let delete = "DELETE FROM outbox WHERE reader = $1 AND at < $2 AND row IN (
               SELECT row FROM outbox WHERE reader = $1 ORDER BY row LIMIT $3)
             RETURNING cardinality(ids)";
        let rows = client
            .query(delete, &[&reader, &before, &signed(limit)])
            .await?;
        for row in &rows {
            dropped += u64::from(row.try_get::<_, i32>(0)?.unsigned_abs());
        }
    }
    Ok(dropped)
}

async fn take_events(
    shared: &PostgresShared,
    take: TakeEvents,
) -> StoreResult<Option<TakenEvents>> {
    let client = shared.outbox.get().await?;
    let sql = format!(
        "WITH free AS (SELECT reader, row, sum(cardinality(ids)) OVER (ORDER BY row) AS upto
                 FROM (SELECT reader, row, ids FROM outbox
                   WHERE reader = $1 AND kind = $2
                     AND (holder = $3 OR NOT $8 AND (holder IS NULL OR held_at < $5))
                   ORDER BY row LIMIT $6 FOR UPDATE SKIP LOCKED) f)
             UPDATE outbox o SET holder = $3, held_at = $4 FROM free
             WHERE o.reader = free.reader AND o.row = free.row
               AND free.upto - cardinality(o.ids) < $7
             RETURNING {EVENT_COLUMNS}"
    );
    let values: [&(dyn ToSql + Sync); 8] = [
        &(take.reader as i16),
        &(EventKind::Ended as i16),
        &take.holder,
        &take.now,
        &take.abandoned,
        &MOST_ROWS,
        &signed(take.limit),
        &take.only_own,
    ];
    let found = find(&client, &sql, &values).await?;
    let (mut rows, mut ids): (Vec<i64>, Vec<u64>) = Default::default();
    for row in &found {
        // A damaged one is finished without its events.
        rows.push(row.try_get(0)?);
        if let Some(event) = shared.damage.sift(read_event(row)) {
            ids.extend(event.ids);
        }
    }
    if rows.is_empty() {
        return Ok(None);
    }
    ids.sort_unstable();
    Ok(Some(TakenEvents {
        is_full: ids.len() >= take.limit || rows.len() >= MOST_ROWS as usize,
        claim: EventClaim {
            reader: take.reader,
            holder: take.holder,
            rows,
        },
        ids,
    }))
}

async fn finish_events(
    shared: &PostgresShared,
    claim: &EventClaim,
    outcome: &ReaderOutcome,
) -> StoreResult<bool> {
    let mut client = shared.outbox.get().await?;
    let transaction = client.transaction().await?;
    let delete = "DELETE FROM outbox WHERE reader = $1 AND row = ANY($2) AND holder = $3";
    let gone = transaction
        .execute(
            delete,
            &[&(claim.reader as i16), &claim.rows, &claim.holder],
        )
        .await?;
    if gone < claim.rows.len() as u64 {
        transaction.rollback().await?;
        return Ok(false);
    }
    match outcome {
        ReaderOutcome::Elsewhere => {}
        ReaderOutcome::Records(records) => put_records(&transaction, records).await?,
        ReaderOutcome::Usage(rows) => usage::add(&transaction, rows).await?,
    }
    transaction.commit().await?;
    Ok(true)
}

/// The parameters of the statements of ends that say who hears of them, and what the checksums of their rows are put
/// together of.
pub fn of_ends(readers: Vec<i16>, ended: &[&FinRow]) -> [Parameter<'static>; 4] {
    let kind = EventKind::Ended as i16;
    let of_reader = |reader: &i16| of_reader(*reader, kind, &[]) as i32;
    let of_readers: Vec<i32> = readers.iter().map(of_reader).collect();
    // Nobody asks for those of the ids if nobody reads.
    let heard = ended.iter().filter(|_| !readers.is_empty());
    let of_ids: Vec<i32> = heard.map(|row| of_event(row.id) as i32).collect();
    [
        Box::new(readers),
        Box::new(kind),
        Box::new(of_readers),
        Box::new(of_ids),
    ]
}

/// Adds events of another store.
pub async fn put_event(transaction: &Transaction<'_>, row: &EventRow) -> Result<(), Error> {
    let ids: Vec<i64> = row.ids.iter().map(|id| signed(*id)).collect();
    let sql = "INSERT INTO outbox(reader, kind, at, ids, data, checksum)
        VALUES($1, $2, $3, $4, $5, $6)";
    let data = Some(&row.data).filter(|data| !data.is_empty());
    let checksum = of_events(row.reader, row.kind, row.at, &row.ids, &row.data) as i32;
    let values: [&(dyn ToSql + Sync); 6] =
        [&row.reader, &row.kind, &row.at, &ids, &data, &checksum];
    transaction.execute(sql, &values).await?;
    Ok(())
}

/// Adds records; one that is there stays.
pub async fn put_records(transaction: &Transaction<'_>, records: &[CdrRow]) -> Result<(), Error> {
    let texts = |of: fn(&CdrRow) -> &str| -> Vec<&str> { records.iter().map(of).collect() };
    let longs = |of: fn(&CdrRow) -> i64| -> Vec<i64> { records.iter().map(of).collect() };
    let ints =
        |of: fn(&CdrRow) -> u32| -> Vec<i32> { records.iter().map(|row| of(row) as i32).collect() };
    let statement = transaction
        .prepare(&format!(
            "INSERT INTO cdr({RECORD_COLUMNS})
             SELECT id, account, kind, sender, queue, source, destination, accepted_at,
               final_at, nullif(done_at, 0), state, operator, attempts, data_coding, octets, parts,
               error, network, nullif(replay_of, 0), price, currency, client_reference, checksum
             FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
               $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[],
               $13::int[], $14::int[], $15::int[], $16::int[], $17::text[], $18::text[],
               $19::bigint[], $20::bigint[], $21::text[], $22::text[], $23::int[])
               u(id, account, kind, sender, queue, source, destination, accepted_at, final_at,
                 done_at, state, operator, attempts, data_coding, octets, parts, error, network,
                 replay_of, price, currency, client_reference, checksum)
             ON CONFLICT DO NOTHING"
        ))
        .await?;
    transaction
        .execute(
            &statement,
            &[
                &longs(|row| signed(row.id)),
                &texts(|row| &row.account),
                &texts(|row| row.kind()),
                &texts(|row| &row.sender),
                &texts(|row| &row.queue),
                &texts(|row| &row.from),
                &texts(|row| &row.to),
                &longs(|row| row.accepted_at),
                &longs(|row| row.final_at),
                &longs(|row| row.done_at),
                &texts(|row| state::name(row.state as u8)),
                &texts(|row| &row.operator),
                &ints(|row| row.attempts),
                &ints(|row| row.data_coding),
                &ints(|row| row.octets),
                &ints(|row| row.parts),
                &texts(|row| &row.error),
                &texts(|row| &row.network),
                &longs(|row| signed(row.replay_of)),
                &longs(|row| row.price),
                &texts(|row| &row.currency),
                &texts(|row| &row.client_reference),
                &ints(|row| row.sum()),
            ],
        )
        .await?;
    Ok(())
}

/// Erases an address in records, page by page. One that is damaged loses it as well, and stays damaged.
async fn erase_records(shared: &PostgresShared, digits: &str) -> StoreResult<u64> {
    let mut client = shared.outbox.get().await?;
    let erased = String::from_utf8_lossy(ERASED);
    let with_address = format!(
        "SELECT {RECORD_COLUMNS} FROM cdr
         WHERE id > $1 AND (ltrim(source, '+') = $2 OR ltrim(destination, '+') = $2)
         ORDER BY id LIMIT $3 FOR UPDATE"
    );
    let (mut after, mut count) = (0_i64, 0);
    loop {
        // Reads the whole table, which takes as long as it takes.
        let transaction = begin_slowly(&mut client).await?;
        let rows = transaction
            .query(&with_address, &[&after, &digits, &MOST_ROWS])
            .await?;
        let Some(last) = rows.last() else {
            return Ok(count);
        };
        after = last.try_get(0)?;
        let (mut ids, mut checksums): (Vec<i64>, Vec<Option<i32>>) = Default::default();
        for row in &rows {
            let record = shared.damage.sift(read_record(row));
            ids.push(row.try_get(0)?);
            checksums.push(record.map(|record| without_number(record, digits).sum() as i32));
        }
        count += transaction
            .execute(
                "UPDATE cdr SET client_reference = '',
                   source = CASE ltrim(source, '+') WHEN $1 THEN $2 ELSE source END,
                   destination = CASE ltrim(destination, '+') WHEN $1 THEN $2 ELSE destination END,
                   checksum = coalesce(u.checksum, ~cdr.checksum)
                 FROM unnest($3::bigint[], $4::int[]) u(id, checksum) WHERE cdr.id = u.id",
                &[&digits, &&*erased, &ids, &checksums],
            )
            .await?;
        transaction.commit().await?;
    }
}

fn without_number(mut record: CdrRow, digits: &str) -> CdrRow {
    for address in [&mut record.from, &mut record.to] {
        if address.trim_start_matches('+') == digits {
            *address = String::from_utf8_lossy(ERASED).into_owned();
        }
    }
    record.client_reference.clear();
    record
}

/// The columns of [`read_event`].
pub const EVENT_COLUMNS: &str = "o.row, o.reader, o.kind, o.at, o.ids, o.data, o.checksum";

/// A row of [`EVENT_COLUMNS`].
pub fn read_event(row: &Row) -> Result<EventRow, DamagedRow> {
    let number = key_of(row);
    let read = || -> StoreResult<_> {
        let ids: Vec<i64> = row.try_get(4)?;
        let event = EventRow {
            reader: row.try_get(1)?,
            kind: row.try_get(2)?,
            at: row.try_get(3)?,
            ids: ids.into_iter().map(|id| id as u64).collect(),
            data: row.try_get::<_, Option<Vec<u8>>>(5)?.unwrap_or_default(),
        };
        Ok((event, row.try_get::<_, Option<i32>>(6)?))
    };
    let (event, written) =
        read().map_err(|error| DamagedRow::new("outbox", number, error.to_string()))?;
    let sum = of_events(event.reader, event.kind, event.at, &event.ids, &event.data);
    let written = written.map(|written| written as u32);
    check_numbered("outbox", number, event, sum, written)
}

/// The columns of [`read_record`].
const RECORD_COLUMNS: &str = "id, account, kind, sender, queue, source, destination, accepted_at, final_at, \
     done_at, state, operator, attempts, data_coding, octets, parts, error, network, replay_of, price, \
     currency, client_reference, checksum";

/// A row of [`RECORD_COLUMNS`].
fn read_record(row: &Row) -> Result<CdrRow, DamagedRow> {
    summed(row, || {
        let state = state::from_exact_name(row.try_get(10)?);
        let record = CdrRow {
            id: id_at(row, 0)?,
            account: row.try_get(1)?,
            is_mo: row.try_get::<_, &str>(2)? == "MO",
            sender: row.try_get(3)?,
            queue: row.try_get(4)?,
            from: row.try_get(5)?,
            to: row.try_get(6)?,
            accepted_at: row.try_get(7)?,
            final_at: row.try_get(8)?,
            done_at: row.try_get::<_, Option<i64>>(9)?.unwrap_or(0),
            state: MessageState::try_from(i32::from(state.unwrap_or_default())).unwrap_or_default(),
            operator: row.try_get(11)?,
            attempts: number_at(row, 12)?,
            data_coding: number_at(row, 13)?,
            octets: number_at(row, 14)?,
            parts: number_at(row, 15)?,
            error: row.try_get(16)?,
            network: row.try_get(17)?,
            replay_of: row.try_get::<_, Option<i64>>(18)?.unwrap_or(0) as u64,
            price: row.try_get(19)?,
            currency: row.try_get(20)?,
            client_reference: row.try_get(21)?,
        };
        let written: Option<i32> = row.try_get(22)?;
        Ok((record, written.map(|sum| sum as u32)))
    })
}

/// What waits, of those readers for which something does.
pub(super) async fn backlog<R: Copy>(
    client: &Client,
    readers: &[R],
    number: fn(R) -> i16,
) -> StoreResult<Vec<ReaderBacklog<R>>> {
    let sql = "SELECT s.events, s.at FROM (SELECT sum(cardinality(ids))::bigint AS events,
             min(at) AS at FROM (SELECT ids, at FROM outbox WHERE reader = $1
               ORDER BY row LIMIT $2) o) s
         WHERE s.events IS NOT NULL";
    let mut all = Vec::new();
    for &reader in readers {
        for row in find(client, sql, &[&number(reader), &MOST_COUNTED]).await? {
            all.push(ReaderBacklog {
                reader,
                events: id_at(&row, 0)?,
                oldest_at: row.try_get(1)?,
            });
        }
    }
    Ok(all)
}
