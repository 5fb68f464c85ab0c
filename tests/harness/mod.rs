//! The test harness: the real binary with real sockets, peers, servers and checks.
//!
//! A test file takes what it needs:
//!
//! ```text
//! let operator = Simulator::new().start();                  smsc simulate, with a journal
//! let smsc = Smsc::new().account("test", "test")            smsc serve, temporary data folder
//!     .operator("up", operator.address())
//!     .route("", "up")
//!     .start();                                             ready when this returns
//! let mut esme = Peer::bind(smsc.smpp(), "test", "test");   raw SMPP over a blocking socket
//! ```
//!
//! A test can also have its own databases in PostgreSQL ([`database`]) and Redis ([`redis_database`]),
//! or whole servers that it may kill ([`PrivatePostgres`], [`PrivateRedis`]).
//!
//! Every process is killed when its value is dropped; if the test fails, the end of its log is printed
//! first. Nothing here sleeps for a fixed time: [`until`] polls a condition up to a generous limit.

// Each folder of tests is a separate program and uses a part of this module.
#![allow(dead_code, unused_imports)]
// Polling from outside blocks only the test, and a capture contains the real time.
#![allow(clippy::disallowed_methods)]

mod admin;
pub mod carrier_client;
mod cluster;
mod disk;
pub mod dispatch;
mod events;
mod gate;
pub mod gateway;
pub mod gsm;
mod gsm_core;
pub mod hooks;
mod kafka;
mod kannel;
mod keeper;
pub mod local;
mod management;
pub mod map;
mod namesake;
mod nats;
mod nats_login;
pub mod network;
mod operator;
mod pcap;
mod peer;
mod ports;
mod postgres;
mod process;
mod proxy;
mod redis;
mod scene;
mod simulator;
mod smsc;
mod tls;
mod tools;
mod wall_clock;

use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use admin::{Admin, Answer};
pub use cluster::{Cluster, ClusterBuilder, Node, migrate, wait_until_idle_at};
pub use disk::SmallDisk;
pub use events::{Listener, told_although_the_publishing_node_is_killed};
pub use gate::Gate;
pub use gsm_core::{FakeCore, from_handset, saying};
pub use kafka::{KafkaCluster, KafkaRecord};
pub use kannel::Kannel;
pub use management::Management;
pub use namesake::Namesake;
pub use nats::{PrivateNats, Published};
pub use nats_login::Login;
pub use operator::{Answerer, FakeOperator, serve_binds};
pub use pcap::{Capture, dissected};
pub use peer::{
    Peer, PeerError, accept, answer, pdu, receipted, stat_of, submit, submit_from, submit_quietly,
    submit_ucs2, ucs2,
};
pub use ports::{free_address, free_port, listen};
pub use postgres::{Database, PrivatePostgres, database, execute, rows};
pub use process::{Finished, Process, run, run_reading};
pub use proxy::Proxy;
pub use redis::{PrivateRedis, RedisDatabase, redis_database};
pub use scene::{Scene, next_submit, receipt, send_receipt, taken};
pub use simulator::{JournalLine, Simulator};
pub use smsc::{Smsc, SmscBuilder};
pub use tls::{Authority, Certificate, Tunnel};
pub use tools::{
    Client, browser_script, core_program, debian_library, debian_tool, fish_completing,
    node_modules, node_script, perl_script, python_in, python_script, python_tool, schemathesis,
    script, with_python_tools, zsh_completing,
};
pub use wall_clock::WallClock;

/// Longest wait for an expected event. Much longer than the event takes: a busy machine must not fail a
/// test, and a test that passes never waits this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two looks at a condition.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The program under test. `SMSC_TEST_BINARY` names another build of it, so that a new test can be
/// shown to fail on an older one.
pub fn binary() -> PathBuf {
    std::env::var_os("SMSC_TEST_BINARY")
        .map_or_else(|| env!("CARGO_BIN_EXE_smsc").into(), PathBuf::from)
}

/// Polls until `look` returns a value; panics with `what` after [`PATIENCE`].
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, look).unwrap_or_else(|| panic!("waited {PATIENCE:?} in vain: {what}"))
}

/// Polls until `look` returns a value or the time is over.
pub fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if started.elapsed() > limit {
            return None;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}
