//! `smsc archive`: how far finished messages have been copied elsewhere.

use super::client::{self, Connection};
use crate::api::Archive;

/// Arguments of `smsc archive`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    order: Order,
}

#[derive(Debug, clap::Subcommand)]
enum Order {
    /// Show what waits to be archived, and what the node that answers has written.
    Status(Status),
}

/// Arguments of `smsc archive status`.
#[derive(Debug, clap::Args)]
struct Status {
    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let Order::Status(Status { connection }) = &args.order;
    let json = connection.open()?.get("/v1/archive")?;
    if connection.json {
        return client::print_json(&json);
    }
    client::print_line(&render(&client::decode(json)?))
}

fn render(archive: &Archive) -> String {
    if !archive.enabled {
        return "no archive; [archive] makes one".to_owned();
    }
    let place = match archive.dir.as_str() {
        "" => archive.format.clone(),
        dir => format!("{} in {dir}", archive.format),
    };
    let waits = match &archive.oldest_at {
        None => "nothing".to_owned(),
        at => format!(
            "{} messages, the oldest for {}",
            client::number(archive.waiting),
            client::ago(at.as_deref())
        ),
    };
    let here = if archive.writes_here { "yes" } else { "no" };
    let mut table = client::table(&["archive", ""]);
    for (name, value) in [
        ("goes to", place),
        ("waits", waits),
        ("written by this node now", here.to_owned()),
        ("messages", client::number(archive.messages)),
        ("octets", client::number(archive.octets)),
        ("failures", client::number(archive.failures)),
    ] {
        table.add_row([name.to_owned(), value]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_waits_and_where_it_goes() {
        let archive = Archive {
            enabled: true,
            format: "jsonl".to_owned(),
            dir: "/var/lib/smsc/archive".to_owned(),
            waiting: 12,
            oldest_at: Some("2026-11-25T16:53:01.123Z".to_owned()),
            writes_here: true,
            messages: 1_500,
            octets: 9,
            failures: 2,
        };
        let text = render(&archive);
        assert!(text.contains("jsonl in /var/lib/smsc/archive"), "{text}");
        assert!(text.contains("12 messages"), "{text}");
        let nothing = Archive {
            waiting: 0,
            oldest_at: None,
            ..archive.clone()
        };
        assert!(render(&nothing).contains("nothing"));
        let none = Archive {
            enabled: false,
            ..archive
        };
        assert!(render(&none).contains("no archive"));
    }
}
