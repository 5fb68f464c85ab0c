//! `smsc drain`: takes a node out of service without stopping it, and back into service.

use std::time::{Duration, Instant};

use anyhow::bail;

use super::client::{self, CommandOutput};
use crate::api::Drain;

/// How often the progress is queried.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Arguments of `smsc drain`.
#[derive(Debug, clap::Args)]
pub struct DrainArgs {
    /// Accept messages and binds again.
    #[arg(long)]
    resume: bool,
    /// Only show the progress.
    #[arg(long, conflicts_with = "resume")]
    status: bool,
    /// Seconds to wait for windows in flight; 0 does not wait.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or something is still in flight after the wait.
pub fn run(args: &DrainArgs) -> anyhow::Result<()> {
    const PATH: &str = "/v1/drain";
    let client = args.telling.open()?;
    let mut json = match (args.resume, args.status) {
        (true, _) => client.delete(PATH)?,
        (false, true) => client.get(PATH)?,
        (false, false) => client.post(PATH)?,
    };
    let until = Instant::now() + Duration::from_secs(args.wait);
    let mut state: Drain = client::decode(json.clone())?;
    let waits = !args.resume && !args.status && args.wait > 0;
    while waits && !state.finished && Instant::now() < until {
        client::pause(LOOK_EVERY);
        json = client.get(PATH)?;
        state = client::decode(json.clone())?;
    }
    args.telling.done(json, |state: Drain| describe(&state))?;
    if waits && !state.finished {
        bail!(
            "after {} seconds there is still something in flight; the drain continues",
            args.wait
        );
    }
    Ok(())
}

fn describe(state: &Drain) -> String {
    match (state.draining, state.finished) {
        (false, _) => "in service".to_owned(),
        (true, true) => "drained: nothing is in flight, no session is left".to_owned(),
        (true, false) => format!(
            "draining: {} messages in flight, {} sessions",
            client::number(state.in_flight),
            client::number(state.sessions)
        ),
    }
}
