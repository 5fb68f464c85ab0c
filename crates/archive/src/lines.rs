//! Line formats: JSON Lines, and CSV as RFC 4180 has it (CRLF, quotes where they are needed) for spreadsheets, too.

use std::io::{BufWriter, Write};

use super::columns::{Cell, Column, ColumnKind, RowMaker};
use super::{ArchiveError, RowSink};
use smsc_domain::{csv, moment};

/// One JSON object per line.
pub struct Jsonl<W: Write> {
    columns: &'static [Column],
    out: BufWriter<W>,
}

/// A header, then one record per line; null is an empty field.
pub struct Csv<W: Write> {
    columns: &'static [Column],
    out: BufWriter<W>,
}

// === impl Jsonl ===

impl<W: Write> Jsonl<W> {
    pub fn new(rows: &RowMaker, to: W) -> Self {
        Self {
            columns: rows.columns(),
            out: BufWriter::new(to),
        }
    }
}

impl<W: Write> RowSink for Jsonl<W> {
    fn put(&mut self, _: u64, row: Vec<Cell>) -> Result<(), ArchiveError> {
        for (at, (column, cell)) in self.columns.iter().zip(row).enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            write!(self.out, "{before}\"{}\":", column.name)?;
            match (column.shape, cell) {
                (ColumnKind::Number, Cell::Number(number)) => write!(self.out, "{number}")?,
                (ColumnKind::Json, Cell::Text(json)) => self.out.write_all(json.as_bytes())?,
                (shape, cell) => {
                    serde_json::to_writer(&mut self.out, &plain(shape, cell))
                        .map_err(std::io::Error::from)?;
                }
            }
        }
        Ok(self.out.write_all(b"}\n")?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), ArchiveError> {
        Ok(self.out.flush()?)
    }
}

// === impl Csv ===

impl<W: Write> Csv<W> {
    pub fn new(rows: &RowMaker, to: W) -> Result<Self, ArchiveError> {
        let mut out = BufWriter::new(to);
        let names: Vec<&str> = rows.columns().iter().map(|column| column.name).collect();
        write!(out, "{}\r\n", names.join(","))?;
        Ok(Self {
            columns: rows.columns(),
            out,
        })
    }
}

impl<W: Write> RowSink for Csv<W> {
    fn put(&mut self, _: u64, row: Vec<Cell>) -> Result<(), ArchiveError> {
        for (at, (column, cell)) in self.columns.iter().zip(row).enumerate() {
            if at > 0 {
                self.out.write_all(b",")?;
            }
            let text = plain(column.shape, cell).unwrap_or_default();
            self.out.write_all(csv::field(&text).as_bytes())?;
        }
        Ok(self.out.write_all(b"\r\n")?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), ArchiveError> {
        Ok(self.out.flush()?)
    }
}

/// A value as text; `None` for null.
fn plain(shape: ColumnKind, cell: Cell) -> Option<String> {
    match (shape, cell) {
        (_, Cell::Null) => None,
        (ColumnKind::Time, Cell::Number(ms)) => moment::show(ms),
        (_, Cell::Number(number)) => Some(number.to_string()),
        (_, Cell::Text(text)) => Some(text),
    }
}
