//! Handles that are looked up once and kept by the code that counts: of an actor's mailbox, of a
//! queue's attempts.
//!
//! Made by the node context and by queues; used by the actors that send and receive.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::{
    ActorLabel, AttemptLabel, DirectionLabel, FormLabel, LatencyHistogram, Metrics, OperatorLabel,
    QueueLabel, ReaderLabel, ReceiptLabel, SinkLabel, state_label,
};
use smsc_domain::command_status::RefusalClass;
use smsc_domain::state;
use smsc_domain::trace::TraceId;
use smsc_proto::MessageState;

/// A [`MailboxMeter`], as it travels with messages.
pub type Mailbox = Arc<MailboxMeter>;

/// What waits in the mailboxes of actors of one kind, and how long their handlers take.
#[derive(Debug)]
pub struct MailboxMeter {
    pub depth: Gauge,
    pub wait: Histogram,
    pub handling: Histogram,
}

/// Attempts of one queue: their results and how long their answers took.
#[derive(Debug)]
pub struct AttemptMeter {
    seconds: LatencyHistogram,
    ok: Counter,
    temporary: Counter,
    permanent: Counter,
    throttled: Counter,
    unanswered: Counter,
}

/// What is exchanged with one operator, beside attempts.
#[derive(Debug)]
pub struct OperatorMeter {
    pub reconnects: Counter,
    pub enquire_timeouts: Counter,
    pub octets_sent: Counter,
    pub octets_received: Counter,
    /// Messages that are parts of a long one.
    pub parts: Counter,
    /// Long messages in one piece.
    pub payloads: Counter,
}

/// Final states: how many messages reached each, and after how long.
#[derive(Debug)]
pub struct StateMeters {
    /// By the number of the state.
    states: [(Counter, LatencyHistogram); STATES],
}

/// Numbers of message states are below this (SMPP 3.4 §5.2.28).
const STATES: usize = 9;

// === impl Metrics ===

impl Metrics {
    /// Counts events that a reader of the outbox has read; `lost` of their messages were deleted before.
    pub fn events_read(&self, reader: &'static str, events: usize, lost: usize) {
        let label = ReaderLabel { reader };
        let read = self.outbox_read.get_or_create_owned(&label);
        read.inc_by(events as u64);
        let gone = self.outbox_lost.get_or_create_owned(&label);
        gone.inc_by(lost as u64);
    }

    /// Shows what waits for a reader of the outbox, and the age of the oldest in milliseconds.
    pub fn events_waiting(&self, reader: &'static str, events: u64, age_ms: i64) {
        let label = ReaderLabel { reader };
        let signed = i64::try_from(events).unwrap_or(i64::MAX);
        self.outbox_waiting.get_or_create_owned(&label).set(signed);
        let oldest = self.outbox_oldest.get_or_create_owned(&label);
        oldest.set(age_ms.max(0) / 1000);
    }

    /// Shows a reader of the outbox no more.
    pub fn forget_reader(&self, reader: &'static str) {
        self.outbox_waiting.remove(&ReaderLabel { reader });
        self.outbox_oldest.remove(&ReaderLabel { reader });
    }

    /// Counts events that a sink has acknowledged; `lost` of their messages were deleted before.
    pub fn sink_published(&self, sink: &str, events: usize, lost: usize) {
        let label = sink_label(sink);
        let published = self.sink_published.get_or_create_owned(&label);
        published.inc_by(events as u64);
        let gone = self.sink_lost.get_or_create_owned(&label);
        gone.inc_by(lost as u64);
    }

    /// Shows a sink before anything has become of it.
    pub fn know_sink(&self, sink: &str) {
        self.sink_waiting(sink, 0, 0);
        self.sink_published(sink, 0, 0);
        drop(self.sink_failures.get_or_create_owned(&sink_label(sink)));
    }

    /// Publishing for a sink has failed.
    pub fn sink_failed(&self, sink: &str) {
        let failures = self.sink_failures.get_or_create_owned(&sink_label(sink));
        failures.inc();
    }

    /// Shows what waits for a sink, and the age of the oldest in milliseconds.
    pub fn sink_waiting(&self, sink: &str, events: u64, age_ms: i64) {
        let label = sink_label(sink);
        let signed = i64::try_from(events).unwrap_or(i64::MAX);
        self.sink_waiting.get_or_create_owned(&label).set(signed);
        let oldest = self.sink_oldest.get_or_create_owned(&label);
        oldest.set(age_ms.max(0) / 1000);
    }

    /// There is no such sink any more, or another one of its name.
    pub fn forget_sink(&self, sink: &str) {
        let label = sink_label(sink);
        self.sink_waiting.remove(&label);
        self.sink_oldest.remove(&label);
        self.sink_published.remove(&label);
        self.sink_lost.remove(&label);
        self.sink_failures.remove(&label);
    }

    /// The handle of a kind of actors.
    pub fn mailbox(&self, actor: &'static str) -> Mailbox {
        let label = ActorLabel { actor };
        Arc::new(MailboxMeter {
            depth: self.mailbox_depth.get_or_create_owned(&label),
            wait: self.mailbox_wait.get_or_create_owned(&label),
            handling: self.handling.get_or_create_owned(&label),
        })
    }

