//! Log lines on standard error, as text or JSON. Numbers are masked and message text is never
//! logged by whoever writes the line.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// Installs the subscriber; `RUST_LOG` overrides the configured level.
pub fn install(log: &Log) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| {
        // The HTTP server's own lines say nothing that ours do not.
        EnvFilter::new(format!("actix_server=warn,{}", log.level))
    });
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    // A second installation (in tests) keeps the first.
    let _ = match log.format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.try_init(),
    };
}
