//! `smsc health`: asks a running SMSC whether it is alive and ready, without a token.
//!
//! For health checks of container runtimes and service managers, where no HTTP client is at hand:
//! the exit code is the answer, the text says why.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;

use super::client::{self, AdminApiError};
use crate::config::Config;
use crate::simulator::options::parse_duration;

/// Arguments of `smsc health`.
#[derive(Debug, clap::Args)]
pub struct HealthArgs {
    /// Only ask whether the process answers; a draining node is alive.
    #[arg(long)]
    live: bool,
    /// Address of the SMSC [default: http.listen of the configuration, or http://127.0.0.1:8080].
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Certificate authorities (PEM) to trust, besides those of this machine.
    #[arg(long, value_name = "FILE", env = "SMSC_CA")]
    ca: Option<PathBuf>,
    /// Configuration file with the address and the certificate.
    #[arg(long, short, value_name = "FILE", env = "SMSC_CONFIG")]
    config: Option<PathBuf>,
    /// How long to wait for the answer.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_duration)]
    timeout: Duration,
}

/// The configuration file of the server that a container runs: the health check of an image does not know with which one
/// it was started.
fn served_in_container() -> Option<PathBuf> {
    let line = std::fs::read_to_string("/proc/1/cmdline").ok()?;
    let file = config_of_server(line.split('\0'))?;
    let folder = std::fs::read_link("/proc/1/cwd").unwrap_or_default();
    Some(folder.join(file))
}

/// The file that a command line of a server names; it may stand behind a program that starts it, and `serve` may be left out.
fn config_of_server<'l>(line: impl Iterator<Item = &'l str>) -> Option<&'l str> {
    let mut words = line.skip_while(|word| Path::new(word).file_name() != Some("smsc".as_ref()));
    words.next()?;
    let mut found = None;
    while let Some(word) = words.next() {
        match word {
            "--config" | "-c" => found = Some(words.next()?),
            "serve" | "" => {}
            _ => match word.strip_prefix("--config=").or(word.strip_prefix("-c")) {
                Some(file) => found = Some(file.trim_start_matches('=')),
                // Another command is no server; options have values of their own.
                None if !word.starts_with('-') && found.is_none() => return None,
                None => {}
            },
        }
    }
    found
}

/// Sends one request and prints the answer.
///
/// # Errors
/// The SMSC cannot be reached within the timeout, or it is not ready; the text names the reasons.
pub fn run(args: &HealthArgs) -> anyhow::Result<()> {
    let (url, tls) = match (&args.url, &args.config) {
        (Some(url), _) => {
            let url = url.trim_end_matches('/').to_owned();
            let tls = client::trust(&url, args.ca.iter())?;
            (url, tls)
        }
        // With the environment alone it is what `smsc serve` without a file would use. Its certificate
        // has its public name, not the address that it listens on, and no secret is sent.
        (None, file) => {
            let of_container = served_in_container();
            let http = Config::load(file.as_deref().or(of_container.as_deref()))?.http;
            let url = client::url_of(http.listen, http.tls_cert.is_some());
            (url, client::tls(Vec::new(), false))
        }
    };
    let path = if args.live {
        "/health/live"
    } else {
        "/health/ready"
    };
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(args.timeout))
        .http_status_as_error(false)
        .tls_config(tls)
        .build()
        .into();
    let mut answer = agent.get(format!("{url}{path}")).call().map_err(|error| {
        let said = format!("{url}{path} cannot be reached: {error}");
        anyhow!(AdminApiError::Unreachable(said))
    })?;
    let status = answer.status().as_u16();
    let body: Value = answer
        .body_mut()
        .read_json()
        .with_context(|| format!("{url} answered {status} without the JSON of an SMSC"))?;
    if status != 200 {
        bail!("{}", body["detail"].as_str().unwrap_or("not ready"));
    }
    client::print_line(if args.live { "live" } else { "ready" })?;
    for reason in body["degraded"].as_array().into_iter().flatten() {
        client::print_line(&format!(
            "degraded: {}",
            reason.as_str().unwrap_or_default()
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_server_is_in_its_command_line() {
        for (line, file) in [
            (
                "/usr/bin/smsc serve --config /etc/smsc.toml",
                Some("/etc/smsc.toml"),
            ),
            ("smsc serve -c smsc.toml", Some("smsc.toml")),
            (
                "/sbin/docker-init -- smsc serve --suspended --config=a.toml",
                Some("a.toml"),
            ),
            ("smsc --config smsc.toml", Some("smsc.toml")),
            ("smsc serve -csmsc.toml", Some("smsc.toml")),
            ("smsc serve -c=smsc.toml", Some("smsc.toml")),
            ("smsc -c smsc.toml serve", Some("smsc.toml")),
            ("smsc serve", None),
            ("smsc serve --config", None),
            ("smsc check-config --config a.toml", None),
            ("sh -c sleep", None),
        ] {
            assert_eq!(config_of_server(line.split(' ')), file, "{line}");
        }
    }
}
