//! Asks for confirmation before an irreversible action.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::bail;

use super::exit::WrongCommandLine;

/// Asks on the terminal, unless `yes` is set; without a terminal `--yes` is required. `not_done` is
/// printed on a no: `nothing was purged`.
///
/// # Errors
/// There is no terminal, or the answer was not yes.
pub fn confirm(question: &str, yes: bool, not_done: &str) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        bail!(WrongCommandLine(format!(
            "{not_done}: there is no terminal to ask on; give --yes to go on without being asked"
        )));
    }
    eprint!("{question} [y/N] ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => bail!("{not_done}"),
    }
}
