//! `smsc sources`: how the sources of commands on NATS stand.

use super::client::{Listing, OutputPage, OutputTable, TableCell};
use crate::api::{NatsSourceState, NatsSourceStates};

/// Arguments of `smsc sources`.
#[derive(Debug, clap::Args)]
pub struct SourcesArgs {
    #[command(flatten)]
    listing: Listing,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &SourcesArgs) -> anyhow::Result<()> {
    args.listing
        .show("/v1/nats-sources/state", |found: NatsSourceStates| {
            page(&found.sources)
        })
}

/// All sources, and the last commands that ended without a dead letter.
fn page(sources: &[NatsSourceState]) -> OutputPage {
    let mut ended = OutputTable::new(&["source", "at", "place in the stream", "ended because"]);
    for one in sources {
        for command in &one.ended {
            ended.row([
                TableCell::from(one.name.clone()),
                TableCell::time(command.at.as_deref()),
                TableCell::from(command.stream_sequence.to_string()),
                TableCell::from(command.reason.clone()),
            ]);
        }
    }
    let page = OutputPage::from(table(sources));
    if ended.rows().is_empty() {
        page
    } else {
        page.text("Ended without a dead letter, which could not be published:")
            .aside(ended)
    }
}

fn table(sources: &[NatsSourceState]) -> OutputTable {
    let mut table = OutputTable::new(&[
        "source",
        "state",
        "under way",
        "waiting",
        "accepted",
        "repeated",
        "delayed",
        "dead",
        "terminated",
    ])
    .dropping(&["repeated", "delayed", "under way", "accepted"]);
    for one in sources {
        let state = match (&one.trouble, one.connected) {
            (Some(trouble), _) => trouble.as_str(),
            (None, true) => "connected",
            (None, false) => "connecting",
        };
        let mut row = vec![TableCell::from(one.name.clone()), TableCell::state(state)];
        let counts = [
            one.in_flight,
            one.waiting,
            one.accepted,
            one.repeated,
            one.delayed,
            one.dead,
            one.terminated,
        ];
        row.extend(counts.map(TableCell::number));
        table.row(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::EndedCommand;
    use crate::cli::client::Screen;

    #[test]
    fn a_source_in_trouble_says_why() {
        let source = NatsSourceState {
            done_up_to: 0,
            name: "up".to_owned(),
            connected: false,
            in_flight: 0,
            waiting: 3,
            accepted: 7,
            repeated: 0,
            delayed: 0,
            dead: 1,
            terminated: 1,
            ended: vec![EndedCommand {
                at: Some("2026-03-01T12:00:00.000Z".to_owned()),
                stream_sequence: 4711,
                reason: "it has expired".to_owned(),
            }],
            trouble: Some("no such stream".to_owned()),
        };
        let shown = page(&[source]).render(Screen::default());
        let row = shown.lines().find(|line| line.contains("up"));
        let words: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
        assert!(shown.contains("no such stream"), "{shown}");
        assert!(words.contains(&"7"), "{shown}");
        assert!(
            shown.contains("4711") && shown.contains("it has expired"),
            "{shown}"
        );
    }
}
