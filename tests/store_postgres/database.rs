//! A PostgreSQL database of a test's own, dropped when the test ends.
//!
//! [`server`] is the one place that knows where the server is.

#![allow(dead_code, reason = "not every test uses everything")]

use smsc::store::postgres::{PgOptions, migrate};
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// The database.
pub struct Database {
    server: String,
    name: String,
}

/// URL of a server whose user may create databases, without a database.
fn server() -> String {
    std::env::var("SMSC_TEST_DATABASE_URL")
        .expect("SMSC_TEST_DATABASE_URL names a PostgreSQL server, as postgres://user@host:port")
        .trim_end_matches('/')
        .to_owned()
}

// === impl Database ===

impl Database {
    /// One without tables.
    pub fn empty() -> Self {
        let server = server();
        let name = format!("smsc_{:016x}", rand::random::<u64>());
        query(
            &format!("{server}/postgres"),
            &format!("CREATE DATABASE {name}"),
        );
        Self { server, name }
    }

    /// One with the schema of this binary.
    pub fn migrated() -> Self {
        let database = Self::empty();
        migrate(&PgOptions::new(database.url())).expect("migrates");
        database
    }

    pub fn url(&self) -> String {
        format!("{}/{}", self.server, self.name)
    }

    /// Runs SQL; answers rows as texts joined by `|`.
    pub fn query(&self, sql: &str) -> Vec<String> {
        query(&self.url(), sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        query(&format!("{}/postgres", self.server), &sql);
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
