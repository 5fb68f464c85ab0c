//! What people watch: begun on the node that is asked, and carried to the others, which bring what they see.
//!
//! Called by the Admin actor for `POST /v1/traces` and `GET /v1/binds/{node}/{session}/pdus`. A watch on another node
//! lives only as long as it is renewed, so it ends there when this node forgets it, or dies.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::context::AdminContext;
use super::messages;
use crate::actors::context::NodeContext;
use crate::actors::context::remote_command;
use crate::actors::orders::audit;
use crate::clock;
use crate::pb::order::What;
use crate::pb::{
    BindCommand, Commanded, Disconnect, Refusal, Watch, Watched, WatchedStep, bind_command, watch,
};

/// How often steps are read.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often other nodes are asked to go on, and for how long they do without being asked.
const RENEW_EVERY: Duration = Duration::from_secs(5);
const RENEWED_FOR_MS: i64 = 15_000;

/// What somebody begins to watch.
pub struct BeginWatch {
    pub whom: Whom,
    /// Unix milliseconds.
    pub until: i64,
    /// The name of the token, which may have so many watches.
    pub token: String,
    /// Who watches, and from where, for the log.
    pub by: String,
}

/// Whom somebody watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    /// Source or destination.
    Number(String),
    Account(String),
    Operator(String),
    Bind {
        node: u8,
        session: u64,
    },
}

/// A watch; it ends when this is dropped.
pub struct Watching {
    node: Arc<NodeContext>,
    order: Watch,
    /// The nodes that watch too.
    others: Vec<u8>,
    steps: mpsc::Receiver<WatchedStep>,
    renewed: Option<Instant>,
    is_over: bool,
}

/// Begins to watch on this node; [`Watching::next`] has the others begin.
pub async fn begin(admin: Arc<AdminContext>, ask: BeginWatch) -> Result<Watching, Refusal> {
    let node = Arc::clone(&admin.node);
    let own = node.ids.node();
    let mut others = node.other_nodes();
    let (whom, elsewhere) = match &ask.whom {
        Whom::Number(number) => (
            watch::Whom::Number(Bytes::copy_from_slice(number.as_bytes())),
            false,
        ),
        Whom::Account(name) => (watch::Whom::Peer(messages::sender(&node, name)?), false),
        Whom::Operator(name) => (watch::Whom::Peer(messages::operator(&node, name)?), false),
        Whom::Bind { node: at, session } => {
            let is_known = if *at == own {
                node.binds.contains(*session)
            } else {
                others.contains(at)
            };
            if !is_known {
                return Err(no_such_bind(*at, *session));
            }
            others.retain(|other| other == at);
            (watch::Whom::Session(*session), *at != own)
        }
    };
    let order = Watch {
        id: rand::random(),
        node: own.into(),
        whom: Some(whom),
        until: ask.until,
    };
    let steps = node
        .watches
        .begin(&order, &ask.token, elsewhere)
        .map_err(|error| Refusal::conflict(error.to_string()))?;
    tracing::info!(target: "audit", by = ask.by, command = "watch", until = ask.until, "command carried out");
    Ok(Watching {
        node,
        order,
        others,
        steps,
        renewed: None,
        is_over: false,
    })
}

fn no_such_bind(node: u8, session: u64) -> Refusal {
    Refusal::not_found(format!(
        "there is no bind {node}/{session}; GET /v1/binds lists those of a node, and a bind that is made again has another number"
    ))
}

// === impl Watching ===

impl Watching {
    /// When it ends by itself, Unix milliseconds.
    pub fn until(&self) -> i64 {
        self.order.until
    }

    /// What was seen since the last call, and how many steps were dropped, after a moment; `None` when its time is
    /// over.
    pub async fn next(&mut self) -> Option<(Vec<WatchedStep>, u64)> {
        self.renew().await;
        tokio::time::sleep(LOOK_EVERY).await;
        let mut seen = drained(&mut self.steps);
        let missed = self.node.watches.take_missed(self.order.id);
        // What came before the end is shown once more; steps that go on coming keep no trace open.
        let was_over = std::mem::replace(&mut self.is_over, clock::now_ms() >= self.order.until);
        if self.is_over && (was_over || seen.is_empty()) {
            return None;
        }
        seen.sort_by_key(|step| step.at_us);
        Some((seen, missed))
    }

