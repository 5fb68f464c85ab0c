//! Writes the data moved from an embedded store: a page and the mark behind it in one transaction.
//!
//! Called by `smsc migrate-store`, in place of the writer: nothing waits for single rows here, and
//! an interrupted move must write everything exactly once. So a page goes through the writer's
//! statements on one connection, and first moves the mark of its part from where the page begins to
//! where it ends. Guarantees that a page is written once or not at all, even with concurrent
//! imports; that nothing is written while a node is alive; and that no store is opened on an
//! unfinished move.

use ahash::{AHashMap, AHashSet};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, Transaction};
use uuid::Uuid;

use super::cold::run_all;
use super::columns::{Correlate, Expect, calls};
use super::connect::PostgresConnector;
use super::correlations::{OverflowCounts, operator_uuid};
use super::failure::{CommitResult, PostgresFailure, failed};
use super::idempotency;
use super::opt_out;
use super::outbox;
use super::record::id_at;
use super::schema;
use super::statements::PreparedSteps;
use super::transaction::put_dead;
use super::upkeep::one;
use super::{PgOptions, runtime, usage};
use crate::cold::ColdStatement;
use crate::damage::ListedDamage;
use crate::meta::MetaRow;
use crate::moving::{Inventory, MovePart, MovedPage, TABLES};
use crate::sinks::Listeners;
use crate::{StoreError, StoreResult, signed};
use smsc_domain::id::millis;
use smsc_domain::period::DAY_MS;
use smsc_host::clock;

/// In `meta`: when the move ended, Unix milliseconds.
const ENDED: &str = "move_ended";
/// Before the name of a table in `meta`: how many rows of it there were to move.
const ROWS: &str = "move_rows_";
/// Before the name of a table in `meta`: how many rows of it were damaged and left behind, less those that stand for some.
const LEFT: &str = "move_left_";
/// In `meta`: the highest id of the source.
const HIGHEST: &str = "move_highest";
/// What to do about a database that is no empty one.
const USE_AN_EMPTY_ONE: &str =
    "make an empty database, run `smsc migrate` for it, and move into that one";

/// A database that a store is moved into. Blocks; for a thread that may.
pub struct Import {
    runtime: Runtime,
    client: Client,
    steps: PreparedSteps,
    /// UUIDs by interned name, for the table for other programs; `None` when that is not kept.
    operators: Option<AHashMap<u32, Option<Uuid>>>,
    correlation_ttl_ms: i64,
    /// Days since 1970 that have partitions, or cannot have them.
    days: AHashSet<i64>,
}

/// Where a move begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveStart {
    /// Each part continues after its mark, in the order of [`MovePart::ALL`].
    At {
        marks: [u64; MovePart::ALL.len()],
        /// Messages that were moved before.
        messages: u64,
    },
    /// Everything was moved before, at this time (Unix milliseconds).
    Ended(i64),
}

/// Refuses a database with an unfinished import: missing messages would count as lost.
pub async fn refuse_unfinished(client: &Client) -> StoreResult {
    let mark = MovePart::Messages.mark();
    let is_open = "SELECT EXISTS(SELECT 1 FROM meta WHERE key = $1)
        AND NOT EXISTS(SELECT 1 FROM meta WHERE key = $2)";
    if one(client, is_open, &[&mark, &ENDED]).await? {
        return Err(failed(
            "a store is being moved into this database and is not complete: run \
             `smsc migrate-store` to its end first",
        ));
    }
    Ok(())
}

// === impl Import ===

