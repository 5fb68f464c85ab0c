//! One transaction of a lane, and its result.
//!
//! Called by `lane.rs`. Guarantees that all statements of a transaction are sent before the first
//! answer is read, COMMIT among them: an error before it makes it a rollback.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ahash::AHashSet;
use futures_util::future::join_all;
use prost::Message as _;
use tokio::time::Instant;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, GenericClient, Row};

use super::balance;
use super::columns::{Correlate, Expect, Parameter, StatementCall, calls};
use super::correlations::OverflowCounts;
use super::failure::{CommitResult, PostgresFailure};
use super::idempotency;
use super::lane::{LaneSession, PostgresLane};
use super::reader::read_fins;
use super::statements::{PreparedSteps, StatementStep};
use super::write_queue::PendingBatch;
use crate::cluster::Membership;
use crate::idempotency::IdempotencyRow;
use crate::moving::DeadRow;
use crate::{FinRow, Rejected, RowFailurePolicy, WriteBatch, Written, signed};
use smsc_host::clock;

/// How long rows are not taken to be new, after some that were not.
const WARY: Duration = Duration::from_secs(1);
/// What of a rejected row is quarantined.
const MAX_DEAD: usize = 64 * 1024;

/// The answer to one statement of a pipeline.
type StatementAnswer<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + 'a>>;

/// Quarantines a row by the statement of [`StatementStep::Quarantine`].
pub async fn put_dead(
    client: &impl GenericClient,
    steps: &PreparedSteps,
    dead: &DeadRow,
) -> CommitResult {
    let statement = steps.statement(StatementStep::Quarantine)?;
    let (id, checksum) = (dead.id as i64, dead.sum() as i32);
    let values: [&(dyn ToSql + Sync); 6] = [
        &dead.at,
        &dead.origin,
        &id,
        &dead.reason,
        &dead.row,
        &checksum,
    ];
    client.execute(statement, &values).await?;
    Ok(())
}

// === impl PostgresLane ===

impl PostgresLane {
    /// Writes a group in one transaction.
    pub async fn commit(
        &mut self,
        group: &[PendingBatch],
        mode: RowFailurePolicy,
        member: Membership,
    ) -> CommitResult<Vec<Written>> {
        if self.shared.options.message_correlations {
            self.learn_operators(group).await?;
        }
        match mode {
            RowFailurePolicy::Strict => self.commit_all(group, member).await,
            RowFailurePolicy::Isolating => self.commit_by_rows(group, member).await,
        }
    }

    /// Takes all rows to be new first. Where they are not, nothing was written, and others are likely to follow: a late
    /// answer of a slow operator, a final state that another node has written.
    async fn commit_all(
        &mut self,
        group: &[PendingBatch],
        member: Membership,
    ) -> CommitResult<Vec<Written>> {
        let is_wary = self.wary_until.is_some_and(|end| Instant::now() < end);
        if !is_wary {
            match self.commit_at_once(group, member, Expect::New).await {
                Err(PostgresFailure::Row(reason)) => {
                    tracing::debug!(reason, lane = self.number, "not all rows are new");
                    self.be_wary();
                }
                result => return result,
            }
        }
        self.commit_at_once(group, member, Expect::Any).await
    }

    /// Rows are not taken to be new for a while.
    pub fn be_wary(&mut self) {
        self.wary_until = Some(Instant::now() + WARY);
    }

