//! `smsc sources`: how the sources of commands on NATS stand.

use super::client::{Cell, Listing, Table};
use crate::api::{NatsSourceState, NatsSourceStates};

/// Arguments of `smsc sources`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &Args) -> anyhow::Result<()> {
    args.listing
        .show("/v1/nats-sources/state", |found: NatsSourceStates| {
            table(&found.sources).into()
        })
}

fn table(sources: &[NatsSourceState]) -> Table {
    let mut table = Table::new(&[
        "source",
        "state",
        "under way",
        "waiting",
        "accepted",
        "repeated",
        "delayed",
        "dead",
    ])
    .dropping(&["repeated", "delayed", "under way", "accepted"]);
    for one in sources {
        let state = match (&one.trouble, one.connected) {
            (Some(trouble), _) => trouble.as_str(),
            (None, true) => "connected",
            (None, false) => "connecting",
        };
        let mut row = vec![Cell::from(one.name.clone()), Cell::state(state)];
        let counts = [
            one.in_flight,
            one.waiting,
            one.accepted,
            one.repeated,
            one.delayed,
            one.dead,
        ];
        row.extend(counts.map(Cell::number));
        table.row(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::{Page, Screen};

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
        let shown = Page::from(table(&[source])).render(Screen::default());
        let row = shown.lines().find(|line| line.contains("up"));
        let words: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
        assert!(shown.contains("no such stream"), "{shown}");
        assert!(words.contains(&"7"), "{shown}");
    }
}
