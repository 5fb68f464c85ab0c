//! Log lines on standard error, as text or JSON. Numbers are masked and message text is never
//! logged by whoever writes the line.

use std::io::IsTerminal as _;

use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt};

use super::syslog::Syslog;
use crate::config::{Log, LogFormat};

/// Installs the subscriber; `RUST_LOG` overrides the configured level.
pub fn install(log: &Log) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| {
        // The HTTP server's own lines say nothing that ours do not.
        EnvFilter::new(format!("actix_server=warn,{}", log.level))
    });
    let lines = fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let lines = match log.format {
        LogFormat::Json => lines.json().boxed(),
        LogFormat::Text => lines.boxed(),
    };
    // A second installation (in tests) keeps the first.
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .with(Syslog::configured(log))
        .try_init();
}
