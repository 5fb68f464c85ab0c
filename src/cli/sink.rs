//! `smsc sink`: what waits for event sinks, and what has become of publishing.

use super::client::{self, AdminApiError, Listing, OutputPage, OutputTable, TableCell, table_of};
use crate::api::{Sink, Sinks};

/// What to do with event sinks.
#[derive(Debug, clap::Subcommand)]
pub enum SinkCommand {
    /// Show what waits for each event sink.
    List {
        #[command(flatten)]
        listing: Listing,
    },
    /// Show one event sink.
    Show {
        name: String,
        #[command(flatten)]
        listing: Listing,
    },
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses; there is no such sink.
pub fn run(order: &SinkCommand) -> anyhow::Result<()> {
    match order {
        SinkCommand::List { listing } => {
            listing.show("/v1/sinks", |found: Sinks| table(&found.sinks).into())
        }
        SinkCommand::Show { name, listing } => listing.show_all(
            |client| {
                let found: Sinks = client::decode(client.get("/v1/sinks")?)?;
                let sink = found.sinks.iter().find(|sink| sink.name == *name);
                let sink = sink.ok_or_else(|| {
                    AdminApiError::NotFound(format!(
                        "there is no event sink {name:?}; `smsc sink list` shows them"
                    ))
                })?;
                Ok(serde_json::to_value(sink)?)
            },
            |json| Ok(details(&client::decode(json)?)),
        ),
    }
}

fn table(sinks: &[Sink]) -> OutputTable {
    table_of!(sinks, |sink| {
        "sink" => sink.name.clone(),
        "kind" [1] => sink.kind.clone(),
        "waiting" => TableCell::number(sink.waiting),
        "oldest" => TableCell::right(format!("{} s", sink.oldest_ms / 1000)),
        "server" [3] => server(sink),
        "last error" [2] => sink.last_error.clone(),
    })
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

fn details(sink: &Sink) -> OutputPage {
    let at = |text: &Option<String>| TableCell::from(text.as_deref().unwrap_or("never"));
    OutputPage::default().facts([
        ("sink", TableCell::from(sink.name.clone())),
        ("kind", sink.kind.clone().into()),
        ("events", sink.events.join(", ").into()),
        (destination(sink), sink.subject.clone().into()),
        ("waiting", TableCell::number(sink.waiting)),
        (
            "oldest",
            TableCell::right(format!("{} s", sink.oldest_ms / 1000)),
        ),
        ("server", server(sink).into()),
        ("published", TableCell::number(sink.published)),
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
    use crate::cli::parsed_command;

    #[test]
    fn one_sink_or_all_are_shown() {
        let read = |line: &[&str]| parsed_command::<SinkCommand>(line);
        assert!(matches!(read(&["x", "list"]), Ok(SinkCommand::List { .. })));
        let Ok(SinkCommand::Show { name, .. }) = read(&["x", "show", "billing"]) else {
            panic!("not show");
        };
        assert_eq!(name, "billing");
        assert!(read(&["x", "show"]).is_err());
    }
}
