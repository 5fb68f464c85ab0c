//! One writing connection.
use super::Shared;
use super::failure::failed;
use std::sync::Arc;
pub async fn run(shared: Arc<Shared>, lane: usize) {
    while let Some(group) = shared.inbox.take(lane, 512).await {
        for pending in group {
            shared.inbox.end(pending, Err(failed("not built yet")));
        }
    }
}
