//! The task that looks for incidents: operators and accounts that are not well.
//!
//! It runs on each node, compares what this node has counted with the rules, and keeps what it finds in the store, where all
//! nodes read the incidents of all. An incident that began is logged, and so is its end.

mod usual;

use std::collections::HashMap;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::api::time;
use crate::clock;
use crate::config::IncidentConfig;
use crate::domain::incident::{
    IncidentBook, IncidentKey, IncidentRules, IncidentStage, IncidentSubject, OpenIncident,
    sentence,
};
use crate::domain::outcomes::{NOW, PairOutcomes};
use crate::domain::period::DAY_MS;
use crate::domain::queue_name::QueueName;
use crate::store::StoreError;
use crate::store::incidents::{IncidentRow, MOST};

/// After so many windows and looks without a word of its node an incident has ended.
const SILENT: u32 = 4;

/// What is known from one look to the next. It outlives a panic of the task.
#[derive(Default)]
pub struct IncidentWatch {
    book: IncidentBook,
    /// When the last look was: Unix milliseconds, and by a clock that nobody sets.
    looked: Option<(i64, Instant)>,
    /// The rows of open incidents.
    rows: HashMap<IncidentKey, IncidentRow>,
    /// What was usual on the days before is known.
    has_learned: bool,
    /// What an earlier process of this node has left open has ended.
    has_begun: bool,
    /// Rows of incidents that have ended, until they are written: no later look writes them.
    ended: Vec<IncidentRow>,
}

/// Looks, and again after a pause, without an end.
pub async fn look_for_incidents(node: &NodeContext, watch: &mut IncidentWatch) {
    loop {
        let config = node.config();
        watch.look(node, &config.incidents).await;
        tokio::time::sleep(config.incidents.look_every).await;
    }
}

/// Reads the incidents of all nodes, for readiness, the console and metrics.
pub(super) async fn publish(node: &NodeContext) -> Result<(), StoreError> {
    let rows = node.store.incidents().await?;
    node.outcomes.incidents.set(rows);
    Ok(())
}

/// How long an incident goes on whose node says nothing of it any more, because it died. Milliseconds.
pub(super) fn silent_ms(settings: &IncidentConfig) -> i64 {
    let silent = (settings.window + settings.look_every) * SILENT;
    silent.as_millis() as i64
}

// === impl IncidentWatch ===

impl IncidentWatch {
    async fn look(&mut self, node: &NodeContext, settings: &IncidentConfig) {
        let bucket_ms = (settings.window.as_millis() as i64 / NOW).max(1);
        let is_counted = settings.enabled || node.config().history.enabled;
        node.outcomes.configure(is_counted, bucket_ms);
        let now = clock::now_ms();
        self.follow_clock(now, Instant::now(), bucket_ms);
        let pairs = if settings.enabled {
            with_names(node, node.outcomes.look(now))
        } else {
            Vec::new()
        };
        self.learn(node, now).await;
        let nodes = 1 + node.other_nodes().len() as u32;
        let rules = rules(settings, nodes);
        let changed = self.book.look(&pairs, &rules, now, bucket_ms);
        let changed: Vec<IncidentRow> = changed
            .into_iter()
            .filter_map(|(key, stage, incident)| self.row(node, key, stage, &incident, now))
            .collect();
        if let Err(error) = self.keep(node, settings, changed).await {
            tracing::warn!(%error, "incidents are not kept");
        }
    }

    /// Moves what is known with a clock that was set since the last look, by more than a bucket: no incident ends for that, and
    /// begins anew.
    fn follow_clock(&mut self, now: i64, at: Instant, bucket_ms: i64) {
        let before = self.looked.replace((now, at));
        let Some((then, looked)) = before else {
            return;
        };
        let passed = at.saturating_duration_since(looked).as_millis() as i64;
        let set_by = now - then - passed;
        if set_by.abs() <= bucket_ms {
            return;
        }
        self.book.clock_was_set(set_by);
        for row in self.rows.values_mut() {
            row.began_at = row.began_at.saturating_add(set_by);
        }
    }

    async fn learn(&mut self, node: &NodeContext, now: i64) {
        if self.has_learned {
            return;
        }
        match usual::by_usage(node, now).await {
            Ok(usual) => {
                self.book.learn(usual);
                self.has_learned = true;
            }
            Err(error) => tracing::warn!(%error, "it is not known what was usual before"),
        }
    }

