//! `smsc failures`: how many messages have failed, by what they have in common.

use super::client::{self, Listing, OutputPage, OutputTable, TableCell, table_of};
use super::times::moment;
use crate::api::FailureReport;

/// Arguments of `smsc failures`.
#[derive(Debug, clap::Args)]
pub struct FailuresArgs {
    /// What they are counted by.
    #[arg(
        long,
        value_name = "WHAT",
        value_parser = ["error", "operator", "account", "country", "hour"],
        default_value = "error"
    )]
    by: String,
    /// Only messages that ended then or later [default: 24 hours ago].
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<String>,
    /// Only messages that ended before then.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<String>,
    /// Only messages to this number, or to all that begin as 49* does.
    #[arg(long, value_name = "NUMBER")]
    to: Option<String>,
    /// Only messages of this account or operator.
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only messages that failed at this operator.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Only messages with this final state [default: EXPIRED, UNDELIVERABLE, UNKNOWN and REJECTED].
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only messages with this error code, this command_status by name, or none.
    #[arg(long, value_name = "CODE")]
    error: Option<String>,
    /// Only messages to this country: DE, or none.
    #[arg(long, value_name = "COUNTRY")]
    country: Option<String>,
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &FailuresArgs) -> anyhow::Result<()> {
    args.listing
        .show(&path(args), |report: FailureReport| page(&report))
}

/// Who is not well comes last, where it is seen.
fn page(report: &FailureReport) -> OutputPage {
    let table = table(report);
    let page = if report.groups.is_empty() {
        OutputPage::nothing(&table, "nothing that fits has failed in this time")
    } else {
        OutputPage::from(table).text(about(report))
    };
    let incidents = report.incidents.iter();
    incidents.fold(page, |page, incident| page.text(incident.clone()))
}

fn path(args: &FailuresArgs) -> String {
    let path = format!("/v1/failures?by={}", args.by);
    let given = [
        ("ended_since", &args.since),
        ("ended_until", &args.until),
        ("to", &args.to),
        ("account", &args.account),
        ("operator", &args.operator),
        ("state", &args.state),
        ("error", &args.error),
        ("country", &args.country),
    ];
    client::with_given(path, &given)
}

fn table(report: &FailureReport) -> OutputTable {
    if report.by == "error" {
        table_of!(&report.groups, |group| {
            let words = group.in_words.as_ref();
            "error" => TableCell::group(&group.key),
            "messages" => TableCell::number(group.messages),
            "name" => words.map(|words| words.name.clone()),
            "meaning" [2] => words.map(|words| words.meaning.clone()),
            "usually helps" [1] => words.map(|words| client::by_commands(&words.cure)),
        })
    } else {
        let mut table = OutputTable::new(&[report.by.as_str(), "messages"]);
        for group in &report.groups {
            table.row([
                TableCell::group(&group.key),
                TableCell::number(group.messages),
            ]);
        }
        table
    }
}

/// How many these are, and what was left out.
fn about(report: &FailureReport) -> String {
    let mut said = format!("{} messages have failed", client::number(report.messages));
    if report.rest > 0 {
        said.push_str(&format!(
            ", {} of them in other groups",
            client::number(report.rest)
        ));
    }
    if !report.complete {
        let since = client::time(report.counted_since.as_deref());
        said.push_str(&format!(
            "; only those since {since} were counted: ask for a shorter time"
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{ErrorInWords, FailureGroup};
    use crate::cli::client::Screen;
    use crate::cli::parsed;

    #[test]
    fn asks_for_what_was_named() {
        let args = parsed::<FailuresArgs>(&["failures", "--by", "country", "--to", "49*"]);
        assert_eq!(path(&args.unwrap()), "/v1/failures?by=country&to=49%2A");
        assert!(parsed::<FailuresArgs>(&["failures", "--by", "week"]).is_err());
    }

    #[test]
    fn says_what_errors_mean_and_what_was_not_counted() {
        let mut report = FailureReport {
            by: "error".to_owned(),
            ended_since: None,
            ended_until: None,
            complete: false,
            counted_since: Some("2026-11-24T10:05:00.000Z".to_owned()),
            messages: 1_234,
            groups: vec![FailureGroup {
                key: "88".to_owned(),
                messages: 1_200,
                latest: "17".to_owned(),
                in_words: Some(ErrorInWords {
                    name: "ESME_RTHROTTLED".to_owned(),
                    meaning: "More was sent than is allowed.".to_owned(),
                    cure: "Send slower.".to_owned(),
                }),
            }],
            rest: 34,
            buckets: Vec::new(),
            incidents: vec!["operator up refuses 50 % since 15:21 UTC".to_owned()],
        };
        let text = page(&report).render(Screen::default());
        for part in [
            "ESME_RTHROTTLED",
            "Send slower.",
            "1,234 messages have failed, 34 of them in other groups",
            "only those since 2026-11-24 10:05:00 UTC were counted",
            "operator up refuses 50 %",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        report.by = "operator".to_owned();
        report.groups[0].key = String::new();
        let text = OutputPage::from(table(&report)).render(Screen::default());
        assert!(text.contains("operator") && text.contains("none"), "{text}");
        report.groups.clear();
        let text = page(&report).render(Screen::default());
        assert!(
            text.contains("nothing that fits") && text.contains("up refuses"),
            "{text}"
        );
    }
}
