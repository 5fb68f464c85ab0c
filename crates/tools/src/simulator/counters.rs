//! Counters of a simulated operator, readable while it runs.
//!
//! Connections add, once per message; tests, `smsc serve` and `smsc simulate` read. Everything only
//! grows, except the gauge of parked receipts.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident: $label:literal;)*) => {
        /// Shared between all connections of a simulator.
        #[derive(Debug, Default)]
        pub struct SimulatorCounters {
            $($(#[$doc])* pub $name: AtomicU64,)*
        }

        /// The counters at one moment.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
        pub struct CounterSnapshot {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl SimulatorCounters {
            /// All values now.
            pub fn snapshot(&self) -> CounterSnapshot {
                CounterSnapshot {
                    $($name: self.$name.load(Ordering::Relaxed),)*
                }
            }
        }

        impl fmt::Display for CounterSnapshot {
            /// One line per counter that is not zero.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(if self.$name > 0 {
                    writeln!(f, "{:<32} {:>14}", $label, self.$name)?;
                })*
                Ok(())
            }
        }
    };
}

counters! {
    /// TCP connections accepted.
    connections: "connections";
    /// Binds that succeeded.
    binds: "binds";
    /// Binds answered with an error.
    binds_refused: "binds refused";
    /// submit_sm (and deliver_sm) received.
    submits: "messages received";
    /// Messages answered with ESME_ROK.
    accepted: "messages accepted";
    /// Messages answered with ESME_RTHROTTLED.
    throttled: "messages throttled";
    /// Messages answered with another error.
    rejected: "messages rejected";
    /// Messages read and never answered.
    unanswered: "messages left unanswered";
    /// Answers lost because the connection ended first.
    answers_lost: "answers lost with a connection";
    /// Receipts written to a bind, repetitions included.
    receipts_sent: "receipts sent";
    /// Receipts answered with ESME_ROK.
    receipts_acknowledged: "receipts acknowledged";
    /// Receipts answered with an error.
    receipts_refused: "receipts refused";
    /// Receipts given up: refused for good, or too many were parked.
    receipts_dropped: "receipts dropped";
    /// Receipts that wait for a receiver bind, at the moment.
    receipts_parked: "receipts parked";
    /// Mobile-originated messages written.
    mo_sent: "MO sent";
    /// Mobile-originated messages answered with ESME_ROK.
    mo_acknowledged: "MO acknowledged";
    /// Mobile-originated messages answered with an error.
    mo_refused: "MO refused";
    /// enquire_link answered.
    enquire_links: "enquire_link answered";
    /// PDUs that could not be read.
    malformed: "malformed PDUs";
    /// Connections dropped on purpose.
    cuts: "connections cut";
}

/// Adds to a counter; order does not matter to anybody who reads.
pub(super) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_prints_what_happened() {
        let counters = SimulatorCounters::default();
        add(&counters.accepted, 3);
        let text = counters.snapshot().to_string();
        assert!(text.starts_with("messages accepted"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}
