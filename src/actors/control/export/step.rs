//! What the readers of the outbox have in common: how much they read, from where, when, and how they say so.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::receipts::just_ended::JustEnded;
use crate::store::outbox::Reader;
use crate::store::{StoreError, Stored};

/// Messages that are read at once.
pub(super) const BATCH: usize = 8192;
/// Between two steps, unless there is more to read: each costs a write of its own.
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
    #[error("nats: {0}")]
    Nats(String),
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

/// The messages of events, in the order of the ids; `None` for one that the store has no more.
pub(super) async fn read_ended(
    node: &NodeContext,
    just_ended: &JustEnded,
    reader: Reader,
    ids: &[u64],
) -> Result<Vec<Option<Arc<Stored>>>, StoreError> {
    let mut ended = just_ended.take(reader, ids);
    let missing = |(id, one): (&u64, &Option<_>)| one.is_none().then_some(*id);
    let missing: Vec<u64> = ids.iter().zip(&ended).filter_map(missing).collect();
    if !missing.is_empty() {
        let mut read = node.store.read_ended(missing).await?.into_iter();
        for one in ended.iter_mut().filter(|one| one.is_none()) {
            *one = read.next().flatten().map(Arc::new);
        }
    }
    Ok(ended)
}

/// Waits before the next step, unless there may be more to read.
pub(super) async fn pause_after(
    reader: Reader,
    just_ended: &JustEnded,
    step: Result<bool, ExportError>,
) {
    let pause = match step {
        Ok(true) => return,
        Ok(false) => {
            let _ = tokio::time::timeout(PAUSE, just_ended.many(reader)).await;
            return;
        }
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