    async fn commit_at_once(
        &self,
        group: &[PendingBatch],
        member: Membership,
        expect: Expect,
    ) -> CommitResult<Vec<Written>> {
        let kept = OverflowCounts::default();
        let batches: Vec<&WriteBatch> = group.iter().map(|pending| &*pending.batch).collect();
        let mut calls = calls(
            &batches,
            expect,
            self.correlate(&kept).as_ref(),
            &self.shared.listeners.get(),
        )?;
        calls.extend(balance::charges(&batches, member, self.number));
        calls.extend(idempotency::answers(&batches, member));
        let session = self.session()?;
        let fence = self.fence(member);
        if let [accept] = &mut calls[..]
            && accept.step == StatementStep::Accept
        {
            accept.step = StatementStep::AcceptAlone;
            accept.parameters.splice(0..0, fence.parameters);
            answer(session, accept)?.await?;
            return Ok(lost(group, AHashSet::new()));
        }
        let mut pipeline: Vec<StatementAnswer<'_>> = Vec::with_capacity(calls.len() + 3);
        pipeline.push(simple(session, "BEGIN"));
        pipeline.push(answer(session, &fence)?);
        for call in &calls {
            pipeline.push(answer(session, call)?);
        }
        pipeline.push(simple(session, "COMMIT"));
        // Polled in order, so sent in order.
        let mut results = join_all(pipeline).await.into_iter();
        // The first error is the cause of the others.
        results
            .by_ref()
            .take(2)
            .try_for_each(|result| result.map(drop))?;
        let mut won = AHashSet::new();
        let mut taken = Vec::new();
        for call in &calls {
            let rows = results.next().transpose()?.unwrap_or_default();
            match call.step {
                StatementStep::FinNew => {
                    let all = batches.iter().flat_map(|batch| &batch.fin);
                    won.extend(all.map(|row| row.id));
                }
                step if step.is_fin() => {
                    for row in &rows {
                        won.insert(row.try_get::<_, i64>(0)? as u64);
                    }
                }
                StatementStep::Correlate => taken.push((rows, call)),
                _ => {}
            }
        }
        results.try_for_each(|result| result.map(drop))?;
        for (rows, call) in taken {
            self.count_correlations(&rows, call)?;
        }
        let too_long = &self.shared.counts.correlations.too_long;
        too_long.fetch_add(kept.too_long(), Ordering::Relaxed);
        Ok(lost(group, won))
    }

    /// One row after the other, each under a savepoint; what fails is quarantined.
    async fn commit_by_rows(
        &mut self,
        group: &[PendingBatch],
        member: Membership,
    ) -> CommitResult<Vec<Written>> {
        let result = self.write_rows(group, member).await;
        let session = self.session()?;
        match result {
            Ok(all) => {
                let commit = session.client.batch_execute("COMMIT").await;
                self.attempted = Some(all.clone());
                commit?;
                Ok(all)
            }
            Err(failure) => {
                if !matches!(failure, PostgresFailure::Lost(_)) {
                    session.client.batch_execute("ROLLBACK").await?;
                }
                Err(failure)
            }
        }
    }

    async fn write_rows(
        &self,
        group: &[PendingBatch],
        member: Membership,
    ) -> CommitResult<Vec<Written>> {
        let session = self.session()?;
        session.client.batch_execute("BEGIN").await?;
        answer(session, &self.fence(member))?.await?;
        let mut all = Vec::with_capacity(group.len());
        for pending in group {
            let mut written = Written::default();
            for (table, id, row) in single_rows(&pending.batch) {
                let is_rejected =
                    |rejected: &Rejected| rejected.id == id && rejected.table == "msg";
                if ["inbox", "charge"].contains(&table) && written.rejected.iter().any(is_rejected)
                {
                    continue;
                }
                session.client.batch_execute("SAVEPOINT one_row").await?;
                match self.write_row(&row, member).await {
                    Ok(won) if won => {}
                    Ok(_) => written.fin_lost.push(id),
                    Err(PostgresFailure::Row(reason)) => {
                        let back = "ROLLBACK TO one_row";
                        session.client.batch_execute(back).await?;
                        self.quarantine(table, id, &reason, &row).await?;
                        tracing::error!(table, id, reason, "row quarantined");
                        written.rejected.push(Rejected { table, id, reason });
                    }
                    Err(failure) => return Err(failure),
                }
                session.client.batch_execute("RELEASE one_row").await?;
            }
            all.push(written);
        }
        Ok(all)
    }

    /// Writes a batch of one row; false when it is a final state that lost.
    async fn write_row(&self, row: &WriteBatch, member: Membership) -> CommitResult<bool> {
        let kept = OverflowCounts::default();
        let session = self.session()?;
        let mut won = true;
        let calls = calls(
            &[row],
            Expect::Any,
            self.correlate(&kept).as_ref(),
            &self.shared.listeners.get(),
        )?;
        for call in calls
            .into_iter()
            .chain(balance::charges(&[row], member, self.number))
            .chain(idempotency::answers(&[row], member))
        {
            let rows = answer(session, &call)?.await?;
            if call.step.is_fin() {
                won = !rows.is_empty();
            }
        }
        Ok(won)
    }

    async fn quarantine(
        &self,
        table: &str,
        id: u64,
        reason: &str,
        row: &WriteBatch,
    ) -> CommitResult {
        let mut remains = match row.accept.first() {
            Some(message) => message.encode_to_vec(),
            None => format!("{row:?}").into_bytes(),
        };
        remains.truncate(MAX_DEAD);
        let dead = DeadRow {
            at: clock::now_ms(),
            origin: table.to_owned(),
            id,
            reason: reason.to_owned(),
            row: remains,
        };
        let session = self.session()?;
        put_dead(&session.client, &session.steps, &dead).await
    }

