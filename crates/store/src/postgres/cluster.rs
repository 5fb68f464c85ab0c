//! The cluster port on PostgreSQL: members, leases, the shared hand-off table, wake-ups.
//!
//! Each file below does one of these; this one keeps what they share and answers the port. Guarantees
//! that when this node finds itself removed it ends its membership, so that it writes nothing
//! afterwards.

mod bind_permit;
mod blocks;
mod collect;
mod lease;
mod member;
mod orders;
mod rehome;
mod take_over;
mod unfinished;
mod wake;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};

use super::doubts;
use super::failure::{DbError, DbResult};
use super::{PgStore, PostgresShared};
use crate::cluster::{
    ClusterStore, Handed, Hint, IsWanted, LeasedResource, Membership, NodeCard, Partition, Permit,
    View,
};
use crate::{Active, Reply, StoreError, StoreResult};

pub use self::blocks::order as order_block;

/// What a store keeps for its membership.
#[derive(Default)]
pub struct MembershipState {
    /// Of the last join.
    lease: RwLock<Duration>,
    /// The connection of the heartbeat: it waits behind no other work.
    beat: Mutex<Option<member::Beat>>,
    /// Held for reading while items are taken out of the hand-off table, for writing when partitions change.
    collecting: tokio::sync::RwLock<()>,
    /// Rows whose commit broke off.
    uncertain: Mutex<Vec<collect::HandOffRow>>,
    uncertain_permits: bind_permit::Uncertain,
    wake: wake::Wake,
}

// === impl MembershipState ===

impl MembershipState {
    fn lease(&self) -> Duration {
        *self.lease.read().unwrap_or_else(PoisonError::into_inner)
    }

    async fn joined(&self, shared: &PostgresShared, me: Membership, lease: Duration) {
        *self.lease.write().unwrap_or_else(PoisonError::into_inner) = lease;
        self.uncertain.lock().await.clear();
        self.wake.start(&shared.runtime, &shared.connect, me);
    }

    /// Drops uncertain rows of these resources: whoever takes the partitions over finds them.
    async fn forget(&self, resources: &[LeasedResource]) {
        let mut uncertain = self.uncertain.lock().await;
        uncertain.retain(|row| !resources.contains(&LeasedResource::Queue(row.partition())));
    }
}

// === impl PostgresShared ===

impl PostgresShared {
    fn become_member(&self, me: Membership) {
        *self
            .membership
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(me);
    }

    /// Ends this membership, unless there is a newer one.
    fn end_membership(&self, ended: Membership) {
        let mut current = self
            .membership
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if *current == Some(ended) {
            *current = None;
        }
    }

    /// Passes an answer on; that this node is no member any more ends the membership.
    fn or_fenced<T>(&self, me: Membership, answer: DbResult<T>) -> StoreResult<T> {
        let answer = answer.map_err(StoreError::from);
        if matches!(answer, Err(StoreError::Fenced)) {
            self.end_membership(me);
        }
        answer
    }
}

// === impl ClusterStore ===

impl ClusterStore for PgStore {
    fn join(
        &self,
        card: NodeCard,
        lease: Duration,
        preferred: Option<u8>,
    ) -> StoreResult<Membership> {
        self.ask(|shared| async move { member::join(&shared, card, lease, preferred).await })
            .wait()
    }

    fn beat(&self, card: NodeCard) -> Reply<View> {
        self.ask(|shared| async move { member::beat(&shared, card).await })
    }

    fn bury(&self, node: u8, epoch: u64, margin: Duration) -> Reply<bool> {
        self.ask(|shared| async move { member::bury(&shared, node, epoch, margin).await })
    }

    fn declare(&self, resources: Vec<LeasedResource>) -> Reply<()> {
        self.ask(|shared| async move { lease::declare(&shared, resources).await })
    }

