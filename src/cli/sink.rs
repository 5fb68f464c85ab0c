//! `smsc sink`: what waits for event sinks, and what has become of publishing.

use anyhow::Context as _;

use super::client::{self, Cell, Listing, Page, Table};
use crate::api::{Sink, Sinks};

/// Arguments of `smsc sink`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    order: Order,
}

#[derive(Debug, clap::Subcommand)]
enum Order {
    /// Show what waits for each event sink.
    List(List),
    /// Show one event sink.
    Show(Show),
}

/// Arguments of `smsc sink list`.
#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    listing: Listing,
}

/// Arguments of `smsc sink show`.
#[derive(Debug, clap::Args)]
struct Show {
    name: String,
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses; there is no such sink.
pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.order {
        Order::List(List { listing }) => {
            listing.show("/v1/sinks", |found: Sinks| table(&found.sinks).into())
        }
        Order::Show(Show { name, listing }) => listing.show_all(
            |client| {
                let found: Sinks = client::decode(client.get("/v1/sinks")?)?;
                let sink = found.sinks.iter().find(|sink| sink.name == *name);
                let sink = sink.with_context(|| {
                    format!("there is no event sink {name:?}; `smsc sink list` shows them")
                })?;
                Ok(serde_json::to_value(sink)?)
            },
            |json| Ok(details(&client::decode(json)?)),
        ),
    }
}

fn table(sinks: &[Sink]) -> Table {
    let titles = ["sink", "kind", "waiting", "oldest", "server", "last error"];
    let mut table = Table::new(&titles).dropping(&["kind", "last error", "server"]);
    for sink in sinks {
        table.row([
            Cell::from(sink.name.clone()),
            sink.kind.clone().into(),
            Cell::number(sink.waiting),
            Cell::right(format!("{} s", sink.oldest_ms / 1000)),
            server(sink).into(),
            sink.last_error.clone().into(),
        ]);
    }
    table
}

fn server(sink: &Sink) -> String {
    match (sink.enabled, &sink.server, sink.publishes_here) {
        (false, ..) => "off".to_owned(),
        (true, Some(server), _) => server.clone(),
        (true, None, true) => "none".to_owned(),
        (true, None, false) => "another node".to_owned(),
    }
}

/// What the broker calls where events go.
fn destination(sink: &Sink) -> &'static str {
    match sink.kind.as_str() {
        "kafka" => "topic",
        _ => "subject",
    }
}

fn details(sink: &Sink) -> Page {
    let at = |text: &Option<String>| Cell::from(text.as_deref().unwrap_or("never"));
    Page::default().facts([
        ("sink", Cell::from(sink.name.clone())),
        ("kind", sink.kind.clone().into()),
        ("events", sink.events.join(", ").into()),
        (destination(sink), sink.subject.clone().into()),
        ("waiting", Cell::number(sink.waiting)),
        (
            "oldest",
            Cell::right(format!("{} s", sink.oldest_ms / 1000)),
        ),
        ("server", server(sink).into()),
        ("published", Cell::number(sink.published)),
        ("last published", at(&sink.published_at)),
        (
            "last error",
            sink.last_error.as_deref().unwrap_or("none").into(),
        ),
        ("last failure", at(&sink.failed_at)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn one_sink_or_all_are_shown() {
        let read = |line: &[&str]| parsed(line).map(|args: Args| args.order);
        assert!(matches!(read(&["x", "list"]), Ok(Order::List(_))));
        let Ok(Order::Show(show)) = read(&["x", "show", "billing"]) else {
            panic!("not show");
        };
        assert_eq!(show.name, "billing");
        assert!(read(&["x", "show"]).is_err());
    }
}
