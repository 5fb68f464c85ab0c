//! `smsc queues`: queues and their depth; with a name, one queue; with a command, commands it.

use super::ask::confirm;
use super::client::{self, AdminClient, Listing, OutputPage, OutputTable, TableCell, table_of};
use crate::api::{Done, Queue, Queues};
use crate::domain::queue_name::QueueName;

/// Arguments of `smsc queues`.
#[derive(Debug, clap::Args)]
pub struct QueuesArgs {
    /// Only this queue, as the list names it: operator:up, account:test.
    name: Option<String>,
    /// Command for the queue.
    #[arg(value_enum, requires = "name")]
    command: Option<QueuesCommand>,
    /// The queue to move to, as the list names it: operator:up.
    #[arg(long, value_name = "QUEUE", required_if_eq("command", "move"))]
    to: Option<String>,
    /// Move only messages of this account or operator.
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Move only messages accepted then or later: RFC 3339, a day, or Unix milliseconds.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Move only messages accepted before then.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Purge without asking.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    listing: Listing,
}

/// Commands for a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum QueuesCommand {
    /// Send nothing until it is resumed.
    Suspend,
    /// Send again.
    Resume,
    /// End every waiting message DELETED, with receipts.
    Purge,
    /// Move waiting messages to another queue.
    Move,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: QueuesArgs) -> anyhow::Result<()> {
    match (&args.name, args.command) {
        (Some(name), Some(order)) => command(&args.listing.open()?, name, order, &args),
        (Some(name), None) => args.listing.show(&path(name), |queue: Queue| {
            let nodes = nodes(&queue);
            OutputPage::from(table(&[queue])).text(nodes)
        }),
        (None, _) => args
            .listing
            .show("/v1/queues", |found: Queues| table(&found.queues).into()),
    }
}

fn path(name: &str) -> String {
    format!("/v1/queues/{}", client::segment(name))
}

fn command(
    client: &AdminClient,
    name: &str,
    order: QueuesCommand,
    args: &QueuesArgs,
) -> anyhow::Result<()> {
    let verb = match order {
        QueuesCommand::Suspend => "suspend",
        QueuesCommand::Resume => "resume",
        QueuesCommand::Purge => "purge",
        QueuesCommand::Move => "move",
    };
    if order == QueuesCommand::Purge && !args.yes {
        let queue: Queue = client::decode(client.get(&path(name))?)?;
        let waiting = client::number(queue.waiting + queue.scheduled);
        let question = format!(
            "End all {waiting} waiting messages of {} DELETED, and tell their senders?",
            queue.name
        );
        confirm(&question, args.yes, "nothing was purged")?;
    }
    let path = format!("{}/{verb}", path(name));
    let json = match order {
        QueuesCommand::Move => client.post_json(
            &path,
            &serde_json::json!({
                "to": args.to, "account": args.account, "since": args.since, "until": args.until,
            }),
        )?,
        QueuesCommand::Suspend | QueuesCommand::Resume | QueuesCommand::Purge => {
            client.post(&path)?
        }
    };
    args.listing.done(json, |done: Done| match order {
        QueuesCommand::Suspend => format!("{name} is suspended"),
        QueuesCommand::Resume => format!("{name} is resumed"),
        QueuesCommand::Purge => format!(
            "{name}: {} messages are being deleted",
            client::number(done.count)
        ),
        QueuesCommand::Move => format!(
            "{name}: {} messages that fit are being moved to {}",
            client::number(done.count),
            args.to.as_deref().unwrap_or_default()
        ),
    })
}

fn table(queues: &[Queue]) -> OutputTable {
    table_of!(queues, |queue| {
        "queue" => queue.name.clone(),
        "state" => TableCell::state(standing(queue)),
        "waiting" => TableCell::number(queue.waiting),
        "scheduled" [7] => TableCell::number(queue.scheduled),
        "in flight" [6] => TableCell::number(queue.in_flight),
        "oldest" [8] => TableCell::ago(queue.oldest_at.as_deref()),
        "sessions" [5] => TableCell::number(queue.sessions),
        "delivered" [4] => TableCell::number(queue.delivered_total),
        "failed" [3] => TableCell::number(queue.failed_total),
        "expired" [2] => TableCell::number(queue.expired_total),
        "suspects" [1] => TableCell::number(queue.suspects),
    })
}

/// What each node has of it, one a line.
fn nodes(queue: &Queue) -> String {
    let shares = queue.nodes.iter().map(|share| {
        format!(
            "node {}: {} waiting, {} scheduled, {} in flight, {} sessions",
            share.node,
            client::number(share.waiting),
            client::number(share.scheduled),
            client::number(share.in_flight),
            client::number(share.sessions)
        )
    });
    shares.collect::<Vec<_>>().join("\n")
}

/// Whether waiting messages could be sent now.
pub(super) fn standing(queue: &Queue) -> &'static str {
    if queue.suspended {
        "suspended"
    } else if queue.sessions > 0 || QueueName::parse(&queue.name).is_test() {
        "served"
    } else {
        "nobody bound"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::Screen;
    use crate::cli::parsed;
    use crate::pb::QueueSnapshot;

    #[test]
    fn reads_name_and_command() {
        let args: QueuesArgs = parsed(&["queues", "operator:up", "suspend"]).unwrap();
        assert_eq!(args.name.as_deref(), Some("operator:up"));
        assert_eq!(args.command, Some(QueuesCommand::Suspend));
        assert!(parsed::<QueuesArgs>(&["queues", "operator:up", "drop"]).is_err());
        assert!(parsed::<QueuesArgs>(&["queues", "--watch=5", "-o", "csv"]).is_ok());
    }

    #[test]
    fn shows_a_row_per_queue() {
        let text = table(&[
            Queue::from(QueueSnapshot {
                name: "operator:up".to_owned(),
                waiting: 1_234_567,
                ..QueueSnapshot::default()
            }),
            Queue::from(QueueSnapshot {
                name: "account:test".to_owned(),
                suspended: true,
                ..QueueSnapshot::default()
            }),
        ]);
        let text = OutputPage::from(text).render(Screen::default());
        assert!(
            text.contains("1,234,567") && text.contains("nobody bound"),
            "{text}"
        );
        assert!(text.contains("suspended"), "{text}");
    }
}
