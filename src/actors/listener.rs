//! Accepts ESMEs' connections and starts a session for each, spread over the session arbiters.
//!
//! Started by `app`, one per address. A listener with a [`Door`] that has TLS or load balancers in
//! front lets them through there first ([`entrance`]), on the thread of the session to be.

mod entrance;
pub(crate) mod proxy;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, ArbiterHandle, AsyncContext, Context, Supervised,
    WrapFuture,
};
use tokio::net::{TcpListener, TcpStream};

use crate::actors::esme_session::EsmeSession;
use crate::actors::hub::Hub;
use crate::actors::ingest::Ingest;
use crate::actors::link::{Wire, tune};
use crate::domain::allow::AllowList;
use crate::pb::Alphabet;
use crate::telemetry::metrics::ReasonLabel;
use crate::tls::Server;

/// After an accept error (out of file descriptors) the listener waits as long.
const PAUSE: Duration = Duration::from_millis(200);

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

/// The connections of ESMEs that there are, over all listeners.
#[derive(Clone, Default)]
pub struct Connections(Arc<AtomicUsize>);

pub struct Listener {
    hub: Arc<Hub>,
    door: Arc<Door>,
    /// Bound before the actors start, so that a taken port is an error of the start.
    socket: std::net::TcpListener,
    lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
    next: usize,
    open: Connections,
}

/// Counts one connection for as long as its session lives.
pub struct Admitted(Connections);

// === impl Listener ===

impl Listener {
    pub fn new(
        hub: Arc<Hub>,
        door: Door,
        socket: std::net::TcpListener,
        lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
        open: Connections,
    ) -> Self {
        Self {
            hub,
            door: Arc::new(door),
            socket,
            lanes,
            next: 0,
            open,
        }
    }

    fn admit(&mut self, socket: TcpStream, peer: SocketAddr) {
        let config = self.hub.config();
        let draining = self.hub.draining.load(Ordering::Relaxed);
        let admitted = self.open.admit(config.smpp.max_connections);
        let Some(admitted) = admitted.filter(|_| !draining) else {
            self.hub.metrics.connections_refused.inc();
            return;
        };
        tune(&socket, &config.smpp);
        let (arbiter, ingest) = &self.lanes[self.next % self.lanes.len()];
        self.next += 1;
        let (hub, ingest) = (Arc::clone(&self.hub), ingest.clone());
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
                EsmeSession::new(hub, ingest, wire, peer, door.alphabet, Some(admitted)).start();
            } else {
                actix::spawn(async move {
                    if let Some((wire, peer)) = door.pass(&hub, socket, peer).await {
                        let alphabet = door.alphabet;
                        EsmeSession::new(hub, ingest, wire, peer, alphabet, Some(admitted)).start();
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
        hub: &Hub,
        socket: TcpStream,
        peer: SocketAddr,
    ) -> Option<(Wire, SocketAddr)> {
        let within = hub.config().smpp.session_init_timeout;
        let entered = tokio::time::timeout(within, entrance::enter(self, socket, peer)).await;
        let refused = match entered {
            Ok(Ok(entered)) => return Some(entered),
            Ok(Err(refused)) => refused,
            Err(_) => entrance::Refused::TooLate,
        };
        match refused.reason() {
            None => tracing::debug!(listener = %self.name, %peer, "{refused}"),
            Some(reason) => {
                let label = ReasonLabel { reason };
                hub.metrics.connections_failed.get_or_create(&label).inc();
                tracing::warn!(listener = %self.name, %peer, "connection refused: {refused}");
            }
        }
        None
    }
}

// === impl Connections ===

impl Connections {
    /// Counts one more, unless there are `most`.
    fn admit(&self, most: usize) -> Option<Admitted> {
        let more = |open: usize| (open < most).then_some(open + 1);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
            .then(|| Admitted(self.clone()))
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let Self(Connections(open)) = self;
        open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Actor for Listener {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.listen(ctx);
    }
}

impl Supervised for Listener {}
