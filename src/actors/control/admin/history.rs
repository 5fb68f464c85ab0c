//! The history of messages: the counts of all nodes in a time, as points, and divided by operator, account or error.
//!
//! Called by the Admin actor. The rows of a store are read a part at a time and summed on a thread of their own, because there
//! may be thousands. An hour that is not summed yet is the sum of its minutes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::context::AdminContext;
use super::messages;
use crate::actors::context::NodeContext;
use crate::api::{
    HistoryGrouping, HistoryStep, TrafficGroup, TrafficHistory, TrafficPoint, TrafficSums,
    Word as _, time,
};
use crate::domain::period::{HOUR_MS, MINUTE_MS, begin_of};
use crate::domain::traffic::{
    OTHER_ERRORS, TrafficBlock, TrafficCounts, TrafficDimension, TrafficFilter, TrafficKey,
};
use crate::pb::Refusal;
use crate::store::traffic::TrafficRow;

/// Groups of an answer.
const MOST_GROUPS: usize = 250;
/// Groups that are summed: who answers with another code each time makes 200 of each row. Further ones are one group.
const MOST_SUMMED: usize = 10_000;
/// Minutes or hours that are read at once.
const READ_AT_ONCE: i64 = 60;

/// Which part of the history is asked for.
#[derive(Debug)]
pub struct AskedHistory {
    /// Unix milliseconds.
    pub times: Range<i64>,
    pub step: HistoryStep,
    /// Names; empty for any.
    pub operator: String,
    pub account: String,
    pub error: String,
    pub by: Option<HistoryGrouping>,
}

/// What has been read so far.
#[derive(Debug)]
struct HistorySums {
    filter: TrafficFilter,
    by: Option<TrafficDimension>,
    step: i64,
    /// By when they began.
    points: BTreeMap<i64, TrafficCounts>,
    groups: BTreeMap<TrafficKey, TrafficCounts>,
    nodes: BTreeSet<u8>,
    unread: u64,
}

/// Reads the history.
///
/// # Errors
/// A name that does not exist; the store does not answer.
pub async fn read(
    admin: Arc<AdminContext>,
    asked: AskedHistory,
) -> Result<TrafficHistory, Refusal> {
    let node = &admin.node;
    let step = length(asked.step);
    let mut sums = HistorySums::new(filter(node, &asked)?, asked.by.map(dimension), step);
    let times = begin_of(step, asked.times.start)..asked.times.end;
    let part = step * READ_AT_ONCE;
    // A point is whole, unless it is not over: a row of an hour cannot be divided.
    let end = begin_of(step, times.end.saturating_add(step - 1));
    let unsummed = match asked.step {
        HistoryStep::Minute => Vec::new(),
        HistoryStep::Hour => node.store.hours_without_row(end).await?,
    };
    let mut from = times.start;
    while from < times.end {
        let until = (from + part).min(times.end);
        let mut rows = node.store.traffic(step, from..until, None).await?;
        // It may have been summed meanwhile.
        rows.retain(|row| !unsummed.contains(&(row.at, row.node)));
        sums = sums.with(rows).await?;
        from = until;
    }
    for (hour, of) in unsummed {
        if hour < times.start {
            continue;
        }
        let rows = node
            .store
            .traffic(MINUTE_MS, hour..hour + HOUR_MS, Some(of));
        sums = sums.with(rows.await?).await?;
    }
    Ok(sums.answer(&times, &asked, |number| node.name_of(number)))
}

fn filter(node: &NodeContext, asked: &AskedHistory) -> Result<TrafficFilter, Refusal> {
    Ok(TrafficFilter {
        operator: messages::named(node, &asked.operator, messages::operator)?,
        account: messages::named(node, &asked.account, messages::sender)?,
        error: (!asked.error.is_empty()).then(|| asked.error.clone()),
    })
}

fn length(step: HistoryStep) -> i64 {
    match step {
        HistoryStep::Minute => MINUTE_MS,
        HistoryStep::Hour => HOUR_MS,
    }
}

fn dimension(by: HistoryGrouping) -> TrafficDimension {
    match by {
        HistoryGrouping::Operator => TrafficDimension::Operator,
        HistoryGrouping::Account => TrafficDimension::Account,
        HistoryGrouping::Error => TrafficDimension::Error,
    }
}

