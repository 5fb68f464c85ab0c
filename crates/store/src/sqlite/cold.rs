//! Cold tables on SQLite: lists and counts on the connection of the admin API, a few rows on one of their own, writes as jobs
//! of the writer.

use bytes::Bytes;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error};

use super::{SqliteStore, writer};
use crate::cold::{ColdChange, ColdRecord, ColdRow, ColdStatement, ColdTables, ColdValue};
use crate::{Reply, StoreError, StoreResult};

impl ColdTables for SqliteStore {
    fn select<T: Send + 'static>(
        &self,
        statement: ColdStatement,
        read: fn(Vec<ColdRow>) -> StoreResult<T>,
    ) -> Reply<T> {
        self.admin
            .ask(move |connection| read(run(connection, &statement)?.returned))
    }

    fn look_up<T: Send + 'static>(
        &self,
        statement: ColdStatement,
        read: fn(Vec<ColdRow>) -> StoreResult<T>,
    ) -> Reply<T> {
        self.cold
            .ask(move |connection| read(run(connection, &statement)?.returned))
    }

    fn octets(kept: Option<ColdValue>) -> Bytes {
        match kept {
            Some(ColdValue::Text(text)) => text.into(),
            Some(ColdValue::Octets(octets)) => octets.into(),
            _ => Bytes::new(),
        }
    }

    fn change<T: Send + 'static>(
        &self,
        statements: Vec<ColdStatement>,
        read: impl FnOnce(ColdChange) -> StoreResult<T> + Send + 'static,
    ) -> Reply<T> {
        writer::transact(&self.shared, move |connection, _| {
            read(run_all(connection, &statements)?).map_err(as_sql_error)
        })
    }
}

/// All records that a statement reads.
pub fn records<T: ColdRecord>(
    connection: &Connection,
    statement: &ColdStatement,
) -> rusqlite::Result<Vec<T>> {
    T::all(run(connection, statement)?.returned).map_err(as_sql_error)
}

/// Runs statements, one after another.
pub fn run_all(
    connection: &Connection,
    statements: &[ColdStatement],
) -> rusqlite::Result<ColdChange> {
    let mut change = ColdChange::default();
    for statement in statements {
        let ColdChange { rows, returned } = run(connection, statement)?;
        if statement.is_condition && rows == 0 {
            return Ok(ColdChange::default());
        }
        change.rows += rows;
        change.returned = returned;
    }
    Ok(change)
}

/// Runs a statement.
pub fn run(connection: &Connection, statement: &ColdStatement) -> rusqlite::Result<ColdChange> {
    let mut prepared = connection.prepare_cached(&statement.sql)?;
    let (wanted, given) = (prepared.parameter_count(), statement.values.len());
    if wanted != given {
        return Err(Error::InvalidParameterCount(given, wanted));
    }
    for (at, value) in statement.values.iter().enumerate() {
        // SQLite numbers parameters with such names by their first appearance in the text.
        let name = format!("${}", at + 1);
        let index = prepared.parameter_index(&name)?;
        let index = index.ok_or(Error::InvalidParameterName(name))?;
        prepared.raw_bind_parameter(index, value)?;
    }
    let columns = 0..prepared.column_count();
    let mut found = prepared.raw_query();
    let mut returned = Vec::new();
    while let Some(row) = found.next()? {
        let values = columns.clone().map(|at| row.get::<_, ColdValue>(at));
        let values: Vec<ColdValue> = values.collect::<rusqlite::Result<_>>()?;
        returned.push(ColdRow(values.into_iter()));
    }
    let rows = if columns.is_empty() {
        connection.changes()
    } else {
        returned.len() as u64
    };
    Ok(ColdChange { rows, returned })
}

pub fn as_sql_error(error: StoreError) -> Error {
    Error::ToSqlConversionFailure(Box::new(error))
}

// === impl ColdValue ===

impl ToSql for ColdValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Octets(octets) => ValueRef::Blob(octets),
        }))
    }
}

impl FromSql for ColdValue {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(value) => Self::Integer(value),
            // A flipped bit may have made it no text; whoever wants one says so.
            ValueRef::Text(text) => match std::str::from_utf8(text) {
                Ok(text) => Self::Text(text.to_owned()),
                Err(_) => Self::Octets(text.to_vec()),
            },
            ValueRef::Blob(octets) => Self::Octets(octets.to_vec()),
            ValueRef::Real(_) => return Err(rusqlite::types::FromSqlError::InvalidType),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_flipped_bit_has_left_of_a_text_is_read_as_octets() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let read = |sql: &str| {
            let value = connection.query_row(sql, [], |row| row.get::<_, ColdValue>(0));
            value.unwrap()
        };
        let damaged = read("SELECT CAST(x'41FF' AS TEXT)");
        assert_eq!(damaged, ColdValue::Octets(b"A\xFF".to_vec()));
        assert_eq!(read("SELECT 'A'"), ColdValue::Text("A".to_owned()));
    }
}
