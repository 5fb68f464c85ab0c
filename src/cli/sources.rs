//! `smsc source list`: how the sources of commands on NATS stand.

use super::client::{Listing, OutputPage, OutputTable, TableCell, table_of};
use crate::api::{NatsSourceState, NatsSourceStates};

/// What to do with sources.
#[derive(Debug, clap::Subcommand)]
pub enum SourceCommand {
    /// Show all sources.
    List {
        #[command(flatten)]
        listing: Listing,
    },
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: &SourceCommand) -> anyhow::Result<()> {
    let SourceCommand::List { listing } = order;
    listing.show("/v1/nats-sources/state", |found: NatsSourceStates| {
        page(&found.sources)
    })
}

/// All sources, and the last commands that ended without a dead letter.
fn page(sources: &[NatsSourceState]) -> OutputPage {
    let all = sources.iter();
    let all = all.flat_map(|one| one.ended.iter().map(move |command| (one, command)));
    let ended = table_of!(all, |(one, command)| {
        "source" => one.name.clone(),
        "at" => TableCell::time(command.at.as_deref()),
        "place in the stream" => command.stream_sequence.to_string(),
        "ended because" => command.reason.clone(),
    });
    let page = OutputPage::from(table(sources));
    if ended.rows().is_empty() {
        page
    } else {
        page.text("Ended without a dead letter, which could not be published:")
            .aside(ended)
    }
}

fn table(sources: &[NatsSourceState]) -> OutputTable {
    table_of!(sources, |one| {
        let state = match (&one.trouble, one.connected) {
            (Some(trouble), _) => trouble.as_str(),
            (None, true) => "connected",
            (None, false) => "connecting",
        };
        "source" => one.name.clone(),
        "state" => TableCell::state(state),
        "under way" [3] => TableCell::number(one.in_flight),
        "waiting" => TableCell::number(one.waiting),
        "accepted" [4] => TableCell::number(one.accepted),
        "repeated" [1] => TableCell::number(one.repeated),
        "delayed" [2] => TableCell::number(one.delayed),
        "dead" => TableCell::number(one.dead),
        "terminated" => TableCell::number(one.terminated),
    })
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
