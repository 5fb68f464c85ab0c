//! What publishing on brokers of all kinds has in common: how much at once, and for how long it is waited.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;

/// Events that are published before their acknowledgements are awaited, at most.
pub(super) const BATCH: usize = 1024;

/// Waits for something of a broker so long.
///
/// # Errors
/// Its own, or that the time is over.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    let late = |_| Err(format!("the broker has not answered within {limit:?}"));
    timeout(limit, work).await.unwrap_or_else(late)
}
