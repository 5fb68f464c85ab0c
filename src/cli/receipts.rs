//! `smsc receipt`: operators' receipts that match no message, and accounts' receipts that were given up.

use serde_json::{Value, json};

use super::client::{
    self, AdminClient, CommandOutput, Listing, OutputPage, OutputTable, TableCell, table_of,
};
use super::dead_letters::older;
use crate::api::{Message, Messages, Replayed, Unmatched, UnmatchedReceipt};

const PATH: &str = "/v1/receipts/unmatched";
const GIVEN_UP: &str = "/v1/receipts/given-up";

/// What to do with receipts.
#[derive(Debug, clap::Subcommand)]
pub enum ReceiptsCommand {
    /// Show the receipts that match no message, newest first.
    Unmatched(UnmatchedReceiptsArgs),
    /// End a message with the state of a receipt.
    Match {
        /// The receipt, as smsc receipt unmatched shows it.
        receipt: String,
        /// The message, as in submit_sm_resp.
        message: String,
        #[command(flatten)]
        telling: CommandOutput,
    },
    /// Show the receipts that accounts did not take and that were given up, newest first.
    GivenUp(GivenUpReceiptsArgs),
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
        telling: CommandOutput,
    },
    /// Drop a receipt.
    Drop {
        /// The receipt, as smsc receipt unmatched shows it.
        receipt: String,
        #[command(flatten)]
        telling: CommandOutput,
    },
}

/// Arguments of `smsc receipt unmatched`.
#[derive(Debug, clap::Args)]
pub struct UnmatchedReceiptsArgs {
    /// Only those of this operator.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Entries per page.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Only what is older than this receipt: where the page before ended.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// Show the texts of the receipts, too; it is noted in the audit log.
    #[arg(long)]
    text: bool,
    #[command(flatten)]
    listing: Listing,
}

/// Arguments of `smsc receipt given-up`.
#[derive(Debug, clap::Args)]
pub struct GivenUpReceiptsArgs {
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
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: &ReceiptsCommand) -> anyhow::Result<()> {
    match order {
        ReceiptsCommand::Unmatched(args) => list(args),
        ReceiptsCommand::Match {
            receipt,
            message,
            telling,
        } => settle(telling, receipt, message),
        ReceiptsCommand::GivenUp(args) => given_up(args),
        ReceiptsCommand::Replay {
            message,
            account,
            again,
            telling,
        } => match (message, account) {
            (Some(message), _) => {
                let json = replay(&telling.open()?, message, *again)?;
                telling.done(json, |sent: Replayed| {
                    format!("message {} brings it", sent.message)
                })
            }
            (None, account) => replay_all(telling, account.as_deref().unwrap_or_default()),
        },
        ReceiptsCommand::Drop { receipt, telling } => drop_one(telling, receipt),
    }
}

fn list(args: &UnmatchedReceiptsArgs) -> anyhow::Result<()> {
    let text = args.text.then(|| "true".to_owned());
    let given = [
        ("operator", &args.operator),
        ("before", &args.before),
        ("text", &text),
    ];
    let path = client::with_given(format!("{PATH}?limit={}", args.limit), &given);
    args.listing.show(&path, |list: Unmatched| {
        OutputPage::from(table(&list.receipts, args.text)).text(older(list.next_before.as_deref()))
    })
}

fn given_up(args: &GivenUpReceiptsArgs) -> anyhow::Result<()> {
    let replayed = args.replayed.map(|replayed| replayed.to_string());
    let given = [
        ("account", &args.account),
        ("before", &args.before),
        ("replayed", &replayed),
    ];
    let path = client::with_given(format!("{GIVEN_UP}?limit={}", args.limit), &given);
    args.listing.show(&path, |list: Messages| {
        OutputPage::from(given_up_table(&list.messages)).text(older(list.next_before.as_deref()))
    })
}

fn replay(client: &AdminClient, message: &str, again: bool) -> anyhow::Result<Value> {
    let path = format!("{GIVEN_UP}/{}/replay", client::segment(message));
    client.post_json(&path, &json!({ "again": again }))
}

/// Page by page: what was sent again is not listed any more.
fn replay_all(telling: &CommandOutput, account: &str) -> anyhow::Result<()> {
    let client = telling.open()?;
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
            replay(&client, &message.id, false)?;
            count += 1;
        }
        before = list.next_before;
        if before.is_none() {
            return telling.done(json!({ "replayed": count }), |_: Value| {
                format!("{count} receipts are sent again")
            });
        }
    }
}

fn given_up_table(messages: &[Message]) -> OutputTable {
    table_of!(messages, |message| {
        let last = |kind: &str| {
            message
                .changes
                .iter()
                .rev()
                .find(|change| change.kind == kind)
        };
        let given_up = last("give_up");
        "message" => message.id.clone(),
        "account" => message.sender.clone(),
        "to" [3] => message.to.clone(),
        "state" [4] => TableCell::state(message.state.clone()),
        "given up" [2] => TableCell::time(given_up.and_then(|change| change.at.as_deref())),
        "why" => given_up.map(|change| change.by.clone()),
        "sent again" [1] => TableCell::time(last("tell_again").and_then(|change| change.at.as_deref())),
    })
}

fn settle(telling: &CommandOutput, receipt: &str, message: &str) -> anyhow::Result<()> {
    let path = format!("{PATH}/{}/match", client::segment(receipt));
    let order = json!({ "message": message });
    let json = telling.open()?.post_json(&path, &order)?;
    telling.done(json, |ended: Message| {
        format!("message {} is {}", ended.id, ended.state)
    })
}

fn drop_one(telling: &CommandOutput, receipt: &str) -> anyhow::Result<()> {
    let path = format!("{PATH}/{}", client::segment(receipt));
    let json = telling.open()?.delete(&path)?;
    telling.done(json, |_: Value| format!("receipt {receipt} is dropped"))
}

fn table(receipts: &[UnmatchedReceipt], with_text: bool) -> OutputTable {
    let mut titles = vec![
        "receipt", "came", "operator", "their id", "from", "to", "state", "error", "done",
    ];
    titles.extend(with_text.then_some("text"));
    let mut table = OutputTable::new(&titles).dropping(&["done", "error", "from", "came", "to"]);
    for receipt in receipts {
        let text = with_text.then(|| TableCell::from(receipt.text.clone()));
        let cells = [
            TableCell::from(receipt.id.clone()),
            TableCell::time(receipt.at.as_deref()),
            receipt.operator.clone().into(),
            receipt.operator_message_id.clone().into(),
            receipt.from.clone().into(),
            receipt.to.clone().into(),
            TableCell::state(receipt.state.clone()),
            receipt.error.clone().into(),
            TableCell::said_time(receipt.done_at.as_deref()),
        ];
        table.row(cells.into_iter().chain(text));
    }
    table
}