    async fn keep(
        &mut self,
        node: &NodeContext,
        settings: &IncidentConfig,
        changed: Vec<IncidentRow>,
    ) -> Result<(), StoreError> {
        let rows = self.take_unwritten(changed);
        if !node.local_lease.is_valid() {
            // Another process may have the number of this node.
            return Ok(());
        }
        if !self.has_begun {
            let own = node.ids.node();
            let all = node.store.incidents().await?;
            if all.iter().any(|row| row.node == own && row.ended_at == 0) {
                node.store.end_incidents_of(own).await?;
            }
            self.has_begun = true;
        }
        if !rows.is_empty() {
            node.store.keep_incidents(rows, silent_ms(settings)).await?;
        }
        self.ended.clear();
        publish(node).await
    }

    /// What has changed, and what has ended before while the store did not answer.
    fn take_unwritten(&mut self, changed: Vec<IncidentRow>) -> Vec<IncidentRow> {
        let (ended, open): (Vec<_>, Vec<_>) =
            changed.into_iter().partition(|row| row.ended_at != 0);
        self.ended.extend(ended);
        let too_many = self.ended.len().saturating_sub(MOST);
        self.ended.drain(..too_many);
        self.ended.iter().cloned().chain(open).collect()
    }

    /// The row of what has changed; `None` for the end of what has none.
    fn row(
        &mut self,
        node: &NodeContext,
        key: IncidentKey,
        stage: IncidentStage,
        incident: &OpenIncident,
        now: i64,
    ) -> Option<IncidentRow> {
        let (IncidentSubject::Operator(number) | IncidentSubject::Account(number), kind) = key;
        let is_over = stage == IncidentStage::Ended;
        let known = self.rows.remove(&key);
        if is_over && known.is_none() {
            return None;
        }
        let is_new = known.is_none();
        let mut row = known.unwrap_or_else(|| IncidentRow {
            id: node.ids.next_anyway(now),
            node: node.ids.node(),
            about: node.name_of(number),
            kind: kind.name().to_owned(),
            began_at: incident.began_at,
            ..IncidentRow::default()
        });
        row.text = sentence(&row.about, kind, incident, &since(row.began_at, now));
        row.cause.clone_from(&incident.cause);
        row.seen_at = incident.seen_at;
        if is_new {
            tracing::warn!(about = %row.about, kind = %row.kind, "{}", row.text);
        }
        if is_over {
            row.ended_at = incident.seen_at;
            tracing::info!(about = %row.about, kind = %row.kind, "this has ended: {}", row.text);
        } else {
            self.rows.insert(key, row.clone());
        }
        Some(row)
    }
}

/// Each of the nodes sees its part of the messages.
fn rules(settings: &IncidentConfig, nodes: u32) -> IncidentRules {
    IncidentRules {
        minimum: settings.min_messages.div_ceil(nodes),
        nodes,
        refused_share: settings.refused_share,
        failed_share: settings.failed_share,
        slow_ms: settings.slow_answer.as_secs_f64() * 1_000.0,
    }
}

/// Those about operators and GSM networks. What is of no account, such as MO messages that go on, has the account 0.
fn with_names(node: &NodeContext, pairs: Vec<PairOutcomes>) -> Vec<PairOutcomes> {
    let plan = node.plan();
    let name = |number| QueueName::parse(plan.name_of(number));
    let pairs = pairs.into_iter();
    pairs
        .filter(|pair| name(pair.operator).is_connected())
        .map(|pair| {
            let is_account = name(pair.account).account().is_some();
            PairOutcomes {
                account: if is_account { pair.account } else { 0 },
                ..pair
            }
        })
        .collect()
}

