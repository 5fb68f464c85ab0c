//! Line formats: JSON Lines, and CSV as RFC 4180 has it (CRLF, quotes where they are needed) for spreadsheets, too.

use std::io::{BufWriter, Write};

use super::columns::{Cell, Column, ColumnKind, RowMaker};
use super::{ArchiveError, RowSink};
use smsc_domain::{csv, moment};

/// One record per line: a JSON object, or behind a header of CSV its fields, of which null is an empty one.
pub struct ArchiveLines<W: Write> {
    columns: &'static [Column],
    is_csv: bool,
    out: BufWriter<W>,
}

// === impl ArchiveLines ===

impl<W: Write> ArchiveLines<W> {
    pub fn jsonl(rows: &RowMaker, to: W) -> Self {
        Self {
            columns: rows.columns(),
            is_csv: false,
            out: BufWriter::new(to),
        }
    }

    pub fn csv(rows: &RowMaker, to: W) -> Result<Self, ArchiveError> {
        let mut lines = Self::jsonl(rows, to);
        lines.is_csv = true;
        let names: Vec<&str> = lines.columns.iter().map(|column| column.name).collect();
        write!(lines.out, "{}\r\n", names.join(","))?;
        Ok(lines)
    }

    fn put_json(&mut self, at: usize, column: &Column, cell: Cell) -> Result<(), ArchiveError> {
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
        Ok(())
    }
}

impl<W: Write> RowSink for ArchiveLines<W> {
    fn put(&mut self, _: u64, row: Vec<Cell>) -> Result<(), ArchiveError> {
        for (at, (column, cell)) in self.columns.iter().zip(row).enumerate() {
            if !self.is_csv {
                self.put_json(at, column, cell)?;
                continue;
            }
            if at > 0 {
                self.out.write_all(b",")?;
            }
            let text = plain(column.shape, cell).unwrap_or_default();
            self.out.write_all(csv::field(&text).as_bytes())?;
        }
        let end: &[u8] = if self.is_csv { b"\r\n" } else { b"}\n" };
        Ok(self.out.write_all(end)?)
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
