//! A PostgreSQL database of a test's own, dropped when the test ends, and what it holds as text.

#![allow(dead_code, reason = "not every test uses everything")]

use crate::harness;
use smsc::store::postgres::{PgOptions, migrate};
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// The database.
pub struct Database(harness::Database);

// === impl Database ===

impl Database {
    /// One without tables.
    pub fn empty() -> Self {
        Self(harness::database())
    }

    /// One with the schema of this binary.
    pub fn migrated() -> Self {
        let database = Self::empty();
        migrate(&PgOptions::new(database.url())).expect("migrates");
        database
    }

    pub fn url(&self) -> String {
        self.0.url().to_owned()
    }

    /// Runs SQL; answers rows as texts joined by `|`.
    pub fn query(&self, sql: &str) -> Vec<String> {
        query(&self.url(), sql)
    }
}

fn query(url: &str, sql: &str) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connects");
        tokio::spawn(connection);
        let messages = client.simple_query(sql).await.expect(sql);
        messages
            .iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(
                    (0..row.len())
                        .map(|column| row.get(column).unwrap_or("NULL"))
                        .collect::<Vec<_>>()
                        .join("|"),
                ),
                _ => None,
            })
            .collect()
    })
}
