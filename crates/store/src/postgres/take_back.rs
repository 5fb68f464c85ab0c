//! Undoes what was refused before it was known whether it was written.
//!
//! Called by a lane when the outcome of the transaction is known, before anything that was asked of the lane later, and
//! before partitions are read (`WriteQueue::barrier`). If it was committed, messages that only this node knows of end as
//! deleted: without a receipt, an event or a charge, and the answer under their idempotency key goes. What another node
//! has taken out of the hand-off table, and what a repeated request was told as accepted, stays accepted.
//!
//! The embedded store needs none of this: it knows the outcome of its commits, or its process ends.
//!
//! Charges return to the purse itself, committed or not: the node counts them as spent from its block.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use ahash::AHashSet;

use super::balance;
use super::columns::{Expect, calls};
use super::failure::{CommitResult, PostgresFailure};
use super::idempotency;
use super::inbox::{hand_off, inbox_rows, octets_of};
use super::lane::PostgresLane;
use super::transaction::answer;
use super::write_queue::PendingBatch;
use crate::cluster::Membership;
use crate::sinks::Listeners;
use crate::{ChangeKind, ChangeRow, FinRow, RemoteItem, RowFailurePolicy, WriteBatch};
use smsc_domain::price::Purse;
use smsc_host::clock;
use tokio_postgres::types::ToSql;

/// Who cancelled them, in their histories.
const BY: &str = "store: refused, the database had not answered in time";

// === impl PostgresLane ===

impl PostgresLane {
    /// One transaction for all refused batches of a group, which was written in this mode or not at all.
    pub async fn take_back(
        &self,
        group: &[PendingBatch],
        written: Option<RowFailurePolicy>,
        member: Membership,
    ) -> CommitResult {
        let leaves_something =
            |batch: &WriteBatch| !batch.charge.is_empty() || !batch.idempotency.is_empty();
        if written.is_none() && !refused(group).any(leaves_something) {
            return Ok(());
        }
        let client = &self.session()?.client;
        client.batch_execute("BEGIN").await?;
        let result = match written {
            Some(mode) => self.undo(group, mode, member).await,
            None => self.forget(group, member).await.map(|()| 0),
        };
        match result {
            Ok(ended) => {
                client.batch_execute("COMMIT").await?;
                let count = &self.shared.counts.taken_back;
                count.fetch_add(ended as u64, Ordering::Relaxed);
                Ok(())
            }
            Err(PostgresFailure::Lost(reason)) => Err(PostgresFailure::Lost(reason)),
            Err(failure) => {
                client.batch_execute("ROLLBACK").await?;
                Err(failure)
            }
        }
    }

    /// They were not written: their keys are free, the node's block is charged, and the purse gets that back.
    async fn forget(&self, group: &[PendingBatch], member: Membership) -> CommitResult {
        let session = self.session()?;
        answer(session, &self.fence(member))?.await?;
        let refused: Vec<&WriteBatch> = refused(group).collect();
        idempotency::withdraw(&session.client, &refused, member).await?;
        let charged = refused.iter().flat_map(|batch| &batch.charge);
        self.put_back(charged.map(|row| (row.purse, row.amount)))
            .await?;
        if let Some(call) = balance::charges(&refused, member, self.number) {
            answer(session, &call)?.await?;
        }
        Ok(())
    }

    /// They were written. Returns how many messages were taken back.
    async fn undo(
        &self,
        group: &[PendingBatch],
        mode: RowFailurePolicy,
        member: Membership,
    ) -> CommitResult<usize> {
        let session = self.session()?;
        answer(session, &self.fence(member))?.await?;
        let batches: Vec<&WriteBatch> = refused(group).collect();
        let given = idempotency::withdraw(&session.client, &batches, member).await?;
        let batches = batches.into_iter().filter(|batch| {
            let mut keys = batch.idempotency.iter();
            !keys.any(|row| given.contains(&row))
        });
        let batches: Vec<&WriteBatch> = batches.collect();
        let accepted = batches.iter().flat_map(|batch| &batch.accept);
        let mut ids: AHashSet<u64> = accepted.map(|message| message.id).collect();
        self.take_out(group, mode, &mut ids).await?;
        let ended = self.delete(&ids).await?;
        tracing::warn!(
            lane = self.number,
            messages = ended.len(),
            "took back what was refused before its commit was answered"
        );
        let charged = batches.iter().flat_map(|batch| &batch.charge);
        let charged = charged.filter(|row| ended.contains(&row.id));
        self.put_back(charged.map(|row| (row.purse, row.amount)))
            .await?;
        Ok(ended.len())
    }

