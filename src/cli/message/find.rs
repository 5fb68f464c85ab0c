//! `smsc message find`: messages by number, account, time and state, newest first.

use crate::api::{Message, Messages};
use crate::cli::client::{self, Cell, Listing, Page, Table};
use crate::cli::dead_letters::older;

/// Arguments of `smsc message find`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only messages to this number, with or without a plus.
    #[arg(long, value_name = "NUMBER")]
    to: Option<String>,
    /// Only messages from this address.
    #[arg(long, value_name = "ADDRESS")]
    from: Option<String>,
    /// Only messages of this account or operator.
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only messages in this state; ENROUTE are those that have not ended.
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only messages accepted then or later: RFC 3339, a day, or Unix milliseconds.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only messages accepted before then.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only messages older than this one: where the previous page ended.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// Entries per page.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &Args) -> anyhow::Result<()> {
    args.listing.show(&path(args), |found: Messages| {
        let more = older(found.next_before.as_deref());
        match (found.messages.is_empty(), more.is_empty()) {
            (true, true) => Page::nothing(&table(&[]), "no message fits"),
            _ => Page::from(table(&found.messages)).text(more),
        }
    })
}

fn path(args: &Args) -> String {
    let mut path = format!("/v1/messages?limit={}", args.limit);
    for (name, value) in [
        ("to", &args.to),
        ("from", &args.from),
        ("account", &args.account),
        ("state", &args.state),
        ("since", &args.since),
        ("until", &args.until),
        ("before", &args.before),
    ] {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", client::segment(value)));
        }
    }
    path
}

fn table(messages: &[Message]) -> Table {
    let mut table = Table::new(&[
        "message", "state", "to", "from", "sender", "queue", "accepted", "attempts", "error",
    ])
    .dropping(&["attempts", "error", "queue", "from", "sender", "accepted"]);
    for message in messages {
        table.row([
            Cell::from(message.id.clone()),
            Cell::state(message.state.clone()),
            message.to.clone().into(),
            message.from.clone().into(),
            message.sender.clone().into(),
            message.queue.clone().into(),
            Cell::time(message.accepted_at.as_deref()),
            Cell::number(message.attempts),
            message.fin.as_ref().map(|fin| fin.error.clone()).into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn asks_for_what_was_named() {
        let line = [
            "find",
            "--to",
            "+447700900123",
            "--state",
            "ENROUTE",
            "--limit",
            "5",
        ];
        let asked = path(&parsed::<Args>(&line).unwrap());
        assert_eq!(
            asked,
            "/v1/messages?limit=5&to=%2B447700900123&state=ENROUTE"
        );
    }
}
