//! The metrics: one struct whose doc comments are the help texts. Handles are kept by the code that
//! counts; nothing is looked up by name on the data path.

mod handles;
mod labels;
mod latency;

use std::ops::RangeInclusive;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use smsc_domain::policy::PolicyRefusal;
use smsc_domain::{command_status, state};
use smsc_proto::{MessageState, TrafficSnapshot};

pub use self::handles::{
    AttemptCounts, AttemptMeter, CauseLabel, DirectionLabel, FirewallLabel, FormLabel,
    HomeRoutingLabel, Mailbox, MailboxMeter, OperatorLabel, OperatorMeter, PolicyLabel, RangeLabel,
    ReceiptLabel, StateMeters, UnservedLabel,
};
pub use self::labels::{
    ActorLabel, AnswerLabel, ApiLabel, AttemptLabel, LocalLabel, QueueLabel, ReaderLabel, SinkLabel,
};
pub use self::latency::LatencyHistogram;

/// A command_status by name.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct StatusLabel {
    pub status: String,
}

/// Statuses that vendors may define (SMPP 3.4 §5.1.3).
const VENDOR_STATUSES: RangeInclusive<u32> = 0x400..=0x4FF;
/// Labels of statuses without a name of their own: those of vendors, and the rest.
const OTHER_STATUSES: [&str; 2] = ["vendor", "other"];

/// A message state by name.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct StateLabel {
    pub state: String,
}

/// An operation of SMPP about messages that were submitted before, and how it was answered.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct OperationLabel {
    pub operation: &'static str,
    pub status: String,
}

/// A result, out of a few words.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ResultLabel {
    pub result: &'static str,
}

/// An account, and how a callback to it went: as many as there are accounts and few words.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct CallbackLabel {
    pub account: String,
    pub result: &'static str,
}

/// Why something happened, out of a few words.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ReasonLabel {
    pub reason: &'static str,
}

/// A rule for messages of operators, and what it does: as many as there are rules.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct RuleLabel {
    pub rule: String,
    pub action: &'static str,
}

