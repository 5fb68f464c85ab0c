//! A second database: rows go into the table `sms_archive` of any PostgreSQL.
//!
//! Guarantees that a row is there once however often it is sent (its id is the key, the last one
//! wins), that rows and the mark of how far the range has come are committed together, and that the
//! mark never passes an active message, so that a later run of the same range starts there.

use std::ops::Range;
use std::time::Duration;

use rustls::RootCertStore;
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config};

use smsc_store::StoreError;
use smsc_store::postgres::Hosts;
use smsc_tls::{client_config, platform_roots};

use super::columns::{ALL, Cell, Column, ColumnKind, RowMaker, WHOLE};
use super::{ArchiveError, RowSink};

/// Rows per transaction.
const BATCH: usize = 1000;
/// For each host of the URL, where that does not say it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The archive in a second database.
pub struct Database {
    columns: &'static [Column],
    insert: String,
    range: Range<u64>,
    with_text: bool,
    /// The first id that the mark has not passed.
    next: u64,
    /// The first active message.
    stop: Option<u64>,
    rows: Vec<Vec<Cell>>,
    client: Client,
    runtime: Runtime,
}

/// A column's values for `unnest`.
pub(super) enum ColumnValues {
    Numbers(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
}

// === impl Database ===

impl Database {
    /// Connects, makes the tables when they are missing, and reads the mark of this range. Blocks.
    pub fn open(url: &str, rows: &RowMaker, range: Range<u64>) -> Result<Self, ArchiveError> {
        let hosts = hosts(url, platform_roots(), PATIENCE)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let columns = rows.columns();
        let with_text = columns.len() == ALL.len();
        let (client, next) = runtime.block_on(async {
            let client = hosts.driven().await.map_err(unreached)?;
            client.batch_execute(&ddl()).await.map_err(sql)?;
            let mark = client
                .query_opt(
                    "SELECT next_id FROM sms_archive_mark
                     WHERE from_id = $1 AND to_id = $2 AND with_text = $3",
                    &[&number(range.start), &number(range.end), &with_text],
                )
                .await
                .map_err(sql)?;
            let next = mark.map_or(range.start, |row| row.get::<_, i64>(0) as u64);
            Ok::<_, ArchiveError>((client, next))
        })?;
        Ok(Self {
            columns,
            insert: insert(columns),
            range,
            with_text,
            next,
            stop: None,
            rows: Vec::new(),
            client,
            runtime,
        })
    }

    /// What is left of the range: earlier runs have written what is below.
    pub fn left(&self) -> Range<u64> {
        self.next.max(self.range.start)..self.range.end
    }

    fn flush(&mut self, next: u64) -> Result<(), ArchiveError> {
        let values = ColumnValues::of(self.columns, self.rows.drain(..));
        let parameters: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(ColumnValues::parameter).collect();
        let mark = number(self.stop.map_or(next, |stop| stop.min(next)));
        let range = (number(self.range.start), number(self.range.end));
        let (client, insert, with_text) = (&mut self.client, &self.insert, self.with_text);
        self.runtime.block_on(async {
            let transaction = client.transaction().await.map_err(sql)?;
            transaction
                .execute(insert.as_str(), &parameters)
                .await
                .map_err(sql)?;
            transaction
                .execute(
                    "INSERT INTO sms_archive_mark(from_id, to_id, with_text, next_id)
                     VALUES($1, $2, $3, $4) ON CONFLICT (from_id, to_id, with_text)
                     DO UPDATE SET next_id = excluded.next_id",
                    &[&range.0, &range.1, &with_text, &mark],
                )
                .await
                .map_err(sql)?;
            transaction.commit().await.map_err(sql)
        })
    }
}

impl RowSink for Database {
    fn put(&mut self, id: u64, row: Vec<Cell>) -> Result<(), ArchiveError> {
        self.rows.push(row);
        if self.rows.len() >= BATCH {
            self.flush(id + 1)
        } else {
            Ok(())
        }
    }

    fn look_again(&mut self, id: u64) {
        self.stop.get_or_insert(id);
    }

    fn finish(mut self: Box<Self>) -> Result<(), ArchiveError> {
        let end = self.range.end;
        self.flush(end)
    }
}

// === impl ColumnValues ===

impl ColumnValues {
    fn new(column: &Column) -> Self {
        match column.shape {
            ColumnKind::Text | ColumnKind::Json => Self::Texts(Vec::new()),
            ColumnKind::Id | ColumnKind::Number | ColumnKind::Time => Self::Numbers(Vec::new()),
        }
    }

