//! Reads query strings strictly: every error names the field and how to fix it.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use actix_web::{HttpRequest, web};

use super::problem::Problem;
use crate::api::{Scope, Word};
use crate::config::{parse_duration, show_duration};

/// Entries on a page without `limit`.
pub(super) const PAGE: u32 = 50;
/// Most entries on a page.
pub(super) const MAX_PAGE: u32 = 1_000;

/// Most characters of a reason.
const MAX_REASON: usize = 200;

/// A page of a list, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListPage {
    pub limit: u32,
    /// Only ids below this one; 0 for the first page.
    pub before: u64,
}

/// A query string whose keys are known.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, String)>);

// === impl Query ===

impl Query {
    /// The query of a request; keys outside `known`, or given twice, are refused.
    pub(super) fn read(request: &HttpRequest, known: &[&str]) -> Result<Self, Problem> {
        Self::parse(request.query_string(), known)
    }

    fn parse(query: &str, known: &[&str]) -> Result<Self, Problem> {
        let pairs = web::Query::<Vec<(String, String)>>::from_query(query)
            .map_err(|error| {
                Problem::bad_value("query", format!("the query cannot be read: {error}"))
            })?
            .into_inner();
        for (at, (key, _)) in pairs.iter().enumerate() {
            if !known.contains(&key.as_str()) {
                let detail = match known {
                    [] => format!("{key} is not known; this path takes no query"),
                    _ => format!("{key} is not known; the names are {}", known.join(", ")),
                };
                return Err(Problem::bad_value(key, detail));
            }
            if pairs[..at].iter().any(|(before, _)| before == key) {
                return Err(Problem::bad_value(
                    key,
                    format!("{key} is given twice; give it once"),
                ));
            }
        }
        Ok(Self(pairs))
    }

    /// The value as given; an empty one counts as absent.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Whether only the node that answers is meant (`scope=node`), not the whole cluster.
    pub(super) fn is_of_node(&self) -> Result<bool, Problem> {
        Ok(self.word::<Scope>("scope")? == Some(Scope::Node))
    }

    /// One of the words of a choice.
    pub(super) fn word<W: Word>(&self, key: &str) -> Result<Option<W>, Problem> {
        self.text(key).map(|text| word(key, text)).transpose()
    }

    /// The requested page of a list: every list takes `limit` and `before`.
    pub(super) fn page(&self) -> Result<ListPage, Problem> {
        let limit = self.limit()?;
        let before = self.number(
            "before",
            "an id, such as next_before of the page before",
            |id| *id > 0,
        )?;
        Ok(ListPage {
            limit,
            before: before.unwrap_or_default(),
        })
    }

    /// Entries on the requested page of a list.
    pub(super) fn limit(&self) -> Result<u32, Problem> {
        let limit = self.number(
            "limit",
            &format!("a number from 1 to {MAX_PAGE}"),
            |limit| (1..=MAX_PAGE).contains(limit),
        )?;
        Ok(limit.unwrap_or(PAGE))
    }

    /// A number, `range` in words for the answer to a wrong one.
    pub(super) fn number<T>(
        &self,
        key: &str,
        range: &str,
        valid: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, Problem>
    where
        T: FromStr,
    {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        match text.parse() {
            Ok(value) if valid(&value) => Ok(Some(value)),
            _ => Err(Problem::bad_value(
                key,
                format!("{key} must be {range}, not {text:?}"),
            )),
        }
    }

    /// A moment in Unix milliseconds, written as RFC 3339 or as that number.
    pub(super) fn time(&self, key: &str) -> Result<Option<i64>, Problem> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        // A plus sign of the offset that was not percent-encoded arrives as a space.
        moment(key, &text.replace(' ', "+")).map(Some)
    }

    /// Why something is done, for the audit log.
    pub(super) fn reason(&self) -> Result<Option<&str>, Problem> {
        let Some(reason) = self.text("reason").map(str::trim) else {
            return Ok(None);
        };
        let is_right = (1..=MAX_REASON).contains(&reason.chars().count())
            && !reason.chars().any(char::is_control);
        if is_right {
            Ok(Some(reason))
        } else {
            Err(Problem::bad_value(
                "reason",
                format!("reason must be one line of 1 to {MAX_REASON} characters"),
            ))
        }
    }

    /// `true` or `false`; false when absent.
    pub(super) fn flag(&self, key: &str) -> Result<bool, Problem> {
        match self.text(key) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(other) => Err(Problem::bad_value(
                key,
                format!("{key} must be true or false, not {other:?}"),
            )),
        }
    }
}

/// One of the words of a choice, or an answer that lists them.
pub(super) fn word<W: Word>(key: &str, text: &str) -> Result<W, Problem> {
    W::of(text).ok_or_else(|| {
        Problem::bad_value(key, format!("{key} is one of {}, not {text:?}", W::list()))
    })
}

/// A duration in this range, as people write it; `such_as`: examples for the answer to another one.
pub(super) fn duration(
    key: &str,
    text: &str,
    such_as: &str,
    range: RangeInclusive<Duration>,
) -> Result<Duration, Problem> {
    let length = parse_duration(text).filter(|length| range.contains(length));
    length.ok_or_else(|| {
        let (least, most) = (show_duration(*range.start()), show_duration(*range.end()));
        let detail = format!(
            "{key} must be a duration such as {such_as}, from {least} to {most}, not {text:?}"
        );
        Problem::bad_value(key, detail)
    })
}

/// A moment in Unix milliseconds, as people write it.
pub(super) fn moment(key: &str, text: &str) -> Result<i64, Problem> {
    crate::domain::moment::parse(text).ok_or_else(|| {
        Problem::bad_value(
            key,
            format!(
                "{key} must be a time such as 2026-11-21T09:00:00Z, a day such as 2026-11-21, or Unix milliseconds, not {text:?}"
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(query: &str) -> Result<Option<u32>, Problem> {
        Query::parse(query, &["limit", "to"])?.number("limit", "a number from 1 to 1000", |n| {
            (1..=1000).contains(n)
        })
    }

    #[test]
    fn reads_what_is_right() {
        assert_eq!(limit("limit=20").unwrap(), Some(20));
        assert_eq!(limit("").unwrap(), None);
        assert_eq!(limit("limit=").unwrap(), None);
        let query = Query::parse("to=%2B447700900123&limit=5", &["limit", "to"]).unwrap();
        assert_eq!(query.text("to"), Some("+447700900123"));
        let query = Query::parse("text=true", &["text"]).unwrap();
        assert!(query.flag("text").unwrap());
    }

    #[test]
    fn names_what_is_wrong() {
        for (query, said) in [
            (
                "limit=abc",
                "limit must be a number from 1 to 1000, not \"abc\"",
            ),
            (
                "limit=0",
                "limit must be a number from 1 to 1000, not \"0\"",
            ),
            (
                "limit=99999999999999",
                "limit must be a number from 1 to 1000, not \"99999999999999\"",
            ),
            ("limt=5", "limt is not known; the names are limit, to"),
            ("limit=5&limit=6", "limit is given twice; give it once"),
        ] {
            let problem = limit(query).unwrap_err();
            assert!(problem.to_string().ends_with(said), "{query}: {problem}");
        }
        let query = Query::parse("text=yes", &["text"]).unwrap();
        assert!(
            query
                .flag("text")
                .unwrap_err()
                .to_string()
                .contains("true or false")
        );
        assert!(
            Query::parse("a=1", &[])
                .unwrap_err()
                .to_string()
                .contains("takes no query")
        );
    }
}