/// A time for people: `15:21 UTC`, with its day if that is long ago. Unix milliseconds.
fn since(at: i64, now: i64) -> String {
    let text = time(at).unwrap_or_default();
    let (day, minute) = (text.get(..10), text.get(11..16));
    match (day, minute) {
        (Some(day), Some(minute)) if now - at >= DAY_MS => format!("{day} {minute} UTC"),
        (_, Some(minute)) => format!("{minute} UTC"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::actors::cluster::tests::Shelf;
    use crate::actors::test_support::{self, TestNode};
    use crate::domain::command_status;
    use crate::domain::incident::IncidentKind;

    const WRONG_SOURCE: u32 = 0x0A;

    #[test]
    fn a_time_is_short_while_it_is_of_today() {
        let at = 1_764_602_460_000;
        assert_eq!(since(at, at + 60_000), "15:21 UTC");
        assert_eq!(since(at, at + DAY_MS), "2025-12-01 15:21 UTC");
    }

    #[test]
    fn nodes_share_the_least_number_of_messages() {
        let settings = IncidentConfig::default();
        let least = |nodes| rules(&settings, nodes).minimum;
        assert_eq!((least(1), least(3), least(1_000)), (50, 17, 1));
    }

    #[test]
    fn an_end_that_was_not_written_is_written_later() {
        let row = |id, ended_at| IncidentRow {
            id,
            ended_at,
            ..IncidentRow::default()
        };
        let mut watch = IncidentWatch::default();
        assert_eq!(watch.take_unwritten(vec![row(2, 0), row(1, 9)]).len(), 2);
        let again = watch.take_unwritten(vec![row(2, 0)]);
        assert_eq!(again, [row(1, 9), row(2, 0)]);
        for id in 3..3 * MOST as u64 {
            watch.take_unwritten(vec![row(id, 9)]);
        }
        assert_eq!(watch.ended.len(), MOST);
    }

    #[test]
    fn incidents_move_with_a_clock_that_is_set_and_not_with_time_that_passes() {
        const HOUR: i64 = 3_600_000;
        let key = (IncidentSubject::Operator(1), IncidentKind::ALL[0]);
        let mut watch = IncidentWatch::default();
        let row = IncidentRow {
            began_at: 5 * HOUR,
            ..IncidentRow::default()
        };
        watch.rows.insert(key, row);
        let first = Instant::now();
        for (now, passed, began_at) in [
            (5 * HOUR, 0, 5 * HOUR),
            (5 * HOUR + 10_000, 10, 5 * HOUR),
            (6 * HOUR + 20_000, 20, 6 * HOUR),
            (5 * HOUR + 30_000, 30, 5 * HOUR),
            // The store was away.
            (6 * HOUR + 30_000, 3_630, 5 * HOUR),
        ] {
            let at = first + Duration::from_secs(passed);
            watch.follow_clock(now, at, 60_000);
            assert_eq!(watch.rows[&key].began_at, began_at, "{now}");
        }
    }

    fn refuse_all(test: &TestNode) {
        test.context.outcomes.count(|log| {
            for _ in 0..100 {
                let mut counts = log.at(test.operator, 0, clock::now_ms());
                counts.note_refused(WRONG_SOURCE, 10);
            }
        });
    }

    #[actix::test]
    async fn a_node_without_its_lease_writes_nothing_and_then_what_goes_on() {
        let shelf: Arc<Shelf> = Arc::default();
        let test = test_support::node(1, Some(shelf)).await;
        let node = &test.context;
        let settings = IncidentConfig::default();
        refuse_all(&test);
        let mut watch = IncidentWatch::default();
        let kept = async || node.store.incidents().await.unwrap().len();
        watch.look(node, &settings).await;
        assert_eq!(kept().await, 0, "another process may have its number");
        let later = Instant::now() + Duration::from_secs(3_600);
        node.local_lease.renew(later);
        watch.look(node, &settings).await;
        assert_eq!(kept().await, 1);
    }

    #[actix::test]
    async fn what_is_found_is_kept_and_published_and_ends_when_nobody_looks() {
        let test = test_support::node(1, None).await;
        let node = &test.context;
        let settings = IncidentConfig::default();
        refuse_all(&test);
        let mut watch = IncidentWatch::default();
        watch.look(node, &settings).await;
        let found = node.outcomes.incidents.get();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].about, "operator:up");
        assert_eq!(found[0].cause, command_status::display(WRONG_SOURCE));
        assert_eq!(found[0].ended_at, 0);

        let mut next_process = IncidentWatch::default();
        let off = IncidentConfig {
            enabled: false,
            ..settings
        };
        next_process.look(node, &off).await;
        assert_ne!(node.outcomes.incidents.get()[0].ended_at, 0);
    }
}
