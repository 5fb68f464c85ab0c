//! The schema of the database: migrations, whether they fit this binary, partitions of days.
//!
//! Called at open, by `smsc migrate` and by the upkeep. Guarantees that a store is never opened on a
//! schema that this binary cannot use, that two processes never migrate at once, and that the
//! days around now have partitions of their own.
//!
//! A binary uses the schema that it has the migrations of, and each newer one until a migration takes away
//! something that it needs. Such a migration says so: `meta.oldest_schema` is the newest migration of the oldest
//! binary that can still use the schema.

mod foreign;

use super::connect::Object;
use refinery::Runner;
use tokio_postgres::Client;

use super::PostgresShared;
use super::connect::{PostgresConnector, begin_slowly};
use super::failure::failed;
use super::upkeep::{meta, one};
use crate::StoreResult;
use smsc_domain::period::DAY_MS;
use smsc_host::clock;

mod embedded {
    refinery::embed_migrations!("../../migrations");
}

/// Held while migrating: "smsc" in ASCII.
const MIGRATION_LOCK: i64 = 0x736d_7363;
/// Partitions are made for this many days from today on.
const DAYS_AHEAD: i64 = 7;

/// Tables that are split by the day.
pub const SPLIT: [&str; 6] = ["msg", "sent", "fin", "told", "change", "tries"];

/// Applies missing migrations; returns their names, as `V1__messages`.
pub async fn migrate(connector: &PostgresConnector) -> StoreResult<Vec<String>> {
    let mut client = connector.driven().await?;
    client
        .batch_execute("SET statement_timeout = 0; SET lock_timeout = 0")
        .await?;
    // Ends with the session, however that ends.
    client
        .execute("SELECT pg_advisory_lock($1)", &[&MIGRATION_LOCK])
        .await?;
    let applied = applied(&client).await?;
    refuse_contracted(&client, &applied).await?;
    // A binary of the release before, as when an update is taken back: there is nothing to do.
    if newer(&applied).is_some() {
        make_days(&client).await?;
        return Ok(Vec::new());
    }
    foreign::put_aside(&client, &applied).await?;
    let report = embedded::migrations::runner()
        .run_async(&mut client)
        .await
        .map_err(|error| failed(format!("cannot migrate: {error}")))?;
    foreign::take_over(&client).await?;
    make_days(&client).await?;
    let applied = report.applied_migrations();
    Ok(applied.iter().map(ToString::to_string).collect())
}

/// What to say where [`has_page_checksums`] says no.
pub const NO_PAGE_CHECKSUMS: &str = "data_checksums is off: PostgreSQL believes whatever its disk says; see \"Damaged \
     pages\" in docs/cluster.md";

/// Whether the server would notice that a page is not as it was written.
pub async fn has_page_checksums(client: &Client) -> StoreResult<bool> {
    Ok(one(
        client,
        "SELECT current_setting('data_checksums') = 'on'",
        &[],
    )
    .await?)
}

/// The migrations that this binary has and the database has not.
pub async fn pending(connector: &PostgresConnector) -> StoreResult<Vec<String>> {
    let client = connector.driven().await?;
    let applied = applied(&client).await?;
    refuse_contracted(&client, &applied).await?;
    Ok(missing(&applied))
}

/// Refuses a database that lacks a migration, or has one that this binary cannot live with.
pub async fn check(client: &Client) -> StoreResult {
    let applied = applied(client).await?;
    refuse_contracted(client, &applied).await?;
    let missing = missing(&applied);
    if !missing.is_empty() {
        return Err(failed(format!(
            "the database lacks {}: run `smsc migrate`",
            missing.join(", ")
        )));
    }
    if let Some((version, name)) = newer(&applied) {
        tracing::warn!(
            "the database has V{version}__{name} of a newer release, which leaves this one what it needs"
        );
    }
    Ok(())
}

fn missing(applied: &[(i32, String)]) -> Vec<String> {
    let has = |version| applied.iter().any(|(number, _)| *number == version);
    runner()
        .get_migrations()
        .iter()
        .filter(|migration| !has(migration.version()))
        .map(ToString::to_string)
        .collect()
}

/// The newest migration that this binary does not know.
fn newer(applied: &[(i32, String)]) -> Option<&(i32, String)> {
    let known = newest_known();
    applied.iter().rfind(|(version, _)| *version > known)
}

async fn refuse_contracted(client: &Client, applied: &[(i32, String)]) -> StoreResult {
    let Some((version, name)) = newer(applied) else {
        return Ok(());
    };
    let oldest = meta(client, "oldest_schema").await?;
    let known = newest_known();
    if oldest <= known.into() {
        return Ok(());
    }
    Err(failed(format!(
        "the database has V{version}__{name} and can be used by releases that know V{oldest}; this one knows up to \
         V{known}: run a newer release"
    )))
}

fn newest_known() -> i32 {
    let migrations = embedded::migrations::runner();
    let versions = migrations.get_migrations().iter();
    versions.map(|one| one.version()).max().unwrap_or_default()
}

fn runner() -> Runner {
    embedded::migrations::runner()
}

async fn applied(client: &Client) -> StoreResult<Vec<(i32, String)>> {
    let table = "SELECT to_regclass('refinery_schema_history') IS NOT NULL";
    if !one::<bool>(client, table, &[]).await? {
        return Ok(Vec::new());
    }
    let select = "SELECT version::int, name::text FROM refinery_schema_history ORDER BY version";
    let rows = client.query(select, &[]).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

/// Days before yesterday that may lack their search indexes, after a long stop.
const DAYS_LOOKED_AT: i64 = 7;

/// Makes the partitions from yesterday (a clock may be behind) to a week from now.
pub async fn make_days(client: &Client) -> StoreResult {
    let today = clock::now_ms() / DAY_MS;
    for day in today - 1..=today + DAYS_AHEAD {
        if !one::<bool>(client, "SELECT make_day($1)", &[&day]).await? {
            tracing::warn!(
                day,
                "rows of this day are in the default partitions already, where they stay"
            );
        }
    }
    Ok(())
}

/// Makes the partitions of the days to come, and the indexes of those that are over.
pub async fn tend_days(shared: &PostgresShared) -> StoreResult {
    let mut client = shared.upkeep.get().await?;
    make_days(&client).await?;
    index_closed_days(&mut client).await
}

/// Makes the search indexes of days that are over: a day that is written to pays for none.
async fn index_closed_days(client: &mut Object) -> StoreResult {
    // Ids of yesterday are still assigned for a moment after midnight.
    let over = clock::now_ms() / DAY_MS - 1;
    for day in over - DAYS_LOOKED_AT..over {
        let transaction = begin_slowly(client).await?;
        transaction.execute("SELECT index_day($1)", &[&day]).await?;
        transaction.commit().await?;
    }
    // Partitions of a build before; those that are made today have it from the beginning.
    let lacking = "SELECT ends_without_index($1)";
    for row in client.query(lacking, &[&over]).await? {
        let part: String = row.try_get(0)?;
        let transaction = begin_slowly(client).await?;
        transaction
            .execute("SELECT index_ends($1)", &[&part])
            .await?;
        transaction.commit().await?;
    }
    Ok(())
}
