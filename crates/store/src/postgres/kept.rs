//! What the database has confirmed to a lane lately, in case it forgets that.
//!
//! Owned by a lane, which adds each commit when it is confirmed, and writes again (`went_back.rs`) what the database turns
//! out to lack. Batches are shared with who asked for them, not copied. Invariants: commits are in the order in which
//! they were confirmed, and what is kept is bounded in octets, and in time as long as the database answers: of a
//! database that is silent nobody knows how far it will have gone back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::cluster::Membership;
use crate::{WriteBatch, Written};

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub struct KeepLimits {
    pub time: Duration,
    pub octets: usize,
}

/// A commit that was confirmed.
#[derive(Debug, Clone)]
pub struct KeptCommit {
    pub member: Membership,
    /// The number of its transaction, in the lane's row.
    pub seq: i64,
    pub batches: Vec<Arc<WriteBatch>>,
    octets: usize,
    at: Instant,
}

/// The commits of a lane.
#[derive(Debug)]
pub struct KeptCommits {
    limits: KeepLimits,
    commits: VecDeque<KeptCommit>,
    octets: usize,
    /// Member and number of the last one that was confirmed.
    confirmed: Option<(Membership, i64)>,
    /// Member and number of the last commit that is kept no more.
    dropped: Option<(Membership, i64)>,
}

// === impl KeptCommit ===

impl KeptCommit {
    /// Rows in it.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(|batch| batch.len()).sum()
    }
}

// === impl KeptCommits ===

impl KeptCommits {
    pub fn new(limits: KeepLimits) -> Self {
        Self {
            limits,
            commits: VecDeque::new(),
            octets: 0,
            confirmed: None,
            dropped: None,
        }
    }

    /// A commit was confirmed. Final states that lost are no part of it: another one was first.
    pub fn confirm<'a>(
        &mut self,
        member: Membership,
        seq: i64,
        batches: impl Iterator<Item = (&'a Arc<WriteBatch>, &'a Written)>,
    ) {
        let batches: Vec<Arc<WriteBatch>> = batches.map(|(batch, how)| won(batch, how)).collect();
        let octets = batches.iter().map(|batch| batch.weight()).sum();
        let at = Instant::now();
        self.confirmed = Some((member, seq));
        self.octets += octets;
        self.commits.push_back(KeptCommit {
            member,
            seq,
            batches,
            octets,
            at,
        });
        self.trim(at);
    }

    /// The database has answered at this time: what was confirmed long before is safe.
    pub fn trim(&mut self, answered_at: Instant) {
        while let Some(first) = self.commits.front()
            && (self.octets > self.limits.octets
                || answered_at.saturating_duration_since(first.at) > self.limits.time)
        {
            self.drop_first();
        }
    }

    /// Batches of the last commit that were taken back are not written again.
    pub fn take_back(&mut self, is_refused: impl Fn(&Arc<WriteBatch>) -> bool) {
        if let Some(last) = self.commits.back_mut() {
            last.batches.retain(|batch| !is_refused(batch));
        }
    }

    fn drop_first(&mut self) {
        if let Some(first) = self.commits.pop_front() {
            self.octets -= first.octets;
            self.dropped = Some((first.member, first.seq));
        }
    }

    /// A commit was written again under its own number.
    pub fn renew(&mut self, seq: i64) {
        let again = self.commits.iter_mut().find(|commit| commit.seq == seq);
        if let Some(again) = again {
            again.at = Instant::now();
        }
    }

    /// A commit of an earlier membership was written again for this one.
    pub fn confirm_again(&mut self, member: Membership, seq: i64, commit: &KeptCommit) {
        let none = Written::default();
        self.confirm(
            member,
            seq,
            commit.batches.iter().map(|batch| (batch, &none)),
        );
    }

    /// What was confirmed to others than this membership is there, or was written again.
    pub fn forget_others(&mut self, member: Membership) {
        self.commits.retain(|commit| commit.member == member);
        self.octets = self.commits.iter().map(|commit| commit.octets).sum();
        self.confirmed = self.confirmed.filter(|(of, _)| *of == member);
        self.dropped = self.dropped.filter(|(of, _)| *of == member);
    }

    /// What was confirmed last.
    pub fn confirmed(&self) -> Option<(Membership, i64)> {
        self.confirmed
    }

    /// Whether any is kept no more.
    pub fn has_dropped(&self) -> bool {
        self.dropped.is_some()
    }

    /// Number of the last commit of a member that is kept no more; 0 for none.
    pub fn dropped_of(&self, member: Membership) -> i64 {
        let dropped = self.dropped.filter(|(of, _)| *of == member);
        dropped.map_or(0, |(_, seq)| seq)
    }

    pub fn commits(&self) -> &VecDeque<KeptCommit> {
        &self.commits
    }
}

