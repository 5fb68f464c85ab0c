//! Accepts ESMEs' connections and starts a session for each, spread over the session arbiters.
//!
//! Started by `app`, one per address. A listener with a [`Door`] that has TLS or load balancers in
//! front lets them through there first ([`entrance`]), on the thread of the session to be.

mod entrance;
pub(crate) mod proxy;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, ArbiterHandle, AsyncContext, Context, Supervised,
    WrapFuture,
};
use tokio::net::{TcpListener, TcpStream};

use crate::actors::bind_guard::PERIOD;
use crate::actors::context::NodeContext;
use crate::actors::esme_session::EsmeSession;
use crate::actors::ingest::Ingest;
use crate::actors::link::{Wire, tune};
use crate::actors::locks::lock;
use crate::domain::allow::AllowList;
use crate::domain::penalty::Origin;
use crate::pb::Alphabet;
use crate::telemetry::metrics::ReasonLabel;
use crate::tls::Server;

/// After an accept error (out of file descriptors) the listener waits as long.
const PAUSE: Duration = Duration::from_millis(200);

/// Listens on the address of a key; one that cannot be had is told with the key and what to do.
///
/// # Errors
/// Somebody else has it, or it is none of this machine's.
pub fn take_port(address: SocketAddr, key: &str) -> io::Result<std::net::TcpListener> {
    std::net::TcpListener::bind(address).map_err(|error| {
        let cure = match error.kind() {
            io::ErrorKind::AddrInUse => "another process has it; stop that one, or choose another",
            io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege; choose another",
            _ => "choose an address of this machine",
        };
        let said = format!("{key}: cannot listen on {address}: {error}: {cure}");
        io::Error::new(error.kind(), said)
    })
}

/// What a connection passes before SMPP begins.
pub struct Door {
    /// Of the listener, for logs.
    pub name: String,
    pub tls: Option<Arc<Server>>,
    /// The load balancers that announce their clients; `None`: clients come by themselves.
    pub proxy_from: Option<AllowList>,
    /// The default alphabet of who comes in here, for accounts that do not say.
    pub alphabet: Option<Alphabet>,
}

/// The connections of ESMEs that there are, over all listeners, and where those come from that have not
/// bound.
#[derive(Clone, Default)]
pub struct Connections(Arc<Counts>);

#[derive(Default)]
struct Counts {
    /// Those of which a load balancer has not said yet where they come from.
    entering: AtomicUsize,
    open: AtomicUsize,
    unbound: Mutex<HashMap<Origin, usize>>,
}

pub struct Listener {
    node: Arc<NodeContext>,
    door: Arc<Door>,
    /// Bound before the actors start, so that a taken port is an error of the start.
    socket: std::net::TcpListener,
    lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
    next: usize,
    open: Connections,
}

/// Counts one connection for as long as its session lives.
pub struct Admitted {
    counts: Connections,
    /// Whether it is known where it comes from.
    is_open: bool,
    /// Until it has bound.
    unbound: Option<Origin>,
}

// === impl Listener ===

impl Listener {
    pub fn new(
        node: Arc<NodeContext>,
        door: Door,
        socket: std::net::TcpListener,
        lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
        open: Connections,
    ) -> Self {
        Self {
            node,
            door: Arc::new(door),
            socket,
            lanes,
            next: 0,
            open,
        }
    }

    fn admit(&mut self, socket: TcpStream, peer: SocketAddr) {
        let config = self.node.config();
        let draining = self.node.draining.load(Ordering::Relaxed);
        let admitted = self.open.admit(config.smpp.max_connections);
        let Some(mut admitted) = admitted.filter(|_| !draining) else {
            self.node.metrics.connections_refused.inc();
            return;
        };
        // Behind a load balancer it is not known yet where it comes from.
        if self.door.proxy_from.is_none() && !self.door.lets_in(&self.node, &mut admitted, peer) {
            return;
        }
        tune(&socket, &config.smpp);
        let (arbiter, ingest) = &self.lanes[self.next % self.lanes.len()];
        self.next += 1;
        let (node, ingest) = (Arc::clone(&self.node), ingest.clone());
        // The socket is registered with the reactor of the thread that will serve it.
        let Ok(socket) = socket.into_std() else {
            return;
        };
        let door = Arc::clone(&self.door);
        arbiter.spawn_fn(move || {
            let Ok(socket) = TcpStream::from_std(socket) else {
                return;
            };
            if door.is_open() {
                let wire = Wire::Plain(socket);
                EsmeSession::new(node, ingest, wire, peer, door.alphabet, Some(admitted)).start();
            } else {
                actix::spawn(async move {
                    let passed = door.pass(&node, &mut admitted, socket, peer).await;
                    if let Some((wire, peer)) = passed {
                        let alphabet = door.alphabet;
                        EsmeSession::new(node, ingest, wire, peer, alphabet, Some(admitted))
                            .start();
                    }
                });
            }
        });
    }

    fn listen(&mut self, ctx: &mut Context<Self>) {
        let listener = self.socket.try_clone().and_then(TcpListener::from_std);
        match listener {
            Ok(listener) => self.accept_next(Arc::new(listener), ctx),
            Err(error) => {
                tracing::error!(%error, "the listener cannot be used");
                ctx.stop();
            }
        }
    }

    fn accept_next(&self, listener: Arc<TcpListener>, ctx: &mut Context<Self>) {
        let accept = async move {
            let accepted = listener.accept().await;
            if let Err(error) = &accepted {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
            (listener, accepted)
        };
        ctx.spawn(
            accept
                .into_actor(self)
                .map(|(listener, accepted), act, ctx| {
                    if let Ok((socket, peer)) = accepted {
                        act.admit(socket, peer);
                    }
                    act.accept_next(listener, ctx);
                }),
        );
    }
}

// === impl Door ===

impl Door {
    /// Whether SMPP begins with the first octet.
    fn is_open(&self) -> bool {
        self.tls.is_none() && self.proxy_from.is_none()
    }

