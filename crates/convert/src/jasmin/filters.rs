//! Jasmin's filters as conditions: who sends, and the beginnings of numbers that a regular
//! expression stands for.

use std::collections::BTreeSet;

/// More beginnings than this are not written out.
const MOST: usize = 1000;

/// A condition of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JasminFilter {
    Everything,
    User(String),
    Group(String),
    Destination(String),
    /// A filter without a counterpart, as it was written.
    Other(String),
}

/// Numbers that begin with one of `starts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NumberPrefixes {
    pub starts: BTreeSet<String>,
    /// They are whole numbers: nothing follows.
    pub whole: bool,
    /// The expression also counts what follows, which we do not.
    pub counted: bool,
}

/// The filters of a row, as `<DA (dst_addr=^44)>, <U (uid=foo)>` or with whole names.
pub(super) fn of_row(text: &str) -> Vec<JasminFilter> {
    let text = text.trim();
    let inner = text
        .strip_prefix('<')
        .and_then(|text| text.strip_suffix('>'));
    let Some(inner) = inner else {
        return Vec::new();
    };
    inner.split(">, <").map(one).collect()
}

fn one(text: &str) -> JasminFilter {
    let (name, argument) = match text.split_once(" (") {
        Some((name, rest)) => (name, rest.strip_suffix(')').unwrap_or(rest)),
        None => (text, ""),
    };
    let value = argument.split_once('=').map_or("", |(_, value)| value);
    of_type(name, value)
}

/// A filter by the name of its type, short or long, in any case.
pub(super) fn of_type(name: &str, value: &str) -> JasminFilter {
    let lower = name.to_lowercase();
    match lower.strip_suffix("filter").unwrap_or(&lower) {
        "t" | "transparent" => JasminFilter::Everything,
        "u" | "user" => JasminFilter::User(value.to_owned()),
        "g" | "group" => JasminFilter::Group(value.to_owned()),
        "da" | "destinationaddr" => JasminFilter::Destination(value.to_owned()),
        _ => JasminFilter::Other(format!("{name} {value}").trim().to_owned()),
    }
}

/// The numbers that a regular expression fits, if it is a simple one: digits, sets of digits,
/// alternatives, and any digits after them. Python's `match` begins at the start, with or without ^.
pub(super) fn numbers(expression: &str) -> Option<NumberPrefixes> {
    let mut all = NumberPrefixes {
        starts: BTreeSet::new(),
        whole: true,
        counted: false,
    };
    for alternative in split_outside(expression)? {
        let numbers = alternative_numbers(alternative)?;
        all.whole &= numbers.whole;
        all.counted |= numbers.counted;
        all.starts.extend(numbers.starts);
    }
    Some(all)
}

