//! `smsc lookup`: what is looked up about numbers, and forgetting answers.

use super::client::{self, CommandOutput, Listing, OutputTable, TableCell, table_of};
use crate::api::{Forgotten, Lookup, LookupKind, Lookups, Word};

/// What to do with look-ups.
#[derive(Debug, clap::Subcommand)]
pub enum LookupsCommand {
    /// Show the look-ups of the node that answers.
    List {
        #[command(flatten)]
        listing: Listing,
    },
    /// Forget answers on all nodes, so that numbers are looked up anew.
    Forget(Forget),
}

/// Arguments of `smsc lookup forget`.
#[derive(Debug, clap::Args)]
pub struct Forget {
    /// What was looked up: network or imsi.
    #[arg(value_parser = question)]
    question: String,
    /// Digits, with or without a plus.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    numbers: Vec<String>,
    /// The answers for all numbers.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(order: &LookupsCommand) -> anyhow::Result<()> {
    match order {
        LookupsCommand::List { listing } => {
            listing.show("/v1/lookups", |found: Lookups| table(&found.lookups).into())
        }
        LookupsCommand::Forget(args) => forget(args),
    }
}

fn question(text: &str) -> Result<String, String> {
    match LookupKind::of(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!("write one of {}", LookupKind::list())),
    }
}

fn forget(args: &Forget) -> anyhow::Result<()> {
    let client = args.telling.open()?;
    let all = format!("/v1/lookups/{}", args.question);
    let paths = if args.all {
        vec![("all numbers", all)]
    } else {
        args.numbers
            .iter()
            .map(|number| {
                (
                    number.as_str(),
                    format!("{all}/{}", client::segment(number)),
                )
            })
            .collect()
    };
    for (what, path) in paths {
        let json = client.delete(&path)?;
        args.telling.done(json, |done: Forgotten| {
            format!(
                "{what}: {} answers forgotten on this node, and those of the others",
                client::number(done.forgotten)
            )
        })?;
    }
    Ok(())
}

fn table(lookups: &[Lookup]) -> OutputTable {
    table_of!(lookups, |one| {
        let source = match (one.has_source, one.away) {
            (false, _) => "none",
            (true, true) => "away",
            (true, false) => "asked",
        };
        "look-up" => one.question.word(),
        "source" => TableCell::state(source),
        "waiting" => TableCell::number(one.waiting),
        "cached" => TableCell::number(one.cached),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed_command;

    #[test]
    fn numbers_or_all_are_forgotten() {
        let read = |line: &[&str]| parsed_command::<LookupsCommand>(line);
        let Ok(LookupsCommand::Forget(one)) = read(&["x", "forget", "imsi", "+491", "492"]) else {
            panic!("not forget");
        };
        assert_eq!(
            (&*one.question, one.numbers.len(), one.all),
            ("imsi", 2, false)
        );
        assert!(matches!(
            read(&["x", "forget", "network", "--all"]),
            Ok(LookupsCommand::Forget(_))
        ));
        assert!(read(&["x", "forget", "imsi"]).is_err());
        assert!(read(&["x", "forget", "imsi", "491", "--all"]).is_err());
        assert!(read(&["x", "forget", "price", "491"]).is_err());
        assert!(matches!(
            read(&["x", "list"]),
            Ok(LookupsCommand::List { .. })
        ));
    }
}
