//! The task that keeps the history of messages: what this node has counted, by the minute for a day and by the hour for longer.
//!
//! Each node writes rows of its own, and whoever asks is shown the sum of all. What was counted since the last write is added to
//! the row of its minute. When an hour is over, its minutes become a row of the hour; those that a node has left which is gone
//! are summed by the janitor's node, which forgets old rows as well.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use crate::actors::context::NodeContext;
use crate::clock;
use crate::config::HistoryConfig;
use crate::domain::queue_name::QueueName;
use crate::domain::traffic::{CROSSES_OF_HOUR, CROSSES_OF_MINUTE, TrafficBlock};
use crate::store::StoreError;
use crate::store::traffic::{HOUR_MS, MINUTE_MS, TrafficRow};

/// Minutes are kept for a day, and so much longer that each minute of the last day is there.
const MINUTES_KEPT_MS: i64 = 25 * HOUR_MS;
/// Minutes that may wait for a store that does not answer.
const MOST_UNWRITTEN: usize = 60;
/// Minutes of another node become an hour when that has been over for so long.
const LEFT_AFTER_MS: i64 = 2 * HOUR_MS;
/// A write comes so long after the end of its time, so that it is over by the clock as well.
const BEHIND: Duration = Duration::from_millis(50);

/// What is known from one write to the next. It outlives a panic of the task.
#[derive(Default)]
pub struct HistoryKeeper {
    /// The oldest first.
    unwritten: VecDeque<UnwrittenMinute>,
    /// Hours that are over and not summed, by when they began.
    over: BTreeSet<i64>,
    /// The hour in which old rows were last looked for.
    tended: Option<i64>,
}

/// What was counted in a minute and is not in the store.
struct UnwrittenMinute {
    /// When it began, Unix milliseconds.
    at: i64,
    counts: TrafficBlock,
    /// Whether these are all counts of the minute, with those that were in the store.
    is_whole: bool,
}

/// Writes what was counted, again and again, without an end.
pub async fn keep_history(node: &NodeContext, keeper: &mut HistoryKeeper) {
    loop {
        let every = node.config().history.write_every;
        let (now, every_ms) = (clock::now_ms(), length_ms(every));
        let pause = every_ms - now.rem_euclid(every_ms);
        tokio::time::sleep(Duration::from_millis(pause.unsigned_abs()) + BEHIND).await;
        let config = node.config();
        keeper
            .write(node, &config.history, clock::now_ms(), every_ms)
            .await;
    }
}

/// Writes what is left when the node stops.
pub async fn write_rest(node: &NodeContext) {
    let config = node.config();
    let mut rest = HistoryKeeper {
        // Nothing but this.
        tended: Some(i64::MAX),
        ..HistoryKeeper::default()
    };
    rest.write(node, &config.history, clock::now_ms(), 0).await;
}

fn length_ms(every: Duration) -> i64 {
    i64::try_from(every.as_millis()).unwrap_or(MINUTE_MS).max(1)
}

/// The begin of what contains this moment.
fn begin_of(step: i64, at: i64) -> i64 {
    at.div_euclid(step) * step
}

// === impl HistoryKeeper ===

impl HistoryKeeper {
    /// Writes what was counted in the last `every_ms` milliseconds.
    async fn write(
        &mut self,
        node: &NodeContext,
        settings: &HistoryConfig,
        now: i64,
        every_ms: i64,
    ) {
        let mut counts = node.outcomes.take_traffic();
        if settings.enabled {
            let plan = node.plan();
            let is_operator = |number| QueueName::parse(plan.name_of(number)).is_connected();
            let is_account = |number| QueueName::parse(plan.name_of(number)).account().is_some();
            counts.retain(is_operator, is_account);
            drop(plan);
            // The middle of that time: the end may be in the next minute already.
            let at = begin_of(MINUTE_MS, now - every_ms / 2);
            self.note(node, at, counts);
        } else {
            self.unwritten.clear();
        }
        if !node.local_lease.is_valid() {
            // Another process may have the number of this node.
            return;
        }
        let done = async {
            self.write_minutes(node, now).await?;
            self.sum_hours(node).await?;
            self.tend(node, settings, now).await
        };
        if let Err(error) = done.await {
            node.metrics.history_failures.inc();
            tracing::warn!(%error, "the history of messages cannot be written now");
        }
    }

