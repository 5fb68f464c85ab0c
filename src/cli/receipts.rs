//! `smsc receipts`: operators' receipts that match no message, and accounts' receipts that were given up.

use serde_json::json;

use super::client::{self, Client, Connection};
use crate::api::{Message, Messages, Replayed, Unmatched, UnmatchedReceipt};

const PATH: &str = "/v1/receipts/unmatched";
const GIVEN_UP: &str = "/v1/receipts/given-up";

/// Arguments of `smsc receipts`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    order: Order,
}

#[derive(Debug, clap::Subcommand)]
enum Order {
    /// Show the receipts that match no message, newest first.
    Unmatched(List),
    /// End a message with the state of a receipt.
    Match {
        /// The receipt, as smsc receipts unmatched shows it.
        receipt: String,
        /// The message, as in submit_sm_resp.
        message: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// Show the receipts that accounts did not take and that were given up, newest first.
    GivenUp(GivenUp),
    /// Send receipts again that were given up: that of one message, or those of an account.
    Replay {
        /// The message, as in submit_sm_resp.
        #[arg(required_unless_present = "account")]
        message: Option<String>,
        /// All receipts of this account that were given up and not sent again.
        #[arg(long, value_name = "NAME", conflicts_with = "message")]
        account: Option<String>,
        /// Although it was sent again before.
        #[arg(long, requires = "message")]
        again: bool,
        #[command(flatten)]
        connection: Connection,
    },
    /// Drop a receipt.
    Drop {
        /// The receipt, as smsc receipts unmatched shows it.
        receipt: String,
        #[command(flatten)]
        connection: Connection,
    },
}

/// Arguments of `smsc receipts unmatched`.
#[derive(Debug, clap::Args)]
struct List {
    /// Only those of this operator.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Entries per page.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Only what is older than this receipt: where the page before ended.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `smsc receipts given-up`.
#[derive(Debug, clap::Args)]
struct GivenUp {
    /// Only those of this account.
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only those that were, or were not, sent again.
    #[arg(long, value_name = "true|false")]
    replayed: Option<bool>,
    /// Entries per page.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Only messages older than this one: where the page before ended.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.order {
        Order::Unmatched(args) => list(args),
        Order::Match {
            receipt,
            message,
            connection,
        } => settle(connection, receipt, message),
        Order::GivenUp(args) => given_up(args),
        Order::Replay {
            message,
            account,
            again,
            connection,
        } => match (message, account) {
            (Some(message), _) => {
                let sent = replay(&connection.open()?, message, *again)?;
                client::print_line(&format!("message {sent} brings it"))
            }
            (None, account) => {
                replay_all(&connection.open()?, account.as_deref().unwrap_or_default())
            }
        },
        Order::Drop {
            receipt,
            connection,
        } => drop_one(&connection.open()?, receipt),
    }
}

fn list(args: &List) -> anyhow::Result<()> {
    let given = [("operator", &args.operator), ("before", &args.before)];
    let path = page(PATH, args.limit, &given);
    let json = args.connection.open()?.get(&path)?;
    if args.connection.json {
        return client::print_json(&json);
    }
    let list: Unmatched = client::decode(json)?;
    client::print_line(&render(&list.receipts))?;
    match list.next_before {
        Some(before) => client::print_line(&format!("older ones: --before {before}")),
        None => Ok(()),
    }
}

fn given_up(args: &GivenUp) -> anyhow::Result<()> {
    let replayed = args.replayed.map(|replayed| replayed.to_string());
    let given = [
        ("account", &args.account),
        ("before", &args.before),
        ("replayed", &replayed),
    ];
    let path = page(GIVEN_UP, args.limit, &given);
    let json = args.connection.open()?.get(&path)?;
    if args.connection.json {
        return client::print_json(&json);
    }
    let list: Messages = client::decode(json)?;
    client::print_line(&render_given_up(&list.messages))?;
    match list.next_before {
        Some(before) => client::print_line(&format!("older ones: --before {before}")),
        None => Ok(()),
    }
}

/// The path of a page of a list, with what is given.
fn page(list: &str, limit: u32, given: &[(&str, &Option<String>)]) -> String {
    let mut path = format!("{list}?limit={limit}");
    for (name, value) in given {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", client::segment(value)));
        }
    }
    path
}

fn replay(client: &Client, message: &str, again: bool) -> anyhow::Result<String> {
    let path = format!("{GIVEN_UP}/{}/replay", client::segment(message));
    let json = client.post_json(&path, &json!({ "again": again }))?;
    let sent: Replayed = client::decode(json)?;
    Ok(sent.message)
}

/// Page by page: what was sent again is not listed any more.
fn replay_all(client: &Client, account: &str) -> anyhow::Result<()> {
    let path = format!(
        "{GIVEN_UP}?replayed=false&limit=1000&account={}",
        client::segment(account)
    );
    let (mut count, mut before) = (0, None::<String>);
    loop {
        let page = match &before {
            Some(before) => format!("{path}&before={before}"),
            None => path.clone(),
        };
        let list: Messages = client::decode(client.get(&page)?)?;
        for message in &list.messages {
            replay(client, &message.id, false)?;
            count += 1;
        }
        before = list.next_before;
        if before.is_none() {
            return client::print_line(&format!("{count} receipts are sent again"));
        }
    }
}

fn render_given_up(messages: &[Message]) -> String {
    let mut table = client::table(&[
        "message",
        "account",
        "to",
        "state",
        "given up",
        "why",
        "sent again",
    ]);
    for message in messages {
        let last = |kind: &str| {
            message
                .changes
                .iter()
                .rev()
                .find(|change| change.kind == kind)
        };
        let given_up = last("give_up");
        table.add_row([
            message.id.clone(),
            message.sender.clone(),
            message.to.clone(),
            message.state.clone(),
            client::time(given_up.and_then(|change| change.at.as_deref())),
            given_up.map_or_else(String::new, |change| change.by.clone()),
            client::time(last("tell_again").and_then(|change| change.at.as_deref())),
        ]);
    }
    table.to_string()
}

fn settle(connection: &Connection, receipt: &str, message: &str) -> anyhow::Result<()> {
    let path = format!("{PATH}/{}/match", client::segment(receipt));
    let order = json!({ "message": message });
    let json = connection.open()?.post_json(&path, &order)?;
    if connection.json {
        return client::print_json(&json);
    }
    let ended: Message = client::decode(json)?;
    client::print_line(&format!("message {} is {}", ended.id, ended.state))
}

fn drop_one(client: &Client, receipt: &str) -> anyhow::Result<()> {
    client.delete(&format!("{PATH}/{}", client::segment(receipt)))?;
    client::print_line(&format!("receipt {receipt} is dropped"))
}

fn render(receipts: &[UnmatchedReceipt]) -> String {
    let mut table = client::table(&[
        "receipt", "came", "operator", "their id", "from", "to", "state", "error", "done",
    ]);
    for receipt in receipts {
        table.add_row([
            receipt.id.clone(),
            client::time(receipt.at.as_deref()),
            receipt.operator.clone(),
            receipt.operator_message_id.clone(),
            receipt.from.clone(),
            receipt.to.clone(),
            receipt.state.clone(),
            receipt.error.clone(),
            client::time(receipt.done_at.as_deref()),
        ]);
    }
    table.to_string()
}
