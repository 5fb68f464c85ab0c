//! The port that counts failures: how many messages have failed, by error, operator, account, country or hour, over time.
//!
//! Called by the admin API. Both stores run the same statement: it walks over the index of ends from the latest one down, at
//! most [`MAX_COUNTED`] of them, and groups them. Invariant: what it reads is bounded, and the answer says where it has
//! stopped.

use bytes::Bytes;

use super::cold::{ColdRow, ColdStatement, ColdTables, ColdValue, values};
use super::failed::{FailedSearch, HAS_PLACE};
use super::{Reply, StoreResult};
use smsc_domain::country;
use smsc_domain::period::HOUR_MS;

/// Ends that are read for one answer.
pub const MAX_COUNTED: u64 = 100_000;
/// The queue that a message was in at its end: the last one that it was moved to, or its first.
const QUEUE: &str = "coalesce((SELECT c.queue FROM change c WHERE c.id = m.id AND c.kind = 1
    ORDER BY c.seq DESC LIMIT 1), m.queue)";
/// The digits of a destination.
const DIGITS: &str = "ltrim(m.destination, '+')";

/// What failures are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureDimension {
    /// The error code, as it is kept.
    Error,
    /// Who reported the end, or in whose queue the message was.
    Operator,
    /// Who brought the message.
    Account,
    /// The first digits of the destination, which say its country: see [`country::of_head`].
    Country,
    /// The hour of the end (UTC).
    Hour,
}

/// Which failures are counted, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureQuestion {
    /// Its ends, destination (exact or first digits, and country), sender, operator, state and error count, and nothing else of it.
    pub which: FailedSearch,
    pub by: FailureDimension,
    /// The length of a bucket in milliseconds; the first one begins with 1970.
    pub bucket_ms: i64,
}

/// Failures that have a group and a bucket in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureCell {
    /// The place of the bucket: its time divided by its length.
    pub bucket: i64,
    /// Of an operator or an account the interned name, of an hour its number since 1970, otherwise 0.
    pub number: i64,
    /// The error, or the first digits of the destinations; otherwise empty.
    pub word: Bytes,
    pub messages: u64,
    /// The highest id of them.
    pub latest: u64,
}

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailureCounts {
    /// In no order.
    pub cells: Vec<FailureCell>,
    /// Ends that were read, whether they fit or not.
    pub read: u64,
    /// The earliest of those ends, Unix milliseconds; 0 for none.
    pub earliest: i64,
}

/// The part of a store that counts failures.
pub trait FailureStore {
    /// How many failures there are, by a dimension and by time.
    fn count_failures(&self, question: FailureQuestion) -> Reply<FailureCounts>;
}

// === impl FailureDimension ===

impl FailureDimension {
    /// The columns `number` and `word` of a cell.
    fn columns(self) -> (String, String) {
        let number = |sql: &str| format!("CAST({sql} AS bigint)");
        let no_word = "CAST('' AS text)".to_owned();
        match self {
            Self::Error => (number("0"), "w.error".to_owned()),
            Self::Operator => {
                let who = format!("CASE WHEN w.operator <> 0 THEN w.operator ELSE {QUEUE} END");
                (number(&who), no_word)
            }
            Self::Account => (number("m.sender"), no_word),
            Self::Country => (number("0"), head()),
            Self::Hour => (number(&format!("w.at / {HOUR_MS}")), no_word),
        }
    }
}

/// As many first digits of a destination as say its country; empty for short codes.
fn head() -> String {
    let (shortest, head, longest) = (country::SHORTEST, country::HEAD, country::LONGEST);
    let long = any_of(country::long_heads());
    format!(
        "CASE WHEN length({DIGITS}) < {shortest} THEN ''
          WHEN {long} THEN substr({DIGITS}, 1, {longest}) ELSE substr({DIGITS}, 1, {head}) END"
    )
}

/// The condition that a destination begins with one of these digits.
fn any_of(prefixes: impl IntoIterator<Item = &'static str>) -> String {
    let mut all: Vec<&str> = prefixes.into_iter().collect();
    all.sort_by_key(|prefix| prefix.len());
    let alike = all.chunk_by(|one, next| one.len() == next.len());
    let terms = alike.map(|alike| {
        let (length, listed) = (alike[0].len(), alike.join("', '"));
        format!("substr({DIGITS}, 1, {length}) IN ('{listed}')")
    });
    let terms: Vec<String> = terms.collect();
    format!("({})", terms.join(" OR "))
}

// === impl FailureQuestion ===

