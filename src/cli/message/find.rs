//! `smsc message list`: messages by number, account, time and state, newest first.

use crate::api::{Message, Messages};
use crate::cli::client::{self, Listing, OutputPage, OutputTable, TableCell, table_of};
use crate::cli::dead_letters::older;
use crate::cli::times::{EndRangeArgs, TimeRangeArgs, given};

/// Arguments of `smsc message list`.
#[derive(Debug, clap::Args)]
pub struct FindMessagesArgs {
    #[command(flatten)]
    filter: MessageFilterArgs,
    /// Only messages in this state; ENROUTE: not ended.
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    #[command(flatten)]
    ends: EndRangeArgs,
    /// Entries per page.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    #[command(flatten)]
    listing: Listing,
}

/// Which messages; shared with `smsc message cancel`.
#[derive(Debug, Default, clap::Args)]
pub struct MessageFilterArgs {
    /// Only messages to this number, or to all that begin as 49* does.
    #[arg(long, value_name = "NUMBER")]
    to: Option<String>,
    /// Only messages from this address.
    #[arg(long, value_name = "ADDRESS")]
    from: Option<String>,
    /// Only messages of this account or operator.
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only messages of this operator or queue, now or at their end.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Only messages to this country: DE, or none.
    #[arg(long, value_name = "COUNTRY")]
    country: Option<String>,
    /// Only messages to this network: 26201.
    #[arg(long, value_name = "NETWORK")]
    network: Option<String>,
    #[command(flatten)]
    times: TimeRangeArgs,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &FindMessagesArgs) -> anyhow::Result<()> {
    args.listing.show(&path(args), |found: Messages| {
        let more = older(found.next_before.as_deref());
        match (found.messages.is_empty(), more.is_empty()) {
            (true, true) => OutputPage::nothing(&table(&[]), "no message fits"),
            _ => OutputPage::from(table(&found.messages)).text(more),
        }
    })
}

fn path(args: &FindMessagesArgs) -> String {
    let mut path = format!("/v1/messages?limit={}", args.limit);
    let state = args.state.as_deref().map(|state| ("state", state));
    let given = args.filter.given().into_iter().chain(state);
    for (name, value) in given.chain(args.ends.given()) {
        path.push_str(&format!("&{name}={}", client::segment(value)));
    }
    path
}

fn table(messages: &[Message]) -> OutputTable {
    table_of!(messages, |message| {
        "message" => message.id.clone(),
        "state" => TableCell::state(message.state.clone()),
        "to" => message.to.clone(),
        "from" [5] => message.from.clone(),
        "sender" [6] => message.sender.clone(),
        "queue" [4] => message.queue.clone(),
        "accepted" [7] => TableCell::time(message.accepted_at.as_deref()),
        "ended" [2] => TableCell::time(message.fin.as_ref().and_then(|fin| fin.at.as_deref())),
        "attempts" [1] => TableCell::number(message.attempts),
        "error" [3] => message.fin.as_ref().map(|fin| fin.error.clone()),
    })
}

// === impl MessageFilterArgs ===

impl MessageFilterArgs {
    /// What was given, by the names of the API.
    pub fn given(&self) -> Vec<(&'static str, &str)> {
        let own = [
            ("to", &self.to),
            ("from", &self.from),
            ("account", &self.account),
            ("operator", &self.operator),
            ("country", &self.country),
            ("network", &self.network),
        ];
        given(own, &self.times)
    }
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
            "--ended-since",
            "2026-11-21",
        ];
        let asked = path(&parsed::<FindMessagesArgs>(&line).unwrap());
        assert_eq!(
            asked,
            "/v1/messages?limit=5&to=%2B447700900123&state=ENROUTE&ended_since=2026-11-21"
        );
    }
}
