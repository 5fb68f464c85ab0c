//! The examples below every `--help`: command lines that are right, as a test sees, each with what it does.
//!
//! `examples.txt` has them for all commands, so that a new one without an example is noticed.

/// Above the examples of a command.
const HEAD: &str = "Examples:";

/// Below the words of each command, such as `smsc token add`, its command lines, each after two spaces.
const EXAMPLES: &str = include_str!("examples.txt");

/// The commands with their examples below their help; a group of commands has the first of each.
pub fn add_to(command: clap::Command) -> clap::Command {
    add(command, "")
}

fn add(mut command: clap::Command, path: &str) -> clap::Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|below| below.get_name().to_owned())
        .collect();
    for name in &names {
        let path = below(path, name);
        command = command.mut_subcommand(name, |command| add(command, &path));
    }
    let own = examples_of(path);
    let lines: Vec<&str> = if own.is_some() && (path.is_empty() || names.is_empty()) {
        own.unwrap_or_default()
    } else {
        let firsts = names.iter().filter_map(|name| {
            let found = examples_of(&below(path, name))?;
            found.first().copied()
        });
        own.unwrap_or_default().into_iter().chain(firsts).collect()
    };
    if lines.is_empty() {
        command
    } else {
        command.after_help(text(&lines))
    }
}

/// The examples of the command with these words, if it has any.
fn examples_of(path: &str) -> Option<Vec<&'static str>> {
    let wanted = below("smsc", path);
    let mut lines = EXAMPLES.lines();
    lines.find(|line| *line == wanted.trim_end())?;
    Some(lines.map_while(|line| line.strip_prefix("  ")).collect())
}

fn below(path: &str, name: &str) -> String {
    format!("{path} {name}").trim_start().to_owned()
}

/// With what is said about them in one column, where they are short enough for that.
fn text(lines: &[&str]) -> String {
    let (most, mut text) = (44, HEAD.to_owned());
    let long = lines.iter().filter_map(|line| line.split_once("  # "));
    let width = long
        .map(|(line, _)| line.len())
        .max()
        .unwrap_or(0)
        .min(most);
    for line in lines {
        text.push_str(&match line.split_once("  # ") {
            Some((line, said)) => format!("\n  {line:<width$}  # {said}"),
            None => format!("\n  {line}"),
        });
    }
    text
}

#[cfg(test)]
mod tests;
