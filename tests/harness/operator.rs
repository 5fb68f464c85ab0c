//! An operator that a test plays by hand: it listens, and each bind is a [`Peer`].

use std::net::{SocketAddr, TcpListener};

use smsc::smpp::{Body, CommandId};

use super::{Peer, free_port, until};

/// Listens for the SMSC's binds.
pub struct FakeOperator {
    listener: TcpListener,
}

// === impl FakeOperator ===

impl FakeOperator {
    /// Listens on a free port.
    pub fn listen() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", free_port())).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self { listener }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// Waits for a connection and says nothing.
    pub fn accept(&self) -> Peer {
        until("a connection of the smsc", || {
            let (socket, _) = self.listener.accept().ok()?;
            socket.set_nonblocking(false).unwrap();
            Some(Peer::over(socket))
        })
    }

    /// Waits for a connection and accepts its bind_transceiver.
    pub fn accept_bind(&self) -> Peer {
        let mut peer = self.accept();
        let bind = peer.expect("a bind", |pdu| matches!(pdu.body, Body::BindTransceiver(_)));
        peer.acknowledge(CommandId::BIND_TRANSCEIVER_RESP, bind.sequence);
        peer
    }
}
