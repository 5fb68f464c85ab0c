//! `smsc key`: who may submit over HTTP for an account.

use serde_json::json;

use super::client::{self, CommandOutput, Listing, OutputTable, TableCell, table_of};
use super::token::{end, ending};
use crate::api::{ApiKey, ApiKeys, NewApiKey};
use crate::domain::access::KeyRole;

/// What to do with API keys.
#[derive(Debug, clap::Subcommand)]
pub enum ApiKeyCommand {
    /// Create an API key for an account; it is printed once and not stored.
    Add(AddApiKeyArgs),
    /// Show API keys.
    List {
        /// Only those of this account.
        account: Option<String>,
        #[command(flatten)]
        listing: Listing,
    },
    /// Revoke an API key.
    Remove {
        /// Its id, as `smsc key list` shows it.
        id: String,
        #[command(flatten)]
        telling: CommandOutput,
    },
}

/// Arguments of `smsc key add`.
#[derive(Debug, clap::Args)]
pub struct AddApiKeyArgs {
    /// The system_id of the account.
    account: String,
    /// What it allows: `send` submits, cancels and replaces messages; `read` sees the messages of the
    /// account; `both`; `consent`, which is both and takes numbers off the account's opt-out list.
    #[arg(long, value_parser = role, value_name = "ROLE", default_value = "both")]
    role: KeyRole,
    /// What it is for, such as "web shop".
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
    /// Days until it ends; without it, it ends when it is removed.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36500))]
    days: Option<u32>,
    /// An IP address or CIDR block that it may be used from; may be repeated.
    #[arg(long, value_name = "NETWORK")]
    allow: Vec<String>,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: ApiKeyCommand) -> anyhow::Result<()> {
    match order {
        ApiKeyCommand::Add(args) => add(&args),
        ApiKeyCommand::List { account, listing } => list(account.as_deref(), &listing),
        ApiKeyCommand::Remove { id, telling } => remove(&telling, &id),
    }
}

fn add(args: &AddApiKeyArgs) -> anyhow::Result<()> {
    let order = json!({
        "account": args.account,
        "label": args.label,
        "role": args.role.as_str(),
        "allow": args.allow,
        "expires_at": end(args.days)?,
    });
    let json = args.telling.open()?.post_json("/v1/api-keys", &order)?;
    // The secret alone, so that it can be piped into a file.
    args.telling.done(json, |made: NewApiKey| made.secret)
}

fn list(account: Option<&str>, listing: &Listing) -> anyhow::Result<()> {
    let path = match account {
        Some(account) => format!("/v1/api-keys?account={}", client::segment(account)),
        None => "/v1/api-keys".to_owned(),
    };
    listing.show(&path, |found: ApiKeys| table(&found.keys).into())
}

fn remove(telling: &CommandOutput, id: &str) -> anyhow::Result<()> {
    let path = format!("/v1/api-keys/{}", client::segment(id));
    let json = telling.open()?.delete(&path)?;
    telling.done(json, |_: serde_json::Value| format!("{id} is removed"))
}

fn table(keys: &[ApiKey]) -> OutputTable {
    table_of!(keys, |key| {
        let from = match key.allow.as_slice() {
            [] => "anywhere".to_owned(),
            some => some.join(", "),
        };
        "key" => key.id.clone(),
        "account" => key.account.clone(),
        "role" => key.role.clone(),
        "for" [5] => key.label.clone(),
        "from" [3] => from,
        "made" [1] => TableCell::time(key.created_at.as_deref()),
        "by" [2] => key.created_by.clone(),
        "ends" [6] => ending(key.expires_at.as_deref()),
        "last used" [4] => TableCell::time(key.used_at.as_deref()),
    })
}

fn role(text: &str) -> Result<KeyRole, String> {
    KeyRole::from_name(text).ok_or_else(|| {
        let names = KeyRole::ALL.map(KeyRole::as_str);
        format!("the roles are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed_command;

    #[test]
    fn reads_an_account_a_role_and_networks() {
        let line = parsed_command::<ApiKeyCommand>(&[
            "key",
            "add",
            "shop",
            "--role",
            "send",
            "--allow",
            "10.0.0.0/8",
            "--allow",
            "::1",
        ]);
        let ApiKeyCommand::Add(add) = line.unwrap() else {
            panic!("not add");
        };
        assert_eq!((add.account.as_str(), add.role), ("shop", KeyRole::Send));
        assert_eq!(add.allow, ["10.0.0.0/8", "::1"]);
        assert!(parsed_command::<ApiKeyCommand>(&["key", "add"]).is_err());
        assert!(
            parsed_command::<ApiKeyCommand>(&["key", "add", "shop", "--role", "admin"]).is_err()
        );
    }
}
