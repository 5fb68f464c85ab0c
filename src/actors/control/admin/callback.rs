//! Sends a test callback for an administrator: by the configuration of its account, and beside the account's queue.

use std::sync::Arc;

use crate::actors::callbacks::client::Client;
use crate::actors::callbacks::form::Way;
use crate::actors::callbacks::session::attempt;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::form_of;
use crate::actors::orders::audit;
use crate::clock;
use crate::pb::{CallbackAttempt, Commanded, Refusal, TestCallback};

/// Sends it and gives what was answered.
pub(super) async fn test(
    node: Arc<NodeContext>,
    order: TestCallback,
) -> Result<CallbackAttempt, Refusal> {
    let plan = node.full_plan();
    let account = plan.account(&order.account).cloned().ok_or_else(|| {
        Refusal::not_found(format!(
            "there is no account {:?}, or it is not enabled",
            order.account
        ))
    })?;
    let Some(url) = account.config.callback_url.clone() else {
        let message = format!("the account {:?} has no callback_url", order.account);
        return Err(Refusal::conflict(message));
    };
    let way = Way {
        form: form_of(&account.config),
        url: &url,
    };
    let callback = way
        .test(&order.account, clock::now_ms())
        .map_err(Refusal::conflict)?;
    // Reads certificates.
    let build = move || Client::new(&account.config);
    let built = tokio::task::spawn_blocking(build).await;
    let client = built
        .map_err(|error| Refusal::unavailable(error.to_string()))?
        .map_err(Refusal::conflict)?;
    let sent = tokio::time::Instant::now();
    let result = client.send(&callback).await;
    let done = Ok(Commanded {
        count: 1,
        pending: false,
    });
    let what = format!("callback of account {}", order.account);
    audit(&order.by, "TEST", &what, &done);
    Ok(attempt(&result, sent.elapsed()))
}
