//! The metrics: one struct whose doc comments are the help texts. Handles are kept by the code that
//! counts; nothing is looked up by name on the data path.

mod gsm;
mod handles;
mod labels;
mod latency;

use std::ops::RangeInclusive;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use smsc_domain::policy::PolicyRefusal;
use smsc_domain::{command_status, state};
use smsc_proto::{MessageState, TrafficSnapshot};

pub use self::gsm::GsmMeter;
pub use self::handles::{
    AttemptCounts, AttemptMeter, Mailbox, MailboxMeter, OperatorMeter, StateMeters,
};
pub use self::labels::{
    ActorLabel, AnswerLabel, ApiLabel, AttemptLabel, CallbackLabel, CauseLabel, DirectionLabel,
    FirewallLabel, FormLabel, HomeRoutingLabel, LocalLabel, OperationLabel, OperatorLabel,
    PolicyLabel, QueueLabel, RangeLabel, ReaderLabel, ReasonLabel, ReceiptLabel, ReplyLabel,
    ResultLabel, RuleLabel, SinkLabel, StateLabel, StatusLabel, UnservedLabel,
};
pub use self::latency::LatencyHistogram;

/// Statuses that vendors may define (SMPP 3.4 §5.1.3).
const VENDOR_STATUSES: RangeInclusive<u32> = 0x400..=0x4FF;
/// Labels of statuses without a name of their own: those of vendors, and the rest.
const OTHER_STATUSES: [&str; 2] = ["vendor", "other"];

/// Seconds from microseconds, for what happens inside the process.
const INSIDE: [f64; 9] = [0.00001, 0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0];
/// Seconds of what a peer does.
const OUTSIDE: [f64; 10] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0];
/// Seconds of what may take days.
const LONG: [f64; 12] = [
    0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1_800.0, 3_600.0, 21_600.0, 86_400.0,
];

fn inside() -> Histogram {
    Histogram::new(INSIDE)
}

fn outside() -> Histogram {
    Histogram::new(OUTSIDE)
}

fn traced() -> LatencyHistogram {
    LatencyHistogram::new(OUTSIDE)
}

fn long() -> LatencyHistogram {
    LatencyHistogram::new(LONG)
}

