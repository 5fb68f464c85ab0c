//! What the readers of the outbox have in common: how much they read, from where, when, and how they say so.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::receipts::just_ended::JustEnded;
use crate::clock;
use crate::store::outbox::{EventClaim, EventReader, ReaderOutcome, TakeEvents, TakenEvents};
use crate::store::{MessageHistory, StoreError, Stored};

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

/// Takes the events of one reader, and finishes them.
pub(super) struct Events {
    reader: EventReader,
    /// Who has them until they are finished.
    holder: String,
    /// Whether this node is the one that reads them.
    reads: fn(&NodeContext) -> bool,
    just_ended: Arc<JustEnded>,
    /// Nothing that it had taken and not finished has been found since then.
    none_since: Instant,
}

/// Why events were not read; they will be tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cdr.dir: {0}")]
    Files(#[from] io::Error),
    #[error("archive: {0}")]
    Archive(String),
    #[error("redis_platform: {0}")]
    Platform(String),
}

/// Waits before the next step, unless there may be more to read.
pub(super) async fn pause_after(
    reader: EventReader,
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

// === impl Events ===

impl Events {
    pub(super) fn new(reader: EventReader, holder: String, just_ended: Arc<JustEnded>) -> Self {
        Self {
            reader,
            holder,
            reads: |node| node.local_lease.is_janitor(),
            just_ended,
            none_since: Instant::now(),
        }
    }

    /// Not the node that does the work for all reads them, but the one of which this is true.
    pub(super) fn read_where(self, reads: fn(&NodeContext) -> bool) -> Self {
        Self { reads, ..self }
    }

    /// Whether this node is to take none: it is about to stop and another will, or another reads them and this one has
    /// finished its own.
    pub(super) fn is_idle(&self, node: &NodeContext) -> bool {
        let is_leaving = node.local_lease.is_shared() && node.draining.load(Ordering::Relaxed);
        let is_over = self.none_since.elapsed() >= SETTLES_AFTER;
        is_leaving || !(self.reads)(node) && is_over
    }

    /// Up to `limit` events and those of the same commit; also what another node took so many milliseconds ago. `None` when
    /// there are none.
    pub(super) async fn take(
        &mut self,
        node: &NodeContext,
        limit: usize,
        abandoned: i64,
    ) -> Result<Option<TakenEvents>, StoreError> {
        if self.is_idle(node) {
            return Ok(None);
        }
        let now = clock::now_ms();
        let taken = node.store.take_events(TakeEvents {
            reader: self.reader,
            holder: self.holder.clone(),
            now,
            abandoned: now - abandoned,
            limit,
            only_own: !(self.reads)(node),
        });
        let taken = taken.await?;
        if taken.is_some() {
            self.none_since = Instant::now();
        }
        Ok(taken)
    }

    /// The messages of events, in the order of the ids; `None` for one that the store has no more.
    pub(super) async fn messages(
        &self,
        node: &NodeContext,
        ids: &[u64],
    ) -> Result<Vec<Option<Arc<Stored>>>, StoreError> {
        let mut ended = self.just_ended.take(self.reader, ids);
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

    /// Messages that have ended, with all that happened to them.
    pub(super) async fn histories(
        &self,
        node: &NodeContext,
        ids: &[u64],
    ) -> Result<Vec<Option<MessageHistory>>, StoreError> {
        node.store.histories(ids.to_vec()).await
    }

    /// Finishes events whose messages are `ended`; false when another node has taken them over, or they were dropped.
    pub(super) async fn finish<M>(
        &self,
        node: &NodeContext,
        claim: EventClaim,
        outcome: ReaderOutcome,
        ended: &[Option<M>],
    ) -> Result<bool, StoreError> {
        if !node.store.finish_events(claim, outcome).await? {
            return Ok(false);
        }
        let lost = ended.iter().filter(|one| one.is_none()).count();
        let reader = self.reader.name();
        node.metrics.events_read(reader, ended.len(), lost);
        if lost > 0 {
            tracing::error!(
                lost,
                reader,
                "messages were deleted before their events were read"
            );
        }
        Ok(true)
    }
}