impl Import {
    /// Connects to a database whose schema is this binary's.
    ///
    /// # Errors
    /// The database cannot be reached, or its schema is older or newer.
    pub fn open(options: &PgOptions) -> StoreResult<Self> {
        let runtime = runtime()?;
        let connector = PostgresConnector::new(options)?;
        let correlations = options.message_correlations;
        let (client, steps) = runtime.block_on(async {
            let client = connector.driven().await?;
            schema::check(&client).await?;
            // Counting may take long; a killed run may leave a lock for a while; and commits must
            // be durable.
            client
                .batch_execute(
                    "SET statement_timeout = 0; SET lock_timeout = '60s'; SET synchronous_commit = on",
                )
                .await?;
            let steps = PreparedSteps::new(&client, correlations).await?;
            Ok::<_, StoreError>((client, steps))
        })?;
        Ok(Self {
            runtime,
            client,
            steps,
            operators: correlations.then(AHashMap::new),
            correlation_ttl_ms: signed(options.correlation_ttl.as_millis()),
            days: AHashSet::new(),
        })
    }

    /// Writes names and configuration and begins, or finds where to continue.
    ///
    /// # Errors
    /// Nodes are alive, the database holds something else, or the source has changed.
    pub fn begin(&mut self, source: &Inventory) -> StoreResult<MoveStart> {
        if let Some(operators) = &mut self.operators {
            let named = source.names.iter();
            operators.extend(named.map(|(number, name)| (*number, operator_uuid(name))));
        }
        self.runtime.block_on(async {
            let transaction = self.client.transaction().await?;
            // One at a time: the second one finds the marks of the first.
            transaction
                .batch_execute("LOCK TABLE meta, names IN SHARE ROW EXCLUSIVE MODE")
                .await?;
            refuse_living(&transaction).await?;
            let begun = match meta(&transaction, MovePart::Messages.mark()).await? {
                None => begin_anew(&transaction, source).await?,
                Some(_) => go_on(&transaction, source).await?,
            };
            transaction.commit().await?;
            Ok(begun)
        })
    }

    /// Writes a page. A page without an `Ok` may still have been written; begin again to find out.
    ///
    /// # Errors
    /// A node has started, another move is under way, or a row cannot be written.
    pub fn write(&mut self, page: &MovedPage) -> StoreResult {
        let Self {
            runtime,
            client,
            steps,
            operators,
            correlation_ttl_ms,
            days,
        } = self;
        runtime.block_on(async {
            for message in &page.rows.accept {
                let day = millis(message.id) / DAY_MS;
                if days.insert(day) {
                    // False when rows of it are in the default partitions: they are read there too.
                    client.query_one("SELECT make_day($1)", &[&day]).await?;
                }
            }
            let transaction = client.transaction().await?;
            let update = "UPDATE meta SET value = $3 WHERE key = $1 AND value = $2
                 AND NOT EXISTS(SELECT 1 FROM node WHERE lease_until > clock_timestamp())";
            let moved = transaction
                .execute(
                    update,
                    &[&page.part.mark(), &(page.after as i64), &(page.upto as i64)],
                )
                .await?;
            if moved != 1 {
                refuse_living(&transaction).await?;
                return Err(failed(
                    "the mark in the database is not where this move left it: another \
                     `smsc migrate-store` is at work",
                ));
            }
            let kept = OverflowCounts::default();
            let correlate = operators.as_ref().map(|operators| Correlate {
                operators,
                ttl_ms: *correlation_ttl_ms,
                kept: &kept,
            });
            let rows = write_rows(&transaction, steps, page, correlate.as_ref()).await;
            rows.map_err(|failure| {
                failed(format!(
                    "{:?} above {} up to {}: {}",
                    page.part,
                    page.after,
                    page.upto,
                    failure.reason()
                ))
            })?;
            Ok(transaction.commit().await?)
        })
    }

