//! A database that went back in time: what it had confirmed, and lacks, is written again.
//!
//! After a failover to a standby that had not received everything, or a restore under running nodes, the lane's row has an
//! earlier number than the last one that was confirmed. A lane compares on each new connection and under each new
//! membership, before it writes anything else, and writes again in the same order what it has kept (`kept.rs`): each commit
//! with its own number, so that an interruption is found out in the same way. Where the lane's row is gone, because the
//! node has joined anew, it looks for rows of the commits themselves. Commits of a lane follow one another, so what is
//! missing is always the last of them.
//!
//! Readers wait until all lanes have compared (`comparison.rs`): before that, messages that have ended seem to wait.
//! What is lost and was not kept is marked as doubtful (`doubts.rs`).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prost::Message as _;
use tokio::time::{Instant, timeout};

use super::failure::{CommitResult, PostgresFailure};
use super::kept::KeptCommit;
use super::lane::{PostgresLane, SILENT};
use super::write_queue::PendingBatch;
use super::{doubts, idempotency, upkeep};
use crate::cluster::Membership;
use crate::{RowFailurePolicy, StoreError, WriteBatch, hand_off_octets};
use bytes::Bytes;
use smsc_proto::Enqueue;

/// A lane without work connects no sooner after a connection that failed.
const RECONNECT: Duration = Duration::from_millis(500);

/// What a lane finds.
struct DatabaseLoss {
    /// The commits to write again, the first one first; under which number, or a new one.
    commits: Vec<(KeptCommit, Option<i64>)>,
    /// Commits before these are lost as well.
    has_forgotten: bool,
}

// === impl PostgresLane ===

