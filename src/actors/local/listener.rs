//! Accepts connections of programs on the same machine, and starts an actor for each, spread over the session arbiters.
//!
//! A task, started by `app` if `local.socket` is set; the path is taken before, so that another server there is an error of the
//! start. When the node drains, `app` takes the path away, and who has come last is told by its connection.

use std::sync::Arc;

use actix::{Actor as _, ArbiterHandle};
use bytes::BytesMut;
use tokio::net::{UnixListener, UnixStream};

use super::connection::Connection;
use super::parting::Parting;
use super::user::User;
use super::{LocalConnectionPlace, LocalContext};
use crate::actors::runtime::accepting::accept_all;
use crate::actors::runtime::link::Wire;
use crate::pb::local::{Reason, put_frame};
use crate::socket::Listening;

/// Who accepts at the socket.
pub struct LocalListener {
    door: Arc<LocalContext>,
    listening: Arc<Listening>,
    arbiters: Vec<ArbiterHandle>,
    next: usize,
}

// === impl LocalListener ===

impl LocalListener {
    pub fn new(
        door: Arc<LocalContext>,
        listening: Arc<Listening>,
        arbiters: Vec<ArbiterHandle>,
    ) -> Self {
        Self {
            door,
            listening,
            arbiters,
            next: 0,
        }
    }

    /// Lets programs in, without an end; returns only if the socket cannot be used.
    pub async fn run(&mut self) {
        let listener = self.listening.listener().and_then(UnixListener::from_std);
        let let_in = |(socket, _)| self.let_in(socket);
        accept_all("local.socket", listener, UnixListener::accept, let_in).await;
    }

    fn let_in(&mut self, socket: UnixStream) {
        let user = match socket.peer_cred() {
            Ok(user) => User::from(user),
            Err(error) => {
                tracing::warn!(%error, "a program connected to local.socket, and the kernel does not say who");
                return;
            }
        };
        let most = self.door.node.config().local.max_connections;
        let Some(admitted) = self.door.admit(user.uid, most) else {
            return self.turn_away(&socket, most);
        };
        let arbiter = &self.arbiters[self.next % self.arbiters.len()];
        self.next += 1;
        // The socket is registered with the reactor of the thread that will serve it.
        let Ok(socket) = socket.into_std() else {
            return;
        };
        arbiter.spawn_fn(move || start(socket, user, admitted));
    }

    /// There are enough. What is said fits into the buffer of a new socket.
    fn turn_away(&self, socket: &UnixStream, most: usize) {
        let detail = format!(
            "your user has its share of the {most} connections (local.max_connections); end one, or come again later"
        );
        let parting = Parting::new(Reason::Connections, detail);
        parting.count(&self.door.node);
        let mut octets = BytesMut::new();
        if let Some(frame) = parting.frame() {
            put_frame(&frame, &mut octets);
        }
        // It is refused in any case.
        let _ = socket.try_write(&octets);
    }
}

/// Begins to serve a connection, on the thread that will go on with it.
fn start(socket: std::os::unix::net::UnixStream, user: User, admitted: LocalConnectionPlace) {
    if let Ok(socket) = UnixStream::from_std(socket) {
        Connection::new(Wire::Local(socket), user, admitted).start();
    }
}
