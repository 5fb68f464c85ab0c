//! Accepts the connections that gateways of SGIP make to us (type 2), and starts a session of their operator for each,
//! spread over the session arbiters.
//!
//! A task, started by `app`, one for each address of `sgip.listen`. Whose gateway it is says its login (`carrier::admit`). The
//! session is one as of a receiver that we have bound, but for who has connected: it ends with the connection. Where
//! `sgip.tls_cert` is set, TLS comes before the login.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{Addr, Arbiter, ArbiterHandle};
use tokio::net::{TcpListener, TcpStream};

use super::carrier;
use super::given::{Gateways, Given};
use super::operator_session::SlotOptions;
use super::upstream_protocol::UpstreamProtocol;
use crate::actors::context::NodeContext;
use crate::actors::ingress::gate::Gate;
use crate::actors::ingress::ingest::Ingest;
use crate::actors::ingress::listener::entrance;
use crate::actors::runtime::accepting::accept_all;
use crate::actors::runtime::link::tune;
use crate::actors::runtime::supervise::Escalate;
use crate::smpp::session::BindType;
use crate::tls::Server;

/// What logs and metrics call it.
const NAME: &str = "sgip";

/// Who accepts at one address.
pub struct GatewayListener {
    node: Arc<NodeContext>,
    /// Taken before the actors start, so that a taken port is an error of the start.
    socket: std::net::TcpListener,
    tls: Option<Arc<Server>>,
    /// Delays refused logins, and limits what is logged about them.
    gate: Arc<Gate>,
    lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
    escalate: Escalate,
    next: usize,
    /// Connections at all addresses.
    open: Gateways,
}

// === impl GatewayListener ===

impl GatewayListener {
    pub fn new(
        node: Arc<NodeContext>,
        socket: std::net::TcpListener,
        tls: Option<Arc<Server>>,
        gate: Arc<Gate>,
        lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
        escalate: Escalate,
        open: Gateways,
    ) -> Self {
        Self {
            node,
            socket,
            tls,
            gate,
            lanes,
            escalate,
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
            () = accept_all("sgip.listen", listener, TcpListener::accept, let_in) => {}
            () = gate.bind_guard.sum_up_periodically() => {}
        }
    }

    fn let_in(&mut self, socket: TcpStream, peer: SocketAddr) {
        let config = self.node.config();
        let is_expected = carrier::expects(&self.node, peer);
        if self.node.draining.load(Ordering::Relaxed) || !is_expected {
            self.node.metrics.connections_refused.inc();
            return;
        }
        tune(&socket, &config.smpp);
        let most = config.sgip.max_connections;
        let Some((counted, is_served)) = self.open.come(peer.ip(), most) else {
            self.node.metrics.connections_refused.inc();
            return;
        };
        let (arbiter, ingest) = &self.lanes[self.next % self.lanes.len()];
        self.next += 1;
        let (node, ingest) = (Arc::clone(&self.node), ingest.clone());
        let (tls, gate) = (self.tls.clone(), Arc::clone(&self.gate));
        let (escalate, open) = (Arc::clone(&self.escalate), self.open.clone());
        // The socket is registered with the reactor of the thread that will serve it.
        let Ok(socket) = socket.into_std() else {
            return;
        };
        arbiter.spawn_fn(move || {
            let Ok(socket) = TcpStream::from_std(socket) else {
                return;
            };
            actix::spawn(async move {
                let guard = &gate.bind_guard;
                let entering = entrance::enter(tls.as_ref(), socket);
                let entered = entrance::in_time(&node, guard, NAME, peer, entering);
                let Some(wire) = entered.await else {
                    return;
                };
                if !is_served {
                    node.metrics.connections_refused.inc();
                    carrier::turn_away(&node, wire).await;
                    return drop(counted);
                }
                let admitted = carrier::admit(&node, guard, &open, wire, peer);
                let Some((operator, wire, bind)) = admitted.await else {
                    return;
                };
                let given = Given {
                    wire,
                    peer: peer.to_string(),
                    protocol: UpstreamProtocol::Other(bind),
                    counted,
                };
                SlotOptions {
                    node,
                    ingest,
                    operator,
                    slot: u32::MAX,
                    bind_type: BindType::Receiver,
                    paired: false,
                    escalate,
                }
                .start_given(&Arbiter::current(), given);
            });
        });
    }
}
