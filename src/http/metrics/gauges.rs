//! Gauges that are read from snapshots at each scrape: nothing is updated between scrapes, and a
//! closed bind or a removed queue leaves no stale series.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use crate::actors::control::admin::NodeSnapshot;
use crate::api::bind_state;
use crate::domain::queue_name::QueueName;
use crate::pb::{
    BindDirection, BindSnapshot, BindState, Buckets, GatewaySnapshot, GatewayState, QueueSnapshot,
    ThrottleSnapshot,
};

/// Kinds of the exposition format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricKind {
    Gauge,
    Counter,
    Histogram,
}

/// One family: its name and help, and how its samples are read.
pub(super) struct Family {
    pub name: &'static str,
    pub kind: MetricKind,
    pub labels: &'static str,
    pub help: &'static str,
    read: fn(&NodeSnapshot, i64, &mut Samples<'_>),
}

/// Writes the samples of one family.
struct Samples<'a> {
    page: &'a mut String,
    name: &'static str,
    suffix: &'static str,
}

/// Declares the families in the order they are written and documented.
macro_rules! families {
    ($($kind:ident $name:literal [$labels:literal] $help:literal, $read:expr;)*) => {
        /// Every family read at scrape time.
        pub(super) const FAMILIES: &[Family] = &[$(Family {
            name: $name,
            kind: MetricKind::$kind,
            labels: $labels,
            help: $help,
            read: $read,
        },)*];
    };
}