impl FailureQuestion {
    fn statement(&self) -> ColdStatement {
        let ends = self.which.which.ends();
        let mut values = values![ends.start, ends.end, MAX_COUNTED, self.bucket_ms];
        let terms = self.terms(&mut values);
        let (number, word) = self.by.columns();
        let states = self.which.states();
        // What the index of ends and the final state do not have.
        let needs_message = [&number, &word, &terms]
            .iter()
            .any(|sql| sql.contains("m."));
        let message = if needs_message {
            "JOIN msg m ON m.id = w.id"
        } else {
            ""
        };
        let sql = format!(
            "WITH w AS (SELECT id, at, state, error, operator FROM fin
               WHERE {HAS_PLACE} AND at >= $1 AND at < $2 ORDER BY at DESC, id DESC LIMIT $3)
             SELECT 0 AS kind, w.at / $4 AS bucket, {number} AS number, {word} AS word,
               count(*) AS messages, max(w.id) AS latest
             FROM w {message} WHERE w.state IN ({states}){terms} GROUP BY 2, 3, 4
             UNION ALL SELECT 1, coalesce(min(at), 0), 0, '', count(*), 0 FROM w"
        );
        ColdStatement::new(sql, values)
    }

    /// What else must hold.
    fn terms(&self, values: &mut Vec<ColdValue>) -> String {
        let FailedSearch {
            which,
            operator,
            error,
            ..
        } = &self.which;
        let mut terms = String::new();
        let mut place = |more: Vec<ColdValue>| {
            values.extend(more);
            format!("${}", values.len())
        };
        if let Some(to) = &which.to {
            let (plain, plus) = (place(values![*to]), place(values![format!("+{to}")]));
            terms.push_str(&format!(" AND m.destination IN ({plain}, {plus})"));
        }
        if let Some(prefix) = &which.to_prefix {
            let like = place(values![format!("{prefix}%")]);
            terms.push_str(&format!(" AND {DIGITS} LIKE {like}"));
        }
        if which.country == Some("") {
            let (shortest, any) = (country::SHORTEST, any_of(country::every_prefix()));
            terms.push_str(&format!(
                " AND (length({DIGITS}) < {shortest} OR NOT {any})"
            ));
        } else if let Some(country) = which.country {
            let (own, others) = country::prefixes(country);
            let shortest = country::SHORTEST;
            terms.push_str(&format!(" AND length({DIGITS}) >= {shortest} AND "));
            terms.push_str(&any_of(own));
            if !others.is_empty() {
                terms.push_str(&format!(" AND NOT {}", any_of(others)));
            }
        }
        if let Some(sender) = which.sender {
            terms.push_str(&format!(" AND m.sender = {}", place(values![sender])));
        }
        if let Some(operator) = *operator {
            let number = place(values![operator]);
            terms.push_str(&format!(
                " AND (w.operator = {number} OR {QUEUE} = {number})"
            ));
        }
        if let Some(error) = error {
            let error = String::from_utf8_lossy(error).into_owned();
            terms.push_str(&format!(" AND w.error = {}", place(values![error])));
        }
        terms
    }
}

impl<S: ColdTables> FailureStore for S {
    fn count_failures(&self, question: FailureQuestion) -> Reply<FailureCounts> {
        self.select(question.statement(), FailureCounts::of_rows::<S>)
    }
}

// === impl FailureCounts ===

impl FailureCounts {
    fn of_rows<S: ColdTables>(rows: Vec<ColdRow>) -> StoreResult<Self> {
        let mut counts = Self::default();
        for mut row in rows {
            let is_cell = row.take::<i64>("the kind of a count")? == 0;
            let cell = FailureCell {
                bucket: row.take("the time of a count")?,
                number: row.take("the group of a count")?,
                word: S::octets(row.0.next()),
                messages: row.take("a count")?,
                latest: row.take("the id of a count")?,
            };
            if is_cell {
                counts.cells.push(cell);
            } else {
                counts.earliest = cell.bucket;
                counts.read = cell.messages;
            }
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Search;

    fn statement(by: FailureDimension, which: FailedSearch) -> ColdStatement {
        let question = FailureQuestion {
            which,
            by,
            bucket_ms: HOUR_MS,
        };
        question.statement()
    }

    #[test]
    fn messages_are_read_only_where_they_are_needed() {
        for (by, is_read) in [
            (FailureDimension::Error, false),
            (FailureDimension::Hour, false),
            (FailureDimension::Operator, true),
            (FailureDimension::Account, true),
            (FailureDimension::Country, true),
        ] {
            let sql = statement(by, FailedSearch::default()).sql;
            assert_eq!(sql.contains("JOIN msg"), is_read, "{sql}");
        }
        let of_sender = FailedSearch {
            which: Search {
                sender: Some(7),
                ..Search::default()
            },
            ..FailedSearch::default()
        };
        let ColdStatement { sql, values, .. } = statement(FailureDimension::Error, of_sender);
        assert!(
            sql.contains("JOIN msg") && sql.contains("m.sender = $5"),
            "{sql}"
        );
        assert_eq!(values.len(), 5);
    }

    #[test]
    fn a_country_leaves_out_what_is_of_others() {
        let of_russia = FailedSearch {
            which: Search {
                country: Some("RU"),
                ..Search::default()
            },
            ..FailedSearch::default()
        };
        let sql = statement(FailureDimension::Error, of_russia).sql;
        let digits = |length: usize| format!("substr({DIGITS}, 1, {length})");
        let wanted = format!(
            "({} IN ('7')) AND NOT ({} IN ('76', '77'))",
            digits(1),
            digits(2)
        );
        assert!(sql.contains(&wanted), "{sql}");
    }
}
