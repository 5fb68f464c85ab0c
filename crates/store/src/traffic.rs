//! The traffic port: what nodes have counted of messages, by the minute and by the hour.
//!
//! Each node writes its own rows, and every node reads those of all. What is in a row only [`TrafficBlock`] knows.
//!
//! [`TrafficBlock`]: smsc_domain::traffic::TrafficBlock

use std::ops::Range;

use super::cold::{ColdRecord as _, ColdRow, ColdStatement, ColdTables, record, values};
use super::{Reply, StoreResult};
use smsc_domain::period::{HOUR_MS, MINUTE_MS};

record! {
    /// What a node has counted in a minute or an hour.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct TrafficRow in "traffic" {
        /// How long that was: [`MINUTE_MS`] or [`HOUR_MS`].
        pub step: i64,
        /// When it began, Unix milliseconds.
        pub at: i64,
        pub node: u8,
        /// The stored form of the counts.
        pub counts: Vec<u8>,
    }
}

/// How much there is, of all nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrafficSize {
    pub rows: i64,
    /// Octets of the counts.
    pub octets: i64,
}

/// The traffic part of a store. Calls never block.
pub trait TrafficStore {
    /// The rows of this step that began in this time, of one node or of all, in the order of time.
    fn traffic(&self, step: i64, began: Range<i64>, node: Option<u8>) -> Reply<Vec<TrafficRow>>;

    /// Keeps a row, in place of the one that is there.
    fn keep_traffic(&self, row: TrafficRow) -> Reply<()>;

    /// Hours before this time (Unix milliseconds) that have minutes and are no row themselves: when they began, and their node.
    fn hours_without_row(&self, before: i64) -> Reply<Vec<(i64, u8)>>;

    /// Forgets minutes and hours that began before these times, Unix milliseconds; gives how many rows these were.
    fn forget_traffic(&self, minutes_before: i64, hours_before: i64) -> Reply<u64>;

    /// How much there is.
    fn traffic_size(&self) -> Reply<TrafficSize>;
}

impl<S: ColdTables> TrafficStore for S {
    fn traffic(&self, step: i64, began: Range<i64>, node: Option<u8>) -> Reply<Vec<TrafficRow>> {
        let mut values = values![step, began.start, began.end];
        let of_one = match node {
            Some(node) => {
                values.extend(values![node]);
                "AND node = $4"
            }
            None => "",
        };
        let rest = format!("WHERE step = $1 AND at >= $2 AND at < $3 {of_one} ORDER BY at, node");
        let found = TrafficRow::select(&rest, values);
        // People ask for those of all; of one are few, which it adds up.
        match node {
            Some(_) => self.look_up(found, TrafficRow::all),
            None => self.select(found, TrafficRow::all),
        }
    }

    fn keep_traffic(&self, row: TrafficRow) -> Reply<()> {
        let conflict = "ON CONFLICT(step, at, node) DO UPDATE SET counts = excluded.counts";
        self.change(vec![row.insert(conflict)], |_| Ok(()))
    }

    fn hours_without_row(&self, before: i64) -> Reply<Vec<(i64, u8)>> {
        let hour = format!("m.at - m.at % {HOUR_MS}");
        let sql = format!(
            "SELECT DISTINCT {hour}, m.node FROM traffic m WHERE m.step = {MINUTE_MS} AND m.at < $1 \
             AND NOT EXISTS (SELECT 1 FROM traffic h WHERE h.step = {HOUR_MS} AND h.at = {hour} AND h.node = m.node) \
             ORDER BY 1, 2"
        );
        self.select(ColdStatement::new(sql, values![before]), hours)
    }

    fn forget_traffic(&self, minutes_before: i64, hours_before: i64) -> Reply<u64> {
        let forget = "DELETE FROM traffic WHERE step = $1 AND at < $2";
        let steps = [(MINUTE_MS, minutes_before), (HOUR_MS, hours_before)];
        let statements =
            steps.map(|(step, before)| ColdStatement::new(forget, values![step, before]));
        self.change(statements.into(), |done| Ok(done.rows))
    }

    fn traffic_size(&self) -> Reply<TrafficSize> {
        let sql = "SELECT CAST(COUNT(*) AS bigint), CAST(COALESCE(SUM(LENGTH(counts)), 0) AS bigint) FROM traffic";
        self.select(ColdStatement::new(sql, Vec::new()), size)
    }
}

fn hours(rows: Vec<ColdRow>) -> StoreResult<Vec<(i64, u8)>> {
    let read = |mut row: ColdRow| Ok((row.take("an hour")?, row.take("the node of an hour")?));
    rows.into_iter().map(read).collect()
}

fn size(rows: Vec<ColdRow>) -> StoreResult<TrafficSize> {
    let Some(mut row) = rows.into_iter().next() else {
        return Ok(TrafficSize::default());
    };
    Ok(TrafficSize {
        rows: row.take("the number of rows")?,
        octets: row.take("the octets of rows")?,
    })
}
