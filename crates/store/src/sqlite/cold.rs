//! Cold tables on SQLite: reads on the connection of the admin API, writes as jobs of the writer.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error};

use super::schema::sql_failed;
use super::{SqliteStore, writer};
use crate::cold::{ColdChange, ColdRecord, ColdRow, ColdStatement, ColdTables, ColdValue};
use crate::{Reply, StoreError};

impl ColdTables for SqliteStore {
    fn select<T: Send + 'static>(
        &self,
        statement: ColdStatement,
        read: fn(Vec<ColdRow>) -> Result<T, StoreError>,
    ) -> Reply<T> {
        self.admin
            .ask(move |connection| read(run(connection, &statement).map_err(sql_failed)?))
    }

    fn change<T: Send + 'static>(
        &self,
        statements: Vec<ColdStatement>,
        read: fn(ColdChange) -> Result<T, StoreError>,
    ) -> Reply<T> {
        writer::transact(&self.shared, move |connection, _| {
            let mut change = ColdChange::default();
            for statement in &statements {
                change.returned = run(connection, statement)?;
                change.rows += connection.changes();
            }
            read(change).map_err(as_sql_error)
        })
    }
}

/// All records that a statement reads.
pub fn records<T: ColdRecord>(
    connection: &Connection,
    statement: &ColdStatement,
) -> rusqlite::Result<Vec<T>> {
    T::all(run(connection, statement)?).map_err(as_sql_error)
}

/// Runs a statement; returns its rows.
pub fn run(connection: &Connection, statement: &ColdStatement) -> rusqlite::Result<Vec<ColdRow>> {
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
    let mut rows = prepared.raw_query();
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let values = columns.clone().map(|at| row.get::<_, ColdValue>(at));
        let values: Vec<ColdValue> = values.collect::<rusqlite::Result<_>>()?;
        all.push(ColdRow(values.into_iter()));
    }
    Ok(all)
}

fn as_sql_error(error: StoreError) -> Error {
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
            ValueRef::Text(_) => Self::Text(value.as_str()?.to_owned()),
            ValueRef::Blob(octets) => Self::Octets(octets.to_vec()),
            ValueRef::Real(_) => return Err(rusqlite::types::FromSqlError::InvalidType),
        })
    }
}
