//! The loop of a simulated network: it accepts connections, flushes the journal, and makes messages of handsets.
//!
//! Run by the simulated core and the simulated gateway, which say what each of that is.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::simulator::journal::FLUSH_EVERY;

/// How often messages of handsets are made: in small batches at high rates.
const MO_EVERY: Duration = Duration::from_millis(10);

/// What all connections of a simulated network share.
pub(crate) trait SimulatedNetwork: Send + Sync + 'static {
    /// Writes what the journal has gathered.
    fn flush(&self);

    /// Makes the messages of handsets that became due in this time.
    fn make_mo(&self, passed: Duration);
}

/// Serves connections until it is dropped.
pub(crate) async fn run<N: SimulatedNetwork, F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    network: Arc<N>,
    serve: fn(Arc<N>, TcpStream) -> F,
) {
    let mut connections = JoinSet::new();
    let (mut flush, mut mo) = (unhurried(FLUSH_EVERY), unhurried(MO_EVERY));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    connections.spawn(serve(Arc::clone(&network), socket));
                }
                // Too many open files: a moment later there may be room.
                Err(_) => tokio::time::sleep(MO_EVERY).await,
            },
            _ = flush.tick() => network.flush(),
            _ = mo.tick() => network.make_mo(MO_EVERY),
            Some(_) = connections.join_next() => {}
        }
    }
}

fn unhurried(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
