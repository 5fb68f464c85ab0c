//! Ports of this machine that nobody uses.
//!
//! Taken below the range from which the system gives ports to outgoing connections, so that none
//! of the thousands of connections of a test takes a port between its choice here and its use by
//! the process under test, or while that process is restarted. Each test process starts at a place
//! of its own, and what it was given is its own until it ends: no other test process gets it.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// The first port given, and how many follow: 12,000 to 31,999.
const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;
/// Process ids next to each other start this far apart.
const STRIDE: u32 = 97;

/// Listens on such a port. A process that is no test may take the one that was chosen: then it is
/// the next.
pub fn listen() -> TcpListener {
    let mut chosen = (0..COUNT).map(|_| TcpListener::bind(("127.0.0.1", free_port())));
    chosen.find_map(Result::ok).expect("a free port")
}

/// A port of 127.0.0.1 on which nothing listens.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let offset = std::process::id().wrapping_mul(STRIDE).wrapping_add(step) % COUNT;
        let port = u16::try_from(FIRST + offset).unwrap();
        if claim(port) && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port between {FIRST} and {}", FIRST + COUNT);
}

/// Whether no other test process has the port. A name in the abstract namespace of Unix sockets is
/// as wide as the port's, has one owner, and goes with its process.
fn claim(port: u16) -> bool {
    static CLAIMS: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());
    let name = SocketAddr::from_abstract_name(format!("smsc-test-port-{port}")).unwrap();
    let claimed = UnixListener::bind_addr(&name);
    let is_ours = claimed.is_ok();
    CLAIMS.lock().unwrap().extend(claimed);
    is_ours
}
