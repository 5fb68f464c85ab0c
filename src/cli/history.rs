//! `smsc history`: what was sent, refused and delivered, over time or by operator, account or error.

use super::client::{self, Listing, OutputPage, OutputTable, TableCell};
use super::times::moment;
use crate::api::{TrafficHistory, TrafficSums};

/// Arguments of `smsc history`.
#[derive(Debug, clap::Args)]
pub struct HistoryArgs {
    /// From then on: 2h, 15:12, yesterday, RFC 3339; 24 hours ago without it.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<String>,
    /// Until then; now without it.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<String>,
    /// A line for each minute (kept for a day) or for each hour.
    #[arg(long, value_name = "STEP", value_parser = ["minute", "hour"], default_value = "hour")]
    step: String,
    /// A line for each operator, account or error instead.
    #[arg(long, value_name = "WHAT", value_parser = ["operator", "account", "error"])]
    by: Option<String>,
    /// Only of this operator or GSM network.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Only of this account.
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only what was refused or failed so, as --by error shows it.
    #[arg(long, value_name = "ERROR")]
    error: Option<String>,
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &HistoryArgs) -> anyhow::Result<()> {
    args.listing.show(&path(args), |history: TrafficHistory| {
        let table = table(&history);
        if history.total == TrafficSums::default() {
            return OutputPage::nothing(&table, "nothing that fits was counted in this time");
        }
        OutputPage::from(table).text(about(&history))
    })
}

fn path(args: &HistoryArgs) -> String {
    let path = format!("/v1/history?step={}", args.step);
    let given = [
        ("since", &args.since),
        ("until", &args.until),
        ("by", &args.by),
        ("operator", &args.operator),
        ("account", &args.account),
        ("error", &args.error),
    ];
    client::with_given(path, &given)
}

/// A line for each point in time, or for each group.
fn table(history: &TrafficHistory) -> OutputTable {
    let lines: Vec<(TableCell, &TrafficSums)> = if history.by.is_some() {
        let groups = history.groups.iter();
        groups
            .map(|group| (TableCell::group(&group.key), &group.messages))
            .collect()
    } else {
        let points = history.points.iter();
        points
            .map(|point| (TableCell::time(point.at.as_deref()), &point.messages))
            .collect()
    };
    let titles = [
        history.by.as_deref().unwrap_or("since"),
        "accepted",
        "refused",
        "delivered",
        "failed",
        "answered in",
    ];
    let mut table = OutputTable::new(&titles).dropping(&["answered in"]);
    for (what, sums) in lines {
        table.row([
            what,
            TableCell::number(sums.accepted),
            TableCell::number(sums.refused),
            TableCell::number(sums.delivered),
            TableCell::number(sums.failed),
            answered_in(sums),
        ]);
    }
    table
}

fn answered_in(sums: &TrafficSums) -> TableCell {
    TableCell::right(
        sums.answer_ms
            .map_or_else(String::new, |ms| format!("{ms:.1} ms")),
    )
}

/// The sums, and what was left out.
fn about(history: &TrafficHistory) -> String {
    let (total, count) = (&history.total, client::number);
    let mut said = if history.only_failed {
        format!(
            "{} failed: of two conditions together only the largest sums of what failed are known",
            count(total.failed)
        )
    } else {
        format!(
            "{} accepted, {} refused, {} delivered, {} failed",
            count(total.accepted),
            count(total.refused),
            count(total.delivered),
            count(total.failed)
        )
    };
    if history.groups_only_failed {
        said.push_str("; of these lines only the largest sums of what failed are known");
    }
    if history.more_groups > 0 {
        said.push_str(&format!("; {} more lines", count(history.more_groups)));
    }
    if history.unread > 0 {
        said.push_str(&format!(
            "; {} parts cannot be read: they are damaged, or of a newer release",
            count(history.unread)
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{TrafficGroup, TrafficPoint};
    use crate::cli::client::Screen;
    use crate::cli::parsed;

    fn sums() -> TrafficSums {
        TrafficSums {
            accepted: 1_234,
            failed: 5,
            answer_ms: Some(12.34),
            ..TrafficSums::default()
        }
    }

    #[test]
    fn asks_for_what_was_named() {
        let args = parsed::<HistoryArgs>(&["history", "--by", "error", "--operator", "up"]);
        let asked = path(&args.unwrap());
        assert_eq!(asked, "/v1/history?step=hour&by=error&operator=up");
        assert!(parsed::<HistoryArgs>(&["history", "--by", "week"]).is_err());
    }

    #[test]
    fn shows_points_or_groups_and_the_sums() {
        let point = TrafficPoint {
            at: Some("2026-11-24T10:00:00.000Z".to_owned()),
            messages: sums(),
        };
        let mut history = TrafficHistory {
            total: sums(),
            points: vec![point],
            ..TrafficHistory::default()
        };
        let page = OutputPage::from(table(&history)).text(about(&history));
        let text = page.render(Screen::default());
        for part in ["2026-11-24 10:00:00", "1,234 accepted", "12.3 ms"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        history.by = Some("operator".to_owned());
        history.groups = vec![TrafficGroup {
            messages: sums(),
            ..TrafficGroup::default()
        }];
        history.only_failed = true;
        history.more_groups = 7;
        let page = OutputPage::from(table(&history)).text(about(&history));
        let text = page.render(Screen::default());
        for part in ["operator", "none", "5 failed: of two", "7 more lines"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
