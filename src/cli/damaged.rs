//! `smsc damaged`: rows of the store that are not as they were written, and forgetting them.

use super::client::{self, CommandOutput, Listing, OutputPage, OutputTable, TableCell, table_of};
use super::dead_letters::older;
use crate::api::{DamagedRowEntry, DamagedRows, Done};

const PATH: &str = "/v1/damaged";

/// Arguments of `smsc damaged`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DamagedArgs {
    #[command(subcommand)]
    order: Option<DamagedOrder>,
    #[command(flatten)]
    list: ListDamagedArgs,
}

#[derive(Debug, clap::Subcommand)]
enum DamagedOrder {
    /// Show them, as without a command.
    List(ListDamagedArgs),
    /// Take a row, or all, off the list; what is damaged stays so.
    Forget(ForgetDamagedArgs),
}

/// Arguments of `smsc damaged list`.
#[derive(Debug, clap::Args)]
struct ListDamagedArgs {
    /// Only the rows of this message, or the row with this number.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Entries per page.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Only what is behind this row: where the page before ended.
    #[arg(long, value_name = "TABLE/ID")]
    before: Option<String>,
    #[command(flatten)]
    listing: Listing,
}

/// Arguments of `smsc damaged forget`.
#[derive(Debug, clap::Args)]
struct ForgetDamagedArgs {
    /// The table of the row, as smsc damaged shows it.
    #[arg(long, requires = "id", required_unless_present = "all")]
    table: Option<String>,
    /// The id of the row, as smsc damaged shows it.
    #[arg(long, requires = "table", required_unless_present = "all")]
    id: Option<String>,
    /// All rows that are listed.
    #[arg(long, conflicts_with_all = ["table", "id"])]
    all: bool,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &DamagedArgs) -> anyhow::Result<()> {
    match &args.order {
        None => list(&args.list),
        Some(DamagedOrder::List(args)) => list(args),
        Some(DamagedOrder::Forget(args)) => forget(args),
    }
}

fn list(args: &ListDamagedArgs) -> anyhow::Result<()> {
    let given = [("id", &args.id), ("before", &args.before)];
    let path = client::with_given(format!("{PATH}?limit={}", args.limit), &given);
    args.listing.show(&path, |list: DamagedRows| page(&list))
}

fn forget(args: &ForgetDamagedArgs) -> anyhow::Result<()> {
    let path = match (&args.table, &args.id) {
        (Some(table), Some(id)) => {
            format!("{PATH}/{}/{}", client::segment(table), client::segment(id))
        }
        _ => PATH.to_owned(),
    };
    let json = args.telling.open()?.delete(&path)?;
    args.telling.done(json, |done: Done| {
        format!("{} rows are forgotten", client::number(done.count))
    })
}

fn page(list: &DamagedRows) -> OutputPage {
    let page = OutputPage::list(table(&list.rows), "nothing is damaged");
    page.text(older(list.next_before.as_deref()))
}

fn table(rows: &[DamagedRowEntry]) -> OutputTable {
    table_of!(rows, |row| {
        "table" => row.table.clone(),
        "id" => row.id.clone(),
        "found" [1] => TableCell::time(row.found_at.as_deref()),
        "why" => row.why.clone(),
        "seems to say" [2] => row.legible.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::Screen;
    use crate::cli::parsed;

    #[test]
    fn one_row_is_forgotten_by_both_its_names_or_all_are() {
        let read = |line: &[&str]| parsed(line).map(|args: DamagedArgs| args.order);
        assert!(matches!(read(&["x"]), Ok(None)));
        assert!(matches!(read(&["x", "--id", "7"]), Ok(None)));
        for right in [
            &["x", "forget", "--all"][..],
            &["x", "forget", "--table", "msg", "--id", "7"],
        ] {
            assert!(matches!(read(right), Ok(Some(_))), "{right:?}");
        }
        for wrong in [
            &["x", "forget"][..],
            &["x", "forget", "--id", "7"],
            &["x", "forget", "--table", "msg"],
            &["x", "forget", "--all", "--table", "msg", "--id", "7"],
            &["x", "--id", "7", "forget", "--all"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn says_what_is_damaged_and_where_the_next_page_begins() {
        let row = DamagedRowEntry {
            table: "msg".to_owned(),
            id: "7".to_owned(),
            why: "its content does not match its checksum".to_owned(),
            legible: "from ACME to 4477*****123".to_owned(),
            found_at: Some("2026-11-25T16:53:01.123Z".to_owned()),
        };
        let list = DamagedRows {
            rows: vec![row],
            next_before: Some("msg/7".to_owned()),
        };
        let text = page(&list).render(Screen::default());
        for part in ["msg", "does not match", "4477*****123", "--before msg/7"] {
            assert!(text.contains(part), "{text}");
        }
        let none = DamagedRows {
            rows: Vec::new(),
            next_before: None,
        };
        let text = page(&none).render(Screen::default());
        assert!(text.contains("nothing is damaged"), "{text}");
    }
}
