//! Every command has an example, and every example is a command line.

use super::*;
use crate::cli::{command, grammar};

/// The words of a line as a shell makes them, up to what is for the shell itself.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted, mut word) = (Vec::new(), false, None::<String>);
    for character in line.chars() {
        match character {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    let is_for_the_shell = |word: &String| ["#", ">", "<", "|"].contains(&word.as_str());
    let end = words
        .iter()
        .position(is_for_the_shell)
        .unwrap_or(words.len());
    words.truncate(end);
    words.retain(|word| !word.starts_with("SMSC_"));
    words
}

/// Every command without commands below it.
fn leaves(command: &clap::Command, path: &str, found: &mut Vec<String>) {
    let mut has_below = false;
    for one in command
        .get_subcommands()
        .filter(|one| one.get_name() != "help")
    {
        has_below = true;
        leaves(one, &below(path, one.get_name()), found);
    }
    if !has_below {
        found.push(path.to_owned());
    }
}

#[test]
fn every_command_has_an_example() {
    let mut found = Vec::new();
    leaves(&command(), "", &mut found);
    assert!(found.len() > 60, "{found:?}");
    for path in &found {
        assert!(
            examples_of(path).is_some_and(|lines| !lines.is_empty()),
            "smsc {path} has no example in src/cli/examples.txt"
        );
    }
}

#[test]
fn every_example_is_a_command_line() {
    let mut path = "";
    for line in EXAMPLES.lines().filter(|line| !line.is_empty()) {
        let Some(line) = line.strip_prefix("  ") else {
            path = line.strip_prefix("smsc").expect(line).trim_start();
            continue;
        };
        let given = words(line).into_iter().skip(1).collect();
        let line_now = grammar::rewritten(&command(), given);
        assert_eq!(line_now.hint, None, "{line}");
        let words = [vec!["smsc".to_owned()], line_now.words].concat();
        let of = words
            .iter()
            .skip(1)
            .take(path.split(' ').filter(|word| !word.is_empty()).count());
        assert_eq!(of.cloned().collect::<Vec<_>>().join(" "), path, "{line}");
        let read = command().try_get_matches_from(words);
        assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
    }
}

#[test]
fn help_shows_examples() {
    let mut command = command();
    let help = |command: &mut clap::Command| command.render_help().to_string();
    assert!(help(&mut command).contains("Examples:\n  smsc  "));
    let token = command.find_subcommand_mut("token").unwrap();
    assert!(
        help(token).contains("smsc token add colleague"),
        "{}",
        help(token)
    );
    let add = token.find_subcommand_mut("add").unwrap();
    assert!(help(add).contains("smsc token add colleague"));
}
