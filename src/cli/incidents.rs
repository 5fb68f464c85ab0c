//! `smsc incident`: operators and accounts that are not well, and saying that somebody knows of it.

use super::client::{self, CommandOutput, Listing, OutputPage, TableCell, table_of};
use crate::api::{Done, Incident, Incidents};

const PATH: &str = "/v1/incidents";

/// What to do with incidents.
#[derive(Debug, clap::Subcommand)]
pub enum IncidentCommand {
    /// Show operators and accounts that are not well, or were not lately.
    List(Listing),
    /// Say that somebody knows of one: it needs no look any more until it ends.
    Acknowledge(AcknowledgeArgs),
}

/// Arguments of `smsc incident acknowledge`.
#[derive(Debug, clap::Args)]
pub struct AcknowledgeArgs {
    /// The incident, as smsc incident list shows it.
    id: String,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: &IncidentCommand) -> anyhow::Result<()> {
    match order {
        IncidentCommand::List(listing) => listing.show(PATH, |list: Incidents| page(&list)),
        IncidentCommand::Acknowledge(args) => acknowledge(args),
    }
}

fn acknowledge(args: &AcknowledgeArgs) -> anyhow::Result<()> {
    let path = format!("{PATH}/{}/acknowledge", client::segment(&args.id));
    let json = args.telling.open()?.post(&path)?;
    args.telling.done(json, |done: Done| match done.count {
        0 => "it was acknowledged before".to_owned(),
        _ => "it is acknowledged until it ends".to_owned(),
    })
}

fn page(list: &Incidents) -> OutputPage {
    let table = table_of!(&list.incidents, |one| {
        "id" => one.id.clone(),
        "state" => state(one).to_owned(),
        "what" => one.text.clone(),
        "began" [1] => TableCell::time(one.began_at.as_deref()),
        "ended" [2] => TableCell::time(one.ended_at.as_deref()),
        "acknowledged by" [3] => one.acknowledged_by.clone().unwrap_or_default(),
    });
    OutputPage::list(table, "every operator and account is well, and was")
}

fn state(one: &Incident) -> &'static str {
    if one.ended_at.is_some() {
        "ended"
    } else if one.acknowledged_at.is_some() {
        "acknowledged"
    } else {
        "open"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::Screen;

    #[test]
    fn says_what_goes_on_and_who_knows_of_it() {
        let open = Incident {
            id: "7".to_owned(),
            text: "operator charlie refuses 50 %".to_owned(),
            began_at: Some("2026-11-25T16:53:00.000Z".to_owned()),
            ..Incident::default()
        };
        let known = Incident {
            id: "6".to_owned(),
            acknowledged_by: Some("anna".to_owned()),
            acknowledged_at: Some("2026-11-25T16:54:00.000Z".to_owned()),
            ..Incident::default()
        };
        let list = Incidents {
            incidents: vec![open, known],
        };
        let text = page(&list).render(Screen::default());
        for part in [
            "open",
            "charlie refuses 50 %",
            "16:53",
            "acknowledged",
            "anna",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let none = Incidents {
            incidents: Vec::new(),
        };
        assert!(page(&none).render(Screen::default()).contains("is well"));
    }
}
