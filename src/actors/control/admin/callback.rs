//! Sends a test callback for an administrator: by the configuration of its account, and beside the account's queue.

use std::sync::Arc;

use super::context::AdminContext;
use crate::actors::callbacks::client::CallbackClient;
use crate::actors::callbacks::form::ReceiverInterface;
use crate::actors::callbacks::session::attempt;
use crate::actors::context::plan::form_of;
use crate::actors::orders::audit;
use crate::clock;
use crate::pb::{CallbackAttempt, Commanded, Refusal};

/// Sends it to the URL of the account with this system_id, and gives what was answered.
pub async fn test(
    admin: Arc<AdminContext>,
    name: String,
    by: String,
) -> Result<CallbackAttempt, Refusal> {
    let plan = admin.node.full_plan();
    let account = plan.account(&name).cloned().ok_or_else(|| {
        Refusal::not_found(format!(
            "there is no account {name:?}, or it is not enabled"
        ))
    })?;
    let Some(url) = account.config.callback_url.clone() else {
        let message = format!("the account {name:?} has no callback_url");
        return Err(Refusal::conflict(message));
    };
    let way = ReceiverInterface {
        form: form_of(&account.config),
        url: &url,
    };
    let callback = way
        .test(&name, clock::now_ms())
        .map_err(Refusal::conflict)?;
    // Reads certificates.
    let build = move || CallbackClient::new(&account.config);
    let built = tokio::task::spawn_blocking(build).await;
    let client = built
        .map_err(|error| Refusal::unavailable(error.to_string()))?
        .map_err(Refusal::conflict)?;
    let sent = tokio::time::Instant::now();
    let result = client.send(&callback).await;
    let what = format!("callback of account {name}");
    audit(&by, "TEST", &what, &Ok(Commanded::done(1)));
    Ok(attempt(&result, sent.elapsed()))
}
