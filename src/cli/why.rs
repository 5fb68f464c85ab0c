//! `smsc why`: why a message, a number or an account is as it is, and the usual cure, from what the admin API tells.

mod cure;

use anyhow::bail;
use serde_json::{Value, json};

use super::balance;
use super::binds::bind_table;
use super::client::{self, AdminApiError, AdminClient, Listing, OutputPage, TableCell};
use super::dead_letters;
use super::{message, queues, resource, route};
use crate::api::{Balance, Binds, Explanation, Message, Messages, OptOuts, Queue};
use crate::domain::settings::ResourceKind;
use cure::CauseAndCure;

/// How many failures are shown.
const FAILURES: u32 = 10;

/// Arguments of `smsc why`.
#[derive(Debug, clap::Args)]
pub struct WhyArgs {
    /// The id of a message, the system_id of an account, or the number of a subscriber, also with a plus.
    #[arg(value_name = "ID|NUMBER|ACCOUNT")]
    what: String,
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, it refuses, or knows nothing of this name.
pub fn run(args: &WhyArgs) -> anyhow::Result<()> {
    args.listing
        .show_all(|client| ask(client, &args.what), page)
}

/// Everything that is told, under `message`, `number` or `account`.
fn ask(client: &AdminClient, what: &str) -> anyhow::Result<Value> {
    if is_id(what)
        && let Some(found) = known(client.get(&format!("/v1/messages/{}", client::segment(what))))?
    {
        let verdict = CauseAndCure::of(&client::decode(found.clone())?);
        return Ok(json!({ "message": found, "cause": verdict.cause, "cure": verdict.cure }));
    }
    // An account may be called as a number is.
    match known(client.get(&format!("/v1/accounts/{}", client::segment(what))))? {
        Some(account) => of_account(client, what, account),
        None if is_number(what) => of_number(client, what),
        None => bail!(AdminApiError::NotFound(format!(
            "there is no message and no account {what:?}; `smsc account list` and `smsc message list` show them"
        ))),
    }
}

fn of_number(client: &AdminClient, number: &str) -> anyhow::Result<Value> {
    let to = number.trim_start_matches('+');
    Ok(json!({
        "number": number,
        "route": client.get(&format!("/v1/routes/explain?to={to}&from=&account=&network="))?,
        "opt_outs": client.get(&format!("/v1/opt-outs?number={to}"))?["opt_outs"],
        "failed": client.get(&format!("/v1/dead-letters?limit={FAILURES}&to={to}"))?,
    }))
}

fn of_account(client: &AdminClient, name: &str, account: Value) -> anyhow::Result<Value> {
    let segment = client::segment(name);
    let mut binds: Binds = client::decode(client.get("/v1/binds")?)?;
    binds.binds.retain(|bind| bind.name == name);
    // It has none before its first bind or message.
    let queue = known(client.get(&format!("/v1/queues/account:{segment}")))?;
    Ok(json!({
        "account": account,
        "binds": binds.binds,
        "queue": queue,
        "balance": client.get(&format!("/v1/accounts/{segment}/balance"))?,
        "failed": client.get(&format!("/v1/dead-letters?limit={FAILURES}&account={segment}"))?,
    }))
}

/// What was answered; `None` for what is not there.
fn known(answer: anyhow::Result<Value>) -> anyhow::Result<Option<Value>> {
    match answer {
        Err(error) if matches!(error.downcast_ref(), Some(AdminApiError::NotFound(_))) => Ok(None),
        answer => answer.map(Some),
    }
}

/// Decimal, or the 16 hexadecimal digits that some accounts are told.
fn is_id(what: &str) -> bool {
    let is_hex = what.bytes().all(|octet| octet.is_ascii_hexdigit());
    let is_decimal = what.bytes().all(|octet| octet.is_ascii_digit());
    !what.is_empty() && what.len() <= 20 && (is_decimal || (is_hex && what.len() == 16))
}

fn is_number(what: &str) -> bool {
    let digits = what.strip_prefix('+').unwrap_or(what);
    // E.164 has 15 digits at most.
    (1..=15).contains(&digits.len()) && digits.bytes().all(|octet| octet.is_ascii_digit())
}

fn page(json: Value) -> anyhow::Result<OutputPage> {
    if json["message"].is_object() {
        return message_page(&json);
    }
    let page = if json["number"].is_string() {
        number_page(&json)?
    } else {
        account_page(&json)?
    };
    let failed: Messages = client::decode(json["failed"].clone())?;
    if failed.messages.is_empty() {
        return Ok(page.text("no message has failed as far as is kept"));
    }
    let page = page.text("the last messages that failed, of which `smsc why ID` tells more:");
    Ok(page.table(dead_letters::table(&failed.messages)))
}

/// The timeline, then the cause and the cure.
fn message_page(json: &Value) -> anyhow::Result<OutputPage> {
    let found: Message = client::decode(json["message"].clone())?;
    let verdict = ["cause", "cure"].map(|name| {
        let text = json[name].as_str().unwrap_or_default();
        (name, TableCell::from(text))
    });
    Ok(message::page(&found).facts(verdict))
}

fn number_page(json: &Value) -> anyhow::Result<OutputPage> {
    let route: Explanation = client::decode(json["route"].clone())?;
    let opt_outs = json!({ "opt_outs": json["opt_outs"], "next_before": null });
    let opt_outs: OptOuts = client::decode(opt_outs)?;
    let mut page = OutputPage::default().text(route::render(&route));
    for one in &opt_outs.opt_outs {
        let whose = one.account.as_deref().unwrap_or("everybody");
        page = page.text(format!(
            "it is on the opt-out list of {whose} since {}, by {}",
            client::time(one.at.as_deref()),
            one.by
        ));
    }
    Ok(page)
}

fn account_page(json: &Value) -> anyhow::Result<OutputPage> {
    let balance: Balance = client::decode(json["balance"].clone())?;
    let binds: Binds = client::decode(json!({ "binds": json["binds"] }))?;
    let mut page = resource::show(ResourceKind::Account, &json["account"], false)
        .facts(balance::facts(&balance));
    let queue: Option<Queue> = client::decode(json["queue"].clone())?;
    if let Some(queue) = queue {
        page = page.aside(queues::table(&[queue]));
    }
    if binds.binds.is_empty() {
        return Ok(page.text("it is not bound: messages and receipts for it wait until it is"));
    }
    Ok(page.aside(bind_table(&binds.binds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_numbers_are_told_apart() {
        for (what, id, number) in [
            ("1853010945916928000", true, false),
            ("447700900123", true, true),
            ("+447700900123", false, true),
            ("19B6F3A0C2D4E801", true, false),
            ("shop", false, false),
            ("", false, false),
            ("cafe", false, false),
        ] {
            assert_eq!((is_id(what), is_number(what)), (id, number), "{what}");
        }
    }
}
