//! How far the commands of a source were taken, as the store knows it: where its consumer begins when it has to be made anew.
//!
//! Used by [`pull`](super::pull). A consumer that was deleted, or has another name now, would begin at the first command that the
//! stream still has. Commands are recognised by their ids for `api.idempotency` only, and streams keep them longer.

use std::sync::atomic::Ordering;

use async_nats::jetstream::consumer::{DeliverPolicy, Info};
use async_nats::jetstream::stream;
use serde_json::json;

use super::source::Source;
use crate::clock;
use crate::config::SourceStart;
use crate::domain::moment;
use crate::store::StoreError;
use crate::store::stream_marks::StreamMark;

/// While nothing comes, the time of a mark is kept this often, in milliseconds.
const KEEP_EVERY: i64 = 60_000;

/// The progress of a connected source.
pub(super) struct SourceProgress {
    /// Its account, stream and subject: ids of commands are known by account, and a name may change.
    name: String,
    mark: StreamMark,
    /// What the store has.
    kept: Option<StreamMark>,
    /// A time (Unix milliseconds), and what had been delivered by then.
    checkpoint: Option<(i64, u64)>,
}

// === impl SourceProgress ===

impl SourceProgress {
    /// The progress in this stream, none so far if it was made anew.
    pub(super) async fn read(source: &Source, stream: &stream::Info) -> Result<Self, StoreError> {
        let config = &source.config;
        let name = format!("{}/{}/{}", config.account, config.stream, config.subject);
        let rows = source.node().store.stream_marks().await?;
        let kept = StreamMark::find(&name, &rows);
        let created = nanoseconds(stream);
        let mark = kept.filter(|mark| mark.created == created);
        Ok(Self {
            name,
            mark: mark.unwrap_or(StreamMark {
                created,
                floor_at: clock::now_ms(),
                ..StreamMark::default()
            }),
            kept,
            checkpoint: None,
        })
    }

    /// Where a consumer begins that is made now.
    pub(super) fn begin(&self, source: &Source, stream: &stream::Info) -> DeliverPolicy {
        // Such a stream has only what nobody has acknowledged, and allows no other.
        if stream.config.retention == stream::RetentionPolicy::WorkQueue {
            return DeliverPolicy::All;
        }
        match self.kept {
            Some(kept) if kept.created == self.mark.created => {
                let remembered = source.node().config().api.idempotency.as_millis() as i64;
                // What came above the floor is recognised, as long as its ids are known.
                let is_known = clock::now_ms() - kept.floor_at < remembered;
                DeliverPolicy::ByStartSequence {
                    start_sequence: 1 + if is_known { kept.floor } else { kept.highest },
                }
            }
            // It was made anew: nothing of it was taken.
            Some(_) => DeliverPolicy::All,
            None if source.stream_was_missing.load(Ordering::Relaxed) => DeliverPolicy::All,
            None => first(source.config.start()),
        }
    }

    /// Notes how far the consumer is.
    pub(super) async fn note(&mut self, source: &Source, info: &Info) -> Result<(), StoreError> {
        let (floor, delivered) = (
            info.ack_floor.stream_sequence,
            info.delivered.stream_sequence,
        );
        let now = clock::now_ms();
        match self.checkpoint {
            Some((at, before)) if floor >= before => {
                self.mark.floor_at = at;
                self.checkpoint = Some((now, delivered));
            }
            Some(_) => {}
            None => self.checkpoint = Some((now, delivered)),
        }
        // One that somebody has made to begin earlier takes nothing of this back.
        self.mark.floor = self.mark.floor.max(floor);
        self.mark.highest = self.mark.highest.max(delivered);
        let is_further = self.kept.is_none_or(|kept| {
            (kept.created, kept.floor, kept.highest)
                != (self.mark.created, self.mark.floor, self.mark.highest)
                || kept.floor_at + KEEP_EVERY < self.mark.floor_at
        });
        if is_further {
            let rows = self.mark.rows(&self.name);
            source.node().store.keep_stream_mark(rows).await?;
            self.kept = Some(self.mark);
        }
        let done = &source.standing.done_up_to;
        done.store(self.mark.floor, Ordering::Relaxed);
        Ok(())
    }
}

fn nanoseconds(stream: &stream::Info) -> i64 {
    i64::try_from(stream.created.unix_timestamp_nanos()).unwrap_or_default()
}

/// Where the first consumer begins on a stream that the store does not know.
fn first(start: SourceStart) -> DeliverPolicy {
    match start {
        SourceStart::All => DeliverPolicy::All,
        SourceStart::New => DeliverPolicy::New,
        SourceStart::Since(at) => {
            let policy =
                json!({"deliver_policy": "by_start_time", "opt_start_time": moment::show(at)});
            serde_json::from_value(policy).unwrap_or_default()
        }
    }
}