    /// The result of a committed transaction whose answer was lost.
    pub async fn recall(&mut self, group: &[PendingBatch]) -> CommitResult<Vec<Written>> {
        if let Some(written) = self.attempted.take() {
            return Ok(written);
        }
        let ours = group.iter().flat_map(|pending| &pending.batch.fin);
        let ids: Vec<u64> = ours.clone().map(|row| row.id).collect();
        if ids.is_empty() {
            return Ok(vec![Written::default(); group.len()]);
        }
        let there = read_fins(&self.session()?.client, &ids).await?;
        // The same row from another node would have meant the same.
        let is_there = |row: &&FinRow| there.get(&row.id) == Some(&row.as_read());
        let won = ours.filter(is_there).map(|row| row.id).collect();
        Ok(lost(group, won))
    }

    pub fn fence(&self, member: Membership) -> StatementCall<'static> {
        let number: Vec<Parameter<'static>> = vec![
            Box::new(self.seq),
            Box::new(i32::from(member.node)),
            Box::new(member.epoch as i64),
            Box::new(self.number as i32),
        ];
        StatementCall::new(StatementStep::Fence, number)
    }

    fn correlate<'k>(&'k self, kept: &'k OverflowCounts) -> Option<Correlate<'k>> {
        let options = &self.shared.options;
        options.message_correlations.then(|| Correlate {
            operators: &self.operators,
            ttl_ms: signed(options.correlation_ttl.as_millis()),
            kept,
        })
    }

    fn count_correlations(&self, rows: &[Row], call: &StatementCall<'_>) -> CommitResult {
        let counts = &self.shared.counts.correlations;
        let mut taken_over = 0;
        for row in rows {
            taken_over += u64::from(!row.try_get::<_, bool>(0)?);
        }
        let in_use = call.rows.saturating_sub(rows.len()) as u64;
        counts.taken_over.fetch_add(taken_over, Ordering::Relaxed);
        counts.in_use.fetch_add(in_use, Ordering::Relaxed);
        Ok(())
    }
}

fn simple<'a>(session: &'a LaneSession, sql: &'a str) -> StatementAnswer<'a> {
    Box::pin(async move {
        session.client.batch_execute(sql).await?;
        Ok(Vec::new())
    })
}

/// Sends a statement; resolves to its rows.
pub fn answer<'a>(
    session: &'a LaneSession,
    call: &'a StatementCall<'_>,
) -> CommitResult<StatementAnswer<'a>> {
    let statement = session.steps.statement(call.step)?;
    Ok(Box::pin(async move {
        session.client.query(statement, &call.values()).await
    }))
}

/// Which final states of each batch lost; each id wins once.
fn lost(group: &[PendingBatch], mut won: AHashSet<u64>) -> Vec<Written> {
    group
        .iter()
        .map(|pending| Written {
            fin_lost: pending
                .batch
                .fin
                .iter()
                .map(|row| row.id)
                .filter(|id| !won.remove(id))
                .collect(),
            rejected: Vec::new(),
        })
        .collect()
}

/// The rows of a batch one by one, in the order in which they are written: table, id, row.
fn single_rows(batch: &WriteBatch) -> Vec<(&'static str, u64, WriteBatch)> {
    let mut all = Vec::with_capacity(batch.len());
    macro_rules! split {
        ($table:literal, $field:ident, $id:expr) => {
            for row in &batch.$field {
                let mut one = WriteBatch::default();
                one.$field.push(row.clone());
                all.push(($table, $id(row), one));
            }
        };
    }
    split!("msg", accept, |row: &smsc_proto::Message| row.id);
    split!("inbox", remote_items, |row: &crate::RemoteItem| row.id);
    split!("tries", tries, |row: &crate::TryRow| row.id);
    split!("sent", sent, |row: &crate::SentRow| row.id);
    split!("retry", retry, |row: &crate::RetryRow| row.id);
    split!("fin", fin, |row: &crate::FinRow| row.id);
    split!("told", told, |id: &u64| *id);
    split!("change", change, |row: &crate::ChangeRow| row.id);
    split!("parked", park, |row: &crate::ParkedRow| row.id);
    split!("unpark", unpark, |id: &u64| *id);
    split!("heard", heard, |row: &crate::heard::HeardRow| row.id);
    split!("charge", charge, |row: &crate::balance::ChargeRow| row.id);
    split!("idempotency", idempotency, |row: &IdempotencyRow| row
        .at
        .unsigned_abs());
    all
}
