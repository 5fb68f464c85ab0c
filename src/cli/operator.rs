//! `smsc operator`: operators as resources, and commands to all binds of one.

use super::client::{self, CommandOutput};
use super::resource::{self, ResourceCommand};
use crate::api::Done;
use crate::domain::settings::ResourceKind;

/// What to do with operators.
#[derive(Debug, clap::Subcommand)]
pub enum OperatorCommand {
    #[command(flatten)]
    Resource(ResourceCommand),
    /// Unbind every bind, and stay down until resumed.
    Suspend(OperatorOrderArgs),
    /// Bind again what is paused (after a wrong password, after suspend).
    Resume(OperatorOrderArgs),
    /// Unbind every bind and bind again, also those that are paused.
    Rebind(OperatorOrderArgs),
}

/// Arguments of commands to the binds of an operator.
#[derive(Debug, clap::Args)]
pub struct OperatorOrderArgs {
    /// The id of the operator.
    name: String,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// As [`resource::run`].
pub fn run(order: OperatorCommand) -> anyhow::Result<()> {
    match order {
        OperatorCommand::Resource(order) => resource::run(ResourceKind::Operator, order),
        OperatorCommand::Suspend(args) => args.give("suspend", "are suspended"),
        OperatorCommand::Resume(args) => args.give("resume", "are resumed"),
        OperatorCommand::Rebind(args) => args.give("rebind", "bind again"),
    }
}

// === impl OperatorOrderArgs ===

impl OperatorOrderArgs {
    fn give(&self, verb: &str, said: &str) -> anyhow::Result<()> {
        let name = &self.name;
        let path = format!("/v1/operators/{}/{verb}", client::segment(name));
        let json = self.telling.open()?.post(&path)?;
        self.telling.done(json, |done: Done| match done.count {
            0 => format!("{name}: no bind needed it"),
            count => format!("{name}: {count} binds {said}"),
        })
    }
}