families! {
    Gauge "smsc_queue_waiting" ["queue"] "Messages ready to be sent.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.waiting));
    Gauge "smsc_queue_scheduled" ["queue"] "Messages that wait for their time.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.scheduled));
    Gauge "smsc_queue_in_flight" ["queue"] "Messages given to sessions and not answered yet.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.in_flight));
    Gauge "smsc_queue_unwritten" ["queue"] "Answered attempts that are not yet durable; a crash repeats them.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.unwritten));
    Gauge "smsc_queue_senders" ["queue"] "Accounts and operators whose waiting messages take turns, in the priority with most.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.senders));
    Gauge "smsc_queue_oldest_seconds" ["queue"] "Age of the oldest waiting message; 0 without any.",
        |node, now, to| node.queues.iter().for_each(|queue| {
            let age_ms = if queue.oldest_at == 0 { 0 } else { (now - queue.oldest_at).max(0) };
            to.of("queue", &queue.name, age_ms as f64 / 1000.0);
        });
    Gauge "smsc_queue_sessions" ["queue"] "Sessions that take from the queue.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.sessions));
    Gauge "smsc_queue_suspended" ["queue"] "1 while an administrator has suspended the queue.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, u8::from(queue.suspended)));
    Counter "smsc_queue_delivered" ["queue"] "Messages that the destination accepted.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.delivered_total));
    Counter "smsc_queue_failed" ["queue"] "Messages that the destination refused permanently.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.failed_total));
    Counter "smsc_queue_retried" ["queue"] "Attempts that failed temporarily and will be retried.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.retried_total));
    Counter "smsc_queue_expired" ["queue"] "Messages and receipts that expired in the queue.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.expired_total));
    Gauge "smsc_queue_suspects" ["queue"] "Messages and receipts tried alone because they may end sessions, on this node.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.suspects));
    Counter "smsc_queue_ended_sessions" ["queue"] "Messages and receipts given up because they ended sessions (`suspect_attempts`), on this node.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.ended_sessions_total));
    Counter "smsc_queue_enqueued" ["queue"] "Messages and receipts enqueued on this node.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.enqueued_total));
    Counter "smsc_queue_granted" ["queue"] "Attempts given to sessions, receipts included.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.granted_total));
    Gauge "smsc_queue_spilled" ["queue"] "Waiting ids in the index file instead of RAM.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.spilled));
    Gauge "smsc_queue_room" ["queue"] "Messages that the sessions would take now.",
        |node, _, to| node.queues.iter().for_each(|queue| to.of("queue", &queue.name, queue.room));
    Gauge "smsc_receipts_waiting" ["queue"] "Receipts and MO messages waiting for an account or unanswered.",
        |node, _, to| node.queues.iter().filter(|queue| QueueName::parse(&queue.name).is_of_account()).for_each(|queue| {
            to.of("queue", &queue.name, queue.waiting + queue.scheduled + queue.in_flight);
        });
    Gauge "smsc_operator_available" ["queue"] "1 while new messages are routed to this operator or GSM network (bound for `failback_after`, no breaker open).",
        |node, _, to| operators(node).for_each(|queue| to.of("queue", &queue.name, u8::from(queue.available)));
    Gauge "smsc_operator_rate" ["queue"] "Current limit of messages per second; 0 without a limit.",
        |node, _, to| operators(node).for_each(|queue| to.of("queue", &queue.name, queue.rate));
    Gauge "smsc_operator_slowed" ["queue"] "1 while the rate is reduced because the operator throttles.",
        |node, _, to| operators(node).for_each(|queue| to.of("queue", &queue.name, u8::from(queue.slowed)));
    Gauge "smsc_operator_breaker_open" ["queue"] "1 while the breaker is open or half open, on this node.",
        |node, _, to| operators(node).for_each(|queue| {
            let is_open = matches!(queue.breaker.as_str(), "open" | "half open");
            to.of("queue", &queue.name, u8::from(is_open));
        });
    Counter "smsc_operator_breaker_opened" ["queue"] "Openings of the breaker, on this node.",
        |node, _, to| operators(node).for_each(|queue| to.of("queue", &queue.name, queue.breaker_opened_total));
    Gauge "smsc_operator_incident" ["queue, kind"] "1 while this node sees an incident (`smsc incident list`): refused, failed_receipts, missing_receipts, slow_answers; absent otherwise.",
        incidents;
    Gauge "smsc_binds" ["name, direction, state"] "Binds of accounts (in) and operators (out), connections to GSM networks (gsm), callbacks (callback), connections of operators' gateways (gateway), local programs (local).",
        binds;
    Gauge "smsc_gsm_name_taken" ["gsm"] "1 while another program seems to use this node's name at the HLR; no messages are sent then.",
        names_taken;
    Gauge "smsc_gsm_gateway_active" ["gsm, gateway"] "1 while a MAP signalling gateway is active for traffic, on this node, else 0; absent while it stands by.",
        gateways_active;
    Gauge "smsc_bind_in_flight" ["name, direction"] "Our unanswered requests on all binds.",
        |node, _, to| bind_sum(node, to, |bind| u64::from(bind.in_flight));
    Gauge "smsc_bind_window" ["name, direction"] "Most unanswered requests of ours on all binds.",
        |node, _, to| bind_sum(node, to, |bind| match bind.state() {
            BindState::Bound => u64::from(bind.window),
            _ => 0,
        });
    Gauge "smsc_callback_oldest_seconds" ["account"] "Age of the oldest callback taken from the queue; 0 without any. Those in the queue: `smsc_queue_oldest_seconds`.",
        oldest_callbacks;
    Gauge "smsc_correlations_in_memory" [""] "Operators' message ids in RAM that wait for a receipt.",
        |node, _, to| to.one(node.correlation.in_memory);
    Gauge "smsc_correlations_spilled" [""] "Operators' message ids in the index file.",
        |node, _, to| to.one(node.correlation.spilled);
    Gauge "smsc_receipts_parked" [""] "Operators' receipts without a message; in a cluster, all on the janitor's node, those of the last minute on others.",
        |node, _, to| to.one(node.correlation.parked);
    Gauge "smsc_throttle_limits" [""] "Accounts and operators whose rate is being limited.",
        |node, _, to| to.one(node.throttle.buckets);
    Counter "smsc_throttle_granted" [""] "Tokens granted to limited accounts and operators.",
        |node, _, to| to.one(node.throttle.granted_total);
    Counter "smsc_throttle_refused" [""] "Tokens refused to limited accounts and operators.",
        |node, _, to| to.one(node.throttle.refused_total);
    Gauge "smsc_throttle_redis_up" [""] "1 while Redis shares limits, 0 while it does not answer; absent without Redis.",
        |node, _, to| if let Some(throttle) = shared(node) { to.one(u8::from(throttle.redis_up)) };
    Counter "smsc_throttle_redis_granted" [""] "Tokens granted by Redis, part of smsc_throttle_granted_total.",
        |node, _, to| if let Some(throttle) = shared(node) { to.one(throttle.shared_granted_total) };
    Counter "smsc_throttle_redis_fallback" [""] "Decisions of this node alone because Redis did not answer.",
        |node, _, to| if let Some(throttle) = shared(node) { to.one(throttle.fallbacks_total) };
    Counter "smsc_store_commits" [""] "Commits of the store.",
        |node, _, to| to.one(node.store.commits_total);
    Counter "smsc_store_rows" [""] "Rows written by those commits.",
        |node, _, to| to.one(node.store.rows_total);
    Counter "smsc_store_commit_seconds" [""] "Time spent in those commits.",
        |node, _, to| to.one(node.store.commit_seconds_total);
    Histogram "smsc_store_commit_latency_seconds" [""] "Duration of a commit.",
        |node, _, to| if let Some(buckets) = &node.store.commit_latency { to.buckets(buckets) };
    Histogram "smsc_store_commit_rows" [""] "Rows of a commit.",
        |node, _, to| if let Some(buckets) = &node.store.commit_rows { to.buckets(buckets) };
    Gauge "smsc_store_waiting" [""] "Rows that wait for the writer.",
        |node, _, to| to.one(node.store.waiting);
    Gauge "smsc_store_free_bytes" [""] "Free space of the data folder's disk.",
        |node, _, to| to.one(node.store.free_mib.saturating_mul(1024 * 1024));
    Gauge "smsc_store_below_floor" [""] "1 while new messages are refused because the disk is nearly full.",
        |node, _, to| to.one(u8::from(node.store.below_floor));
    Gauge "smsc_store_stalled" [""] "1 while nothing can be written (disk full, database unreachable) or sent.",
        |node, _, to| to.one(u8::from(node.store.stalled));
    Counter "smsc_message_correlations" ["result"] "Rows of smpp.message_correlations: expired, deleted, taken_over (id reused); attempts without a row: in_use (id still waits, or foreign row), too_long (id).",
        |node, _, to| if let Some(table) = &node.store.correlations {
            to.of("result", "taken_over", table.taken_over);
            to.of("result", "in_use", table.in_use);
            to.of("result", "too_long", table.too_long);
            to.of("result", "expired", table.expired);
            to.of("result", "deleted", table.deleted);
        };
    Gauge "smsc_ids_ahead_seconds" [""] "Lead of this node's ids over its clock; beyond 60, nothing is accepted.",
        |node, _, to| to.one(node.ids_ahead_ms as f64 / 1000.0);
    Gauge "smsc_store_index_lag" [""] "Messages not yet in the search index.",
        |node, _, to| to.one(node.store.index_lag);
    Gauge "smsc_store_dead_letters" [""] "Quarantined rows that could not be written.",
        |node, _, to| to.one(node.store.dead_letters);
    Counter "smsc_store_taken_back" [""] "Messages refused for a late database, written nevertheless, and taken back.",
        |node, _, to| to.one(node.store.taken_back_total);
    Counter "smsc_store_steps_back" [""] "Times that a writer found the database gone back in time.",
        |node, _, to| to.one(node.store.steps_back_total);
    Counter "smsc_store_rewritten_commits" [""] "Commits repeated after the database went back in time.",
        |node, _, to| to.one(node.store.rewritten_total);
    Counter "smsc_store_forgotten" [""] "Times that the database went back further than the kept writes.",
        |node, _, to| to.one(node.store.forgotten_total);
    Counter "smsc_actor_restarts" ["actor"] "Restarts of an actor after a failure.",
        |node, _, to| node.actors.iter().for_each(|actor| to.of("actor", &actor.name, actor.restarts));
    Counter "smsc_actor_panics" ["actor"] "Panics of an actor.",
        |node, _, to| node.actors.iter().for_each(|actor| to.of("actor", &actor.name, actor.panics));
    Gauge "smsc_certificate_expires_timestamp_seconds" ["certificate"] "Expiry of a certificate in Unix seconds: http, listener:NAME, operator:ID.",
        |node, _, to| node.certificates.iter().for_each(|one| to.of("certificate", &one.name, one.expires_at));
    Gauge "smsc_account_credits" ["account"] "Balance of a prepaid account, over all nodes, at most a second old.",
        |node, _, to| node.balances.iter().filter(|one| one.prepaid).for_each(|one| to.of("account", &one.account, one.credits));
    Gauge "smsc_account_quota" ["account"] "Segments per day of an account (account.quota_per_day).",
        |node, _, to| node.balances.iter().filter(|one| one.quota > 0).for_each(|one| to.of("account", &one.account, one.quota));
    Gauge "smsc_account_quota_used" ["account"] "Segments submitted today (UTC), over all nodes, at most a second old.",
        |node, _, to| node.balances.iter().filter(|one| one.quota > 0).for_each(|one| to.of("account", &one.account, one.quota_used));
    Gauge "smsc_live_traces" [""] "Live traces and watched binds, those of other nodes seen by this node included.",
        |node, _, to| to.one(node.live_traces);
    Gauge "smsc_draining" [""] "1 while the node finishes its windows to stop.",
        |node, _, to| to.one(u8::from(node.draining));
    Gauge "smsc_nats_source_connected" ["source"] "1 while this node has the source's consumer.",
        |node, _, to| node.nats_sources.iter().for_each(|one| to.of("source", &one.name, u8::from(one.connected)));
    Gauge "smsc_nats_source_in_flight" ["source"] "Commands under way on this node.",
        |node, _, to| node.nats_sources.iter().for_each(|one| to.of("source", &one.name, one.in_flight));
    Gauge "smsc_nats_source_done_up_to" ["source"] "Stream sequence up to which all commands are done; a recreated consumer begins behind it.",
        |node, _, to| node.nats_sources.iter().for_each(|one| to.of("source", &one.name, one.done_up_to));
    Gauge "smsc_nats_source_waiting" ["source"] "Commands not yet given to any node, when last counted.",
        |node, _, to| node.nats_sources.iter().for_each(|one| to.of("source", &one.name, one.waiting));
    Counter "smsc_nats_source_commands" ["source, result"] "Deliveries of commands: accepted (new), repeated (accepted before), delayed (redelivered later), dead (dead letters), terminated (dead letter not published).",
        |node, _, to| nats_commands(node, to);
}

