//! `smsc sink`: what waits for event sinks, and what has become of publishing.

use super::client::{self, Connection};
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
    connection: Connection,
}

/// Arguments of `smsc sink show`.
#[derive(Debug, clap::Args)]
struct Show {
    name: String,
    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses; there is no such sink.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let (connection, name) = match &args.order {
        Order::List(args) => (&args.connection, None),
        Order::Show(args) => (&args.connection, Some(&args.name)),
    };
    let json = connection.open()?.get("/v1/sinks")?;
    let found: Sinks = client::decode(json.clone())?;
    let Some(name) = name else {
        return match connection.json {
            true => client::print_json(&json),
            false => client::print_line(&table(&found.sinks)),
        };
    };
    let sink = found.sinks.iter().find(|sink| sink.name == *name);
    let Some(sink) = sink else {
        anyhow::bail!("there is no event sink {name:?}; `smsc sink list` shows them");
    };
    match connection.json {
        true => client::print_json(&serde_json::to_value(sink)?),
        false => client::print_line(&details(sink)),
    }
}

fn table(sinks: &[Sink]) -> String {
    let mut table = client::table(&["sink", "kind", "waiting", "oldest", "server", "last error"]);
    for sink in sinks {
        table.add_row([
            sink.name.clone(),
            sink.kind.clone(),
            client::number(sink.waiting),
            format!("{} s", sink.oldest_ms / 1000),
            server(sink),
            sink.last_error.clone().unwrap_or_default(),
        ]);
    }
    table.to_string()
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

fn details(sink: &Sink) -> String {
    let at = |text: &Option<String>| text.clone().unwrap_or_else(|| "never".to_owned());
    [
        ("sink", sink.name.clone()),
        ("kind", sink.kind.clone()),
        ("events", sink.events.join(", ")),
        (destination(sink), sink.subject.clone()),
        ("waiting", client::number(sink.waiting)),
        ("oldest", format!("{} s", sink.oldest_ms / 1000)),
        ("server", server(sink)),
        ("published", client::number(sink.published)),
        ("last published", at(&sink.published_at)),
        (
            "last error",
            sink.last_error.clone().unwrap_or_else(|| "none".to_owned()),
        ),
        ("last failure", at(&sink.failed_at)),
    ]
    .map(|(what, text)| format!("{what:<15} {text}"))
    .join("\n")
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
