//! Small values in the table `meta` on PostgreSQL. They belong to no node, so their writes carry no epoch; of two
//! nodes that write at once the last one wins.

use std::sync::Arc;

use super::PgStore;
use crate::{Reply, StoreError};

// === impl PgStore ===

impl PgStore {
    /// The values of the rows that `select` finds, each of which has a key and a number.
    pub(super) fn read_meta<T: Send + 'static>(
        &self,
        select: &'static str,
        value_of: fn(&str, i64) -> Option<T>,
    ) -> Reply<Vec<T>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let rows = shared.reader().await?.query(select, &[]).await?;
            let mut found = Vec::with_capacity(rows.len());
            for row in &rows {
                let key: String = row.try_get(0)?;
                found.extend(value_of(&key, row.try_get(1)?));
            }
            Ok::<_, StoreError>(found)
        })
    }

    /// Sets a number.
    pub(super) fn set_meta(&self, key: String, value: i64) -> Reply<()> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            shared
                .reader()
                .await?
                .execute(
                    "INSERT INTO meta VALUES($1, $2)
                     ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                    &[&key, &value],
                )
                .await?;
            Ok(())
        })
    }
}
