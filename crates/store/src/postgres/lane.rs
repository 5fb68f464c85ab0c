//! One writing connection: takes the waiting batches, writes them in one pipelined transaction,
//! answers after the commit.
//!
//! Run by `postgres.rs`, one per configured writer. Guarantees that an answer means a commit, that
//! every transaction first proves that the lane is still this node's (`fence`), that one bad row
//! does not fail the other rows of its batch (whole commit, then batch by batch, then row by row),
//! and that, while the database is away, results wait and new messages are refused.
//!
//! An interrupted commit may have happened: the fence left its number in the lane's row, so the
//! next connection asks for that number before it writes anything. The fence refuses a number that is not above that of the
//! row, so what is found not to have happened cannot happen later. New messages of such a commit are refused as soon
//! as others, and taken back (`take_back.rs`) if it did happen. What was confirmed is kept for a while and written again
//! if the database turns out to have gone back in time (`went_back.rs`).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ahash::AHashMap;
use futures_util::FutureExt;
use tokio::time::Instant;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresShared;
use super::correlations::operator_uuid;
use super::failure::{CommitResult, PostgresFailure, failed};
use super::kept::{KeepLimits, KeptCommits};
use super::statements::PreparedSteps;
use super::write_queue::PendingBatch;
use crate::cluster::Membership;
use crate::{RowFailurePolicy, StoreError, StoreResult, Written};

pub const SILENT: &str = "no answer to a transaction";
/// Planning a statement anew for the number of its rows costs more than a commit of few rows. A plan that was made while
/// a table was empty is right when it has grown, because it uses an index.
const PLANS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off";
/// Late itself, it takes no number back.
const HAPPENED: &str = "
UPDATE lane SET seq = CASE seq WHEN $1 THEN seq ELSE greatest(seq, $2) END
WHERE node = $3 AND epoch = $4 AND lane = $5
RETURNING seq = $1";
/// How often a lane without work looks at its connection.
const TEND: Duration = Duration::from_millis(250);
/// EX_SOFTWARE, as when an actor cannot be kept alive.
const EXIT_PANIC: i32 = 70;

/// The lane's state.
pub struct PostgresLane {
    pub shared: Arc<PostgresShared>,
    pub number: usize,
    /// Number of the last transaction that was tried; in the lane's row when it was committed.
    pub seq: i64,
    pub session: Option<LaneSession>,
    /// UUIDs by interned name, for the table for other programs.
    pub operators: AHashMap<u32, Option<Uuid>>,
    /// Results of the last transaction, if it was committed, that cannot be derived from the rows.
    pub attempted: Option<Vec<Written>>,
    /// Rows are not taken to be new before.
    pub wary_until: Option<Instant>,
    /// Since when the store is closed and the database is away.
    pub closing: Option<Instant>,
    /// What was confirmed lately.
    pub kept: KeptCommits,
    /// Of the server that was compared with last.
    pub generation: u64,
    /// While nothing is to be written, no connection is made before.
    pub connect_from: Instant,
    /// Whether what is missing in the database is being written again.
    pub is_making_good: bool,
}

/// A connection and its statements.
pub struct LaneSession {
    pub client: Client,
    pub steps: PreparedSteps,
    /// In whose name the server knows this session.
    named: Option<Membership>,
    /// See [`Hosts::generation`](super::Hosts::generation).
    pub generation: u64,
    /// For which membership it is known to have what was confirmed.
    pub compared: Option<Option<Membership>>,
}

/// A transaction whose outcome is not known.
#[derive(Debug, Clone, Copy)]
pub struct Unknown {
    pub member: Membership,
    pub seq: i64,
}

/// application_name of a node's writing sessions: the node that removes it ends them by this name.
pub fn writer_name(member: Membership) -> String {
    format!("smsc node {} epoch {}", member.node, member.epoch)
}

