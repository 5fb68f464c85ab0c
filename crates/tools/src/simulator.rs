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
mod table;
#[cfg(test)]
mod tests;
mod traffic;
pub mod wire;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
pub use counters::{CounterSnapshot, SimulatorCounters};
pub use options::{Delay, MoOptions, Profile, ReceiptBehaviour, SimulatorOptions, TcpBehaviour};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use self::counters::add;
use self::delivery::{DeliveryKind, Mo, SimulatedDelivery};
use self::hub::ReceiverHub;
use self::journal::{FLUSH_EVERY, Journal};
use smsc_domain::limit::Gcra;
use smsc_host::clock;

/// How often mobile-originated messages are sent: in small batches at high rates.
const MO_EVERY: Duration = Duration::from_millis(10);
/// Ids start at the second of the start times this: no id is used again after a restart, as long
/// as fewer than this many messages a second are taken on average.
const IDS_PER_SECOND: u64 = 1_000_000;
/// Pause after the system refused to accept a connection (too many open files).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

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
}

// === impl Simulator ===

impl Simulator {
    /// Takes the port and opens the journal. Connections queue up until [`Self::run`].
    ///
    /// # Errors
    /// When the port is taken or the journal cannot be created.
    pub async fn bind(options: SimulatorOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(&options.listen).await?;
        let address = listener.local_addr()?;
        let journal = options
            .journal
            .as_deref()
            .map(Journal::create)
            .transpose()?;
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
        let mut connections = JoinSet::new();
        let mut mo = MoSource::new(&self.shared.options);
        let mut flush = interval(FLUSH_EVERY);
        flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut mo_tick = interval(MO_EVERY);
        mo_tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                accepted = accept(self.listener.as_ref()) => match accepted {
                    Ok(stream) => {
                        add(&self.shared.counters.connections, 1);
                        if self.shared.options.door == TcpBehaviour::Open {
                            connections.spawn(connection::serve(self.shared.clone(), stream));
                        }
                    }
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
                Some(_) = connections.join_next() => {}
                _ = flush.tick(), if self.shared.journal.is_some() => {
                    if let Some(journal) = &self.shared.journal {
                        journal.flush();
                    }
                }
                _ = mo_tick.tick(), if mo.is_some() => {
                    if let Some(mo) = &mut mo {
                        mo.send(&self.shared.hub);
                    }
                }
            }
        }
    }
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => Ok(listener.accept().await?.0),
        None => std::future::pending().await,
    }
}

/// Makes mobile-originated messages at a rate.
struct MoSource {
    options: MoOptions,
    since: Instant,
    /// Sent since then.
    sent: u64,
    /// Sent at all: the number in the text.
    total: u64,
}

// === impl MoSource ===

impl MoSource {
    fn new(options: &SimulatorOptions) -> Option<Self> {
        options.mo.clone().map(|options| Self {
            options,
            since: Instant::now(),
            sent: 0,
            total: 0,
        })
    }

    /// Sends what is due. The rate starts when a receiver binds: nothing is saved up before.
    fn send(&mut self, hub: &ReceiverHub) {
        let now = Instant::now();
        let due = (now - self.since).as_secs_f64() * self.options.per_second;
        let count = (due as u64).saturating_sub(self.sent);
        let batch: Vec<SimulatedDelivery> = (self.total..self.total + count)
            .map(|number| SimulatedDelivery {
                due: now,
                refusals: 0,
                kind: DeliveryKind::Mo(self.message(number)),
            })
            .collect();
        if batch.is_empty() {
            return;
        }
        match hub.forward_to_any(batch) {
            Ok(()) => {
                self.sent += count;
                self.total += count;
            }
            Err(_) => {
                self.since = now;
                self.sent = 0;
            }
        }
    }

    fn message(&self, number: u64) -> Mo {
        Mo {
            from: Bytes::copy_from_slice(self.options.from.as_bytes()),
            to: Bytes::copy_from_slice(self.options.to.as_bytes()),
            text: Bytes::from(format!("mo {number}")),
        }
    }
}
