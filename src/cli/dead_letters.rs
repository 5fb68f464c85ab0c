//! `smsc dead-letter list`: failed messages, each with its last attempt.

use super::client::{self, Listing, OutputPage, OutputTable, TableCell, table_of};
use super::times::{EndRangeArgs, TimeRangeArgs, given};
use crate::api::{Message, Messages};

/// What to do with failed messages.
#[derive(Debug, clap::Subcommand)]
pub enum DeadLetterCommand {
    /// Show failed messages, newest first; `smsc message replay` sends them again.
    List(DeadLettersArgs),
}

/// Arguments of `smsc dead-letter list`.
#[derive(Debug, clap::Args)]
pub struct DeadLettersArgs {
    #[command(flatten)]
    filter: DeadLetterFilter,
    /// Only those that were, or were not, replayed.
    #[arg(long, value_name = "true|false")]
    replayed: Option<bool>,
    /// Entries per page.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    #[command(flatten)]
    listing: Listing,
}

/// Which failed messages; shared with `smsc message replay`.
#[derive(Debug, Default, clap::Args)]
pub struct DeadLetterFilter {
    /// Only messages to this number, or to all that begin as 49* does.
    #[arg(long, value_name = "NUMBER")]
    to: Option<String>,
    /// Only messages from this address.
    #[arg(long, value_name = "ADDRESS")]
    from: Option<String>,
    /// Only messages of this account or operator.
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only messages that failed at this operator.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Only messages with this final state [default: EXPIRED, UNDELIVERABLE, UNKNOWN and REJECTED].
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only messages with this error code, this command_status by name, or none.
    #[arg(long, value_name = "CODE")]
    error: Option<String>,
    /// Only messages to this country: DE, or none.
    #[arg(long, value_name = "COUNTRY")]
    country: Option<String>,
    /// Only messages to this network: 26201.
    #[arg(long, value_name = "NETWORK")]
    network: Option<String>,
    #[command(flatten)]
    times: TimeRangeArgs,
    #[command(flatten)]
    ends: EndRangeArgs,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: &DeadLetterCommand) -> anyhow::Result<()> {
    let DeadLetterCommand::List(args) = order;
    let mut query = format!("limit={}", args.limit);
    for (name, value) in args.filter.given() {
        query.push_str(&format!("&{name}={}", client::segment(value)));
    }
    if let Some(replayed) = args.replayed {
        query.push_str(&format!("&replayed={replayed}"));
    }
    let path = format!("/v1/dead-letters?{query}");
    args.listing.show(&path, |list: Messages| {
        OutputPage::from(table(&list.messages)).text(older(list.next_before.as_deref()))
    })
}

/// How to see the next page, if there is one.
pub(super) fn older(before: Option<&str>) -> String {
    before.map_or_else(String::new, |before| {
        format!("older ones: --before {before}")
    })
}

/// Failed messages; for `smsc why` too.
pub(super) fn table(messages: &[Message]) -> OutputTable {
    table_of!(messages, |message| {
        let fin = message.fin.as_ref();
        let last = message.history.last();
        "message" => message.id.clone(),
        "state" => TableCell::state(message.state.clone()),
        "error" [8] => fin.map(|fin| fin.error.clone()),
        "sender" [5] => message.sender.clone(),
        "to" => message.to.clone(),
        "accepted" [6] => TableCell::time(message.accepted_at.as_deref()),
        "ended" [9] => TableCell::time(fin.and_then(|fin| fin.at.as_deref())),
        "attempts" [4] => TableCell::number(message.history.len() as u64),
        "last at" [7] => last.map_or(&message.queue, |last| &last.queue).clone(),
        "bind" [3] => last.map(|last| last.bind.clone()),
        "answer" => last.map(|last| last.status.clone()),
        "after" [2] => TableCell::right(last.map(|last| format!("{} ms", last.latency_ms)).unwrap_or_default()),
        "replayed as" [1] => message.replayed_as.clone(),
    })
}

// === impl DeadLetterFilter ===

impl DeadLetterFilter {
    /// What was given, by the names of the API.
    pub fn given(&self) -> Vec<(&'static str, &str)> {
        let own = [
            ("to", &self.to),
            ("from", &self.from),
            ("account", &self.account),
            ("operator", &self.operator),
            ("state", &self.state),
            ("error", &self.error),
            ("country", &self.country),
            ("network", &self.network),
        ];
        let mut all = given(own, &self.times);
        all.extend(self.ends.given());
        all
    }
}
