//! What the connections of a simulated gateway share: which messages get which result, what waits to be brought to the
//! SMSC, the journal and the counters.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smsc_cmpp::bodies::{Deliver, Submit};
use smsc_cmpp::status;

use super::GatewayOptions;
use crate::network::Network;
use crate::simulator::Receipts;
use crate::simulator::journal::{Journal, push_escaped};
use crate::simulator::options::Share;
use smsc_host::clock;

/// Octets of a text in the journal.
const SHOWN: usize = 40;
/// Most messages of handsets that wait for a connection.
const MOST_MO: usize = 10_000;
/// What failed messages end as, in turn.
const FAILURES: [&str; 5] = ["UNDELIV", "EXPIRED", "REJECTD", "DELETED", "MB:0069"];

/// See the file's documentation.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) options: GatewayOptions,
    journal: Option<Journal>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    throttled: Share,
    rejected: Share,
    silent: Share,
    failed: Share,
    failures: usize,
    /// The last Msg_Id.
    msg_id: u64,
    /// Messages of handsets that are due, in parts of one.
    mo: f64,
    waiting: VecDeque<Deliver>,
    accepted: u64,
    refused: u64,
    reported: u64,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Accepted {
        msg_id: u64,
        /// The word of its report, if there will be one.
        stat: Option<&'static str>,
    },
    Refused(u32),
    Silence,
}

// === impl Hub ===

impl Hub {
    /// Msg_Ids of several runs differ in their upper bits.
    pub(super) fn new(options: GatewayOptions, journal: Option<Journal>) -> Self {
        let state = State {
            throttled: Share::new(options.throttle_percent),
            rejected: Share::new(options.reject_percent),
            silent: Share::new(options.silent_percent),
            failed: Share::new(options.fail_percent),
            failures: 0,
            msg_id: rand::random_range(1..1 << 30) << 32,
            mo: 0.0,
            waiting: VecDeque::new(),
            accepted: 0,
            refused: 0,
            reported: 0,
        };
        Self {
            options,
            journal,
            state: Mutex::new(state),
        }
    }

    /// Decides about a message, and writes it down if it is accepted.
    pub(super) fn take(&self, submit: &Submit) -> Fate {
        let mut state = self.lock();
        if state.silent.picks() {
            return Fate::Silence;
        }
        let refused = match () {
            () if state.throttled.picks() => Some(status::FLOW),
            () if state.rejected.picks() => Some(self.options.reject_result),
            () => None,
        };
        if let Some(result) = refused {
            state.refused += 1;
            return Fate::Refused(result);
        }
        state.msg_id += 1;
        state.accepted += 1;
        let msg_id = state.msg_id;
        let stat = match self.options.receipts {
            Receipts::Mixed if state.failed.picks() => {
                state.failures += 1;
                Some(FAILURES[state.failures % FAILURES.len()])
            }
            Receipts::None => None,
            Receipts::Delivered | Receipts::Mixed => Some("DELIVRD"),
        };
        drop(state);
        self.write(submit, msg_id);
        Fate::Accepted {
            msg_id,
            stat: stat.filter(|_| submit.registered_delivery != 0),
        }
    }

    fn write(&self, submit: &Submit, msg_id: u64) {
        let Some(journal) = &self.journal else {
            return;
        };
        let mut line = format!("{msg_id}\t").into_bytes();
        line.extend_from_slice(&submit.dest_terminal_id.0.join(&b","[..]));
        line.push(b'\t');
        let text = &submit.msg_content.0;
        push_escaped(&mut line, &text[..text.len().min(SHOWN)]);
        let now = clock::now_ms();
        line.extend_from_slice(format!("\t{now}\t\n").as_bytes());
        journal.append(&mut line);
    }

    /// Keeps what is to be brought until a connection takes it.
    pub(super) fn bring(&self, delivers: impl IntoIterator<Item = Deliver>) {
        self.lock().waiting.extend(delivers);
    }

    /// What is to be brought next.
    pub(super) fn next(&self) -> Option<Deliver> {
        self.lock().waiting.pop_front()
    }

    /// Something brought was taken.
    pub(super) fn taken(&self) {
        self.lock().reported += 1;
    }

    pub(super) fn counts(&self) -> String {
        let state = self.lock();
        format!(
            "accepted {}, refused {}, brought {}, waiting {}",
            state.accepted,
            state.refused,
            state.reported,
            state.waiting.len()
        )
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Network for Hub {
    fn flush(&self) {
        if let Some(journal) = &self.journal {
            journal.flush();
        }
    }

    fn make_mo(&self, passed: Duration) {
        let Some(mo) = &self.options.mo else {
            return;
        };
        let mut state = self.lock();
        state.mo += mo.per_second * passed.as_secs_f64();
        while state.mo >= 1.0 {
            state.mo -= 1.0;
            if state.waiting.len() >= MOST_MO {
                continue;
            }
            state.msg_id += 1;
            let deliver = Deliver {
                msg_id: state.msg_id,
                dest_id: mo.to.as_str().into(),
                src_terminal_id: mo.from.as_str().into(),
                msg_content: format!("MO {}", state.msg_id).as_str().into(),
                ..Deliver::default()
            };
            state.waiting.push_back(deliver);
        }
    }
}
