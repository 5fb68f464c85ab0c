//! One SMSC at a simulated network: its messages in, those of the network out, and what is due meanwhile.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, interval};

use super::gateway::{LinkMessage, LinkOrder};
use super::phones::MapPhones;
use super::socket::MapSocket;
use super::{MapStp, MapTransport};
use crate::table::at;

/// How often dialogues in which nothing moves are looked for.
const TICK: Duration = Duration::from_millis(500);

/// Pause before an STP is connected again.
const PAUSE: Duration = Duration::from_secs(1);

/// Messages that may wait for one connection; more are not sent.
const ORDERS: usize = 64 * 1024;
/// Messages that are written at once.
const BATCH: usize = 256;

/// Serves a connection until it ends.
pub(super) async fn serve(phones: Arc<MapPhones>, mut socket: MapSocket) {
    let (orders, mut ordered) = mpsc::channel(ORDERS);
    let number = phones.came(orders, now());
    let mut tick = interval(TICK);
    loop {
        tokio::select! {
            received = socket.receive() => match received {
                Ok(Some(message)) => phones.received(number, &message, now()),
                Ok(None) | Err(_) => break,
            },
            order = ordered.recv() => {
                let Some(batch) = batch(order, &mut ordered) else { break };
                if socket.send(&batch).await.is_err() {
                    break;
                }
            }
            () = at(phones.next_due()) => phones.on_due(now()),
            _ = tick.tick() => phones.on_tick(now()),
        }
    }
    phones.gone(number, now());
}

/// Connects to an STP, and again when the connection has ended.
pub(super) async fn dial(stp: MapStp, transport: MapTransport, phones: Arc<MapPhones>) {
    loop {
        if let Ok(socket) = MapSocket::connect(&stp, transport).await {
            serve(Arc::clone(&phones), socket).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What is to be sent now; `None` when the connection is to be closed.
fn batch(
    first: Option<LinkOrder>,
    ordered: &mut mpsc::Receiver<LinkOrder>,
) -> Option<Vec<LinkMessage>> {
    let mut batch = Vec::new();
    let mut next = first;
    loop {
        match next {
            Some(LinkOrder::Send(message)) => batch.push(message),
            Some(LinkOrder::Cut) => return None,
            // The sender lives as long as the connection.
            None => return (!batch.is_empty()).then_some(batch),
        }
        if batch.len() == BATCH {
            return Some(batch);
        }
        next = ordered.try_recv().ok();
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}
