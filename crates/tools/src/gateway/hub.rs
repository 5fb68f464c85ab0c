//! What the connections of a simulated gateway share: which messages get which result, what waits to be brought to the
//! SMSC, the journal and the counters.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smsc_smpp::CommandStatus;
use tokio::sync::Notify;

use super::GatewayOptions;
use super::dialect::{GatewayDelivery, GatewaySubmission, What, id_of};
use crate::network::SimulatedNetwork;
use crate::simulator::MoOptions;
use crate::simulator::journal::{Journal, push_escaped};
use crate::simulator::options::Moods;
use smsc_host::clock;

/// Octets of a text in the journal.
const SHOWN: usize = 40;
/// Most messages of handsets that wait for a connection.
const MOST_MO: usize = 10_000;
/// A message of a handset that was refused as often is dropped, as a gateway does.
const MOST_REFUSALS: u32 = 3;
/// What failed messages end as, in turn.
const FAILURES: [&str; 5] = ["EXPIRED", "REJECTD", "DELETED", "MB:0069", "UNDELIV"];

/// See the file's documentation.
#[derive(Debug)]
pub(super) struct GatewayHub {
    pub(super) options: GatewayOptions,
    journal: Option<Journal>,
    /// Tells one connection that something waits.
    waits: Notify,
    state: Mutex<HubState>,
}

#[derive(Debug, Default)]
struct HubState {
    moods: Moods,
    /// Number of the last message.
    number: u64,
    /// Messages of handsets that are due, in parts of one.
    mo: f64,
    /// Connections on which something may be brought.
    receivers: usize,
    waiting: VecDeque<GatewayDelivery>,
    accepted: u64,
    refused: u64,
    reported: u64,
    dropped: u64,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageFate {
    Accepted(u64),
    Refused(CommandStatus),
    Silence,
}

// === impl GatewayHub ===

impl GatewayHub {
    /// Numbers of several runs differ in their upper bits.
    pub(super) fn new(options: GatewayOptions, journal: Option<Journal>) -> Self {
        let state = HubState {
            moods: Moods::new(&options.like),
            number: rand::random_range(1..1 << 30) << 32,
            ..HubState::default()
        };
        Self {
            options,
            journal,
            waits: Notify::new(),
            state: Mutex::new(state),
        }
    }

    /// Decides about a message; an accepted one gets a number.
    pub(super) fn judge(&self) -> MessageFate {
        let mut state = self.lock();
        let Some(status) = state.moods.answer(&self.options.like, || false) else {
            return MessageFate::Silence;
        };
        if !status.is_ok() {
            state.refused += 1;
            return MessageFate::Refused(status);
        }
        state.number += 1;
        state.accepted += 1;
        MessageFate::Accepted(state.number)
    }

    /// The word of the report that a message will get.
    pub(super) fn stat(&self) -> Option<&'static str> {
        let mut state = self.lock();
        (state.moods).receipt(&self.options.like, "DELIVRD", FAILURES)
    }

    /// Writes an accepted message down, a line for each recipient.
    pub(super) fn write(&self, taken: &GatewaySubmission, id: impl FnOnce() -> String) {
        let Some(journal) = &self.journal else {
            return;
        };
        let (id, now) = (id(), clock::now_ms());
        let mut lines = Vec::new();
        for number in &taken.to {
            lines.extend_from_slice(id.as_bytes());
            lines.push(b'\t');
            lines.extend_from_slice(number);
            lines.push(b'\t');
            push_escaped(&mut lines, &taken.text[..taken.text.len().min(SHOWN)]);
            lines.extend_from_slice(format!("\t{now}\t\n").as_bytes());
        }
        journal.append(&mut lines);
    }

    /// Keeps what is to be brought until a connection takes it.
    pub(super) fn bring(&self, brought: impl IntoIterator<Item = GatewayDelivery>) {
        self.lock().waiting.extend(brought);
    }

    /// Returns when another connection has left something to be brought.
    pub(super) async fn filled(&self) {
        self.waits.notified().await;
    }

    /// Wakes one of the connections for what waits.
    pub(super) fn wake_if_waiting(&self) {
        if !self.lock().waiting.is_empty() {
            self.waits.notify_one();
        }
    }

    /// What is to be brought next.
    pub(super) fn next(&self) -> Option<GatewayDelivery> {
        self.lock().waiting.pop_front()
    }

    /// Whether a connection would have something to bring.
    pub(super) fn has_work(&self) -> bool {
        self.mo().is_some() || !self.lock().waiting.is_empty()
    }

