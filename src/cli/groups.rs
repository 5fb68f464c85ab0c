//! `smsc --help`: the commands in groups, and the exit codes. Every other help is clap's own.

use std::fmt::Write as _;

use clap::Command;

use super::exit;

/// The heading of commands that no group names.
const OTHERS: &str = "Commands for everything else";

/// Headings, and the commands below each.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Commands to look",
        &[
            "health", "top", "incident", "history", "failures", "events", "why", "trace", "usage",
            "audit",
        ],
    ),
    (
        "Commands for messages",
        &["send", "message", "dead-letter", "receipt", "held", "erase"],
    ),
    (
        "Commands for queues, binds and nodes",
        &[
            "queue", "bind", "node", "drain", "lookup", "firewall", "sink", "source",
        ],
    ),
    (
        "Commands for accounts, operators and routes",
        &[
            "account", "operator", "route", "balance", "callback", "opt-out", "key", "token",
        ],
    ),
    (
        "Commands for the configuration",
        &["check-config", "apply", "config", "convert", "context"],
    ),
    (
        "Commands for the store",
        &[
            "backup",
            "archive",
            "export",
            "fsck",
            "damaged",
            "salvage",
            "repair-ids",
            "migrate",
            "migrate-store",
        ],
    ),
    (
        "Commands to test and measure",
        &["simulate", "load", "bench", "decode"],
    ),
];

/// The whole command line with its commands in groups.
pub fn add_to(command: Command) -> Command {
    let mut template = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (heading, names) in groups(&command) {
        // A text of a String is written without fail.
        let _ = writeln!(template, "{heading}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(template, "  {name:<13}  {about}");
        }
        template.push('\n');
    }
    template.push_str(
        "Options of most commands, such as --url, --token and -o, stand behind a command or in front of it.\n\n\
         Options:\n{options}{after-help}\n\n",
    );
    template.push_str(exit::HELP);
    command.help_template(template)
}

/// The groups of the commands that there are, with those that no group names.
fn groups(command: &Command) -> Vec<(&'static str, Vec<&str>)> {
    let all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others = all.iter().copied().filter(|name| !is_grouped(name));
    let mut groups: Vec<(&'static str, Vec<&str>)> = GROUPS
        .iter()
        .map(|(heading, names)| {
            let there = names.iter().copied().filter(|name| all.contains(name));
            (*heading, there.collect())
        })
        .collect();
    groups.push((OTHERS, others.collect()));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn every_command_is_in_one_group() {
        let command = command();
        let groups = groups(&command);
        let mut listed: Vec<&str> = groups.into_iter().flat_map(|(_, names)| names).collect();
        listed.sort_unstable();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(listed, all);
        for (_, names) in GROUPS {
            for name in *names {
                assert!(command.find_subcommand(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn help_has_the_groups_and_the_exit_codes() {
        let help = command().render_help().to_string();
        for part in [
            "Commands for messages:\n  send ",
            "\nOptions:\n",
            "\nExamples:\n",
            "\nExit codes:\n",
        ] {
            assert!(help.contains(part), "{part}: {help}");
        }
    }
}
