//! Log lines on standard error, as text or JSON. Numbers are masked and message text is never
//! logged by whoever writes the line.
//!
//! Composed of layers: a filter that [`set_level`] replaces while the process runs, and one that
//! writes lines ([`json`] or text).

mod json;

use std::io::IsTerminal as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

use self::json::JsonLines;
use crate::config::{Log, LogFormat};

/// The filter in force, once it is installed.
static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Stands in every JSON line.
static NODE: AtomicU8 = AtomicU8::new(0);

/// Says which node this is.
pub fn set_node(node: u8) {
    NODE.store(node, Ordering::Relaxed);
}

/// Installs the subscriber; `RUST_LOG` overrides the configured level.
pub fn install(log: &Log) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| filter(&log.level));
    let (filter, handle) = reload::Layer::new(filter);
    let lines = match log.format {
        LogFormat::Json => JsonLines::new(&NODE, std::io::stderr).boxed(),
        LogFormat::Text => fmt::layer()
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr)
            .boxed(),
    };
    let installed = tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .try_init();
    // A second installation (in tests) keeps the first.
    if installed.is_ok() {
        let _ = FILTER.set(handle);
    }
}

/// Replaces the filter: a level or a list such as `info,smsc::smpp=debug`.
///
/// # Errors
/// The text is no filter, or nothing is installed; nothing has changed then.
pub fn set_level(level: &str) -> Result<(), String> {
    let new = EnvFilter::builder()
        .parse(quiet(level))
        .map_err(|error| format!("{level:?} is no log filter: {error}"))?;
    let filter = FILTER.get().ok_or("no log is installed")?;
    filter.reload(new).map_err(|error| error.to_string())
}

fn filter(level: &str) -> EnvFilter {
    EnvFilter::new(quiet(level))
}

/// The HTTP server's own lines say nothing that ours do not.
fn quiet(level: &str) -> String {
    format!("actix_server=warn,{level}")
}
