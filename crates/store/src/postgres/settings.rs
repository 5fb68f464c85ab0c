//! Another form of the settings, on PostgreSQL.

use super::PgStore;
use super::cold::run_all;
use super::connect::begin_with;
use crate::Reply;
use crate::settings::{Rewording, RewordingStore};

impl RewordingStore for PgStore {
    fn reword_settings(&self, rewording: Rewording) -> Reply<bool> {
        self.ask(|shared| async move {
            let statements = rewording.statements()?;
            let mut client = shared.cold.get().await?;
            // An edit could come between reading the version and the bodies.
            let lock = "LOCK TABLE config_versions IN EXCLUSIVE MODE";
            let transaction = begin_with(&mut client, lock).await?;
            if run_all(&*transaction, &statements).await?.rows == 0 {
                return Ok(false);
            }
            transaction.commit().await?;
            // Deleted rows are invisible to readers; after this their space is reused.
            for table in ["accounts", "operators", "config_versions"] {
                client.batch_execute(&format!("VACUUM {table}")).await?;
            }
            Ok(true)
        })
    }
}
