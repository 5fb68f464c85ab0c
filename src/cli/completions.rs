//! `smsc completions`: shell completion scripts.

use std::io::{self, Write as _};

use clap_complete::Shell;

/// Shells that packages install completions for.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum PackagedShell {
    Bash,
    Zsh,
    Fish,
}

/// Arguments of `smsc completions`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell; its script is printed.
    shell: PackagedShell,
}

/// Prints the script.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<()> {
    let shell = match args.shell {
        PackagedShell::Bash => Shell::Bash,
        PackagedShell::Zsh => Shell::Zsh,
        PackagedShell::Fish => Shell::Fish,
    };
    // Into memory first: the generator panics when its writer fails.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "smsc", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(())
}