/// Appends every family.
pub(super) fn write(page: &mut String, node: &NodeSnapshot, now: i64) {
    for family in FAMILIES {
        head(page, family.name, family.kind, family.help);
        let mut samples = Samples {
            page: &mut *page,
            name: family.name,
            suffix: family.kind.suffix(),
        };
        (family.read)(node, now, &mut samples);
    }
}

/// HELP and TYPE of a family.
pub(super) fn head(page: &mut String, name: &str, kind: MetricKind, help: &str) {
    let kind = kind.name();
    push(
        page,
        format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"),
    );
}

/// Appends to the page; writing to a `String` cannot fail.
pub(super) fn push(page: &mut String, text: fmt::Arguments<'_>) {
    let _ = page.write_fmt(text);
}

/// The limiter, if it shares limits.
fn shared(node: &NodeSnapshot) -> Option<&ThrottleSnapshot> {
    Some(&node.throttle).filter(|throttle| throttle.shared)
}

fn operators(node: &NodeSnapshot) -> impl Iterator<Item = &QueueSnapshot> {
    let queues = node.queues.iter();
    queues.filter(|queue| QueueName::parse(&queue.name).is_connected())
}

/// Those of accounts have no series: only few labels name accounts.
fn incidents(node: &NodeSnapshot, _: i64, to: &mut Samples<'_>) {
    let all = node.incidents.iter();
    let all = all.filter(|one| QueueName::parse(&one.about).is_connected());
    // Each once, even if an end could not be written.
    let all: BTreeSet<(&str, &str)> = all
        .map(|one| (one.about.as_str(), one.kind.as_str()))
        .collect();
    for (queue, kind) in all {
        to.labelled(&[("queue", queue), ("kind", kind)], 1);
    }
}

