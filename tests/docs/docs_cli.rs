//! docs/cli.md is the help text of the binary. `SMSC_BLESS=1` writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const INTRODUCTION: &str = "\
# Command line

<!-- Generated from `smsc --help`. Change src/cli, then run: SMSC_BLESS=1 cargo test --test docs docs_cli -->

A command is a noun, a verb and a name: `smsc queue suspend operator:up`. Without a command, `smsc` serves, with the
options of [smsc serve](#smsc-serve). The exit codes are below [smsc](#smsc). Each option is described once: commands
that have it too name it. Every command has `--help`.
";

/// An option of so many commands is described at the top.
const MANY: usize = 3;

/// Headings of options that many commands have.
const SHARED: [&str; 2] = ["Output:", "Which SMSC:"];

#[test]
fn the_reference_is_what_help_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let expected = reference();
    if std::env::var_os("SMSC_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/cli.md is outdated; run SMSC_BLESS=1 cargo test --test docs docs_cli"
    );
}

/// A command and its help text, without the headings of [`SHARED`].
struct CommandHelp {
    name: String,
    /// Whether it has commands below it.
    is_group: bool,
    /// What stands before its options.
    before: String,
    options: Vec<HelpOption>,
    /// What stands after its options.
    after: String,
}

/// An option in a help text.
struct HelpOption {
    lines: String,
    /// As `-y, --yes`.
    name: String,
    /// Its description, on one line.
    meaning: String,
}

fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut commands = Vec::new();
    collect(&mut commands, &[]);
    // Most commands have them, so they stand here once.
    let of_most = help(&["queue".to_owned(), "list".to_owned()]);
    page.push_str("\n## Options of most commands\n\nEvery command that asks a running SMSC has these.\n\n```text\n");
    for heading in SHARED {
        page.push_str(&section(&of_most, heading).0);
    }
    page.push_str("```\n\n## Options of several commands\n\n");
    let mut described = options_of_many(&commands);
    for (name, meaning) in described.keys() {
        writeln!(page, "- `{name}`: {meaning}").unwrap();
    }
    for command in &commands {
        add(&mut page, command, &mut described);
    }
    page
}

/// Names and meanings of the options that many commands have, each with where it is described: above. Of an option
/// with several meanings the most frequent one.
fn options_of_many(commands: &[CommandHelp]) -> BTreeMap<(String, String), String> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for option in commands.iter().flat_map(|command| &command.options) {
        *counts.entry(option.key()).or_default() += 1;
    }
    let is_most_frequent = |key: &(String, String), count: usize| {
        let of_name = counts.iter().filter(|(other, _)| other.0 == key.0);
        of_name.map(|(_, count)| *count).max() == Some(count)
    };
    counts
        .iter()
        .filter(|(key, count)| **count >= MANY && is_most_frequent(key, **count))
        .map(|(key, _)| (key.clone(), "above".to_owned()))
        .collect()
}

/// Collects a command and those below it.
fn collect(commands: &mut Vec<CommandHelp>, words: &[String]) {
    let mut text = help(words);
    let names = subcommands(&text);
    for heading in SHARED {
        text = section(&text, heading).1;
    }
    let (before, options, after) = split(&text);
    commands.push(CommandHelp {
        name: [&["smsc".to_owned()], words].concat().join(" "),
        is_group: !names.is_empty(),
        before,
        // Those of the program are those of `smsc serve`.
        options: if words.is_empty() {
            Vec::new()
        } else {
            options
        },
        after,
    });
    for name in names {
        collect(commands, &[words, &[name]].concat());
    }
}

/// Adds a command. What it describes first is noted with its name.
fn add(
    page: &mut String,
    command: &CommandHelp,
    described: &mut BTreeMap<(String, String), String>,
) {
    let CommandHelp {
        name,
        before,
        after,
        ..
    } = command;
    write!(page, "\n## {name}\n\n").unwrap();
    if command.is_group && command.options.is_empty() && name != "smsc" {
        // Its commands and their examples follow.
        let about: Vec<&str> = before.lines().take_while(|line| !line.is_empty()).collect();
        writeln!(page, "{}.", about.join(" ")).unwrap();
        return;
    }
    let (mut own, mut elsewhere) = (String::new(), BTreeMap::<String, Vec<&str>>::new());
    for option in &command.options {
        if let Some(place) = described.get(&option.key()) {
            let flags = elsewhere.entry(place.clone()).or_default();
            flags.push(option.flag());
        } else {
            writeln!(own, "{}", option.lines.trim_end()).unwrap();
            described.insert(option.key(), format!("of {name}"));
        }
    }
    // A usage with options alone says nothing.
    let usage = format!("Usage: {name} [OPTIONS]");
    let before: Vec<&str> = before.lines().filter(|line| *line != usage).collect();
    let mut before = before.join("\n");
    if name == "smsc" {
        before = names_alone(&before);
    }
    writeln!(page, "```text\n{}", before.trim_end()).unwrap();
    if !own.is_empty() {
        write!(page, "\nOptions:\n{own}").unwrap();
    }
    for (place, flags) in elsewhere {
        writeln!(page, "\nAs {place}: {}", flags.join(", ")).unwrap();
    }
    // One example without an option of its own says what the usage says.
    let is_plain = command.options.is_empty() && after.lines().count() == 2;
    if !after.trim().is_empty() && !is_plain {
        writeln!(page, "\n{}", after.trim()).unwrap();
    }
    page.push_str("```\n");
}

