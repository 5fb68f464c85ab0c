//! `smsc message cancel`: cancels messages that wait, all that match a filter. `smsc message ID cancel` cancels one.

use serde_json::Map;

use super::find::MessageFilterArgs;
use crate::cli::bulk::{self, Bounds, BulkOrder};
use crate::cli::client::CommandOutput;

/// Arguments of `smsc message cancel`.
#[derive(Debug, clap::Args)]
pub struct CancelMessagesArgs {
    #[command(flatten)]
    filter: MessageFilterArgs,
    #[command(flatten)]
    bounds: Bounds,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses; no filter was given.
pub fn run(args: &CancelMessagesArgs) -> anyhow::Result<()> {
    let order = BulkOrder {
        path: "/v1/messages/cancel",
        filter: args.filter.given(),
        more: Map::new(),
        which: "which messages? Give a filter such as --operator or --to",
        done: "cancelled",
        question: "End {} waiting messages DELETED, and tell their senders?",
        refused: "nothing was cancelled",
        past: "are cancelled",
        may_repeat: true,
    };
    bulk::run(order, &args.bounds, &args.telling)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn takes_the_filter_of_find_without_a_state() {
        let line = |all: &str| parsed::<CancelMessagesArgs>(&all.split(' ').collect::<Vec<_>>());
        let args = line("cancel --operator up --since 2026-11-24 --dry-run").unwrap();
        assert_eq!(
            args.filter.given(),
            [("operator", "up"), ("since", "2026-11-24")]
        );
        assert!(line("cancel --state ENROUTE").is_err());
    }
}