    /// Compares the rows in both stores, and ends the move when all have arrived. Returns the
    /// number of rows of each table, in the order of [`TABLES`].
    ///
    /// # Errors
    /// Something is missing or too much; the database stays as it is.
    pub fn finish(&mut self, source: &Inventory) -> StoreResult<[u64; TABLES.len()]> {
        self.runtime.block_on(async {
            let transaction = self.client.transaction().await?;
            let mut rows = [0; TABLES.len()];
            let mut wrong = Vec::new();
            for ((count, table), expected) in rows.iter_mut().zip(TABLES).zip(source.rows) {
                let sql = format!("SELECT count(*) FROM {table}");
                *count = one::<i64>(&transaction, &sql, &[]).await? as u64;
                let left = meta(&transaction, &format!("{LEFT}{table}"))
                    .await?
                    .unwrap_or(0);
                let expected = expected.wrapping_sub(left);
                if *count != expected {
                    wrong.push(format!("{table}: {expected} to move, {count} there"));
                }
            }
            if !wrong.is_empty() {
                return Err(failed(format!(
                    "not everything arrived as it should: {}; the old store is unchanged and still \
                     the valid one: {USE_AN_EMPTY_ONE}",
                    wrong.join(", ")
                )));
            }
            refuse_living(&transaction).await?;
            for (key, value) in [
                ("highest_id", source.highest),
                // Writers that accept a message below the mark carry it: first, as in the upkeep.
                ("carry_below", source.low_water),
                ("low_water", source.low_water),
                (ENDED, clock::now_ms() as u64),
            ] {
                set(&transaction, key, value).await?;
            }
            transaction.commit().await?;
            Ok(rows)
        })
    }
}

async fn begin_anew(transaction: &Transaction<'_>, source: &Inventory) -> StoreResult<MoveStart> {
    for table in TABLES {
        let sql = format!("SELECT EXISTS(SELECT 1 FROM {table})");
        if one(transaction, &sql, &[]).await? {
            return Err(failed(format!(
                "the database already has rows in {table}: {USE_AN_EMPTY_ONE}"
            )));
        }
    }
    let (numbers, names): (Vec<i32>, Vec<&str>) = source
        .names
        .iter()
        .map(|(number, name)| (*number as i32, name.as_str()))
        .unzip();
    let select = "SELECT n.name, n.number, u.name, u.number
         FROM unnest($1::int[], $2::text[]) u(number, name)
         JOIN names n ON (n.number = u.number) <> (n.name = u.name) LIMIT 1";
    let conflict = transaction.query_opt(select, &[&numbers, &names]).await?;
    if let Some(row) = conflict {
        let (there, there_number): (String, i32) = (row.try_get(0)?, row.try_get(1)?);
        let (here, here_number): (String, i32) = (row.try_get(2)?, row.try_get(3)?);
        return Err(failed(format!(
            "names have other numbers in the database: there `{there}` is {there_number}, here \
             `{here}` is {here_number}: {USE_AN_EMPTY_ONE}"
        )));
    }
    let insert =
        "INSERT INTO names SELECT * FROM unnest($1::int[], $2::text[]) ON CONFLICT DO NOTHING";
    transaction.execute(insert, &[&numbers, &names]).await?;
    run_all(transaction, &source.whole).await?;
    for (table, rows) in TABLES.iter().zip(source.rows) {
        set(transaction, &format!("{ROWS}{table}"), rows).await?;
    }
    set(transaction, HIGHEST, source.highest).await?;
    for part in MovePart::ALL {
        set(transaction, part.mark(), 0).await?;
    }
    Ok(MoveStart::At {
        marks: [0; MovePart::ALL.len()],
        messages: 0,
    })
}

