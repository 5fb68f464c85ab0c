//! `smsc sources`: how the sources of commands on NATS stand.

use super::client::{self, Connection};
use crate::api::{NatsSourceState, NatsSourceStates};

/// Arguments of `smsc sources`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let json = args.connection.open()?.get("/v1/nats-sources/state")?;
    if args.connection.json {
        return client::print_json(&json);
    }
    let found: NatsSourceStates = client::decode(json)?;
    client::print_line(&render(&found.sources))
}

fn render(sources: &[NatsSourceState]) -> String {
    let mut table = client::table(&[
        "source",
        "state",
        "under way",
        "waiting",
        "accepted",
        "repeated",
        "delayed",
        "dead",
    ]);
    for one in sources {
        let state = match (&one.trouble, one.connected) {
            (Some(trouble), _) => trouble.as_str(),
            (None, true) => "connected",
            (None, false) => "connecting",
        };
        let mut row = vec![one.name.clone(), state.to_owned()];
        let counts = [
            one.in_flight,
            one.waiting,
            one.accepted,
            one.repeated,
            one.delayed,
            one.dead,
        ];
        row.extend(counts.map(client::number));
        table.add_row(row);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_in_trouble_says_why() {
        let source = NatsSourceState {
            name: "up".to_owned(),
            connected: false,
            in_flight: 0,
            waiting: 3,
            accepted: 7,
            repeated: 0,
            delayed: 0,
            dead: 1,
            trouble: Some("no such stream".to_owned()),
        };
        let shown = render(&[source]);
        let row = shown.lines().find(|line| line.contains("up"));
        let words: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
        assert!(shown.contains("no such stream"), "{shown}");
        assert!(words.contains(&"7"), "{shown}");
    }
}
