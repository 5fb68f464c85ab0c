//! Simulates an operator: an SMPP server that any ESME can bind to, well-behaved or not.
//!
//! Used by `smsc simulate`, by `smsc serve` when nothing is configured, and by tests:
//!
//! ```text
//! accept loop ─→ connection (bind, PDUs) ─→ traffic (answers, receipts, one table of deadlines)
//!      │                                        │
//!      └─ MO, journal flush, counters       hub (receipts for another bind, parked receipts)
//! ```
//!
//! Invariants: each accepted message has an id that is never used again, a line in the journal, and
//! (when asked for) a receipt that is repeated after a lost connection until it is acknowledged.
//! Nothing survives a restart. A message costs about one decode, two encodes and its share of one
//! read and one write: no task, channel or map per message.

mod connection;
pub mod counters;
mod delivery;
mod hub;
pub mod in_flight;
pub mod journal;
pub mod message_id;
pub mod options;
#[cfg(test)]
mod tests;
mod traffic;
pub mod wire;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use counters::{CounterSnapshot, SimulatorCounters};
pub use options::{Delay, MoOptions, Profile, ReceiptBehaviour, SimulatorOptions, TcpBehaviour};
use tokio::net::TcpListener;

use self::delivery::{DeliveryKind, Mo, SimulatedDelivery};
use self::hub::ReceiverHub;
use self::journal::Journal;
use crate::network::{self, SimulatedNetwork};
use smsc_domain::limit::Gcra;
use smsc_host::clock;

/// Ids start at the second of the start times this: no id is used again after a restart, as long
/// as fewer than this many messages a second are taken on average.
const IDS_PER_SECOND: u64 = 1_000_000;

/// A simulated operator that has its port and waits to be run.
#[derive(Debug)]
pub struct Simulator {
    /// `None` for an operator that refuses connections.
    listener: Option<TcpListener>,
    address: SocketAddr,
    shared: Arc<SimulatorShared>,
}

/// What all connections of one simulator share.
#[derive(Debug)]
struct SimulatorShared {
    options: SimulatorOptions,
    counters: Arc<SimulatorCounters>,
    hub: ReceiverHub,
    journal: Option<Journal>,
    limit: Option<Mutex<Gcra>>,
    next_id: AtomicU64,
    started: Instant,
    /// Mobile-originated messages: what is due, in parts of one, and how many were sent, which is the number in the text.
    mo: Mutex<(f64, u64)>,
}

// === impl Simulator ===

impl Simulator {
    /// Takes the port and opens the journal. Connections queue up until [`Self::run`].
    ///
    /// # Errors
    /// When the port is taken or the journal cannot be created.
    pub async fn bind(options: SimulatorOptions) -> io::Result<Self> {
        let (listener, journal) = network::open(&options).await?;
        let address = listener.local_addr()?;
        let counters = Arc::new(SimulatorCounters::default());
        let seconds = u64::try_from(clock::now_ms() / 1000).unwrap_or(0);
        // A burst of a tenth of a second is what operators commonly grant.
        let limit = options
            .rate
            .map(|rate| Gcra::new(rate, (rate / 10.0).ceil() as u32));
        Ok(Self {
            listener: (options.door != TcpBehaviour::Shut).then_some(listener),
            address,
            shared: Arc::new(SimulatorShared {
                hub: ReceiverHub::new(counters.clone()),
                counters,
                journal,
                limit: limit.map(Mutex::new),
                next_id: AtomicU64::new(seconds.saturating_mul(IDS_PER_SECOND)),
                started: Instant::now(),
                mo: Mutex::default(),
                options,
            }),
        })
    }

    /// The listening address, with the actual port if port 0 was requested.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The counters, to be read while it runs and afterwards.
    pub fn counters(&self) -> Arc<SimulatorCounters> {
        self.shared.counters.clone()
    }

    /// Serves until the future is dropped, which closes every connection and flushes the journal.
    pub async fn run(self) {
        network::run(self.listener, self.shared, connection::serve).await;
    }
}

// === impl SimulatorShared ===

impl SimulatorShared {
    /// Whether a message is one too many for the rate; it counts from now on.
    fn is_over_limit(&self, now: Instant) -> bool {
        let Some(limit) = &self.limit else {
            return false;
        };
        let now_ns = (now - self.started).as_nanos() as u64;
        let mut limit = limit.lock().unwrap_or_else(PoisonError::into_inner);
        limit.take(now_ns, 1).granted == 0
    }
}

impl SimulatedNetwork for SimulatorShared {
    fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    fn mo(&self) -> Option<&MoOptions> {
        self.options.mo.as_ref()
    }

    fn make_mo(&self, passed: Duration) {
        let Some(options) = self.mo() else { return };
        let mut mo = self.mo.lock().unwrap_or_else(PoisonError::into_inner);
        let (owed, sent) = &mut *mo;
        let due = options.due(owed, passed);
        let batch: Vec<SimulatedDelivery> = (*sent..*sent + due)
            .map(|number| SimulatedDelivery {
                due: Instant::now(),
                refusals: 0,
                kind: DeliveryKind::Mo(Mo {
                    from: options.from.clone().into(),
                    to: options.to.clone().into(),
                    text: format!("mo {number}").into(),
                }),
            })
            .collect();
        // Nothing is saved up for a receiver that binds later.
        if !batch.is_empty() && self.hub.forward_to_any(batch) {
            *sent += due;
        }
    }
}