    /// Whether the bind that is watched is gone; only known of one of this node.
    pub fn is_gone(&self) -> bool {
        match &self.order.whom {
            Some(watch::Whom::Session(session)) if self.others.is_empty() => {
                !self.node.binds.contains(*session)
            }
            _ => false,
        }
    }

    /// Asks the other nodes to watch for a while longer, also those that joined meanwhile.
    async fn renew(&mut self) {
        if self.renewed.is_some_and(|at| at.elapsed() < RENEW_EVERY) {
            return;
        }
        self.renewed = Some(Instant::now());
        let order = Watch {
            until: self.order.until.min(clock::now_ms() + RENEWED_FOR_MS),
            ..self.order.clone()
        };
        let sent = match &self.order.whom {
            Some(watch::Whom::Session(_)) => match self.others.first() {
                Some(at) => remote_command::to_node(&self.node, *at, What::Watch(order)).await,
                None => return,
            },
            _ => remote_command::to_others(&self.node, What::Watch(order)).await,
        };
        if let Err(refusal) = sent {
            tracing::warn!(reason = refusal.detail, "other nodes do not watch now");
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.node.watches.end(self.order.id);
    }
}

fn drained(steps: &mut mpsc::Receiver<WatchedStep>) -> Vec<WatchedStep> {
    std::iter::from_fn(|| steps.try_recv().ok()).collect()
}

/// Another node watches: brings it what happens here, for as long as it asks.
pub(super) fn watch_for(node: &Arc<NodeContext>, order: Watch) {
    if node.watches.prolong(order.id, order.until) {
        return;
    }
    let Ok(to) = u8::try_from(order.node) else {
        return;
    };
    match node.watches.begin(&order, "", false) {
        Ok(steps) => drop(actix::spawn(bring(Arc::clone(node), order.id, to, steps))),
        Err(error) => tracing::warn!(%error, to, "a trace of another node does not run here"),
    }
}

async fn bring(node: Arc<NodeContext>, watch: u64, to: u8, mut steps: mpsc::Receiver<WatchedStep>) {
    while clock::now_ms() < node.watches.until(watch) {
        tokio::time::sleep(LOOK_EVERY).await;
        let steps = drained(&mut steps);
        let missed = node.watches.take_missed(watch);
        if steps.is_empty() && missed == 0 {
            continue;
        }
        let watched = Watched {
            watch,
            steps,
            missed,
        };
        let sent = remote_command::to_node(&node, to, What::Watched(watched)).await;
        if let Err(refusal) = sent {
            tracing::warn!(
                reason = refusal.detail,
                to,
                "a trace of another node is not told"
            );
        }
    }
    node.watches.end(watch);
}

/// Unbinds one session, on whichever node it is.
pub async fn disconnect(admin: Arc<AdminContext>, order: Disconnect) -> Result<Commanded, Refusal> {
    let node = &admin.node;
    let at = u8::try_from(order.node).unwrap_or(u8::MAX);
    if at == node.ids.node() {
        return disconnect_here(node, &order);
    }
    let result = if node.other_nodes().contains(&at) {
        remote_command::to_node(node, at, What::Disconnect(order.clone()))
            .await
            .map(|pending| Commanded { count: 1, pending })
    } else {
        Err(no_such_bind(at, order.session))
    };
    log(&order, &result);
    result
}

/// Unbinds one session of this node.
pub(super) fn disconnect_here(
    node: &NodeContext,
    order: &Disconnect,
) -> Result<Commanded, Refusal> {
    let result = unbind(node, order.session);
    log(order, &result);
    result
}

fn log(order: &Disconnect, result: &Result<Commanded, Refusal>) {
    let what = format!("bind {}/{}", order.node, order.session);
    audit(&order.by, "disconnect", &what, result);
}

fn unbind(node: &NodeContext, session: u64) -> Result<Commanded, Refusal> {
    let own = node.ids.node();
    let binds = node.binds.all();
    let port = binds.iter().find(|port| port.session == session);
    let port = port.ok_or_else(|| no_such_bind(own, session))?;
    let order = BindCommand {
        verb: bind_command::Verb::Disconnect.into(),
    };
    if port.is_bound() && port.command(order) {
        Ok(Commanded {
            count: 1,
            pending: true,
        })
    } else {
        Err(Refusal::conflict(format!(
            "bind {own}/{session} is not bound, or is of a kind that cannot be disconnected: suspend its queue or operator instead"
        )))
    }
}
