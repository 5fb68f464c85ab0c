//! Unused ports of this machine, and loopback addresses for programs whose ports are fixed.
//!
//! Chosen below the range from which the system assigns ports to outgoing connections, so that none of
//! the thousands of connections of a test takes a port before the process under test uses it, or while
//! that process restarts. Each test process starts at a different place and owns its ports until it
//! ends: no other test process gets them.

use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// The first port given, and how many follow: 12,000 to 31,999.
const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;
/// Addresses that are given: 127.64.0.0/16.
const ADDRESSES: u32 = 1 << 16;
/// Distance between the first ports of test processes with consecutive process ids.
const STRIDE: u32 = 97;

/// Listens on such a port. If a process outside the tests has taken the chosen port, tries the next
/// one.
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
        if claim(&format!("port-{port}")) && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port between {FIRST} and {}", FIRST + COUNT);
}

/// An address of 127.0.0.0/8 that no other test process uses: all its ports are free.
pub fn free_address() -> Ipv4Addr {
    let start = std::process::id().wrapping_mul(STRIDE);
    let mut offsets = (0..ADDRESSES).map(|step| start.wrapping_add(step) % ADDRESSES);
    let free = offsets.find(|offset| claim(&format!("address-{offset}")));
    let [_, _, third, fourth] = free.expect("a free address").to_be_bytes();
    Ipv4Addr::new(127, 64, third, fourth)
}

/// Whether no other test process owns the port or address. A name in the abstract namespace of Unix
/// sockets is visible in the same network namespace, has one owner, and disappears with its process.
fn claim(what: &str) -> bool {
    static CLAIMS: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());
    let name = SocketAddr::from_abstract_name(format!("smsc-test-{what}")).unwrap();
    let claimed = UnixListener::bind_addr(&name);
    let is_ours = claimed.is_ok();
    CLAIMS.lock().unwrap().extend(claimed);
    is_ours
}