/// Splits at `|` that stand in no group.
fn split_outside(expression: &str) -> Option<Vec<&str>> {
    let (mut depth, mut from, mut parts) = (0_i32, 0, Vec::new());
    for (at, character) in expression.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            '|' if depth == 0 => {
                parts.push(&expression[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&expression[from..]);
    (depth == 0).then_some(parts)
}

fn alternative_numbers(expression: &str) -> Option<NumberPrefixes> {
    let mut rest = expression.strip_prefix('^').unwrap_or(expression);
    for plus in ["\\+?", "[+]?", "\\+", "[+]"] {
        rest = rest.strip_prefix(plus).unwrap_or(rest);
    }
    let mut starts: BTreeSet<String> = BTreeSet::from([String::new()]);
    while let Some((choices, after)) = element(rest)? {
        starts = starts
            .iter()
            .flat_map(|start| choices.iter().map(move |choice| format!("{start}{choice}")))
            .collect();
        if starts.len() > MOST {
            return None;
        }
        rest = after;
    }
    let (whole, counted) = tail(rest)?;
    Some(NumberPrefixes {
        starts,
        whole,
        counted,
    })
}

/// One digit, set or group at the start, with what follows it; `None` inside when there is none.
#[allow(clippy::type_complexity)]
fn element(text: &str) -> Option<Option<(Vec<String>, &str)>> {
    let found = match text.chars().next() {
        Some(digit) if digit.is_ascii_digit() => (vec![digit.to_string()], &text[1..]),
        Some('[') => {
            let (inside, after) = text[1..].split_once(']')?;
            (set(inside)?, after)
        }
        Some('(') => {
            let (inside, after) = text[1..].split_once(')')?;
            let inside = inside.strip_prefix("?:").unwrap_or(inside);
            let choices: Vec<String> = inside.split('|').map(str::to_owned).collect();
            let plain = |choice: &String| choice.bytes().all(|octet| octet.is_ascii_digit());
            if !choices.iter().all(plain) {
                return None;
            }
            (choices, after)
        }
        _ => return Some(None),
    };
    // Repeated elements are only understood at the end, as "any digits".
    if !found.1.starts_with(['*', '+', '?', '{']) {
        Some(Some(found))
    } else if found.0.len() == 10 {
        Some(None)
    } else {
        None
    }
}

/// `0-46` as 0, 1, 2, 3, 4 and 6.
fn set(inside: &str) -> Option<Vec<String>> {
    let octets = inside.as_bytes();
    let mut digits = BTreeSet::new();
    let mut at = 0;
    while at < octets.len() {
        let (from, to) = match octets.get(at + 1) {
            Some(b'-') => (octets[at], *octets.get(at + 2)?),
            _ => (octets[at], octets[at]),
        };
        if !from.is_ascii_digit() || !to.is_ascii_digit() {
            return None;
        }
        digits.extend(from..=to);
        at += if octets.get(at + 1) == Some(&b'-') {
            3
        } else {
            1
        };
    }
    Some(
        digits
            .into_iter()
            .map(|digit| char::from(digit).to_string())
            .collect(),
    )
}

/// What may stand after the digits: whether the number ends there, and whether digits are counted.
fn tail(text: &str) -> Option<(bool, bool)> {
    let (body, ends) = match text.strip_suffix('$') {
        Some(body) => (body, true),
        None => (text, false),
    };
    if body.is_empty() {
        return Some((ends, false));
    }
    let digits = ["\\d", "[0-9]", "."]
        .into_iter()
        .find_map(|any| body.strip_prefix(any))?;
    match digits {
        "*" => Some((false, false)),
        "" | "+" => Some((false, true)),
        counted if counted.starts_with('{') && counted.ends_with('}') => Some((false, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(expression: &str) -> Option<Vec<String>> {
        numbers(expression).map(|numbers| numbers.starts.into_iter().collect())
    }

    #[test]
    fn simple_expressions_are_beginnings() {
        let cases: &[(&str, &[&str])] = &[
            ("^44.*", &["44"]),
            ("44", &["44"]),
            ("^\\+?44\\d+$", &["44"]),
            ("^(44|33)\\d*", &["33", "44"]),
            ("^447[0-9]{9}$", &["447"]),
            ("^44[78]", &["447", "448"]),
            ("^44|^33", &["33", "44"]),
            (".*", &[""]),
            ("^85111$", &["85111"]),
        ];
        for (expression, expected) in cases {
            assert_eq!(
                starts(expression).as_deref(),
                Some(&expected.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()[..]),
                "{expression}"
            );
        }
        assert!(numbers("^85111$").is_some_and(|numbers| numbers.whole));
        assert!(numbers("^447[0-9]{9}$").is_some_and(|numbers| numbers.counted));
        assert!(numbers("^44.*").is_some_and(|numbers| !numbers.whole && !numbers.counted));
    }

    #[test]
    fn what_is_not_understood_is_not_guessed() {
        for expression in [
            "^44?",
            "^(?!44)",
            "44$|[a-z]",
            "^4+",
            "(44",
            "^.*44$",
            "^44\\d3",
            "^(4\\d|5)",
        ] {
            assert_eq!(numbers(expression), None, "{expression}");
        }
    }

    #[test]
    fn rows_have_short_and_long_names() {
        assert_eq!(
            of_row("<UserFilter (uid=foo)>, <DA (dst_addr=^44(7|8)>)>"),
            [
                JasminFilter::User("foo".into()),
                JasminFilter::Destination("^44(7|8)>".into())
            ]
        );
        assert_eq!(of_row("<T>"), [JasminFilter::Everything]);
        assert_eq!(of_row("<TI (08:00:00,18:00:00)>").len(), 1);
        assert!(of_row("").is_empty());
    }
}
