//! Parquet: a row group for every [`GROUP`] rows, columns compressed with Snappy.
//!
//! Guarantees that memory is bounded by a row group, and that the file is only whole after `finish`
//! (its footer comes last): a broken one cannot be mistaken for a short one.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::columns::{Cell, Column, ColumnKind, RowMaker};
use super::{ArchiveError, RowSink};

/// Rows kept until they are written column by column: some 10 MiB.
const GROUP: usize = 20_000;

/// A Parquet file in the making.
pub struct Parquet<W: Write + Send> {
    columns: &'static [Column],
    /// One list per column, all of the same length.
    cells: Vec<Vec<Cell>>,
    file: SerializedFileWriter<W>,
}

// === impl Parquet ===

impl<W: Write + Send> Parquet<W> {
    pub fn new(rows: &RowMaker, to: W) -> Result<Self, ArchiveError> {
        let columns = rows.columns();
        let fields: Vec<String> = columns.iter().map(field).collect();
        let schema = format!("message smsc_messages {{ {} }}", fields.join(" "));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("smsc ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        Ok(Self {
            columns,
            cells: vec![Vec::new(); columns.len()],
            file: SerializedFileWriter::new(
                to,
                Arc::new(parse_message_type(&schema)?),
                Arc::new(properties),
            )?,
        })
    }

    fn write_group(&mut self) -> Result<(), ArchiveError> {
        let mut group = self.file.next_row_group()?;
        for (column, cells) in self.columns.iter().zip(&mut self.cells) {
            write_column(&mut group, column.shape, std::mem::take(cells))?;
        }
        group.close()?;
        Ok(())
    }
}

impl<W: Write + Send> RowSink for Parquet<W> {
    fn put(&mut self, _: u64, row: Vec<Cell>) -> Result<(), ArchiveError> {
        for (cells, cell) in self.cells.iter_mut().zip(row) {
            cells.push(cell);
        }
        match self.cells.first() {
            Some(first) if first.len() >= GROUP => self.write_group(),
            _ => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(), ArchiveError> {
        if self.cells.first().is_some_and(|first| !first.is_empty()) {
            self.write_group()?;
        }
        self.file.close()?;
        Ok(())
    }
}

fn field(column: &Column) -> String {
    let name = column.name;
    match column.shape {
        ColumnKind::Id => format!("REQUIRED INT64 {name};"),
        ColumnKind::Number => format!("OPTIONAL INT64 {name};"),
        ColumnKind::Text | ColumnKind::Json => format!("OPTIONAL BYTE_ARRAY {name} (UTF8);"),
        ColumnKind::Time => format!("OPTIONAL INT64 {name} (TIMESTAMP(MILLIS,true));"),
    }
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    shape: ColumnKind,
    cells: Vec<Cell>,
) -> Result<(), ArchiveError> {
    let Some(mut column) = group.next_column()? else {
        return Ok(());
    };
    // 1 where there is a value; a required column has no such levels.
    let levels: Vec<i16> = cells
        .iter()
        .map(|cell| i16::from(*cell != Cell::Null))
        .collect();
    let levels = (shape != ColumnKind::Id).then_some(&levels[..]);
    let mut numbers = Vec::new();
    let mut texts = Vec::new();
    for cell in cells {
        match cell {
            Cell::Null => {}
            Cell::Number(number) => numbers.push(number),
            Cell::Text(text) => texts.push(ByteArray::from(text.into_bytes())),
        }
    }
    match shape {
        ColumnKind::Text | ColumnKind::Json => column
            .typed::<ByteArrayType>()
            .write_batch(&texts, levels, None)?,
        ColumnKind::Id | ColumnKind::Number | ColumnKind::Time => column
            .typed::<Int64Type>()
            .write_batch(&numbers, levels, None)?,
    };
    column.close()?;
    Ok(())
}
