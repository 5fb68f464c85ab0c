//! Sums of usage on SQLite, as part of the commits that finish events, and moved to another store.

use rusqlite::Connection;

use super::cold::{records, run};
use crate::cold::{ColdRecord as _, values};
use crate::usage::UsageRow;

/// Adds to the sums.
pub fn add(connection: &Connection, rows: &[UsageRow]) -> rusqlite::Result<()> {
    let sum = "ON CONFLICT DO UPDATE SET messages = messages + excluded.messages,
        parts = parts + excluded.parts, price = price + excluded.price";
    let mut inserts = rows.iter().map(|row| row.insert(sum));
    inserts.try_for_each(|insert| run(connection, &insert).map(drop))
}

/// All sums of the days after one up to another.
pub fn of_days(connection: &Connection, after: i64, upto: i64) -> rusqlite::Result<Vec<UsageRow>> {
    let days = UsageRow::select("WHERE day > $1 AND day <= $2", values![after, upto]);
    records(connection, &days)
}
