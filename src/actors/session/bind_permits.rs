//! The binds that an account may have: counted on this node, and over all nodes as permits of the store.
//!
//! Called by the sessions of ESMEs when they bind. Keeps true that a bind that counts is one that
//! lives: the count of this node is the board of its sessions, a permit goes with its session or with
//! its node. When an account with `on_full = "replace"` is full, its silent binds are asked for life,
//! on every node, and the one that has been silent for longest makes room if it does not answer; who
//! answers is never touched.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prost::Message as _;
use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::AccountPlan;
use crate::actors::context::ports::BindPort;
use crate::config::WhenFull;
use crate::pb::bind_command::Verb;
use crate::pb::order::What;
use crate::pb::{BindCommand, MakeRoom, Order};
use crate::store::cluster::Hint;

/// How often answers and permits are looked for.
const LOOK: Duration = Duration::from_millis(50);
/// A store that has not answered by then is not waited for: the count of this node has to do.
const STORE: Duration = Duration::from_secs(2);
/// A replaced session is gone after this time.
const GONE: Duration = Duration::from_secs(1);

/// One of the binds that an account may have over all nodes; given back when dropped.
pub struct BindPermit {
    node: Arc<NodeContext>,
    account: u32,
    number: u32,
    /// Of the local lease: with a lease that was lost, permits are lost.
    generation: u64,
}

/// Why an account's bind has no permit.
enum NoPermit {
    /// All are taken.
    Full,
    /// The store did not say.
    Unknown,
}

/// Makes `session` a bind of its account, unless that has as many as it may. With one node no permit
/// comes with it.
///
/// # Errors
/// The account is full.
pub async fn admit(
    node: &Arc<NodeContext>,
    session: u64,
    account: &AccountPlan,
) -> Result<Option<BindPermit>, ()> {
    let most = account.config.max_binds;
    let replaces = account.config.on_full == WhenFull::Replace;
    let within = node.config().smpp.takeover_timeout;
    let claim = || node.binds.claim(session, account.id, most as usize);
    let claimed = claim() || (replaces && make_room(node, account.id, within).await && claim());
    if !claimed {
        return Err(());
    }
    if !node.local_lease.is_shared() {
        return Ok(None);
    }
    match take(node, account.id, most).await {
        Ok(permit) => Ok(Some(permit)),
        Err(NoPermit::Unknown) => Ok(None),
        Err(NoPermit::Full) if replaces => {
            let permit = take_from_others(node, session, account, within).await;
            permit.map(Some).ok_or_else(|| node.binds.unclaim(session))
        }
        Err(NoPermit::Full) => {
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

/// The permit of a bind whose node has lost its lease and has it again; a bind is not ended for want of one.
pub async fn take_again(node: Arc<NodeContext>, account: u32, most: u32) -> Option<BindPermit> {
    take(&node, account, most).await.ok()
}

async fn take(node: &Arc<NodeContext>, account: u32, most: u32) -> Result<BindPermit, NoPermit> {
    let cluster = node.cluster.as_ref().ok_or(NoPermit::Unknown)?;
    let generation = node.local_lease.generation();
    match tokio::time::timeout(STORE, cluster.take_bind_permit(account, most)).await {
        Ok(Ok(Some(number))) => Ok(BindPermit {
            node: Arc::clone(node),
            account,
            number,
            generation,
        }),
        Ok(Ok(None)) => Err(NoPermit::Full),
        Ok(Err(error)) => {
            tracing::warn!(%error, "binds are counted on this node only");
            Err(NoPermit::Unknown)
        }
        Err(_) => {
            tracing::warn!("binds are counted on this node only: the store is silent");
            Err(NoPermit::Unknown)
        }
    }
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
    let mut asked = false;
    loop {
        if !asked {
            asked = tokio::time::timeout(LOOK * 4, &mut room).await.is_ok();
        } else {
            tokio::time::sleep(LOOK * 4).await;
        }
        match take(node, account.id, most).await {
            Ok(permit) => return Some(permit),
            Err(_) if Instant::now() >= deadline => return None,
            Err(_) => {}
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
    let of_account = |port: &Arc<BindPort>| {
        port.owner.load(Ordering::Relaxed) == account && port.session != session
    };
    let mut silent: Vec<Arc<BindPort>> = node.binds.all();
    silent.retain(of_account);
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

// === impl BindPermit ===

impl BindPermit {
    /// Whether it was lost with the lease of this node.
    pub fn is_lost(&self) -> bool {
        self.node.local_lease.generation() != self.generation
    }
}

impl Drop for BindPermit {
    fn drop(&mut self) {
        if let Some(cluster) = self.node.cluster.as_ref().filter(|_| !self.is_lost()) {
            drop(cluster.give_bind_permit(self.account, self.number));
        }
    }
}
