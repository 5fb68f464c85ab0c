//! The binds that an account may have: counted on this node, and over all nodes as permits of the store.
//!
//! Called by the sessions of ESMEs when they bind, and now and then. Keeps true that a bind that counts is
//! one that lives: the count of this node is the board of its sessions, a permit goes with its session or
//! with its node's membership. What was asked of the store happens however late it answers, so the answer
//! is awaited apart from the session: a permit that nobody wants any more is given back. When an account
//! with `on_full = "replace"` is full, its silent binds are asked for life, on every node, and the one that
//! has been silent for longest makes room if it does not answer; who answers is never touched.

use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::binds::BindPort;
use crate::actors::context::plan::AccountPlan;
use crate::actors::runtime::supervise::jitter;
use crate::config::WhenFull;
use crate::pb::bind_command::Verb;
use crate::pb::order::What;
use crate::pb::{BindCommand, MakeRoom, Order};
use crate::store::StoreError;
use crate::store::cluster::{Hint, Permit};

/// How often answers and permits are looked for.
const LOOK: Duration = Duration::from_millis(50);
/// A store that has not answered by then is not waited for: the count of this node has to do.
const STORE: Duration = Duration::from_secs(2);
/// A replaced session is gone after this time.
const GONE: Duration = Duration::from_secs(1);
/// A bind that has got no permit asks again after this time.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What a bind has of those that its account may have over all nodes: a permit, or the wish for one.
#[derive(Default)]
pub struct KeptPermit {
    /// The bind is to be counted over all nodes.
    wanted: bool,
    permit: Option<BindPermit>,
    /// What the store has not answered yet.
    asked: Option<Asked>,
    /// Not before then.
    ask_at: Option<Instant>,
}

/// A permit in use; given back when dropped.
struct BindPermit {
    node: Arc<NodeContext>,
    permit: Permit,
}

/// The answer of the store; whoever drops it gives the permit back, if there is one in the end.
type Asked = oneshot::Receiver<Result<BindPermit, NoPermit>>;

/// Why an account's bind has no permit.
enum NoPermit {
    /// All are taken.
    Full,
    /// The store did not say.
    Unknown(StoreError),
}

/// Makes `session` a bind of its account, unless that has as many as it may. With one node no permit
/// comes with it, and while the store does not say, that may come later.
///
/// # Errors
/// The account is full.
pub async fn admit(
    node: &Arc<NodeContext>,
    session: u64,
    account: &AccountPlan,
) -> Result<KeptPermit, ()> {
    let most = account.config.max_binds;
    let replaces = account.config.on_full == WhenFull::Replace;
    let within = node.config().smpp.takeover_timeout;
    let claim = || node.binds.claim(session, account.id, most as usize);
    let claimed = claim() || (replaces && make_room(node, account.id, within).await && claim());
    if !claimed {
        return Err(());
    }
    if !node.local_lease.is_shared() {
        return Ok(KeptPermit::default());
    }
    let mut asked = ask(node, account.id, most);
    match answer_in_time(&mut asked).await {
        Some(Ok(permit)) => Ok(KeptPermit::with(permit)),
        Some(Err(NoPermit::Unknown(error))) => {
            tracing::warn!(%error, "binds are counted on this node only");
            Ok(KeptPermit::later())
        }
        None => {
            tracing::warn!("binds are counted on this node only: the store is silent");
            Ok(KeptPermit::waiting_for(asked))
        }
        Some(Err(NoPermit::Full)) if replaces => {
            let permit = take_from_others(node, session, account, within).await;
            let kept = permit.map(KeptPermit::with);
            kept.ok_or_else(|| node.binds.unclaim(session))
        }
        Some(Err(NoPermit::Full)) => {
            node.binds.unclaim(session);
            Err(())
        }
    }
}

/// Whether `session` can become a bind of its account at once.
pub fn admit_now(node: &NodeContext, session: u64, account: &AccountPlan) -> bool {
    let most = account.config.max_binds as usize;
    !node.local_lease.is_shared() && node.binds.claim(session, account.id, most)
}

/// Asks the store for a permit, in a task of its own: what it has begun cannot be taken back.
fn ask(node: &Arc<NodeContext>, account: u32, most: u32) -> Asked {
    let (answer, asked) = oneshot::channel();
    let node = Arc::clone(node);
    tokio::spawn(async move {
        let taken = take(&node, account, most).await;
        // Where nobody waits any more, the permit is dropped here.
        drop(answer.send(taken));
    });
    asked
}

async fn take(node: &Arc<NodeContext>, account: u32, most: u32) -> Result<BindPermit, NoPermit> {
    let cluster = node.cluster.as_ref();
    let cluster = cluster.ok_or(NoPermit::Unknown(StoreError::Closed))?;
    match cluster.take_bind_permit(account, most).await {
        Ok(Some(permit)) => Ok(BindPermit {
            node: Arc::clone(node),
            permit,
        }),
        Ok(None) => Err(NoPermit::Full),
        Err(error) => Err(NoPermit::Unknown(error)),
    }
}

