//! Export: messages of a range of ids become rows, which go into a file or a database.
//!
//! Called by `smsc export`, beside a running server or without one, and by the archive of the server
//! (`actors/control/export/archive.rs`), which writes whole messages. The store reads in id order in
//! constant memory; [`columns`] makes a row of a message; a [`RowSink`] writes it. Guarantees that every
//! format has the same columns, and that active messages are never exported as final.

pub mod columns;
pub mod database;
mod details;
mod lines;
#[cfg(feature = "parquet")]
mod parquet;
pub mod table;

use std::io::Write;
use std::ops::ControlFlow;

pub use self::lines::ArchiveLines;
#[cfg(feature = "parquet")]
pub use self::parquet::Parquet;
use columns::{Cell, RowMaker};
use smsc_store::StoreError;
use smsc_store::archive::{Each, Exported};

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot write: {0}")]
    Io(#[from] std::io::Error),
    #[cfg(feature = "parquet")]
    #[error("cannot write Parquet: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// The error of the other database; never its URL.
    #[error("the target database: {0}")]
    Database(String),
}

/// Where rows go.
pub trait RowSink {
    /// Writes one row.
    fn put(&mut self, id: u64, row: Vec<Cell>) -> Result<(), ArchiveError>;

    /// This message is active: a later export of the same range must read it again.
    fn look_again(&mut self, _id: u64) {}

    /// Writes what is left.
    fn finish(self: Box<Self>) -> Result<(), ArchiveError>;
}

/// What an export came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ExportSummary {
    /// Rows written.
    pub rows: u64,
    /// Messages of the range that have not ended.
    pub active: u64,
}

/// Formats of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveFileFormat {
    Jsonl,
    Csv,
    #[cfg(feature = "parquet")]
    Parquet,
}

/// A sink that writes this format.
pub fn file<'w, W: Write + Send + 'w>(
    format: ArchiveFileFormat,
    rows: &RowMaker,
    to: W,
) -> Result<Box<dyn RowSink + 'w>, ArchiveError> {
    Ok(match format {
        ArchiveFileFormat::Jsonl => Box::new(ArchiveLines::jsonl(rows, to)),
        ArchiveFileFormat::Csv => Box::new(ArchiveLines::csv(rows, to)?),
        #[cfg(feature = "parquet")]
        ArchiveFileFormat::Parquet => Box::new(Parquet::new(rows, to)?),
    })
}

/// Moves everything that `read` brings into the sink. Active messages are counted, and written as
/// ENROUTE only on request.
pub fn pump(
    read: impl FnOnce(&mut Each<'_>) -> Result<(), StoreError>,
    rows: &RowMaker,
    mut sink: Box<dyn RowSink>,
    with_active: bool,
) -> Result<ExportSummary, ArchiveError> {
    let mut summary = ExportSummary::default();
    let mut result = Ok(());
    read(&mut |exported: Exported| {
        let id = exported.stored.message.id;
        if exported.stored.fin.is_none() {
            summary.active += 1;
            sink.look_again(id);
            if !with_active {
                return ControlFlow::Continue(());
            }
        }
        result = sink.put(id, rows.row(&exported));
        summary.rows += u64::from(result.is_ok());
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    result?;
    sink.finish()?;
    Ok(summary)
}

/// Rows in this format, in memory: lines without an end, or a whole file of Parquet.
///
/// # Errors
/// The format cannot be written.
pub fn octets(
    format: ArchiveFileFormat,
    rows: &RowMaker,
    all: impl IntoIterator<Item = (u64, Vec<Cell>)>,
) -> Result<Vec<u8>, ArchiveError> {
    let mut octets = Vec::new();
    let mut sink = file(format, rows, &mut octets)?;
    for (id, row) in all {
        sink.put(id, row)?;
    }
    sink.finish()?;
    Ok(octets)
}
