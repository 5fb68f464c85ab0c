//! Accepts ESMEs' connections and starts a session for each, spread over the session arbiters.
//!
//! A task, started by `app`, one per address. A listener with a [`Door`] that has TLS or load balancers in
//! front lets them through there first ([`entrance`]), on the thread of the session to be.

mod connections;
pub(crate) mod entrance;
pub(crate) mod proxy;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{Actor as _, Addr, ArbiterHandle};
use tokio::net::{TcpListener, TcpStream};

pub use self::connections::{Admitted, Connections};
use crate::actors::context::NodeContext;
use crate::actors::ingress::esme_session::EsmeSession;
use crate::actors::ingress::gate::Gate;
use crate::actors::ingress::ingest::Ingest;
use crate::actors::runtime::accepting::accept_all;
use crate::actors::runtime::link::{Wire, tune};
use crate::config::ListenerProtocol;
use crate::domain::allow::AllowList;
use crate::pb::Alphabet;
use crate::telemetry::metrics::ReasonLabel;
use crate::tls::Server;

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

/// What a connection passes before the protocol begins.
pub struct Door {
    /// Of the listener, for logs.
    pub name: String,
    pub tls: Option<Arc<Server>>,
    /// The load balancers that announce their clients; `None`: clients come by themselves.
    pub proxy_from: Option<AllowList>,
    /// The default alphabet of who comes in here, for accounts that do not say.
    pub alphabet: Option<Alphabet>,
    pub protocol: ListenerProtocol,
}

/// Who accepts at one address.
pub struct Listener {
    node: Arc<NodeContext>,
    gate: Arc<Gate>,
    door: Arc<Door>,
    /// Bound before the actors start, so that a taken port is an error of the start.
    socket: std::net::TcpListener,
    lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
    next: usize,
    open: Connections,
}

// === impl Listener ===

impl Listener {
    pub fn new(
        node: Arc<NodeContext>,
        gate: Arc<Gate>,
        door: Door,
        socket: std::net::TcpListener,
        lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
        open: Connections,
    ) -> Self {
        Self {
            node,
            gate,
            door: Arc::new(door),
            socket,
            lanes,
            next: 0,
            open,
        }
    }

    /// Lets connections in, without an end; returns only if the socket cannot be used.
    pub async fn run(&mut self) {
        let gate = Arc::clone(&self.gate);
        let listener = self.socket.try_clone().and_then(TcpListener::from_std);
        let let_in = |(socket, peer)| self.let_in(socket, peer);
        tokio::select! {
            () = accept_all("smpp.listen", listener, TcpListener::accept, let_in) => {}
            () = gate.bind_guard.sum_up_periodically() => {}
        }
    }

    fn let_in(&mut self, socket: TcpStream, peer: SocketAddr) {
        let config = self.node.config();
        let draining = self.node.draining.load(Ordering::Relaxed);
        let admitted = self.open.admit(config.smpp.max_connections);
        let Some(mut admitted) = admitted.filter(|_| !draining) else {
            self.node.metrics.connections_refused.inc();
            return;
        };
        // Behind a load balancer it is not known yet where it comes from.
        if self.door.proxy_from.is_none()
            && !self
                .door
                .lets_in(&self.node, &self.gate, &mut admitted, peer)
        {
            return;
        }
        tune(&socket, &config.smpp);
        let (arbiter, ingest) = &self.lanes[self.next % self.lanes.len()];
        self.next += 1;
        let (node, gate) = (Arc::clone(&self.node), Arc::clone(&self.gate));
        let ingest = ingest.clone();
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
                door.serve(node, gate, ingest, Wire::Plain(socket), peer, admitted);
            } else {
                actix::spawn(async move {
                    let passed = door.pass(&node, &gate, &mut admitted, socket, peer).await;
                    if let Some((wire, peer)) = passed {
                        door.serve(node, gate, ingest, wire, peer, admitted);
                    }
                });
            }
        });
    }
}

// === impl Door ===

impl Door {
    /// Whether the protocol begins with the first octet.
    fn is_open(&self) -> bool {
        self.tls.is_none() && self.proxy_from.is_none()
    }

    /// Starts the session of a connection.
    fn serve(
        &self,
        node: Arc<NodeContext>,
        gate: Arc<Gate>,
        ingest: Addr<Ingest>,
        wire: Wire,
        peer: SocketAddr,
        admitted: Admitted,
    ) {
        let alphabet = self.alphabet;
        let session = EsmeSession::new(node, gate, ingest, wire, peer, alphabet, Some(admitted));
        match self.protocol {
            ListenerProtocol::Smpp => session.start(),
            ListenerProtocol::Cmpp => session.over_cmpp().start(),
        };
    }

    /// Lets a connection through; says why not in log and metrics.
    async fn pass(
        &self,
        node: &NodeContext,
        gate: &Gate,
        admitted: &mut Admitted,
        socket: TcpStream,
        peer: SocketAddr,
    ) -> Option<(Wire, SocketAddr)> {
        let entering = async {
            let mut socket = socket;
            let peer = entrance::announced(self, &mut socket, peer).await?;
            if self.proxy_from.is_some() && !self.lets_in(node, gate, admitted, peer) {
                return Ok(None);
            }
            let wire = entrance::enter(self.tls.as_ref(), socket).await?;
            Ok(Some((wire, peer)))
        };
        let guard = &gate.bind_guard;
        let entered = entrance::in_time(node, guard, &self.name, peer, entering);
        entered.await.flatten()
    }

    /// Whether there is room for one more that has not bound, from where this one comes, and then for
    /// one more at all.
    fn lets_in(
        &self,
        node: &NodeContext,
        gate: &Gate,
        admitted: &mut Admitted,
        peer: SocketAddr,
    ) -> bool {
        let config = node.config();
        let most = config.smpp.max_unbound_per_address();
        let places = config.smpp.max_connections;
        let has_room = admitted.come_from(peer.ip(), most, places);
        if !has_room {
            let label = ReasonLabel { reason: "crowded" };
            node.metrics.connections_failed.get_or_create(&label).inc();
            if gate.bind_guard.may_log(peer.ip()) {
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