/// An account has a row for each of its ways.
fn oldest_callbacks(node: &NodeSnapshot, now: i64, to: &mut Samples<'_>) {
    let of_callbacks =
        |bind: &&BindSnapshot| bind.direction() == BindDirection::Callback && !bind.name.is_empty();
    let mut oldest: BTreeMap<&str, i64> = BTreeMap::new();
    for bind in node.binds.iter().filter(of_callbacks) {
        let age_ms = match bind.oldest_at {
            0 => 0,
            at => (now - at).max(0),
        };
        let of_account = oldest.entry(&bind.name).or_default();
        *of_account = age_ms.max(*of_account);
    }
    for (account, age_ms) in oldest {
        to.of("account", account, age_ms as f64 / 1000.0);
    }
}

fn binds(node: &NodeSnapshot, _: i64, to: &mut Samples<'_>) {
    let mut counts: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    for bind in &node.binds {
        let key = (
            bind.name.as_str(),
            bind.direction().word(),
            bind_state(bind.state()),
        );
        *counts.entry(key).or_default() += 1;
    }
    for ((name, direction, state), count) in counts {
        to.labelled(
            &[("name", name), ("direction", direction), ("state", state)],
            count,
        );
    }
}

fn nats_commands(node: &NodeSnapshot, to: &mut Samples<'_>) {
    for one in &node.nats_sources {
        for (result, count) in [
            ("accepted", one.accepted),
            ("repeated", one.repeated),
            ("delayed", one.delayed),
            ("dead", one.dead),
            ("terminated", one.terminated),
        ] {
            to.labelled(&[("source", &one.name), ("result", result)], count);
        }
    }
}