/// Runs until the write queue is closed and empty.
pub async fn run(shared: Arc<PostgresShared>, number: usize) {
    let mut lane = PostgresLane {
        number,
        seq: 0,
        session: None,
        operators: AHashMap::new(),
        attempted: None,
        wary_until: None,
        closing: None,
        kept: KeptCommits::new(KeepLimits {
            time: shared.options.rewrite_for,
            octets: shared.options.rewrite_octets / shared.options.writers.max(1),
        }),
        generation: 0,
        connect_from: Instant::now(),
        is_making_good: false,
        shared,
    };
    if let Err(error) = lane.connect().await {
        tracing::error!(%error, lane = number, "cannot connect to the database yet");
    }
    let shared = Arc::clone(&lane.shared);
    let limit = shared.options.batch_rows.max(1);
    lane.tend().await;
    loop {
        let group = tokio::select! {
            biased;
            group = shared.write_queue.take(number, limit) => group,
            () = shared.comparison.asked(number) => {
                lane.tend().await;
                continue;
            }
            () = tokio::time::sleep(TEND) => {
                lane.tend().await;
                continue;
            }
        };
        let Some(group) = group else { break };
        let writing = AssertUnwindSafe(lane.write(group)).catch_unwind().await;
        if writing.is_err() {
            // It is unknown what was written; another process starts from the store.
            tracing::error!(lane = number, "a writer panicked: ending the process");
            std::process::exit(EXIT_PANIC);
        }
    }
}

// === impl PostgresLane ===

impl PostgresLane {
    /// Writes a group and answers everyone in it.
    async fn write(&mut self, mut group: Vec<PendingBatch>) {
        match self.persist(&mut group, RowFailurePolicy::Strict).await {
            Ok(written) => self.answer(group, written),
            Err(PostgresFailure::Row(reason) | PostgresFailure::Other(reason)) => {
                tracing::warn!(reason, "a commit failed, trying its batches one by one");
                for pending in group {
                    self.write_alone(pending).await;
                }
            }
            Err(failure) => self.refuse(group, &refusal(failure)),
        }
    }

    /// Keeps what was written, under the number of its transaction.
    pub fn keep(&mut self, last: Unknown, group: &[PendingBatch], written: &[Written]) {
        let batches = group.iter().map(|pending| &pending.batch);
        self.kept
            .confirm(last.member, last.seq, batches.zip(written));
    }

    async fn write_alone(&mut self, pending: PendingBatch) {
        let mut one = vec![pending];
        let mut result = self.persist(&mut one, RowFailurePolicy::Strict).await;
        if matches!(result, Err(PostgresFailure::Row(_))) {
            result = self.persist(&mut one, RowFailurePolicy::Isolating).await;
        }
        match result {
            Ok(written) => self.answer(one, written),
            Err(failure) => {
                tracing::error!(?failure, "a batch could not be written");
                self.refuse(one, &refusal(failure));
            }
        }
    }

    /// How long the answer to a transaction is waited for.
    pub fn limit(&self) -> Duration {
        let options = &self.shared.options;
        options.statement_timeout + options.lock_timeout + options.write_timeout
    }

    /// One transaction with a limit on its time.
    pub async fn transact(
        &mut self,
        group: &[PendingBatch],
        mode: RowFailurePolicy,
        member: Membership,
    ) -> CommitResult<Vec<Written>> {
        let started = Instant::now();
        let limit = self.limit();
        self.attempted = None;
        let committing = async {
            self.name_session(member).await?;
            self.commit(group, mode, member).await
        };
        let written = match tokio::time::timeout(limit, committing).await {
            Ok(result) => result?,
            Err(_) => return Err(PostgresFailure::Lost(SILENT.to_owned())),
        };
        self.closing = None;
        let rows: usize = group.iter().map(|pending| pending.batch.len()).sum();
        let counts = &self.shared.counts.writes;
        counts.committed(rows, started.elapsed());
        Ok(written)
    }

    /// Tells the server for which node this session writes, once per session and epoch.
    async fn name_session(&mut self, member: Membership) -> CommitResult {
        let Some(session) = self.session.as_mut() else {
            return Ok(());
        };
        if session.named != Some(member) {
            let name = format!("SET application_name = '{}'", writer_name(member));
            session.client.batch_execute(&name).await?;
            session.named = Some(member);
        }
        Ok(())
    }

