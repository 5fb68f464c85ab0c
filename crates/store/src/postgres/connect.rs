//! How connections to the database are made: TLS, and the settings that every session has.
//!
//! Used by the pools, by the writer's lanes and for dedicated sessions (LISTEN, leases,
//! migrations). Guarantees that the URL, which may hold a password, never reaches an error or a log,
//! and that the certificate is verified whenever TLS is used.

use std::time::Duration;

use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};
use deadpool_postgres::{ClientWrapper, Transaction};
use rustls::ClientConfig;
use secrecy::ExposeSecret;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Error, IsolationLevel, Row, SimpleQueryMessage};

use super::PgOptions;
use super::failure::{failed, sql_failed};
use super::hosts::{Hosts, OpenedConnection, drive};
use crate::{StoreError, StoreResult};
use smsc_tls as tls;
use smsc_tls::Named;

/// Connections that are used in turns.
pub type Pool = managed::Pool<PostgresConnector>;
/// A connection of a pool.
pub type Object = managed::Object<PostgresConnector>;

/// Makes connections.
#[derive(Clone)]
pub struct PostgresConnector {
    hosts: Hosts,
    /// For the answer to a connection that was idle.
    patience: Duration,
}

// === impl PostgresConnector ===

impl PostgresConnector {
    /// Reads the URL and the certificates; connects to nothing.
    pub fn new(options: &PgOptions) -> StoreResult<Self> {
        // The parser's own error may quote a part of a password with an unescaped character in it.
        let mut config: Config = options.url.expose_secret().parse().map_err(|_| {
            failed(
                "the database URL cannot be read; expected something like \
                 postgres://user:password@host/database?sslmode=require, with special characters \
                 of the password percent-encoded",
            )
        })?;
        // A frozen or disconnected node must not block others from rows that it has locked: its
        // transactions end after the last of these times.
        let settings = format!(
            "{} -c statement_timeout={} -c lock_timeout={} -c idle_in_transaction_session_timeout={} \
             -c default_transaction_isolation=read\\ committed",
            config.get_options().unwrap_or_default(),
            options.statement_timeout.as_millis(),
            options.lock_timeout.as_millis(),
            options.write_timeout.as_millis(),
        );
        config.options(settings.trim());
        if config.get_application_name().is_none() {
            config.application_name("smsc");
        }
        Ok(Self {
            hosts: Hosts::new(&config, tls_config(options)?, options.write_timeout)?,
            patience: options.write_timeout,
        })
    }

    /// A dedicated client; its driver must be polled.
    pub async fn client(&self) -> StoreResult<OpenedConnection> {
        self.hosts.open().await
    }

    /// A dedicated client whose driver runs on this runtime until the connection ends.
    pub async fn driven(&self) -> StoreResult<Client> {
        self.hosts.driven().await
    }

    /// A dedicated client with the generation of its server, see [`Hosts::generation`].
    pub async fn driven_of(&self) -> StoreResult<(Client, u64)> {
        self.hosts.driven_of().await
    }

    /// Where connections lead to.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// A pool of at most so many connections; who waits longer than `patience` for one fails.
    pub fn pool(&self, most: usize, patience: Duration) -> StoreResult<Pool> {
        Pool::builder(self.clone())
            .max_size(most)
            .runtime(deadpool_postgres::Runtime::Tokio1)
            .wait_timeout(Some(patience))
            .build()
            .map_err(|error| failed(format!("cannot make a pool: {error}")))
    }
}

impl managed::Manager for PostgresConnector {
    type Type = ClientWrapper;
    type Error = StoreError;

    async fn create(&self) -> StoreResult<ClientWrapper> {
        let opened = self.client().await?;
        let driver = tokio::spawn(drive(opened.driver, opened.tie));
        Ok(ClientWrapper::new(opened.client, driver))
    }

    /// Refused in a transaction that has failed, by a server that is silent, and by one that is a primary no more: such
    /// a connection is closed, not used again.
    async fn recycle(&self, client: &mut ClientWrapper, _: &Metrics) -> RecycleResult<StoreError> {
        if client.is_closed() {
            return Err(RecycleError::message("closed"));
        }
        let asked = client.simple_query("SHOW transaction_read_only");
        let answer = tokio::time::timeout(self.patience, asked).await;
        let answer = answer
            .map_err(|_| RecycleError::message("no answer"))?
            .map_err(|error| RecycleError::Backend(sql_failed(&error)))?;
        let can_write = answer.iter().any(
            |message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("off")),
        );
        if can_write {
            Ok(())
        } else {
            Err(RecycleError::message("it cannot be written to"))
        }
    }
}

/// The rows of a statement that its connection prepares once.
pub async fn find(
    client: &Object,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Error> {
    let statement = client.prepare_cached(sql).await?;
    client.query(&statement, parameters).await
}

/// The rows of a statement of a transaction, whose connection prepares it once.
pub async fn find_in(
    transaction: &Transaction<'_>,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Error> {
    let statement = transaction.prepare_cached(sql).await?;
    transaction.query(&statement, parameters).await
}

/// Runs a statement of a transaction, whose connection prepares it once; returns how many rows it was about.
pub async fn run_in(
    transaction: &Transaction<'_>,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<u64, Error> {
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, parameters).await
}

/// A transaction with settings of its own; rolled back when it is dropped.
pub async fn begin_with<'c>(client: &'c mut Object, local: &str) -> Result<Transaction<'c>, Error> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(local).await?;
    Ok(transaction)
}

/// A transaction whose statements take as long as they take.
pub async fn begin_slowly(client: &mut Object) -> Result<Transaction<'_>, Error> {
    begin_with(client, "SET LOCAL statement_timeout = 0").await
}

/// Runs one statement in a transaction whose steps are waited for. By itself it could be carried out up to a minute later,
/// when its caller has long gone on by another host, because the first one was silent and kept it. This way only the COMMIT
/// can be late, by as much as the server lets a transaction be idle (`write_timeout`), and until then its rows are locked.
pub async fn execute_in_turn(
    client: &mut Object,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<u64, Error> {
    let transaction = client.transaction().await?;
    let rows = run_in(&transaction, sql, parameters).await?;
    transaction.commit().await?;
    Ok(rows)
}

/// A snapshot that several statements share, with settings of its own.
pub async fn begin_snapshot<'c>(
    client: &'c mut Object,
    is_read_only: bool,
    local: &str,
) -> Result<Transaction<'c>, Error> {
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(is_read_only)
        .start()
        .await?;
    transaction.batch_execute(local).await?;
    Ok(transaction)
}

/// A snapshot for reading as long as it takes.
pub async fn begin_reading(client: &mut Object) -> Result<Transaction<'_>, Error> {
    begin_snapshot(client, true, "SET LOCAL statement_timeout = 0").await
}

fn tls_config(options: &PgOptions) -> StoreResult<ClientConfig> {
    let roots = match &options.ca_file {
        None => tls::platform_roots(),
        Some(file) => tls::roots(&Named::new("postgres.ca_file", file)).map_err(failed)?,
    };
    tls::client_config(roots, None).map_err(|error| failed(format!("TLS: {error}")))
}
