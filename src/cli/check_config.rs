//! `smsc check-config`: reports every error of a configuration.
//!
//! Prints "ok" with counts and warnings, or fails with a [`ConfigError`], which the caller turns
//! into exit code [`ConfigError::EXIT_CODE`]. Looks into the data folder only for what the demo has left there, opens nothing
//! in it, and does not touch the network. Of the machine it asks whether the kernel has SCTP, where a network needs it.

use std::io::{self, Write};
use std::path::PathBuf;

use super::send::PASSWORD_FILE;
use super::serve::DEMO_ACCOUNT;
use crate::config::{self, Account, Config, ConfigProblem, GatewayTransport};
use crate::sctp;
use crate::store::sqlite::MAIN_FILE;

/// Arguments of `smsc check-config`.
#[derive(Debug, clap::Args)]
pub struct CheckConfigArgs {
    /// Configuration file [default: only defaults and environment].
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
    let mut warnings = config.validate()?;
    let needing = without_sctp(&config);
    // Asking loads the module of the kernel, where there is one.
    if !needing.is_empty() && !sctp::is_supported() {
        warnings.extend(needing);
    }
    write_report(&config, &warnings, &mut out)?;
    if let Some(path) = args.config.as_deref().filter(|_| is_of_demo(&config)) {
        let (folder, path) = (config.data_dir.display(), path.display());
        writeln!(
            out,
            "note: the store in {folder} was made by the demo (smsc without a file), with an account and an operator of its own. \
             A store that has any does not take those of a file: name another data_dir, or put this file in their place with \
             `smsc apply -f {path}` while the SMSC runs, if that was not done yet"
        )?;
    }
    Ok(())
}

/// What this machine cannot do, although another one with this configuration may: the gateways that are reached by SCTP, as
/// one warning for each network.
fn without_sctp(config: &Config) -> Vec<ConfigProblem> {
    let networks = config.gsm.iter().enumerate();
    let needing = networks.filter_map(|(index, network)| {
        let gateways = network.map.as_ref()?.gateways.iter();
        let mut transports = gateways.map(|gateway| gateway.transport);
        let needs_it = transports.any(|transport| transport == GatewayTransport::Sctp);
        let key = format!("gsm[{index}].map.gateways");
        needs_it.then(|| ConfigProblem::new(key, sctp::NOT_THERE))
    });
    needing.collect()
}

/// Whether the embedded store that a file names is one that the demo has begun: the password of its account is beside it.
fn is_of_demo(config: &Config) -> bool {
    let is_there = |name: &str| config.data_dir.join(name).exists();
    let names_it = |account: &Account| account.system_id == DEMO_ACCOUNT;
    config.postgres.url.is_none()
        && config.postgres.url_file.is_none()
        && !config.has_no_resources()
        && !config.account.iter().any(names_it)
        && is_there(MAIN_FILE)
        && is_there(PASSWORD_FILE)
}

fn write_report(
    config: &Config,
    warnings: &[ConfigProblem],
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

    #[test]
    fn networks_that_need_sctp_are_named_where_there_is_none() {
        use crate::config::{Gsm, MapConfig, MapGateway};
        let over = |transport| Gsm {
            map: Some(MapConfig {
                gateways: vec![MapGateway {
                    transport,
                    ..MapGateway::default()
                }],
                ..MapConfig::default()
            }),
            ..Gsm::default()
        };
        let config = Config {
            gsm: vec![
                Gsm::default(),
                over(GatewayTransport::Tcp),
                over(GatewayTransport::Sctp),
            ],
            ..Config::default()
        };
        let said: Vec<String> = without_sctp(&config)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("gsm[2].map.gateways: "), "{said:?}");
        assert!(said[0].contains("modprobe sctp"), "{said:?}");
    }

    #[test]
    fn a_store_of_the_demo_is_known_by_what_it_has_left() {
        let folder = tempfile::tempdir().unwrap();
        let account = |name: &str| Account {
            system_id: name.to_owned(),
            ..Account::default()
        };
        let of = |name: &str| Config {
            data_dir: folder.path().to_owned(),
            account: vec![account(name)],
            ..Config::default()
        };
        assert!(!is_of_demo(&of("test")), "there is no store yet");
        for name in [MAIN_FILE, PASSWORD_FILE] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert!(is_of_demo(&of("test")));
        assert!(!is_of_demo(&of(DEMO_ACCOUNT)), "it goes on with the demo");
        let without = Config {
            account: Vec::new(),
            ..of("test")
        };
        assert!(!is_of_demo(&without), "a file that leaves all to the store");
    }
}
