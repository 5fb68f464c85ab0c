//! Ids that a wrong clock has left in the future, as both databases keep and find them.

use super::cold::{ColdRecord, ColdRow, ColdStatement, ColdValue, values};
use super::{SetAside, StoreResult};
use smsc_domain::id::Aside;

/// Tables whose ids come from the clock of a node.
pub const NUMBERED: [&str; 2] = ["msg", "parked"];
/// A row `t` that was set aside.
pub const IS_ASIDE: &str = "EXISTS(SELECT 1 FROM ids_aside a
    WHERE a.node = (t.id >> 12) & 255 AND t.id BETWEEN a.first AND a.last)";

impl ColdRecord for Aside {
    const TABLE: &'static str = "ids_aside";
    const COLUMNS: &'static [&'static str] = &["node", "first", "last"];

    fn values(&self) -> Vec<ColdValue> {
        values![self.node, self.first, self.last]
    }

    fn read(mut row: ColdRow) -> StoreResult<Self> {
        Ok(Self {
            node: row.take("ids_aside.node")?,
            first: row.take("ids_aside.first")?,
            last: row.take("ids_aside.last")?,
        })
    }
}

// === impl SetAside ===

impl SetAside {
    /// The statement that finds those of a table from this id on that were not set aside, by their nodes.
    pub(crate) fn ahead(table: &str, limit: u64) -> ColdStatement {
        let sql = format!(
            "SELECT count(*), CAST((id >> 12) & 255 AS int), min(id), max(id) FROM {table} t
             WHERE id >= $1 AND NOT {IS_ASIDE} GROUP BY 2"
        );
        ColdStatement::new(sql, values![limit])
    }

    /// A row that [`Self::ahead`] has found.
    pub(crate) fn read(mut row: ColdRow) -> StoreResult<Self> {
        let rows = row.take("the number of rows that are ahead")?;
        let ids = Aside::read(row)?;
        Ok(Self { ids, rows })
    }
}
