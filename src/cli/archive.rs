//! `smsc archive`: how far finished messages have been copied elsewhere.

use super::client::{self, Listing, OutputPage, TableCell};
use crate::api::Archive;

/// What to do with the archive.
#[derive(Debug, clap::Subcommand)]
pub enum ArchiveCommand {
    /// Show what waits to be archived, and what the node that answers has written.
    Status {
        #[command(flatten)]
        listing: Listing,
    },
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: &ArchiveCommand) -> anyhow::Result<()> {
    let ArchiveCommand::Status { listing } = order;
    listing.show("/v1/archive", |archive: Archive| page(&archive))
}

fn page(archive: &Archive) -> OutputPage {
    if !archive.enabled {
        return OutputPage::default().text("no archive; [archive] makes one");
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
    OutputPage::default().facts([
        ("goes to", TableCell::from(place)),
        ("waits", waits.into()),
        ("written by this node now", here.into()),
        ("messages", TableCell::number(archive.messages)),
        ("octets", TableCell::number(archive.octets)),
        ("failures", TableCell::number(archive.failures)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::Screen;

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
        let text = page(&archive).render(Screen::default());
        assert!(text.contains("jsonl in /var/lib/smsc/archive"), "{text}");
        assert!(text.contains("12 messages"), "{text}");
        let nothing = Archive {
            waiting: 0,
            oldest_at: None,
            ..archive.clone()
        };
        assert!(page(&nothing).render(Screen::default()).contains("nothing"));
        let none = Archive {
            enabled: false,
            ..archive
        };
        assert!(page(&none).render(Screen::default()).contains("no archive"));
    }
}
