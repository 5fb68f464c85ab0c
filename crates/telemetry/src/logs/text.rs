//! The fields of a line for people: as the library writes them, but without terminal control
//! characters and line breaks.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

use smsc_domain::visible::{visible, visible_lines};

/// Writes the message, then `name=value` for each field.
pub struct VisibleFields;

struct LogLine<'a, 'w> {
    writer: &'a mut Writer<'w>,
    empty: bool,
    result: fmt::Result,
}

impl<'w> FormatFields<'w> for VisibleFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut line = LogLine {
            writer: &mut writer,
            empty: true,
            result: Ok(()),
        };
        fields.record(&mut line);
        line.result
    }
}

impl LogLine<'_, '_> {
    fn put(&mut self, field: &Field, value: &str) -> fmt::Result {
        if !std::mem::take(&mut self.empty) {
            self.writer.write_char(' ')?;
        }
        if field.name() == "message" {
            return self.writer.write_str(&visible_lines(value));
        }
        let name = field.name().trim_start_matches("r#");
        if self.writer.has_ansi_escapes() {
            write!(self.writer, "\x1b[3m{name}\x1b[0m\x1b[2m=\x1b[0m")?;
        } else {
            write!(self.writer, "{name}=")?;
        }
        self.writer.write_str(&visible(value))
    }
}

impl Visit for LogLine<'_, '_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // The metadata of other libraries' log records.
        if self.result.is_ok() && !field.name().starts_with("log.") {
            self.result = self.put(field, &format!("{value:?}"));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.record_debug(field, &format_args!("{value}")),
            _ => self.record_debug(field, &value),
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::logs::page::LogPage;

    #[test]
    fn a_name_from_outside_stays_a_name() {
        let page = LogPage::default();
        let lines = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .fmt_fields(VisibleFields)
            .with_writer(page.clone());
        let subscriber = tracing_subscriber::registry().with(lines);
        tracing::subscriber::with_default(subscriber, || {
            let system_id = "a\u{1b}[2J\nWARN forged\u{202e}";
            tracing::warn!(%system_id, given = system_id, count = 3, "bind refused: {}", "two\nlines");
        });
        let text = page.text();
        let (_, said) = text.split_once("bind refused").unwrap();
        assert_eq!(
            said,
            ": two\n    lines system_id=a\\u{1b}[2J\\nWARN forged\\u{202e} \
             given=\"a\\u{1b}[2J\\nWARN forged\\u{202e}\" count=3\n"
        );
    }
}
