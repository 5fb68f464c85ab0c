//! `smsc message replay`: replays failed messages, one by its id or all that match a filter.

use serde_json::{Map, Value, json};

use super::bulk::{self, Bounds, BulkOrder};
use super::client::{self, CommandOutput};
use super::dead_letters::DeadLetterFilter;
use crate::api::Replayed;

/// Arguments of `smsc message replay`.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// One failed message.
    #[arg(conflicts_with_all = ["to", "from", "account", "operator", "state", "error", "country",
        "network", "rate",
        "since", "until", "ended_since", "ended_until", "order", "before", "limit", "dry_run"])]
    id: Option<String>,
    #[command(flatten)]
    filter: DeadLetterFilter,
    /// Send them to this operator or queue instead of by their routes.
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// How long they are valid [default: as their senders asked for].
    #[arg(long, value_name = "DURATION")]
    validity: Option<String>,
    /// Send receipts, with the new ids, to senders that asked for them.
    #[arg(long)]
    receipt: bool,
    /// At most so many messages per second.
    #[arg(long, value_name = "MESSAGES", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: Option<u32>,
    /// Also messages that were replayed before.
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    bounds: Bounds,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses; no filter was given.
pub fn run(args: &ReplayArgs) -> anyhow::Result<()> {
    let mut how = Map::new();
    how.insert("receipt".to_owned(), json!(args.receipt));
    how.insert("again".to_owned(), json!(args.again));
    for (name, value) in [("to", &args.queue), ("validity", &args.validity)] {
        if let Some(value) = value {
            how.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(rate) = args.rate {
        how.insert("rate".to_owned(), json!(rate));
    }
    match &args.id {
        Some(id) => one(id, &Value::Object(how), &args.telling),
        None => bulk::run(many(args, how), &args.bounds, &args.telling),
    }
}

fn one(id: &str, how: &Value, telling: &CommandOutput) -> anyhow::Result<()> {
    let path = format!("/v1/messages/{}/replay", client::segment(id));
    let json = telling.open()?.post_json(&path, how)?;
    telling.done(json, |done: Replayed| {
        format!("message {id} is sent again as {}", done.message)
    })
}

fn many(args: &ReplayArgs, how: Map<String, Value>) -> BulkOrder<'_> {
    BulkOrder {
        path: "/v1/messages/replay",
        filter: args.filter.given(),
        more: how,
        which: "which messages? Give an id, or a filter such as --operator or --since",
        done: "replayed",
        question: "Send {} messages again?",
        refused: "nothing was sent",
        past: "are sent again",
        // With --again those that were sent fit for ever.
        may_repeat: !args.again,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn takes_an_id_or_a_filter() {
        let line = |all: &str| parsed::<ReplayArgs>(&all.split(' ').collect::<Vec<_>>());
        assert_eq!(
            line("replay 17 --queue b").unwrap().id.as_deref(),
            Some("17")
        );
        let many = line("replay --operator up --state EXPIRED --limit 10000").unwrap();
        let given = many.filter.given();
        assert_eq!(given, [("operator", "up"), ("state", "EXPIRED")]);
        let to = line("replay --to +447700900123 --from ACME").unwrap();
        let given = to.filter.given();
        assert_eq!(given, [("to", "+447700900123"), ("from", "ACME")]);
        assert!(line("replay 17 --operator up").is_err());
        assert!(line("replay 17 --rate 5").is_err());
        assert!(line("replay --country DE --rate 0").is_err());
        assert!(line("replay --operator up --limit 10001").is_err());
    }
}
