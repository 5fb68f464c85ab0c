//! Handles that are looked up once and kept by the code that counts: of an actor's mailbox, of a
//! queue's attempts.
//!
//! Made by the node context and by queues; used by the actors that send and receive.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::{ActorLabel, AttemptLabel, Metrics, QueueLabel, state_label};
use smsc_domain::command_status::Class;
use smsc_domain::state;
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
    seconds: Histogram,
    ok: Counter,
    temporary: Counter,
    permanent: Counter,
    throttled: Counter,
    unanswered: Counter,
}

/// Who reads events of the outbox.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ReaderLabel {
    pub reader: &'static str,
}

/// Final states: how many messages reached each, and after how long.
#[derive(Debug)]
pub struct StateMeters {
    /// By the number of the state.
    states: [(Counter, Histogram); STATES],
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
                match state::is_final(number as u8) {
                    true => {
                        let label = state_label(state);
                        (
                            self.finals.get_or_create_owned(&label),
                            self.message_seconds.get_or_create_owned(&label),
                        )
                    }
                    false => (Counter::default(), Histogram::new([])),
                }
            }),
        }
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
    /// A message has ended, so many milliseconds after its acceptance.
    pub fn ended(&self, state: MessageState, after_ms: i64) {
        if let Some((count, seconds)) = self.states.get(state as usize) {
            count.inc();
            seconds.observe(after_ms.max(0) as f64 / 1000.0);
        }
    }
}

// === impl AttemptMeter ===

impl AttemptMeter {
    /// ESME_ROK.
    pub fn succeeded(&self, after: Duration) {
        self.ok.inc();
        self.seconds.observe(after.as_secs_f64());
    }

    /// Another command_status, by what it means for the next attempt.
    pub fn refused(&self, class: Class, after: Duration) {
        match class {
            Class::Temporary => self.temporary.inc(),
            Class::Permanent => self.permanent.inc(),
            Class::Throttled => self.throttled.inc(),
        };
        self.seconds.observe(after.as_secs_f64());
    }

    /// No answer came.
    pub fn unanswered(&self) {
        self.unanswered.inc();
    }
}
