//! What is logged about messages that the store did not take: a database that is away refuses thousands of
//! batches, so after the first line one more says, at the end of each period, how many messages followed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::actors::runtime::locks::lock;
use crate::store::StoreError;

const PERIOD: Duration = Duration::from_secs(10);

/// The refusals of all threads of Ingest.
#[derive(Default)]
pub(super) struct Refusals {
    /// Messages since the last line; none while no period runs.
    left_out: Mutex<Option<u64>>,
}

// === impl Refusals ===

impl Refusals {
    /// Logs a refused batch, now or with those that follow.
    pub(super) fn note(self: &Arc<Self>, messages: usize, error: &StoreError) {
        let mut left_out = lock(&self.left_out);
        if let Some(count) = left_out.as_mut() {
            *count += messages as u64;
            return;
        }
        *left_out = Some(0);
        drop(left_out);
        tracing::error!(%error, messages, "messages refused");
        let refusals = Arc::clone(self);
        actix::spawn(async move { while refusals.sum_up().await {} });
    }

    /// Waits for the end of the period; whether another one begins.
    async fn sum_up(&self) -> bool {
        tokio::time::sleep(PERIOD).await;
        let mut left_out = lock(&self.left_out);
        let messages = left_out.take().unwrap_or_default();
        if messages == 0 {
            return false;
        }
        *left_out = Some(0);
        let seconds = PERIOD.as_secs();
        tracing::error!(messages, seconds, "more messages refused");
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn a_period_without_refusals_ends_it() {
        tokio::time::pause();
        let refusals = Arc::new(Refusals::default());
        let error = StoreError::Failed("away".to_owned());
        let left_out = || *lock(&refusals.left_out);
        for _ in 0..3 {
            refusals.note(5, &error);
        }
        assert_eq!(left_out(), Some(10), "the first has its line");
        tokio::time::sleep(PERIOD * 3 / 2).await;
        assert_eq!(left_out(), Some(0), "summed up");
        refusals.note(7, &error);
        assert_eq!(left_out(), Some(7));
        tokio::time::sleep(PERIOD * 2).await;
        assert_eq!(left_out(), None, "the next one has a line of its own");
    }
}
