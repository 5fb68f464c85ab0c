//! `smsc usage`: how many messages ended, and what they cost.

use super::client::{self, Listing, OutputPage, OutputTable, TableCell};
use super::times::day;
use crate::api::{UsageReport, UsageSum};

/// Arguments of `smsc usage`.
#[derive(Debug, clap::Args)]
pub struct UsageArgs {
    /// The first day (UTC), such as 2026-11-01 or yesterday; 29 days before the last one without it.
    #[arg(long, value_name = "DAY", value_parser = day)]
    since: Option<String>,
    /// The last day; today without it.
    #[arg(long, value_name = "DAY", value_parser = day)]
    until: Option<String>,
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
    #[arg(long, value_name = "NAMES", default_value = "day,account,kind")]
    by: String,
    /// Print a line of names and a line per sum: short for -o csv.
    #[arg(long, conflicts_with_all = ["json", "output"], hide = true)]
    csv: bool,
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: UsageArgs) -> anyhow::Result<()> {
    if args.csv {
        let json = args.listing.open()?.get(&path(&args))?;
        return client::print_line(client::decode::<UsageReport>(json)?.csv().trim_end());
    }
    args.listing.show(&path(&args), |usage: UsageReport| {
        let page = if usage.usage.is_empty() {
            OutputPage::default().text("no message that fits has ended in these days")
        } else {
            OutputPage::from(table(&usage, false))
        };
        page.csv_as(table(&usage, true))
    })
}

fn path(args: &UsageArgs) -> String {
    let path = format!("/v1/usage?by={}", client::segment(&args.by));
    let given = [
        ("from", &args.since),
        ("to", &args.until),
        ("account", &args.account),
        ("operator", &args.operator),
        ("country", &args.country),
        ("state", &args.state),
    ];
    client::with_given(path, &given)
}

/// A column for each dimension that was asked for, or for all as the API has them in CSV.
fn table(usage: &UsageReport, for_csv: bool) -> OutputTable {
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
        .filter(|(_, text)| for_csv || first.is_some_and(|sum| text(sum).is_some()))
        .collect();
    let mut titles: Vec<&str> = shown.iter().map(|(title, _)| *title).collect();
    titles.extend(["currency", "messages", "parts", "price"]);
    let mut table = OutputTable::new(&titles).dropping(&["currency", "parts"]);
    for sum in &usage.usage {
        let mut cells: Vec<TableCell> = shown
            .iter()
            .map(|(_, text)| text(sum).clone().into())
            .collect();
        cells.extend([
            sum.currency.clone().into(),
            TableCell::right(sum.messages),
            TableCell::right(sum.parts),
            TableCell::right(sum.price),
        ]);
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::Screen;
    use crate::cli::parsed;

    #[test]
    fn asks_for_what_was_named() {
        let args =
            parsed::<UsageArgs>(&["usage", "--since", "2026-11-01", "--country", "GB"]).unwrap();
        let asked = path(&args);
        assert_eq!(
            asked,
            "/v1/usage?by=day%2Caccount%2Ckind&from=2026-11-01&country=GB"
        );
        assert!(parsed::<UsageArgs>(&["usage", "--csv", "--json"]).is_err());
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
        let report = UsageReport { usage: vec![sum] };
        let csv = OutputPage::from(table(&report, true)).csv().unwrap();
        assert_eq!(csv, report.csv().replace('\r', ""));
        let page = OutputPage::from(table(&report, false));
        let text = page.render(Screen::default());
        assert!(text.contains("country") && text.contains("GB"), "{text}");
        assert!(!text.contains("operator"), "{text}");
    }
}