    /// Takes these messages out of the hand-off table, except those that another node was faster to take: they are
    /// removed from the ids.
    async fn take_out(
        &self,
        group: &[PendingBatch],
        mode: RowFailurePolicy,
        ids: &mut AHashSet<u64>,
    ) -> CommitResult {
        let batches: Vec<&WriteBatch> = group.iter().map(|pending| &*pending.batch).collect();
        let rows = match mode {
            RowFailurePolicy::Strict => {
                inbox_rows(batches.iter().flat_map(|batch| &batch.remote_items))
            }
            // Each was written by itself.
            RowFailurePolicy::Isolating => {
                let items = batches.iter().flat_map(|batch| &batch.remote_items);
                items.map(|item| vec![item]).collect()
            }
        };
        let delete = "DELETE FROM inbox WHERE queue = $1 AND part = $2 AND items = $3";
        let session = self.session()?;
        let mut rest = Vec::new();
        for row in rows {
            let (kept, gone): (Vec<&RemoteItem>, Vec<&RemoteItem>) =
                row.iter().partition(|item| !ids.contains(&item.id));
            let Some(one) = gone.first() else { continue };
            let (queue, part, octets) = (one.queue as i32, i16::from(one.part), octets_of(&row));
            let key: [&(dyn ToSql + Sync); 3] = [&queue, &part, &octets];
            if session.client.execute(delete, &key).await? == 0 {
                gone.iter().for_each(|item| {
                    ids.remove(&item.id);
                });
            } else if let Some(first) = kept.first() {
                rest.push((*first, octets_of(&kept)));
            }
        }
        if !rest.is_empty() {
            answer(session, &hand_off(rest.into_iter()))?.await?;
        }
        Ok(())
    }

    /// Ends messages without anybody being told. Returns those that had not ended.
    async fn delete(&self, ids: &AHashSet<u64>) -> CommitResult<AHashSet<u64>> {
        let session = self.session()?;
        let mut ids: Vec<i64> = ids.iter().map(|id| *id as i64).collect();
        ids.sort_unstable();
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
            return Ok(AHashSet::new());
        };
        // A bad row may have kept some from being written. The bounds exclude other days.
        let there = "SELECT id FROM msg WHERE id = ANY($1) AND id >= $2 AND id <= $3";
        let there = session.client.query(there, &[&ids, first, last]).await?;
        let now = clock::now_ms();
        let mut rows = WriteBatch::default();
        for row in &there {
            let id = row.try_get::<_, i64>(0)? as u64;
            rows.fin.push(FinRow::taken_back(id, now));
            rows.change
                .push(ChangeRow::new(id, now, ChangeKind::Cancel, BY));
        }
        let mut ended = AHashSet::new();
        // No reader of events hears of a message that nobody was promised.
        for call in calls(&[&rows], Expect::Any, None, &Listeners::default())? {
            let won = answer(session, &call)?.await?;
            if call.step.is_fin() {
                for row in &won {
                    ended.insert(row.try_get::<_, i64>(0)? as u64);
                }
            }
        }
        Ok(ended)
    }

    /// Adds amounts to purses, in the order in which everybody locks them.
    async fn put_back(&self, charged: impl Iterator<Item = (Purse, i64)>) -> CommitResult {
        let mut sums: BTreeMap<Purse, i64> = BTreeMap::new();
        for (purse, amount) in charged {
            *sums.entry(purse).or_default() += amount;
        }
        let update = "UPDATE purse SET credits = credits + $3 WHERE account = $1 AND day = $2";
        for (purse, amount) in sums {
            let (account, day) = (purse.account as i32, purse.day as i32);
            let client = &self.session()?.client;
            client.execute(update, &[&account, &day, &amount]).await?;
        }
        Ok(())
    }
}

fn refused(group: &[PendingBatch]) -> impl Iterator<Item = &WriteBatch> {
    let refused = group.iter().filter(|pending| pending.is_refused());
    refused.map(|pending| &*pending.batch)
}
