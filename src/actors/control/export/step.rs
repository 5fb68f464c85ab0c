//! What the readers of the outbox have in common: how much they read, when, and how they say so.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::store::StoreError;
use crate::store::outbox::Reader;

/// Messages that are read at once.
pub(super) const BATCH: usize = 4000;
/// Pause when there is nothing to read.
const PAUSE: Duration = Duration::from_secs(1);
/// Pause after a failure.
const LONG_PAUSE: Duration = Duration::from_secs(5);
/// What another node has taken, and finishes in one transaction, is taken over after this time, in milliseconds:
/// nothing can be lost.
pub(super) const ABANDONED: i64 = 60_000;

/// How long a node that is not to read events looks for those that it has taken and not finished: a statement of a
/// process that was killed may still be executed by the database. Longer than any statement takes.
const SETTLES_AFTER: Duration = Duration::from_secs(180);

/// Whether a reader may still have events that it has taken and not finished.
#[derive(Debug)]
pub(super) struct Held {
    /// Nothing of it has been found since then.
    none_since: Instant,
}

/// Why events were not read; they will be tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cdr.dir: {0}")]
    Files(#[from] io::Error),
}

/// Whether a node is about to stop: it takes nothing more, because another node will.
pub(super) fn is_leaving(node: &NodeContext) -> bool {
    node.local_lease.is_shared() && node.draining.load(Ordering::Relaxed)
}

pub(super) fn has_read(node: &NodeContext, reader: Reader, events: usize, lost: usize) {
    let reader = reader.name();
    node.metrics.events_read(reader, events, lost);
    if lost > 0 {
        tracing::error!(
            lost,
            reader,
            "messages were deleted before their events were read"
        );
    }
}

/// Waits before the next step, unless there may be more to read.
pub(super) async fn pause_after(reader: Reader, step: Result<bool, ExportError>) {
    let pause = match step {
        Ok(true) => return,
        Ok(false) => PAUSE,
        Err(error) => {
            tracing::error!(%error, reader = reader.name(), "events cannot be read");
            LONG_PAUSE
        }
    };
    tokio::time::sleep(pause).await;
}

// === impl Held ===

impl Held {
    pub(super) fn new() -> Self {
        Self {
            none_since: Instant::now(),
        }
    }

    /// Events were found.
    pub(super) fn found(&mut self) {
        self.none_since = Instant::now();
    }

    /// Whether there is nothing for long enough.
    pub(super) fn is_over(&self) -> bool {
        self.none_since.elapsed() >= SETTLES_AFTER
    }
}