    /// Something brought was taken.
    pub(super) fn taken(&self) {
        self.lock().reported += 1;
    }

    /// Something brought was refused; whether it is brought again. Reports are, until they are taken.
    pub(super) fn refused(&self, brought: &mut GatewayDelivery) -> bool {
        brought.refusals += 1;
        let again = matches!(brought.what, What::Report { .. }) || brought.refusals < MOST_REFUSALS;
        if !again {
            self.lock().dropped += 1;
        }
        again
    }

    /// A connection begins, or ends, on which something may be brought.
    pub(super) fn receives(&self, begins: bool) {
        let mut state = self.lock();
        state.receivers = if begins {
            state.receivers + 1
        } else {
            state.receivers.saturating_sub(1)
        };
    }

    pub(super) fn counts(&self) -> String {
        let state = self.lock();
        format!(
            "accepted {}, refused {}, brought {}, dropped {}, waiting {}",
            state.accepted,
            state.refused,
            state.reported,
            state.dropped,
            state.waiting.len()
        )
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SimulatedNetwork for GatewayHub {
    fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    fn mo(&self) -> Option<&MoOptions> {
        self.options.like.mo.as_ref()
    }

    fn make_mo(&self, passed: Duration) {
        let Some(mo) = self.mo() else { return };
        let mut state = self.lock();
        if state.receivers == 0 {
            return;
        }
        for _ in 0..mo.due(&mut state.mo, passed) {
            if state.waiting.len() >= MOST_MO {
                break;
            }
            state.number += 1;
            let brought = GatewayDelivery {
                id: id_of(state.number),
                number: mo.from.clone().into(),
                to: mo.to.clone().into(),
                what: What::Message {
                    text: format!("MO {}", state.number).into(),
                },
                refusals: 0,
            };
            state.waiting.push_back(brought);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use smsc_cmpp::Cmpp;
    use smsc_smgp::Smgp;

    use super::super::GatewayProtocol;
    use super::super::dialect::Dialect as _;
    use super::*;
    use crate::simulator::SimulatorOptions;

    const MINUTE: &str = "2611210859";

    fn hub() -> GatewayHub {
        let options = GatewayOptions {
            protocol: GatewayProtocol::Cmpp,
            like: SimulatorOptions {
                mo: Some(MoOptions {
                    per_second: 10.0,
                    from: "13800138000".to_owned(),
                    to: "10655".to_owned(),
                }),
                ..SimulatorOptions::default()
            },
            bring_to: None,
        };
        GatewayHub::new(options, None)
    }

    #[test]
    fn messages_of_handsets_come_only_while_somebody_receives_them() {
        let hub = hub();
        let second = Duration::from_secs(1);
        hub.make_mo(second);
        assert!(hub.next().is_none());
        hub.receives(true);
        hub.make_mo(second);
        let made = std::iter::from_fn(|| hub.next()).count();
        assert_eq!(made, 10);
        hub.receives(false);
        hub.make_mo(second);
        assert!(hub.next().is_none());
    }

    #[test]
    fn each_message_of_a_handset_has_an_id_of_its_own() {
        let hub = hub();
        hub.receives(true);
        hub.make_mo(Duration::from_secs(1));
        let (mut cmpp, mut smgp) = (BTreeSet::new(), BTreeSet::new());
        while let Some(message) = hub.next() {
            if let Some(smsc_cmpp::Body::Deliver(deliver)) = Cmpp::V20.bring(&message, MINUTE) {
                cmpp.insert(deliver.msg_id);
            }
            if let Some(smsc_smgp::Body::Deliver(deliver)) = Smgp.bring(&message, MINUTE) {
                smgp.insert(deliver.msg_id.0);
            }
        }
        assert_eq!((cmpp.len(), smgp.len()), (10, 10));
        assert!(!cmpp.contains(&0));
    }

    #[test]
    fn a_refused_message_is_dropped_and_a_refused_report_is_not() {
        let hub = hub();
        hub.receives(true);
        hub.make_mo(Duration::from_millis(100));
        let mut message = hub.next().unwrap();
        assert!(hub.refused(&mut message) && hub.refused(&mut message));
        assert!(!hub.refused(&mut message));
        let mut report = GatewayDelivery {
            what: What::Report {
                service: Default::default(),
                stat: "DELIVRD",
            },
            ..message
        };
        assert!((0..10).all(|_| hub.refused(&mut report)));
        assert!(hub.counts().contains("dropped 1"));
    }
}
