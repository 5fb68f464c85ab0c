//! What becomes of a group of batches, from the first attempt to the last answer.
//!
//! Called by a lane. Invariants: results wait for the database; senders of new messages wait no longer than
//! `write_timeout`, whatever the state of their transaction; and what they were refused is taken back, if it was
//! committed, before the group ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::PostgresShared;
use super::failure::{CommitResult, PostgresFailure};
use super::lane::{PostgresLane, SILENT, Unknown};
use super::write_queue::{PendingBatch, no_answer};
use crate::cluster::Membership;
use crate::{RowFailurePolicy, StoreError, Written};

/// Pause before something is tried again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How often it is looked whether senders have waited long enough.
const LOOK: Duration = Duration::from_millis(50);

/// What is known about the transaction of a group.
enum GroupFate {
    /// None was tried, or it was rolled back and nobody was refused.
    Open,
    Unknown(Unknown),
    /// Its results if it was committed. What was refused is still to be taken back.
    Known(Option<Vec<Written>>),
    /// It is unknown whether the transaction that takes back was committed.
    TakingBack(Unknown, Option<Vec<Written>>),
    /// Nothing is left to be done.
    TakenBack(Option<Vec<Written>>),
}

/// Counts a lane among those that try in vain, until it is dropped.
struct Stalled(Arc<PostgresShared>);

