//! `smsc opt-out`: numbers that want no messages.

use super::client::{
    self, AdminClient, CommandOutput, Listing, OutputPage, OutputTable, TableCell, table_of,
};
use super::dead_letters::older;
use crate::api::{ChangedOptOut, OptOut, OptOuts};

/// What to do with opt-outs.
#[derive(Debug, clap::Subcommand)]
pub enum OptOutCommand {
    /// Show opt-outs, newest first.
    List(ListOptOutsArgs),
    /// Add numbers to a list.
    Add(OptOutNumbersArgs),
    /// Remove numbers from a list; the audit log has who did it, and why.
    Remove(OptOutNumbersArgs),
}

/// Arguments of `smsc opt-out list`.
#[derive(Debug, clap::Args)]
pub struct ListOptOutsArgs {
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
pub struct OptOutNumbersArgs {
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
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: OptOutCommand) -> anyhow::Result<()> {
    match order {
        OptOutCommand::List(args) => list(&args),
        OptOutCommand::Add(args) => change(&args, |client, path| {
            client.put(path, &serde_json::Value::Null, None)
        }),
        OptOutCommand::Remove(args) => change(&args, AdminClient::delete),
    }
}

fn list(args: &ListOptOutsArgs) -> anyhow::Result<()> {
    let before = args.before.map(|before| before.to_string());
    let given = [
        ("account", &args.account),
        ("number", &args.number),
        ("before", &before),
    ];
    let path = client::with_given(format!("/v1/opt-outs?limit={}", args.limit), &given);
    args.listing.show(&path, |found: OptOuts| {
        OutputPage::from(table(&found.opt_outs)).text(older(found.next_before.as_deref()))
    })
}

fn change(
    args: &OptOutNumbersArgs,
    order: impl Fn(&AdminClient, &str) -> anyhow::Result<serde_json::Value>,
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
        args.telling.done(json, |done: ChangedOptOut| {
            if done.changed {
                format!("{number}: done")
            } else {
                format!("{number}: was so already")
            }
        })?;
    }
    Ok(())
}

fn table(opt_outs: &[OptOut]) -> OutputTable {
    table_of!(opt_outs, |one| {
        "number" => one.number.clone(),
        "account" => one.account.as_deref().unwrap_or("(all)"),
        "since" [2] => TableCell::time(one.at.as_deref()),
        "by" [1] => one.by.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed_command;

    #[test]
    fn numbers_are_needed_and_may_be_several() {
        let read = |line: &[&str]| parsed_command::<OptOutCommand>(line);
        let Ok(OptOutCommand::Add(add)) = read(&["x", "add", "441", "+442", "--account", "shop"])
        else {
            panic!("not add");
        };
        assert_eq!(add.numbers, ["441", "+442"]);
        assert_eq!(add.account.as_deref(), Some("shop"));
        assert!(read(&["x", "remove"]).is_err());
        assert!(matches!(read(&["x", "list"]), Ok(OptOutCommand::List(list)) if list.limit == 50));
    }
}
