//! What the connections of a simulated gateway share: the numbers of messages, what waits to be brought to the SMSC, the
//! journal and the counters.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
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
    /// Tells one connection that something waits; the others look when they have something else to do, or tick.
    waits: Notify,
    /// Of the last message.
    number: AtomicU64,
    counters: GatewayCounters,
    /// Absent where all messages fare alike: then its lock is not fought for.
    moods: Option<Mutex<Moods>>,
    state: Mutex<HubState>,
}

#[derive(Debug, Default)]
struct HubState {
    /// Messages of handsets that are due, in parts of one.
    mo: f64,
    /// Connections on which something may be brought.
    receivers: usize,
    waiting: VecDeque<GatewayDelivery>,
}

/// What has happened so far.
#[derive(Debug, Default)]
struct GatewayCounters {
    accepted: AtomicU64,
    refused: AtomicU64,
    reported: AtomicU64,
    dropped: AtomicU64,
}

// === impl GatewayHub ===

impl GatewayHub {
    /// Numbers of several runs differ in their upper bits.
    pub(super) fn new(options: GatewayOptions, journal: Option<Journal>) -> Self {
        let like = &options.like;
        let moods = (!Moods::are_even(like)).then(|| Mutex::new(Moods::new(like)));
        Self {
            moods,
            options,
            journal,
            waits: Notify::new(),
            number: AtomicU64::new(rand::random_range(1..1 << 30) << 32),
            counters: GatewayCounters::default(),
            state: Mutex::default(),
        }
    }

    /// The answer to a message; `None` for silence.
    pub(super) fn answer(&self) -> Option<CommandStatus> {
        match self.moods() {
            None => Some(CommandStatus::ESME_ROK),
            Some(mut moods) => moods.answer(&self.options.like, || false),
        }
    }

    /// The word of the report that a message will get.
    pub(super) fn stat(&self) -> Option<&'static str> {
        const DELIVERED: &str = "DELIVRD";
        match self.moods() {
            None => Some(DELIVERED),
            Some(mut moods) => moods.receipt(&self.options.like, DELIVERED, FAILURES),
        }
    }

    /// The number of a message that is accepted.
    pub(super) fn accept(&self) -> u64 {
        self.counters.accepted.fetch_add(1, Relaxed);
        self.next_number()
    }

    /// A message is refused.
    pub(super) fn refuse(&self) {
        self.counters.refused.fetch_add(1, Relaxed);
    }

    fn next_number(&self) -> u64 {
        self.number.fetch_add(1, Relaxed) + 1
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

    /// Returns when a connection has left something to be brought.
    pub(super) async fn filled(&self) {
        self.waits.notified().await;
    }

    /// Keeps what a connection has made, and takes what is to be brought next, at most so much. Another connection is woken
    /// for what is left of what is new; for what is old, those without room would wake each other for ever.
    pub(super) fn exchange(
        &self,
        made: &mut Vec<GatewayDelivery>,
        most: usize,
    ) -> Vec<GatewayDelivery> {
        let is_new = !made.is_empty();
        let waiting = &mut self.lock().waiting;
        waiting.extend(made.drain(..));
        let most = most.min(waiting.len());
        let taken = waiting.drain(..most).collect();
        if is_new && !waiting.is_empty() {
            self.waits.notify_one();
        }
        taken
    }

    /// Whether a connection would have something to bring.
    pub(super) fn has_work(&self) -> bool {
        self.mo().is_some() || !self.lock().waiting.is_empty()
    }

    /// Something brought was taken.
    pub(super) fn taken(&self) {
        self.counters.reported.fetch_add(1, Relaxed);
    }

    /// Something brought was refused; whether it is brought again. Reports are, until they are taken.
    pub(super) fn refused(&self, brought: &mut GatewayDelivery) -> bool {
        brought.refusals += 1;
        let again = matches!(brought.what, What::Report { .. }) || brought.refusals < MOST_REFUSALS;
        if !again {
            self.counters.dropped.fetch_add(1, Relaxed);
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
        let counters = &self.counters;
        format!(
            "accepted {}, refused {}, brought {}, dropped {}, waiting {}",
            counters.accepted.load(Relaxed),
            counters.refused.load(Relaxed),
            counters.reported.load(Relaxed),
            counters.dropped.load(Relaxed),
            self.lock().waiting.len()
        )
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn moods(&self) -> Option<MutexGuard<'_, Moods>> {
        let moods = self.moods.as_ref()?;
        Some(moods.lock().unwrap_or_else(PoisonError::into_inner))
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
            let number = self.next_number();
            let brought = GatewayDelivery {
                id: id_of(number),
                number: mo.from.clone().into(),
                to: mo.to.clone().into(),
                what: What::Message {
                    text: format!("MO {number}").into(),
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

    fn next(hub: &GatewayHub) -> Option<GatewayDelivery> {
        hub.exchange(&mut Vec::new(), 1).pop()
    }

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
        assert!(next(&hub).is_none());
        hub.receives(true);
        hub.make_mo(second);
        let made = std::iter::from_fn(|| next(&hub)).count();
        assert_eq!(made, 10);
        hub.receives(false);
        hub.make_mo(second);
        assert!(next(&hub).is_none());
    }

    #[test]
    fn each_message_of_a_handset_has_an_id_of_its_own() {
        let hub = hub();
        hub.receives(true);
        hub.make_mo(Duration::from_secs(1));
        let (mut cmpp, mut smgp) = (BTreeSet::new(), BTreeSet::new());
        while let Some(message) = next(&hub) {
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
        let mut message = next(&hub).unwrap();
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
