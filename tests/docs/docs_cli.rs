//! docs/cli.md is the help text of the binary. `SMSC_BLESS=1` writes it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const INTRODUCTION: &str = "\
# Command line

<!-- Generated from `smsc --help`. Change src/cli, then run: SMSC_BLESS=1 cargo test --test docs docs_cli -->

Without a subcommand, `smsc` serves. A command is a noun, a verb and a name: `smsc queue suspend operator:up`.
The options of most commands stand behind the command or in front of it. Forms of earlier releases
(`smsc queues operator:up suspend`) work for two more releases, and say on standard error how they are
written now. The exit codes are below the help of `smsc`.
";

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

fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    // Most commands have them, so they stand here once.
    let of_most = help(&["queue".to_owned(), "list".to_owned()]);
    page.push_str("\n## Options of most commands\n\nEvery command that asks a running SMSC has these.\n\n```text\n");
    for heading in SHARED {
        page.push_str(&section(&of_most, heading).0);
    }
    page.push_str("```\n");
    add(&mut page, &[]);
    page
}

/// Adds a command and those below it.
fn add(page: &mut String, words: &[String]) {
    let mut text = help(words);
    let names = subcommands(&text);
    for heading in SHARED {
        text = section(&text, heading).1;
    }
    let name = [&["smsc".to_owned()], words].concat().join(" ");
    let text = text.trim_end();
    write!(page, "\n## {name}\n\n```text\n{text}\n```\n").unwrap();
    for name in names {
        add(page, &[words, &[name]].concat());
    }
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
