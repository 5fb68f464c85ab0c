//! Paused queues on PostgreSQL, in the table `meta`. They belong to no node, so their writes carry no epoch.

use std::sync::Arc;

use super::PgStore;
use crate::pauses::{self, PauseStore};
use crate::{Reply, StoreError};

impl PauseStore for PgStore {
    fn paused(&self) -> Reply<Vec<u32>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let rows = shared.reader().await?.query(pauses::SELECT, &[]).await?;
            let mut found = Vec::with_capacity(rows.len());
            for row in &rows {
                let key: String = row.try_get(0)?;
                found.extend(pauses::of_meta(&key, row.try_get(1)?));
            }
            Ok::<_, StoreError>(found)
        })
    }

    fn set_paused(&self, queue: u32, is_paused: bool) -> Reply<()> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            shared
                .reader()
                .await?
                .execute(
                    "INSERT INTO meta VALUES($1, $2)
                     ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                    &[&pauses::key(queue), &i64::from(is_paused)],
                )
                .await?;
            Ok(())
        })
    }
}
