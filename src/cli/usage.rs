//! `smsc usage`: how many messages ended, and what they cost.

use super::client::{self, Connection};
use crate::api::{UsageReport, UsageSum};

/// Arguments of `smsc usage`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The first day (UTC), such as 2026-11-01; 29 days before the last one without it.
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// The last day; today without it.
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    /// Only this account.
    #[arg(long)]
    account: Option<String>,
    /// Only this operator.
    #[arg(long)]
    operator: Option<String>,
    /// Only this country, such as GB.
    #[arg(long)]
    country: Option<String>,
    /// Only this final state, such as DELIVERED.
    #[arg(long)]
    state: Option<String>,
    /// What sums are divided by: some of day, account, operator, country, state and kind.
    #[arg(long, value_name = "NAMES", default_value = "day,account")]
    by: String,
    /// Write CSV.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: Args) -> anyhow::Result<()> {
    let json = args.connection.open()?.get(&path(&args))?;
    if args.connection.json {
        return client::print_json(&json);
    }
    let usage: UsageReport = client::decode(json)?;
    if args.csv {
        return client::print_line(usage.csv().trim_end());
    }
    client::print_line(&render(&usage))
}

fn path(args: &Args) -> String {
    let mut path = format!("/v1/usage?by={}", client::segment(&args.by));
    for (key, value) in [
        ("from", &args.from),
        ("to", &args.to),
        ("account", &args.account),
        ("operator", &args.operator),
        ("country", &args.country),
        ("state", &args.state),
    ] {
        if let Some(value) = value {
            path.push_str(&format!("&{key}={}", client::segment(value)));
        }
    }
    path
}

/// A column for each dimension that was asked for.
fn render(usage: &UsageReport) -> String {
    type Text = fn(&UsageSum) -> &Option<String>;
    let texts: [(&str, Text); 6] = [
        ("day", |sum| &sum.day),
        ("account", |sum| &sum.account),
        ("operator", |sum| &sum.operator),
        ("country", |sum| &sum.country),
        ("state", |sum| &sum.state),
        ("kind", |sum| &sum.kind),
    ];
    let first = usage.usage.first();
    let shown: Vec<_> = texts
        .into_iter()
        .filter(|(_, text)| first.is_some_and(|sum| text(sum).is_some()))
        .collect();
    let mut titles: Vec<&str> = shown.iter().map(|(title, _)| *title).collect();
    titles.extend(["messages", "parts", "price", "currency"]);
    let mut table = client::table(&titles);
    for sum in &usage.usage {
        let mut cells: Vec<String> = shown
            .iter()
            .map(|(_, text)| text(sum).clone().unwrap_or_default())
            .collect();
        cells.extend([
            sum.messages.to_string(),
            sum.parts.to_string(),
            sum.price.to_string(),
            sum.currency.clone(),
        ]);
        table.add_row(cells);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn asks_for_what_was_named() {
        let args = parsed::<Args>(&["usage", "--from", "2026-11-01", "--country", "GB"]).unwrap();
        let asked = path(&args);
        assert!(asked.ends_with("&from=2026-11-01&country=GB"), "{asked}");
        assert!(parsed::<Args>(&["usage", "--csv", "--json"]).is_err());
    }

    #[test]
    fn shows_the_columns_that_there_are() {
        let sum = UsageSum {
            day: Some("2026-11-24".to_owned()),
            account: None,
            operator: None,
            country: Some("GB".to_owned()),
            state: None,
            kind: None,
            currency: "EUR".to_owned(),
            messages: 3,
            parts: 4,
            price: 5,
        };
        let text = render(&UsageReport { usage: vec![sum] });
        assert!(text.contains("country") && text.contains("GB"), "{text}");
        assert!(!text.contains("operator"), "{text}");
    }
}