    /// The handles of all states.
    pub fn states(&self) -> StateMeters {
        StateMeters {
            states: std::array::from_fn(|number| {
                let state = MessageState::try_from(number as i32).unwrap_or_default();
                // Only what ends a message shows up before it was counted.
                if state::is_final(number as u8) {
                    let label = state_label(state);
                    (
                        self.finals.get_or_create_owned(&label),
                        self.message_seconds.get_or_create_owned(&label),
                    )
                } else {
                    (Counter::default(), LatencyHistogram::new([]))
                }
            }),
        }
    }

    /// The handles of an operator.
    pub fn operator(&self, operator: &str) -> OperatorMeter {
        let label = OperatorLabel {
            operator: operator.to_owned(),
        };
        let octets = |direction| {
            self.operator_octets.get_or_create_owned(&DirectionLabel {
                operator: operator.to_owned(),
                direction,
            })
        };
        let long = |form| {
            self.operator_long.get_or_create_owned(&FormLabel {
                operator: operator.to_owned(),
                form,
            })
        };
        OperatorMeter {
            reconnects: self.operator_reconnects.get_or_create_owned(&label),
            enquire_timeouts: self.operator_enquire_timeouts.get_or_create_owned(&label),
            octets_sent: octets("sent"),
            octets_received: octets("received"),
            parts: long("parts"),
            payloads: long("payload"),
        }
    }

    /// Counts receipts of an operator.
    pub fn receipts_of(
        &self,
        operator: &str,
        state: MessageState,
        result: &'static str,
        count: u64,
    ) {
        let label = ReceiptLabel {
            operator: operator.to_owned(),
            state: state_label(state).state,
            result,
        };
        let counter = self.operator_receipts.get_or_create_owned(&label);
        counter.inc_by(count);
    }

    /// How often a queue waited for tokens.
    pub fn waits_of(&self, queue: &str) -> Counter {
        let label = QueueLabel {
            queue: queue.to_owned(),
        };
        self.operator_waits.get_or_create_owned(&label)
    }

    /// Commands that were above the rate of a queue's operator.
    pub fn commands_throttled_of(&self, queue: &str) -> Counter {
        let label = QueueLabel {
            queue: queue.to_owned(),
        };
        self.operator_commands_throttled.get_or_create_owned(&label)
    }

    /// The handle of a queue's attempts.
    pub fn attempts_of(&self, queue: &str) -> AttemptMeter {
        let of = |result| {
            self.attempts.get_or_create_owned(&AttemptLabel {
                queue: queue.to_owned(),
                result,
            })
        };
        AttemptMeter {
            seconds: self.attempt_seconds.get_or_create_owned(&QueueLabel {
                queue: queue.to_owned(),
            }),
            ok: of("ok"),
            temporary: of("temporary"),
            permanent: of("permanent"),
            throttled: of("throttled"),
            unanswered: of("unanswered"),
        }
    }
}

// === impl StateMeters ===

impl StateMeters {
    /// A message has ended, so many milliseconds after its acceptance, in this trace.
    pub fn ended(&self, state: MessageState, after_ms: i64, trace: Option<TraceId>) {
        if let Some((count, seconds)) = self.states.get(state as usize) {
            count.inc();
            seconds.observe(after_ms.max(0) as f64 / 1000.0, trace);
        }
    }
}

// === impl AttemptMeter ===

/// How many attempts of a queue had which result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttemptCounts {
    pub all: u64,
    pub throttled: u64,
    /// Refused for another reason, for a while or for good.
    pub refused: u64,
    pub unanswered: u64,
}

impl AttemptMeter {
    /// Attempts by result so far.
    pub fn counts(&self) -> AttemptCounts {
        AttemptCounts {
            all: self.total(),
            throttled: self.throttled.get(),
            refused: self.temporary.get() + self.permanent.get(),
            unanswered: self.unanswered.get(),
        }
    }

    /// Attempts of every result so far.
    pub fn total(&self) -> u64 {
        let results = [
            &self.ok,
            &self.temporary,
            &self.permanent,
            &self.throttled,
            &self.unanswered,
        ];
        results.iter().map(|counter| counter.get()).sum()
    }

    /// ESME_ROK, for an attempt of this trace.
    pub fn succeeded(&self, after: Duration, trace: Option<TraceId>) {
        self.ok.inc();
        self.seconds.observe(after.as_secs_f64(), trace);
    }

    /// Another command_status, by what it means for the next attempt.
    pub fn refused(&self, class: RefusalClass, after: Duration, trace: Option<TraceId>) {
        match class {
            RefusalClass::Temporary => self.temporary.inc(),
            RefusalClass::Permanent => self.permanent.inc(),
            RefusalClass::Throttled => self.throttled.inc(),
        };
        self.seconds.observe(after.as_secs_f64(), trace);
    }

    /// No answer came.
    pub fn unanswered(&self) {
        self.unanswered.inc();
    }
}
fn sink_label(sink: &str) -> SinkLabel {
    SinkLabel {
        sink: sink.to_owned(),
    }
}
