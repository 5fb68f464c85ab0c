//! `smsc audit`: what was commanded and changed, by whom.

use super::client::{self, Listing, OutputPage, OutputTable, TableCell, table_of};
use super::dead_letters::older;
use super::times::moment;
use crate::api::{Audit, AuditEntry};
use crate::domain::settings::ResourceKey;

/// Arguments of `smsc audit`.
#[derive(Debug, clap::Args)]
pub struct AuditArgs {
    /// Only commands about this: accounts/shop, operators/up, queues.
    about: Option<String>,
    /// Only commands with the token of this name.
    #[arg(long, value_name = "TOKEN")]
    by: Option<String>,
    /// Only what was commanded then or later.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<String>,
    /// Only what was commanded before then.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<String>,
    /// Entries per page.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Only what is older than this entry: where the page before ended.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses: the audit log is for the role admin.
pub fn run(args: &AuditArgs) -> anyhow::Result<()> {
    args.listing.show(&path(args), |found: Audit| {
        let page = OutputPage::list(table(&found.entries), "no command fits");
        page.text(older(found.next_before.as_deref()))
    })
}

fn path(args: &AuditArgs) -> String {
    let named = args
        .about
        .as_deref()
        .map(|about| about.trim_start_matches('/'));
    // One of a kind by its name, which is more than a path that begins so; else the beginning of a path.
    let one =
        |about: &&str| about.matches('/').count() == 1 && about.parse::<ResourceKey>().is_ok();
    let about = named.filter(one).map(str::to_owned);
    let path = named.filter(|about| !one(about));
    let path = path.map(|about| format!("/v1/{about}"));
    let given = [
        ("about", &about),
        ("path", &path),
        ("token", &args.by),
        ("since", &args.since),
        ("until", &args.until),
        ("before", &args.before),
    ];
    client::with_given(format!("/v1/audit?limit={}", args.limit), &given)
}

fn table(entries: &[AuditEntry]) -> OutputTable {
    table_of!(entries, |entry| {
        // Entries of an earlier release have no words.
        let what = match entry.what.as_str() {
            "" => format!("{} {}", entry.method, entry.path),
            words => words.to_owned(),
        };
        "at" => TableCell::time(entry.at.as_deref()),
        "by" => entry.token.clone(),
        "from" [2] => entry.address.clone(),
        "what" => what,
        "details" [3] => entry.detail.clone(),
        "answer" [4] => TableCell::right(entry.status),
        "version" [1] => TableCell::right(entry.version.map(|version| version.to_string()).unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn asks_for_what_was_named() {
        for (about, wanted) in [
            ("accounts/shop", "about=accounts%2Fshop"),
            ("accounts/shop/rate", "path=%2Fv1%2Faccounts%2Fshop%2Frate"),
            ("queues", "path=%2Fv1%2Fqueues"),
        ] {
            let line = ["audit", about, "--by", "anna", "--limit", "5"];
            let asked = path(&parsed::<AuditArgs>(&line).unwrap());
            assert_eq!(asked, format!("/v1/audit?limit=5&{wanted}&token=anna"));
        }
    }
}
