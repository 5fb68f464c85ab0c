//! Files with a number and what belongs to it in each line: the lines, and what can be wrong with them.
//!
//! Used by the tables of networks and of IMSIs. Columns are separated by comma, semicolon or tab and may
//! be quoted; empty lines, lines that begin with `#`, a first line with titles, and further columns are
//! passed over.

/// What is wrong with a table's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TableError {
    /// From 1.
    pub line: usize,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// One line with its first two columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberTableRow<'t> {
    /// From 1.
    line: usize,
    pub number: &'t str,
    pub value: &'t str,
}

/// The lines that say something.
pub(crate) fn rows(text: &str) -> impl Iterator<Item = NumberTableRow<'_>> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    lines.filter_map(|(at, line)| {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let mut columns = line
            .split([',', ';', '\t'])
            .map(|column| column.trim().trim_matches('"'));
        Some(NumberTableRow {
            line: at,
            number: columns.next().unwrap_or_default(),
            value: columns.next().unwrap_or_default(),
        })
    })
}

// === impl NumberTableRow ===

impl NumberTableRow<'_> {
    /// Whether it is the titles of the columns: the first line, with a word where a number would be.
    pub(crate) fn is_title(&self) -> bool {
        self.line == 1 && self.number.bytes().all(|octet| octet.is_ascii_alphabetic())
    }

    pub(crate) fn wrong(&self, message: String) -> TableError {
        let line = self.line;
        TableError { line, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_say_something_count() {
        let text = "\u{feff}number;imsi\n# a remark\n\n 4916 , \"26201\",more\r\n\"33\"\tx\n44";
        let read: Vec<_> = rows(text)
            .map(|row| (row.line, row.number, row.value, row.is_title()))
            .collect();
        let expected = [
            (1, "number", "imsi", true),
            (4, "4916", "26201", false),
            (5, "33", "x", false),
            (6, "44", "", false),
        ];
        assert_eq!(read, expected);
    }
}