/// A rule that answers, and what became of the answer.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ReplyLabel {
    pub rule: String,
    pub result: &'static str,
}

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
    /// Requests of ESMEs about earlier messages (query_sm and the like), by operation and command_status of the answer.
    operations: Family<OperationLabel, Counter> = "operations", Family::default();
    /// Requests to the HTTP API for accounts, by method, path and HTTP status of the answer.
    api_requests: Family<ApiLabel, Counter> = "api_requests", Family::default();
    /// Requests over the UNIX socket, by request (submit, cancel, list, get) and result: ok, or the reason of the failure. Messages of a submission that were refused are counted in smsc_submissions_refused_total.
    local_requests: Family<LocalLabel, Counter> = "local_requests", Family::default();
    /// Connections over the UNIX socket that the SMSC has ended, by reason: unknown_user, no_account, role, version, connections (local.max_connections), too_large (local.max_frame), malformed, idle, or stopping.
    local_connections_ended: Family<ReasonLabel, Counter> = "local_connections_ended", Family::default();
    /// alert_notifications of operators that were passed on to an account.
    alerts: Counter = "alerts_forwarded", Counter::default();
    /// Intermediate notifications of operators that were passed on to an account that asked for them.
    notifications: Counter = "intermediate_notifications_forwarded", Counter::default();
    /// Intermediate notifications that an account asked for, but had no receiver bound for.
    notifications_dropped: Counter = "intermediate_notifications_dropped", Counter::default();
    /// alert_notifications of operators without an account, or without a receiver of it.
    alerts_dropped: Counter = "alerts_dropped", Counter::default();
    /// Connections made to accounts with outbind.
    outbinds: Counter = "outbinds", Counter::default();
    /// Messages that reached a final state, by state.
    finals: Family<StateLabel, Counter> = "messages_final", Family::default();
    /// Long messages that were divided into parts for their peer.
    divided: Counter = "messages_divided", Counter::default();
    /// Messages that were put together from their parts.
    assembled: Counter = "messages_assembled", Counter::default();
    /// Repeated parts with the same text, which were not sent again.
    parts_repeated: Counter = "parts_repeated", Counter::default();
    /// Parts that went on unchanged because the rest of their message did not arrive in time or did not fit, or because their reference was used for another message.
    parts_given_up: Counter = "parts_given_up", Counter::default();
    /// Characters that a peer's alphabet does not have and that were replaced.
    characters_changed: Counter = "characters_changed", Counter::default();
    /// Submissions without a matching route.
    no_route: Counter = "submissions_without_route", Counter::default();
    /// Submissions to a number that its range of the number plan (`[[number_range]]`) does not have, by range.
    unknown_numbers: Family<RangeLabel, Counter> = "submissions_to_unknown_numbers", Family::default();
    /// Messages of operators refused as a loop, because equal ones were sent on several times within a minute.
    circles: Counter = "submissions_in_circles", Counter::default();
    /// Messages of operators that a rule (`[[mo_rule]]`) took, by rule and action: deliver, reply or drop. Parts of a long text count one by one.
    mo_rules: Family<RuleLabel, Counter> = "mo_rule_matches", Family::default();
    /// Messages that a rule was to answer, by rule and result: sent, limited (`reply_limit`), refused (the account may not send it), later (to be tried again), or not_a_number, short_code, own_address or automatic (the guard against loops), or part (not the first part of a text whose other parts are missing).
    mo_replies: Family<ReplyLabel, Counter> = "mo_replies", Family::default();
    /// Submissions refused by policy, by account and reason: sender_blocked, sender_not_allowed, destination_blocked, destination_not_allowed, opted_out, over_limit or needs_mobile_originated.
    policy_refusals: Family<PolicyLabel, Counter> = "submissions_refused_by_policy", Family::default();
    /// Numbers on opt-out lists that this node knows of.
    opt_outs: Gauge = "opt_outs", Gauge::default();
    /// Submissions refused because the queue was at its cap.
    queue_full: Counter = "submissions_queue_full", Counter::default();
    /// Submissions refused because the account was at its cap.
    account_full: Counter = "submissions_account_full", Counter::default();
    /// Submissions refused because they exceeded the account's quota or balance, by reason: quota or balance.
    not_covered: Family<ReasonLabel, Counter> = "submissions_not_covered", Family::default();
    /// Submissions that repeated another one (duplicate_window), by result: refused, same_id (answered with the id of the first), or failed (the first was refused, or another node is just storing it).
    duplicates: Family<ResultLabel, Counter> = "submissions_duplicate", Family::default();
    /// Accepted submissions that this node remembers to find duplicates.
    duplicate_entries: Gauge = "duplicate_guard_entries", Gauge::default();
    /// Accepted submissions that were forgotten before the end of their duplicate_window: smpp.duplicate_entries is too small.
    duplicates_forgotten: Counter = "duplicate_guard_forgotten", Counter::default();
    /// Submissions that were compared with this node's own ones only, because Redis did not answer.
    duplicates_unshared: Counter = "duplicate_guard_unshared", Counter::default();
    /// HTTP requests with an Idempotency-Key, by result: new, repeated (answered as the first time), other_request (the key was of a different one, status 422), in_progress (status 409), or full (api.idempotency_keys is too small, status 503).
    idempotency: Family<ResultLabel, Counter> = "idempotency_requests", Family::default();
    /// Idempotency-Keys that the embedded store remembers; with PostgreSQL 0.
    idempotency_keys: Gauge = "idempotency_keys", Gauge::default();
    /// Rows of the store that were found damaged and are listed (`smsc damaged`); of all nodes.
    store_damaged_rows: Gauge = "store_damaged_rows", Gauge::default();
    /// Messages that wait for an order, because they may have been sent before the database went back in time (`smsc held`); of all nodes.
    messages_held: Gauge = "messages_held", Gauge::default();
    /// Partitions of queues in which more such messages may be found; of all nodes.
    partitions_doubtful: Gauge = "partitions_doubtful", Gauge::default();
    /// Messages whose end a reader of the outbox (cdr, usage, archive or redis_platform; nats: the section `[nats]` of a build before) has not read yet, counted by the node that does the work for all; where very many wait, at least as many.
    outbox_waiting: Family<ReaderLabel, Gauge> = "outbox_waiting", Family::default();
    /// Age of the oldest of them in seconds.
    outbox_oldest: Family<ReaderLabel, Gauge> = "outbox_oldest_seconds", Family::default();
    /// Messages whose end a reader of the outbox has read.
    outbox_read: Family<ReaderLabel, Counter> = "outbox_read", Family::default();
    /// Messages that were deleted before a reader of the outbox had read their end: what it makes of them lacks them.
    outbox_lost: Family<ReaderLabel, Counter> = "outbox_lost", Family::default();
    /// Ends of messages, counted once for each reader, that were dropped because none had read them within outbox.hold.
    outbox_dropped: Counter = "outbox_dropped", Counter::default();
    /// Events that an event sink has not acknowledged yet, counted by the node that does the work for all; where very many wait, at least as many.
    sink_waiting: Family<SinkLabel, Gauge> = "sink_waiting", Family::default();
    /// The age of the oldest of them, in seconds; 0 when none waits.
    sink_oldest: Family<SinkLabel, Gauge> = "sink_oldest_seconds", Family::default();
    /// Events that an event sink has acknowledged.
    sink_published: Family<SinkLabel, Counter> = "sink_published", Family::default();
    /// Messages that were deleted before an event sink was told of them.
    sink_lost: Family<SinkLabel, Counter> = "sink_lost", Family::default();
    /// Times that publishing for an event sink failed; each is tried again.
    sink_failures: Family<SinkLabel, Counter> = "sink_failures", Family::default();
    /// Entries of pending lists in Redis (`[redis_platform]`) that are no ids, or whose message cannot be read: they are in smsc:dead-letters.
    platform_dead: Counter = "redis_platform_dead_letters", Counter::default();
    /// Writes of the mirror in Redis that were left out because the key is of another type.
    platform_refused: Counter = "redis_platform_refused_writes", Counter::default();
    /// Ids that the platform's pump has taken, and whose keys this node has removed.
    platform_pumped: Counter = "redis_platform_pumped", Counter::default();
    /// Octets that this node has written into the archive.
    archive_octets: Counter = "archive_octets", Counter::default();
    /// Writes into the archive that failed and are repeated.
    archive_failures: Counter = "archive_failures", Counter::default();
    /// Rows of the history of messages (`smsc history`); of all nodes.
    history_rows: Gauge = "history_rows", Gauge::default();
    /// Octets of the counts in these rows; of all nodes.
    history_octets: Gauge = "history_octets", Gauge::default();
    /// Writes of the history that failed; they are repeated for an hour.
    history_failures: Counter = "history_failures", Counter::default();
    /// Minutes that the history of this node lacks, because they could not be written for an hour.
    history_lost: Counter = "history_minutes_lost", Counter::default();
    /// Attempts that failed temporarily and will be retried.
    retries: Counter = "attempts_retried", Counter::default();
    /// Attempts whose answer never came.
    outcome_unknown: Counter = "attempts_outcome_unknown", Counter::default();
    /// Answers that came after the response timeout and were adopted.
    late_answers: Counter = "attempts_answered_late", Counter::default();
    /// Attempts that an operator answered with a throttling status; they wait and do not count.
    throttled_by_operator: Counter = "attempts_throttled_by_operator", Counter::default();
    /// Messages moved to the next target of their route.
    failovers: Counter = "messages_failed_over", Counter::default();
    /// Messages and receipts that outlived their validity in a queue.
    expired: Counter = "messages_expired", Counter::default();
    /// Operators' receipts matched with a message.
    receipts_matched: Counter = "operator_receipts_matched", Counter::default();
    /// Operators' receipts that matched nothing and were parked.
    receipts_unmatched: Counter = "operator_receipts_unmatched", Counter::default();
    /// Operators' receipts held because their submit_sm_resp had not been seen yet.
    receipts_early: Counter = "operator_receipts_early", Counter::default();
    /// Operators' receipts for messages that were already final.
    receipts_repeated: Counter = "operator_receipts_repeated", Counter::default();
    /// Receipts of operators for messages that had ended without one: UNKNOWN after the correlation TTL, EXPIRED or DELETED. They are acknowledged; the state does not change.
    receipts_late: Counter = "operator_receipts_late", Counter::default();
    /// Message ids that an operator reused while an earlier message with the same id waited for its receipt.
    ids_reused: Counter = "operator_message_ids_reused", Counter::default();
    /// Times that receipts of an operator with `message_id = "auto"` matched by another form of their ids than the one learned.
    id_forms_changed: Counter = "operator_message_id_forms_changed", Counter::default();
    /// Parked receipts dropped because their time was over or there were too many.
    receipts_dropped: Counter = "operator_receipts_dropped", Counter::default();
    /// Parked receipts that an administrator matched with a message.
    receipts_matched_by_hand: Counter = "operator_receipts_matched_by_hand", Counter::default();
    /// Parked receipts that an administrator dropped.
    receipts_dropped_by_hand: Counter = "operator_receipts_dropped_by_hand", Counter::default();
    /// Failed messages replayed as new ones, by command of an administrator.
    replayed: Counter = "messages_replayed", Counter::default();
    /// Messages ended UNKNOWN because no receipt came within the correlation TTL.
    receipts_overdue: Counter = "operator_receipts_overdue", Counter::default();
    /// Final states that were reported for messages that were already final.
    repeated_finals: Counter = "messages_final_repeated", Counter::default();
    /// Receipts that accounts acknowledged.
    receipts_told: Counter = "receipts_acknowledged", Counter::default();
    /// Receipts that accounts refused permanently.
    receipts_refused: Counter = "receipts_refused", Counter::default();
    /// Attempts at callbacks of accounts, by result: ok (2xx), nack (2xx without the acknowledgement of Jasmin's form), redirect (3xx, not followed), gone (410: the URL gets nothing more, or the queue is suspended), throttled (429), 4xx, 5xx, timeout, broken (the connection ended before the answer), unreachable (no connection), or forbidden (not a public address, and not allowed). Also superseded: a state before the final one that was left out, because a later one is known.
    callbacks: Family<CallbackLabel, Counter> = "callbacks", Family::default();
    /// Receipts dropped because the account did not take them in time (`validity.receipts`, `callback_retry_for`), or because their queue was purged.
    receipts_given_up: Counter = "receipts_given_up", Counter::default();
    /// Receipts for accounts that are no longer configured.
    receipts_homeless: Counter = "receipts_without_account", Counter::default();
    /// Binds refused, by the command_status of the answer.
    binds_refused: Family<StatusLabel, Counter> = "binds_refused", Family::default();
    /// Binds refused by authentication, by reason, whatever status the answer had: unknown (no such account, or not enabled), address (not allowed from there), password, certificate (not one of the account's), or busy (too many password checks waited).
    binds_refused_by_reason: Family<ReasonLabel, Counter> = "binds_refused_by_reason", Family::default();
    /// People who have signed in to the console by OpenID Connect.
    console_sign_ins: Counter = "console_sign_ins", Counter::default();
    /// Sign-ins by OpenID Connect that failed, by reason: state (not begun in this browser, or too long ago), unreachable (the issuer), refused (by the issuer, or what it says does not count), no_role (none of the groups has one) or store.
    console_sign_ins_refused: Family<ReasonLabel, Counter> = "console_sign_ins_refused", Family::default();
    /// Binds to operators that failed or were lost.
    binds_lost: Counter = "operator_binds_lost", Counter::default();
    /// Failed connections and lost binds, by operator.
    operator_reconnects: Family<OperatorLabel, Counter> = "operator_reconnects", Family::default();
    /// Binds that were closed because the operator did not answer an enquire_link in time.
    operator_enquire_timeouts: Family<OperatorLabel, Counter> = "operator_enquire_link_timeouts", Family::default();
    /// Octets of SMPP exchanged with operators, without those of TLS; direction is sent or received.
    operator_octets: Family<DirectionLabel, Counter> = "operator_octets", Family::default();
    /// Messages sent to operators that carry a long text: parts (one of several, by UDH or sar TLVs) or payload (message_payload).
    operator_long: Family<FormLabel, Counter> = "operator_long_messages", Family::default();
    /// Receipts by operator and state; matched says that their message was found, unmatched that it was not (yet), heard that it was and may end with another state (`receipts.settle_after`), strange that the word is of no standard and ends nothing.
    operator_receipts: Family<ReceiptLabel, Counter> = "operator_receipts", Family::default();
    /// Times that the queue of an operator waited for tokens of its rate.
    operator_waits: Family<QueueLabel, Counter> = "operator_throttle_waits", Family::default();
    /// Commands of NATS that went back to their stream, because the rate of their operator was used up.
    operator_commands_throttled: Family<QueueLabel, Counter> = "operator_commands_throttled", Family::default();
    /// Times that this node lost its lease and stood back (closed its operator binds).
    leases_lost: Counter = "cluster_leases_lost", Counter::default();
    /// Partitions that this node owns and cannot read: it has failed again and again to take them over, and nothing of them is sent.
    takeovers_failing: Gauge = "takeovers_failing", Gauge::default();
    /// Dead nodes that this node took over.
    nodes_buried: Counter = "cluster_nodes_taken_over", Counter::default();
    /// Items that other nodes handed off to this one through the hand-off table.
    items_collected: Counter = "cluster_items_collected", Counter::default();
    /// Completed rounds of the janitor, which runs once a minute on one node of the cluster.
    janitor_rounds: Counter = "janitor_rounds", Counter::default();
    /// Active messages that were in no queue of their owner, found by comparing store and queues, and put back.
    put_back: Counter = "messages_put_back", Counter::default();
    /// Octets of memory that bodies of messages in queues may take now, of queue.page_mib.
    queued_octets: Gauge = "queue_body_octets", Gauge::default();
    /// Octets of memory of submissions that are not durable yet, of smpp.intake_mib.
    arriving_octets: Gauge = "intake_octets", Gauge::default();
    /// Connections refused because the listener was at its limit.
    connections_refused: Counter = "connections_refused", Counter::default();
    /// Connections of ESMEs that ended before SMPP began, by reason: stranger (address not in proxy_from), proxy (no usable PROXY header), tls (the handshake failed), late (session_init_timeout), or crowded (smpp.max_unbound_per_address); or before they had bound: unbound (many requests and no bind).
    connections_failed: Family<ReasonLabel, Counter> = "connections_failed", Family::default();
    /// Connections, in or out, that were closed because the peer did not read.
    slow_readers: Counter = "slow_readers_cut_off", Counter::default();
    /// Silent binds that were replaced by a new one of their account.
    binds_replaced: Counter = "binds_replaced", Counter::default();
    /// PDUs that could not be decoded, by the command_status of the answer.
    malformed: Family<StatusLabel, Counter> = "pdus_malformed", Family::default();
    /// Seconds from an attempt (submit_sm to an operator, deliver_sm to an account) until its answer, by queue.
    attempt_seconds: Family<QueueLabel, LatencyHistogram> = "attempt_seconds", Family::new_with_constructor(traced as fn() -> LatencyHistogram);
    /// Attempts, by queue and result: ok, temporary, permanent, throttled or unanswered.
    attempts: Family<AttemptLabel, Counter> = "attempts", Family::default();
    /// Messages and commands of handsets that were answered, by GSM network and RP-cause (3GPP TS 24.011 §8.2.5.4); 0 is RP-ACK.
    gsm_submissions: Family<CauseLabel, Counter> = "gsm_submissions", Family::default();
    /// What others have asked of a GSM network over MAP and did not get, by network and result: refused (an operation that is not served, or a dialogue that cannot be read or has no room), unanswered (above 100 of those a second), or disbelieved (an alert above 200 a second of one node, or 1,000 of all).
    gsm_unserved: Family<UnservedLabel, Counter> = "gsm_unserved", Family::default();
    /// Requests of others over MAP that the firewall has looked at, by GSM network, rule and action: none and pass when no rule has found them, otherwise count, report, dry, block or drop.
    gsm_firewall: Family<FirewallLabel, Counter> = "gsm_firewall_requests", Family::default();
    /// What home routing did, by GSM network: questions_answered and questions_refused (sendRoutingInfoForSM of others for our subscribers), messages_taken and messages_refused (what they brought for an id), unknown_ids (for one that is unknown or over).
    gsm_home_routing: Family<HomeRoutingLabel, Counter> = "gsm_home_routing", Family::default();
    /// Answers of peers other than ESME_ROK, by queue and command_status; vendor statuses (0x400-0x4FF) in hexadecimal.
    attempts_refused: Family<AnswerLabel, Counter> = "attempts_refused", Family::default();
    /// Seconds from reading submissions until they are durable or refused; one observation per batch.
    ingest_seconds: LatencyHistogram = "ingest_seconds", traced();
    /// Seconds from the acceptance of a message until its final state, by state.
    message_seconds: Family<StateLabel, LatencyHistogram> = "message_seconds", Family::new_with_constructor(long as fn() -> LatencyHistogram);
    /// Seconds from the final state of a message until its account has acknowledged the receipt.
    receipt_seconds: LatencyHistogram = "receipt_seconds", long();
    /// Pauses of a queue because its operator's or account's rate was used up.
    throttle_waits: Counter = "throttle_waits", Counter::default();
    /// Messages that waited for a subscriber and were tried at once because it was there again.
    woken: Counter = "woken", Counter::default();
    /// New messages that waited for room in the memory of a queue that was as fast as the machine allows.
    intake_held_back: Counter = "intake_held_back", Counter::default();
    /// Network look-ups for waiting messages, by result: cached (on this node), shared (in Redis), found, not_ported or failed.
    lookups: Family<ResultLabel, Counter> = "resolver_lookups", Family::default();
    /// Seconds that the look-up service took per number, failures included.
    lookup_seconds: Histogram = "resolver_lookup_seconds", outside();
    /// Messages whose number could not be looked up, by what happened to them: routed or refused.
    lookups_given_up: Family<ResultLabel, Counter> = "resolver_given_up", Family::default();
    /// 1 while the look-up service counts as away (resolver.breaker_failures).
    resolver_away: Gauge = "resolver_service_away", Gauge::default();
    /// IMSI look-ups for waiting messages, by result: cached (on this node), shared (in Redis), found, unknown (no such subscriber) or failed; doubted are those of numbers whose IMSI a GSM network did not know.
    imsi_lookups: Family<ResultLabel, Counter> = "imsi_lookups", Family::default();
    /// Seconds that a source of IMSIs took per number, failures included.
    imsi_lookup_seconds: Histogram = "imsi_lookup_seconds", outside();
    /// 1 while a source of IMSIs counts as away (imsi.breaker_failures): messages wait for it.
    imsi_away: Gauge = "imsi_source_away", Gauge::default();
    /// Messages between actors that wait to be handled, by kind of actor; each is a batch.
    mailbox_depth: Family<ActorLabel, Gauge> = "actor_mailbox_depth", Family::default();
    /// Seconds that messages between actors waited, by kind of actor.
    mailbox_wait: Family<ActorLabel, Histogram> = "actor_mailbox_wait_seconds", Family::new_with_constructor(inside as fn() -> Histogram);
    /// Seconds that an actor took to handle a message, by kind of actor.
    handling: Family<ActorLabel, Histogram> = "actor_handling_seconds", Family::new_with_constructor(inside as fn() -> Histogram);
    /// Messages that are traced, by reason: head (picked by telemetry.trace_ratio), parent (the sender asked for it) or failure.
    traces: Family<ReasonLabel, Counter> = "traces", Family::default();
    /// Spans that the collector accepted.
    spans_exported: Counter = "trace_spans_exported", Counter::default();
    /// Spans that were lost, by reason: full (the queue of spans was full), refused (the collector did not take them) or busy (the trace of a failure, among too many).
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

    /// Counts the answer to what a handset has sent; 0 is RP-ACK.
    pub fn answered_handset(&self, gsm: &str, cause: u8) {
        let gsm = gsm.to_owned();
        self.gsm_submissions
            .get_or_create(&CauseLabel { gsm, cause })
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

    /// Counts a request that the firewall of a GSM network has looked at.
    pub fn screened(&self, gsm: &str, rule: &'static str, action: &'static str) {
        let gsm = gsm.to_owned();
        self.gsm_firewall
            .get_or_create(&FirewallLabel { gsm, rule, action })
            .inc();
    }

    /// Counts what home routing did.
    pub fn home_routed(&self, gsm: &str, event: &'static str) {
        let gsm = gsm.to_owned();
        self.gsm_home_routing
            .get_or_create(&HomeRoutingLabel { gsm, event })
            .inc();
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
