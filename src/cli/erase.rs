//! `smsc erase`: erases a subscriber from a running SMSC.

use std::io::{BufRead as _, IsTerminal as _};

use anyhow::bail;

use super::client::{self, CommandOutput};
use super::exit::WrongCommandLine;
use crate::api::ErasedMessages;

/// Arguments of `smsc erase`.
#[derive(Debug, clap::Args)]
pub struct EraseArgs {
    /// The subscriber's number, digits as in the messages.
    #[arg(long)]
    msisdn: String,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Erases after confirmation.
///
/// # Errors
/// Not confirmed, or the SMSC cannot be reached or refuses.
pub fn run(args: &EraseArgs) -> anyhow::Result<()> {
    let client = args.telling.open()?;
    if !args.yes {
        confirm(&args.msisdn)?;
    }
    let path = format!("/v1/subscribers/{}/messages", client::segment(&args.msisdn));
    let json = client.delete(&path)?;
    args.telling.done(json, |done: ErasedMessages| {
        let mut said = format!(
            "number and text erased in {} messages",
            client::number(done.erased)
        );
        if done.active > 0 {
            said.push_str(&format!(
                "; {} still active, run again when they have ended",
                client::number(done.active)
            ));
        }
        said
    })
}

fn confirm(msisdn: &str) -> anyhow::Result<()> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        bail!(WrongCommandLine(
            "there is no terminal to ask on; give --yes to erase without confirmation".to_owned()
        ));
    }
    eprintln!("Number and text of every finished message from or to {msisdn} are erased for good.");
    eprintln!("Type the number again to go on:");
    let mut line = String::new();
    input.lock().read_line(&mut line)?;
    if line.trim() != msisdn {
        bail!("that is another number; nothing was erased");
    }
    Ok(())
}
