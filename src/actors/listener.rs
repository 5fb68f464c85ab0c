//! Accepts ESMEs' connections and starts a session for each, spread over the session arbiters.

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

/// After an accept error (out of file descriptors) the listener waits as long.
const PAUSE: Duration = Duration::from_millis(200);

pub struct Listener {
    hub: Arc<Hub>,
    /// Bound before the actors start, so that a taken port is an error of the start.
    socket: std::net::TcpListener,
    lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
    next: usize,
    open: Arc<AtomicUsize>,
}

/// Counts one connection for as long as its session lives.
pub struct Admitted(Arc<AtomicUsize>);

// === impl Listener ===

impl Listener {
    pub fn new(
        hub: Arc<Hub>,
        socket: std::net::TcpListener,
        lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
    ) -> Self {
        Self {
            hub,
            socket,
            lanes,
            next: 0,
            open: Arc::default(),
        }
    }

    fn admit(&mut self, socket: TcpStream, peer: SocketAddr) {
        let most = self.hub.config().smpp.max_connections;
        if self.hub.draining.load(Ordering::Relaxed) || self.open.load(Ordering::Relaxed) >= most {
            self.hub.metrics.connections_refused.inc();
            return;
        }
        self.open.fetch_add(1, Ordering::Relaxed);
        let admitted = Admitted(Arc::clone(&self.open));
        let (arbiter, ingest) = &self.lanes[self.next % self.lanes.len()];
        self.next += 1;
        let (hub, ingest) = (Arc::clone(&self.hub), ingest.clone());
        // The socket is registered with the reactor of the thread that will serve it.
        let Ok(socket) = socket.into_std() else {
            return;
        };
        arbiter.spawn_fn(move || {
            if let Ok(socket) = TcpStream::from_std(socket) {
                EsmeSession::new(hub, ingest, socket, peer, Some(admitted)).start();
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

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Actor for Listener {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.listen(ctx);
    }
}

impl Supervised for Listener {}