/// The batch without final states that lost.
fn won(batch: &Arc<WriteBatch>, written: &Written) -> Arc<WriteBatch> {
    if written.fin_lost.is_empty() {
        return Arc::clone(batch);
    }
    let mut batch = WriteBatch::clone(batch);
    batch.fin.retain(|row| !written.fin_lost.contains(&row.id));
    Arc::new(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FinRow;
    use smsc_proto::Message;

    const ME: Membership = Membership { node: 3, epoch: 7 };

    fn limits(octets: usize) -> KeepLimits {
        KeepLimits {
            time: Duration::from_secs(10),
            octets,
        }
    }

    fn text(octets: usize) -> Arc<WriteBatch> {
        let message = Message {
            short_message: vec![b'a'; octets].into(),
            ..Message::default()
        };
        Arc::new(WriteBatch {
            accept: vec![message],
            ..WriteBatch::default()
        })
    }

    fn confirm(kept: &mut KeptCommits, seq: i64, batch: &Arc<WriteBatch>) {
        kept.confirm(ME, seq, [(batch, &Written::default())].into_iter());
    }

    fn numbers(kept: &KeptCommits) -> Vec<i64> {
        kept.commits().iter().map(|commit| commit.seq).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_old_is_dropped_when_the_database_answers() {
        let mut kept = KeptCommits::new(limits(1 << 20));
        confirm(&mut kept, 1, &text(10));
        tokio::time::advance(Duration::from_secs(6)).await;
        confirm(&mut kept, 3, &text(10));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(numbers(&kept), [1, 3], "nobody has heard of the database");
        kept.trim(Instant::now() - Duration::from_secs(52));
        assert_eq!((numbers(&kept), kept.dropped_of(ME)), (vec![3], 1));
        confirm(&mut kept, 4, &text(10));
        assert_eq!((numbers(&kept), kept.dropped_of(ME)), (vec![4], 3));
        assert_eq!(kept.confirmed(), Some((ME, 4)));
        let other = Membership { epoch: 8, ..ME };
        assert_eq!(kept.dropped_of(other), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_are_dropped_when_there_is_too_much() {
        let mut kept = KeptCommits::new(limits(10_000));
        for seq in 1..=20 {
            confirm(&mut kept, seq, &text(2_000));
            assert!(kept.octets <= 10_000);
        }
        let left = numbers(&kept);
        assert!((2..=5).contains(&left.len()), "{left:?}");
        assert_eq!(left.last(), Some(&20));
        confirm(&mut kept, 21, &text(20_000));
        assert_eq!(numbers(&kept), [0; 0], "it alone is too much");
        assert_eq!((kept.octets, kept.dropped_of(ME)), (0, 21));
    }

    #[tokio::test(start_paused = true)]
    async fn what_lost_or_was_taken_back_is_not_kept() {
        let mut kept = KeptCommits::new(limits(1 << 20));
        let ends = Arc::new(WriteBatch {
            fin: vec![FinRow::taken_back(5, 1), FinRow::taken_back(6, 1)],
            ..WriteBatch::default()
        });
        let lost = Written {
            fin_lost: vec![5],
            ..Written::default()
        };
        let refused = text(10);
        let both = [(&ends, &lost), (&refused, &Written::default())];
        kept.confirm(ME, 1, both.into_iter());
        kept.take_back(|batch| Arc::ptr_eq(batch, &refused));
        let batches = &kept.commits()[0].batches;
        assert_eq!(batches.len(), 1);
        let ids: Vec<u64> = batches[0].fin.iter().map(|row| row.id).collect();
        assert_eq!(ids, [6]);
    }
}
