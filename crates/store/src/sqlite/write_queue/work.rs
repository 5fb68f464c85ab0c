//! Work for the writer, and how soon it has to be written.

use tokio::sync::oneshot;

use super::super::writer::WriterJob;
use crate::{StoreResult, WriteBatch, Written};

/// A batch and who waits for it.
#[derive(Debug)]
pub struct WaitingBatch {
    pub batch: WriteBatch,
    pub answer: oneshot::Sender<StoreResult<Written>>,
}

/// One piece of work for the writer.
#[allow(
    clippy::large_enum_variant,
    reason = "jobs are rare, and boxing batches would allocate on the hot path"
)]
pub enum WriterWork {
    Batch(WaitingBatch),
    /// Runs alone, between commits; on a full disk before batches that wait: it may make space.
    Job(WriterJob),
    /// Runs alone, after everything that was pushed before.
    Barrier(WriterJob),
}

/// How soon a batch has to be written.
#[derive(Debug, Clone, Copy)]
pub enum Haste {
    /// Nobody waits for it.
    None,
    /// Receipts wait for it.
    Results,
    /// A client or a person waits for it.
    Now,
}

// === impl WriterWork ===

impl WriterWork {
    pub fn is_job(&self) -> bool {
        matches!(self, Self::Job(_))
    }

    pub fn rows(&self) -> usize {
        match self {
            Self::Batch(pending) => pending.batch.len(),
            Self::Job(_) | Self::Barrier(_) => 0,
        }
    }

    pub fn haste(&self) -> Haste {
        match self {
            Self::Batch(pending) => haste(&pending.batch),
            Self::Job(_) | Self::Barrier(_) => Haste::Now,
        }
    }
}

fn haste(batch: &WriteBatch) -> Haste {
    let results = batch.fin.len() + batch.retry.len() + batch.heard.len() + batch.unpark.len();
    let unhurried = batch.sent.len() + batch.told.len();
    match batch.len() {
        rows if rows == unhurried => Haste::None,
        rows if rows == unhurried + results => Haste::Results,
        _ => Haste::Now,
    }
}
