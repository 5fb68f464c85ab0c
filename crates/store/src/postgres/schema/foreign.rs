//! A schema `smpp` that was there before ours: that of the service smpp-connector, whose table
//! `smpp.message_correlations` is kept with its rows (docs/coming-from.md).
//!
//! Called by the migrations, under their lock. Our migration that makes the schema must find none, so the foreign one
//! has another name meanwhile. Each step can be repeated: whoever is killed between two of them migrates again.

use tokio_postgres::Client;

use super::super::upkeep::one;
use crate::{StoreError, StoreResult};

/// The migration that makes the schema.
const MAKES_IT: i32 = 3;
/// The name of the foreign schema while ours are made.
const ASIDE: &str = "smpp_before_smsc";
/// What we write and read.
const COLUMNS: [&str; 9] = [
    "id",
    "message_id",
    "operator_message_id",
    "operator_id",
    "destination",
    "submitted_at",
    "expires_at",
    "dlr_received_at",
    "status",
];

/// Renames a schema `smpp` that our migrations have not made.
pub async fn put_aside(client: &Client, applied: &[(i32, String)]) -> StoreResult {
    let is_ours = applied.iter().any(|(version, _)| *version == MAKES_IT);
    if is_ours || !exists(client, "smpp").await? {
        return Ok(());
    }
    check(client).await?;
    client
        .batch_execute(&format!("ALTER SCHEMA smpp RENAME TO {ASIDE}"))
        .await?;
    Ok(())
}

/// Puts the foreign schema in the place of ours, whose table is still empty.
pub async fn take_over(client: &Client) -> StoreResult {
    if !exists(client, ASIDE).await? {
        return Ok(());
    }
    client
        .batch_execute(&format!(
            "BEGIN;
             DROP TABLE smpp.message_correlations;
             DROP SCHEMA smpp;
             ALTER SCHEMA {ASIDE} RENAME TO smpp;
             COMMIT"
        ))
        .await?;
    tracing::info!("smpp.message_correlations of smpp-connector is kept with its rows");
    Ok(())
}

async fn exists(client: &Client, schema: &str) -> StoreResult<bool> {
    Ok(one(client, "SELECT to_regnamespace($1) IS NOT NULL", &[&schema]).await?)
}

/// Refuses a schema that has something else, before anything is changed.
async fn check(client: &Client) -> StoreResult {
    let sql = "SELECT column_name::text FROM information_schema.columns
               WHERE table_schema = 'smpp' AND table_name = 'message_correlations'";
    let rows = client.query(sql, &[]).await?;
    let mut columns = Vec::with_capacity(rows.len());
    for row in &rows {
        columns.push(row.try_get::<_, String>(0)?);
    }
    let lacking: Vec<&str> = COLUMNS
        .into_iter()
        .filter(|column| !columns.iter().any(|there| there == column))
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(StoreError::Failed(format!(
        "the database has a schema \"smpp\" that is not that of smpp-connector: the table \
         message_correlations lacks {}; use another database, or rename the schema",
        lacking.join(", ")
    )))
}
