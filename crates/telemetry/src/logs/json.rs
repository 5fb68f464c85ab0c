//! One flat JSON object per line: time, level, target, node, message, and the fields.
//!
//! A line about a traced message has `trace_id` and `span_id`, which the caller gives as fields; so
//! a search by trace finds its lines.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, Layer};

use smsc_domain::visible::is_hidden;
use smsc_host::clock;

/// Writes lines to whatever `writers` makes.
pub struct JsonLines<W> {
    node: &'static AtomicU8,
    writers: W,
}

/// Collects the fields of one event.
struct JsonFields<'a>(&'a mut Map<String, Value>);

// === impl JsonLines ===

impl<W> JsonLines<W> {
    /// `node` stands in every line; it may change when the node joins others.
    pub fn new(node: &'static AtomicU8, writers: W) -> Self {
        Self { node, writers }
    }

    fn line(&self, event: &Event<'_>) -> Vec<u8> {
        let meta = event.metadata();
        let mut line = Map::new();
        let moment = jiff::Timestamp::from_microsecond(clock::now_us()).unwrap_or_default();
        line.insert("timestamp".to_owned(), format!("{moment:.6}").into());
        line.insert("level".to_owned(), meta.level().as_str().into());
        line.insert("target".to_owned(), meta.target().into());
        event.record(&mut JsonFields(&mut line));
        let node = self.node.load(Ordering::Relaxed);
        line.insert("node".to_owned(), node.into());
        let mut octets = plain(Value::Object(line).to_string()).into_bytes();
        octets.push(b'\n');
        octets
    }
}

/// The JSON with what a terminal would obey as `\u` escapes, also where JSON needs none.
fn plain(json: String) -> String {
    if !json.chars().any(is_hidden) {
        return json;
    }
    let mut plain = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_hidden(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(plain, "\\u{unit:04x}");
            }
        } else {
            plain.push(character);
        }
    }
    plain
}

impl<S, W> Layer<S> for JsonLines<W>
where
    S: Subscriber,
    W: for<'w> MakeWriter<'w> + 'static,
{
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        // One write per line, so that lines of two threads do not mix. A failed log write is
        // ignored.
        let _ = self.writers.make_writer().write_all(&self.line(event));
    }
}

// === impl JsonFields ===

impl JsonFields<'_> {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for JsonFields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::logs::page::LogPage;

    #[test]
    fn a_line_is_a_flat_object_with_the_node() {
        let page = LogPage::default();
        static NODE: AtomicU8 = AtomicU8::new(7);
        let lines = JsonLines::new(&NODE, page.clone());
        let subscriber = tracing_subscriber::registry().with(lines);
        tracing::subscriber::with_default(subscriber, || {
            let hidden = "a\u{9b}\u{202e}\u{e0001}";
            tracing::warn!(trace_id = %"4bf9", count = 3, peer = "\"x\"", %hidden, "a \n text");
        });
        let text = page.text();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!text.trim_end().chars().any(is_hidden), "{text:?}");
        let line: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(line["level"], "WARN");
        assert_eq!(line["node"], 7);
        assert_eq!(line["trace_id"], "4bf9");
        assert_eq!(line["count"], 3);
        assert_eq!(line["peer"], "\"x\"");
        assert_eq!(line["message"], "a \n text");
        assert_eq!(line["hidden"], "a\u{9b}\u{202e}\u{e0001}", "not lost");
        assert!(
            line["timestamp"]
                .as_str()
                .is_some_and(|at| at.ends_with('Z')),
            "{line}"
        );
    }
}