fn names_taken(node: &NodeSnapshot, _: i64, to: &mut Samples<'_>) {
    for bind in node
        .binds
        .iter()
        .filter(|bind| bind.direction() == BindDirection::Gsm)
    {
        to.of("gsm", &bind.name, u8::from(bind.name_taken));
    }
}

fn gateways_active(node: &NodeSnapshot, _: i64, to: &mut Samples<'_>) {
    // There may be several connections to one.
    let mut active: BTreeMap<(&str, &str), bool> = BTreeMap::new();
    for bind in &node.binds {
        let stand = |one: &&GatewaySnapshot| one.state() != GatewayState::Standby;
        for gateway in bind.gateways.iter().filter(stand) {
            let is_active = active.entry((&bind.name, &gateway.address)).or_default();
            *is_active |= gateway.state() == GatewayState::Active;
        }
    }
    for ((gsm, gateway), is_active) in active {
        to.labelled(&[("gsm", gsm), ("gateway", gateway)], u8::from(is_active));
    }
}

fn bind_sum(node: &NodeSnapshot, to: &mut Samples<'_>, of: impl Fn(&BindSnapshot) -> u64) {
    let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for bind in &node.binds {
        *sums
            .entry((&bind.name, bind.direction().word()))
            .or_default() += of(bind);
    }
    for ((name, direction), sum) in sums {
        to.labelled(&[("name", name), ("direction", direction)], sum);
    }
}

// === impl MetricKind ===

impl MetricKind {
    /// As written after TYPE.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Histogram => "histogram",
        }
    }

    /// What follows the family's name in its samples.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Gauge | Self::Histogram => "",
            Self::Counter => "_total",
        }
    }
}

// === impl Samples ===

