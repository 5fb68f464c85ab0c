//! What accounts may still spend on this node: prepaid balances, and daily quotas.
//!
//! Ingest opens a [`Reservation`] for a batch, charges each message, and stores the charges in the
//! transaction that stores the messages. With the embedded store, this node holds the whole purse; with a
//! shared store it holds *blocks* of it (`blocks.rs`), and [`reclaim_blocks`] gives unused blocks back.
//! Invariants: a reservation never exceeds what this node holds, and a message is stored with its charge or
//! not at all.
//!
//! Charges are returned only if they were certainly not written. If the result of a write is unknown, its
//! charge stays on this node; the numbers of the store correct it with the next membership or start.

mod block_reclaimer;
mod blocks;
mod orders;
mod reservation;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use tokio::sync::Mutex;

pub use self::block_reclaimer::reclaim_blocks;
pub use self::orders::{WantedTopUp, add, read, top_ups};
pub use self::reservation::Reservation;

use self::blocks::PurseBlock;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::clock;
use crate::domain::price::Purse;
use crate::pb::BalanceSnapshot;
use crate::store::balance::PurseRow;

/// All purses that this node has used.
#[derive(Default)]
pub struct NodePurses {
    purses: ArcSwap<HashMap<Purse, Arc<PurseShare>>>,
    /// The membership that the blocks belong to; 0 with the embedded store.
    epoch: AtomicU64,
    /// The rows last read from the store, for metrics and to decide how much of a block to keep.
    seen: ArcSwap<HashMap<Purse, PurseRow>>,
}

/// What this node may spend of a purse.
#[derive(Debug, Default)]
struct PurseShare {
    left: AtomicI64,
    /// Spent since the block reclaimer last ran.
    spent: AtomicI64,
    /// Spent between its last two runs.
    recent: AtomicI64,
    epoch: u64,
    /// The state of the block in the database.
    ledger: Mutex<PurseBlock>,
}

// === impl PurseShare ===

impl PurseShare {
    /// Takes an amount if at least `floor` is left.
    fn spend(&self, amount: i64, floor: i64) -> bool {
        let spend = |left: i64| left.checked_sub(amount).filter(|rest| *rest >= floor);
        let spent = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend)
            .is_ok();
        if spent {
            self.spent.fetch_add(amount, Ordering::Relaxed);
        }
        spent
    }

    /// Returns an unused amount, or adds a new one.
    fn put(&self, amount: i64) {
        self.left.fetch_add(amount, Ordering::Relaxed);
    }

    fn left(&self) -> i64 {
        self.left.load(Ordering::Relaxed)
    }
}

// === impl NodePurses ===

impl NodePurses {
    /// Initialises the purses from the embedded store.
    pub fn load(&self, rows: &[PurseRow]) {
        let held = |row: &PurseRow| {
            let held = PurseShare {
                left: AtomicI64::new(row.left),
                ..PurseShare::default()
            };
            (row.purse, Arc::new(held))
        };
        let purses = rows.iter().map(held).collect();
        self.purses.store(Arc::new(purses));
        self.saw(rows);
    }

    /// Starts without any block, as a new member of the cluster: the blocks of the earlier membership
    /// went back to their purses when it ended.
    pub fn join(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
        self.purses.store(Arc::default());
    }

    fn held(&self, purse: Purse) -> Arc<PurseShare> {
        if let Some(held) = self.purses.load().get(&purse) {
            return Arc::clone(held);
        }
        self.purses.rcu(|purses| {
            let mut purses = HashMap::clone(purses);
            // Read here: a purse with an older epoch must not get into the list of a newer membership.
            let epoch = self.epoch.load(Ordering::Relaxed);
            purses.entry(purse).or_insert_with(|| {
                Arc::new(PurseShare {
                    epoch,
                    ..PurseShare::default()
                })
            });
            purses
        });
        self.purses
            .load()
            .get(&purse)
            .map(Arc::clone)
            .unwrap_or_default()
    }

    fn saw(&self, rows: &[PurseRow]) {
        let seen = rows.iter().map(|row| (row.purse, *row)).collect();
        self.seen.store(Arc::new(seen));
    }

    /// What all nodes together have left of a purse, about a second old.
    fn on_all_nodes(&self, purse: Purse) -> i64 {
        let seen = self.seen.load();
        seen.get(&purse).map_or(0, |row| row.left + row.reserved)
    }

    /// The quota of an account, and how many segments of it are left now; on many nodes about a second old. `None` without
    /// a quota.
    pub fn quota_left(&self, node: &NodeContext, account: u32) -> Option<(i64, i64)> {
        let plan = node.plan();
        let quota = plan.charging(account)?.quota?;
        let purse = Purse::quota(account, clock::now_ms());
        let left = if node.cluster.is_some() {
            self.on_all_nodes(purse)
        } else {
            self.held(purse).left()
        };
        Some((quota, quota.saturating_add(left).clamp(0, quota)))
    }

    /// What accounts have left and have used on all nodes, about a second old.
    pub fn snapshot(&self, plan: &Plan, now: i64) -> Vec<BalanceSnapshot> {
        let mut all: Vec<BalanceSnapshot> = plan
            .accounts()
            .filter_map(|account| {
                let charging = plan.charging(account.id)?;
                Some(BalanceSnapshot {
                    account: account.config.system_id.clone(),
                    prepaid: charging.tariff.is_some(),
                    credits: self.on_all_nodes(Purse::balance(account.id)),
                    quota: charging.quota.unwrap_or(0),
                    quota_used: -self.on_all_nodes(Purse::quota(account.id, now)),
                })
            })
            .collect();
        all.sort_by(|one, other| one.account.cmp(&other.account));
        all
    }
}

#[cfg(test)]
mod tests;
