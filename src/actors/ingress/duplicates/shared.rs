//! The guard over many nodes: a mark in Redis per submission, for as long as its window.
//!
//! Called by [`super`]. What is new here is marked as pending in one round trip per batch, and gets
//! its id after the commit. Keeps true that a Redis that does not answer stops nobody: then the node
//! decides alone, which is counted.

use std::sync::Arc;
use std::time::Duration;

use super::memory::Duplicates;
use super::{Claim, First, millis};
use crate::domain::duplicate::Key;
use crate::smpp::CommandStatus;
use crate::store::redis::Marked;
use crate::telemetry::metrics::Metrics;

/// A node that dies between mark and commit leaves its mark for so long.
const PENDING: Duration = Duration::from_secs(10);

/// Asks Redis for all that is new here. What another node has accepted becomes a duplicate. What is on
/// its way there is refused with ESME_RTHROTTLED: its outcome is not known, and the sender asks again.
pub(super) async fn ask(
    duplicates: &Duplicates,
    metrics: &Metrics,
    found: &mut [Result<Box<Claim>, First>],
) {
    let Some(redis) = duplicates.redis.get() else {
        return;
    };
    let keys: Vec<Key> = found.iter().flatten().map(|claim| claim.key).collect();
    if keys.is_empty() {
        return;
    }
    let Ok(marks) = redis.mark_submissions(&keys, PENDING).await else {
        metrics.duplicates_unshared.inc_by(keys.len() as u64);
        return;
    };
    let claims = found.iter_mut().filter(|found| found.is_ok());
    for (place, mark) in claims.zip(marks) {
        let (outcome, first) = match mark {
            Marked::Now => {
                if let Ok(claim) = place {
                    claim.marked = true;
                }
                continue;
            }
            Marked::Accepted(id) => (Ok(id), First::Known(Ok(id))),
            Marked::Pending => {
                let status = CommandStatus::ESME_RTHROTTLED;
                (Err(status), First::Known(Err(status)))
            }
        };
        if let Ok(claim) = std::mem::replace(place, Err(first)) {
            match outcome {
                Ok(id) => claim.adopt(id),
                Err(status) => claim.refuse(status),
            }
        }
    }
}

/// Gives the marks of accepted submissions their ids. Nobody waits for it.
pub(super) fn publish(duplicates: &Duplicates, marks: Vec<(Key, u64, Duration)>) {
    let Some(redis) = duplicates.redis.get().map(Arc::clone) else {
        return;
    };
    if marks.is_empty() {
        return;
    }
    let marks: Vec<(Key, u64, i64)> = marks
        .into_iter()
        .map(|(key, id, window)| (key, id, millis(window)))
        .collect();
    spawn(async move {
        // The client has said in the log that Redis is away.
        let _ = redis.publish_submissions(&marks).await;
    });
}

/// Takes the mark of a refused submission back.
pub(super) fn withdraw(duplicates: &Duplicates, key: Key) {
    let Some(redis) = duplicates.redis.get().map(Arc::clone) else {
        return;
    };
    spawn(async move {
        // It ends by itself otherwise.
        let _ = redis.withdraw_submission(key).await;
    });
}

/// A thread that ends has no runtime any more; marks end by themselves.
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(work);
    }
}
