//! What is looked at and prepared in the database when the store is opened.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::upkeep::one;
use super::{PostgresShared, failed, import, schema};
use crate::StoreResult;
use crate::cluster::Membership;

/// Checks the database, and what a store of one process needs.
pub async fn prepare(shared: &PostgresShared) -> StoreResult {
    let client = shared.connect.driven().await?;
    schema::check(&client).await?;
    import::refuse_unfinished(&client).await?;
    schema::make_days(&client).await?;
    let commit = "SELECT current_setting('synchronous_commit')";
    let commit: String = one(&client, commit, &[]).await?;
    if commit == "off" {
        return Err(failed(
            "synchronous_commit is off for this user or database, so that an answer would promise \
             what a crash undoes: switch it on",
        ));
    }
    if !schema::has_page_checksums(&client).await? {
        tracing::warn!("{}", schema::NO_PAGE_CHECKSUMS);
    }
    let dead: i64 = one(&client, "SELECT count(*) FROM dead", &[]).await?;
    shared
        .counts
        .writes
        .quarantined
        .store(dead as u64, Ordering::Relaxed);
    if shared.options.standalone {
        let lanes = shared.options.writers.max(1) as i32;
        let insert = "INSERT INTO lane(node, epoch, lane, seq, checksums)
             SELECT 0, 0, lane, 0, true FROM generate_series(0, $1 - 1) lane
             ON CONFLICT(node, epoch, lane) DO UPDATE SET seq = 0, checksums = true";
        client.execute(insert, &[&lanes]).await?;
        client
            .execute("DELETE FROM spill WHERE node = 0", &[])
            .await?;
        // Claims of the process before, which has no epoch of its own.
        let delete = "DELETE FROM idempotency WHERE answer IS NULL AND node = 0 AND epoch = 0";
        client.execute(delete, &[]).await?;
        let mut membership = shared
            .membership
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *membership = Some(Membership { node: 0, epoch: 0 });
    }
    Ok(())
}
