//! How connections to the database are made: TLS, and the settings that every session has.
//!
//! Used by the pool of readers, by the writer's lanes and for dedicated sessions (LISTEN, leases,
//! migrations). Keeps true that the URL, which may hold a password, never reaches an error or a log,
//! and that a certificate is verified whenever TLS is spoken.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use secrecy::ExposeSecret;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PgOptions;
use super::failure::{failed, sql_failed};
use crate::store::StoreError;

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
        let settings = format!(
            "{} -c statement_timeout={} -c lock_timeout={} -c default_transaction_isolation=read\\ committed",
            config.get_options().unwrap_or_default(),
            options.statement_timeout.as_millis(),
            options.lock_timeout.as_millis(),
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

    /// For the pool.
    pub fn manager(&self) -> deadpool_postgres::Manager {
        deadpool_postgres::Manager::from_config(
            self.config.clone(),
            self.tls.clone(),
            deadpool_postgres::ManagerConfig {
                recycling_method: deadpool_postgres::RecyclingMethod::Fast,
            },
        )
    }
}

/// The certificates that this machine trusts; none where it has none, and then no server is trusted.
pub fn platform_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn tls_config(options: &PgOptions) -> Result<ClientConfig, StoreError> {
    let mut roots = RootCertStore::empty();
    match &options.ca_file {
        None => roots = platform_roots(),
        Some(path) => {
            let unreadable = |error: &dyn std::fmt::Display| {
                failed(format!("postgres.ca_file: {}: {error}", path.display()))
            };
            let certificates =
                CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unreadable(&error))?;
                roots.add(certificate).map_err(|error| unreadable(&error))?;
            }
            if roots.is_empty() {
                return Err(failed(format!(
                    "postgres.ca_file: {} holds no certificate",
                    path.display()
                )));
            }
        }
    }
    // Named, because a process may have no default provider, or more than one to choose from.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(format!("TLS: {error}")))
        .map(|builder| builder.with_root_certificates(roots).with_no_client_auth())
}
