//! The guard across nodes: a mark in Redis per submission, for the length of its window.
//!
//! Called by [`super`]. New submissions are marked as pending in one round trip per batch, and get
//! their ids after the commit. Invariant: no submission waits for a Redis that does not answer: the
//! node then decides alone, which is counted.

use std::sync::Arc;
use std::time::Duration;

use super::memory::Duplicates;
use super::{Claim, First, millis};
use crate::domain::duplicate::DuplicateKey;
use crate::smpp::CommandStatus;
use crate::store::redis::Marked;
use crate::telemetry::metrics::Metrics;

/// The mark of a node that dies between mark and commit expires after this time.
const PENDING: Duration = Duration::from_secs(10);

/// Asks Redis about all submissions that are new here. One that another node has accepted is a
/// duplicate. One that is pending on another node is refused with ESME_RTHROTTLED: its outcome is
/// unknown, and the sender repeats it.
pub(super) async fn ask(
    duplicates: &Duplicates,
    metrics: &Metrics,
    found: &mut [Result<Box<Claim>, First>],
) {
    let Some(redis) = duplicates.redis.get() else {
        return;
    };
    let keys: Vec<DuplicateKey> = found.iter().flatten().map(|claim| claim.key).collect();
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

/// Sets the ids in the marks of accepted submissions, in the background.
pub(super) fn publish(duplicates: &Duplicates, marks: Vec<(DuplicateKey, u64, Duration)>) {
    let Some(redis) = duplicates.redis.get().map(Arc::clone) else {
        return;
    };
    if marks.is_empty() {
        return;
    }
    let marks: Vec<(DuplicateKey, u64, i64)> = marks
        .into_iter()
        .map(|(key, id, window)| (key, id, millis(window)))
        .collect();
    spawn(async move {
        // The client has logged that Redis is unreachable.
        let _ = redis.publish_submissions(&marks).await;
    });
}

/// Removes the mark of a refused submission.
pub(super) fn withdraw(duplicates: &Duplicates, key: DuplicateKey) {
    let Some(redis) = duplicates.redis.get().map(Arc::clone) else {
        return;
    };
    spawn(async move {
        // Otherwise it expires.
        let _ = redis.withdraw_submission(key).await;
    });
}

/// A thread that is ending has no runtime any more; marks expire.
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(work);
    }
}
