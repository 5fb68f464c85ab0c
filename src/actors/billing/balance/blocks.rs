//! Blocks: what a node has taken out of the purses that all nodes share.
//!
//! A node takes a block when it holds too little for a batch, and gives unused credit back. Invariant:
//! this node spends only what it has taken in the database. Orders are numbered, and the database
//! executes none with a number below the last one; after a lost answer, the answer to the next order
//! tells what happened.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::PurseShare;
use crate::domain::price::Purse;
use crate::store::StoreError;
use crate::store::balance::{BlockChange, BlockOrder, BlockStore};

/// How long an empty purse is not asked again: meanwhile the block reclaimers of other nodes return
/// what they do not need.
const DRY_FOR: Duration = Duration::from_millis(250);

/// A node's block of one purse, as far as this node knows.
#[derive(Debug, Default)]
pub(super) struct PurseBlock {
    /// Number of the last order.
    order: i64,
    /// Taken less given back, as last reported by the database.
    taken: i64,
    /// On its way back: removed here, but not yet confirmed by the database.
    giving: i64,
    /// Whether the answer to the last order was lost.
    uncertain: bool,
    dry_until: Option<Instant>,
}

// === impl PurseShare ===

impl PurseShare {
    /// Takes another block if this node holds less than `need`. It may get less, or nothing. `floor` is
    /// how far down the purse may go.
    ///
    /// # Errors
    /// The database does not answer, or this node is no longer a member.
    pub(super) async fn ensure(
        &self,
        store: &dyn BlockStore,
        purse: Purse,
        need: i64,
        floor: i64,
    ) -> Result<(), StoreError> {
        if self.left() >= need {
            return Ok(());
        }
        let mut ledger = self.ledger.lock().await;
        let lack = need - self.left();
        let is_dry = |until: Instant| until > Instant::now();
        if lack <= 0 || ledger.dry_until.is_some_and(is_dry) {
            return Ok(());
        }
        let now = self.spent.load(Ordering::Relaxed);
        let pace = self.recent.load(Ordering::Relaxed).max(now);
        let want = lack.max(pace.saturating_mul(2));
        let take = BlockChange::Take { lack, want, floor };
        self.order(store, purse, &mut ledger, take).await?;
        let is_short = self.left() < need;
        ledger.dry_until = is_short.then(|| Instant::now() + DRY_FOR);
        Ok(())
    }

    /// Gives back what this node holds beyond `keep`.
    ///
    /// # Errors
    /// As [`PurseShare::ensure`]; a later order finds out whether it was executed.
    pub(super) async fn give(
        &self,
        store: &dyn BlockStore,
        purse: Purse,
        keep: i64,
    ) -> Result<(), StoreError> {
        // Another order is under way; try again later.
        let Ok(mut ledger) = self.ledger.try_lock() else {
            return Ok(());
        };
        if ledger.uncertain {
            self.order(store, purse, &mut ledger, BlockChange::Look)
                .await?;
        }
        let down_to = |left: i64| (left > keep).then_some(keep);
        let before = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, down_to);
        let Ok(before) = before else { return Ok(()) };
        ledger.giving = before - keep;
        let give = BlockChange::Give {
            amount: ledger.giving,
        };
        self.order(store, purse, &mut ledger, give).await
    }

    /// Whether this node has a block, or may have one.
    pub(super) fn has_block(&self) -> bool {
        self.left() > 0 || self.ledger.try_lock().is_ok_and(|ledger| ledger.uncertain)
    }

    /// Has the database execute an order, and adds what this order, and earlier ones without an answer,
    /// have taken.
    async fn order(
        &self,
        store: &dyn BlockStore,
        purse: Purse,
        ledger: &mut PurseBlock,
        change: BlockChange,
    ) -> Result<(), StoreError> {
        ledger.order += 1;
        ledger.uncertain = true;
        let order = BlockOrder {
            purse,
            epoch: self.epoch,
            number: ledger.order,
            change,
        };
        let taken = store.order_block(order).await?;
        self.put(taken - ledger.taken + ledger.giving);
        ledger.taken = taken;
        ledger.giving = 0;
        ledger.uncertain = false;
        Ok(())
    }
}
