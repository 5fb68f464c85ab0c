//! `smsc trace`: what happens to the messages of one number, account or operator, as it happens.

use std::time::Duration;

use anyhow::bail;
use serde_json::json;

use super::client::{self, AdminConnection};
use crate::api::{End, Step, Steps};
use crate::config::{parse_duration, show_duration};

/// Arguments of `smsc trace`.
#[derive(Debug, clap::Args)]
pub struct TraceArgs {
    /// The number that messages are from or to.
    #[arg(
        long = "to",
        visible_alias = "number",
        value_name = "NUMBER",
        group = "whom"
    )]
    number: Option<String>,
    /// The account that brings messages or is given them.
    #[arg(long, value_name = "SYSTEM_ID", group = "whom")]
    account: Option<String>,
    /// The operator.
    #[arg(long, value_name = "ID", group = "whom", required_unless_present_any = ["number", "account"])]
    operator: Option<String>,
    /// How long: at most 1h.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    r#for: Duration,
    /// How to print them: table (a line per step) or json (a line per step, as the API has it).
    #[arg(short, long = "output", value_name = "FORMAT", value_parser = ["table", "json"],
          default_value = "table", hide_possible_values = true, help_heading = "Output")]
    output: String,
    #[command(flatten)]
    connection: AdminConnection,
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "expected a duration such as 90s or 5m".to_owned())
}

/// Runs the command until the trace ends by itself.
///
/// # Errors
/// The SMSC cannot be reached, knows no such account or operator, or has ended the trace before its time.
pub fn run(args: &TraceArgs) -> anyhow::Result<()> {
    let client = args.connection.open()?;
    let mut order = json!({ "for": show_duration(args.r#for) });
    for (key, value) in [
        ("number", &args.number),
        ("account", &args.account),
        ("operator", &args.operator),
    ] {
        if let Some(value) = value {
            order[key] = json!(value);
        }
    }
    let mut ended = None;
    client.follow("/v1/traces", &order, |kind, data| {
        match kind {
            "steps" => {
                let steps: Steps = client::decode(serde_json::from_str(data)?)?;
                for step in &steps.steps {
                    if args.output == "json" {
                        client::print_line(&serde_json::to_string(step)?)?;
                    } else {
                        client::print_line(&line(step))?;
                    }
                }
                if steps.missed > 0 {
                    eprintln!("{} steps are not shown: there were too many", steps.missed);
                }
            }
            "end" => ended = Some(client::decode::<End>(serde_json::from_str(data)?)?),
            _ => {}
        }
        Ok(ended.is_none())
    })?;
    match ended {
        Some(end) if end.reason != "its time is over" => {
            bail!("the trace has ended: {}", end.reason)
        }
        _ => Ok(()),
    }
}

fn line(step: &Step) -> String {
    let at = step.at.as_deref().unwrap_or_default();
    let time = at.get(11..23).unwrap_or(at);
    let message = step.message.as_deref().unwrap_or("no id");
    let what = match step.step.as_str() {
        "attempt" => format!("attempt {} to {}", step.attempt, step.queue),
        "receipt" => format!("receipt to {}", step.queue),
        "accepted" | "refused" => format!("{} from {}", step.step, step.sender),
        other => other.to_owned(),
    };
    let mut text = format!(
        "{time} node {} {message} {} → {}  {what}: {}",
        step.node, step.from, step.to, step.status
    );
    if step.latency_ms > 0 {
        text.push_str(&format!(" after {} ms", step.latency_ms));
    }
    match (step.step.as_str(), step.by.as_str()) {
        (_, "") => {}
        ("final", by) => text.push_str(&format!(", reported by {by}")),
        ("accepted", by) => text.push_str(&format!(" at {}, by {by}", step.queue)),
        (_, by) => text.push_str(&format!(", {by}")),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn a_step_is_a_line() {
        let step = Step {
            at: Some("2026-11-25T09:00:51.123Z".to_owned()),
            node: 1,
            step: "attempt".to_owned(),
            message: Some("17".to_owned()),
            from: "ACME".to_owned(),
            to: "447700900123".to_owned(),
            queue: "operator:up".to_owned(),
            status: "ESME_RTHROTTLED".to_owned(),
            attempt: 2,
            latency_ms: 12,
            ..Step::default()
        };
        assert_eq!(
            line(&step),
            "09:00:51.123 node 1 17 ACME → 447700900123  attempt 2 to operator:up: ESME_RTHROTTLED after 12 ms"
        );
    }

    #[test]
    fn one_is_traced_at_a_time() {
        let args = parsed::<TraceArgs>(&["trace", "--to", "41"]).unwrap();
        assert_eq!(args.r#for, Duration::from_secs(300));
        for wrong in [
            &["trace"][..],
            &["trace", "--to", "41", "--account", "a"],
            &["trace", "--to", "41", "--for", "soon"],
        ] {
            assert!(parsed::<TraceArgs>(wrong).is_err(), "{wrong:?}");
        }
    }
}
