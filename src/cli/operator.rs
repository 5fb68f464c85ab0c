//! `smsc operator`: operators as resources, and commands to all binds of one.

use anyhow::bail;

use super::client::{self, CommandOutput};
use super::resource::{self, ResourceCommand};
use crate::api::{Done, OperatorTest};
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
    /// Try a connection and say what is wrong: name, TCP, TLS, bind, unbind. Sends no message.
    Test(OperatorTestArgs),
}

/// Arguments of commands to the binds of operators.
#[derive(Debug, clap::Args)]
pub struct OperatorOrderArgs {
    /// Operators, in turn until one is refused.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Arguments of `smsc operator test`.
#[derive(Debug, clap::Args)]
pub struct OperatorTestArgs {
    /// The id of the operator.
    name: String,
    /// Connect also while binds to it are up: an operator may allow no more.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// As [`resource::run`]; and a connection that was tried has failed.
pub fn run(order: OperatorCommand) -> anyhow::Result<()> {
    match order {
        OperatorCommand::Resource(order) => resource::run(ResourceKind::Operator, order),
        OperatorCommand::Suspend(args) => args.give("suspend", "are suspended"),
        OperatorCommand::Resume(args) => args.give("resume", "are resumed"),
        OperatorCommand::Rebind(args) => args.give("rebind", "bind again"),
        OperatorCommand::Test(args) => args.run(),
    }
}

/// The steps of a test below one another, and what it has found if that is good; what is wrong is the error.
fn in_lines(test: &OperatorTest) -> String {
    let steps = test.steps.iter().map(|step| {
        let outcome = if step.ok { "" } else { "failed: " };
        format!(
            "{:<8}{:>6} ms  {outcome}{}",
            step.step, step.took_ms, step.detail
        )
    });
    let last = test.ok.then(|| test.detail.clone());
    let lines: Vec<String> = steps.chain(last).collect();
    lines.join("\n")
}

// === impl OperatorOrderArgs ===

impl OperatorOrderArgs {
    fn give(&self, verb: &str, said: &str) -> anyhow::Result<()> {
        let client = self.telling.open()?;
        for name in &self.names {
            let path = format!("/v1/operators/{}/{verb}", client::segment(name));
            let json = client.post(&path)?;
            self.telling.done(json, |done: Done| match done.count {
                0 => format!("{name}: no bind needed it"),
                count => format!("{name}: {count} binds {said}"),
            })?;
        }
        Ok(())
    }
}

// === impl OperatorTestArgs ===

impl OperatorTestArgs {
    fn run(&self) -> anyhow::Result<()> {
        let mut path = format!("/v1/operators/{}/test", client::segment(&self.name));
        if self.force {
            path.push_str("?force=true");
        }
        let json = self.telling.open()?.post(&path)?;
        let test: OperatorTest = client::decode(json.clone())?;
        self.telling
            .done(json, |test: OperatorTest| in_lines(&test))?;
        if test.ok {
            return Ok(());
        }
        bail!("{}. {}", test.detail, test.cure.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::OperatorTestStep;
    use crate::cli::parsed;

    #[test]
    fn names_are_needed_and_may_be_several() {
        let read = |line: &[&str]| parsed::<OperatorOrderArgs>(line).map(|args| args.names);
        assert_eq!(
            read(&["suspend", "up", "backup"]).unwrap(),
            ["up", "backup"]
        );
        assert!(read(&["suspend"]).is_err());
    }

    #[test]
    fn each_step_of_a_test_is_a_line() {
        let step = |step: &str, ok: bool, detail: &str| OperatorTestStep {
            step: step.to_owned(),
            ok,
            detail: detail.to_owned(),
            took_ms: 12,
        };
        let test = OperatorTest {
            steps: vec![
                step("resolve", true, "192.0.2.1:2775"),
                step("connect", false, "nothing listens"),
            ],
            ..OperatorTest::default()
        };
        assert_eq!(
            in_lines(&test),
            "resolve     12 ms  192.0.2.1:2775\nconnect     12 ms  failed: nothing listens"
        );
        let live = OperatorTest {
            ok: true,
            detail: "1 of 1 binds to up are up".to_owned(),
            ..OperatorTest::default()
        };
        assert_eq!(in_lines(&live), "1 of 1 binds to up are up");
    }
}
