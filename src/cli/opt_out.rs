//! `smsc opt-out`: numbers that want no messages.

use super::client::{self, Cell, Client, Listing, Page, Table, Telling};
use super::dead_letters::older;
use crate::api::{ChangedOptOut, OptOut, OptOuts};

/// Arguments of `smsc opt-out`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    order: Order,
}

#[derive(Debug, clap::Subcommand)]
enum Order {
    /// Show opt-outs, newest first.
    List(List),
    /// Add numbers to a list.
    Add(Numbers),
    /// Remove numbers from a list; the audit log has who did it, and why.
    Remove(Numbers),
}

/// Arguments of `smsc opt-out list`.
#[derive(Debug, clap::Args)]
struct List {
    /// Only the list of this account.
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Only the lists that this number is on.
    #[arg(long, value_name = "NUMBER")]
    number: Option<String>,
    /// Numbers to show.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// `next_before` of the page before, as `-o json` shows it.
    #[arg(long, value_name = "BEFORE")]
    before: Option<u64>,
    #[command(flatten)]
    listing: Listing,
}

/// Arguments of `smsc opt-out add` and `smsc opt-out remove`.
#[derive(Debug, clap::Args)]
struct Numbers {
    /// Digits, with or without a plus.
    #[arg(required = true)]
    numbers: Vec<String>,
    /// The list of this account; without it, that of everybody.
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Why, for the audit log.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    telling: Telling,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.order {
        Order::List(args) => list(&args),
        Order::Add(args) => change(&args, |client, path| {
            client.put(path, &serde_json::Value::Null, None)
        }),
        Order::Remove(args) => change(&args, Client::delete),
    }
}

fn list(args: &List) -> anyhow::Result<()> {
    let mut path = format!("/v1/opt-outs?limit={}", args.limit);
    for (key, value) in [("account", &args.account), ("number", &args.number)] {
        if let Some(value) = value {
            path.push_str(&format!("&{key}={}", client::segment(value)));
        }
    }
    if let Some(before) = args.before {
        path.push_str(&format!("&before={before}"));
    }
    args.listing.show(&path, |found: OptOuts| {
        Page::from(table(&found.opt_outs)).text(older(found.next_before.as_deref()))
    })
}

fn change(
    args: &Numbers,
    order: impl Fn(&Client, &str) -> anyhow::Result<serde_json::Value>,
) -> anyhow::Result<()> {
    let client = args.telling.open()?;
    let query: Vec<_> = [("account", &args.account), ("reason", &args.reason)]
        .into_iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", client::segment(value.as_deref()?))))
        .collect();
    let query = query.join("&");
    for number in &args.numbers {
        let path = format!("/v1/opt-outs/{}?{query}", client::segment(number));
        let json = order(&client, &path)?;
        args.telling
            .done(json, |done: ChangedOptOut| match done.changed {
                true => format!("{number}: done"),
                false => format!("{number}: was so already"),
            })?;
    }
    Ok(())
}

fn table(opt_outs: &[OptOut]) -> Table {
    let mut table = Table::new(&["number", "account", "since", "by"]).dropping(&["by", "since"]);
    for one in opt_outs {
        table.row([
            Cell::from(one.number.clone()),
            one.account.as_deref().unwrap_or("(all)").into(),
            Cell::time(one.at.as_deref()),
            one.by.clone().into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn numbers_are_needed_and_may_be_several() {
        let read = |line: &[&str]| parsed(line).map(|args: Args| args.order);
        let Ok(Order::Add(add)) = read(&["x", "add", "441", "+442", "--account", "shop"]) else {
            panic!("not add");
        };
        assert_eq!(add.numbers, ["441", "+442"]);
        assert_eq!(add.account.as_deref(), Some("shop"));
        assert!(read(&["x", "remove"]).is_err());
        assert!(matches!(read(&["x", "list"]), Ok(Order::List(list)) if list.limit == 50));
    }
}
