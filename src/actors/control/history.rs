//! The task that keeps the history of messages: what this node has counted, by the minute for a day and by the hour for longer.
//!
//! Each node writes rows of its own, and whoever asks is shown the sum of all. What was counted since the last write is added to
//! the row of its minute. When an hour is over, its minutes become a row of the hour; those that a node has left which is gone
//! are summed by the janitor's node, which forgets old rows as well. A minute that cannot be read may be of a newer release, to
//! which the hour is left until its minutes are about to be forgotten. Each minute and each hour is tried by itself: one that
//! fails is tried again, and keeps neither later ones nor the forgetting of old rows waiting.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::actors::context::NodeContext;
use crate::clock;
use crate::config::HistoryConfig;
use crate::domain::period::{HOUR_MS, MINUTE_MS, begin_of};
use crate::domain::queue_name::QueueName;
use crate::domain::traffic::{CROSSES_OF_HOUR, CROSSES_OF_MINUTE, TrafficBlock};
use crate::store::StoreError;
use crate::store::traffic::TrafficRow;

/// Minutes are kept for a day, and so much longer that each minute of the last day is there.
const MINUTES_KEPT_MS: i64 = 25 * HOUR_MS;
/// Minutes that may wait for a store that does not answer.
const MOST_UNWRITTEN: usize = 60;
/// Nor is a minute written any more after so long: the others of its hour may be forgotten, and the hour would be summed anew
/// without them.
const TOO_OLD_MS: i64 = MINUTES_KEPT_MS - HOUR_MS;
/// An hour is summed without minutes that cannot be read when it has been over for so long, before they are forgotten.
const SUMMED_ANYHOW_MS: i64 = TOO_OLD_MS - 2 * HOUR_MS;
/// Minutes of another node become an hour when that has been over for so long.
const LEFT_AFTER_MS: i64 = 2 * HOUR_MS;
/// A store that does not answer for so long is asked again at the next write: what is counted meanwhile has minutes of its own.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Nor is more than this spent on one minute or hour.
const EACH_WITHIN: Duration = Duration::from_secs(10);
/// A write comes so long after the end of its time, so that it is over by the clock as well.
const BEHIND: Duration = Duration::from_millis(50);

/// What is known from one write to the next. It outlives a panic of the task.
#[derive(Default)]
pub struct HistoryKeeper {
    /// The oldest first.
    unwritten: VecDeque<UnwrittenMinute>,
    /// Hours of which minutes were written that are not in their sum: when they began, and their node.
    unsummed: BTreeSet<(i64, u8)>,
    /// The hour in which old rows were last looked for.
    tended: Option<i64>,
    failing: FailingParts,
}

/// Parts of a write that have failed. Each is said once, until it succeeds.
#[derive(Default)]
struct FailingParts {
    /// In the last write.
    told: BTreeSet<String>,
    /// In this one.
    now: BTreeSet<String>,
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
pub async fn keep_history(node: &NodeContext, keeper: &Mutex<HistoryKeeper>) {
    loop {
        let every = node.config().history.write_every;
        let (now, every_ms) = (clock::now_ms(), length_ms(every));
        let pause = every_ms - now.rem_euclid(every_ms);
        tokio::time::sleep(Duration::from_millis(pause.unsigned_abs()) + BEHIND).await;
        let config = node.config();
        let mut keeper = keeper.lock().await;
        keeper
            .write(node, &config.history, clock::now_ms(), every_ms)
            .await;
    }
}

/// Writes what is left when the node stops. Waits for a write that is under way: both could add to the same minute.
pub async fn write_rest(node: &NodeContext, keeper: &Mutex<HistoryKeeper>) {
    let mut keeper = keeper.lock().await;
    let config = node.config();
    let now = clock::now_ms();
    keeper.collect(node, &config.history, now).await;
    if node.local_lease.is_valid() {
        keeper.write_minutes(node, now).await;
        keeper.failing.end(node);
    }
}

fn length_ms(every: Duration) -> i64 {
    i64::try_from(every.as_millis()).unwrap_or(MINUTE_MS).max(1)
}

// === impl FailingParts ===

impl FailingParts {
    /// What came of one part; `None` if it is to be tried again.
    async fn attempt<T>(
        &mut self,
        what: impl Into<String>,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<T> {
        let silent = |_| StoreError::Failed("no answer in time".to_owned());
        let done = tokio::time::timeout(EACH_WITHIN, work).await;
        match done.map_err(silent).flatten() {
            Ok(done) => Some(done),
            Err(error) => {
                self.note(what.into(), &error);
                None
            }
        }
    }

    /// One part has failed.
    fn note(&mut self, what: String, error: &StoreError) {
        if !self.told.contains(&what) {
            tracing::warn!(%what, %error, "the history of messages cannot be written now");
        }
        self.now.insert(what);
    }

    /// The write is over.
    fn end(&mut self, node: &NodeContext) {
        if !self.now.is_empty() {
            node.metrics.history_failures.inc();
        }
        self.told = std::mem::take(&mut self.now);
    }
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
        // The middle of that time: the end may be in the next minute already.
        self.collect(node, settings, now - every_ms / 2).await;
        if !node.local_lease.is_valid() {
            // Another process may have the number of this node.
            return;
        }
        let done = async {
            self.write_minutes(node, now).await;
            let current = begin_of(HOUR_MS, now);
            // Not the latest one: that may be of a clock that was wrong.
            let is_due = self.tended != Some(current) && self.find_left(node, now).await;
            self.sum_hours(node, now).await;
            if is_due && self.forget_old(node, settings, now).await {
                self.tended = Some(current);
            }
        };
        if tokio::time::timeout(ANSWER_WITHIN, done).await.is_err() {
            let slow = StoreError::Failed("no answer in time".to_owned());
            self.failing.note("all of it".to_owned(), &slow);
        }
        self.failing.end(node);
    }

