//! The loop of a simulated network: it accepts connections, flushes the journal, and makes messages of handsets.
//!
//! Run by the simulated operator, core and gateway, which say what each of that is.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use crate::simulator::journal::{FLUSH_EVERY, Journal};
use crate::simulator::{MoOptions, SimulatorOptions};

/// How often messages of handsets are made: in small batches at high rates.
const MO_EVERY: Duration = Duration::from_millis(10);
/// Pause after the system refused to accept a connection (too many open files).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What all connections of a simulated network share.
pub(crate) trait SimulatedNetwork: Send + Sync + 'static {
    /// What accepted messages are written to.
    fn journal(&self) -> Option<&Journal>;

    /// The messages of handsets that are to be made.
    fn mo(&self) -> Option<&MoOptions>;

    /// Makes those that became due in this time.
    fn make_mo(&self, passed: Duration);
}

/// What connections come in by.
pub(crate) trait NetworkDoor: Send {
    /// A connection.
    type Socket: Send + 'static;

    /// The next connection.
    fn accept(&self) -> impl Future<Output = io::Result<Self::Socket>> + Send;
}

/// Takes the port of a simulated network, and opens its journal.
///
/// # Errors
/// When the port is taken or the journal cannot be created.
pub(crate) async fn open(options: &SimulatorOptions) -> io::Result<(TcpListener, Option<Journal>)> {
    let listener = TcpListener::bind(&options.listen).await?;
    let journal = options.journal.as_deref().map(Journal::create);
    Ok((listener, journal.transpose()?))
}

/// Serves connections until it is dropped; makes messages of handsets all the same without a listener.
pub(crate) async fn run<N, D, F>(door: D, network: Arc<N>, serve: fn(Arc<N>, D::Socket) -> F)
where
    N: SimulatedNetwork,
    D: NetworkDoor,
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let (mut flush, mut mo) = (unhurried(FLUSH_EVERY), unhurried(MO_EVERY));
    let mut made = Instant::now();
    loop {
        tokio::select! {
            accepted = door.accept() => match accepted {
                Ok(socket) => {
                    connections.spawn(serve(Arc::clone(&network), socket));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            _ = flush.tick(), if network.journal().is_some() => {
                if let Some(journal) = network.journal() {
                    journal.flush();
                }
            }
            _ = mo.tick(), if network.mo().is_some() => {
                let now = Instant::now();
                network.make_mo(now - made);
                made = now;
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

impl NetworkDoor for Option<TcpListener> {
    type Socket = TcpStream;

    async fn accept(&self) -> io::Result<TcpStream> {
        match self {
            Some(listener) => Ok(listener.accept().await?.0),
            None => std::future::pending().await,
        }
    }
}

/// Ticks that are not made up for when they were missed.
pub(crate) fn unhurried(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
