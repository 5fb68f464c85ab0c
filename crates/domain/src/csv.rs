//! Fields of CSV (RFC 4180): as they are written for spreadsheets, too, and the fields of a line that is read.
//!
//! A spreadsheet takes what begins with `=`, `+`, `-` or `@` for a formula, in East Asia also their full-width forms, and
//! passes over controls in front of them; peers choose texts, addresses and names.
//! Such a field gets an apostrophe in front, as OWASP advises against CSV injection; numbers stay as they are, and so do
//! telephone numbers with a plus. The console does the same in `csv.js`.

use std::borrow::Cow;

/// Beginnings of a formula, and what may be in front of it.
const FORMULA: [char; 12] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\0', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// A text as a field.
pub fn field(text: &str) -> Cow<'_, str> {
    let shown = if is_formula(text) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    };
    if shown.contains(['"', ',', '\r', '\n']) {
        Cow::Owned(format!("\"{}\"", shown.replace('"', "\"\"")))
    } else {
        shown
    }
}

/// The fields of a line, without their quotes; between quotes a separator is a sign like others.
pub fn fields(line: &str, separators: &[char]) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let (mut is_quoted, mut signs) = (false, line.chars().peekable());
    while let Some(sign) = signs.next() {
        match sign {
            '"' if is_quoted && signs.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => is_quoted = !is_quoted,
            sign if !is_quoted && separators.contains(&sign) => {
                fields.push(std::mem::take(&mut field));
            }
            sign => field.push(sign),
        }
    }
    fields.push(field);
    fields
}

fn is_formula(text: &str) -> bool {
    text.starts_with(FORMULA) && !is_number(text)
}

/// Digits after a sign, with a fraction or without.
fn is_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|octet| octet.is_ascii_digit());
    let Some(unsigned) = text.strip_prefix(['+', '-']) else {
        return false;
    };
    match unsigned.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(unsigned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_between_quotes_separate_nothing() {
        for (line, expected) in [
            ("", &[""][..]),
            ("a,b;c", &["a", "b", "c"]),
            ("a,", &["a", ""]),
            ("1,\"ACME, Ltd\",x", &["1", "ACME, Ltd", "x"]),
            ("1, \"ACME; Ltd\"", &["1", " ACME; Ltd"]),
            ("\"say \"\"hi\"\", you\"", &["say \"hi\", you"]),
            ("\"\",\"\"", &["", ""]),
        ] {
            assert_eq!(fields(line, &[',', ';']), expected, "{line}");
        }
    }

    #[test]
    fn no_text_is_a_formula() {
        for (given, written) in [
            ("hello", "hello"),
            ("", ""),
            ("+447700900123", "+447700900123"),
            ("-12", "-12"),
            ("-0.5", "-0.5"),
            ("a=b", "a=b"),
            ("a,\"b\"\n", "\"a,\"\"b\"\"\n\""),
            ("=1+1", "'=1+1"),
            ("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""),
            ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
            ("-", "'-"),
            ("+1.", "'+1."),
            ("-Sale-", "'-Sale-"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\r=1\""),
            ("\n=1", "\"'\n=1\""),
            ("\0=1", "'\0=1"),
            ("＝1+1", "'＝1+1"),
            ("＋1", "'＋1"),
            ("－1", "'－1"),
            ("＠SUM(A1)", "'＠SUM(A1)"),
        ] {
            assert_eq!(field(given), written);
        }
    }
}
