//! `smsc balance`: the balance of an account, and top-ups.

use serde_json::json;

use super::client::{
    self, CommandOutput, Listing, OutputPage, OutputTable, Screen, TableCell, table_of,
};
use crate::api::{Balance, TopUps, ToppedUp};

/// What to do with balances.
#[derive(Debug, clap::Subcommand)]
pub enum BalanceCommand {
    /// Show the balance and the quota of an account.
    Show {
        /// The system_id of the account.
        account: String,
        #[command(flatten)]
        listing: Listing,
    },
    /// Add credits to the balance of an account, or take some back.
    Add(AddBalanceArgs),
    /// Show the top-ups of an account, newest first.
    TopUps {
        /// The system_id of the account.
        account: String,
        /// Most entries.
        #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        #[command(flatten)]
        listing: Listing,
    },
}

/// Arguments of `smsc balance add`.
#[derive(Debug, clap::Args)]
pub struct AddBalanceArgs {
    /// The system_id of the account.
    account: String,
    /// Credits; below zero takes some back: the balance is never below zero.
    #[arg(allow_negative_numbers = true)]
    credits: i64,
    /// Such as "invoice 7": with the same one again, nothing is added.
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: BalanceCommand) -> anyhow::Result<()> {
    match order {
        BalanceCommand::Show { account, listing } => {
            listing.show(&path(&account), |found: Balance| page(&found))
        }
        BalanceCommand::Add(args) => add(&args),
        BalanceCommand::TopUps {
            account,
            limit,
            listing,
        } => {
            let path = format!("{}/top-ups?limit={limit}", path(&account));
            listing.show(&path, |list: TopUps| table(&list).into())
        }
    }
}

fn path(account: &str) -> String {
    format!("/v1/accounts/{}/balance", client::segment(account))
}

fn add(args: &AddBalanceArgs) -> anyhow::Result<()> {
    let order = json!({ "add": args.credits, "reference": args.reference });
    let client = args.telling.open()?;
    let json = client.post_json(&path(&args.account), &order)?;
    args.telling.done(json, |done: ToppedUp| {
        let said = page(&done.balance).render(Screen::default());
        if done.repeated {
            format!("this reference was there already: nothing is added\n{said}")
        } else {
            said
        }
    })
}

fn page(balance: &Balance) -> OutputPage {
    OutputPage::default().facts(facts(balance))
}

/// What is left; for `smsc why` too.
pub(super) fn facts(balance: &Balance) -> [(&'static str, TableCell); 5] {
    let quota = balance.quota_per_day.map(|quota| {
        format!(
            "{} of {quota} segments used today; anew at {}",
            balance.quota_used_today,
            client::time(balance.resets_at.as_deref())
        )
    });
    let prepaid = if balance.prepaid { "yes" } else { "no" };
    [
        ("account", TableCell::from(balance.account.clone())),
        ("prepaid", prepaid.into()),
        ("credits left", TableCell::plain(balance.credits)),
        (
            "of them reserved by nodes",
            TableCell::plain(balance.reserved),
        ),
        ("quota", quota.into()),
    ]
}

fn table(list: &TopUps) -> OutputTable {
    table_of!(&list.top_ups, |top_up| {
        "at" => TableCell::time(top_up.at.as_deref()),
        "credits" => TableCell::right(top_up.add),
        "reference" => top_up.reference.clone(),
        "by" [1] => top_up.by.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed_command;

    #[test]
    fn a_correction_is_a_number_below_zero() {
        let line = ["balance", "add", "acme", "-20", "--reference", "wrong key"];
        let BalanceCommand::Add(add) = parsed_command::<BalanceCommand>(&line).unwrap() else {
            panic!("not add");
        };
        assert_eq!((add.account.as_str(), add.credits), ("acme", -20));
        assert!(parsed_command::<BalanceCommand>(&["balance", "add", "acme", "1.5"]).is_err());
    }

    #[test]
    fn shows_what_there_is() {
        let mut balance = Balance {
            account: "acme".to_owned(),
            prepaid: true,
            credits: 12,
            reserved: 0,
            quota_per_day: None,
            quota_used_today: 0,
            resets_at: None,
        };
        let text = |balance: &Balance| page(balance).render(Screen::default());
        assert!(text(&balance).contains("credits left               12"));
        balance.quota_per_day = Some(100);
        balance.reserved = 3;
        let text = text(&balance);
        assert!(text.contains("reserved by nodes  3"), "{text}");
        assert!(text.contains("0 of 100 segments"), "{text}");
    }
}
