//! `smsc replay`: replays failed messages, one by its id or all that match a filter.

use anyhow::bail;
use serde_json::{Map, Value, json};

use super::ask::confirm;
use super::client::{self, Client, Telling};
use super::dead_letters::Filter;
use crate::api::{ReplayReport, Replayed};

const PATH: &str = "/v1/messages/replay";

/// Arguments of `smsc replay`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// One failed message.
    #[arg(conflicts_with_all = ["destination", "source", "account", "operator", "state", "error",
        "since", "until", "before", "limit", "dry_run"])]
    id: Option<String>,
    #[command(flatten)]
    filter: Filter,
    /// Send them there: an operator, or a queue as smsc queues names it; without it, by their routes.
    #[arg(long, value_name = "QUEUE")]
    to: Option<String>,
    /// How long they are valid: 1h; without it, as long as their senders asked for.
    #[arg(long, value_name = "DURATION")]
    validity: Option<String>,
    /// Send receipts with the new ids to senders that had asked for receipts.
    #[arg(long)]
    receipt: bool,
    /// Also messages that were replayed before.
    #[arg(long)]
    again: bool,
    /// Most messages to replay.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Only count matching messages.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    telling: Telling,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses; no filter was given.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut how = Map::new();
    how.insert("receipt".to_owned(), json!(args.receipt));
    how.insert("again".to_owned(), json!(args.again));
    for (name, value) in [("to", &args.to), ("validity", &args.validity)] {
        if let Some(value) = value {
            how.insert(name.to_owned(), json!(value));
        }
    }
    let client = args.telling.open()?;
    match &args.id {
        Some(id) => one(&client, id, &Value::Object(how), &args.telling),
        None => many(&client, args, how),
    }
}

fn one(client: &Client, id: &str, how: &Value, telling: &Telling) -> anyhow::Result<()> {
    let path = format!("/v1/messages/{}/replay", client::segment(id));
    let json = client.post_json(&path, how)?;
    telling.done(json, |done: Replayed| {
        format!("message {id} is sent again as {}", done.message)
    })
}

fn many(client: &Client, args: &Args, mut order: Map<String, Value>) -> anyhow::Result<()> {
    let filter: Map<String, Value> = args
        .filter
        .given()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    if filter.is_empty() {
        bail!("which messages? Give an id, or a filter such as --operator or --since");
    }
    order.insert("filter".to_owned(), Value::Object(filter));
    order.insert("limit".to_owned(), json!(args.limit));
    order.insert("dry_run".to_owned(), json!(true));
    let looked = client.post_json(PATH, &Value::Object(order.clone()))?;
    let found: ReplayReport = client::decode(looked.clone())?;
    if args.dry_run || found.matched == 0 {
        return args.telling.done(looked, |found| said(&found));
    }
    let question = format!("Send {} messages again?", client::number(found.matched));
    confirm(&question, args.yes, "nothing was sent")?;
    order.insert("dry_run".to_owned(), json!(false));
    let mut all: Option<ReplayReport> = None;
    loop {
        let json = client.post_json(PATH, &Value::Object(order.clone()))?;
        let report: ReplayReport = client::decode(json)?;
        let goes_on = report.left > 0 && report.replayed > 0 && !args.again;
        let all = match &mut all {
            Some(all) => {
                all.replayed += report.replayed;
                all.refused = report.refused;
                all.reasons = report.reasons;
                all.left = report.left;
                all
            }
            None => all.insert(report),
        };
        if goes_on {
            eprintln!("{} sent again, {} to go", all.replayed, all.left);
            continue;
        }
        return args
            .telling
            .done(serde_json::to_value(&*all)?, |all| said(&all));
    }
}

fn said(report: &ReplayReport) -> String {
    let number = client::number;
    let mut said = match report.dry_run || report.matched == 0 {
        true => format!("{} messages fit", number(report.matched)),
        false => format!(
            "{} of {} messages are sent again",
            number(report.replayed),
            number(report.matched)
        ),
    };
    if report.refused > 0 {
        said.push_str(&format!(", {} cannot be:", number(report.refused)));
        for one in &report.reasons {
            said.push_str(&format!("\n  {}", one.reason));
        }
    }
    if report.left > 0 {
        said.push_str(&format!("\n{} are left: run it again", number(report.left)));
    }
    if let Some(before) = &report.next_before {
        said.push_str(&format!("\nthere may be older ones: --before {before}"));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn takes_an_id_or_a_filter() {
        let line = |all: &str| parsed::<Args>(&all.split(' ').collect::<Vec<_>>());
        assert_eq!(line("replay 17 --to b").unwrap().id.as_deref(), Some("17"));
        let many = line("replay --operator up --state EXPIRED --limit 10000").unwrap();
        let given = many.filter.given();
        assert_eq!(given, [("operator", "up"), ("state", "EXPIRED")]);
        assert!(line("replay 17 --operator up").is_err());
        assert!(line("replay --operator up --limit 10001").is_err());
    }

    #[test]
    fn says_what_came_of_it() {
        let report = ReplayReport {
            dry_run: false,
            matched: 3,
            replayed: 2,
            refused: 1,
            reasons: vec![crate::api::RefusedReplay {
                id: "17".to_owned(),
                reason: "message 17 cannot be sent again: its text was erased".to_owned(),
            }],
            left: 0,
            next_before: Some("9".to_owned()),
        };
        let said = said(&report);
        for part in ["2 of 3", "1 cannot be", "message 17", "--before 9"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}