    /// Whether a transaction that was cut off was committed. Waits for one that is still open. If it was not, it cannot be
    /// any more: the lane's row gets a new number, and a host that was silent may deliver the transaction only now.
    pub async fn happened(&mut self, last: Unknown) -> CommitResult<bool> {
        let new = self.next_transaction(last.member);
        let number: [&(dyn ToSql + Sync); 5] = [
            &last.seq,
            &new.seq,
            &i32::from(last.member.node),
            &(last.member.epoch as i64),
            &(self.number as i32),
        ];
        let row = self.session()?.client.query_opt(HAPPENED, &number).await?;
        let row = row.ok_or(PostgresFailure::Fenced)?;
        let committed: bool = row.try_get(0)?;
        tracing::info!(
            lane = self.number,
            committed,
            "found out what became of a transaction that was cut off"
        );
        Ok(committed)
    }

    /// The number in the lane's row, if that is there. Waits for a transaction that is still open.
    pub async fn seq_of(&self, member: Membership) -> CommitResult<Option<i64>> {
        let sql = "SELECT seq FROM lane WHERE node = $1 AND epoch = $2 AND lane = $3 FOR UPDATE";
        let node = i32::from(member.node);
        let (epoch, lane) = (member.epoch as i64, self.number as i32);
        let client = &self.session()?.client;
        let row = client.query_opt(sql, &[&node, &epoch, &lane]).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    pub fn is_connected(&self) -> bool {
        self.session
            .as_ref()
            .is_some_and(|session| !session.client.is_closed())
    }

    pub fn session(&self) -> CommitResult<&LaneSession> {
        self.session.as_ref().ok_or_else(not_connected)
    }

    pub fn session_mut(&mut self) -> CommitResult<&mut LaneSession> {
        self.session.as_mut().ok_or_else(not_connected)
    }

    pub async fn connect(&mut self) -> StoreResult {
        let options = &self.shared.options;
        let limit = options.write_timeout;
        let correlations = options.message_correlations;
        let shared = Arc::clone(&self.shared);
        // Each host has a limit of its own.
        let (client, generation) = shared.connect.driven_of().await?;
        let preparing = async move {
            // Not where the table for other programs is written: which of its indexes is right depends on its rows.
            if !correlations {
                client.batch_execute(PLANS).await?;
            }
            let steps = PreparedSteps::new(&client, correlations).await?;
            Ok::<_, StoreError>(LaneSession {
                client,
                steps,
                named: None,
                generation,
                compared: None,
            })
        };
        let session = tokio::time::timeout(limit, preparing)
            .await
            .unwrap_or_else(|_| Err(failed("no answer to a connection")))?;
        self.session = Some(session);
        Ok(())
    }

    /// Learns the UUIDs of operators that these rows name.
    pub async fn learn_operators(&mut self, group: &[PendingBatch]) -> CommitResult {
        let batches = || group.iter().map(|pending| &pending.batch);
        let named = batches()
            .flat_map(|batch| batch.sent.iter().map(|row| row.operator))
            .chain(batches().flat_map(|batch| batch.fin.iter().map(|row| row.operator)));
        let mut new: Vec<u32> = named
            .filter(|number| *number != 0 && !self.operators.contains_key(number))
            .collect();
        new.sort_unstable();
        new.dedup();
        for number in new {
            let client = &self.session()?.client;
            let sql = "SELECT name FROM names WHERE number = $1";
            let uuid = match client.query_opt(sql, &[&(number as i32)]).await? {
                Some(row) => operator_uuid(row.try_get(0)?),
                None => None,
            };
            self.operators.insert(number, uuid);
        }
        Ok(())
    }

    fn answer(&self, group: Vec<PendingBatch>, written: Vec<Written>) {
        for (pending, written) in group.into_iter().zip(written) {
            let buried = written.rejected.len() as u64;
            let dead = &self.shared.counts.writes.quarantined;
            dead.fetch_add(buried, Ordering::Relaxed);
            self.shared.write_queue.end(pending, Ok(written));
        }
    }

    fn refuse(&self, group: Vec<PendingBatch>, error: &StoreError) {
        for pending in group {
            self.shared.write_queue.end(pending, Err(error.clone()));
        }
    }
}

fn not_connected() -> PostgresFailure {
    PostgresFailure::Lost("not connected".to_owned())
}

fn refusal(failure: PostgresFailure) -> StoreError {
    match failure {
        PostgresFailure::Fenced => StoreError::Fenced,
        failure => failed(failure.reason()),
    }
}