/// Defines the struct, its registration and the reference in `docs/metrics.md` in one place.
macro_rules! metrics {
    ($($(#[doc = $help:literal])+ $field:ident: $kind:ty = $name:literal, $make:expr;)*) => {
        /// Every counter and histogram of the process.
        pub struct Metrics {
            $($(#[doc = $help])+ pub $field: $kind,)*
        }

        impl Metrics {
            /// Fresh metrics, registered under the prefix `smsc`.
            pub fn new(registry: &mut Registry) -> Self {
                let registry = registry.sub_registry_with_prefix("smsc");
                $(
                    let $field: $kind = $make;
                    // The encoder ends help texts with a full stop of its own.
                    registry.register($name, concat!($($help),+).trim().trim_end_matches('.'), $field.clone());
                )*
                Self { $($field,)* }
            }

            /// Name and help text of each, for the reference.
            pub fn reference() -> Vec<(&'static str, &'static str)> {
                vec![$((concat!("smsc_", $name), concat!($($help),+).trim()),)*]
            }
        }
    };
}

metrics! {
    /// Messages acknowledged after their commit.
    accepted: Counter = "messages_accepted", Counter::default();
    /// Submissions refused, by the command_status of the answer.
    refusals: Family<StatusLabel, Counter> = "submissions_refused", Family::default();
    /// Requests of ESMEs about earlier messages, such as query_sm.
    operations: Family<OperationLabel, Counter> = "operations", Family::default();
    /// Requests to the HTTP API for accounts.
    api_requests: Family<ApiLabel, Counter> = "api_requests", Family::default();
    /// Requests over the UNIX socket; result: ok or the reason of the failure. Refused messages count in smsc_submissions_refused_total.
    local_requests: Family<LocalLabel, Counter> = "local_requests", Family::default();
    /// Connections over the UNIX socket that the SMSC closed: unknown_user, no_account, role, version, connections (local.max_connections), too_large (local.max_frame), malformed, idle, stopping.
    local_connections_ended: Family<ReasonLabel, Counter> = "local_connections_ended", Family::default();
    /// Operators' alert_notifications forwarded to an account.
    alerts: Counter = "alerts_forwarded", Counter::default();
    /// Operators' intermediate notifications forwarded to an account.
    notifications: Counter = "intermediate_notifications_forwarded", Counter::default();
    /// Intermediate notifications dropped because the account had no receiver bound.
    notifications_dropped: Counter = "intermediate_notifications_dropped", Counter::default();
    /// Operators' alert_notifications dropped: no account, or no receiver bound.
    alerts_dropped: Counter = "alerts_dropped", Counter::default();
    /// Connections made to accounts with outbind.
    outbinds: Counter = "outbinds", Counter::default();
    /// Messages that reached a final state, by state.
    finals: Family<StateLabel, Counter> = "messages_final", Family::default();
    /// Long messages divided into parts.
    divided: Counter = "messages_divided", Counter::default();
    /// Messages assembled from parts.
    assembled: Counter = "messages_assembled", Counter::default();
    /// Repeated parts with the same text, not sent again.
    parts_repeated: Counter = "parts_repeated", Counter::default();
    /// Parts sent on unchanged because the rest did not arrive in time or did not fit, or another message used their reference.
    parts_given_up: Counter = "parts_given_up", Counter::default();
    /// Characters replaced because the peer's alphabet lacks them.
    characters_changed: Counter = "characters_changed", Counter::default();
    /// Submissions without a matching route.
    no_route: Counter = "submissions_without_route", Counter::default();
    /// Submissions to a nonexistent number of a range (`[[number_range]]`).
    unknown_numbers: Family<RangeLabel, Counter> = "submissions_to_unknown_numbers", Family::default();
    /// Operators' messages refused as a loop (policy.mobile_originated_repeats).
    circles: Counter = "submissions_in_circles", Counter::default();
    /// Operators' messages and parts that a rule (`[[mo_rule]]`) took: deliver, reply, drop.
    mo_rules: Family<RuleLabel, Counter> = "mo_rule_matches", Family::default();
    /// Messages for a rule with a reply: sent, limited (`reply_limit`), refused (by policy of the account), later (retried), not_a_number, short_code, own_address, automatic (loop guard), part (a later part of an incomplete text).
    mo_replies: Family<ReplyLabel, Counter> = "mo_replies", Family::default();
    /// Submissions refused by policy: sender_blocked, sender_not_allowed, destination_blocked, destination_not_allowed, opted_out, over_limit, needs_mobile_originated.
    policy_refusals: Family<PolicyLabel, Counter> = "submissions_refused_by_policy", Family::default();
    /// Numbers on opt-out lists, known to this node.
    opt_outs: Gauge = "opt_outs", Gauge::default();
    /// Submissions refused because the queue was full.
    queue_full: Counter = "submissions_queue_full", Counter::default();
    /// Submissions refused because the account was full.
    account_full: Counter = "submissions_account_full", Counter::default();
    /// Submissions refused by the account's quota or balance.
    not_covered: Family<ReasonLabel, Counter> = "submissions_not_covered", Family::default();
    /// Duplicate submissions (duplicate_window): refused, same_id (answered with the first id), failed (the first was refused, or is being stored by another node).
    duplicates: Family<ResultLabel, Counter> = "submissions_duplicate", Family::default();
    /// Submissions remembered by this node to find duplicates.
    duplicate_entries: Gauge = "duplicate_guard_entries", Gauge::default();
    /// Submissions forgotten before their duplicate_window ended: smpp.duplicate_entries is too small.
    duplicates_forgotten: Counter = "duplicate_guard_forgotten", Counter::default();
    /// Submissions compared only on this node because Redis did not answer.
    duplicates_unshared: Counter = "duplicate_guard_unshared", Counter::default();
    /// HTTP requests with an Idempotency-Key: new, repeated (first answer again), other_request (key used by another, 422), in_progress (409), full (api.idempotency_keys too small, 503).
    idempotency: Family<ResultLabel, Counter> = "idempotency_requests", Family::default();
    /// Idempotency-Keys in the embedded store; 0 with PostgreSQL.
    idempotency_keys: Gauge = "idempotency_keys", Gauge::default();
    /// Damaged rows of the store (`smsc damaged`), over all nodes.
    store_damaged_rows: Gauge = "store_damaged_rows", Gauge::default();
    /// Messages held for an order after the database went back in time (`smsc held`), over all nodes.
    messages_held: Gauge = "messages_held", Gauge::default();
    /// Partitions that may contain more such messages, over all nodes.
    partitions_doubtful: Gauge = "partitions_doubtful", Gauge::default();
    /// Ended messages that a reader (cdr, usage, archive, redis_platform; nats: of an earlier build) has not read, on the node that works for all; a lower bound when very many.
    outbox_waiting: Family<ReaderLabel, Gauge> = "outbox_waiting", Family::default();
    /// Age of the oldest of them in seconds.
    outbox_oldest: Family<ReaderLabel, Gauge> = "outbox_oldest_seconds", Family::default();
    /// Ended messages that a reader of the outbox has read.
    outbox_read: Family<ReaderLabel, Counter> = "outbox_read", Family::default();
    /// Messages deleted before a reader of the outbox had read their end.
    outbox_lost: Family<ReaderLabel, Counter> = "outbox_lost", Family::default();
    /// Ends of messages dropped unread after outbox.hold, once per reader.
    outbox_dropped: Counter = "outbox_dropped", Counter::default();
    /// Events that a sink has not acknowledged, on the node that works for all; a lower bound when very many.
    sink_waiting: Family<SinkLabel, Gauge> = "sink_waiting", Family::default();
    /// Age of the oldest of them in seconds; 0 without any.
    sink_oldest: Family<SinkLabel, Gauge> = "sink_oldest_seconds", Family::default();
    /// Events that an event sink has acknowledged.
    sink_published: Family<SinkLabel, Counter> = "sink_published", Family::default();
    /// Messages deleted before their events were published.
    sink_lost: Family<SinkLabel, Counter> = "sink_lost", Family::default();
    /// Failed publications; each is retried.
    sink_failures: Family<SinkLabel, Counter> = "sink_failures", Family::default();
    /// Invalid ids or unreadable messages in pending lists (`[redis_platform]`), moved to smsc:dead-letters.
    platform_dead: Counter = "redis_platform_dead_letters", Counter::default();
    /// Writes to Redis omitted because the key has another type.
    platform_refused: Counter = "redis_platform_refused_writes", Counter::default();
    /// Ids taken by the platform's pump whose keys this node removed.
    platform_pumped: Counter = "redis_platform_pumped", Counter::default();
    /// Octets written to the archive by this node.
    archive_octets: Counter = "archive_octets", Counter::default();
    /// Failed writes to the archive; each is retried.
    archive_failures: Counter = "archive_failures", Counter::default();
    /// Rows of the history of messages (`smsc history`); of all nodes.
    history_rows: Gauge = "history_rows", Gauge::default();
    /// Octets of the counts in these rows; of all nodes.
    history_octets: Gauge = "history_octets", Gauge::default();
    /// Failed writes of the history; retried for an hour.
    history_failures: Counter = "history_failures", Counter::default();
    /// Minutes missing in this node's history after an hour of failed writes.
    history_lost: Counter = "history_lost", Counter::default();
    /// Attempts that failed temporarily and will be retried.
    retries: Counter = "attempts_retried", Counter::default();
    /// Attempts whose answer never came.
    outcome_unknown: Counter = "attempts_outcome_unknown", Counter::default();
    /// Answers accepted after the response timeout.
    late_answers: Counter = "attempts_answered_late", Counter::default();
    /// Attempts answered with a throttling status, which do not count.
    throttled_by_operator: Counter = "attempts_throttled_by_operator", Counter::default();
    /// Messages moved to the next target of their route.
    failovers: Counter = "messages_failed_over", Counter::default();
    /// Messages and receipts that expired in a queue.
    expired: Counter = "messages_expired", Counter::default();
    /// Operators' receipts matched with a message.
    receipts_matched: Counter = "operator_receipts_matched", Counter::default();
    /// Operators' receipts that matched nothing and were parked.
    receipts_unmatched: Counter = "operator_receipts_unmatched", Counter::default();
    /// Operators' receipts held because submit_sm_resp was not there yet.
    receipts_early: Counter = "operator_receipts_early", Counter::default();
    /// Operators' receipts for messages that were already final.
    receipts_repeated: Counter = "operator_receipts_repeated", Counter::default();
    /// Operators' receipts for messages that had ended UNKNOWN, EXPIRED or DELETED without one; acknowledged, without effect.
    receipts_late: Counter = "operator_receipts_late", Counter::default();
    /// Message ids that an operator reused while an earlier message waited for its receipt.
    ids_reused: Counter = "operator_message_ids_reused", Counter::default();
    /// Receipts that matched by a new form of their ids, with `message_id = "auto"`.
    id_forms_changed: Counter = "operator_message_id_forms_changed", Counter::default();
    /// Parked receipts dropped because they were too old or too many.
    receipts_dropped: Counter = "operator_receipts_dropped", Counter::default();
    /// Parked receipts matched by an administrator.
    receipts_matched_by_hand: Counter = "operator_receipts_matched_by_hand", Counter::default();
    /// Parked receipts that an administrator dropped.
    receipts_dropped_by_hand: Counter = "operator_receipts_dropped_by_hand", Counter::default();
    /// Failed messages replayed by an administrator.
    replayed: Counter = "messages_replayed", Counter::default();
    /// Messages ended UNKNOWN without a receipt (correlation.ttl).
    receipts_overdue: Counter = "operator_receipts_overdue", Counter::default();
    /// Final states reported for ended messages.
    repeated_finals: Counter = "messages_final_repeated", Counter::default();
    /// Receipts that accounts acknowledged.
    receipts_told: Counter = "receipts_acknowledged", Counter::default();
    /// Receipts that accounts refused permanently.
    receipts_refused: Counter = "receipts_refused", Counter::default();
    /// Attempts at callbacks: ok (2xx), nack (2xx without Jasmin's acknowledgement), redirect (3xx), gone (410: the URL is disabled, or the queue suspended), throttled (429), 4xx, 5xx, timeout, broken (connection lost), unreachable, forbidden (private address). superseded: an intermediate state not sent because a later one is known. unreadable: set aside for a minute because the history of its message cannot be read.
    callbacks: Family<CallbackLabel, Counter> = "callbacks", Family::default();
    /// Receipts given up: not taken in time (`validity.receipts`, `callback_retry_for`), or purged.
    receipts_given_up: Counter = "receipts_given_up", Counter::default();
    /// Receipts for accounts that are no longer configured.
    receipts_homeless: Counter = "receipts_without_account", Counter::default();
    /// Binds refused, by the command_status of the answer.
    binds_refused: Family<StatusLabel, Counter> = "binds_refused", Family::default();
    /// Refused binds: unknown (or disabled account), address, password, certificate, busy (too many password checks).
    binds_refused_by_reason: Family<ReasonLabel, Counter> = "binds_refused_by_reason", Family::default();
    /// Sign-ins to the console by OpenID Connect.
    console_sign_ins: Counter = "console_sign_ins", Counter::default();
    /// Failed sign-ins by OpenID Connect: state (not begun in this browser, or too long ago), unreachable (issuer), refused (by the issuer, or invalid answer), no_role, store.
    console_sign_ins_refused: Family<ReasonLabel, Counter> = "console_sign_ins_refused", Family::default();
    /// Binds to operators that failed or were lost.
    binds_lost: Counter = "operator_binds_lost", Counter::default();
    /// Failed connections and lost binds, by operator.
    operator_reconnects: Family<OperatorLabel, Counter> = "operator_reconnects", Family::default();
    /// Binds closed because the operator did not answer enquire_link.
    operator_enquire_timeouts: Family<OperatorLabel, Counter> = "operator_enquire_link_timeouts", Family::default();
    /// SMPP octets sent to and received from operators, without TLS.
    operator_octets: Family<DirectionLabel, Counter> = "operator_octets", Family::default();
    /// Long messages to operators: parts (UDH or sar TLVs), payload (message_payload).
    operator_long: Family<FormLabel, Counter> = "operator_long_messages", Family::default();
    /// Receipts: matched, unmatched (message not found yet), heard (matched, waiting for another state: `receipts.settle_after`), strange (unknown state, no effect).
    operator_receipts: Family<ReceiptLabel, Counter> = "operator_receipts", Family::default();
    /// Waits of an operator's queue for tokens of its rate.
    operator_waits: Family<QueueLabel, Counter> = "operator_throttle_waits", Family::default();
    /// NATS commands returned to their stream because the operator's rate was used up.
    operator_commands_throttled: Family<QueueLabel, Counter> = "operator_commands_throttled", Family::default();
    /// Lost leases of this node, which then closed its operator binds.
    leases_lost: Counter = "cluster_leases_lost", Counter::default();
    /// Partitions owned by this node that it cannot take over; their messages are not sent.
    takeovers_failing: Gauge = "takeovers_failing", Gauge::default();
    /// Dead nodes that this node took over.
    nodes_buried: Counter = "cluster_nodes_taken_over", Counter::default();
    /// Items handed to this node by others through the hand-off table.
    items_collected: Counter = "cluster_items_collected", Counter::default();
    /// Completed rounds of the janitor, one a minute per cluster.
    janitor_rounds: Counter = "janitor_rounds", Counter::default();
    /// Active messages found in no queue and requeued (queue.compare_every).
    put_back: Counter = "messages_put_back", Counter::default();
    /// Octets of memory for message bodies in queues, of queue.page_mib.
    queued_octets: Gauge = "queue_body_octets", Gauge::default();
    /// Octets of memory for submissions not yet durable, of smpp.intake_mib.
    arriving_octets: Gauge = "intake_octets", Gauge::default();
    /// Connections refused at the listener's limit.
    connections_refused: Counter = "connections_refused", Counter::default();
    /// ESMEs' connections that ended before a bind: stranger (not in proxy_from), proxy (no valid PROXY header), tls, late (session_init_timeout), crowded (smpp.max_unbound_per_address), unbound (many requests, no bind).
    connections_failed: Family<ReasonLabel, Counter> = "connections_failed", Family::default();
    /// Connections closed because the peer did not read.
    slow_readers: Counter = "slow_readers_cut_off", Counter::default();
    /// Idle binds replaced by a new one (`on_full`).
    binds_replaced: Counter = "binds_replaced", Counter::default();
    /// PDUs that could not be decoded.
    malformed: Family<StatusLabel, Counter> = "pdus_malformed", Family::default();
    /// Seconds from an attempt (submit_sm, deliver_sm) to its answer.
    attempt_seconds: Family<QueueLabel, LatencyHistogram> = "attempt_seconds", Family::new_with_constructor(traced as fn() -> LatencyHistogram);
    /// Attempts: ok, temporary, permanent, throttled, unanswered.
    attempts: Family<AttemptLabel, Counter> = "attempts", Family::default();
    /// Messages and commands of handsets, by RP-cause (3GPP TS 24.011 §8.2.5.4) of the answer; 0 is RP-ACK.
    gsm_submissions: Family<CauseLabel, Counter> = "gsm_submissions", Family::default();
    /// MAP requests of others not served: refused (unknown operation, unreadable dialogue, no room), unanswered (above 100 of those a second of one node, or 500 in all), disbelieved (alerts above 200 a second per node, or 1,000 in all).
    gsm_unserved: Family<UnservedLabel, Counter> = "gsm_unserved", Family::default();
    /// MAP requests seen by the firewall, by rule (none without a match) and action: pass, count, report, dry, block, drop.
    gsm_firewall: Family<FirewallLabel, Counter> = "gsm_firewall_requests", Family::default();
    /// Home routing: questions_answered, questions_refused (sendRoutingInfoForSM of others), messages_taken, messages_refused, unknown_ids (unknown or expired).
    gsm_home_routing: Family<HomeRoutingLabel, Counter> = "gsm_home_routing", Family::default();
    /// Answers other than ESME_ROK; vendor statuses (0x400-0x4FF) in hexadecimal.
    attempts_refused: Family<AnswerLabel, Counter> = "attempts_refused", Family::default();
    /// Seconds from reading submissions until they are durable or refused, per batch.
    ingest_seconds: LatencyHistogram = "ingest_seconds", traced();
    /// Seconds from acceptance to the final state.
    message_seconds: Family<StateLabel, LatencyHistogram> = "message_seconds", Family::new_with_constructor(long as fn() -> LatencyHistogram);
    /// Seconds from the final state to the acknowledgement of the receipt.
    receipt_seconds: LatencyHistogram = "receipt_seconds", long();
    /// Pauses of a queue because a rate was used up.
    throttle_waits: Counter = "throttle_waits", Counter::default();
    /// Waiting messages tried at once because their subscriber was there again.
    woken: Counter = "woken", Counter::default();
    /// New messages that waited for room in the memory of a very fast queue.
    intake_held_back: Counter = "intake_held_back", Counter::default();
    /// Network look-ups: cached (on this node), shared (in Redis), found, not_ported, failed.
    lookups: Family<ResultLabel, Counter> = "resolver_lookups", Family::default();
    /// Seconds per look-up at the service, failures included.
    lookup_seconds: Histogram = "resolver_lookup_seconds", outside();
    /// Messages whose look-up failed: routed, refused.
    lookups_given_up: Family<ResultLabel, Counter> = "resolver_given_up", Family::default();
    /// 1 while requests to the service are stopped (resolver.breaker_failures).
    resolver_away: Gauge = "resolver_service_away", Gauge::default();
    /// IMSI look-ups: cached (on this node), shared (in Redis), found, unknown (no such subscriber), failed, doubted (a GSM network did not know the IMSI).
    imsi_lookups: Family<ResultLabel, Counter> = "imsi_lookups", Family::default();
    /// Seconds per look-up at a source, failures included.
    imsi_lookup_seconds: Histogram = "imsi_lookup_seconds", outside();
    /// 1 while requests to a source are stopped (imsi.breaker_failures).
    imsi_away: Gauge = "imsi_source_away", Gauge::default();
    /// Waiting messages between actors, each a batch.
    mailbox_depth: Family<ActorLabel, Gauge> = "actor_mailbox_depth", Family::default();
    /// Seconds that messages between actors waited.
    mailbox_wait: Family<ActorLabel, Histogram> = "actor_mailbox_wait_seconds", Family::new_with_constructor(inside as fn() -> Histogram);
    /// Seconds that an actor took to handle a message.
    handling: Family<ActorLabel, Histogram> = "actor_handling_seconds", Family::new_with_constructor(inside as fn() -> Histogram);
    /// Traced messages: head (telemetry.trace_ratio), parent (the sender's choice), failure.
    traces: Family<ReasonLabel, Counter> = "traces", Family::default();
    /// Spans that the collector accepted.
    spans_exported: Counter = "trace_spans_exported", Counter::default();
    /// Lost spans: full (queue of spans), refused (by the collector), busy (too many traces of failures).
    spans_dropped: Family<ReasonLabel, Counter> = "trace_spans_dropped", Family::default();
    /// Spans that wait for the collector.
    spans_waiting: Gauge = "trace_spans_waiting", Gauge::default();
}

// === impl Metrics ===

impl Metrics {
    /// Counts a refused submission.
    pub fn refused(&self, status: u32) {
        self.refusals.get_or_create(&status_label(status)).inc();
    }

    /// Counts an answer other than ESME_ROK to an attempt of a queue. Vendor statuses are counted
    /// separately: there are few of them, and operators' support asks for them.
    pub fn attempt_refused(&self, queue: &str, status: u32) {
        let status = if VENDOR_STATUSES.contains(&status) {
            command_status::display(status)
        } else {
            status_label(status).status
        };
        let queue = queue.to_owned();
        let label = AnswerLabel { queue, status };
        self.attempts_refused.get_or_create(&label).inc();
    }

    /// Counts a submission that policy refuses.
    pub fn policy_refused(&self, account: &str, reason: PolicyRefusal) {
        let label = PolicyLabel {
            account: account.to_owned(),
            reason: reason.as_str(),
        };
        self.policy_refusals.get_or_create(&label).inc();
    }

    /// Counts a submission to a number that its range does not have.
    pub fn no_such_number(&self, range: &str) {
        let range = range.to_owned();
        self.unknown_numbers
            .get_or_create(&RangeLabel { range })
            .inc();
    }

    /// Counts what others have asked of a GSM network over MAP and did not get.
    pub fn not_served(&self, gsm: &str, result: &'static str, count: u64) {
        if count > 0 {
            let gsm = gsm.to_owned();
            let label = UnservedLabel { gsm, result };
            self.gsm_unserved.get_or_create(&label).inc_by(count);
        }
    }

    /// Counts a message that a rule has taken.
    pub fn ruled(&self, rule: &str, action: &'static str) {
        let (rule, metric) = (rule.to_owned(), &self.mo_rules);
        metric.get_or_create(&RuleLabel { rule, action }).inc();
    }

    /// Counts what became of the answer that a rule was to give.
    pub fn replied(&self, rule: &str, result: &'static str) {
        let (rule, metric) = (rule.to_owned(), &self.mo_replies);
        metric.get_or_create(&ReplyLabel { rule, result }).inc();
    }

    /// What went through this node, for rates.
    pub fn traffic(&self) -> TrafficSnapshot {
        let refusals = command_status::names().chain(OTHER_STATUSES);
        let refused = refusals.filter_map(|status| {
            let status = status.to_owned();
            Some(self.refusals.get(&StatusLabel { status })?.get())
        });
        let (mut delivered_total, mut failed_total) = (0, 0);
        for number in state::DELIVERED..=state::REJECTED {
            let state = state::name(number).to_owned();
            let ended = self.finals.get(&StateLabel { state });
            let ended = ended.map_or(0, |counter| counter.get());
            match number {
                state::DELIVERED | state::ACCEPTED => delivered_total += ended,
                _ => failed_total += ended,
            }
        }
        TrafficSnapshot {
            accepted_total: self.accepted.get(),
            refused_total: refused.sum(),
            delivered_total,
            failed_total,
            told_total: self.receipts_told.get(),
        }
    }
}

/// The label of a state.
fn state_label(state: MessageState) -> StateLabel {
    StateLabel {
        state: state::name(state as i32 as u8).to_owned(),
    }
}

/// The label of a command_status; unknown ones share a few labels, so that a peer cannot make
/// more of them.
pub fn status_label(status: u32) -> StatusLabel {
    let status = match command_status::name(status) {
        Some(name) => name,
        None if VENDOR_STATUSES.contains(&status) => OTHER_STATUSES[0],
        None => OTHER_STATUSES[1],
    };
    StatusLabel {
        status: status.to_owned(),
    }
}
