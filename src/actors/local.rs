//! Programs on the same machine: what comes over the UNIX socket of `[local]`.
//!
//! - [`listener`]: the task that accepts connections;
//! - [`connection`]: the actor of one connection, from its handshake on;
//! - [`client`]: what a connection may ask for once it speaks for an account: submit, cancel, list, get;
//! - [`draft`]: the messages that it submits;
//! - [`handler_side`]: the role of a program that does a part of the work: it answers look-ups, or is the peer of a session;
//! - [`network`]: an HLR to the interface of a GSM network, for whose subscribers a program delivers;
//! - [`user`]: who a program runs as; [`parting`]: why a connection ends.
//!
//! In: frames of `proto/smsc/local/v1`. Out: answers, and requests to [`AccountApi`](super::ingress::account_api), which
//! is also the way in of the HTTP APIs. Who somebody is, the kernel says (SO_PEERCRED, unix (7)). Imports `runtime`,
//! `context`, `session` and `ingress`.

mod client;
mod connection;
mod draft;
mod handler_side;
mod listener;
mod network;
mod parting;
mod user;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::ingress::account_api::AccountApi;
use crate::actors::runtime::locks::lock;
use crate::domain::share::FairShares;

pub use self::listener::LocalListener;

/// How often to log that somebody is refused: whoever may connect must not be able to fill the log.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// What all connections have in common.
pub struct LocalContext {
    node: Arc<NodeContext>,
    api: AccountApi,
    /// By user of the machine.
    open: Mutex<FairShares<u32>>,
    /// When it was last logged that somebody is refused.
    said: Mutex<Option<Instant>>,
}

/// Counts one connection for as long as it lives.
struct LocalConnectionPlace {
    door: Arc<LocalContext>,
    uid: u32,
}

// === impl LocalContext ===

impl LocalContext {
    pub fn new(node: Arc<NodeContext>, api: AccountApi) -> Arc<Self> {
        Arc::new(Self {
            node,
            api,
            open: Mutex::default(),
            said: Mutex::default(),
        })
    }

    /// Lets one more of a user in, unless he has his share of `most`.
    fn admit(self: &Arc<Self>, uid: u32, most: usize) -> Option<LocalConnectionPlace> {
        let has_room = lock(&self.open).try_take(&uid, 1, most as u64);
        has_room.then(|| LocalConnectionPlace {
            door: Arc::clone(self),
            uid,
        })
    }

    /// Whether a refusal may be logged now.
    fn may_log(&self) -> bool {
        let now = Instant::now();
        let mut said = lock(&self.said);
        let is_due = said.is_none_or(|at| now.duration_since(at) >= SAY_EVERY);
        if is_due {
            *said = Some(now);
        }
        is_due
    }
}

// === impl LocalConnectionPlace ===

impl Drop for LocalConnectionPlace {
    fn drop(&mut self) {
        lock(&self.door.open).give(&self.uid, 1);
    }
}

#[cfg(test)]
mod tests;