impl Stalled {
    fn new(shared: &Arc<PostgresShared>) -> Self {
        shared.counts.writes.stalled.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        let stalled = &self.0.counts.writes.stalled;
        stalled.fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl PostgresLane ===

impl PostgresLane {
    /// Tries until it is known to be written, or known to be in vain. Senders of new messages wait no longer than
    /// `write_timeout`; what they were refused and is written nevertheless is taken back.
    pub async fn persist(
        &mut self,
        group: &mut Vec<PendingBatch>,
        mode: RowFailurePolicy,
    ) -> CommitResult<Vec<Written>> {
        let patience = self.shared.options.write_timeout;
        let mut fate = if group.iter().any(PendingBatch::is_refused) {
            // By an earlier transaction, which was rolled back.
            GroupFate::Known(None)
        } else {
            GroupFate::Open
        };
        let mut pause = FIRST_PAUSE;
        let mut stalled: Option<Stalled> = None;
        loop {
            // One wait for all remaining batches, so that a stop does not wait for each.
            let since = self.closing.map(|since| since.elapsed());
            if since.is_some_and(|since| since >= self.shared.options.write_timeout) {
                let reason = "closed while the database was away".to_owned();
                return Err(PostgresFailure::Closed(reason));
            }
            if matches!(fate, GroupFate::Open) {
                for answered in group.extract_if(.., |one| one.is_answered()) {
                    self.shared
                        .write_queue
                        .end(answered, Err(StoreError::Closed));
                }
                self.refuse_stale(group)?;
            }
            if group.is_empty() {
                return Ok(Vec::new());
            }
            // Nothing was sent yet: a refusal is final.
            let is_ready = self.is_connected() && self.has_compared();
            let is_sure = matches!(fate, GroupFate::Open) && !is_ready;
            let working = self.step(group, mode, &mut fate);
            let reason = match refusing(group, patience, is_sure, working).await {
                Ok(()) => match fate {
                    GroupFate::TakenBack(Some(written)) => return Ok(written),
                    GroupFate::TakenBack(None) => {
                        fate = GroupFate::Open;
                        continue;
                    }
                    _ => continue,
                },
                Err(PostgresFailure::Lost(reason)) => {
                    self.session = None;
                    reason
                }
                Err(PostgresFailure::Later(reason)) => reason,
                Err(failure) => return Err(failure),
            };
            if pause == FIRST_PAUSE || pause == LONGEST_PAUSE {
                tracing::warn!(
                    reason,
                    lane = self.number,
                    "the database cannot be written to yet"
                );
            }
            stalled.get_or_insert_with(|| Stalled::new(&self.shared));
            if self.shared.write_queue.is_closed() {
                self.closing.get_or_insert_with(Instant::now);
            }
            // Also when each attempt fails at once.
            let is_sure = matches!(fate, GroupFate::Open);
            refusing(group, patience, is_sure, tokio::time::sleep(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Answers what is charged to blocks that this node has no more.
    fn refuse_stale(&self, group: &mut Vec<PendingBatch>) -> CommitResult {
        let member = self.shared.membership().ok_or(PostgresFailure::Fenced)?;
        for stale in group.extract_if(.., |one| one.is_of_another(member.epoch)) {
            self.shared.write_queue.end(stale, Err(StoreError::Fenced));
        }
        Ok(())
    }

    /// Does what is to be done next for a group.
    async fn step(
        &mut self,
        group: &[PendingBatch],
        mode: RowFailurePolicy,
        fate: &mut GroupFate,
    ) -> CommitResult {
        if !self.is_connected() {
            let connected = self.connect().await;
            return connected.map_err(|error| PostgresFailure::Lost(error.to_string()));
        }
        if !self.has_compared() {
            return self.compare().await;
        }
        let written = match fate {
            GroupFate::Open => {
                let member = self.shared.membership().ok_or(PostgresFailure::Fenced)?;
                let last = self.next_transaction(member);
                // Also if the caller gives up here.
                *fate = GroupFate::Unknown(last);
                match self.transact(group, mode, member).await {
                    Ok(written) => {
                        self.keep(last, group, &written);
                        Some(written)
                    }
                    Err(failure @ PostgresFailure::Lost(_)) => return Err(failure),
                    Err(failure) => {
                        *fate = if group.iter().any(PendingBatch::is_refused) {
                            GroupFate::Known(None)
                        } else {
                            GroupFate::Open
                        };
                        return Err(failure);
                    }
                }
            }
            GroupFate::Unknown(last) => {
                if self.happened(*last).await? {
                    let last = *last;
                    let written = self.recall(group).await?;
                    self.keep(last, group, &written);
                    Some(written)
                } else {
                    None
                }
            }
            GroupFate::Known(written) => {
                let written = written.take();
                return self.take_back_once(group, mode, fate, written).await;
            }
            GroupFate::TakingBack(last, written) => {
                let (last, written) = (*last, written.take());
                let is_over = self.happened(last).await;
                if matches!(is_over, Ok(true)) {
                    self.forget_refused(group, written.is_some());
                }
                *fate = match is_over {
                    Ok(true) => GroupFate::TakenBack(written),
                    Ok(false) => GroupFate::Known(written),
                    Err(_) => GroupFate::TakingBack(last, written),
                };
                return is_over.map(drop);
            }
            GroupFate::TakenBack(_) => return Ok(()),
        };
        *fate = if group.iter().any(PendingBatch::is_refused) {
            // What is not refused does not wait for what is.
            for (pending, written) in group.iter().zip(written.iter().flatten()) {
                pending.answer(Ok(written.clone()));
            }
            GroupFate::Known(written)
        } else {
            GroupFate::TakenBack(written)
        };
        Ok(())
    }

    /// Takes back what was refused of a group whose outcome is known.
    async fn take_back_once(
        &mut self,
        group: &[PendingBatch],
        mode: RowFailurePolicy,
        fate: &mut GroupFate,
        written: Option<Vec<Written>>,
    ) -> CommitResult {
        let member = self.shared.membership().ok_or(PostgresFailure::Fenced)?;
        let last = self.next_transaction(member);
        let mode = written.is_some().then_some(mode);
        *fate = GroupFate::TakingBack(last, written);
        let limit = self.limit();
        let working = tokio::time::timeout(limit, self.take_back(group, mode, member)).await;
        let result = working.unwrap_or_else(|_| Err(PostgresFailure::Lost(SILENT.to_owned())));
        let GroupFate::TakingBack(_, written) = std::mem::replace(fate, GroupFate::Open) else {
            return Ok(());
        };
        *fate = match &result {
            Err(PostgresFailure::Lost(_)) => GroupFate::TakingBack(last, written),
            Err(PostgresFailure::Later(_)) => GroupFate::Known(written),
            Ok(()) => {
                self.forget_refused(group, written.is_some());
                GroupFate::TakenBack(written)
            }
            Err(failure) => {
                tracing::error!(?failure, "refused messages stay accepted");
                GroupFate::TakenBack(written)
            }
        };
        match result {
            Err(failure @ (PostgresFailure::Lost(_) | PostgresFailure::Later(_))) => Err(failure),
            _ => Ok(()),
        }
    }

    /// What was taken back of the last commit is not written again.
    fn forget_refused(&mut self, group: &[PendingBatch], was_written: bool) {
        if was_written {
            let refused = || group.iter().filter(|pending| pending.is_refused());
            self.kept
                .take_back(|batch| refused().any(|pending| Arc::ptr_eq(batch, &pending.batch)));
        }
    }

    /// The number by which it is found out later whether a transaction was committed.
    pub fn next_transaction(&mut self, member: Membership) -> Unknown {
        self.seq += 1;
        Unknown {
            member,
            seq: self.seq,
        }
    }
}

/// Works on a group; new messages in it that have waited too long are refused meanwhile.
/// `is_sure`: they are not written.
async fn refusing<T>(
    group: &[PendingBatch],
    patience: Duration,
    is_sure: bool,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        if let Ok(done) = tokio::time::timeout(LOOK, &mut work).await {
            return done;
        }
        for pending in group {
            if !is_sure {
                pending.refuse_undecided(patience);
            } else if pending.is_overdue(patience) {
                pending.answer(Err(no_answer(patience)));
            }
        }
    }
}
