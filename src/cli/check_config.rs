//! `smsc check-config`: reports every error of a configuration.
//!
//! Prints "ok" with counts and warnings, or fails with a [`ConfigError`], which the caller turns
//! into exit code [`ConfigError::EXIT_CODE`]. Touches neither the data folder nor the network.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::config::{self, Config};

/// Arguments of `smsc check-config`.
#[derive(Debug, clap::Args)]
pub struct CheckConfigArgs {
    /// Configuration file; without it, only defaults and environment are checked.
    #[arg(long, short, value_name = "FILE", env = "SMSC_CONFIG")]
    config: Option<PathBuf>,
    /// Print a configuration with every key, its default and its meaning instead.
    #[arg(long)]
    defaults: bool,
}

/// Runs the command.
///
/// # Errors
/// [`config::ConfigError`] when the configuration is wrong; I/O errors of standard output.
pub fn run(args: CheckConfigArgs) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if args.defaults {
        out.write_all(config::annotated_toml().as_bytes())?;
        return Ok(());
    }
    let config = Config::load(args.config.as_deref())?;
    write_report(&config, &config.validate()?, &mut out)?;
    Ok(())
}

fn write_report(
    config: &Config,
    warnings: &[config::ConfigProblem],
    out: &mut impl Write,
) -> io::Result<()> {
    for warning in warnings {
        writeln!(out, "warning: {warning}")?;
    }
    writeln!(
        out,
        "ok: {}, {}, {}, {}",
        count(config.account.len(), "account"),
        count(config.operator.len(), "operator"),
        count(config.route.len(), "route"),
        count(warnings.len(), "warning"),
    )
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Account;

    #[test]
    fn reports_counts_and_warnings() {
        let config = Config {
            account: vec![Account {
                system_id: "a".to_owned(),
                password: "secret".into(),
                ..Account::default()
            }],
            ..Config::default()
        };
        let mut out = Vec::new();
        write_report(&config, &config.validate().unwrap(), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "warning: route: there is none: every message is refused; add a [[route]]\n\
             ok: 1 account, 0 operators, 0 routes, 1 warning\n"
        );
    }
}
