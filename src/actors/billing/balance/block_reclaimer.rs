//! The block reclaimer: once a second it checks all purses and gives unused blocks back.
//!
//! A task on the core arbiter. It has no state of its own: everything is in [`NodePurses`].
//! Does nothing while no account is charged.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};

use super::{NodePurses, PurseShare};
use crate::actors::context::NodeContext;
use crate::clock;
use crate::domain::price::{Purse, day_of};
use crate::store::StoreError;
use crate::store::balance::BlockStore;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Quotas are kept for this many days after their day.
const KEEP_DAYS: u32 = 7;
/// Purses whose blocks are given back at the same time.
const AT_ONCE: usize = 2;
/// Purses that fail until the rest is left for the next run.
const GIVE_UP: usize = 3;
/// Runs between two deletions of old quotas.
const FORGET_EVERY: u32 = 600;

/// Looks once a second, without an end.
pub async fn reclaim_blocks(node: &NodeContext, balance: &NodePurses) {
    let mut looks = 0_u32;
    loop {
        // Blocks of an account that is not charged any more may still be here.
        let has_blocks = node.cluster.is_some() && !balance.purses.load().is_empty();
        if has_blocks || node.plan().charges() {
            let forget = looks.is_multiple_of(FORGET_EVERY) && node.local_lease.is_janitor();
            looks = looks.wrapping_add(1);
            if let Err(error) = look(node, balance, forget).await {
                tracing::warn!(%error, "balances could not be read");
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn look(node: &NodeContext, balance: &NodePurses, forget: bool) -> Result<(), StoreError> {
    let today = day_of(clock::now_ms());
    let mut given = Ok(());
    if let Some(cluster) = &node.cluster {
        let purses = balance.purses.load_full();
        let mut unused = Vec::new();
        for (purse, held) in purses.iter() {
            let spent = held.spent.swap(0, Ordering::Relaxed);
            held.recent.store(spent, Ordering::Relaxed);
            if held.has_block() {
                let keep = keep(node, balance, *purse, held, spent);
                unused.push((*purse, Arc::clone(held), keep));
            }
        }
        given = give_all(cluster.as_ref(), &unused).await;
    }
    // A message that was charged before midnight may still be on its way to the store.
    let is_old = |purse: &Purse| !purse.is_balance() && purse.day + 1 < today;
    if balance.purses.load().keys().any(is_old) {
        balance.purses.rcu(|purses| {
            let kept = purses.iter().filter(|(purse, _)| !is_old(purse));
            kept.map(|(purse, held)| (*purse, Arc::clone(held)))
                .collect::<std::collections::HashMap<_, _>>()
        });
    }
    let mut forgotten = Ok(());
    if forget {
        let before = today.saturating_sub(KEEP_DAYS);
        forgotten = node.store.forget_quotas(before).await;
    }
    balance.saw(&node.store.purses(None).await?);
    given.and(forgotten)
}

/// Gives back what is beyond that to keep of each purse. One that the database does not change, because something has its row
/// locked, keeps no other waiting.
///
/// # Errors
/// The last one; after [`GIVE_UP`] of them the rest is not tried, because the database is away.
pub(super) async fn give_all(
    store: &dyn BlockStore,
    unused: &[(Purse, Arc<PurseShare>, i64)],
) -> Result<(), StoreError> {
    let gives = unused
        .iter()
        .map(|(purse, held, keep)| held.give(store, *purse, *keep));
    let mut gives = stream::iter(gives).buffer_unordered(AT_ONCE);
    let (mut failures, mut outcome) = (0, Ok(()));
    while let Some(given) = gives.next().await {
        if given.is_err() {
            failures += 1;
            outcome = given;
        }
        if failures == GIVE_UP {
            break;
        }
    }
    outcome
}

/// How much of a block stays here: all of it while the purse has plenty, the need of the next seconds
/// when other nodes may run short, and nothing when this node spends nothing.
fn keep(
    node: &NodeContext,
    balance: &NodePurses,
    purse: Purse,
    held: &PurseShare,
    spent: i64,
) -> i64 {
    if spent <= 0 {
        return 0;
    }
    let floor = match node.plan().charging(purse.account) {
        Some(charging) => charging.floor(purse),
        None => return 0,
    };
    let seen = balance.seen.load();
    let elsewhere = seen
        .get(&purse)
        .map_or(0, |row| row.left.saturating_sub(floor));
    if elsewhere > held.left().saturating_mul(4) {
        held.left()
    } else {
        2 * spent
    }
}
