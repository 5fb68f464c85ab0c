//! Cold tables on PostgreSQL. They belong to no node, so their writes carry no epoch.

use std::error::Error;

use bytes::{Bytes, BytesMut};
use futures_util::future::try_join_all;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{GenericClient, Row, Statement};

use super::PgStore;
use super::connect::Object;
use super::record::octets_of;
use crate::cold::{ColdChange, ColdRow, ColdStatement, ColdTables, ColdValue};
use crate::{Reply, StoreResult};

impl ColdTables for PgStore {
    fn select<T: Send + 'static>(
        &self,
        statement: ColdStatement,
        read: fn(Vec<ColdRow>) -> StoreResult<T>,
    ) -> Reply<T> {
        self.ask(|shared| async move {
            let client = shared.admin_reader().await?;
            read(run_all(&**client, &[statement]).await?.returned)
        })
    }

    fn look_up<T: Send + 'static>(
        &self,
        statement: ColdStatement,
        read: fn(Vec<ColdRow>) -> StoreResult<T>,
    ) -> Reply<T> {
        self.ask(|shared| async move {
            let client = shared.cold.get().await?;
            read(run_all(&**client, &[statement]).await?.returned)
        })
    }

    fn octets(kept: Option<ColdValue>) -> Bytes {
        match kept {
            Some(ColdValue::Text(text)) => octets_of(&text),
            _ => Bytes::new(),
        }
    }

    fn change<T: Send + 'static>(
        &self,
        statements: Vec<ColdStatement>,
        read: impl FnOnce(ColdChange) -> StoreResult<T> + Send + 'static,
    ) -> Reply<T> {
        self.ask(|shared| async move {
            let mut client = shared.cold.get().await?;
            read(change_all(&mut client, &statements).await?)
        })
    }
}

/// Runs statements as one transaction. Also one alone: by itself, what removes a token by its name could be carried out late
/// by a host that was silent, when another one has the name.
pub async fn change_all(
    client: &mut Object,
    statements: &[ColdStatement],
) -> StoreResult<ColdChange> {
    let transaction = client.transaction().await?;
    let change = run_all(&*transaction, statements).await?;
    transaction.commit().await?;
    Ok(change)
}

/// Runs statements, one after another. Those that are alike are sent at once, so that thousands wait for one answer.
pub async fn run_all(
    client: &(impl GenericClient + Sync),
    statements: &[ColdStatement],
) -> StoreResult<ColdChange> {
    let mut change = ColdChange::default();
    for like in statements.chunk_by(|one, next| one.sql == next.sql) {
        let prepared = client.prepare(&like[0].sql).await?;
        let done = like
            .iter()
            .map(|statement| run(client, &prepared, statement));
        let mut rows = 0;
        for done in try_join_all(done).await? {
            rows += done.rows;
            change.returned = done.returned;
        }
        if like[0].is_condition && rows == 0 {
            return Ok(ColdChange::default());
        }
        change.rows += rows;
    }
    Ok(change)
}

async fn run(
    client: &(impl GenericClient + Sync),
    prepared: &Statement,
    statement: &ColdStatement,
) -> StoreResult<ColdChange> {
    let values = statement.values.iter();
    let values: Vec<_> = values.map(|value| value as &(dyn ToSql + Sync)).collect();
    if prepared.columns().is_empty() {
        let rows = client.execute(prepared, &values).await?;
        return Ok(ColdChange {
            rows,
            returned: Vec::new(),
        });
    }
    let found = client.query(prepared, &values).await?;
    let returned: StoreResult<Vec<ColdRow>> = found.iter().map(read).collect();
    Ok(ColdChange {
        rows: found.len() as u64,
        returned: returned?,
    })
}

/// A row as it is read by the record that it is of.
pub fn read(row: &Row) -> StoreResult<ColdRow> {
    let values = (0..row.len()).map(|at| row.try_get::<_, ColdValue>(at));
    let values: Vec<ColdValue> = values.collect::<Result<_, _>>()?;
    Ok(ColdRow(values.into_iter()))
}

/// Types of columns that a [`ColdValue`] can be.
fn is_known(column: &Type) -> bool {
    let integers = [Type::BOOL, Type::INT2, Type::INT4, Type::INT8];
    integers.contains(column) || [Type::TEXT, Type::VARCHAR, Type::BYTEA].contains(column)
}

// === impl ColdValue ===

impl ToSql for ColdValue {
    fn to_sql(
        &self,
        column: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(value) => match *column {
                Type::BOOL => (*value != 0).to_sql(column, out),
                Type::INT2 => i16::try_from(*value)?.to_sql(column, out),
                Type::INT4 => i32::try_from(*value)?.to_sql(column, out),
                _ => value.to_sql(column, out),
            },
            Self::Text(text) => text.to_sql(column, out),
            Self::Octets(octets) => octets.to_sql(column, out),
        }
    }

    fn accepts(column: &Type) -> bool {
        is_known(column)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for ColdValue {
    fn from_sql(column: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *column {
            Type::BOOL => Self::Integer(bool::from_sql(column, raw)?.into()),
            Type::INT2 => Self::Integer(i16::from_sql(column, raw)?.into()),
            Type::INT4 => Self::Integer(i32::from_sql(column, raw)?.into()),
            Type::INT8 => Self::Integer(i64::from_sql(column, raw)?),
            Type::BYTEA => Self::Octets(raw.to_vec()),
            _ => Self::Text(String::from_sql(column, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(column: &Type) -> bool {
        is_known(column)
    }
}
