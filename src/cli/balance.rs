//! `smsc balance`: the balance of an account, and top-ups.

use serde_json::json;

use super::client::{self, Connection};
use crate::api::{Balance, TopUps, ToppedUp};

/// Arguments of `smsc balance`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    order: Order,
}

#[derive(Debug, clap::Subcommand)]
enum Order {
    /// Show the balance and the quota of an account.
    Show {
        /// The system_id of the account.
        account: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// Add credits to the balance of an account, or take some back.
    Add(Add),
    /// Show the top-ups of an account, newest first.
    TopUps {
        /// The system_id of the account.
        account: String,
        /// Most entries.
        #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        #[command(flatten)]
        connection: Connection,
    },
}

/// Arguments of `smsc balance add`.
#[derive(Debug, clap::Args)]
struct Add {
    /// The system_id of the account.
    account: String,
    /// Credits; below zero takes some back: the balance is never below zero.
    #[arg(allow_negative_numbers = true)]
    credits: i64,
    /// Such as "invoice 7": with the same one again, nothing is added.
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.order {
        Order::Show {
            account,
            connection,
        } => {
            let json = connection.open()?.get(&path(&account))?;
            if connection.json {
                return client::print_json(&json);
            }
            client::print_line(&show(&client::decode(json)?))
        }
        Order::Add(args) => add(&args),
        Order::TopUps {
            account,
            limit,
            connection,
        } => {
            let path = format!("{}/top-ups?limit={limit}", path(&account));
            let json = connection.open()?.get(&path)?;
            if connection.json {
                return client::print_json(&json);
            }
            client::print_line(&render(&client::decode(json)?))
        }
    }
}

fn path(account: &str) -> String {
    format!("/v1/accounts/{}/balance", client::segment(account))
}

fn add(args: &Add) -> anyhow::Result<()> {
    let order = json!({ "add": args.credits, "reference": args.reference });
    let client = args.connection.open()?;
    let json = client.post_json(&path(&args.account), &order)?;
    if args.connection.json {
        return client::print_json(&json);
    }
    let ToppedUp {
        repeated, balance, ..
    } = client::decode(json)?;
    if repeated {
        client::print_line("this reference was there already: nothing is added")?;
    }
    client::print_line(&show(&balance))
}

fn show(balance: &Balance) -> String {
    let mut lines = vec![match balance.prepaid {
        true => format!("{}: {} credits left", balance.account, balance.credits),
        false => format!(
            "{}: not prepaid, {} credits left",
            balance.account, balance.credits
        ),
    }];
    if balance.reserved != 0 {
        lines.push(format!("  of them reserved by nodes: {}", balance.reserved));
    }
    if let Some(quota) = balance.quota_per_day {
        lines.push(format!(
            "  quota: {} of {quota} segments used today; anew at {}",
            balance.quota_used_today,
            client::time(balance.resets_at.as_deref())
        ));
    }
    lines.join("\n")
}

fn render(list: &TopUps) -> String {
    let mut table = client::table(&["at", "credits", "reference", "by"]);
    for top_up in &list.top_ups {
        table.add_row([
            client::time(top_up.at.as_deref()),
            top_up.add.to_string(),
            top_up.reference.clone().unwrap_or_default(),
            top_up.by.clone(),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn a_correction_is_a_number_below_zero() {
        let line = ["balance", "add", "acme", "-20", "--reference", "wrong key"];
        let Order::Add(add) = parsed::<Args>(&line).unwrap().order else {
            panic!("not add");
        };
        assert_eq!((add.account.as_str(), add.credits), ("acme", -20));
        assert!(parsed::<Args>(&["balance", "add", "acme", "1.5"]).is_err());
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
        assert_eq!(show(&balance), "acme: 12 credits left");
        balance.quota_per_day = Some(100);
        balance.reserved = 3;
        let text = show(&balance);
        assert!(text.contains("reserved by nodes: 3"), "{text}");
        assert!(text.contains("0 of 100 segments"), "{text}");
    }
}
