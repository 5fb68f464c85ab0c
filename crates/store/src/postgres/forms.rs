//! The forms of operators' ids on PostgreSQL, in the table `meta`. They belong to no node, so their
//! writes carry no epoch; of two nodes that learn at once the last one wins.

use std::sync::Arc;

use super::PgStore;
use crate::forms::{self, FormStore};
use crate::{Reply, StoreError};

impl FormStore for PgStore {
    fn message_id_forms(&self) -> Reply<Vec<(u32, u8)>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let rows = shared.reader().await?.query(forms::SELECT, &[]).await?;
            let mut found = Vec::with_capacity(rows.len());
            for row in &rows {
                let key: String = row.try_get(0)?;
                found.extend(forms::of_meta(&key, row.try_get(1)?));
            }
            Ok::<_, StoreError>(found)
        })
    }

    fn keep_message_id_form(&self, operator: u32, form: u8) -> Reply<()> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            shared
                .reader()
                .await?
                .execute(
                    "INSERT INTO meta VALUES($1, $2)
                     ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                    &[&forms::key(operator), &i64::from(form)],
                )
                .await?;
            Ok(())
        })
    }
}
