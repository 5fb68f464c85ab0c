//! `smsc callback`: a test callback to the URL of an account.

use anyhow::bail;

use super::client::{self, CommandOutput};
use crate::api::CallbackAttempt;

/// What to do with callbacks.
#[derive(Debug, clap::Subcommand)]
pub enum CallbackCommand {
    /// Send a callback of type `test` to the URL of an account.
    Test {
        /// The system_id of the account.
        account: String,
        #[command(flatten)]
        telling: CommandOutput,
    },
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, it refuses, or the receiver has not answered with 2xx.
pub fn run(order: CallbackCommand) -> anyhow::Result<()> {
    let CallbackCommand::Test { account, telling } = order;
    let client = telling.open()?;
    let path = format!("/v1/accounts/{}/callback/test", client::segment(&account));
    let json = client.post(&path)?;
    let attempt: CallbackAttempt = client::decode(json.clone())?;
    let is_taken = matches!(attempt.status, Some(200..300));
    if is_taken || telling.is_for_programs() {
        telling.done(json, |attempt: CallbackAttempt| {
            format!(
                "HTTP {} after {} ms",
                attempt.status.unwrap_or_default(),
                client::number(attempt.latency_ms.into())
            )
        })?;
    }
    match attempt.status {
        Some(200..300) => Ok(()),
        Some(status) => bail!("the receiver answered HTTP {status}"),
        None => bail!("no answer: {}", attempt.error.unwrap_or_default()),
    }
}
