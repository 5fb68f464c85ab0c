//! Wake-ups between nodes, by NOTIFY: a hint what to check.
//!
//! Two tasks on the store's runtime, from joining to leaving. One gathers the hints of some
//! milliseconds and sends one notification to each node; the other listens for this node's. Each has
//! its own connection and reconnects when it breaks. Guarantees that nothing depends on a wake-up,
//! and that one that may have been missed is treated as received.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time;
use tokio_postgres::{AsyncMessage, Client, Transaction};

use super::super::connect::PostgresConnector;
use super::super::hosts::OpenedConnection;
use crate::cluster::{Hint, Membership};
use crate::{StoreError, StoreResult};

/// Hints are gathered for this time.
const GATHER: Duration = Duration::from_millis(5);
/// Between two notifications at least: each wakes the listening connections of all nodes.
const REST: Duration = Duration::from_millis(10);
/// Between two attempts to connect.
const RECONNECT: Duration = Duration::from_millis(500);
/// How often the listening connection is checked, and the timeout of the check. Whatever else waits for a silent
/// server goes on when the next connection from here finds another one.
const PROBE: Duration = Duration::from_secs(2);
const PROBE_PATIENCE: Duration = Duration::from_secs(3);

/// The wake-ups of one node.
#[derive(Default)]
pub struct Wake {
    hints: Arc<Hints>,
    woken: Woken,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// Waiters, by `Hint as usize`.
type Woken = [Arc<Notify>; Hint::ALL.len()];

/// Nodes to wake, one bit each, by `Hint as usize`.
#[derive(Default)]
struct Hints {
    nodes: [[AtomicU64; 4]; Hint::ALL.len()],
    any: Notify,
}

// === impl Wake ===

impl Wake {
    /// Starts sending and listening, in place of what was started before.
    pub fn start(&self, runtime: &Handle, connect: &PostgresConnector, me: Membership) {
        let send = send(connect.clone(), Arc::clone(&self.hints));
        let listen = listen(connect.clone(), me.node, self.woken.clone());
        self.replace(vec![runtime.spawn(send), runtime.spawn(listen)]);
    }

    pub fn stop(&self) {
        self.replace(Vec::new());
    }

    pub fn wake(&self, nodes: &[u8], hint: Hint) {
        let marked = &self.hints.nodes[hint as usize];
        for node in nodes {
            marked[usize::from(node / 64)].fetch_or(1 << (node % 64), Ordering::Relaxed);
        }
        if !nodes.is_empty() {
            self.hints.any.notify_one();
        }
    }

    pub fn woken(&self, hint: Hint) -> Arc<Notify> {
        Arc::clone(&self.woken[hint as usize])
    }

    fn replace(&self, tasks: Vec<JoinHandle<()>>) {
        let mut current = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        for task in std::mem::replace(&mut *current, tasks) {
            task.abort();
        }
    }
}

// === impl Drop ===

impl Drop for Wake {
    fn drop(&mut self) {
        self.stop();
    }
}

// === impl Hints ===

impl Hints {
    /// Nodes, and the payload for each.
    fn take(&self) -> (Vec<i32>, Vec<&'static str>) {
        let mut all = (Vec::new(), Vec::new());
        for hint in Hint::ALL {
            for (word, bits) in self.nodes[hint as usize].iter().enumerate() {
                let bits = bits.swap(0, Ordering::Relaxed);
                let set = (0..64).filter(|bit| bits >> bit & 1 == 1);
                all.0.extend(set.map(|bit| word as i32 * 64 + bit));
            }
            all.1.resize(all.0.len(), hint.payload());
        }
        all
    }
}

/// Sends a hint to all nodes but one, once the transaction is committed.
pub async fn wake_others(
    transaction: &Transaction<'_>,
    me: Membership,
    hint: Hint,
) -> Result<(), tokio_postgres::Error> {
    let sql = "SELECT pg_notify('smsc_' || node, $2) FROM node WHERE node <> $1";
    transaction
        .execute(sql, &[&i16::from(me.node), &hint.payload()])
        .await
        .map(drop)
}

async fn send(connect: PostgresConnector, hints: Arc<Hints>) {
    let mut client = None;
    loop {
        hints.any.notified().await;
        time::sleep(GATHER).await;
        let (nodes, payloads) = hints.take();
        if let Err(error) = send_once(&connect, &mut client, &nodes, &payloads).await {
            tracing::debug!(%error, "wake-ups were lost");
            client = None;
            time::sleep(RECONNECT).await;
        }
        time::sleep(REST).await;
    }
}

async fn send_once(
    connect: &PostgresConnector,
    client: &mut Option<Client>,
    nodes: &[i32],
    payloads: &[&str],
) -> StoreResult {
    if client.as_ref().is_none_or(Client::is_closed) {
        let fresh = connect.driven().await?;
        // A hint need not survive a crash, and all that notify wait for each other's commit.
        fresh.batch_execute("SET synchronous_commit = off").await?;
        *client = Some(fresh);
    }
    if let Some(client) = client {
        let select = "SELECT pg_notify('smsc_' || w.node, w.payload)
             FROM unnest($1::int[], $2::text[]) w(node, payload)";
        client.execute(select, &[&nodes, &payloads]).await?;
    }
    Ok(())
}

async fn listen(connect: PostgresConnector, node: u8, woken: Woken) {
    loop {
        if let Err(error) = listen_once(&connect, node, &woken).await {
            tracing::warn!(%error, "this node cannot be woken for a moment");
        }
        time::sleep(RECONNECT).await;
    }
}

/// Listens until the connection breaks.
async fn listen_once(connect: &PostgresConnector, node: u8, woken: &Woken) -> StoreResult {
    let OpenedConnection {
        client,
        mut driver,
        mut tie,
    } = connect.client().await?;
    let mut messages = stream::poll_fn(|cx| driver.poll_message(cx));
    let ask = async {
        client.batch_execute(&format!("LISTEN smsc_{node}")).await?;
        // Notifications that came while the connection was down.
        woken.iter().for_each(|woken| woken.notify_one());
        loop {
            time::sleep(PROBE).await;
            let alive = time::timeout(PROBE_PATIENCE, client.batch_execute("")).await;
            alive
                .map_err(|_| StoreError::Failed("the listening connection is silent".into()))??;
        }
    };
    let hear = async {
        while let Some(message) = messages.next().await {
            if let AsyncMessage::Notification(got) = message? {
                // An unknown hint of a later release may concern the hand-off table.
                let hint = Hint::from_name(got.payload()).unwrap_or(Hint::HandOff);
                woken[hint as usize].notify_one();
            }
        }
        Err(StoreError::Failed(
            "the listening connection was closed".into(),
        ))
    };
    tokio::select! {
        ended = ask => ended,
        ended = hear => ended,
        () = tie.cut() => Ok(()),
    }
}
