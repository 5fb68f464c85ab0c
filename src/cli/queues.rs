//! `smsc queue`: queues and their depth, one queue, and commands to it.

use serde_json::Value;

use super::ask::confirm;
use super::client::{self, CommandOutput, Listing, OutputPage, OutputTable, TableCell, table_of};
use super::times::moment;
use crate::api::{Done, Queue, Queues};
use crate::domain::queue_name::QueueName;

/// What to do with queues.
#[derive(Debug, clap::Subcommand)]
pub enum QueueSubcommand {
    /// Show all queues.
    List {
        #[command(flatten)]
        listing: Listing,
    },
    /// Show one queue, and what each node has of it.
    Show {
        /// The queue, as the list names it: operator:up, account:test.
        name: String,
        #[command(flatten)]
        listing: Listing,
    },
    /// Send nothing until it is resumed.
    Suspend(QueueHoldArgs),
    /// Send again.
    Resume(QueueHoldArgs),
    /// End every waiting message DELETED, with receipts.
    Purge {
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        order: QueueOrderArgs,
    },
    /// Move waiting messages to another queue.
    Move(MoveQueueArgs),
}

/// Arguments of `smsc queue suspend` and `smsc queue resume`.
#[derive(Debug, clap::Args)]
pub struct QueueHoldArgs {
    /// Queues, as the list names them (operator:up, account:test), in turn until one is refused.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Arguments of commands to one queue.
#[derive(Debug, clap::Args)]
pub struct QueueOrderArgs {
    /// The queue, as the list names it: operator:up, account:test.
    name: String,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Arguments of `smsc queue move`.
#[derive(Debug, clap::Args)]
pub struct MoveQueueArgs {
    /// The queue to move to, as the list names it: operator:up.
    #[arg(long, value_name = "QUEUE")]
    queue: String,
    /// Move only messages of this account or operator.
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Move only messages accepted then or later.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<String>,
    /// Move only messages accepted before then.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<String>,
    #[command(flatten)]
    order: QueueOrderArgs,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: QueueSubcommand) -> anyhow::Result<()> {
    match order {
        QueueSubcommand::List { listing } => {
            listing.show("/v1/queues", |found: Queues| table(&found.queues).into())
        }
        QueueSubcommand::Show { name, listing } => listing.show(&path(&name), |queue: Queue| {
            let nodes = nodes(&queue);
            OutputPage::from(table(&[queue])).text(nodes)
        }),
        QueueSubcommand::Suspend(order) => order.give("suspend", "is suspended"),
        QueueSubcommand::Resume(order) => order.give("resume", "is resumed"),
        QueueSubcommand::Purge { order, yes } => purge(&order, yes),
        QueueSubcommand::Move(args) => transfer(&args),
    }
}

fn path(name: &str) -> String {
    format!("/v1/queues/{}", client::segment(name))
}

fn purge(order: &QueueOrderArgs, yes: bool) -> anyhow::Result<()> {
    let client = order.telling.open()?;
    if !yes {
        let queue: Queue = client::decode(client.get(&path(&order.name))?)?;
        let waiting = client::number(queue.waiting + queue.scheduled);
        let question = format!(
            "End all {waiting} waiting messages of {} DELETED, and tell their senders?",
            queue.name
        );
        confirm(&question, yes, "nothing was purged")?;
    }
    let path = format!("{}/purge", path(&order.name));
    let json = client.post(&path)?;
    order.done(json, |done| {
        let count = client::number(done.count);
        format!("has {count} messages that are being deleted")
    })
}

fn transfer(args: &MoveQueueArgs) -> anyhow::Result<()> {
    let path = format!("{}/move", path(&args.order.name));
    let order = serde_json::json!({
        "to": args.queue, "account": args.account, "since": args.since, "until": args.until,
    });
    let json = args.order.telling.open()?.post_json(&path, &order)?;
    args.order.done(json, |done| {
        let count = client::number(done.count);
        format!(
            "has {count} messages that fit, which are being moved to {}",
            args.queue
        )
    })
}

// === impl QueueHoldArgs ===

impl QueueHoldArgs {
    /// Orders it of each.
    fn give(&self, verb: &str, said: &str) -> anyhow::Result<()> {
        let client = self.telling.open()?;
        for name in &self.names {
            let json = client.post(&format!("{}/{verb}", path(name)))?;
            self.telling
                .done(json, |_: Done| format!("{name} {said}"))?;
        }
        Ok(())
    }
}

// === impl QueueOrderArgs ===

impl QueueOrderArgs {
    /// Says what the queue has.
    fn done(&self, json: Value, said: impl FnOnce(&Done) -> String) -> anyhow::Result<()> {
        self.telling
            .done(json, |done: Done| format!("{} {}", self.name, said(&done)))
    }
}

/// A row for each; for `smsc why` too.
pub(super) fn table(queues: &[Queue]) -> OutputTable {
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
    use crate::pb::QueueSnapshot;

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