    /// Lets a connection through; says why not in log and metrics.
    async fn pass(
        &self,
        node: &NodeContext,
        admitted: &mut Admitted,
        socket: TcpStream,
        peer: SocketAddr,
    ) -> Option<(Wire, SocketAddr)> {
        let within = node.config().smpp.session_init_timeout;
        let entrance = async {
            let mut socket = socket;
            let peer = entrance::announced(self, &mut socket, peer).await?;
            if self.proxy_from.is_some() && !self.lets_in(node, admitted, peer) {
                return Ok(None);
            }
            let wire = entrance::enter(self, socket).await?;
            Ok(Some((wire, peer)))
        };
        let entered = tokio::time::timeout(within, entrance).await;
        let refused = match entered {
            Ok(Ok(entered)) => return entered,
            Ok(Err(refused)) => refused,
            Err(_) => entrance::Refused::TooLate,
        };
        match refused.reason() {
            None => tracing::debug!(listener = %self.name, %peer, "{refused}"),
            Some(reason) => {
                let label = ReasonLabel { reason };
                node.metrics.connections_failed.get_or_create(&label).inc();
                if node.bind_guard.may_log(peer.ip()) {
                    tracing::warn!(listener = %self.name, %peer, "connection refused: {refused}");
                }
            }
        }
        None
    }

    /// Whether there is room for one more that has not bound, from where this one comes, and then for
    /// one more at all.
    fn lets_in(&self, node: &NodeContext, admitted: &mut Admitted, peer: SocketAddr) -> bool {
        let config = node.config();
        let most = config.smpp.max_unbound_per_address();
        let has_room = admitted.come_from(peer.ip(), most);
        if !has_room {
            let label = ReasonLabel { reason: "crowded" };
            node.metrics.connections_failed.get_or_create(&label).inc();
            if node.bind_guard.may_log(peer.ip()) {
                tracing::warn!(listener = %self.name, %peer, most, "connection refused: too many from this address have not bound");
            }
            return false;
        }
        let is_open = admitted.open(config.smpp.max_connections);
        if !is_open {
            node.metrics.connections_refused.inc();
        }
        is_open
    }
}

// === impl Connections ===

impl Connections {
    /// Lets one more show where it comes from, unless `most` do.
    fn admit(&self, most: usize) -> Option<Admitted> {
        more(&self.0.entering, most).then(|| Admitted {
            counts: self.clone(),
            is_open: false,
            unbound: None,
        })
    }
}

/// Counts one more, unless there are `most`.
fn more(counter: &AtomicUsize, most: usize) -> bool {
    let one_more = |count: usize| (count < most).then_some(count + 1);
    counter
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
        .is_ok()
}

// === impl Admitted ===

impl Admitted {
    /// Counts it among all connections, unless there are `most`.
    fn open(&mut self, most: usize) -> bool {
        let counts = &self.counts.0;
        if !self.is_open && more(&counts.open, most) {
            counts.entering.fetch_sub(1, Ordering::Relaxed);
            self.is_open = true;
        }
        self.is_open
    }

    /// Counts it among those of its origin that have not bound, unless there are `most`.
    fn come_from(&mut self, peer: IpAddr, most: usize) -> bool {
        let origin = Origin::from(peer);
        let mut unbound = lock(&self.counts.0.unbound);
        let count = unbound.entry(origin).or_default();
        if *count >= most {
            return false;
        }
        *count += 1;
        self.unbound = Some(origin);
        true
    }

    /// It has bound: others of its origin may come.
    pub fn bound(&mut self) {
        let Some(origin) = self.unbound.take() else {
            return;
        };
        let mut unbound = lock(&self.counts.0.unbound);
        if let Some(count) = unbound.get_mut(&origin) {
            *count -= 1;
            if *count == 0 {
                unbound.remove(&origin);
            }
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.bound();
        let counts = &self.counts.0;
        let counter = match self.is_open {
            true => &counts.open,
            false => &counts.entering,
        };
        counter.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Actor for Listener {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.listen(ctx);
        ctx.run_interval(PERIOD, |listener, _| listener.node.bind_guard.sum_up());
    }
}

impl Supervised for Listener {}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn an_origin_has_so_many_that_have_not_bound() {
        let connections = Connections::default();
        let come = |from: u8| {
            let mut admitted = connections.admit(10).unwrap();
            let is_in = admitted.come_from(address(from), 2) && admitted.open(3);
            is_in.then_some(admitted)
        };
        let mut first = come(1).unwrap();
        let second = come(1).unwrap();
        assert!(come(1).is_none());
        assert!(come(2).is_some(), "another one");
        // Who has bound counts no more, nor does who has gone.
        first.bound();
        first.bound();
        let third = come(1).unwrap();
        assert!(come(1).is_none());
        drop(second);
        let fourth = come(1).unwrap();
        assert!(come(2).is_none(), "three are all");
        drop((first, third, fourth));
        assert!(lock(&connections.0.unbound).is_empty());
        assert!(come(2).is_some());
        // Those that have not shown where they come from are counted for themselves.
        let entering: Vec<Option<Admitted>> = (0..12).map(|_| connections.admit(10)).collect();
        assert_eq!(entering.iter().flatten().count(), 10);
        drop(entering);
        let counts = &connections.0;
        let left = [&counts.entering, &counts.open].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(left, [0, 0]);
    }
}
