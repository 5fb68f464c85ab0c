//! The usage port on PostgreSQL.

use std::sync::Arc;

use tokio_postgres::{Error, Transaction};

use super::PgStore;
use super::record::{id_at, number_at};
use crate::usage::{UsageQuestion, UsageRow, UsageStore};
use crate::{Reply, StoreError, signed};

impl UsageStore for PgStore {
    fn usage(&self, question: UsageQuestion) -> Reply<Vec<UsageRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let sql = format!(
                "SELECT {}, sum(messages)::bigint, sum(parts)::bigint, sum(price)::bigint
                 FROM usage
                 WHERE day >= $1 AND day <= $2 AND ($3::int IS NULL OR account = $3)
                   AND ($4::int IS NULL OR operator = $4) AND ($5::text IS NULL OR country = $5)
                   AND ($6::int IS NULL OR state = $6)
                 GROUP BY {groups} ORDER BY {groups} LIMIT $7",
                question.columns(),
                groups = question.groups()
            );
            let client = shared.reader().await?;
            let rows = client
                .query(
                    &sql,
                    &[
                        &question.first_day,
                        &question.last_day,
                        &question.account.map(|number| number as i32),
                        &question.operator.map(|number| number as i32),
                        &question.country,
                        &question.state.map(i32::from),
                        &signed(question.limit),
                    ],
                )
                .await?;
            let read = |row: &tokio_postgres::Row| {
                Ok::<_, StoreError>(UsageRow {
                    day: row.try_get(0)?,
                    account: number_at(row, 1)?,
                    operator: number_at(row, 2)?,
                    country: row.try_get(3)?,
                    state: u8::try_from(number_at(row, 4)?).unwrap_or_default(),
                    is_mo: number_at(row, 5)? != 0,
                    currency: row.try_get(6)?,
                    messages: id_at(row, 7)?,
                    parts: id_at(row, 8)?,
                    price: row.try_get(9)?,
                })
            };
            rows.iter().map(read).collect()
        })
    }

    fn forget_usage(&self, before: i32, limit: usize) -> Reply<u64> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let client = shared.reader().await?;
            let deleted = client
                .execute(
                    "DELETE FROM usage WHERE ctid = ANY(ARRAY(
                       SELECT ctid FROM usage WHERE day < $1 LIMIT $2))",
                    &[&before, &signed(limit)],
                )
                .await?;
            Ok(deleted)
        })
    }
}

/// Adds to the sums; no two rows are about the same.
pub async fn add(transaction: &Transaction<'_>, rows: &[UsageRow]) -> Result<(), Error> {
    let ints =
        |of: fn(&UsageRow) -> u32| -> Vec<i32> { rows.iter().map(|row| of(row) as i32).collect() };
    let texts = |of: fn(&UsageRow) -> &str| -> Vec<&str> { rows.iter().map(of).collect() };
    let longs = |of: fn(&UsageRow) -> i64| -> Vec<i64> { rows.iter().map(of).collect() };
    let days: Vec<i32> = rows.iter().map(|row| row.day).collect();
    transaction
        .execute(
            // In the order of the key, so that two nodes never wait for each other.
            "INSERT INTO usage AS s SELECT * FROM unnest($1::int[], $2::int[], $3::int[],
               $4::text[], $5::int[], $6::int[], $7::text[], $8::bigint[], $9::bigint[],
               $10::bigint[]) ORDER BY 1, 2, 3, 4, 5, 6, 7
             ON CONFLICT(day, account, operator, country, state, kind, currency) DO UPDATE
             SET messages = s.messages + excluded.messages, parts = s.parts + excluded.parts,
               price = s.price + excluded.price",
            &[
                &days,
                &ints(|row| row.account),
                &ints(|row| row.operator),
                &texts(|row| &row.country),
                &ints(|row| row.state.into()),
                &ints(|row| row.is_mo.into()),
                &texts(|row| &row.currency),
                &longs(|row| signed(row.messages)),
                &longs(|row| signed(row.parts)),
                &longs(|row| row.price),
            ],
        )
        .await?;
    Ok(())
}