async fn go_on(transaction: &Transaction<'_>, source: &Inventory) -> StoreResult<MoveStart> {
    if let Some(ended) = meta(transaction, ENDED).await? {
        return Ok(MoveStart::Ended(ended as i64));
    }
    let mut is_the_same = meta(transaction, HIGHEST).await? == Some(source.highest);
    for (table, rows) in TABLES.iter().zip(source.rows) {
        is_the_same &= meta(transaction, &format!("{ROWS}{table}")).await? == Some(rows);
    }
    // The names are compared by content: they were all written at the beginning.
    let mut there: AHashMap<u32, String> = AHashMap::new();
    for row in transaction
        .query("SELECT number, name FROM names", &[])
        .await?
    {
        there.insert(row.try_get::<_, i32>(0)? as u32, row.try_get(1)?);
    }
    let mut names = source.names.iter();
    is_the_same &= names.all(|(number, name)| there.get(number) == Some(name));
    if !is_the_same {
        return Err(failed(format!(
            "this store is not the one whose move into this database began, or it has been written \
             to since then: {USE_AN_EMPTY_ONE}"
        )));
    }
    let mut marks = [0; MovePart::ALL.len()];
    for (mark, part) in marks.iter_mut().zip(MovePart::ALL) {
        *mark = meta(transaction, part.mark()).await?.unwrap_or(0);
    }
    let messages: i64 = one(transaction, "SELECT count(*) FROM msg", &[]).await?;
    Ok(MoveStart::At {
        marks,
        messages: messages as u64,
    })
}

async fn refuse_living(transaction: &Transaction<'_>) -> StoreResult {
    let select = "SELECT node FROM node WHERE lease_until > clock_timestamp() ORDER BY node";
    let rows = transaction.query(select, &[]).await?;
    if rows.is_empty() {
        return Ok(());
    }
    let mut nodes = Vec::with_capacity(rows.len());
    for row in &rows {
        nodes.push(row.try_get::<_, i16>(0)?.to_string());
    }
    Err(failed(format!(
        "nodes run on this database ({}): stop them, and wait until their leases have ended",
        nodes.join(", ")
    )))
}

async fn write_rows(
    transaction: &Transaction<'_>,
    steps: &PreparedSteps,
    page: &MovedPage,
    correlate: Option<&Correlate<'_>>,
) -> CommitResult {
    for call in calls(&[&page.rows], Expect::Any, correlate, &Listeners::default())? {
        let statement = steps.statement(call.step)?;
        transaction.query(statement, &call.values()).await?;
    }
    if !page.carry.is_empty() {
        let ids: Vec<i64> = page.carry.iter().map(|id| *id as i64).collect();
        let sql = "INSERT INTO carry SELECT unnest($1::bigint[])";
        transaction.execute(sql, &[&ids]).await?;
    }
    for row in &page.dead {
        put_dead(transaction, steps, row).await?;
    }
    let now = clock::now_ms();
    let damaged = page.left.rows.iter();
    let damaged: Vec<ColdStatement> = damaged.map(|row| ListedDamage::insert(row, now)).collect();
    run_all(transaction, &damaged).await.map_err(other)?;
    for (table, fewer) in &page.left.fewer {
        let sql = "INSERT INTO meta VALUES($1, $2)
            ON CONFLICT(key) DO UPDATE SET value = meta.value + excluded.value";
        transaction
            .execute(sql, &[&format!("{LEFT}{table}"), fewer])
            .await?;
    }
    for row in &page.opt_outs {
        opt_out::insert(transaction, row).await.map_err(other)?;
    }
    idempotency::import(transaction, &page.rows.idempotency).await?;
    for row in &page.events {
        outbox::put_event(transaction, row).await?;
    }
    if !page.records.is_empty() {
        outbox::put_records(transaction, &page.records).await?;
    }
    if !page.usage.is_empty() {
        usage::add(transaction, &page.usage).await?;
    }
    Ok(())
}

async fn meta(transaction: &Transaction<'_>, key: &str) -> StoreResult<Option<u64>> {
    let sql = "SELECT value FROM meta WHERE key = $1";
    let row = transaction.query_opt(sql, &[&key]).await?;
    row.map(|row| id_at(&row, 0)).transpose()
}

async fn set(transaction: &Transaction<'_>, key: &str, value: u64) -> StoreResult {
    run_all(transaction, &[MetaRow::new(key, value as i64).put()]).await?;
    Ok(())
}

fn other(error: StoreError) -> PostgresFailure {
    PostgresFailure::Other(error.to_string())
}
