//! Log lines on standard error, as text or JSON. Numbers are masked and message text is never logged by
//! whoever writes the line; names chosen by peers are escaped for terminals.
//!
//! Composed of layers: a filter that [`set_level`] replaces while the process runs, and one that writes
//! lines ([`json`] or text). Guarantees that no filter silences the target [`AUDIT`], that none shows what libraries say
//! at the levels debug and trace, and that values in
//! a filter are compared and never compiled as regular expressions: a compiled expression can need
//! unbounded memory.

mod json;
#[cfg(test)]
mod page;
mod text;

use std::io::IsTerminal as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::filter::{LevelFilter, ParseError};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

use self::json::JsonLines;
use self::text::VisibleFields;
use super::syslog::Syslog;
use super::traces::requests;
use smsc_config::{LogConfig, LogFormat};

/// Longest filter, in octets.
const LONGEST: usize = 500;
/// Who did what; always logged.
const AUDIT: &str = "audit";

/// Keeps out what libraries say at the levels debug and trace, whatever the filter says: parameters of SQL, the headers and
/// bodies of requests, what is published. So passwords, numbers and texts are in it.
struct OwnDetails;

// === impl OwnDetails ===

impl<S: Subscriber> Layer<S> for OwnDetails {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= Level::INFO || is_ours(metadata.target())
    }
}

/// Whether a target is one of this program.
fn is_ours(target: &str) -> bool {
    let root = target.split("::").next().unwrap_or_default();
    root == "smsc" || root.starts_with("smsc_") || root == AUDIT
}

/// The current filter, once it is installed.
static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Stands in every JSON line.
static NODE: AtomicU8 = AtomicU8::new(0);

/// Sets the node number for log lines.
pub fn set_node(node: u8) {
    NODE.store(node, Ordering::Relaxed);
}

/// Installs the subscriber; `RUST_LOG` overrides the configured level.
pub fn install(log: &LogConfig) {
    let chosen = std::env::var(EnvFilter::DEFAULT_ENV).ok();
    let chosen = chosen.and_then(|level| filter(&level).ok());
    let filter = chosen.unwrap_or_else(|| usable(&log.level));
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
        .with(OwnDetails)
        .with(lines)
        .with(Syslog::configured(log))
        .with(requests::layer())
        .try_init();
    // A second installation (in tests) keeps the first.
    if installed.is_ok() {
        let _ = FILTER.set(handle);
    }
}

/// The current filter; empty when none was installed.
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
    // A word that is no level would be taken for a target, which would silence everything else.
    for part in level.split(',') {
        let (target, word) = part.rsplit_once('=').unwrap_or(("", part));
        let word = word.trim();
        if word.is_empty() || word.parse::<LevelFilter>().is_err() {
            return Err(wrong(format!("{word:?} is no level")));
        }
        if is_audit(target) {
            return Err(wrong(format!("{AUDIT:?} is always logged")));
        }
    }
    let new = filter(level).map_err(|error| wrong(error.to_string()))?;
    let filter = FILTER.get().ok_or("this process has no log")?;
    filter.reload(new).map_err(|error| error.to_string())
}

/// A filter with what is always in it.
fn filter(level: &str) -> Result<EnvFilter, ParseError> {
    EnvFilter::builder().with_regex(false).parse(always(level))
}

/// What can be used of a filter.
fn usable(level: &str) -> EnvFilter {
    let builder = EnvFilter::builder().with_regex(false);
    builder.parse_lossy(always(level))
}

/// Lines of the HTTP server and of the client of Kafka duplicate ours, and strangers decide how many there are. Directives that would silence the audit are left out,
/// and the one that enables it comes last, so that it wins over the general level.
fn always(level: &str) -> String {
    let is_left = |part: &&str| !is_audit(part);
    let kept: Vec<&str> = level.split(',').filter(is_left).collect();
    format!(
        "actix_server=warn,actix_http=off,rskafka=off,{},{AUDIT}=info",
        kept.join(",")
    )
}

/// Whether a part of a filter is about the audit alone: `audit=off`, `audit[{token}]=off`.
fn is_audit(part: &str) -> bool {
    let target = part.trim().split(['=', '[']).next();
    target.is_some_and(|target| target.trim() == AUDIT)
}

#[cfg(test)]
mod tests {
    use super::page::LogPage;
    use super::*;

    /// Which of an audit line and two others pass a filter.
    fn passed(filter: EnvFilter) -> Vec<String> {
        let page = LogPage::default();
        let written = fmt::layer()
            .with_ansi(false)
            .without_time()
            .with_writer(page.clone());
        let subscriber = tracing_subscriber::registry().with(filter).with(written);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "audit", token = "ci", "request");
            tracing::info!(target: "smsc::smpp", "bound");
            tracing::debug!(target: "smsc::smpp", "read");
        });
        let text = page.text();
        let target = |line: &str| line.split_whitespace().nth(1).map(str::to_owned);
        text.lines().filter_map(target).collect()
    }

    #[test]
    fn no_filter_silences_the_audit() {
        for level in [
            "off",
            "error",
            "audit=off",
            "off,audit=off",
            "error, audit = off",
            "off,audit[{token}]=off",
            "off,audit[{token=ci}]=off",
            "off,[{token}]=off",
            "off,aud=off",
            "smsc::smpp=off",
        ] {
            assert_eq!(passed(usable(level)), ["audit:"], "{level}");
        }
        assert_eq!(passed(usable("info")), ["audit:", "smsc::smpp:"]);
        let all = ["audit:", "smsc::smpp:", "smsc::smpp:"];
        assert_eq!(passed(filter("off,smsc::smpp=debug").unwrap()), all);
    }

    #[test]
    fn no_filter_shows_details_of_libraries() {
        let page = LogPage::default();
        let written = fmt::layer().with_ansi(false).with_writer(page.clone());
        let subscriber = tracing_subscriber::registry()
            .with(filter("trace,tokio_postgres=trace").unwrap())
            .with(OwnDetails)
            .with(written);
        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!(target: "tokio_postgres::query", "parameters");
            tracing::trace!(target: "actix_http::h1", "headers");
            tracing::trace!(target: "smscore", "another product");
            tracing::info!(target: "async_nats", "connected");
            tracing::trace!(target: "smsc_store::postgres", "ours");
        });
        let text = page.text();
        let is_there = |word: &str| text.contains(word);
        assert!(is_there("connected") && is_there("ours"), "{text}");
        let hidden = ["parameters", "headers", "another product"];
        assert!(!hidden.into_iter().any(is_there), "{text}");
    }

    #[test]
    fn values_are_no_programs() {
        // Compiled, it would have two to the power of eighty states.
        let value = format!("(a|b)*a{}", "(a|b)".repeat(80));
        let level = format!("info,[{{token={value}}}]=debug");
        assert!(level.len() <= LONGEST);
        filter(&level).unwrap();
        assert_eq!(passed(usable(&level)), ["audit:", "smsc::smpp:"]);
    }
}
