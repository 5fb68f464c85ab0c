//! A TCP gate in front of one or several addresses, which can be shut like a failing network: silently.
//!
//! While it is shut nothing passes in either direction, connections stay open, and sent octets wait,
//! like segments that are retransmitted. They arrive when the gate opens.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use super::listen;

/// Octets passed on at once.
const PIECE: usize = 64 * 1024;

/// A gate; it listens on its own port as long as the test process lives.
pub struct Gate {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    shut: Mutex<bool>,
    opened: Condvar,
    cuts: AtomicUsize,
    connections: AtomicUsize,
    most_connections: AtomicUsize,
}

// === impl Gate ===

impl Gate {
    /// An open gate to one address.
    pub fn to(target: SocketAddr) -> Self {
        Self::to_any(vec![target])
    }

    /// An open gate that spreads connections evenly over the addresses that accept them.
    pub fn to_any(targets: Vec<SocketAddr>) -> Self {
        let listener = listen();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let for_thread = Arc::clone(&state);
        thread::spawn(move || {
            for (turn, client) in listener.incoming().flatten().enumerate() {
                for_thread.wait_until_open();
                let server = (0..targets.len())
                    .map(|step| targets[(turn + step) % targets.len()])
                    .find_map(|target| TcpStream::connect(target).ok());
                if let Some(server) = server {
                    for_thread.join(&client, &server);
                }
            }
        });
        Self { address, state }
    }

    /// The address to connect to instead.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets nothing pass.
    pub fn shut(&self) {
        *self.state.shut.lock().unwrap() = true;
    }

    /// Lets everything pass again, first the octets that have waited.
    pub fn open(&self) {
        *self.state.shut.lock().unwrap() = false;
        self.state.opened.notify_all();
    }

    /// Opens, but drops the octets that have waited and their connections.
    pub fn cut(&self) {
        self.state.cuts.fetch_add(1, Ordering::SeqCst);
        self.open();
    }

    /// Connections that the client has not closed.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Forgets the most connections until now: when a gate opens, those whose clients have given up meanwhile pass for
    /// a moment, too.
    pub fn forget_most_connections(&self) {
        let now = self.connections();
        self.state.most_connections.store(now, Ordering::SeqCst);
    }

    /// The most connections at the same time.
    pub fn most_connections(&self) -> usize {
        self.state.most_connections.load(Ordering::SeqCst)
    }
}

// === impl State ===

impl State {
    fn wait_until_open(&self) {
        let shut = self.shut.lock().unwrap();
        drop(self.opened.wait_while(shut, |shut| *shut).unwrap());
    }

    fn join(self: &Arc<Self>, client: &TcpStream, server: &TcpStream) {
        let now = self.connections.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_connections.fetch_max(now, Ordering::SeqCst);
        for (from, to, from_client) in [(client, server, true), (server, client, false)] {
            let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let state = Arc::clone(self);
            let cuts = state.cuts.load(Ordering::SeqCst);
            let _ = to.set_nodelay(true);
            thread::spawn(move || {
                let mut piece = vec![0; PIECE];
                while let Ok(count) = from.read(&mut piece) {
                    state.wait_until_open();
                    let is_cut = state.cuts.load(Ordering::SeqCst) != cuts;
                    if count == 0 || is_cut || to.write_all(&piece[..count]).is_err() {
                        break;
                    }
                }
                if from_client {
                    state.connections.fetch_sub(1, Ordering::SeqCst);
                }
                // When one side is closed, the other one is closed, too.
                let _ = to.shutdown(Shutdown::Both);
                let _ = from.shutdown(Shutdown::Both);
            });
        }
    }
}
