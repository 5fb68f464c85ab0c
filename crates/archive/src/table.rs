//! The table `sms_archive` of a second PostgreSQL as the archive of a running server.
//!
//! Called by `actors/control/export/archive.rs`, which finishes events when their rows are committed here. Guarantees
//! that the rows of a batch are there together or not at all, and each once however often it is sent: its id is
//! the key. No error shows the URL, which has a password.

use std::path::PathBuf;
use std::time::Duration;

use rustls::RootCertStore;
use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use smsc_tls::{Named, platform_roots, roots};

use super::ArchiveError;
use super::columns::{Cell, Column};
use super::database::{ColumnValues, ddl, hosts, insert, sql, unreached};

/// Rows of one statement.
const ROWS: usize = 1000;
/// What replaces an address that is erased, as in the store.
const ERASED: &[u8] = smsc_store::archive::ERASED;

/// A connection to the table.
pub struct ArchiveTable {
    client: Client,
    columns: &'static [Column],
    insert: String,
    patience: Duration,
}

/// How the table is reached.
#[derive(Clone)]
pub struct TableOptions {
    pub url: String,
    /// File with the authorities that may issue the server's certificate, and its key in the configuration.
    pub ca: Option<(&'static str, PathBuf)>,
    /// For connecting, and for each batch.
    pub patience: Duration,
}

// === impl ArchiveTable ===

impl ArchiveTable {
    /// Connects, and makes the table when it is missing.
    ///
    /// # Errors
    /// The database does not answer in time or refuses; the file of authorities cannot be read.
    pub async fn connect(
        options: &TableOptions,
        columns: &'static [Column],
    ) -> Result<Self, ArchiveError> {
        let trusted = trusted(options).map_err(ArchiveError::Database)?;
        let hosts = hosts(&options.url, trusted, options.patience)?;
        let connected = async {
            let client = hosts.driven().await.map_err(unreached)?;
            client.batch_execute(&ddl()).await.map_err(sql)?;
            Ok::<_, ArchiveError>(client)
        };
        let client = timeout(options.patience, connected).await;
        Ok(Self {
            client: client.map_err(late)??,
            columns,
            insert: insert(columns),
            patience: options.patience,
        })
    }

    /// Writes rows in one transaction. After an error the connection is of no use.
    ///
    /// # Errors
    /// The database does not answer in time or refuses.
    pub async fn put(&mut self, rows: Vec<Vec<Cell>>) -> Result<(), ArchiveError> {
        let (columns, insert) = (self.columns, &self.insert);
        let client = &mut self.client;
        let written = async move {
            let transaction = client.transaction().await?;
            let mut rows = rows.into_iter().peekable();
            while rows.peek().is_some() {
                let values = ColumnValues::of(columns, rows.by_ref().take(ROWS));
                let parameters: Vec<&(dyn ToSql + Sync)> =
                    values.iter().map(ColumnValues::parameter).collect();
                transaction.execute(insert.as_str(), &parameters).await?;
            }
            transaction.commit().await
        };
        let written = timeout(self.patience, written).await.map_err(late)?;
        written.map_err(sql)
    }

    /// Replaces an address (digits, without a plus) in all rows, and removes their texts and what else may hold it;
    /// returns how many. Takes as long as it takes.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn erase(&self, digits: &str) -> Result<u64, ArchiveError> {
        let erased = String::from_utf8_lossy(ERASED);
        let values: [&(dyn ToSql + Sync); 2] = [&digits, &erased];
        let sent = self.client.execute(
            "UPDATE sms_archive SET text = NULL, octets = NULL,
               source = CASE ltrim(source, '+') WHEN $1 THEN $2 ELSE source END,
               destination = CASE ltrim(destination, '+') WHEN $1 THEN $2 ELSE destination END,
               details = details - 'tlvs' - 'client_reference' - 'client_metadata'
                 - 'original_source' - 'original_destination'
             WHERE ltrim(source, '+') = $1 OR ltrim(destination, '+') = $1",
            &values,
        );
        sent.await.map_err(sql)
    }
}

fn trusted(options: &TableOptions) -> Result<RootCertStore, String> {
    match &options.ca {
        Some((key, file)) => roots(&Named::new(*key, file)),
        None => Ok(platform_roots()),
    }
}

fn late(_: tokio::time::error::Elapsed) -> ArchiveError {
    ArchiveError::Database("it does not answer in time".to_owned())
}