fn view(counts: &TrafficCounts) -> TrafficSums {
    TrafficSums {
        accepted: counts.accepted,
        refused: counts.refused,
        delivered: counts.delivered,
        failed: counts.failed,
        answer_ms: counts.mean_answer_ms(),
    }
}

// === impl HistorySums ===

impl HistorySums {
    fn new(filter: TrafficFilter, by: Option<TrafficDimension>, step: i64) -> Self {
        Self {
            filter,
            by,
            step,
            points: BTreeMap::new(),
            groups: BTreeMap::new(),
            nodes: BTreeSet::new(),
            unread: 0,
        }
    }

    /// These and some rows.
    async fn with(mut self, rows: Vec<TrafficRow>) -> Result<Self, Refusal> {
        let summed = tokio::task::spawn_blocking(move || {
            for row in &rows {
                self.add(row);
            }
            self
        });
        summed
            .await
            .map_err(|error| Refusal::unavailable(error.to_string()))
    }

    fn add(&mut self, row: &TrafficRow) {
        let Some(block) = TrafficBlock::decode(&row.counts) else {
            self.unread += 1;
            return;
        };
        self.nodes.insert(row.node);
        let point = self.points.entry(begin_of(self.step, row.at));
        point.or_default().add(&block.of(&self.filter));
        if let Some(by) = self.by {
            for (key, counts) in block.by(by, &self.filter) {
                self.add_group(key, &counts);
            }
        }
    }

    fn add_group(&mut self, key: TrafficKey, counts: &TrafficCounts) {
        if let Some(sum) = self.groups.get_mut(&key) {
            sum.add(counts);
            return;
        }
        let key = match key {
            key if self.groups.len() < MOST_SUMMED => key,
            TrafficKey::Number(_) => TrafficKey::Number(0),
            TrafficKey::Error(_) => TrafficKey::Error(OTHER_ERRORS.to_owned()),
        };
        self.groups.entry(key).or_default().add(counts);
    }

