//! What becomes of a group of batches, from the first attempt to the last answer.
//!
//! Called by a lane. Invariants: results wait for the database; senders of new messages wait no longer than
//! `write_timeout`, whatever the state of their transaction; and what they were refused is taken back, if it was
//! committed, before the group ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::Shared;
use super::failure::Failure;
use super::lane::{Lane, SILENT, Unknown};
use super::transaction::Mode;
use super::write_queue::{Pending, no_answer};
use crate::cluster::Membership;
use crate::{StoreError, Written};

/// Pause before something is tried again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How often it is looked whether senders have waited long enough.
const LOOK: Duration = Duration::from_millis(50);

/// What is known about the transaction of a group.
enum Fate {
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
struct Stalled(Arc<Shared>);

impl Stalled {
    fn new(shared: &Arc<Shared>) -> Self {
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

// === impl Lane ===

impl Lane {
    /// Tries until it is known to be written, or known to be in vain. Senders of new messages wait no longer than
    /// `write_timeout`; what they were refused and is written nevertheless is taken back.
    pub async fn persist(
        &mut self,
        group: &mut Vec<Pending>,
        mode: Mode,
    ) -> Result<Vec<Written>, Failure> {
        let patience = self.shared.options.write_timeout;
        let mut fate = match group.iter().any(Pending::is_refused) {
            // By an earlier transaction, which was rolled back.
            true => Fate::Known(None),
            false => Fate::Open,
        };
        let mut pause = FIRST_PAUSE;
        let mut stalled: Option<Stalled> = None;
        loop {
            // One wait for all remaining batches, so that a stop does not wait for each.
            let since = self.closing.map(|since| since.elapsed());
            if since.is_some_and(|since| since >= self.shared.options.write_timeout) {
                let reason = "closed while the database was away".to_owned();
                return Err(Failure::Closed(reason));
            }
            if matches!(fate, Fate::Open) {
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
            let is_sure = matches!(fate, Fate::Open) && !is_ready;
            let working = self.step(group, mode, &mut fate);
            let reason = match refusing(group, patience, is_sure, working).await {
                Ok(()) => match fate {
                    Fate::TakenBack(Some(written)) => return Ok(written),
                    Fate::TakenBack(None) => {
                        fate = Fate::Open;
                        continue;
                    }
                    _ => continue,
                },
                Err(Failure::Lost(reason)) => {
                    self.session = None;
                    reason
                }
                Err(Failure::Later(reason)) => reason,
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
            let is_sure = matches!(fate, Fate::Open);
            refusing(group, patience, is_sure, tokio::time::sleep(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Answers what is charged to blocks that this node has no more.
    fn refuse_stale(&self, group: &mut Vec<Pending>) -> Result<(), Failure> {
        let member = self.shared.membership().ok_or(Failure::Fenced)?;
        for stale in group.extract_if(.., |one| one.is_of_another(member.epoch)) {
            self.shared.write_queue.end(stale, Err(StoreError::Fenced));
        }
        Ok(())
    }

    /// Does what is to be done next for a group.
    async fn step(
        &mut self,
        group: &[Pending],
        mode: Mode,
        fate: &mut Fate,
    ) -> Result<(), Failure> {
        if !self.is_connected() {
            let connected = self.connect().await;
            return connected.map_err(|error| Failure::Lost(error.to_string()));
        }
        if !self.has_compared() {
            return self.compare().await;
        }
        let written = match fate {
            Fate::Open => {
                let member = self.shared.membership().ok_or(Failure::Fenced)?;
                let last = self.next_transaction(member);
                // Also if the caller gives up here.
                *fate = Fate::Unknown(last);
                match self.transact(group, mode, member).await {
                    Ok(written) => {
                        self.keep(last, group, &written);
                        Some(written)
                    }
                    Err(failure @ Failure::Lost(_)) => return Err(failure),
                    Err(failure) => {
                        *fate = match group.iter().any(Pending::is_refused) {
                            true => Fate::Known(None),
                            false => Fate::Open,
                        };
                        return Err(failure);
                    }
                }
            }
            Fate::Unknown(last) => match self.happened(*last).await? {
                true => {
                    let last = *last;
                    let written = self.recall(group).await?;
                    self.keep(last, group, &written);
                    Some(written)
                }
                false => None,
            },
            Fate::Known(written) => {
                let written = written.take();
                return self.take_back_once(group, mode, fate, written).await;
            }
            Fate::TakingBack(last, written) => {
                let (last, written) = (*last, written.take());
                let is_over = self.happened(last).await;
                if matches!(is_over, Ok(true)) {
                    self.forget_refused(group, written.is_some());
                }
                *fate = match is_over {
                    Ok(true) => Fate::TakenBack(written),
                    Ok(false) => Fate::Known(written),
                    Err(_) => Fate::TakingBack(last, written),
                };
                return is_over.map(drop);
            }
            Fate::TakenBack(_) => return Ok(()),
        };
        *fate = match group.iter().any(Pending::is_refused) {
            true => {
                // What is not refused does not wait for what is.
                for (pending, written) in group.iter().zip(written.iter().flatten()) {
                    pending.answer(Ok(written.clone()));
                }
                Fate::Known(written)
            }
            false => Fate::TakenBack(written),
        };
        Ok(())
    }

    /// Takes back what was refused of a group whose outcome is known.
    async fn take_back_once(
        &mut self,
        group: &[Pending],
        mode: Mode,
        fate: &mut Fate,
        written: Option<Vec<Written>>,
    ) -> Result<(), Failure> {
        let member = self.shared.membership().ok_or(Failure::Fenced)?;
        let last = self.next_transaction(member);
        let mode = written.is_some().then_some(mode);
        *fate = Fate::TakingBack(last, written);
        let limit = self.limit();
        let working = tokio::time::timeout(limit, self.take_back(group, mode, member)).await;
        let result = working.unwrap_or_else(|_| Err(Failure::Lost(SILENT.to_owned())));
        let Fate::TakingBack(_, written) = std::mem::replace(fate, Fate::Open) else {
            return Ok(());
        };
        *fate = match &result {
            Err(Failure::Lost(_)) => Fate::TakingBack(last, written),
            Err(Failure::Later(_)) => Fate::Known(written),
            Ok(()) => {
                self.forget_refused(group, written.is_some());
                Fate::TakenBack(written)
            }
            Err(failure) => {
                tracing::error!(?failure, "refused messages stay accepted");
                Fate::TakenBack(written)
            }
        };
        match result {
            Err(failure @ (Failure::Lost(_) | Failure::Later(_))) => Err(failure),
            _ => Ok(()),
        }
    }

    /// What was taken back of the last commit is not written again.
    fn forget_refused(&mut self, group: &[Pending], was_written: bool) {
        if was_written {
            let refused = || group.iter().filter(|pending| pending.is_refused());
            self.kept
                .take_back(|batch| refused().any(|pending| Arc::ptr_eq(batch, &pending.batch)));
        }
    }

    /// The number by which it is found out later whether a transaction was committed.
    fn next_transaction(&mut self, member: Membership) -> Unknown {
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
    group: &[Pending],
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
