//! `smsc token`: who may use the admin API.

use jiff::Timestamp;
use serde_json::json;

use super::client::{self, CommandOutput, Listing, OutputTable, TableCell, table_of};
use crate::api::{NewToken, Token, Tokens};
use crate::domain::access::AccessRole;

/// What to do with tokens.
#[derive(Debug, clap::Subcommand)]
pub enum TokenCommand {
    /// Create a token; it is printed once and not stored.
    Add(AddTokenArgs),
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
        telling: CommandOutput,
    },
}

/// Arguments of `smsc token add`.
#[derive(Debug, clap::Args)]
pub struct AddTokenArgs {
    /// Letters, digits, dots, underscores and hyphens.
    name: String,
    /// What it allows: `read` looks, but sees no texts; `operate` commands, and sees texts; `admin`
    /// may do everything.
    #[arg(long, value_parser = role, value_name = "ROLE")]
    role: AccessRole,
    /// Days until it ends; without it, it ends when it is removed.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36500))]
    days: Option<u32>,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: TokenCommand) -> anyhow::Result<()> {
    match order {
        TokenCommand::Add(args) => add(&args),
        TokenCommand::List { listing } => {
            listing.show("/v1/tokens", |found: Tokens| table(&found.tokens).into())
        }
        TokenCommand::Remove { name, telling } => remove(&telling, &name),
    }
}

fn add(args: &AddTokenArgs) -> anyhow::Result<()> {
    let order = json!({
        "name": args.name,
        "role": args.role.as_str(),
        "expires_at": end(args.days)?,
    });
    let json = args.telling.open()?.post_json("/v1/tokens", &order)?;
    // The secret alone, so that it can be piped into a file.
    args.telling.done(json, |made: NewToken| made.secret)
}

fn remove(telling: &CommandOutput, name: &str) -> anyhow::Result<()> {
    let path = format!("/v1/tokens/{}", client::segment(name));
    let json = telling.open()?.delete(&path)?;
    telling.done(json, |_: serde_json::Value| format!("{name} is removed"))
}

fn table(tokens: &[Token]) -> OutputTable {
    table_of!(tokens, |token| {
        "token" => token.name.clone(),
        "role" => token.role.clone(),
        "made" [1] => TableCell::time(token.created_at.as_deref()),
        "by" [2] => token.created_by.clone(),
        "ends" => ending(token.expires_at.as_deref()),
        "last used" [3] => TableCell::time(token.used_at.as_deref()),
    })
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
pub(super) fn ending(expires_at: Option<&str>) -> TableCell {
    match expires_at {
        None => TableCell::from("never"),
        moment => TableCell::time(moment),
    }
}

fn role(text: &str) -> Result<AccessRole, String> {
    AccessRole::from_name(text).ok_or_else(|| {
        let names = AccessRole::ALL.map(AccessRole::as_str);
        format!("the roles are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed_command;

    #[test]
    fn reads_a_role_and_an_end() {
        let line = parsed_command::<TokenCommand>(&[
            "token", "add", "ci", "--role", "read", "--days", "30",
        ]);
        let TokenCommand::Add(add) = line.unwrap() else {
            panic!("not add");
        };
        assert_eq!((add.role, add.days), (AccessRole::Read, Some(30)));
        assert!(parsed_command::<TokenCommand>(&["token", "add", "ci"]).is_err());
        assert!(parsed_command::<TokenCommand>(&["token", "add", "ci", "--role", "root"]).is_err());
    }
}