    fn answer(
        mut self,
        times: &Range<i64>,
        asked: &AskedHistory,
        name_of: impl Fn(u32) -> String,
    ) -> TrafficHistory {
        let mut total = TrafficCounts::default();
        let (mut points, mut at) = (Vec::new(), times.start);
        while at < times.end {
            let counts = self.points.remove(&at).unwrap_or_default();
            total.add(&counts);
            points.push(TrafficPoint {
                at: time(at),
                messages: view(&counts),
            });
            at += self.step;
        }
        let mut groups: Vec<_> = self.groups.into_iter().collect();
        // Those of one size stay in the order of their keys.
        groups.sort_by_key(|(_, counts)| {
            let attempts = counts.accepted.saturating_add(counts.refused);
            Reverse((attempts.saturating_add(counts.failed), counts.delivered))
        });
        let more_groups = groups.len().saturating_sub(MOST_GROUPS) as u64;
        groups.truncate(MOST_GROUPS);
        TrafficHistory {
            step: asked.step.word().to_owned(),
            since: time(times.start),
            until: time(times.end),
            only_failed: self.filter.is_of_several(),
            total: view(&total),
            points,
            by: asked.by.map(|by| by.word().to_owned()),
            groups_only_failed: (self.by).is_some_and(|by| self.filter.is_about_others_than(by)),
            groups: groups
                .into_iter()
                .map(|(key, counts)| TrafficGroup {
                    key: match key {
                        TrafficKey::Number(number) => name_of(number),
                        TrafficKey::Error(error) => error,
                    },
                    messages: view(&counts),
                })
                .collect(),
            more_groups,
            nodes: self.nodes.into_iter().map(u32::from).collect(),
            unread: self.unread,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(by: Option<HistoryGrouping>) -> AskedHistory {
        AskedHistory {
            times: HOUR_MS..4 * HOUR_MS,
            step: HistoryStep::Hour,
            operator: String::new(),
            account: String::new(),
            error: String::new(),
            by,
        }
    }

    fn row(at: i64, node: u8, operator: u32, accepted: u64) -> TrafficRow {
        let mut block = TrafficBlock::default();
        let counts = TrafficCounts {
            accepted,
            failed: 1,
            answer_ms: 20 * accepted,
            ..TrafficCounts::default()
        };
        block.note_operator(operator, &counts);
        block.note_account(100, &counts);
        block.note_error(operator, 100, "069", &counts);
        TrafficRow {
            step: HOUR_MS,
            at,
            node,
            counts: block.encode(),
        }
    }

    async fn answer(filter: TrafficFilter, by: Option<HistoryGrouping>) -> TrafficHistory {
        let sums = HistorySums::new(filter, by.map(dimension), HOUR_MS);
        let damaged = TrafficRow {
            counts: vec![9],
            ..TrafficRow::default()
        };
        let rows = vec![
            row(HOUR_MS, 1, 1, 10),
            row(HOUR_MS, 2, 1, 5),
            row(3 * HOUR_MS + MINUTE_MS, 1, 2, 40),
            damaged,
        ];
        let sums = sums.with(rows).await.unwrap();
        let times = HOUR_MS..4 * HOUR_MS;
        sums.answer(&times, &asked(by), |number| format!("operator:{number}"))
    }

    #[actix::test]
    async fn nodes_are_summed_and_hours_without_messages_are_there() {
        let all = answer(TrafficFilter::default(), Some(HistoryGrouping::Operator)).await;
        let points = all.points.iter();
        let accepted: Vec<u64> = points.map(|point| point.messages.accepted).collect();
        assert_eq!(accepted, [15, 0, 40]);
        assert_eq!((all.total.accepted, all.total.failed), (55, 3));
        assert_eq!(all.total.answer_ms, Some(20.0));
        assert_eq!((all.nodes.as_slice(), all.unread), (&[1, 2][..], 1));
        let groups = all.groups.iter();
        let groups: Vec<_> = groups
            .map(|group| (group.key.as_str(), group.messages.accepted))
            .collect();
        assert_eq!(groups, [("operator:2", 40), ("operator:1", 15)]);
        assert_eq!(all.step, "hour");
        assert_eq!(all.by.as_deref(), Some("operator"));
        assert!(!all.only_failed && !all.groups_only_failed);
    }

    #[actix::test]
    async fn of_an_operator_and_its_errors_only_failures_are_known() {
        let of_operator = TrafficFilter {
            operator: Some(1),
            ..TrafficFilter::default()
        };
        let errors = answer(of_operator.clone(), Some(HistoryGrouping::Error)).await;
        assert!(errors.groups_only_failed && !errors.only_failed);
        assert_eq!(errors.total.accepted, 15);
        assert_eq!(errors.groups.len(), 1);
        let group = &errors.groups[0];
        assert_eq!((group.key.as_str(), group.messages.failed), ("069", 2));
        let itself = answer(of_operator, Some(HistoryGrouping::Operator)).await;
        assert!(!itself.groups_only_failed);
        assert_eq!(itself.groups[0].messages, itself.total);
        let both = TrafficFilter {
            operator: Some(1),
            error: Some("069".to_owned()),
            account: None,
        };
        let both = answer(both, None).await;
        assert!(both.only_failed && both.groups.is_empty());
        assert_eq!((both.total.accepted, both.total.failed), (0, 2));
    }

    #[test]
    fn errors_without_an_end_are_one_group_in_the_end() {
        let by = Some(TrafficDimension::Error);
        let mut sums = HistorySums::new(TrafficFilter::default(), by, HOUR_MS);
        let once = TrafficCounts {
            failed: 1,
            ..TrafficCounts::default()
        };
        for error in 0..MOST_SUMMED + 500 {
            sums.add_group(TrafficKey::Error(format!("{error:05}")), &once);
        }
        sums.add_group(TrafficKey::Error("00000".to_owned()), &once);
        assert_eq!(sums.groups.len(), MOST_SUMMED + 1);
        let others = &sums.groups[&TrafficKey::Error(OTHER_ERRORS.to_owned())];
        assert_eq!(others.failed, 500);
        let answer = sums.answer(
            &(HOUR_MS..2 * HOUR_MS),
            &asked(Some(HistoryGrouping::Error)),
            |_| String::new(),
        );
        assert_eq!(answer.groups.len(), MOST_GROUPS);
        assert_eq!(answer.groups[0].key, OTHER_ERRORS);
        assert_eq!(answer.more_groups as usize, MOST_SUMMED + 1 - MOST_GROUPS);
    }
}
