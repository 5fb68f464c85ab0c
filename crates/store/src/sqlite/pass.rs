//! The rows of a batch, written one after the other: all of them, or, when that has failed, each by
//! itself, so that only a bad one is quarantined.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;

use super::Hooks;
use super::failure::{SqliteFailure, panic_text};
use super::rows::{RowError, Statements};
use crate::{Rejected, RowFailurePolicy};

/// One pass over the rows of a batch.
pub struct Pass<'p, 'c> {
    pub rows: &'p mut Statements<'c>,
    pub hooks: &'p Hooks,
    pub connection: &'c Connection,
    pub mode: RowFailurePolicy,
    pub rejected: &'p mut Vec<Rejected>,
}

// === impl Pass ===

impl<'c> Pass<'_, 'c> {
    /// Writes each row; in isolating mode a row that fails is quarantined instead.
    pub fn each<R>(
        &mut self,
        table: &'static str,
        rows: &[R],
        id: impl Fn(&R) -> u64,
        remains: impl Fn(&R) -> Vec<u8>,
        mut write: impl FnMut(&mut Statements<'c>, &R) -> Result<(), RowError>,
    ) -> Result<(), SqliteFailure> {
        for row in rows {
            if self.mode == RowFailurePolicy::Strict {
                self.hooks.row(table, id(row));
                write(self.rows, row)?;
                continue;
            }
            self.connection.execute_batch("SAVEPOINT row")?;
            let attempt = catch_unwind(AssertUnwindSafe(|| {
                self.hooks.row(table, id(row));
                write(self.rows, row)
            }));
            let failure = match attempt {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(SqliteFailure::from(error)),
                Err(panic) => Some(SqliteFailure::Row(panic_text(panic.as_ref()))),
            };
            match failure {
                None => {}
                Some(SqliteFailure::Row(reason)) => {
                    self.connection.execute_batch("ROLLBACK TO row")?;
                    self.rows.forget_deletions();
                    let what = catch_unwind(AssertUnwindSafe(|| remains(row))).unwrap_or_default();
                    self.rows.quarantine(table, id(row), &reason, &what)?;
                    tracing::error!(table, id = id(row), reason, "row quarantined");
                    self.rejected.push(Rejected {
                        table,
                        id: id(row),
                        reason,
                    });
                }
                Some(other) => return Err(other),
            }
            self.connection.execute_batch("RELEASE row")?;
        }
        Ok(())
    }
}
