//! Inserting several rows with one statement: beginning and ending a statement, and finding its place in the table, cost as
//! much as a row.
//!
//! Used by the writer and by the search index, for the tables that nearly every message has rows in.

use rusqlite::{Connection, Statement};

/// Rows that one statement inserts.
const TOGETHER: usize = 8;

/// A statement that inserts a row, and one that inserts [`TOGETHER`].
pub struct Insert<'c> {
    one: Statement<'c>,
    several: Statement<'c>,
    columns: usize,
}

/// The rows as [`Insert::write`] takes them.
pub fn groups<R>(rows: &[R]) -> impl Iterator<Item = &[R]> {
    let (groups, rest) = rows.as_chunks::<TOGETHER>();
    groups.iter().map(|group| &group[..]).chain(rest.chunks(1))
}

// === impl Insert ===

impl<'c> Insert<'c> {
    /// `into` is the statement before `VALUES`, with so many columns; `conflict` is its `ON CONFLICT`, or empty.
    pub fn prepare(
        connection: &'c Connection,
        into: &str,
        columns: usize,
        conflict: &str,
    ) -> rusqlite::Result<Self> {
        let row = format!("({})", vec!["?"; columns].join(","));
        let sql = |rows: usize| {
            let rows = vec![&row[..]; rows].join(",");
            format!("{into} VALUES{rows} {conflict}")
        };
        Ok(Self {
            one: connection.prepare(&sql(1))?,
            several: connection.prepare(&sql(TOGETHER))?,
            columns,
        })
    }

    /// Inserts a group of [`groups`]; returns how many of its rows were not there. `bind` writes the values of a row from an
    /// index on.
    pub fn write<R, E: From<rusqlite::Error>>(
        &mut self,
        group: &[R],
        mut bind: impl FnMut(&mut Statement<'c>, usize, &R) -> Result<(), E>,
    ) -> Result<usize, E> {
        let statement = match group.len() {
            TOGETHER => &mut self.several,
            _ => &mut self.one,
        };
        for (number, row) in group.iter().enumerate() {
            bind(statement, 1 + number * self.columns, row)?;
        }
        Ok(statement.raw_execute()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_written_once_however_many_there_are() {
        let connection = Connection::open_in_memory().unwrap();
        let ddl = "CREATE TABLE pairs(one INTEGER PRIMARY KEY, other INT)";
        connection.execute_batch(ddl).unwrap();
        let mut insert =
            Insert::prepare(&connection, "INSERT OR IGNORE INTO pairs", 2, "").unwrap();
        let mut write = |rows: &[i64]| {
            let mut written = Vec::new();
            for group in groups(rows) {
                let new = insert.write(group, |row, at, one: &i64| {
                    row.raw_bind_parameter(at, *one)?;
                    row.raw_bind_parameter(at + 1, one * 10)
                });
                written.push(new.unwrap());
            }
            written
        };
        assert_eq!(write(&(0..11).collect::<Vec<_>>()), [8, 1, 1, 1]);
        assert!(write(&[]).is_empty());
        assert_eq!(write(&(5..22).collect::<Vec<_>>()), [2, 8, 1]);
        let sums = "SELECT count(*), sum(other) - sum(one) * 10 FROM pairs";
        let sums = connection.query_row(sums, [], |row| Ok((row.get(0)?, row.get(1)?)));
        assert_eq!(sums, Ok((22, 0)));
    }
}
