//! One order for many messages: `smsc message replay` and `smsc message cancel`. Counts them, asks, and repeats the order until
//! nothing is left of it.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ask::confirm;
use super::client::{self, CommandOutput};
use super::exit::{PartlyRefused, WrongCommandLine};
use crate::api::RefusedReplay;

/// Which messages of a search an order is about.
#[derive(Debug, clap::Args)]
pub struct Bounds {
    /// At most so many messages, the newest first.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Only count matching messages.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

/// What is ordered, and how it is called.
pub struct BulkOrder<'a> {
    pub path: &'static str,
    /// What messages must be, by the names of the API.
    pub filter: Vec<(&'static str, &'a str)>,
    /// What else the body has.
    pub more: Map<String, Value>,
    /// Said when there is no filter.
    pub which: &'static str,
    /// The name of the count of what was done.
    pub done: &'static str,
    /// Asked with the number in the place of `{}`.
    pub question: &'static str,
    /// Said when the answer is no.
    pub refused: &'static str,
    /// `3 of 4 messages …`
    pub past: &'static str,
    /// Messages that were done fit no more, so that the order can be repeated for what is left.
    pub may_repeat: bool,
}

/// What both orders answer.
#[derive(Debug, Deserialize)]
struct BulkReport {
    dry_run: bool,
    matched: u64,
    #[serde(alias = "replayed", alias = "cancelled")]
    done: u64,
    refused: u64,
    reasons: Vec<RefusedReplay>,
    left: u64,
    next_before: Option<String>,
}

/// Carries out an order.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses the order or some of the messages; no filter was given.
pub fn run(order: BulkOrder<'_>, bounds: &Bounds, telling: &CommandOutput) -> anyhow::Result<()> {
    if order.filter.is_empty() {
        return Err(WrongCommandLine(order.which.to_owned()).into());
    }
    let client = telling.open()?;
    let filter = order.filter.into_iter();
    let filter: Map<String, Value> = filter
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let mut body = order.more;
    body.insert("filter".to_owned(), Value::Object(filter));
    let mut ask = |dry_run: bool, limit: u64| {
        body.insert("limit".to_owned(), json!(limit));
        body.insert("dry_run".to_owned(), json!(dry_run));
        client.post_json(order.path, &Value::Object(body.clone()))
    };
    let limit = u64::from(bounds.limit);
    let looked = ask(true, limit)?;
    let found: BulkReport = client::decode(looked.clone())?;
    if bounds.dry_run || found.matched == 0 {
        return telling.done(looked, |found| said(&found, order.past));
    }
    let question = order.question.replace("{}", &client::number(found.matched));
    confirm(&question, bounds.yes, order.refused)?;
    let mut all = ask(false, limit)?;
    let mut last: BulkReport = client::decode(all.clone())?;
    let mut done = last.done;
    while order.may_repeat && last.left > 0 && last.done > 0 {
        eprintln!("{} {}, {} to go", done, order.past, last.left);
        let json = ask(false, last.unfinished())?;
        last = client::decode(json.clone())?;
        done += last.done;
        for key in ["refused", "reasons", "left"] {
            all[key] = json[key].clone();
        }
        all[order.done] = json!(done);
    }
    telling.done(all, |all| said(&all, order.past))?;
    if last.refused > 0 {
        return Err(PartlyRefused {
            refused: last.refused,
            matched: found.matched,
        }
        .into());
    }
    Ok(())
}

impl BulkReport {
    /// So many of the messages that were found fit still. An order that is repeated with its first limit would go on with
    /// older ones, beyond that limit.
    fn unfinished(&self) -> u64 {
        self.left.saturating_add(self.refused).max(1)
    }
}

fn said(report: &BulkReport, past: &str) -> String {
    let number = client::number;
    let mut said = if report.dry_run || report.matched == 0 {
        format!("{} messages fit", number(report.matched))
    } else {
        format!(
            "{} of {} messages {past}",
            number(report.done),
            number(report.matched)
        )
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

    #[test]
    fn says_what_came_of_it() {
        let answer = |done: &str| {
            json!({
                "dry_run": false, "matched": 3, done: 2, "refused": 1, "left": 0, "next_before": "9",
                "reasons": [{ "id": "17", "reason": "message 17 cannot be sent again: its text was erased" }],
            })
        };
        for done in ["replayed", "cancelled"] {
            let report: BulkReport = client::decode(answer(done)).unwrap();
            assert_eq!(report.unfinished(), 1, "it is refused again");
            let said = said(&report, "are sent again");
            for part in [
                "2 of 3 messages are sent again",
                "1 cannot be",
                "message 17",
                "--before 9",
            ] {
                assert!(said.contains(part), "{part}: {said}");
            }
        }
    }
}
