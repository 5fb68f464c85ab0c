//! The incidents port: operators and accounts that were not well, who has acknowledged that, and how it ended.
//!
//! Each node writes its own incidents, and every node reads those of all. Those that go on are kept, however many operators
//! fail together, and of those that have ended the [`MOST`] that were found last.

use super::Reply;
use super::cold::{ColdRecord as _, ColdStatement, ColdTables, record, values};
use smsc_domain::period::DAY_MS;

/// So many incidents that have ended are kept.
pub const MOST: usize = 200;
/// One that goes on is forgotten when its node has not found it for so long before the latest one that goes on, in milliseconds:
/// that node is gone.
const GONE_MS: i64 = DAY_MS;
/// A row that somebody has acknowledged and whose incident was still found when another one about the same thing began, or that
/// its node has left without an end not long before: then that node is gone, and others have its messages.
const KNOWN: &str = "FROM incidents o WHERE o.about = incidents.about AND o.kind = incidents.kind
    AND o.acknowledged_at <> 0 AND (o.seen_at >= incidents.began_at
      OR (o.ended_at = 0 AND o.seen_at >= incidents.began_at - $2))
    ORDER BY o.acknowledged_at DESC, o.id DESC LIMIT 1";

record! {
    /// An incident that a node has found.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct IncidentRow in "incidents" {
        /// From the sequence of message ids: it carries the time.
        pub id: u64,
        /// The node that has found it.
        pub node: u8,
        /// Whom it is about: `operator:ID`, `gsm:NAME` or `account:SYSTEM_ID`.
        pub about: String,
        /// What it is: `refused`, `failed_receipts`, `missing_receipts` or `slow_answers`.
        pub kind: String,
        /// In one sentence.
        pub text: String,
        /// The status or state that is behind most of it; may be empty.
        pub cause: String,
        /// Unix milliseconds.
        pub began_at: i64,
        /// When it was last found, Unix milliseconds.
        pub seen_at: i64,
        /// Unix milliseconds, 0 while it goes on.
        pub ended_at: i64,
        /// Who knows of it; empty for nobody.
        pub acknowledged_by: String,
        /// Unix milliseconds, 0 for never.
        pub acknowledged_at: i64,
    }
}

/// The incidents part of a store. Calls never block.
pub trait IncidentStore {
    /// The incidents of all nodes, the newest first.
    fn incidents(&self) -> Reply<Vec<IncidentRow>>;

    /// Keeps those of one node that began, and of those that are there what a look has changed; what people have said of them
    /// stays. What somebody has acknowledged for another node while it went on needs no look here either; it goes on for `silent`
    /// milliseconds after its node has last found it, unless that has ended it. Forgets those beyond [`MOST`].
    fn keep_incidents(&self, rows: Vec<IncidentRow>, silent: i64) -> Reply<()>;

    /// Ends the incidents that an earlier process of a node has left, when they were last found.
    fn end_incidents_of(&self, node: u8) -> Reply<()>;

    /// Notes who has acknowledged the open incidents of a kind about somebody, and when (Unix milliseconds), where nobody has
    /// yet; gives how many that were.
    fn acknowledge_incidents(&self, about: String, kind: String, by: String, at: i64)
    -> Reply<u64>;
}

impl<S: ColdTables> IncidentStore for S {
    fn incidents(&self) -> Reply<Vec<IncidentRow>> {
        let found = IncidentRow::select("ORDER BY id DESC", Vec::new());
        self.look_up(found, IncidentRow::all)
    }

    fn keep_incidents(&self, rows: Vec<IncidentRow>, silent: i64) -> Reply<()> {
        let conflict = "ON CONFLICT(id) DO UPDATE SET text = excluded.text, cause = excluded.cause, \
             began_at = excluded.began_at, seen_at = excluded.seen_at, ended_at = excluded.ended_at";
        let mut statements: Vec<ColdStatement> =
            rows.iter().map(|row| row.insert(conflict)).collect();
        // Only its own rows: two nodes that wrote each other's could wait for each other.
        if let Some(row) = rows.first() {
            statements.push(ColdStatement::new(
                format!(
                    "UPDATE incidents SET acknowledged_by = (SELECT o.acknowledged_by {KNOWN}),
                       acknowledged_at = (SELECT o.acknowledged_at {KNOWN})
                     WHERE node = $1 AND ended_at = 0 AND acknowledged_at = 0 AND EXISTS (SELECT 1 {KNOWN})"
                ),
                values![row.node, silent],
            ));
        }
        // Not before the latest one of all: that may have ended when the clock was set back.
        statements.push(ColdStatement::new(
            "DELETE FROM incidents WHERE (ended_at <> 0 AND id NOT IN
                 (SELECT id FROM incidents WHERE ended_at <> 0 ORDER BY seen_at DESC, id DESC LIMIT $1))
               OR (ended_at = 0 AND seen_at < (SELECT max(seen_at) FROM incidents WHERE ended_at = 0) - $2)",
            values![MOST, GONE_MS],
        ));
        self.change(statements, |_| Ok(()))
    }

    fn end_incidents_of(&self, node: u8) -> Reply<()> {
        let end = ColdStatement::new(
            "UPDATE incidents SET ended_at = seen_at WHERE node = $1 AND ended_at = 0",
            values![node],
        );
        self.change(vec![end], |_| Ok(()))
    }

    fn acknowledge_incidents(
        &self,
        about: String,
        kind: String,
        by: String,
        at: i64,
    ) -> Reply<u64> {
        let acknowledge = ColdStatement::new(
            "UPDATE incidents SET acknowledged_by = $3, acknowledged_at = $4 \
             WHERE about = $1 AND kind = $2 AND ended_at = 0 AND acknowledged_at = 0",
            values![about, kind, by, at],
        );
        self.change(vec![acknowledge], |done| Ok(done.rows))
    }
}
