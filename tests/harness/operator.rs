//! Operators played by a test: one that listens and gives the test each bind as a [`Peer`], and one
//! that answers every submit_sm with the current status.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use smsc::smpp::{Body, CommandId, CommandStatus, Pdu};

use super::{Peer, PeerError, answer, listen, until};

/// Listens for the SMSC's binds.
pub struct FakeOperator {
    listener: TcpListener,
}

// === impl FakeOperator ===

impl FakeOperator {
    /// Listens on a free port.
    pub fn listen() -> Self {
        let listener = listen();
        listener.set_nonblocking(true).unwrap();
        Self { listener }
    }

    /// The address to bind to.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// Waits for a connection and sends nothing.
    pub fn accept(&self) -> Peer {
        until("a connection of the smsc", || self.try_accept())
    }

    /// The next connection, if there is one already.
    pub fn try_accept(&self) -> Option<Peer> {
        self.next_socket().map(Peer::over)
    }

    /// Waits for a connection and accepts its bind_transceiver. Connections that the SMSC has closed meanwhile, because
    /// nobody answered in time on a busy machine, do not count.
    pub fn accept_bind(&self) -> Peer {
        until("a bind of the smsc", || {
            let socket = self.next_socket()?;
            let mut peer = Peer::over(socket.try_clone().unwrap());
            let is_bind = |pdu: &Pdu| matches!(pdu.body, Body::BindTransceiver(_));
            let bind = peer.try_expect(is_bind).ok()?;
            if is_closed(&socket) {
                return None;
            }
            peer.acknowledge(CommandId::BIND_TRANSCEIVER_RESP, bind.sequence);
            Some(peer)
        })
    }

    fn next_socket(&self) -> Option<TcpStream> {
        let (socket, _) = self.listener.accept().ok()?;
        socket.set_nonblocking(false).unwrap();
        Some(socket)
    }
}

/// Whether the other side has closed a connection from which everything was read.
fn is_closed(socket: &TcpStream) -> bool {
    socket.set_nonblocking(true).unwrap();
    let next = socket.peek(&mut [0]);
    socket.set_nonblocking(false).unwrap();
    match next {
        Ok(octets) => octets == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

/// Serves the binds of an operator until it is told to end. `attend` takes one, deals with what has arrived, and gives it
/// back unless it is over.
pub fn serve_binds(
    operator: &FakeOperator,
    ended: &AtomicBool,
    mut attend: impl FnMut(Peer) -> Option<Peer>,
) {
    let mut binds: Vec<Peer> = Vec::new();
    while !ended.load(Ordering::SeqCst) {
        binds.extend(operator.try_accept());
        if binds.is_empty() {
            std::thread::sleep(LOOK);
        }
        binds = binds.into_iter().filter_map(&mut attend).collect();
    }
}

/// How often an [`Answerer`] checks whether to end.
const LOOK: Duration = Duration::from_millis(20);
/// Instead of this status, an [`Answerer`] sends no response.
const SILENCE: u32 = u32::MAX;

/// An operator that accepts binds and answers each submit_sm at once with one command_status, which the
/// test may change. Sends no receipts.
pub struct Answerer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    status: AtomicU32,
    submits: AtomicUsize,
    ended: AtomicBool,
}

// === impl Answerer ===

impl Answerer {
    /// Listens, and accepts every message.
    pub fn start() -> Self {
        let operator = FakeOperator::listen();
        let address = operator.address();
        let shared = Arc::new(Shared {
            status: AtomicU32::new(CommandStatus::ESME_ROK.0),
            submits: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            serve_binds(&operator, &for_thread.ended, |mut bind| {
                for_thread.attend(&mut bind).then_some(bind)
            });
        });
        Self {
            address,
            shared,
            thread: Some(thread),
        }
    }

    /// An operator that answers with this status.
    pub fn with(status: CommandStatus) -> Self {
        let operator = Self::start();
        operator.answer_with(status);
        operator
    }

    /// The address to bind to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the status with which submit_sm is answered from now on.
    pub fn answer_with(&self, status: CommandStatus) {
        self.shared.status.store(status.0, Ordering::SeqCst);
    }

    /// From now on submit_sm is read and not answered.
    pub fn be_silent(&self) {
        self.shared.status.store(SILENCE, Ordering::SeqCst);
    }

    /// How many submit_sm have arrived.
    pub fn submits(&self) -> usize {
        self.shared.submits.load(Ordering::SeqCst)
    }
}

impl Drop for Answerer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Answers one PDU, if one has arrived; false when the connection is closed.
    fn attend(&self, bind: &mut Peer) -> bool {
        let pdu = match bind.next(LOOK) {
            Ok(pdu) => pdu,
            Err(PeerError::Silence) => return true,
            Err(PeerError::Closed) => return false,
        };
        let acknowledged = match pdu.body {
            Body::BindTransceiver(_) => CommandId::BIND_TRANSCEIVER_RESP,
            Body::EnquireLink => CommandId::ENQUIRE_LINK_RESP,
            Body::Unbind => CommandId::UNBIND_RESP,
            Body::SubmitSm(_) => {
                let number = self.submits.fetch_add(1, Ordering::SeqCst);
                match self.status.load(Ordering::SeqCst) {
                    SILENCE => {}
                    status => answer(
                        bind,
                        pdu.sequence,
                        CommandStatus(status),
                        &number.to_string(),
                    ),
                }
                return true;
            }
            _ => return true,
        };
        bind.acknowledge(acknowledged, pdu.sequence);
        true
    }
}
