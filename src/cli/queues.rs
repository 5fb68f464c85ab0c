//! `smsc queues`: queues and their depth; with a name, one queue; with a command, commands it.

use comfy_table::CellAlignment;

use super::ask::confirm;
use super::client::{self, Client, Connection};
use crate::api::{Done, Queue, Queues};

/// Arguments of `smsc queues`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this queue, as the list names it: operator:up, account:test.
    name: Option<String>,
    /// Command for the queue.
    #[arg(value_enum, requires = "name")]
    command: Option<Order>,
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
    connection: Connection,
}

/// Commands for a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Order {
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
pub fn run(args: Args) -> anyhow::Result<()> {
    let client = args.connection.open()?;
    match (&args.name, args.command) {
        (Some(name), Some(order)) => command(&client, name, order, &args),
        (Some(name), None) => {
            let json = client.get(&path(name))?;
            show(json, args.connection.json, |json| {
                Ok(vec![client::decode(json)?])
            })
        }
        (None, _) => {
            let json = client.get("/v1/queues")?;
            show(json, args.connection.json, |json| {
                Ok(client::decode::<Queues>(json)?.queues)
            })
        }
    }
}

fn path(name: &str) -> String {
    format!("/v1/queues/{}", client::segment(name))
}

fn command(client: &Client, name: &str, order: Order, args: &Args) -> anyhow::Result<()> {
    let verb = match order {
        Order::Suspend => "suspend",
        Order::Resume => "resume",
        Order::Purge => "purge",
        Order::Move => "move",
    };
    if order == Order::Purge && !args.yes {
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
        Order::Move => client.post_json(
            &path,
            &serde_json::json!({
                "to": args.to, "account": args.account, "since": args.since, "until": args.until,
            }),
        )?,
        Order::Suspend | Order::Resume | Order::Purge => client.post(&path)?,
    };
    if args.connection.json {
        return client::print_json(&json);
    }
    let done: Done = client::decode(json)?;
    client::print_line(&match order {
        Order::Suspend => format!("{name} is suspended"),
        Order::Resume => format!("{name} is resumed"),
        Order::Purge => format!(
            "{name}: {} messages are being deleted",
            client::number(done.count)
        ),
        Order::Move => format!(
            "{name}: {} messages that fit are being moved to {}",
            client::number(done.count),
            args.to.as_deref().unwrap_or_default()
        ),
    })
}

fn show(
    json: serde_json::Value,
    as_json: bool,
    decode: impl FnOnce(serde_json::Value) -> anyhow::Result<Vec<Queue>>,
) -> anyhow::Result<()> {
    if as_json {
        return client::print_json(&json);
    }
    client::print_line(&render(&decode(json)?))
}

fn render(queues: &[Queue]) -> String {
    let mut table = client::table(&[
        "queue",
        "state",
        "waiting",
        "scheduled",
        "in flight",
        "oldest",
        "sessions",
        "delivered",
        "failed",
        "expired",
    ]);
    for queue in queues {
        table.add_row([
            queue.name.clone(),
            state(queue).to_owned(),
            client::number(queue.waiting),
            client::number(queue.scheduled),
            client::number(queue.in_flight),
            client::ago(queue.oldest_at.as_deref()),
            client::number(queue.sessions),
            client::number(queue.delivered_total),
            client::number(queue.failed_total),
            client::number(queue.expired_total),
        ]);
    }
    for column in 2..10 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut lines = vec![table.to_string()];
    if let [queue] = queues {
        lines.extend(queue.nodes.iter().map(|share| {
            format!(
                "node {}: {} waiting, {} scheduled, {} in flight, {} sessions",
                share.node,
                client::number(share.waiting),
                client::number(share.scheduled),
                client::number(share.in_flight),
                client::number(share.sessions)
            )
        }));
    }
    lines.join("\n")
}

/// Whether waiting messages could be sent now.
fn state(queue: &Queue) -> &'static str {
    if queue.suspended {
        "suspended"
    } else if queue.sessions > 0 || queue.name.starts_with("test:") {
        "served"
    } else {
        "nobody bound"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;
    use crate::pb::QueueSnapshot;

    #[test]
    fn reads_name_and_command() {
        let args: Args = parsed(&["queues", "operator:up", "suspend"]).unwrap();
        assert_eq!(args.name.as_deref(), Some("operator:up"));
        assert_eq!(args.command, Some(Order::Suspend));
        assert!(parsed::<Args>(&["queues", "operator:up", "drop"]).is_err());
        let args: Args = parsed(&["queues", "--json"]).unwrap();
        assert!(args.connection.json);
    }

    #[test]
    fn shows_a_row_per_queue() {
        let text = render(&[
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
        assert!(
            text.contains("1,234,567") && text.contains("nobody bound"),
            "{text}"
        );
        assert!(text.contains("suspended"), "{text}");
    }
}