impl PostgresLane {
    /// Whether this connection is known to have what was confirmed to this membership.
    pub fn has_compared(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.compared == Some(self.shared.membership()))
    }

    /// While nothing is to be written: connects if need be, compares, and forgets what is safe.
    pub async fn tend(&mut self) {
        let may_rest = self.shared.write_queue.is_closed() || Instant::now() < self.connect_from;
        if !self.is_connected() {
            self.session = None;
            if may_rest {
                return;
            }
            if let Err(error) = self.connect().await {
                tracing::debug!(%error, lane = self.number, "not connected to the database");
                self.connect_from = Instant::now() + RECONNECT;
                return;
            }
        }
        if !self.has_compared() {
            match self.compare().await {
                Ok(()) => {}
                Err(PostgresFailure::Lost(reason)) => {
                    tracing::debug!(reason, lane = self.number, "not compared yet");
                    self.session = None;
                }
                Err(failure) => {
                    tracing::warn!(?failure, lane = self.number, "not compared yet");
                }
            }
            return;
        }
        let generation = self.session.as_ref().map(|session| session.generation);
        if generation == Some(self.shared.connect.hosts().generation()) {
            self.kept.trim(self.shared.comparison.answered_at());
        }
    }

    /// Compares what was confirmed with what is there, and writes again what is missing.
    ///
    /// # Errors
    /// It is not done; what was written again stays so.
    pub async fn compare(&mut self) -> CommitResult {
        let member = self.shared.membership();
        if self.session.as_ref().map(|session| session.generation) != Some(self.generation) {
            self.restore_names().await?;
        }
        if let Some(member) = member {
            let limit = self.limit();
            let looking = timeout(limit, self.look_for_loss(member));
            let loss = looking
                .await
                .unwrap_or_else(|_| Err(PostgresFailure::Lost(SILENT.to_owned())))?;
            self.make_good(loss, member).await?;
            self.kept.forget_others(member);
        }
        let Some(session) = self.session.as_mut() else {
            return Ok(());
        };
        session.compared = Some(member);
        let generation = session.generation;
        if generation > self.generation {
            self.generation = generation;
            self.shared.comparison.be_careful();
        }
        let comparison = &self.shared.comparison;
        comparison.has_compared(self.number, generation, member);
        Ok(())
    }

    /// A number that stood for a name must not stand for another one: messages would go to another queue.
    async fn restore_names(&mut self) -> CommitResult {
        let names = self.shared.comparison.names().clone();
        let Some(session) = self.session.as_mut().filter(|_| !names.is_empty()) else {
            return Ok(());
        };
        let others = upkeep::intern_again(&mut session.client, &names).await?;
        if !others.is_empty() {
            tracing::error!(
                names = others.join(", "),
                "the database went back in time, and these names have other numbers since: restart this node"
            );
        }
        Ok(())
    }

    async fn look_for_loss(&self, member: Membership) -> CommitResult<DatabaseLoss> {
        let mut loss = DatabaseLoss {
            commits: Vec::new(),
            has_forgotten: false,
        };
        let Some((of, confirmed)) = self.kept.confirmed() else {
            return Ok(loss);
        };
        if of != member {
            let missing = self.missing_of_before().await?;
            let kept = self.kept.commits();
            loss.has_forgotten = missing.len() == kept.len() && self.kept.has_dropped();
            loss.commits = missing.into_iter().map(|commit| (commit, None)).collect();
            return Ok(loss);
        }
        // Without its row this node is no member: it finds that when it writes, and joins anew.
        let Some(found) = self.seq_of(member).await? else {
            return Ok(loss);
        };
        if found < confirmed {
            let kept = self.kept.commits().iter();
            let missing = kept.filter(|commit| commit.member == member && commit.seq > found);
            loss.commits = missing
                .map(|commit| (commit.clone(), Some(commit.seq)))
                .collect();
            loss.has_forgotten = self.kept.dropped_of(member) > found;
        }
        Ok(loss)
    }

    /// The last commits of earlier memberships that have left no row.
    async fn missing_of_before(&self) -> CommitResult<Vec<KeptCommit>> {
        let kept = self.kept.commits();
        let mut first = kept.len();
        let mut lacks_any = false;
        for (number, commit) in kept.iter().enumerate().rev() {
            match self.has_left_a_row(commit).await? {
                Some(true) => break,
                Some(false) => lacks_any = true,
                // It has none that stays: it is missing if one before it is.
                None => {}
            }
            first = number;
        }
        Ok(if lacks_any {
            kept.iter().skip(first).cloned().collect()
        } else {
            Vec::new()
        })
    }

    /// Whether a row of a commit is there; `None` where it has none that stays.
    async fn has_left_a_row(&self, commit: &KeptCommit) -> CommitResult<Option<bool>> {
        let batches = || commit.batches.iter();
        let client = &self.session()?.client;
        let row = if let Some(message) = batches().find_map(|batch| batch.accept.first()) {
            let sql = "SELECT EXISTS(SELECT FROM msg WHERE id = $1)";
            client.query_one(sql, &[&(message.id as i64)]).await?
        } else if let Some(row) = batches().find_map(|batch| batch.sent.first()) {
            let sql = "SELECT EXISTS(SELECT FROM sent WHERE id = $1 AND at = $2)";
            client.query_one(sql, &[&(row.id as i64), &row.at]).await?
        } else if let Some(row) = batches().find_map(|batch| batch.fin.first()) {
            let sql = "SELECT EXISTS(SELECT FROM fin WHERE id = $1)";
            client.query_one(sql, &[&(row.id as i64)]).await?
        } else if let Some(id) = batches().find_map(|batch| batch.told.first()) {
            let sql = "SELECT EXISTS(SELECT FROM told WHERE id = $1)";
            client.query_one(sql, &[&(*id as i64)]).await?
        } else if let Some(row) = batches().find_map(|batch| batch.change.first()) {
            let sql = "SELECT EXISTS(SELECT FROM change WHERE id = $1 AND at = $2)";
            client.query_one(sql, &[&(row.id as i64), &row.at]).await?
        } else {
            return Ok(None);
        };
        Ok(Some(row.try_get(0)?))
    }

    async fn make_good(&mut self, loss: DatabaseLoss, member: Membership) -> CommitResult {
        if loss.commits.is_empty() && !loss.has_forgotten {
            return Ok(());
        }
        self.restore_names().await?;
        let counts = &self.shared.comparison.counts;
        self.shared.comparison.be_careful();
        if !self.is_making_good {
            counts.steps.fetch_add(1, Ordering::Relaxed);
            counts
                .forgotten
                .fetch_add(u64::from(loss.has_forgotten), Ordering::Relaxed);
            tracing::warn!(
                lane = self.number,
                commits = loss.commits.len(),
                rows = loss.commits.iter().map(|one| one.0.rows()).sum::<usize>(),
                confirmed = self.kept.confirmed().map(|(_, seq)| seq),
                "the database went back in time: what it had confirmed is written again"
            );
        }
        if loss.has_forgotten {
            let holds = self.shared.options.hold_after_step_back;
            if holds {
                let before = self.kept.confirmed().map_or(member, |(of, _)| of);
                let session = self.session_mut()?;
                let doubting = doubts::doubt_in_turn(&mut session.client, before).await;
                doubting
                    .map_err(|error| PostgresFailure::Later(StoreError::from(error).to_string()))?;
            }
            if !self.is_making_good {
                tracing::error!(
                    lane = self.number,
                    holds,
                    "the database went back in time further than what was kept of it: attempts and final states are lost"
                );
            }
        }
        self.is_making_good = true;
        for (commit, seq) in loss.commits {
            self.write_again(&commit, seq, member).await?;
        }
        self.is_making_good = false;
        Ok(())
    }

    /// One transaction, under its own number or a new one.
    async fn write_again(
        &mut self,
        commit: &KeptCommit,
        seq: Option<i64>,
        member: Membership,
    ) -> CommitResult {
        let tried = self.seq;
        self.seq = seq.unwrap_or(tried + 1);
        // Most rows may be there for another reason, such as an end that another node has written.
        self.be_wary();
        let result = self.write_all_again(commit, member).await;
        let number = self.seq;
        self.seq = tried.max(number);
        match result {
            Ok(()) => {}
            Err(PostgresFailure::Row(reason) | PostgresFailure::Other(reason)) => {
                tracing::error!(
                    lane = self.number,
                    reason,
                    rows = commit.rows(),
                    "what the database had confirmed could not be written again"
                );
                return Ok(());
            }
            Err(failure) => return Err(failure),
        }
        let counts = &self.shared.comparison.counts;
        counts.rewritten.fetch_add(1, Ordering::Relaxed);
        match seq {
            Some(seq) => self.kept.renew(seq),
            None => self.kept.confirm_again(member, number, commit),
        }
        Ok(())
    }

    async fn write_all_again(&mut self, commit: &KeptCommit, member: Membership) -> CommitResult {
        let mut group = Vec::with_capacity(commit.batches.len());
        for batch in &commit.batches {
            let mut batch = marked(batch);
            if !batch.idempotency.is_empty() {
                let client = &self.session()?.client;
                let free = idempotency::claim_again(client, &batch, member).await?;
                if free < batch.idempotency.len() {
                    // A repetition was carried out since.
                    Arc::make_mut(&mut batch).idempotency.clear();
                }
            }
            group.push(PendingBatch::again(batch));
        }
        match self
            .transact(&group, RowFailurePolicy::Strict, member)
            .await
        {
            Err(PostgresFailure::Row(reason)) => {
                tracing::warn!(lane = self.number, reason, "written again row by row");
                self.transact(&group, RowFailurePolicy::Isolating, member)
                    .await?;
            }
            result => drop(result?),
        }
        Ok(())
    }
}

