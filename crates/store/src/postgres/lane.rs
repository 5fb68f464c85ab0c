//! One writing connection: takes the waiting batches, writes them in one pipelined transaction,
//! answers after the commit.
//!
//! Run by `postgres.rs`, one per configured writer. Guarantees that an answer means a commit, that
//! every transaction first proves that the lane is still this node's (`fence`), that one bad row
//! does not fail the other rows of its batch (whole commit, then batch by batch, then row by row),
//! and that, while the database is away, results wait and new messages are refused.
//!
//! An interrupted commit may have happened: the fence left its number in the lane's row, so the
//! next connection asks for that number before it writes anything.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ahash::AHashMap;
use futures_util::FutureExt;
use tokio::time::Instant;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use super::Shared;
use super::correlations::operator_uuid;
use super::failure::{Failure, failed};
use super::statements::{STEPS, Step};
use super::transaction::Mode;
use super::write_queue::{Pending, no_answer};
use crate::cluster::Membership;
use crate::{StoreError, Written};

/// Pause before something is tried again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// EX_SOFTWARE, as when an actor cannot be kept alive.
const EXIT_PANIC: i32 = 70;

/// The lane's state.
pub struct Lane {
    pub shared: Arc<Shared>,
    pub number: usize,
    /// Number of the last transaction that was tried; in the lane's row when it was committed.
    pub seq: i64,
    pub session: Option<Session>,
    /// UUIDs by interned name, for the table for other programs.
    pub operators: AHashMap<u32, Option<Uuid>>,
    /// Results of the last transaction, if it was committed, that cannot be derived from the rows.
    pub attempted: Option<Vec<Written>>,
    /// Since when the store is closed and the database is away.
    pub closing: Option<Instant>,
}

/// A connection and its statements.
pub struct Session {
    pub client: Client,
    statements: Vec<Option<Statement>>,
    /// In whose name the server knows this session.
    named: Option<Membership>,
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

/// A transaction whose outcome is not known.
#[derive(Debug, Clone, Copy)]
struct Unknown {
    member: Membership,
    seq: i64,
}

/// application_name of a node's writing sessions: the node that removes it ends them by this name.
pub fn writer_name(member: Membership) -> String {
    format!("smsc node {} epoch {}", member.node, member.epoch)
}

/// Runs until the write queue is closed and empty.
pub async fn run(shared: Arc<Shared>, number: usize) {
    let mut lane = Lane {
        number,
        seq: 0,
        session: None,
        operators: AHashMap::new(),
        attempted: None,
        closing: None,
        shared,
    };
    if let Err(error) = lane.connect().await {
        tracing::error!(%error, lane = number, "cannot connect to the database yet");
    }
    let shared = Arc::clone(&lane.shared);
    let limit = shared.options.batch_rows.max(1);
    while let Some(group) = shared.write_queue.take(number, limit).await {
        let writing = AssertUnwindSafe(lane.write(group)).catch_unwind().await;
        if writing.is_err() {
            // It is unknown what was written; another process starts from the store.
            tracing::error!(lane = number, "a writer panicked: ending the process");
            std::process::exit(EXIT_PANIC);
        }
    }
}

// === impl Session ===

impl Session {
    /// The prepared form of a step.
    pub fn statement(&self, step: Step) -> Result<&Statement, Failure> {
        self.statements[step as usize]
            .as_ref()
            .ok_or_else(|| Failure::Other(format!("{step:?} is not prepared")))
    }
}

// === impl Lane ===

impl Lane {
    /// Writes a group and answers everyone in it.
    async fn write(&mut self, mut group: Vec<Pending>) {
        match self.persist(&mut group, Mode::Strict).await {
            Ok(written) => self.answer(group, written),
            Err(Failure::Row(reason) | Failure::Other(reason)) => {
                tracing::warn!(reason, "a commit failed, trying its batches one by one");
                for pending in group {
                    self.write_alone(pending).await;
                }
            }
            Err(failure) => self.refuse(group, &refusal(failure)),
        }
    }

    async fn write_alone(&mut self, pending: Pending) {
        let mut one = vec![pending];
        let mut result = self.persist(&mut one, Mode::Strict).await;
        if matches!(result, Err(Failure::Row(_))) {
            result = self.persist(&mut one, Mode::Isolating).await;
        }
        match result {
            Ok(written) => self.answer(one, written),
            Err(failure) => {
                tracing::error!(?failure, "a batch could not be written");
                self.refuse(one, &refusal(failure));
            }
        }
    }

