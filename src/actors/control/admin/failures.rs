//! How many messages have failed, by what they have in common and over time.
//!
//! Called by the Admin actor. The store counts; here cells become groups with names, the largest first, and buckets. Of an
//! error, its latest message says what it means.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::context::AdminContext;
use super::failed::{self, FailedFilter};
use super::{incidents, messages};
use crate::api::{FailureBucket, FailureGroup, FailureGrouping, FailureReport, Word as _, time};
use crate::domain::address::printable;
use crate::domain::country;
use crate::domain::period::HOUR_MS;
use crate::pb::Refusal;
use crate::store::failures::{
    FailureCell, FailureCounts, FailureDimension, FailureQuestion, MAX_COUNTED,
};

/// Groups of an answer.
const MOST_GROUPS: usize = 100;
/// Groups by which buckets are divided.
const DIVIDED: usize = 6;

/// Which failures are counted, and by what.
#[derive(Debug)]
pub struct AskedFailures {
    /// With the ends between which messages count; its page is not used.
    pub which: FailedFilter,
    pub by: FailureGrouping,
    /// The length of a bucket in milliseconds.
    pub bucket_ms: i64,
}

/// What a group has.
#[derive(Debug, Default)]
struct FailureSum {
    messages: u64,
    latest: u64,
    /// By the place of the bucket.
    buckets: BTreeMap<i64, u64>,
}

/// Counts failures.
///
/// # Errors
/// A name that does not exist; the store does not answer.
pub async fn count(
    admin: Arc<AdminContext>,
    asked: AskedFailures,
) -> Result<FailureReport, Refusal> {
    let node = &admin.node;
    let AskedFailures {
        which,
        by,
        bucket_ms,
    } = asked;
    let ends = which.which.ended_since..which.which.ended_until;
    let question = FailureQuestion {
        which: failed::search(node, which)?,
        by: dimension(by),
        bucket_ms,
    };
    let counts = node.store.count_failures(question).await?;
    let name_of = |number: u32| node.name_of(number);
    let mut report = report(&counts, by, &ends, bucket_ms, name_of);
    report.incidents = incidents::that_go_on(node).map(|one| one.text).collect();
    if by == FailureGrouping::Error {
        let latest = report
            .groups
            .iter()
            .filter_map(|one| one.latest.parse().ok());
        let histories = node.store.histories(latest.collect()).await?;
        for (group, history) in report.groups.iter_mut().zip(histories) {
            group.in_words = history.as_ref().and_then(messages::error_in_words);
        }
    }
    Ok(report)
}

fn dimension(by: FailureGrouping) -> FailureDimension {
    match by {
        FailureGrouping::Error => FailureDimension::Error,
        FailureGrouping::Operator => FailureDimension::Operator,
        FailureGrouping::Account => FailureDimension::Account,
        FailureGrouping::Country => FailureDimension::Country,
        FailureGrouping::Hour => FailureDimension::Hour,
    }
}

/// What is counted, in groups and in buckets.
fn report(
    counts: &FailureCounts,
    by: FailureGrouping,
    ends: &Range<i64>,
    bucket_ms: i64,
    name_of: impl Fn(u32) -> String,
) -> FailureReport {
    let mut sums: BTreeMap<String, FailureSum> = BTreeMap::new();
    let mut totals: BTreeMap<i64, u64> = BTreeMap::new();
    for cell in &counts.cells {
        let sum = sums.entry(key(cell, by, &name_of)).or_default();
        sum.messages += cell.messages;
        sum.latest = sum.latest.max(cell.latest);
        *sum.buckets.entry(cell.bucket).or_default() += cell.messages;
        *totals.entry(cell.bucket).or_default() += cell.messages;
    }
    let mut sums: Vec<(String, FailureSum)> = sums.into_iter().collect();
    // Those of one size stay in the order of their keys.
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.messages));
    sums.truncate(MOST_GROUPS);
    let is_hour = by == FailureGrouping::Hour;
    if is_hour {
        sums.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
    let messages = totals.values().sum::<u64>();
    let shown = sums.iter().map(|(_, sum)| sum.messages).sum::<u64>();
    let divided = if is_hour { 0 } else { DIVIDED };
    let first = ends.start.div_euclid(bucket_ms);
    let last = (ends.end - 1).div_euclid(bucket_ms);
    let buckets = (first..=last).map(|place| FailureBucket {
        since: time((place * bucket_ms).max(ends.start)),
        until: time(((place + 1) * bucket_ms).min(ends.end)),
        messages: totals.get(&place).copied().unwrap_or_default(),
        of_groups: sums
            .iter()
            .take(divided)
            .map(|(_, sum)| sum.buckets.get(&place).copied().unwrap_or_default())
            .collect(),
    });
    let complete = counts.read < MAX_COUNTED;
    FailureReport {
        by: by.word().to_owned(),
        ended_since: time(ends.start),
        ended_until: time(ends.end),
        complete,
        counted_since: time(counts.earliest).filter(|_| !complete),
        messages,
        rest: messages - shown,
        incidents: Vec::new(),
        buckets: buckets.collect(),
        groups: sums
            .into_iter()
            .map(|(key, sum)| FailureGroup {
                key,
                messages: sum.messages,
                latest: sum.latest.to_string(),
                in_words: None,
            })
            .collect(),
    }
}