    fn claim(&self, resources: Vec<LeasedResource>) -> Reply<Vec<LeasedResource>> {
        self.ask(|shared| async move { lease::claim(&shared, resources).await })
    }

    fn release(&self, resources: Vec<LeasedResource>) -> Reply<()> {
        self.ask(|shared| async move { lease::release(&shared, resources).await })
    }

    fn membership(&self) -> Option<Membership> {
        self.shared.membership()
    }

    fn take_bind_permit(&self, account: u32, most: u32) -> Reply<Option<Permit>> {
        self.ask(|shared| async move { bind_permit::take(&shared, account, most).await })
    }

    fn give_bind_permit(&self, permit: Permit) -> Reply<()> {
        self.ask(|shared| async move {
            bind_permit::give(&shared, permit).await;
            Ok(())
        })
    }

    fn take_over(&self, partitions: Vec<Partition>, is_wanted: IsWanted) -> Reply<Vec<Active>> {
        self.ask(
            |shared| async move { take_over::take_over(&shared, partitions, &is_wanted).await },
        )
    }

    fn collect(&self, limit: usize, except: Vec<Partition>) -> Reply<Vec<Handed>> {
        self.ask(|shared| async move { collect::collect(&shared, limit, except).await })
    }

    fn caution(&self) -> u64 {
        self.shared.caution()
    }

    fn keep(&self, resources: Vec<LeasedResource>) -> Reply<Vec<LeasedResource>> {
        self.ask(|shared| async move { lease::keep(&shared, resources).await })
    }

    fn doubt(&self, partitions: Vec<Partition>) -> Reply<()> {
        self.ask(|shared| async move { doubts::doubt_these(&shared, &partitions).await })
    }

    fn may_repeat_hand_offs(&self) -> bool {
        self.shared.comparison.is_careful()
    }

    fn still_active(&self, ids: Vec<u64>) -> Reply<Vec<Active>> {
        self.ask(|shared| async move { super::recover::these(&shared, ids).await })
    }

    fn rehome(&self, whole: Vec<u32>, divided: Vec<u32>) -> Reply<Vec<Partition>> {
        self.ask(|shared| async move { rehome::rehome(&shared, &whole, &divided).await })
    }

    fn sweep_correlations(&self, before: i64) -> Reply<u64> {
        self.ask(|shared| async move { super::correlations::sweep(&shared, before).await })
    }

    fn barrier(&self) -> Reply<()> {
        PgStore::barrier(self)
    }

    fn wake(&self, nodes: &[u8], hint: Hint) {
        self.shared.cluster.wake.wake(nodes, hint);
    }

    fn woken(&self, hint: Hint) -> Arc<Notify> {
        self.shared.cluster.wake.woken(hint)
    }

    fn order(&self, nodes: Vec<u8>, order: Vec<u8>) -> Reply<()> {
        self.ask(|shared| async move { orders::order(&shared, nodes, order).await })
    }

    fn orders(&self) -> Reply<Vec<Vec<u8>>> {
        self.ask(|shared| async move { orders::take(&shared).await })
    }

    fn count_unfinished(&self, changes: Vec<(u32, i64)>) -> Reply<Vec<(u32, i64)>> {
        self.ask(|shared| async move { unfinished::add(&shared, changes).await })
    }

    fn correct_unfinished(&self, more: Vec<(u32, i64)>) -> Reply<()> {
        self.ask(|shared| async move { unfinished::correct(&shared, more).await })
    }

    fn recount_unfinished(&self, accounts: Vec<u32>) -> Reply<Vec<(u32, i64)>> {
        self.ask(|shared| async move { unfinished::recount(&shared, accounts).await })
    }

    fn leave(&self) -> StoreResult {
        self.ask(|shared| async move { member::leave(&shared).await })
            .wait()
    }
}

// === impl Membership ===

impl Membership {
    /// As the columns `node` and `epoch`.
    fn columns(self) -> (i16, i64) {
        (self.node.into(), self.epoch as i64)
    }
}