    /// Takes what was counted, for the minute of this moment.
    async fn collect(&mut self, node: &NodeContext, settings: &HistoryConfig, at: i64) {
        let untold = node.outcomes.take_traffic();
        if !settings.enabled {
            self.unwritten.clear();
            return;
        }
        let plan = node.full_plan();
        // Thousands of pairs: not on the thread of queues.
        let counts = tokio::task::spawn_blocking(move || {
            let is_operator = |number| QueueName::parse(plan.name_of(number)).is_connected();
            let is_account = |number| QueueName::parse(plan.name_of(number)).account().is_some();
            untold.into_block(is_operator, is_account)
        });
        match counts.await {
            Ok(counts) => self.note(node, begin_of(MINUTE_MS, at), counts),
            Err(error) => {
                node.metrics.history_lost.inc();
                tracing::error!(%error, "the history of messages lacks what was counted");
            }
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

    async fn write_minutes(&mut self, node: &NodeContext, now: i64) {
        let own = node.ids.node();
        // What was counted later in such a minute is added to the row that the earlier counts have made.
        let mut behind = BTreeSet::new();
        let mut next = 0;
        while let Some(minute) = self.unwritten.get_mut(next) {
            let at = minute.at;
            if at + TOO_OLD_MS <= now {
                self.unwritten.remove(next);
                node.metrics.history_lost.inc();
                continue;
            }
            let is_written = !behind.contains(&at) && {
                let written = write_minute(node, minute);
                let written = self.failing.attempt(format!("the minute {at}"), written);
                written.await.is_some()
            };
            if is_written {
                self.unwritten.remove(next);
                self.unsummed.insert((begin_of(HOUR_MS, at), own));
            } else {
                behind.insert(at);
                next += 1;
            }
        }
    }

    /// Sums the hours that are over, also one that was summed before the clock was set back.
    async fn sum_hours(&mut self, node: &NodeContext, now: i64) {
        let mut over = self.unsummed.clone();
        over.retain(|(at, _)| at + HOUR_MS <= now);
        for (at, of) in over {
            let summed = sum_hour(node, at, of, now);
            let what = format!("the hour {at} of node {of}");
            if self.failing.attempt(what, summed).await.is_some() {
                self.unsummed.remove(&(at, of));
            }
        }
    }

    /// Finds hours that were left without a sum. False if it has to be tried again.
    async fn find_left(&mut self, node: &NodeContext, now: i64) -> bool {
        let hours = node.store.hours_without_row(begin_of(HOUR_MS, now));
        let hours = self.failing.attempt("hours without a sum", hours).await;
        let is_janitor = node.local_lease.is_janitor();
        let is_found = hours.is_some();
        let left = hours.unwrap_or_default().into_iter().filter(|(at, of)| {
            let is_left = is_janitor && at + HOUR_MS + LEFT_AFTER_MS <= now;
            *of == node.ids.node() || is_left
        });
        self.unsummed.extend(left);
        is_found
    }

    /// Forgets what is old, and measures the rest. False if it has to be tried again.
    async fn forget_old(&mut self, node: &NodeContext, settings: &HistoryConfig, now: i64) -> bool {
        let work = async {
            if node.local_lease.is_janitor() {
                let retention = length_ms(settings.retention);
                let forget = node
                    .store
                    .forget_traffic(now - MINUTES_KEPT_MS, now - retention);
                forget.await?;
            }
            let size = node.store.traffic_size().await?;
            node.metrics.history_rows.set(size.rows);
            node.metrics.history_octets.set(size.octets);
            Ok::<_, StoreError>(())
        };
        self.failing.attempt("old rows", work).await.is_some()
    }
}

/// Adds what was counted in a minute to its row.
async fn write_minute(node: &NodeContext, minute: &mut UnwrittenMinute) -> Result<(), StoreError> {
    let (own, at) = (node.ids.node(), minute.at);
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
    node.store.keep_traffic(row).await
}

/// Makes a row of the hour of the minutes that a node has in it.
async fn sum_hour(node: &NodeContext, at: i64, of: u8, now: i64) -> Result<(), StoreError> {
    let minutes = node.store.traffic(MINUTE_MS, at..at + HOUR_MS, Some(of));
    let minutes = minutes.await?;
    let is_anyhow = at + HOUR_MS + SUMMED_ANYHOW_MS <= now;
    // Thousands of series times sixty: not on the thread of queues.
    let summed = tokio::task::spawn_blocking(move || sum_of(&minutes, is_anyhow)).await;
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

/// The stored form of all of these together; `None` if there is nothing, or, unless it is summed anyhow, something that this
/// release cannot read.
fn sum_of(minutes: &[TrafficRow], is_anyhow: bool) -> Option<Vec<u8>> {
    let mut hour = TrafficBlock::default();
    let mut unread = 0;
    for minute in minutes {
        match TrafficBlock::decode(&minute.counts) {
            Some(block) => hour.add(&block),
            None if is_anyhow => unread += 1,
            None => return None,
        }
    }
    if unread > 0 {
        tracing::warn!(
            minutes = unread,
            "an hour of the history lacks minutes that cannot be read: they are damaged, or of a newer release"
        );
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
    /// That hour.
    const HOUR: i64 = LAST + MINUTE_MS - HOUR_MS;

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
        assert_eq!(accepted(&test, HOUR_MS, HOUR).await, Some(5));
        assert!(node.metrics.history_rows.get() >= 2);

        let later = LAST + 30 * HOUR_MS;
        next_process.write(node, &settings, later, 10_000).await;
        assert_eq!(accepted(&test, MINUTE_MS, LAST).await, None);
        assert_eq!(accepted(&test, HOUR_MS, HOUR).await, Some(5));
        let much_later = LAST + 91 * 24 * HOUR_MS;
        next_process
            .write(node, &settings, much_later, 10_000)
            .await;
        assert_eq!(accepted(&test, HOUR_MS, HOUR).await, None);
    }

    #[actix::test]
    async fn what_a_process_or_a_node_has_left_becomes_hours() {
        let test = test_support::node(1, None).await;
        let (node, settings) = (&test.context, HistoryConfig::default());
        let own = node.ids.node();
        count(&test, 4);
        let counts = node.outcomes.take_traffic();
        let counts = counts.into_block(|_| true, |_| true).encode();
        for of in [own, own + 1] {
            let row = TrafficRow {
                step: MINUTE_MS,
                at: LAST,
                node: of,
                counts: counts.clone(),
            };
            node.store.keep_traffic(row).await.unwrap();
        }
        let of_nodes = async || {
            let rows = node.store.traffic(HOUR_MS, HOUR..HOUR + 1, None);
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
    async fn a_minute_that_cannot_be_read_costs_no_hour() {
        let test = test_support::node(1, None).await;
        let (node, settings) = (&test.context, HistoryConfig::default());
        let of_newer_release = TrafficRow {
            step: MINUTE_MS,
            at: HOUR,
            node: node.ids.node(),
            counts: vec![200, 1],
        };
        node.store.keep_traffic(of_newer_release).await.unwrap();
        let mut keeper = HistoryKeeper::default();
        count(&test, 2);
        keeper.write(node, &settings, LAST + MINUTE_MS, 1_000).await;
        assert_eq!(accepted(&test, HOUR_MS, HOUR).await, None, "it may be read");
        for hours in 1..=25 {
            let later = LAST + MINUTE_MS + hours * HOUR_MS;
            keeper.write(node, &settings, later, 1_000).await;
        }
        assert_eq!(accepted(&test, MINUTE_MS, HOUR).await, None);
        assert_eq!(accepted(&test, HOUR_MS, HOUR).await, Some(2));
    }

    #[actix::test]
    async fn a_minute_and_an_hour_that_fail_hold_up_no_other() {
        let test = test_support::node(1, None).await;
        let (node, settings) = (&test.context, HistoryConfig::default());
        let own = node.ids.node();
        for at in [HOUR, LAST] {
            let row = TrafficRow {
                step: MINUTE_MS,
                at,
                node: own,
                counts: Vec::new(),
            };
            node.store.keep_traffic(row).await.unwrap();
        }
        let file = node.config().data_dir.join("smsc.db");
        let damage = "UPDATE traffic SET counts = 'no octets'";
        rusqlite::Connection::open(file)
            .and_then(|store| store.execute(damage, []))
            .unwrap();
        let mut keeper = HistoryKeeper::default();
        count(&test, 2);
        keeper.collect(node, &settings, LAST).await;
        let next = LAST + MINUTE_MS;
        count(&test, 3);
        keeper.collect(node, &settings, next).await;
        keeper.write(node, &settings, next + MINUTE_MS, 0).await;
        assert_eq!(accepted(&test, MINUTE_MS, next).await, Some(3));
        assert_eq!(keeper.unwritten.len(), 1, "it is tried again");
        keeper.write(node, &settings, next + HOUR_MS, 0).await;
        assert_eq!(accepted(&test, HOUR_MS, next).await, Some(3));
        assert_eq!(accepted(&test, HOUR_MS, HOUR).await, None);
        assert_eq!(node.metrics.history_failures.get(), 2);
        keeper.write(node, &settings, next + 30 * HOUR_MS, 0).await;
        let minutes = node.store.traffic(MINUTE_MS, HOUR..next + HOUR_MS, None);
        assert_eq!(minutes.await.unwrap(), [], "old rows are forgotten");
        keeper.write(node, &settings, next + 31 * HOUR_MS, 0).await;
        assert!(keeper.unsummed.is_empty());
    }

    #[actix::test]
    async fn a_clock_that_was_wrong_stops_nothing() {
        let test = test_support::node(1, None).await;
        let (node, settings) = (&test.context, HistoryConfig::default());
        let mut keeper = HistoryKeeper::default();
        count(&test, 2);
        keeper.write(node, &settings, LAST + MINUTE_MS, 1_000).await;
        assert_eq!(accepted(&test, HOUR_MS, HOUR).await, Some(2));
        // Back for half an hour: that half hour comes again.
        count(&test, 3);
        keeper
            .write(node, &settings, LAST - 30 * MINUTE_MS, 0)
            .await;
        keeper.write(node, &settings, LAST + MINUTE_MS, 1_000).await;
        assert_eq!(accepted(&test, HOUR_MS, HOUR).await, Some(5));
        // A year ahead and back: old rows are looked for again.
        let year = 365 * 24 * HOUR_MS;
        keeper.write(node, &settings, LAST + year, 1_000).await;
        keeper.write(node, &settings, LAST, 1_000).await;
        assert_eq!(keeper.tended, Some(HOUR));
    }

    #[actix::test]
    async fn a_minute_of_long_ago_does_not_replace_its_hour() {
        let test = test_support::node(1, None).await;
        let (node, settings) = (&test.context, HistoryConfig::default());
        let mut keeper = HistoryKeeper::default();
        count(&test, 2);
        keeper.write(node, &settings, LAST + MINUTE_MS, 1_000).await;
        count(&test, 3);
        keeper.collect(node, &settings, LAST).await;
        let much_later = LAST + 30 * HOUR_MS;
        keeper.write(node, &settings, much_later, 1_000).await;
        assert_eq!(accepted(&test, HOUR_MS, HOUR).await, Some(2));
        assert_eq!(node.metrics.history_lost.get(), 1, "it is said");
    }

    #[actix::test]
    async fn what_waits_is_written_when_the_node_stops() {
        let test = test_support::node(1, None).await;
        let (node, settings) = (&test.context, HistoryConfig::default());
        let keeper = Mutex::new(HistoryKeeper::default());
        let now = clock::now_ms();
        count(&test, 2);
        let earlier = now - 2 * MINUTE_MS;
        keeper.lock().await.collect(node, &settings, earlier).await;
        count(&test, 3);
        write_rest(node, &keeper).await;
        let written = accepted(&test, MINUTE_MS, begin_of(MINUTE_MS, earlier));
        assert_eq!(written.await, Some(2), "of a write that had failed");
        let rows = node
            .store
            .traffic(MINUTE_MS, now - MINUTE_MS..now + HOUR_MS, None);
        assert_eq!(rows.await.unwrap().len(), 1);
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