    /// Tries until it is known to be written, or known to be in vain.
    async fn persist(
        &mut self,
        group: &mut Vec<Pending>,
        mode: Mode,
    ) -> Result<Vec<Written>, Failure> {
        let mut unknown: Option<Unknown> = None;
        let mut pause = FIRST_PAUSE;
        let mut stalled: Option<Stalled> = None;
        while !group.is_empty() {
            // One wait for all remaining batches, so that a stop does not wait for each.
            let since = self.closing.map(|since| since.elapsed());
            if since.is_some_and(|since| since >= self.shared.options.write_timeout) {
                let reason = "closed while the database was away".to_owned();
                return Err(Failure::Closed(reason));
            }
            let step = match (self.is_connected(), unknown) {
                (false, _) => self
                    .connect()
                    .await
                    .map_err(|error| Failure::Lost(error.to_string())),
                (true, Some(last)) => match self.happened(last).await {
                    Ok(true) => match self.recall(group).await {
                        Ok(written) => return Ok(written),
                        Err(failure) => Err(failure),
                    },
                    Ok(false) => {
                        unknown = None;
                        continue;
                    }
                    Err(failure) => Err(failure),
                },
                (true, None) => {
                    let member = self.shared.membership().ok_or(Failure::Fenced)?;
                    for stale in group.extract_if(.., |one| one.is_of_another(member.epoch)) {
                        self.shared.write_queue.end(stale, Err(StoreError::Fenced));
                    }
                    if group.is_empty() {
                        continue;
                    }
                    self.seq += 1;
                    let result = self.transact(group, mode, member).await;
                    if matches!(result, Err(Failure::Lost(_))) {
                        unknown = Some(Unknown {
                            member,
                            seq: self.seq,
                        });
                    }
                    match result {
                        Ok(written) => return Ok(written),
                        Err(failure) => Err(failure),
                    }
                }
            };
            let reason = match step {
                Ok(()) => continue,
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
            let patience = self.shared.options.write_timeout;
            if self.shared.write_queue.is_closed() {
                self.closing.get_or_insert_with(Instant::now);
            }
            // What may have been written is not refused.
            if unknown.is_none() {
                for overdue in group.extract_if(.., |pending| pending.is_overdue(patience)) {
                    self.shared
                        .write_queue
                        .end(overdue, Err(no_answer(patience)));
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(Vec::new())
    }

    /// One transaction with a limit on its time.
    async fn transact(
        &mut self,
        group: &[Pending],
        mode: Mode,
        member: Membership,
    ) -> Result<Vec<Written>, Failure> {
        let started = Instant::now();
        let options = &self.shared.options;
        let limit = options.statement_timeout + options.lock_timeout + options.write_timeout;
        self.attempted = None;
        let committing = async {
            self.name_session(member).await?;
            self.commit(group, mode, member).await
        };
        let written = match tokio::time::timeout(limit, committing).await {
            Ok(result) => result?,
            Err(_) => return Err(Failure::Lost("no answer to a transaction".to_owned())),
        };
        self.closing = None;
        let rows: usize = group.iter().map(|pending| pending.batch.len()).sum();
        let counts = &self.shared.counts.writes;
        counts.committed(rows, started.elapsed());
        Ok(written)
    }

    /// Tells the server for which node this session writes, once per session and epoch.
    async fn name_session(&mut self, member: Membership) -> Result<(), Failure> {
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

    /// Whether a transaction that was cut off was committed. Waits for one that is still open.
    async fn happened(&self, last: Unknown) -> Result<bool, Failure> {
        let session = self.session()?;
        let row = session
            .client
            .query_opt(
                "SELECT seq FROM lane WHERE node = $1 AND epoch = $2 AND lane = $3 FOR UPDATE",
                &[
                    &i32::from(last.member.node),
                    &(last.member.epoch as i64),
                    &(self.number as i32),
                ],
            )
            .await?;
        let row = row.ok_or(Failure::Fenced)?;
        let seq: i64 = row.try_get(0)?;
        tracing::info!(
            lane = self.number,
            committed = seq == last.seq,
            "found out what became of a transaction that was cut off"
        );
        Ok(seq == last.seq)
    }

    fn is_connected(&self) -> bool {
        self.session
            .as_ref()
            .is_some_and(|session| !session.client.is_closed())
    }

    pub fn session(&self) -> Result<&Session, Failure> {
        self.session
            .as_ref()
            .ok_or_else(|| Failure::Lost("not connected".to_owned()))
    }

    async fn connect(&mut self) -> Result<(), StoreError> {
        let options = &self.shared.options;
        let limit = options.write_timeout;
        let correlations = options.message_correlations;
        let shared = Arc::clone(&self.shared);
        let connecting = async move {
            let client = shared.connect.driven().await?;
            let mut statements = Vec::with_capacity(STEPS.len());
            for step in STEPS {
                statements.push(if step.is_for_correlations() && !correlations {
                    None
                } else {
                    Some(client.prepare(step.sql()).await?)
                });
            }
            Ok::<_, StoreError>(Session {
                client,
                statements,
                named: None,
            })
        };
        let session = tokio::time::timeout(limit, connecting)
            .await
            .unwrap_or_else(|_| Err(failed("no answer to a connection")))?;
        self.session = Some(session);
        Ok(())
    }

    /// Learns the UUIDs of operators that these rows name.
    pub async fn learn_operators(&mut self, group: &[Pending]) -> Result<(), Failure> {
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
            let row = self
                .session()?
                .client
                .query_opt(
                    "SELECT name FROM names WHERE number = $1",
                    &[&(number as i32)],
                )
                .await?;
            let uuid = match row {
                Some(row) => operator_uuid(row.try_get(0)?),
                None => None,
            };
            self.operators.insert(number, uuid);
        }
        Ok(())
    }

    fn answer(&self, group: Vec<Pending>, written: Vec<Written>) {
        for (pending, written) in group.into_iter().zip(written) {
            let buried = written.rejected.len() as u64;
            let dead = &self.shared.counts.writes.quarantined;
            dead.fetch_add(buried, Ordering::Relaxed);
            self.shared.write_queue.end(pending, Ok(written));
        }
    }

    fn refuse(&self, group: Vec<Pending>, error: &StoreError) {
        for pending in group {
            self.shared.write_queue.end(pending, Err(error.clone()));
        }
    }
}

fn refusal(failure: Failure) -> StoreError {
    match failure {
        Failure::Fenced => StoreError::Fenced,
        Failure::Row(reason)
        | Failure::Later(reason)
        | Failure::Lost(reason)
        | Failure::Closed(reason)
        | Failure::Other(reason) => failed(reason),
    }
}
