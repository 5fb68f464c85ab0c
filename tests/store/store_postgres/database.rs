//! A PostgreSQL database for one test, dropped when the test ends, and its content as text.

use crate::harness;
use smsc::store::postgres::{PgOptions, migrate};
use std::net::ToSocketAddrs;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{NoTls, SimpleQueryMessage, Socket};

type Connection = tokio_postgres::Connection<Socket, NoTlsStream>;

/// The database.
pub struct Database(harness::Database);

// === impl Database ===

impl Database {
    /// A database without tables.
    pub fn empty() -> Self {
        Self(harness::database())
    }

    /// A database with the schema of this binary.
    pub fn migrated() -> Self {
        let database = Self::empty();
        migrate(&PgOptions::new(database.url())).expect("migrates");
        database
    }

    /// A copy, with all that is in it. Nobody may be connected to it.
    pub fn copy(&self) -> Self {
        Self(self.0.copy())
    }

    pub fn url(&self) -> String {
        self.0.url().to_owned()
    }

    /// A gate in front of the server, and the URL of this database behind it.
    pub fn behind_a_gate(&self) -> (harness::Gate, String) {
        let (gate, server) = self.gate();
        let behind = self.url().replace(&server, &gate.address().to_string());
        (gate, behind)
    }

    /// A gate in front of the server, and a URL with two hosts: the gate, and the server itself.
    pub fn with_a_second_host(&self) -> (harness::Gate, String) {
        let (gate, server) = self.gate();
        let both = format!("{},{server}", gate.address());
        let url = self.url().replace(&server, &both);
        (gate, url)
    }

    /// A gate in front of the server, and the server's host and port as in the URL.
    fn gate(&self) -> (harness::Gate, String) {
        let config: tokio_postgres::Config = self.url().parse().expect("a URL");
        let host = match config.get_hosts() {
            [tokio_postgres::config::Host::Tcp(host), ..] => host.clone(),
            other => panic!("a server on TCP, not {other:?}"),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let server = format!("{host}:{port}");
        let mut addresses = server.to_socket_addrs().expect("an address");
        (
            harness::Gate::to(addresses.next().expect("an address")),
            server,
        )
    }

    /// Runs SQL in a transaction that stays open until the result is dropped.
    pub fn hold(&self, sql: &str) -> Held {
        let runtime = runtime();
        let client = runtime.block_on(async {
            let (client, connection) = connect(&self.url()).await;
            tokio::spawn(connection);
            client.batch_execute("BEGIN").await.expect("BEGIN");
            client.batch_execute(sql).await.expect(sql);
            client
        });
        Held { client, runtime }
    }

    /// Runs SQL; returns rows as texts joined by `|`.
    pub fn query(&self, sql: &str) -> Vec<String> {
        self.try_query(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Runs SQL; returns rows as texts joined by `|`, or what the server says.
    pub fn try_query(&self, sql: &str) -> Result<Vec<String>, String> {
        query(&self.url(), sql)
    }
}

/// An open transaction.
pub struct Held {
    client: tokio_postgres::Client,
    runtime: tokio::runtime::Runtime,
}

// === impl Held ===

impl Held {
    pub fn commit(self) {
        let commit = self.client.batch_execute("COMMIT");
        self.runtime.block_on(commit).expect("COMMIT");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

async fn connect(url: &str) -> (tokio_postgres::Client, Connection) {
    tokio_postgres::connect(url, NoTls).await.expect("connects")
}

fn query(url: &str, sql: &str) -> Result<Vec<String>, String> {
    runtime().block_on(async {
        let (client, connection) = connect(url).await;
        tokio::spawn(connection);
        let messages = client.simple_query(sql).await.map_err(|error| {
            let said = error.as_db_error().map(|error| error.message().to_owned());
            said.unwrap_or_else(|| error.to_string())
        })?;
        Ok(messages.iter().filter_map(row_as_text).collect())
    })
}

fn row_as_text(message: &SimpleQueryMessage) -> Option<String> {
    let SimpleQueryMessage::Row(row) = message else {
        return None;
    };
    let columns = (0..row.len()).map(|column| row.get(column).unwrap_or("NULL"));
    Some(columns.collect::<Vec<_>>().join("|"))
}
