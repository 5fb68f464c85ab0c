//! Finds ids that a node assigned while its clock was wrong, and sets them aside.
//!
//! Read when a node joins and by code that uses ids as times; set aside by `smsc repair-ids`, also
//! while nodes run. Guarantees that the highest id was assigned by a correct clock, so that the
//! next ids follow the clock as well.

use std::ops::Range;

use futures_util::FutureExt as _;
use tokio_postgres::{Client, GenericClient};

use super::around::SpanReader;
use super::cold::run_all;
use super::connect::PostgresConnector;
use super::failure::{failed, is_unreadable};
use super::record::id_at;
use super::upkeep::{meta, one};
use super::{PgOptions, runtime, schema};
use crate::asides::{IS_ASIDE, NUMBERED};
use crate::cold::ColdRecord as _;
use crate::damage::DamageLog;
use crate::{SetAside, StoreResult};
use smsc_domain::id::{Aside, MAX_LEAD_MS, lowest_at};

/// The ranges that were set aside, the lowest first.
pub async fn read(client: &(impl GenericClient + Sync)) -> StoreResult<Vec<Aside>> {
    let all = Aside::select("ORDER BY first", Vec::new());
    Aside::all(run_all(client, &[all]).await?.returned)
}

/// The highest id ever used, without those that were set aside.
pub async fn highest_id(client: &(impl GenericClient + Sync)) -> StoreResult<u64> {
    let mut highest = meta(client, "highest_id").await? as u64;
    let asides = read(client).await?;
    if asides.iter().any(|aside| aside.contains(highest)) {
        highest = 0;
    }
    let condition = if asides.is_empty() {
        String::new()
    } else {
        format!("WHERE NOT {IS_ASIDE}")
    };
    for table in NUMBERED {
        let sql = format!("SELECT id FROM {table} t {condition} ORDER BY id DESC LIMIT 1");
        let found = match client.query_opt(&sql, &[]).await {
            Ok(row) => row.map_or(Ok(0), |row| id_at(&row, 0))?,
            Err(error) if is_unreadable(&error) => highest_around(client, table).await?,
            Err(error) => return Err(error.into()),
        };
        highest = highest.max(found);
    }
    Ok(highest)
}

/// The highest id of a table that has pages that cannot be read.
async fn highest_around(
    client: &(impl GenericClient + Sync),
    table: &'static str,
) -> StoreResult<u64> {
    let sql = format!(
        "SELECT id FROM {table} t WHERE id >= $1 AND id < $2 AND NOT {IS_ASIDE}
         ORDER BY id DESC LIMIT 1"
    );
    let place = SpanReader {
        client,
        damage: &DamageLog::default(),
        table,
        is_transaction: false,
    };
    let sql = &*sql;
    let read = |ids: Range<i64>| {
        let highest = async move {
            let rows = client.query(sql, &[&ids.start, &ids.end]).await?;
            let ids = rows.iter().map(|row| row.try_get(0));
            Ok(ids.collect::<Result<Vec<i64>, _>>()?)
        };
        highest.boxed()
    };
    // A small table would be read whole for each half.
    client.batch_execute("SET enable_seqscan = off").await?;
    let found = place.read(0..i64::MAX, read).await;
    client.batch_execute("RESET enable_seqscan").await?;
    let found = found?;
    if let Some((first, last)) = found.left_out.first() {
        return Err(failed(format!(
            "the highest id of {table} is not found: what has ids from {first} to {last} cannot be read"
        )));
    }
    let damaged = found.damaged_ids();
    let highest = found.read.iter().chain(&damaged).max();
    Ok(highest.map_or(0, |id| *id as u64))
}

/// Sets aside ids ahead of the clock (`now_ms`, Unix ms), or only reports them. Blocks.
///
/// # Errors
/// The database cannot be reached, or its schema is not this release's.
pub fn repair_ids(options: &PgOptions, now_ms: i64, apply: bool) -> StoreResult<Vec<SetAside>> {
    let connector = PostgresConnector::new(options)?;
    runtime()?.block_on(async {
        let mut client = connector.driven().await?;
        schema::check(&client).await?;
        set_aside(&mut client, now_ms, apply).await
    })
}

async fn set_aside(client: &mut Client, now_ms: i64, apply: bool) -> StoreResult<Vec<SetAside>> {
    let limit = lowest_at(now_ms + MAX_LEAD_MS + 1);
    let transaction = client.transaction().await?;
    transaction
        .batch_execute("SET LOCAL statement_timeout = 0")
        .await?;
    let mut found: Vec<SetAside> = Vec::new();
    for table in NUMBERED {
        let ahead = SetAside::ahead(table, limit);
        for row in run_all(&transaction, &[ahead]).await?.returned {
            SetAside::add(&mut found, SetAside::read(row)?);
        }
    }
    let highest = meta(&transaction, "highest_id").await? as u64;
    let known = read(&transaction).await?;
    SetAside::add_highest(&mut found, highest, limit, &known);
    let Some(first) = SetAside::first(&found).filter(|_| apply) else {
        return Ok(found);
    };
    for SetAside { ids, .. } in &found {
        let (first, last) = (ids.first as i64, ids.last as i64);
        run_all(&transaction, &[ids.insert("")]).await?;
        // Their texts are erased in time, wherever the mark of that is.
        let insert = "INSERT INTO text_left SELECT id FROM msg WHERE id BETWEEN $1 AND $2
             AND (id >> 12) & 255 = $3 ON CONFLICT DO NOTHING";
        transaction
            .execute(insert, &[&first, &last, &i64::from(ids.node)])
            .await?;
    }
    let highest = highest_id(&transaction).await? as i64;
    let set = "UPDATE meta SET value = $2 WHERE key = $1";
    transaction.execute(set, &[&"highest_id", &highest]).await?;
    // What is accepted from now on is above the marks again, and need not be carried.
    let lower =
        "UPDATE meta SET value = least(value, $1) WHERE key IN ('low_water', 'carry_below')";
    transaction.execute(lower, &[&(first as i64)]).await?;
    // Nobody keeps rows above the mark right.
    let above = "DELETE FROM carry WHERE id >= $1";
    transaction.execute(above, &[&(first as i64)]).await?;
    transaction.commit().await?;
    Ok(found)
}

/// The database's clock, in Unix milliseconds.
pub async fn now_ms(client: &impl GenericClient) -> StoreResult<i64> {
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    Ok(one(client, sql, &[]).await?)
}