/// `None` while the store is silent.
async fn answer_in_time(asked: &mut Asked) -> Option<Result<BindPermit, NoPermit>> {
    let answer = tokio::time::timeout(STORE, asked).await.ok()?;
    Some(answer.unwrap_or(Err(NoPermit::Unknown(StoreError::Closed))))
}

/// Asks the silent binds of all nodes for life, and takes the permit that one of them leaves.
async fn take_from_others(
    node: &Arc<NodeContext>,
    session: u64,
    account: &AccountPlan,
    within: Duration,
) -> Option<BindPermit> {
    let others = node.other_nodes();
    if let Some(cluster) = &node.cluster
        && !others.is_empty()
    {
        let room = MakeRoom {
            account: account.id,
            within_ms: within.as_millis() as u64,
        };
        let order = Order {
            what: Some(What::MakeRoom(room)),
        };
        if cluster
            .order(others.clone(), order.encode_to_vec())
            .await
            .is_ok()
        {
            cluster.wake(&others, Hint::Orders);
        }
    }
    // The others find the order a little later than it was left.
    let deadline = Instant::now() + within + GONE;
    let most = account.config.max_binds;
    let mut room = std::pin::pin!(make_room_beside(node, account.id, session, within));
    let mut is_made = false;
    let mut asked = None;
    loop {
        if !is_made {
            is_made = tokio::time::timeout(LOOK * 4, &mut room).await.is_ok();
        } else {
            tokio::time::sleep(LOOK * 4).await;
        }
        let under_way = asked.get_or_insert_with(|| ask(node, account.id, most));
        match answer_in_time(under_way).await {
            Some(Ok(permit)) => return Some(permit),
            _ if Instant::now() >= deadline => return None,
            Some(Err(_)) => asked = None,
            None => {}
        }
    }
}

/// Asks the silent binds of an account on this node for life, and ends the one that has been silent
/// for longest unless it answers in time. True when there is one bind less.
pub async fn make_room(node: &NodeContext, account: u32, within: Duration) -> bool {
    make_room_beside(node, account, 0, within).await
}

async fn make_room_beside(
    node: &NodeContext,
    account: u32,
    session: u64,
    within: Duration,
) -> bool {
    let asked_at = Instant::now();
    let mut silent: Vec<Arc<BindPort>> = node.binds.of_owner(account);
    silent.retain(|port| port.session != session);
    silent.sort_by_key(|port| port.heard_at());
    let say = |port: &BindPort, verb: Verb| port.command(BindCommand { verb: verb.into() });
    for port in &silent {
        say(port, Verb::Prove);
    }
    while !silent.is_empty() {
        if silent.iter().any(|port| !node.binds.contains(port.session)) {
            return true;
        }
        silent.retain(|port| port.heard_at() <= asked_at);
        if asked_at.elapsed() >= within {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    let Some(oldest) = silent.first() else {
        return false;
    };
    say(oldest, Verb::Replace);
    let gone = async {
        while node.binds.contains(oldest.session) {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(GONE, gone).await.is_ok()
}

// === impl KeptPermit ===

impl KeptPermit {
    fn with(permit: BindPermit) -> Self {
        Self {
            wanted: true,
            permit: Some(permit),
            ..Self::default()
        }
    }

    fn waiting_for(asked: Asked) -> Self {
        Self {
            wanted: true,
            asked: Some(asked),
            ..Self::default()
        }
    }

    fn later() -> Self {
        Self {
            wanted: true,
            ask_at: Some(Instant::now() + jitter(ASK_AGAIN)),
            ..Self::default()
        }
    }

    /// Takes the permit that has come, and asks for one where there is none: at once when it was lost with
    /// the membership of this node, else now and then. A bind is not ended for want of one.
    pub fn keep(&mut self, node: &Arc<NodeContext>, account: &AccountPlan, now: Instant) {
        if !self.wanted {
            return;
        }
        match self.asked.as_mut().map(oneshot::Receiver::try_recv) {
            Some(Err(oneshot::error::TryRecvError::Empty)) => return,
            Some(Ok(Ok(permit))) => self.permit = Some(permit),
            Some(_) => self.ask_at = Some(now + jitter(ASK_AGAIN)),
            None => {}
        }
        self.asked = None;
        let has_one = self.permit.as_ref().is_some_and(|one| !one.is_lost());
        let is_early = self.ask_at.is_some_and(|at| now < at);
        if has_one || is_early || !node.local_lease.is_valid() {
            return;
        }
        self.permit = None;
        self.asked = Some(ask(node, account.id, account.config.max_binds));
    }
}

// === impl BindPermit ===

impl BindPermit {
    /// Whether it ended with the membership in whose name it was taken. A node that stood back and goes on
    /// under the same membership has it still.
    fn is_lost(&self) -> bool {
        let cluster = self.node.cluster.as_ref();
        let current = cluster.and_then(|cluster| cluster.membership());
        current.is_none_or(|me| me.epoch != self.permit.epoch)
    }
}

impl Drop for BindPermit {
    fn drop(&mut self) {
        if let Some(cluster) = &self.node.cluster {
            // The store does so as soon as it can.
            drop(cluster.give_bind_permit(self.permit));
        }
    }
}

#[cfg(test)]
mod tests;