/// The commands by their names alone, behind their headings: their sections describe them.
fn names_alone(text: &str) -> String {
    let (mut short, mut is_inside) = (String::new(), false);
    for line in text.lines() {
        let was_inside = is_inside;
        let is_heading = line.starts_with("Commands") && line.ends_with(':');
        is_inside = is_heading || (is_inside && line.starts_with("  "));
        if is_heading {
            short.push_str(line);
        } else if !is_inside {
            short.push_str(if was_inside { "\n" } else { "" });
            writeln!(short, "{line}").unwrap();
        } else if !line.starts_with("   ") {
            let name = line.split_whitespace().next().unwrap_or_default();
            write!(short, " {name}").unwrap();
        }
    }
    short
}

// === impl HelpOption ===

impl HelpOption {
    /// The option whose description begins with this line.
    fn beginning(line: &str) -> Self {
        let (name, meaning) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
        Self {
            lines: format!("{line}\n"),
            name: name.to_owned(),
            meaning: meaning.trim().to_owned(),
        }
    }

    fn extend(&mut self, line: &str) {
        writeln!(self.lines, "{line}").unwrap();
        for word in line.split_whitespace() {
            self.meaning
                .push_str(if self.meaning.is_empty() { "" } else { " " });
            self.meaning.push_str(word);
        }
    }

    /// Two options with the same key need one description.
    fn key(&self) -> (String, String) {
        (self.name.clone(), self.meaning.clone())
    }

    /// As `--yes`.
    fn flag(&self) -> &str {
        let mut words = self.name.split([' ', '[', ',']);
        words
            .find(|word| word.starts_with("--"))
            .unwrap_or(&self.name)
    }
}

/// What stands before "Options:", each option except `--help`, and what stands after them.
fn split(text: &str) -> (String, Vec<HelpOption>, String) {
    let (before, rest) = text.split_once("\nOptions:\n").unwrap_or((text, ""));
    let mut options: Vec<HelpOption> = Vec::new();
    let mut lines = rest.lines().peekable();
    while let Some(line) = lines.next_if(|line| line.is_empty() || line.starts_with(' ')) {
        // Further lines of a description are indented deeper.
        let is_first = line.trim_start().starts_with('-') && !line.starts_with("        ");
        if is_first || options.is_empty() {
            options.push(HelpOption::beginning(line));
        } else if let Some(option) = options.last_mut() {
            option.extend(line);
        }
    }
    options.retain(|option| option.flag() != "--help");
    let after: Vec<&str> = lines.collect();
    (before.to_owned(), options, after.join("\n"))
}

/// The lines below a heading of a help text, with it, and the text without them.
fn section(text: &str, heading: &str) -> (String, String) {
    let (mut own, mut others, mut is_inside) = (String::new(), String::new(), false);
    for line in text.lines() {
        if !line.starts_with(' ') && !line.is_empty() {
            is_inside = line == heading;
        }
        let target = if is_inside { &mut own } else { &mut others };
        writeln!(target, "{line}").unwrap();
    }
    (own, others)
}

/// The names under "Commands:" or, of the program, under each "Commands for …:", without clap's own `help`; none where
/// there are none.
fn subcommands(top: &str) -> Vec<String> {
    let (mut names, mut is_inside) = (Vec::new(), false);
    for line in top.lines() {
        let is_heading = line.starts_with("Commands") && line.ends_with(':');
        is_inside = is_heading || (is_inside && line.starts_with("  "));
        // Further lines of a description are indented deeper.
        let is_command = is_inside && !is_heading && !line.starts_with("   ");
        names.extend(line.split_whitespace().next().filter(|_| is_command));
    }
    names.retain(|name| *name != "help");
    names.into_iter().map(str::to_owned).collect()
}

/// The output of `smsc … --help`, the same on every machine: no environment variables, no terminal
/// width.
fn help(arguments: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_smsc"))
        .args(arguments)
        .arg("--help")
        .env_clear()
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n"))
}
