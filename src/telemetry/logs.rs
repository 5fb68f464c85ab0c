//! Log lines on standard error, as text or JSON. Numbers are masked and message text is never
//! logged by whoever writes the line.

use std::io::IsTerminal as _;
use std::sync::OnceLock;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt};

use crate::config::{Log, LogFormat};

/// The HTTP server's own lines say nothing that ours do not.
const QUIET: &str = "actix_server=warn";

/// Longest filter.
const LONGEST: usize = 500;

/// Changes the filter while the process runs.
static FILTER: OnceLock<Handle<EnvFilter, Registry>> = OnceLock::new();

/// Installs the subscriber; `RUST_LOG` overrides the configured level.
pub fn install(log: &Log) {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("{QUIET},{}", log.level)));
    let (filter, handle) = reload::Layer::new(filter);
    let lines = fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(filter);
    let installed = match log.format {
        LogFormat::Json => registry.with(lines.json()).try_init(),
        LogFormat::Text => registry.with(lines).try_init(),
    };
    // A second installation (in tests) keeps the first.
    if installed.is_ok() {
        let _ = FILTER.set(handle);
    }
}

/// The filter in force; empty when nothing was installed.
pub fn level() -> String {
    FILTER
        .get()
        .and_then(|handle| handle.with_current(ToString::to_string).ok())
        .unwrap_or_default()
}

/// Changes what is logged from now on.
///
/// # Errors
/// The text is no filter; the error says what one looks like.
pub fn set_level(level: &str) -> Result<(), String> {
    let wrong = |error: String| {
        format!(
            "level must be off, error, warn, info, debug or trace, or a filter such as info,smsc::smpp=debug: {error}"
        )
    };
    if level.len() > LONGEST {
        return Err(wrong(format!("it has more than {LONGEST} octets")));
    }
    // A word that is no level would be taken for a target, and everything else be silent.
    for part in level.split(',') {
        let word = part.rsplit_once('=').map_or(part, |(_, word)| word);
        if word.trim().parse::<LevelFilter>().is_err() || word.trim().is_empty() {
            return Err(wrong(format!("{word:?} is no level")));
        }
    }
    let filter =
        EnvFilter::try_new(format!("{QUIET},{level}")).map_err(|error| wrong(error.to_string()))?;
    let Some(handle) = FILTER.get() else {
        return Err("this process has no log".to_owned());
    };
    handle.reload(filter).map_err(|error| error.to_string())
}
