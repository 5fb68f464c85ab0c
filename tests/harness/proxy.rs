//! A TCP proxy that records its traffic, in order and with times, for [`super::Capture`].
//!
//! It is placed between an SMSC and its peer, and needs no privileges, unlike a capture on the
//! interface.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::listen;

/// Octets read at once; small enough for one TCP segment of the capture.
const PIECE: usize = 16 * 1024;

/// The octets of one read.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Since the Unix epoch.
    pub at: Duration,
    /// Numbers the connections from 0.
    pub connection: u16,
    /// Whether the connecting side sent them.
    pub from_client: bool,
    pub octets: Vec<u8>,
}

/// Forwards every connection to one address.
pub struct Proxy {
    address: SocketAddr,
    target: SocketAddr,
    segments: Arc<Mutex<Vec<Segment>>>,
}

// === impl Proxy ===

impl Proxy {
    /// Listens on a free port and forwards to `target`, for as long as the test process lives.
    pub fn to(target: SocketAddr) -> Self {
        let listener = listen();
        let address = listener.local_addr().unwrap();
        let segments: Arc<Mutex<Vec<Segment>>> = Arc::default();
        let recorder = Arc::clone(&segments);
        let connections = AtomicU16::new(0);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let connection = connections.fetch_add(1, Ordering::Relaxed);
                if let Ok(server) = TcpStream::connect(target) {
                    forward(&client, &server, connection, true, &recorder);
                    forward(&server, &client, connection, false, &recorder);
                }
            }
        });
        Self {
            address,
            target,
            segments,
        }
    }

    /// The address to connect to instead of the target.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port of the target.
    pub fn target_port(&self) -> u16 {
        self.target.port()
    }

    /// The traffic so far.
    pub fn segments(&self) -> Vec<Segment> {
        self.segments.lock().unwrap().clone()
    }
}

fn forward(
    from: &TcpStream,
    to: &TcpStream,
    connection: u16,
    from_client: bool,
    recorder: &Arc<Mutex<Vec<Segment>>>,
) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    let recorder = Arc::clone(recorder);
    let _ = to.set_nodelay(true);
    std::thread::spawn(move || {
        let mut piece = vec![0; PIECE];
        while let Ok(count) = from.read(&mut piece) {
            if count == 0 {
                break;
            }
            recorder.lock().unwrap().push(Segment {
                at: SystemTime::now().duration_since(UNIX_EPOCH).unwrap(),
                connection,
                from_client,
                octets: piece[..count].to_vec(),
            });
            if to.write_all(&piece[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
