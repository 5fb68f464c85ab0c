//! `smsc token`: who may use the admin API.

use jiff::Timestamp;
use serde_json::json;

use super::client::{self, Cell, Listing, Table, Telling};
use crate::api::{NewToken, Token, Tokens};
use crate::domain::access::Role;

/// Arguments of `smsc token`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    order: Order,
}

#[derive(Debug, clap::Subcommand)]
enum Order {
    /// Create a token; it is printed once and not stored.
    Add(Add),
    /// Show all tokens except the configured one.
    List {
        #[command(flatten)]
        listing: Listing,
    },
    /// Remove a token.
    Remove {
        /// Its name.
        name: String,
        #[command(flatten)]
        telling: Telling,
    },
}

/// Arguments of `smsc token add`.
#[derive(Debug, clap::Args)]
struct Add {
    /// Letters, digits, dots, underscores and hyphens.
    name: String,
    /// What it allows: `read` looks, but sees no texts; `operate` commands, and sees texts; `admin`
    /// may do everything.
    #[arg(long, value_parser = role, value_name = "ROLE")]
    role: Role,
    /// Days until it ends; without it, it ends when it is removed.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36500))]
    days: Option<u32>,
    #[command(flatten)]
    telling: Telling,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.order {
        Order::Add(args) => add(&args),
        Order::List { listing } => {
            listing.show("/v1/tokens", |found: Tokens| table(&found.tokens).into())
        }
        Order::Remove { name, telling } => remove(&telling, &name),
    }
}

fn add(args: &Add) -> anyhow::Result<()> {
    let order = json!({
        "name": args.name,
        "role": args.role.as_str(),
        "expires_at": end(args.days)?,
    });
    let json = args.telling.open()?.post_json("/v1/tokens", &order)?;
    // The secret alone, so that it can be piped into a file.
    args.telling.done(json, |made: NewToken| made.secret)
}

fn remove(telling: &Telling, name: &str) -> anyhow::Result<()> {
    let path = format!("/v1/tokens/{}", client::segment(name));
    let json = telling.open()?.delete(&path)?;
    telling.done(json, |_: serde_json::Value| format!("{name} is removed"))
}

fn table(tokens: &[Token]) -> Table {
    let titles = ["token", "role", "made", "by", "ends", "last used"];
    let mut table = Table::new(&titles).dropping(&["made", "by", "last used"]);
    for token in tokens {
        table.row([
            Cell::from(token.name.clone()),
            token.role.clone().into(),
            Cell::time(token.created_at.as_deref()),
            token.created_by.clone().into(),
            ending(token.expires_at.as_deref()),
            Cell::time(token.used_at.as_deref()),
        ]);
    }
    table
}

/// When a token or key ends that lives for so many days, as the API reads it.
pub(super) fn end(days: Option<u32>) -> anyhow::Result<Option<String>> {
    let end = days.map(|days| {
        let now = crate::clock::now_ms();
        Timestamp::from_millisecond(now + i64::from(days) * 86_400_000)
    });
    Ok(end.transpose()?.map(|at| at.to_string()))
}

/// When a token or key ends, for a table.
pub(super) fn ending(expires_at: Option<&str>) -> Cell {
    match expires_at {
        None => Cell::from("never"),
        moment => Cell::time(moment),
    }
}

fn role(text: &str) -> Result<Role, String> {
    Role::from_name(text).ok_or_else(|| {
        let names = Role::ALL.map(Role::as_str);
        format!("the roles are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn reads_a_role_and_an_end() {
        let line = parsed::<Args>(&["token", "add", "ci", "--role", "read", "--days", "30"]);
        let Order::Add(add) = line.unwrap().order else {
            panic!("not add");
        };
        assert_eq!((add.role, add.days), (Role::Read, Some(30)));
        assert!(parsed::<Args>(&["token", "add", "ci"]).is_err());
        assert!(parsed::<Args>(&["token", "add", "ci", "--role", "root"]).is_err());
    }
}
