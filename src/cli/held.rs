//! `smsc held`: messages that may have been sent before the database went back in time, and orders about them.

use super::client::{self, CommandOutput, Listing, OutputPage, TableCell, table_of};
use crate::api::{Done, HeldMessages};

const PATH: &str = "/v1/held";

/// Arguments of `smsc held`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct HeldArgs {
    #[command(subcommand)]
    order: Option<HeldOrder>,
    #[command(flatten)]
    list: ListHeldArgs,
}

#[derive(Debug, clap::Subcommand)]
enum HeldOrder {
    /// Show them, as without a command.
    List(ListHeldArgs),
    /// Send a message, or all, although they may have been sent before.
    Release(OrderHeldArgs),
    /// End a message, or all, as DELETED.
    Cancel(OrderHeldArgs),
}

/// Arguments of `smsc held list`.
#[derive(Debug, clap::Args)]
struct ListHeldArgs {
    /// Entries per page.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Only messages with higher ids: where the page before ended.
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    #[command(flatten)]
    listing: Listing,
}

/// Arguments of `smsc held release` and `smsc held cancel`.
#[derive(Debug, clap::Args)]
struct OrderHeldArgs {
    /// The message, as smsc held shows it.
    #[arg(long, required_unless_present = "all")]
    id: Option<String>,
    /// All that are held, and what nodes would still find.
    #[arg(long, conflicts_with = "id")]
    all: bool,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &HeldArgs) -> anyhow::Result<()> {
    match &args.order {
        None => list(&args.list),
        Some(HeldOrder::List(args)) => list(args),
        Some(HeldOrder::Release(args)) => order(args, "release", "released"),
        Some(HeldOrder::Cancel(args)) => order(args, "cancel", "cancelled"),
    }
}

fn list(args: &ListHeldArgs) -> anyhow::Result<()> {
    let path = client::with_given(
        format!("{PATH}?limit={}", args.limit),
        &[("after", &args.after)],
    );
    args.listing.show(&path, |list: HeldMessages| page(&list))
}

fn order(args: &OrderHeldArgs, order: &str, what: &str) -> anyhow::Result<()> {
    let path = match &args.id {
        Some(id) => format!("{PATH}/{}/{order}", client::segment(id)),
        None => format!("{PATH}/{order}"),
    };
    let json = args.telling.open()?.post(&path)?;
    args.telling.done(json, |done: Done| {
        format!("{} messages are {what}", client::number(done.count))
    })
}

fn page(list: &HeldMessages) -> OutputPage {
    let table = table_of!(&list.messages, |one| {
        let text = |value: &Option<String>| TableCell::from(value.clone().unwrap_or_default());
        "id" => one.id.clone(),
        "held since" [3] => TableCell::time(one.since.as_deref()),
        "accepted" => TableCell::time(one.accepted_at.as_deref()),
        "from" [2] => text(&one.from),
        "to" => text(&one.to),
        "sender" [1] => text(&one.sender),
        "queue" => text(&one.queue),
    });
    let doubtful = match list.partitions {
        0 => String::new(),
        count => format!(
            "\nmore may be found in {} partitions of queues",
            client::number(count)
        ),
    };
    if list.messages.is_empty() {
        return OutputPage::nothing(&table, format!("nothing is held{doubtful}"));
    }
    let more = match &list.next_after {
        None => String::new(),
        Some(after) => format!("\nmore: --after {after}"),
    };
    OutputPage::from(table).text(format!(
        "{} messages are held{doubtful}{more}",
        client::number(list.count)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::HeldEntry;
    use crate::cli::client::Screen;
    use crate::cli::parsed;

    #[test]
    fn one_message_is_ordered_or_all_are() {
        let read = |line: &[&str]| parsed(line).map(|args: HeldArgs| args.order);
        assert!(matches!(read(&["x"]), Ok(None)));
        for right in [
            &["x", "release", "--all"][..],
            &["x", "list", "--limit", "5"],
            &["x", "cancel", "--id", "7"],
        ] {
            assert!(matches!(read(right), Ok(Some(_))), "{right:?}");
        }
        for wrong in [
            &["x", "release"][..],
            &["x", "cancel", "--all", "--id", "7"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn says_what_is_held_and_where_more_may_be() {
        let list = HeldMessages {
            messages: vec![HeldEntry {
                id: "7".to_owned(),
                since: None,
                from: Some("ACME".to_owned()),
                to: Some("447700900123".to_owned()),
                sender: Some("account:test".to_owned()),
                queue: Some("operator:up".to_owned()),
                accepted_at: Some("2026-11-25T16:53:01.123Z".to_owned()),
            }],
            next_after: Some("7".to_owned()),
            count: 2,
            partitions: 16,
        };
        let text = page(&list).render(Screen::default());
        for part in [
            "2026-11-25 16:53:01",
            "447700900123",
            "operator:up",
            "2 messages are held",
            "16 partitions",
            "--after 7",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