/// What a cell has in common with others, by name.
fn key(cell: &FailureCell, by: FailureGrouping, name_of: impl Fn(u32) -> String) -> String {
    match by {
        FailureGrouping::Error => printable(&cell.word),
        FailureGrouping::Operator | FailureGrouping::Account => {
            u32::try_from(cell.number).map(name_of).unwrap_or_default()
        }
        FailureGrouping::Country => country::of_head(&cell.word).to_owned(),
        FailureGrouping::Hour => time(cell.number * HOUR_MS).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    /// The 24th hour of 1970.
    const BEGIN: i64 = 23 * HOUR_MS;

    fn cell(bucket: i64, number: i64, word: &'static str, messages: u64) -> FailureCell {
        FailureCell {
            bucket,
            number,
            word: Bytes::from_static(word.as_bytes()),
            messages,
            latest: messages,
        }
    }

    fn counted(cells: Vec<FailureCell>, by: FailureGrouping) -> FailureReport {
        let counts = FailureCounts {
            cells,
            read: 9,
            earliest: BEGIN,
        };
        let ends = BEGIN + 1..BEGIN + 3 * HOUR_MS;
        report(&counts, by, &ends, HOUR_MS, |number| {
            format!("account:{number}")
        })
    }

    #[test]
    fn heads_of_one_country_are_one_group() {
        let cells = vec![
            cell(23, 0, "491701", 2),
            cell(25, 0, "491511", 3),
            cell(23, 0, "447700900", 4),
            cell(24, 0, "", 1),
        ];
        let report = counted(cells, FailureGrouping::Country);
        let groups = report.groups.iter();
        let groups: Vec<(&str, u64)> = groups.map(|one| (one.key.as_str(), one.messages)).collect();
        assert_eq!(groups, [("DE", 5), ("GB", 4), ("", 1)]);
        assert_eq!(
            (report.messages, report.rest, report.complete),
            (10, 0, true)
        );
        let buckets = report.buckets.iter();
        let buckets: Vec<(u64, Vec<u64>)> = buckets
            .map(|one| (one.messages, one.of_groups.clone()))
            .collect();
        assert_eq!(
            buckets,
            [(6, vec![2, 4, 0]), (1, vec![0, 0, 1]), (3, vec![3, 0, 0])]
        );
        assert_eq!(report.buckets[0].since, report.ended_since);
        assert_eq!(report.buckets[2].until, report.ended_until);
        assert_eq!(report.buckets[0].until, report.buckets[1].since);
    }

    #[test]
    fn what_is_left_of_many_groups_is_one_number() {
        let cells = (1..=150).map(|number| cell(23, number, "", number as u64));
        let report = counted(cells.collect(), FailureGrouping::Account);
        assert_eq!(report.groups.len(), MOST_GROUPS);
        assert_eq!(report.groups[0].key, "account:150");
        assert_eq!(report.rest, (1..=50).sum::<u64>());
        assert_eq!(report.by, "account");
        assert_eq!(report.buckets[0].of_groups.len(), DIVIDED);
    }

    #[test]
    fn hours_are_in_the_order_of_time() {
        let cells = vec![
            cell(24, 24, "", 1),
            cell(23, 23, "", 1),
            cell(25, 25, "", 8),
        ];
        let report = counted(cells, FailureGrouping::Hour);
        assert!(report.groups.is_sorted_by(|one, next| one.key < next.key));
        assert_eq!(report.groups[2].messages, 8);
        assert!(report.buckets[0].of_groups.is_empty());
    }
}
