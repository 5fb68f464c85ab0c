//! `smsc lookups`: what is looked up about numbers, and forgetting answers.

use super::client::{self, Connection};
use crate::api::{Forgotten, Lookup, LookupKind, Lookups, Word};

/// Arguments of `smsc lookups`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    order: Order,
}

#[derive(Debug, clap::Subcommand)]
enum Order {
    /// Show the look-ups of the node that answers.
    List(List),
    /// Forget answers on all nodes, so that numbers are looked up anew.
    Forget(Forget),
}

/// Arguments of `smsc lookups list`.
#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `smsc lookups forget`.
#[derive(Debug, clap::Args)]
struct Forget {
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
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached, or it refuses.
pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.order {
        Order::List(args) => list(&args.connection),
        Order::Forget(args) => forget(args),
    }
}

fn question(text: &str) -> Result<String, String> {
    match LookupKind::of(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!("write one of {}", LookupKind::list())),
    }
}

fn list(connection: &Connection) -> anyhow::Result<()> {
    let json = connection.open()?.get("/v1/lookups")?;
    if connection.json {
        return client::print_json(&json);
    }
    let found: Lookups = client::decode(json)?;
    client::print_line(&render(&found.lookups))
}

fn forget(args: &Forget) -> anyhow::Result<()> {
    let client = args.connection.open()?;
    let all = format!("/v1/lookups/{}", args.question);
    let paths = match args.all {
        true => vec![("all numbers", all)],
        false => args
            .numbers
            .iter()
            .map(|number| {
                (
                    number.as_str(),
                    format!("{all}/{}", client::segment(number)),
                )
            })
            .collect(),
    };
    for (what, path) in paths {
        let json = client.delete(&path)?;
        if args.connection.json {
            client::print_json(&json)?;
            continue;
        }
        let Forgotten { forgotten } = client::decode(json)?;
        client::print_line(&format!(
            "{what}: {} answers forgotten on this node, and those of the others",
            client::number(forgotten)
        ))?;
    }
    Ok(())
}

fn render(lookups: &[Lookup]) -> String {
    let mut table = client::table(&["look-up", "source", "waiting", "cached"]);
    for one in lookups {
        let known = LookupKind::ALL.iter();
        let name = known
            .filter(|(_, kind)| *kind == one.question)
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let source = match (one.has_source, one.away) {
            (false, _) => "none",
            (true, true) => "away",
            (true, false) => "asked",
        };
        table.add_row([
            name,
            source.to_owned(),
            client::number(one.waiting),
            client::number(one.cached),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parsed;

    #[test]
    fn numbers_or_all_are_forgotten() {
        let read = |line: &[&str]| parsed(line).map(|args: Args| args.order);
        let Ok(Order::Forget(one)) = read(&["x", "forget", "imsi", "+491", "492"]) else {
            panic!("not forget");
        };
        assert_eq!(
            (&*one.question, one.numbers.len(), one.all),
            ("imsi", 2, false)
        );
        assert!(matches!(
            read(&["x", "forget", "network", "--all"]),
            Ok(Order::Forget(_))
        ));
        assert!(read(&["x", "forget", "imsi"]).is_err());
        assert!(read(&["x", "forget", "imsi", "491", "--all"]).is_err());
        assert!(read(&["x", "forget", "price", "491"]).is_err());
        assert!(matches!(read(&["x", "list"]), Ok(Order::List(_))));
    }
}