/// The batch, with a mark on what it hands off: its owner may have it already.
fn marked(batch: &Arc<WriteBatch>) -> Arc<WriteBatch> {
    let hands_off = |batch: &WriteBatch| {
        !batch.remote_items.is_empty() || batch.fin.iter().any(|row| !row.remote_item.is_empty())
    };
    let mut batch = Arc::clone(batch);
    if hands_off(&batch) {
        let own = Arc::make_mut(&mut batch);
        let items = own.remote_items.iter_mut().map(|item| &mut item.octets);
        let receipts = own.fin.iter_mut().map(|row| &mut row.remote_item);
        items.chain(receipts).for_each(mark);
    }
    batch
}

/// Marks the items of an encoded hand-off.
fn mark(octets: &mut Bytes) {
    let Ok(mut items) = Enqueue::decode(octets.clone()) else {
        return;
    };
    let mut marked = Vec::with_capacity(octets.len());
    for item in &mut items.items {
        item.again = true;
        marked.extend_from_slice(&hand_off_octets(item));
    }
    *octets = marked.into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RemoteItem;
    use smsc_proto::QueueItem;

    #[test]
    fn what_is_handed_off_again_is_marked() {
        let item = QueueItem {
            id: 7,
            priority: 2,
            ..QueueItem::default()
        };
        let octets = hand_off_octets(&item);
        let batch = Arc::new(WriteBatch {
            remote_items: vec![RemoteItem {
                queue: 1,
                part: 2,
                id: 7,
                octets: octets.clone(),
            }],
            ..WriteBatch::default()
        });
        let again = marked(&batch);
        let items = Enqueue::decode(again.remote_items[0].octets.clone()).unwrap();
        let wanted = QueueItem {
            again: true,
            ..item
        };
        assert_eq!(items.items, [wanted]);
        assert_eq!(batch.remote_items[0].octets, octets, "as it was kept");
    }

    #[test]
    fn what_hands_nothing_off_is_not_copied() {
        let batch = Arc::new(WriteBatch {
            told: vec![1],
            ..WriteBatch::default()
        });
        assert!(Arc::ptr_eq(&batch, &marked(&batch)));
    }
}
