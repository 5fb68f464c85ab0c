//! The usage port on SQLite.

use rusqlite::{Connection, Row, params};

use super::schema::sql_failed;
use super::{SqliteStore, writer};
use crate::Reply;
use crate::usage::{UsageQuestion, UsageRow, UsageStore};

impl UsageStore for SqliteStore {
    fn usage(&self, question: UsageQuestion) -> Reply<Vec<UsageRow>> {
        self.admin
            .ask(move |connection| read(connection, &question).map_err(sql_failed))
    }

    fn forget_usage(&self, before: i32, limit: usize) -> Reply<u64> {
        writer::transact(&self.shared, move |connection, _| {
            let deleted = connection
                .prepare_cached(
                    "DELETE FROM usage WHERE (day, account, operator, country, state, kind, currency)
                     IN (SELECT day, account, operator, country, state, kind, currency FROM usage
                       WHERE day < ?1 LIMIT ?2)",
                )?
                .execute((before, crate::signed(limit)))?;
            Ok(deleted as u64)
        })
    }
}

/// Adds to the sums.
pub fn add(connection: &Connection, rows: &[UsageRow]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO usage(day, account, operator, country, state, kind, currency, messages, parts, price)
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT DO UPDATE SET messages = messages + excluded.messages,
           parts = parts + excluded.parts, price = price + excluded.price",
    )?;
    for row in rows {
        insert.execute(params![
            row.day,
            row.account,
            row.operator,
            row.country,
            row.state,
            row.is_mo,
            row.currency,
            crate::signed(row.messages),
            crate::signed(row.parts),
            row.price,
        ])?;
    }
    Ok(())
}

fn read(connection: &Connection, question: &UsageQuestion) -> rusqlite::Result<Vec<UsageRow>> {
    let sql = format!(
        "SELECT {}, sum(messages), sum(parts), sum(price) FROM usage
         WHERE day >= ?1 AND day <= ?2 AND (?3 IS NULL OR account = ?3)
           AND (?4 IS NULL OR operator = ?4) AND (?5 IS NULL OR country = ?5)
           AND (?6 IS NULL OR state = ?6)
         GROUP BY {groups} ORDER BY {groups} LIMIT ?7",
        question.columns(),
        groups = question.groups()
    );
    connection
        .prepare_cached(&sql)?
        .query_map(
            params![
                question.first_day,
                question.last_day,
                question.account,
                question.operator,
                question.country,
                question.state,
                crate::signed(question.limit),
            ],
            read_row,
        )?
        .collect()
}

/// All sums of the days after one up to another.
pub fn of_days(connection: &Connection, after: i64, upto: i64) -> rusqlite::Result<Vec<UsageRow>> {
    connection
        .prepare_cached("SELECT * FROM usage WHERE day > ?1 AND day <= ?2")?
        .query_map((after, upto), read_row)?
        .collect()
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<UsageRow> {
    Ok(UsageRow {
        day: row.get(0)?,
        account: row.get(1)?,
        operator: row.get(2)?,
        country: row.get(3)?,
        state: row.get(4)?,
        is_mo: row.get(5)?,
        currency: row.get(6)?,
        messages: row.get::<_, i64>(7)? as u64,
        parts: row.get::<_, i64>(8)? as u64,
        price: row.get(9)?,
    })
}
