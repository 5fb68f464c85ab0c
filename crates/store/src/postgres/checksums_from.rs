//! The mark from which id on a row without a checksum is damaged.
//!
//! Set by the janitor while all nodes write checksums, withdrawn by the database (`migrations/V40__checksums_from.sql`)
//! in the transaction in which one joins that does not. A statement that reads rows reads the mark in the same snapshot.

use tokio_postgres::IsolationLevel;

use super::PostgresShared;
use crate::StoreResult;

/// What stands for a checksum that is missing and should not be: no `int` has it.
pub const MISSING: i64 = -(1 << 32);

/// Whether a blob begins with its checksum, which is so by its first key ([`KEY`](crate::checksum::KEY)).
macro_rules! is_sealed {
    ($blob:literal) => {
        concat!("coalesce(substring(", $blob, " FOR 2) = '\\x9506', false)")
    };
}
pub(super) use is_sealed;

/// The column `checksum`, or [`MISSING`], of a row with an `id` for which this is true.
macro_rules! checksum_or_missing {
    ($($needed:expr),+ $(,)?) => {
        concat!(
            "coalesce(checksum::bigint, CASE WHEN ",
            $($needed,)+
            " AND id >= (SELECT value FROM meta WHERE key = 'checksums_from') THEN -4294967296 END)"
        )
    };
}
pub(super) use checksum_or_missing;

const LOCK: &str = "SELECT value FROM meta WHERE key = 'checksums_from' FOR UPDATE";
/// Above all ids of rows that are there.
const SET: &str = "UPDATE meta SET value = 1 + greatest(0, (SELECT max(id) FROM msg),
       (SELECT max(id) FROM sent), (SELECT max(id) FROM fin), (SELECT max(id) FROM change),
       (SELECT max(id) FROM parked))
     WHERE key = 'checksums_from' AND NOT EXISTS(SELECT 1 FROM lane WHERE NOT checksums)
     RETURNING value";

/// Sets the mark, unless it is set or a node may write rows without checksums.
pub async fn set(shared: &PostgresShared) -> StoreResult {
    let mut client = shared.upkeep.get().await?;
    let due = "SELECT 1 FROM meta WHERE key = 'checksums_from' AND value = $1
         AND NOT EXISTS(SELECT 1 FROM lane WHERE NOT checksums)";
    if client.query_opt(due, &[&i64::MAX]).await?.is_none() {
        return Ok(());
    }
    // Each statement sees what those before it have waited for.
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::ReadCommitted)
        .start()
        .await?;
    transaction.query_one(LOCK, &[]).await?;
    if let Some(row) = transaction.query_opt(SET, &[]).await? {
        let from: i64 = row.try_get(0)?;
        tracing::info!(from, "from this id on a row without a checksum is damaged");
    }
    transaction.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::KEY;

    #[test]
    fn the_database_knows_checksums_as_we_do() {
        let key = format!("'\\x{:02x}{:02x}'", KEY[0], KEY[1]);
        assert!(is_sealed!("body").contains(&key));
        assert!(checksum_or_missing!("true").contains(&format!("THEN {MISSING} END")));
    }
}
