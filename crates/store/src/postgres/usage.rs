//! Sums of usage on PostgreSQL, as part of the commits that finish events.

use tokio_postgres::{Error, Transaction};

use crate::signed;
use crate::usage::UsageRow;

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
