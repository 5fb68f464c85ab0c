//! Which SMSC a command asks, and with which token: from the command line, a saved server or a configuration file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use secrecy::SecretString;

use super::{AdminClient, DEFAULT_DATA_DIR, DEFAULT_URL, TIMEOUT, host_and_port, trust, url_of};
use crate::cli::context::{self, Context};
use crate::cli::exit::WrongCommandLine;
use crate::config::Config;

/// Where the SMSC is, and what opens its admin API.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Which SMSC")]
pub struct AdminConnection {
    /// Address of the admin API [default: http://127.0.0.1:8080].
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// A saved SMSC (`smsc context`) [default: the chosen one, unless --url or --config is given].
    #[arg(
        long,
        value_name = "NAME",
        env = "SMSC_CONTEXT",
        conflicts_with = "url"
    )]
    context: Option<String>,
    /// Token of the admin API [default: the file admin-token in the data folder].
    #[arg(long, env = "SMSC_HTTP__ADMIN_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Configuration file with address, token and data folder.
    #[arg(long, short, value_name = "FILE", env = "SMSC_CONFIG")]
    config: Option<PathBuf>,
    /// Certificate authorities (PEM) to trust, besides those of this machine.
    #[arg(long, value_name = "FILE", env = "SMSC_CA")]
    ca: Option<PathBuf>,
    /// Data folder of the SMSC [default: ./smsc-data].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

// === impl AdminConnection ===

impl AdminConnection {
    /// Takes a configuration file for what nothing else was given.
    pub fn or_config(mut self, file: &Path) -> Self {
        if self.config.is_none() {
            self.config = Some(file.to_owned());
        }
        self
    }

    /// Finds address and token.
    ///
    /// # Errors
    /// The configuration is wrong, or there is no token, or no such context.
    pub fn open(&self) -> anyhow::Result<AdminClient> {
        if let Some(context) = self.find_context()? {
            return self.open_context(&context);
        }
        let config = self
            .config
            .as_deref()
            .map(|path| Config::load(Some(path)))
            .transpose()?;
        let url = match (&self.url, &config) {
            (Some(url), _) => url.trim_end_matches('/').to_owned(),
            (None, Some(config)) => url_of(config.http.listen, config.http.tls_cert.is_some()),
            (None, None) => DEFAULT_URL.to_owned(),
        };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            bail!(WrongCommandLine(format!(
                "--url {url}: an address begins with http:// or https://"
            )));
        }
        let (token, token_from) = self.find_token(config.as_ref())?;
        let own = config
            .as_ref()
            .and_then(|config| config.http.tls_cert.as_ref());
        client(url, token, token_from, self.ca.iter().chain(own))
    }

    /// The saved SMSC that is named; the chosen one only where nothing else says which SMSC is meant.
    fn find_context(&self) -> anyhow::Result<Option<Context>> {
        let says_which = self.url.is_some() || self.config.is_some() || self.data_dir.is_some();
        match (&self.context, says_which) {
            (None, true) => Ok(None),
            (name, _) => context::find(name.as_deref()),
        }
    }

    fn open_context(&self, context: &Context) -> anyhow::Result<AdminClient> {
        let (token, from) = match (&self.token, &context.token, &context.token_file) {
            (Some(token), _, _) => (
                token.clone(),
                "--token or SMSC_HTTP__ADMIN_TOKEN".to_owned(),
            ),
            (None, Some(token), _) => (token.clone(), "the context".to_owned()),
            (None, None, Some(file)) => {
                let unread = || format!("the token of the context: {}", file.display());
                let token = fs::read_to_string(file).with_context(unread)?;
                (token.trim().to_owned(), file.display().to_string())
            }
            (None, None, None) => {
                bail!("the context of {} has no token: give --token", context.url)
            }
        };
        let authorities = self.ca.iter().chain(&context.ca);
        client(context.url.clone(), token.into(), from, authorities)
    }

    fn find_token(&self, config: Option<&Config>) -> anyhow::Result<(SecretString, String)> {
        if let Some(token) = &self.token {
            return Ok((
                token.as_str().into(),
                "--token or SMSC_HTTP__ADMIN_TOKEN".to_owned(),
            ));
        }
        if let (Some(config), Some(path)) = (config, &self.config)
            && let Some(token) = &config.http.admin_token
        {
            let from = format!("http.admin_token of {}", path.display());
            return Ok((token.clone(), from));
        }
        let dir = self
            .data_dir
            .as_deref()
            .or(config.map(|config| config.data_dir.as_path()))
            .unwrap_or(Path::new(DEFAULT_DATA_DIR));
        let file = dir.join("admin-token");
        let token = fs::read_to_string(&file).with_context(|| {
            format!(
                "no token for the admin API: {} cannot be read; give --token, --config or --data-dir",
                file.display()
            )
        })?;
        Ok((token.trim().into(), file.display().to_string()))
    }
}

fn client<'a>(
    url: String,
    token: SecretString,
    token_from: String,
    authorities: impl Iterator<Item = &'a PathBuf>,
) -> anyhow::Result<AdminClient> {
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        // Errors of the API carry a body with more detail than the status.
        .http_status_as_error(false)
        .tls_config(trust(&url, authorities)?)
        .build()
        .into();
    Ok(AdminClient {
        agent,
        address: host_and_port(&url),
        url,
        token,
        token_from,
    })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn says_where_the_token_was_looked_for() {
        let dir = tempfile::tempdir().unwrap();
        let connection = AdminConnection {
            url: None,
            context: None,
            token: None,
            config: None,
            ca: None,
            data_dir: Some(dir.path().to_owned()),
        };
        let error = connection.find_token(None).unwrap_err();
        assert!(format!("{error}").contains("admin-token"), "{error}");
        fs::write(dir.path().join("admin-token"), "secret\n").unwrap();
        let (token, from) = connection.find_token(None).unwrap();
        assert_eq!(token.expose_secret(), "secret");
        assert!(from.ends_with("admin-token"));
    }
}