impl Samples<'_> {
    fn one(&mut self, value: impl fmt::Display) {
        self.labelled(&[], value);
    }

    /// Cumulative buckets, sum and count.
    fn buckets(&mut self, buckets: &Buckets) {
        let name = self.name;
        let mut total = 0;
        let bounds = buckets.bounds.iter().map(ToString::to_string);
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(&buckets.counts) {
            total += count;
            push(
                self.page,
                format_args!("{name}_bucket{{le=\"{bound}\"}} {total}\n"),
            );
        }
        let sum = buckets.sum;
        push(
            self.page,
            format_args!("{name}_sum {sum}\n{name}_count {total}\n"),
        );
    }

    fn of(&mut self, label: &str, name: &str, value: impl fmt::Display) {
        self.labelled(&[(label, name)], value);
    }

    fn labelled(&mut self, labels: &[(&str, &str)], value: impl fmt::Display) {
        push(self.page, format_args!("{}{}", self.name, self.suffix));
        for (at, (label, text)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            push(
                self.page,
                format_args!("{before}{label}=\"{}\"", escape(text)),
            );
        }
        let end = if labels.is_empty() { "" } else { "}" };
        push(self.page, format_args!("{end} {value}\n"));
    }
}

/// A label value: backslash, quote and line feed are escaped.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Incident;
    use crate::pb::StoreSnapshot;

    fn incident(about: &str) -> Incident {
        Incident {
            about: about.to_owned(),
            kind: "refused".to_owned(),
            ..Incident::default()
        }
    }

    fn bind(name: &str, state: BindState) -> BindSnapshot {
        BindSnapshot {
            name: name.to_owned(),
            direction: BindDirection::Out.into(),
            state: state.into(),
            in_flight: 3,
            ..BindSnapshot::default()
        }
    }

    #[test]
    fn writes_each_series_once() {
        let node = NodeSnapshot {
            queues: vec![QueueSnapshot {
                name: "operator:\"up\"".to_owned(),
                waiting: 7,
                oldest_at: 500,
                delivered_total: 9,
                ..QueueSnapshot::default()
            }],
            binds: vec![
                bind("up", BindState::Bound),
                bind("up", BindState::Bound),
                bind("up", BindState::Waiting),
                BindSnapshot {
                    direction: BindDirection::Callback.into(),
                    oldest_at: 1_200,
                    ..bind("acme", BindState::Waiting)
                },
            ],
            incidents: ["operator:up", "operator:up", "account:acme"]
                .map(incident)
                .into(),
            store: StoreSnapshot {
                free_mib: 2,
                commit_rows: Some(Buckets {
                    bounds: vec![1.0, 2.5],
                    counts: vec![4, 0, 3],
                    sum: 19.5,
                }),
                ..StoreSnapshot::default()
            },
            ..NodeSnapshot::default()
        };
        let mut page = String::new();
        write(&mut page, &node, 2_000);
        for line in [
            "# TYPE smsc_queue_waiting gauge",
            "smsc_queue_waiting{queue=\"operator:\\\"up\\\"\"} 7",
            "smsc_queue_oldest_seconds{queue=\"operator:\\\"up\\\"\"} 1.5",
            "# TYPE smsc_queue_delivered counter",
            "smsc_queue_delivered_total{queue=\"operator:\\\"up\\\"\"} 9",
            "smsc_operator_incident{queue=\"operator:up\",kind=\"refused\"} 1",
            "smsc_binds{name=\"up\",direction=\"out\",state=\"bound\"} 2",
            "smsc_binds{name=\"up\",direction=\"out\",state=\"waiting\"} 1",
            "smsc_bind_in_flight{name=\"up\",direction=\"out\"} 9",
            "smsc_callback_oldest_seconds{account=\"acme\"} 0.8",
            "smsc_store_free_bytes 2097152",
            "smsc_draining 0",
            "smsc_store_commit_rows_bucket{le=\"2.5\"} 4",
            "smsc_store_commit_rows_bucket{le=\"+Inf\"} 7",
            "smsc_store_commit_rows_sum 19.5",
            "smsc_store_commit_rows_count 7",
        ] {
            assert!(
                page.lines().any(|found| found == line),
                "{line} is not in\n{page}"
            );
        }
        let mut series: Vec<&str> = page
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' ').map(|(series, _)| series))
            .collect();
        let all = series.len();
        series.sort_unstable();
        series.dedup();
        assert_eq!(series.len(), all);
        assert!(!page.contains("account:acme"), "few labels name accounts");
    }
}
