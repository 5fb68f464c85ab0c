//! Log lines on standard error, as text or JSON. Numbers are masked and message text is never
//! logged by whoever writes the line; what peers call themselves is written so that no terminal obeys it.
//!
//! Composed of layers: a filter that [`set_level`] replaces while the process runs, and one that
//! writes lines ([`json`] or text).

mod json;
mod text;

use std::io::IsTerminal as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

use self::json::JsonLines;
use self::text::VisibleFields;
use super::syslog::Syslog;
use super::traces::requests;
use crate::config::{Log, LogFormat};

/// Longest filter, in octets.
const LONGEST: usize = 500;

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
            .fmt_fields(VisibleFields)
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr)
            .boxed(),
    };
    let installed = tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .with(Syslog::configured(log))
        .with(requests::layer())
        .try_init();
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

/// Changes what is logged from now on: a level or a list such as `info,smsc::smpp=debug`.
///
/// # Errors
/// The text is no filter, or nothing is installed; nothing has changed then.
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
        let word = part.rsplit_once('=').map_or(part, |(_, word)| word).trim();
        if word.is_empty() || word.parse::<LevelFilter>().is_err() {
            return Err(wrong(format!("{word:?} is no level")));
        }
    }
    let new = EnvFilter::try_new(quiet(level)).map_err(|error| wrong(error.to_string()))?;
    let filter = FILTER.get().ok_or("this process has no log")?;
    filter.reload(new).map_err(|error| error.to_string())
}

fn filter(level: &str) -> EnvFilter {
    EnvFilter::new(quiet(level))
}

/// The HTTP server's own lines say nothing that ours do not.
fn quiet(level: &str) -> String {
    format!("actix_server=warn,{level}")
}
