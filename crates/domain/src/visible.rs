//! Makes foreign text safe to show: control characters and bidirectional marks are written as escapes.
//!
//! For logs and terminals, which interpret such characters: a system_id could colour a screen, forge a
//! log line, or show `gro.live` for `evil.org`.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character is obeyed or cannot be seen, rather than shown: controls, line and paragraph
/// separators, marks of direction (Unicode standard annex 9), and those without a width.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{00AD}'
                | '\u{061C}'
                | '\u{180E}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
}

/// A text with what is hidden in it written as `\n` or `\u{202e}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_hidden) {
        Cow::Owned(escaped(text, |_| false))
    } else {
        Cow::Borrowed(text)
    }
}

/// A text of several lines with what is hidden in it written out: those after the first are indented, so that none of them can be
/// taken for a line of somebody else.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_hidden) {
        Cow::Owned(escaped(text, |character| character == '\n').replace('\n', "\n    "))
    } else {
        Cow::Borrowed(text)
    }
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            own if stays(own) => escaped.push(own),
            '\n' | '\r' | '\t' => escaped.extend(character.escape_default()),
            hidden if is_hidden(hidden) => {
                let _ = write!(escaped, "{}", hidden.escape_unicode());
            }
            shown => escaped.push(shown),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        for (given, shown) in [
            ("test", "test"),
            ("Zürich 中文", "Zürich 中文"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("a\0\u{7f}\u{9b}", "a\\u{0}\\u{7f}\\u{9b}"),
            ("evil\u{202e}gro", "evil\\u{202e}gro"),
            (
                "a\u{2066}b\u{2069}\u{200f}",
                "a\\u{2066}b\\u{2069}\\u{200f}",
            ),
            ("a\u{2028}b\u{feff}", "a\\u{2028}b\\u{feff}"),
        ] {
            assert_eq!(visible(given), shown);
            assert!(!visible(given).chars().any(is_hidden));
        }
        assert!(matches!(visible("test"), Cow::Borrowed(_)));
        assert_eq!(visible_lines("a\nb\r"), "a\n    b\\r");
    }
}