    /// The values of all rows, column by column.
    pub(super) fn of(columns: &[Column], rows: impl Iterator<Item = Vec<Cell>>) -> Vec<Self> {
        let mut values: Vec<Self> = columns.iter().map(Self::new).collect();
        for row in rows {
            for (values, cell) in values.iter_mut().zip(row) {
                values.push(cell);
            }
        }
        values
    }

    fn push(&mut self, cell: Cell) {
        match (self, cell) {
            (Self::Numbers(values), Cell::Number(number)) => values.push(Some(number)),
            (Self::Numbers(values), _) => values.push(None),
            // PostgreSQL has no NUL in text.
            (Self::Texts(values), Cell::Text(text)) => {
                values.push(Some(text.replace('\0', "\u{FFFD}")));
            }
            (Self::Texts(values), _) => values.push(None),
        }
    }

    pub(super) fn parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Numbers(values) => values,
            Self::Texts(values) => values,
        }
    }
}

/// The tables. The mark is kept per range, so that ranges may be exported in any order.
pub(super) fn ddl() -> String {
    let columns: Vec<String> = WHOLE
        .iter()
        .map(|column| {
            let kind = match column.shape {
                ColumnKind::Id => "bigint PRIMARY KEY",
                ColumnKind::Number => "bigint",
                ColumnKind::Text => "text",
                ColumnKind::Time => "timestamptz",
                ColumnKind::Json => "jsonb",
            };
            format!("\"{}\" {kind}", column.name)
        })
        .collect();
    // Younger than the table.
    format!(
        "CREATE TABLE IF NOT EXISTS sms_archive({});
         ALTER TABLE sms_archive ADD COLUMN IF NOT EXISTS done_at timestamptz;
         ALTER TABLE sms_archive ADD COLUMN IF NOT EXISTS details jsonb;
         CREATE TABLE IF NOT EXISTS sms_archive_mark(from_id bigint, to_id bigint, with_text boolean,
           next_id bigint NOT NULL, PRIMARY KEY(from_id, to_id, with_text));",
        columns.join(", ")
    )
}

pub(super) fn insert(columns: &[Column]) -> String {
    let list = |each: &dyn Fn(usize, &Column) -> String| -> String {
        let all: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(at, column)| each(at, column))
            .collect();
        all.join(", ")
    };
    let names = list(&|_, column| format!("\"{}\"", column.name));
    let values = list(&|_, column| match column.shape {
        ColumnKind::Time => format!(
            "timestamptz 'epoch' + u.\"{}\" * interval '1 millisecond'",
            column.name
        ),
        ColumnKind::Json => format!("u.\"{}\"::jsonb", column.name),
        _ => format!("u.\"{}\"", column.name),
    });
    let arrays = list(&|at, column| match column.shape {
        ColumnKind::Text | ColumnKind::Json => format!("${}::text[]", at + 1),
        _ => format!("${}::bigint[]", at + 1),
    });
    let last_wins = list(&|_, column| format!("\"{0}\" = excluded.\"{0}\"", column.name));
    format!(
        "INSERT INTO sms_archive({names}) SELECT {values} FROM unnest({arrays}) u({names})
         ON CONFLICT (id) DO UPDATE SET {last_wins}"
    )
}

/// How the database is reached.
pub(super) fn hosts(
    url: &str,
    trusted: RootCertStore,
    patience: Duration,
) -> Result<Hosts, ArchiveError> {
    // The parser's own error may quote a part of the password.
    let url: Config = url.parse().map_err(|_| {
        ArchiveError::Database(
            "the URL cannot be read; expected something like \
             postgres://user:password@host/database?sslmode=require, with special characters of \
             the password percent-encoded"
                .to_owned(),
        )
    })?;
    let tls = client_config(trusted, None)
        .map_err(|error| ArchiveError::Database(format!("TLS: {error}")))?;
    Hosts::new(&url, tls, patience).map_err(unreached)
}

pub(super) fn unreached(error: StoreError) -> ArchiveError {
    ArchiveError::Database(error.to_string())
}

fn number(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

pub(super) fn sql(error: tokio_postgres::Error) -> ArchiveError {
    // Its own text is not specific; the server's message is the source.
    let source = std::error::Error::source(&error);
    ArchiveError::Database(
        source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}")),
    )
}
