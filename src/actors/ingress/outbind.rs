//! Connects to accounts that are not always bound: when messages wait for an account and no receiver of
//! it is bound on any node, outbind asks its ESME to bind on our connection (SMPP 3.4 §2.2.1, §4.1.7).
//!
//! A task of every node; the node that holds the account's queue connects. The connection then has a
//! session like any other.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor as _, Addr, ArbiterHandle};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::actors::context::NodeContext;
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::esme_session::EsmeSession;
use crate::actors::ingress::gate::Gate;
use crate::actors::ingress::ingest::Ingest;
use crate::actors::runtime::supervise::{every, jitter};

const TICK: Duration = Duration::from_millis(500);
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Pauses between attempts that brought no receiver; the last one repeats.
const PAUSES: [Duration; 5] = [
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(20),
    Duration::from_secs(40),
    Duration::from_secs(60),
];

/// Calls accounts.
pub struct Outbind {
    node: Arc<NodeContext>,
    gate: Arc<Gate>,
    lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
    /// By account: attempts without a receiver so far, and the earliest time of the next.
    calls: HashMap<u32, (usize, Instant)>,
    turn: usize,
}

// === impl Outbind ===

impl Outbind {
    pub fn new(
        node: Arc<NodeContext>,
        gate: Arc<Gate>,
        lanes: Vec<(ArbiterHandle, Addr<Ingest>)>,
    ) -> Self {
        Self {
            node,
            gate,
            lanes,
            calls: HashMap::new(),
            turn: 0,
        }
    }

    /// Looks periodically who is to be called, without an end.
    pub async fn run(&mut self) {
        every(TICK, async || self.tick()).await;
    }

    fn tick(&mut self) {
        if self.node.draining.load(Ordering::Relaxed) || !self.node.local_lease.is_valid() {
            return;
        }
        let plan = self.node.full_plan();
        self.calls
            .retain(|account, _| plan.account_by_id(*account).is_some());
        for account in plan.accounts() {
            let Some(address) = &account.config.outbind else {
                continue;
            };
            if self.node.available(account.id) {
                self.calls.remove(&account.id);
            } else if self.waits(account) && self.may_call(account.id) {
                self.call(account, address.clone());
            }
        }
    }

    /// Whether this node holds waiting messages for the account. A suspended queue does not count.
    fn waits(&self, account: &AccountPlan) -> bool {
        self.node.queue(account.id).is_some_and(|port| {
            port.depth.load(Ordering::Relaxed) > 0 && !port.suspended.load(Ordering::Relaxed)
        })
    }

    fn may_call(&mut self, account: u32) -> bool {
        let now = Instant::now();
        let (calls, next) = self.calls.entry(account).or_insert((0, now));
        if now < *next {
            return false;
        }
        *next = now + jitter(PAUSES[(*calls).min(PAUSES.len() - 1)]);
        *calls += 1;
        true
    }

    fn call(&mut self, account: &AccountPlan, address: String) {
        let (arbiter, ingest) = self.lanes[self.turn % self.lanes.len()].clone();
        self.turn += 1;
        self.node.metrics.outbinds.inc();
        let (node, gate) = (Arc::clone(&self.node), Arc::clone(&self.gate));
        let system_id = account.config.system_id.clone();
        let password = account.config.outbind_password.clone();
        actix::spawn(async move {
            let connected = timeout(CONNECT_WITHIN, TcpStream::connect(&address)).await;
            let socket = match connected {
                Ok(Ok(socket)) => socket,
                Ok(Err(error)) => {
                    tracing::warn!(%system_id, %address, %error, "outbind: no connection");
                    return;
                }
                Err(_) => {
                    tracing::warn!(%system_id, %address, "outbind: no connection in time");
                    return;
                }
            };
            let (Ok(peer), Ok(socket)) = (socket.peer_addr(), socket.into_std()) else {
                return;
            };
            tracing::info!(%system_id, %address, "outbind");
            // The socket is registered with the reactor of the thread that will serve it.
            arbiter.spawn_fn(move || {
                if let Ok(socket) = TcpStream::from_std(socket) {
                    let session = EsmeSession::calling(node, gate, ingest, socket, peer, password);
                    session.start();
                }
            });
        });
    }
}
