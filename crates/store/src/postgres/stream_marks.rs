//! Marks of streams on PostgreSQL, in the table `meta`.

use std::sync::Arc;

use super::PgStore;
use crate::stream_marks::{self, StreamMarkStore};
use crate::{Reply, StoreError};

impl StreamMarkStore for PgStore {
    fn stream_marks(&self) -> Reply<Vec<(String, i64)>> {
        self.read_meta(stream_marks::SELECT, stream_marks::of_meta)
    }

    fn keep_stream_mark(&self, rows: Vec<(String, i64)>) -> Reply<()> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let (keys, values): (Vec<String>, Vec<i64>) = rows.into_iter().unzip();
            let sql = "INSERT INTO meta SELECT * FROM unnest($1::text[], $2::bigint[])
                ON CONFLICT(key) DO UPDATE SET value = excluded.value";
            shared
                .reader()
                .await?
                .execute(sql, &[&keys, &values])
                .await?;
            Ok::<_, StoreError>(())
        })
    }
}