    /// Counts of a minute are to be written.
    fn note(&mut self, node: &NodeContext, at: i64, counts: TrafficBlock) {
        if counts.is_empty() {
            return;
        }
        match self.unwritten.back_mut() {
            Some(last) if last.at == at && !last.is_whole => last.counts.add(&counts),
            _ => self.unwritten.push_back(UnwrittenMinute {
                at,
                counts,
                is_whole: false,
            }),
        }
        if self.unwritten.len() > MOST_UNWRITTEN {
            self.unwritten.pop_front();
            node.metrics.history_lost.inc();
        }
    }

    async fn write_minutes(&mut self, node: &NodeContext, now: i64) -> Result<(), StoreError> {
        let own = node.ids.node();
        while let Some(minute) = self.unwritten.front_mut() {
            let at = minute.at;
            if !minute.is_whole {
                let before = node.store.traffic(MINUTE_MS, at..at + 1, Some(own)).await?;
                let before = before.first();
                if let Some(before) = before.and_then(|row| TrafficBlock::decode(&row.counts)) {
                    minute.counts.add(&before);
                }
                // A write whose answer is lost is repeated, and adds nothing again.
                minute.is_whole = true;
            }
            minute.counts.keep_largest(CROSSES_OF_MINUTE);
            let row = TrafficRow {
                step: MINUTE_MS,
                at,
                node: own,
                counts: minute.counts.encode(),
            };
            node.store.keep_traffic(row).await?;
            self.unwritten.pop_front();
            if begin_of(HOUR_MS, at) + HOUR_MS <= now {
                self.over.insert(begin_of(HOUR_MS, at));
            }
        }
        Ok(())
    }

    async fn sum_hours(&mut self, node: &NodeContext) -> Result<(), StoreError> {
        while let Some(at) = self.over.first().copied() {
            sum_hour(node, at, node.ids.node()).await?;
            self.over.remove(&at);
        }
        Ok(())
    }

    /// Once in an hour, and at the start: sums what was left, forgets what is old, and measures the rest.
    async fn tend(
        &mut self,
        node: &NodeContext,
        settings: &HistoryConfig,
        now: i64,
    ) -> Result<(), StoreError> {
        let current = begin_of(HOUR_MS, now);
        if self.tended.is_some_and(|tended| tended >= current) {
            return Ok(());
        }
        let is_janitor = node.local_lease.is_janitor();
        for (at, of) in node.store.hours_without_row(current).await? {
            let is_left = is_janitor && at + HOUR_MS + LEFT_AFTER_MS <= now;
            if of == node.ids.node() || is_left {
                sum_hour(node, at, of).await?;
            }
        }
        if is_janitor {
            let retention = length_ms(settings.retention);
            let forget = node
                .store
                .forget_traffic(now - MINUTES_KEPT_MS, now - retention);
            forget.await?;
        }
        let size = node.store.traffic_size().await?;
        node.metrics.history_rows.set(size.rows);
        node.metrics.history_octets.set(size.octets);
        self.tended = Some(current);
        Ok(())
    }
}

/// Makes a row of the hour of the minutes that a node has in it.
async fn sum_hour(node: &NodeContext, at: i64, of: u8) -> Result<(), StoreError> {
    let minutes = node.store.traffic(MINUTE_MS, at..at + HOUR_MS, Some(of));
    let minutes = minutes.await?;
    // Thousands of series times sixty: not on the thread of queues.
    let summed = tokio::task::spawn_blocking(move || sum_of(&minutes)).await;
    let Some(counts) = summed.ok().flatten() else {
        return Ok(());
    };
    let row = TrafficRow {
        step: HOUR_MS,
        at,
        node: of,
        counts,
    };
    node.store.keep_traffic(row).await
}

