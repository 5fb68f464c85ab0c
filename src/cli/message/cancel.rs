//! `smsc message cancel`: cancels a message that waits, or all that match a filter.

use serde_json::Map;

use super::find::MessageFilterArgs;
use crate::api::Done;
use crate::cli::bulk::{self, Bounds, BulkOrder};
use crate::cli::client::CommandOutput;

/// Arguments of `smsc message cancel`.
#[derive(Debug, clap::Args)]
pub struct CancelMessagesArgs {
    /// One message, by its id as in submit_sm_resp.
    #[arg(conflicts_with_all = ["to", "from", "account", "operator", "country", "network", "since", "until", "before",
        "limit", "dry_run"])]
    id: Option<String>,
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
    if let Some(id) = &args.id {
        let path = format!("{}/cancel", super::path(id));
        let json = args.telling.open()?.post(&path)?;
        return args.telling.done(json, |done: Done| {
            if done.pending {
                format!("message {id} is being deleted")
            } else {
                format!("message {id} is DELETED")
            }
        });
    }
    let order = BulkOrder {
        path: "/v1/messages/cancel",
        filter: args.filter.given(),
        more: Map::new(),
        which: "which messages? Give an id, or a filter such as --operator or --to",
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
    use clap::error::ErrorKind;
    use clap::{Args as _, Command};

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
        assert_eq!(line("cancel 17 --yes").unwrap().id.as_deref(), Some("17"));
        assert!(line("cancel 17 --operator up").is_err());
        assert!(line("cancel --state ENROUTE").is_err());
        // One message has no other conditions: none is passed over.
        let filter = MessageFilterArgs::augment_args(Command::new("filter"));
        for option in filter.get_arguments() {
            let name = option.get_long().unwrap();
            let refused = line(&format!("cancel 17 --{name} 2026-11-24")).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ArgumentConflict, "{name}");
        }
    }
}
