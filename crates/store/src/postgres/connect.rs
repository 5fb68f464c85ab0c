//! How connections to the database are made: TLS, and the settings that every session has.
//!
//! Used by the pool of readers, by the writer's lanes and for dedicated sessions (LISTEN, leases,
//! migrations). Guarantees that the URL, which may hold a password, never reaches an error or a log,
//! and that the certificate is verified whenever TLS is used.

use std::time::Duration;

use deadpool_postgres::{Object, Pool, RecyclingMethod, Transaction};
use rustls::ClientConfig;
use secrecy::ExposeSecret;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, IsolationLevel, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PgOptions;
use super::failure::{failed, sql_failed};
use crate::StoreError;
use smsc_tls as tls;
use smsc_tls::Named;

/// What drives a dedicated client: poll it, or nothing happens.
pub type Driver = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// Makes connections.
#[derive(Clone)]
pub struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
}

// === impl Connector ===

impl Connector {
    /// Reads the URL and the certificates; connects to nothing.
    pub fn new(options: &PgOptions) -> Result<Self, StoreError> {
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
        config
            .options(settings.trim())
            .connect_timeout(options.write_timeout)
            .tcp_user_timeout(options.write_timeout * 2)
            // The kernel counts in whole seconds.
            .keepalives_idle(options.write_timeout.max(Duration::from_secs(1)))
            .keepalives_interval(Duration::from_secs(2))
            .keepalives_retries(3)
            // After a failover a former primary still answers, but cannot be written to.
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        if config.get_application_name().is_none() {
            config.application_name("smsc");
        }
        Ok(Self {
            config,
            tls: MakeRustlsConnect::new(tls_config(options)?),
        })
    }

    /// A dedicated client; its driver must be spawned.
    pub async fn client(&self) -> Result<(Client, Driver), StoreError> {
        self.config
            .connect(self.tls.clone())
            .await
            .map_err(|error| sql_failed(&error))
    }

    /// A dedicated client whose driver runs on this runtime until the connection ends.
    pub async fn driven(&self) -> Result<Client, StoreError> {
        let (client, driver) = self.client().await?;
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::warn!(
                    error = super::failure::describe(&error),
                    "a database connection broke"
                );
            }
        });
        Ok(client)
    }

    /// A pool of at most so many connections; who waits longer than `patience` for one fails.
    pub fn pool(&self, most: usize, patience: Duration) -> Result<Pool, StoreError> {
        Pool::builder(self.manager())
            .max_size(most)
            .runtime(deadpool_postgres::Runtime::Tokio1)
            .wait_timeout(Some(patience))
            .build()
            .map_err(|error| failed(format!("cannot make a pool: {error}")))
    }

    fn manager(&self) -> deadpool_postgres::Manager {
        deadpool_postgres::Manager::from_config(
            self.config.clone(),
            self.tls.clone(),
            deadpool_postgres::ManagerConfig {
                // Refused in a transaction that has failed: such a connection is closed, not reused.
                recycling_method: RecyclingMethod::Custom("SELECT 1".to_owned()),
            },
        )
    }
}

/// A transaction whose statements take as long as they take; rolled back when it is dropped.
pub async fn begin_slowly(client: &mut Object) -> Result<Transaction<'_>, StoreError> {
    let transaction = client.transaction().await?;
    transaction
        .batch_execute("SET LOCAL statement_timeout = 0")
        .await?;
    Ok(transaction)
}

/// A snapshot that several statements share, for reading as long as it takes.
pub async fn begin_reading(client: &mut Object) -> Result<Transaction<'_>, StoreError> {
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    transaction
        .batch_execute("SET LOCAL statement_timeout = 0")
        .await?;
    Ok(transaction)
}

fn tls_config(options: &PgOptions) -> Result<ClientConfig, StoreError> {
    let roots = match &options.ca_file {
        None => tls::platform_roots(),
        Some(file) => tls::roots(&Named::new("postgres.ca_file", file)).map_err(failed)?,
    };
    tls::client_config(roots, None).map_err(|error| failed(format!("TLS: {error}")))
}
