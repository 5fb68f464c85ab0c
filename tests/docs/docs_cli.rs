//! docs/cli.md is the help text of the binary. `SMSC_BLESS=1` writes it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const INTRODUCTION: &str = "\
# Command line

<!-- Generated from `smsc --help`. Change src/cli, then run: SMSC_BLESS=1 cargo test --test docs docs_cli -->

Without a subcommand, `smsc` serves. Exit codes: 0 done, 1 failed, 2 wrong arguments, 70 an actor
could not be kept alive, 78 wrong configuration.
";

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
    let top = help(&[]);
    let mut page = INTRODUCTION.to_owned();
    write!(page, "\n## smsc\n\n```text\n{top}```\n").unwrap();
    for name in subcommands(&top) {
        let text = help(&[&name]);
        write!(page, "\n## smsc {name}\n\n```text\n{text}```\n").unwrap();
    }
    page
}

/// The names under "Commands:", without clap's own `help`.
fn subcommands(top: &str) -> Vec<String> {
    let names: Vec<String> = top
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        // Further lines of a description are indented deeper.
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    assert!(
        names.contains(&"serve".to_owned()),
        "no commands in:\n{top}"
    );
    names
}

/// The output of `smsc … --help`, the same on every machine: no environment variables, no terminal
/// width.
fn help(arguments: &[&str]) -> String {
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
