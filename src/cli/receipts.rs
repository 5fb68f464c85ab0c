//! `smsc receipts`: operators' receipts that match no message.

use serde_json::json;

use super::client::{self, Client, Connection};
use crate::api::{Message, Unmatched, UnmatchedReceipt};

const PATH: &str = "/v1/receipts/unmatched";

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
        Order::Drop {
            receipt,
            connection,
        } => drop_one(&connection.open()?, receipt),
    }
}

fn list(args: &List) -> anyhow::Result<()> {
    let mut path = format!("{PATH}?limit={}", args.limit);
    for (name, value) in [("operator", &args.operator), ("before", &args.before)] {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", client::segment(value)));
        }
    }
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
