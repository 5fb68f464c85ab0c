//! Events of sinks on PostgreSQL: rows of the outbox that many nodes write and one reads, in their order.
//!
//! A row number is drawn while its transaction is under way. What a message has had before is committed by then, or
//! written by the same lane (`write_queue.rs`), so its rows ascend. A row of another message that commits late is
//! read late, and never passed over: rows are read until they are deleted.

use super::columns::{Parameter, StatementCall};
use super::connect::{Object as Client, find};
use super::outbox::{EVENT_COLUMNS, backlog, read_event};
use super::record::{SENT_COLUMNS, read_sent};
use super::statements::StatementStep;
use super::{PgStore, PostgresShared};
use crate::checksum::of_events;
use crate::damage::DamageLog;
use crate::outbox::EventRow;
use crate::sinks::{
    EARLY, EarlyRow, SinkBacklog, SinkEvents, SinkStore, Wants, events_of, last_of_each, rows,
};
use crate::{Reply, SentRow, StoreResult, signed};
use smsc_proto::EarlyEvent;

/// Rows that are read at once; each has the events of a commit.
const MOST_ROWS: i64 = 1000;

impl SinkStore for PgStore {
    fn write_for_sinks(&self, sinks: Vec<Wants>) {
        self.shared.listeners.change(|all| all.sinks = sinks);
    }

    fn add_early(&self, events: Vec<EarlyEvent>) -> Reply<()> {
        self.ask(|shared| async move {
            let events = events.into_iter().map(|event| (0, event)).collect();
            let mut client = shared.outbox.get().await?;
            // All of them or none: what failed is told again whole.
            let transaction = client.transaction().await?;
            for row in rows(events, &shared.listeners.get().sinks) {
                let call = note(row);
                transaction.execute(call.step.sql(), &call.values()).await?;
            }
            Ok(transaction.commit().await?)
        })
    }

    fn read_sink(&self, reader: i16, limit: usize) -> Reply<Option<SinkEvents>> {
        self.ask(|shared| async move { read_sink(&shared, reader, limit).await })
    }

    fn finish_sink(&self, reader: i16, rows: Vec<i64>) -> Reply<u64> {
        self.ask(|shared| async move {
            let client = shared.outbox.get().await?;
            let sql = "DELETE FROM outbox WHERE reader = $1 AND row = ANY($2)";
            let statement = client.prepare_cached(sql).await?;
            Ok(client.execute(&statement, &[&reader, &rows]).await?)
        })
    }

    fn sink_backlog(&self, readers: Vec<i16>) -> Reply<Vec<SinkBacklog>> {
        self.ask(|shared| async move {
            backlog(&shared.outbox.get().await?, &readers, |reader| reader).await
        })
    }

    fn accepted_attempts(&self, ids: Vec<u64>) -> Reply<Vec<SentRow>> {
        self.ask(|shared| async move {
            accepted_attempts(&shared.outbox.get().await?, &shared.damage, &ids).await
        })
    }
}

/// The statement that writes early events.
pub fn note(row: EarlyRow) -> StatementCall<'static> {
    let checksums: Vec<i32> = (row.readers.iter())
        .map(|reader| of_events(*reader, EARLY, row.at, &row.ids, &row.data) as i32)
        .collect();
    let ids: Vec<i64> = row.ids.iter().map(|id| signed(*id)).collect();
    let values: Vec<Parameter<'static>> = vec![
        Box::new(row.readers),
        Box::new(EARLY),
        Box::new(row.at),
        Box::new(ids),
        Box::new(row.data),
        Box::new(checksums),
    ];
    StatementCall::new(StatementStep::Early, values)
}

async fn read_sink(
    shared: &PostgresShared,
    reader: i16,
    limit: usize,
) -> StoreResult<Option<SinkEvents>> {
    let client = shared.outbox.get().await?;
    let sql =
        format!("SELECT {EVENT_COLUMNS} FROM outbox o WHERE o.reader = $1 ORDER BY o.row LIMIT $2");
    let found = find(&client, &sql, &[&reader, &MOST_ROWS]).await?;
    let (mut rows, mut events) = (Vec::new(), Vec::new());
    for row in &found {
        if events.len() >= limit {
            break;
        }
        // A damaged one is finished without its events.
        rows.push(row.try_get(0)?);
        if let Some(EventRow {
            kind, ids, data, ..
        }) = shared.damage.sift(read_event(row))
        {
            events_of(kind, ids.into_iter(), &data, &mut events);
        }
    }
    Ok((!rows.is_empty()).then(|| SinkEvents {
        is_full: events.len() >= limit || found.len() >= MOST_ROWS as usize,
        rows,
        events,
    }))
}

async fn accepted_attempts(
    client: &Client,
    damage: &DamageLog,
    ids: &[u64],
) -> StoreResult<Vec<SentRow>> {
    let ids: Vec<i64> = ids.iter().map(|id| signed(*id)).collect();
    let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
        return Ok(Vec::new());
    };
    // The bounds exclude other days.
    let sql = format!(
        "SELECT {SENT_COLUMNS} FROM sent
             WHERE id = ANY($1) AND id >= $2 AND id <= $3 AND status = 0 ORDER BY id, attempt"
    );
    let found = find(client, &sql, &[&ids, first, last]).await?;
    let rows = found.iter().filter_map(|row| damage.sift(read_sent(row)));
    Ok(last_of_each(rows.collect()))
}
