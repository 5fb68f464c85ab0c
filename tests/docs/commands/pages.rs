//! The commands that stand in the pages of the documentation.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One command as it is shown.
pub struct Shown {
    /// All lines of it.
    pub command: String,
}

/// Every page with commands; docs/cli.md is generated, and its examples are parsed by a test of their own.
pub fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages: Vec<PathBuf> = ["docs", "docs/developers"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md") && !path.ends_with("cli.md"))
        .collect();
    pages.extend(
        ["README.md", "CONTRIBUTING.md", "helm/smsc/README.md"].map(|page| root.join(page)),
    );
    pages.sort();
    pages
}

/// The commands of the blocks that are marked `sh`.
///
/// # Panics
/// A block is no shell script, or a command stands in a block that is not marked.
pub fn shown(page: &Path) -> Vec<Shown> {
    let text = std::fs::read_to_string(page).unwrap();
    let (mut all, mut block, mut lines) = (Vec::new(), None::<String>, String::new());
    for line in text.lines() {
        match (&block, line.strip_prefix("```")) {
            (None, Some(mark)) => block = Some(mark.to_owned()),
            (Some(mark), Some(_)) => {
                let is_command =
                    |line: &str| line.starts_with("smsc ") || line.starts_with("curl ");
                assert!(
                    !mark.is_empty() || !lines.lines().any(is_command),
                    "{}: a block of commands is not marked sh:\n{lines}",
                    page.display()
                );
                if mark == "sh" {
                    all.extend(commands(&lines, page));
                }
                (block, lines) = (None, String::new());
            }
            (Some(_), None) => {
                lines.push_str(line);
                lines.push('\n');
            }
            (None, None) => {}
        }
    }
    all
}

/// Lines up to where a shell finds a command complete.
fn commands(block: &str, page: &Path) -> Vec<Shown> {
    let (mut all, mut command) = (Vec::new(), String::new());
    for line in block.lines() {
        if command.is_empty() && (line.trim().is_empty() || line.trim_start().starts_with('#')) {
            continue;
        }
        if !command.is_empty() {
            command.push('\n');
        }
        command.push_str(line);
        if !line.trim_end().ends_with('\\') && is_complete(&command) {
            all.push(Shown {
                command: std::mem::take(&mut command),
            });
        }
    }
    assert!(
        command.is_empty(),
        "{}: no shell reads:\n{command}",
        page.display()
    );
    all
}

fn is_complete(command: &str) -> bool {
    let read = Command::new("bash")
        .args(["-n", "-c", command])
        .stderr(Stdio::null())
        .status();
    read.unwrap().success()
}
