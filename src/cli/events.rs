//! `smsc events`: what changes in a running SMSC, a line for each change, from its stream of live events.
//!
//! The stream has the whole state of queues, binds, operators and nodes whenever something in it changes; what is
//! shown is the difference (`events/changes.rs`). With -o json every event is a line as it came.

mod changes;

use std::time::Duration;

use anyhow::bail;
use serde_json::{Value, json};

use super::client::{self, AdminConnection, Screen, Tone};
use super::{is_closed_pipe, said};
use changes::Changes;

/// Between two attempts to reach the server.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Arguments of `smsc events`.
#[derive(Debug, clap::Args)]
pub struct EventsArgs {
    /// Go on until Ctrl-C, also when the SMSC was away; without it, show how things are now.
    #[arg(long, short)]
    follow: bool,
    /// Only these: some of overview, queues, binds, operators and nodes, separated by commas.
    #[arg(
        long,
        value_name = "KINDS",
        default_value = "overview,queues,binds,operators,nodes"
    )]
    only: String,
    /// How to print them: table (a line per change) or json (a line per event).
    #[arg(short, long = "output", value_name = "FORMAT", value_parser = ["table", "json"],
          default_value = "table", hide_possible_values = true, help_heading = "Output")]
    output: String,
    #[command(flatten)]
    connection: AdminConnection,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached or refuses; with `--follow` only the first time.
pub fn run(args: &EventsArgs) -> anyhow::Result<()> {
    let client = args.connection.open()?;
    let mut changes = Changes::default();
    let (mut was_there, mut last) = (false, String::new());
    loop {
        let ended = read(&client, args, &mut last, &mut changes, &mut was_there);
        match ended {
            Ok(()) if !args.follow => return Ok(()),
            // The stream has had its time.
            Ok(()) => continue,
            Err(error) if !was_there || !args.follow || is_closed_pipe(&error) => {
                return Err(error);
            }
            Err(error) => {
                changes.lost();
                // Not among the events, which a program may read.
                eprintln!("error: {}; trying again", said(&error));
            }
        }
        client::pause(AGAIN_AFTER);
    }
}

/// Shows one stream to its end; without `--follow` only one event of each kind.
fn read(
    client: &client::AdminClient,
    args: &EventsArgs,
    last: &mut String,
    changes: &mut Changes,
    was_there: &mut bool,
) -> anyhow::Result<()> {
    let mut events = client.events(&args.only, last)?;
    let mut left = args.only.split(',').count();
    while let Some(event) = events.next_event()? {
        event.id.clone_into(last);
        *was_there = true;
        if event.kind == "end" {
            bail!("the server is stopping");
        }
        let data: Value = serde_json::from_str(&event.data)?;
        if args.output == "json" {
            let line = json!({"event": event.kind, "id": event.id, "data": data});
            client::print_line(&line.to_string())?;
        } else {
            for (text, tone) in changes.take(&event.kind, &data) {
                note(&text, tone)?;
            }
        }
        left = left.saturating_sub(usize::from(event.kind != "hello"));
        if left == 0 && !args.follow {
            return Ok(());
        }
    }
    Ok(())
}

/// A line with the time.
fn note(text: &str, tone: Tone) -> anyhow::Result<()> {
    let now = jiff::Timestamp::from_millisecond(crate::clock::now_ms())?;
    let screen = Screen::of_stdout();
    let time = now.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    let time = screen.paint(Tone::Quiet, &time);
    client::print_line(&format!(
        "{time}  {}",
        screen.paint(tone, &client::visible(text))
    ))
}