/// The stored form of all of these together; `None` if there is nothing that this release can read.
fn sum_of(minutes: &[TrafficRow]) -> Option<Vec<u8>> {
    let mut hour = TrafficBlock::default();
    for minute in minutes {
        hour.add(&TrafficBlock::decode(&minute.counts)?);
    }
    hour.keep_largest(CROSSES_OF_HOUR);
    (!hour.is_empty()).then(|| hour.encode())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::test_support::{self, TestNode};
    use crate::domain::traffic::TrafficFilter;

    /// The last minute of an hour, some hours after 1970.
    const LAST: i64 = 100 * HOUR_MS - MINUTE_MS;

    fn count(test: &TestNode, messages: usize) {
        test.context.outcomes.count(|log| {
            for _ in 0..messages {
                log.at(test.operator, test.account, LAST)
                    .note_taken(true, 10);
            }
        });
    }

    async fn accepted(test: &TestNode, step: i64, at: i64) -> Option<u64> {
        let rows = test.context.store.traffic(step, at..at + 1, None);
        let rows = rows.await.unwrap();
        let block = TrafficBlock::decode(&rows.first()?.counts).unwrap();
        let of = TrafficFilter {
            account: Some(test.account),
            ..TrafficFilter::default()
        };
        Some(block.of(&of).accepted)
    }

    #[actix::test]
    async fn minutes_add_up_and_become_an_hour_that_outlives_them() {
        let test = test_support::node(1, None).await;
        let (node, settings) = (&test.context, HistoryConfig::default());
        let mut keeper = HistoryKeeper::default();
        count(&test, 2);
        keeper.write(node, &settings, LAST + 10_000, 10_000).await;
        // A restart in the same minute.
        let mut next_process = HistoryKeeper::default();
        count(&test, 3);
        next_process
            .write(node, &settings, LAST + MINUTE_MS + 50, 10_000)
            .await;
        assert_eq!(accepted(&test, MINUTE_MS, LAST).await, Some(5));
        let hour = LAST + MINUTE_MS - HOUR_MS;
        assert_eq!(accepted(&test, HOUR_MS, hour).await, Some(5));
        assert!(node.metrics.history_rows.get() >= 2);

        let later = LAST + 30 * HOUR_MS;
        next_process.write(node, &settings, later, 10_000).await;
        assert_eq!(accepted(&test, MINUTE_MS, LAST).await, None);
        assert_eq!(accepted(&test, HOUR_MS, hour).await, Some(5));
        let much_later = LAST + 91 * 24 * HOUR_MS;
        next_process
            .write(node, &settings, much_later, 10_000)
            .await;
        assert_eq!(accepted(&test, HOUR_MS, hour).await, None);
    }

    #[actix::test]
    async fn what_a_process_or_a_node_has_left_becomes_hours() {
        let test = test_support::node(1, None).await;
        let (node, settings) = (&test.context, HistoryConfig::default());
        let own = node.ids.node();
        count(&test, 4);
        let counts = node.outcomes.take_traffic().encode();
        for of in [own, own + 1] {
            let row = TrafficRow {
                step: MINUTE_MS,
                at: LAST,
                node: of,
                counts: counts.clone(),
            };
            node.store.keep_traffic(row).await.unwrap();
        }
        let hour = LAST + MINUTE_MS - HOUR_MS;
        let of_nodes = async || {
            let rows = node.store.traffic(HOUR_MS, hour..hour + 1, None);
            let rows = rows.await.unwrap().into_iter();
            rows.map(|row| row.node).collect::<Vec<u8>>()
        };
        let look = async |now| {
            let mut keeper = HistoryKeeper::default();
            keeper.write(node, &settings, now, 1_000).await;
        };
        look(LAST + 2 * MINUTE_MS).await;
        assert_eq!(of_nodes().await, [own], "the other one may still write");
        look(LAST + 4 * HOUR_MS).await;
        assert_eq!(of_nodes().await, [own, own + 1]);
    }

    #[actix::test]
    async fn nothing_is_kept_while_it_is_switched_off() {
        let test = test_support::node(1, None).await;
        let off = HistoryConfig {
            enabled: false,
            ..HistoryConfig::default()
        };
        count(&test, 2);
        let mut keeper = HistoryKeeper::default();
        keeper
            .write(&test.context, &off, LAST + 10_000, 10_000)
            .await;
        assert_eq!(accepted(&test, MINUTE_MS, LAST).await, None);
        assert!(test.context.outcomes.take_traffic().is_empty());
    }
}
