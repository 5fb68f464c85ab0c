//! Ending messages: the only place that makes `fin` rows.
//!
//! An actor that knows a final state (queue, correlation, admin) calls [`write`]; Ingest, which ends a message in the
//! commit of its answer, calls [`row`] and [`concluded`]. Only rows that the
//! store wrote first go on to Receipts, so that every message has exactly one final state and its
//! sender is notified once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::actors::context::NodeContext;
use crate::actors::context::addresses::post_to;
use crate::actors::context::traced;
use crate::actors::receipts::copies::Copies;
use crate::actors::receipts::damaged;
use crate::actors::receipts::parts;
use crate::actors::receipts::receipt;
use crate::actors::receipts::states::MessageReached;
use crate::actors::receipts::wanted::{receipt_queue, wants_receipt};
use crate::actors::runtime::locks::lock;
use crate::actors::runtime::timed_mailbox::Timed;
use crate::clock;
use crate::pb::{Final, FinalBatch};
use crate::store::cluster::Partition;
use crate::store::{FinRow, StoreError, Stored, Ticket, WriteBatch, Written, hand_off_octets};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Receipts wait for this long at most once the database is back.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Writes `finals` together with `batch` and passes those that were first on to Receipts. Resolves when
/// they are durable, or when this process will write nothing any more.
pub async fn write(node: &Arc<NodeContext>, batch: WriteBatch, finals: Vec<Final>) {
    write_with_retries(node, None, batch, finals, &[]).await;
}

/// Like [`write`], for rows from which states before the final one follow as well.
pub async fn write_reached(
    node: &Arc<NodeContext>,
    batch: WriteBatch,
    finals: Vec<Final>,
    reached: Vec<MessageReached>,
) {
    write_with_retries(node, None, batch, finals, &reached).await;
}

/// Like [`write_reached`], for final states of this generation of the local lease: after its end, the next
/// owner of the messages decides.
pub async fn write_in(
    node: &Arc<NodeContext>,
    generation: u64,
    batch: WriteBatch,
    finals: Vec<Final>,
    reached: Vec<MessageReached>,
) {
    write_with_retries(node, Some(generation), batch, finals, &reached).await;
}

async fn write_with_retries(
    node: &Arc<NodeContext>,
    generation: Option<u64>,
    mut batch: WriteBatch,
    mut finals: Vec<Final>,
    reached: &[MessageReached],
) {
    // These messages are in no list any more, so nobody else would retry: wait for an unreachable
    // database, and retry rows that it refuses.
    load_missing_with_retries(node, &mut finals).await;
    if add_parts(&mut finals) {
        load_missing_with_retries(node, &mut finals).await;
    }
    let mut pause = FIRST_PAUSE;
    let mut attempts = 0_u32;
    loop {
        // Receipts that are given up are in no list either.
        let ends = !finals.is_empty() || !batch.told.is_empty();
        let again = ends.then(|| batch.clone());
        let error = match write_once(node, generation, &mut batch, &mut finals, reached).await {
            Ok(_) => return,
            Err(error) => error,
        };
        let is_over = matches!(error, StoreError::Fenced | StoreError::Closed);
        attempts += 1;
        if attempts.is_power_of_two() || is_over {
            tracing::error!(%error, messages = finals.len(), attempts, is_over, "final states not written");
        }
        match again {
            Some(rows) if !is_over => batch = rows,
            // Nothing ends, so the rows are about messages that are still in a list.
            _ => return,
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Like [`write`], for callers that answer a peer after the commit. Returns the ids that were already
/// final.
pub async fn try_write(
    node: &Arc<NodeContext>,
    batch: &mut WriteBatch,
    finals: &mut Vec<Final>,
) -> Result<Vec<u64>, StoreError> {
    write_once(node, None, batch, finals, &[]).await
}

async fn write_once(
    node: &Arc<NodeContext>,
    generation: Option<u64>,
    batch: &mut WriteBatch,
    finals: &mut Vec<Final>,
    reached: &[MessageReached],
) -> Result<Vec<u64>, StoreError> {
    let started = clock::now_us();
    complete(node, finals).await?;
    let Some((ticket, copies, turn)) = submit(node, generation, batch, finals, reached)? else {
        return Ok(Vec::new());
    };
    let written = ticket.await?;
    copies.pass_on(node);
    node.wake_owners(
        finals
            .iter()
            .filter(|ended| ended.handed_over)
            .filter_map(|ended| Some((ended.part, ended.message.as_ref()?)))
            .map(|(part, message)| Partition {
                queue: receipt_queue(node, message),
                part: part as u8,
            }),
    );
    turn.end(finals_to_notify(node, finals, &written, started));
    Ok(written.fin_lost)
}

/// Adds to final states what ends with them. For callers that write their rows together with something else, and
/// call [`concluded`] then.
///
/// # Errors
/// The store does not answer.
pub async fn complete(node: &Arc<NodeContext>, finals: &mut Vec<Final>) -> Result<(), StoreError> {
    load_missing(node, finals).await?;
    if add_parts(finals) {
        load_missing(node, finals).await?;
    }
    keep_first_of_each(finals);
    Ok(())
}

/// The rows of final states are written: passes those that were first on to Receipts. `started` is when that began,
/// in Unix microseconds.
pub fn concluded(
    node: &Arc<NodeContext>,
    finals: &mut Vec<Final>,
    written: &Written,
    started: i64,
) {
    if let Some(ended) = finals_to_notify(node, finals, written, started) {
        notify_receipts(node, ended);
    }
}

/// What Receipts is to be told.
fn finals_to_notify(
    node: &Arc<NodeContext>,
    finals: &mut Vec<Final>,
    written: &Written,
    started: i64,
) -> Option<FinalBatch> {
    if !written.fin_lost.is_empty() {
        node.metrics
            .repeated_finals
            .inc_by(written.fin_lost.len() as u64);
        let lost: HashSet<u64> = written.fin_lost.iter().copied().collect();
        finals.retain(|ended| !lost.contains(&ended.id));
    }
    for rejected in &written.rejected {
        tracing::error!(table = rejected.table, id = rejected.id, reason = %rejected.reason, "row quarantined");
    }
    if node.traces.is_on() || !node.watches.is_idle() {
        finals
            .iter()
            .for_each(|one| traced::ended(node, one, started));
    }
    parts::conclude_later(node, finals);
    (!finals.is_empty()).then(|| FinalBatch {
        finals: std::mem::take(finals),
    })
}

fn notify_receipts(node: &NodeContext, ended: FinalBatch) {
    post_to(
        node.receipts.recipient(),
        Timed::new(ended, &node.mailboxes.receipts),
    );
}

/// The place of final states among those that are written at the same time: one commit ends many, and the futures that
/// wait for it go on in any order, while receipts of one subscriber keep theirs.
struct FinalStateTurn {
    node: Arc<NodeContext>,
    /// `None` once it has ended.
    number: Option<u64>,
}

// === impl FinalStateTurn ===

impl FinalStateTurn {
    fn begin(node: &Arc<NodeContext>) -> Self {
        Self {
            node: Arc::clone(node),
            number: Some(lock(&node.ending).begin()),
        }
    }

    fn end(mut self, ended: Option<FinalBatch>) {
        self.pass_on(ended);
    }

    fn pass_on(&mut self, ended: Option<FinalBatch>) {
        let Some(number) = self.number.take() else {
            return;
        };
        // Told under the lock, else another thread could tell later ones before.
        let mut ending = lock(&self.node.ending);
        for batch in ending.end(number, ended) {
            notify_receipts(&self.node, batch);
        }
    }
}

impl Drop for FinalStateTurn {
    /// It was not written, or nobody waits for that any more.
    fn drop(&mut self) {
        self.pass_on(None);
    }
}

/// A message ends once. Two copies of one receipt may come in one batch, and the store reports messages
/// that were already final by id alone: both copies would be taken for the later one.
fn keep_first_of_each(finals: &mut Vec<Final>) {
    if finals.len() > 1 {
        let mut ended = HashSet::<u64, ahash::RandomState>::with_capacity_and_hasher(
            finals.len(),
            ahash::RandomState::default(),
        );
        finals.retain(|one| ended.insert(one.id));
    }
}

/// Gives the rows to the store, with hand-off rows for receipts whose account queue is on another node.
fn submit(
    node: &Arc<NodeContext>,
    generation: Option<u64>,
    batch: &mut WriteBatch,
    finals: &mut [Final],
    reached: &[MessageReached],
) -> Result<Option<(Ticket, Copies, FinalStateTurn)>, StoreError> {
    // Held until the store has the batch; see `local_lease`.
    let ownership = node.local_lease.hold();
    // Under the next epoch these rows would overrule the new owner of the messages.
    if generation.is_some_and(|generation| generation != node.local_lease.generation()) {
        return Err(StoreError::Fenced);
    }
    let mut copies = Copies::default();
    for one in reached {
        copies.add_state(node, &ownership, batch, one);
    }
    batch.fin.reserve(finals.len());
    for ended in finals.iter_mut() {
        let tell = ended
            .message
            .as_ref()
            .filter(|message| wants_receipt(node, message, ended.state()))
            .map_or(0, |message| receipt_queue(node, message));
        let destination = ended
            .message
            .as_ref()
            .map(|message| &message.destination[..]);
        let part = node.part_of(tell, destination.unwrap_or_default());
        let home = ownership.home(tell, part);
        ended.handed_over = tell != 0 && home.is_none();
        let (part, term) = home.unwrap_or_else(|| (node.held_as(tell, part), 0));
        (ended.part, ended.term) = (part.into(), term);
        let mut row = row(ended, tell);
        if let (true, Some(message)) = (ended.handed_over, &ended.message) {
            row.remote_item = hand_off_octets(&receipt::item_for(node, message, &row));
        }
        if let Some(message) = &ended.message {
            copies.add(node, &ownership, batch, message, &row);
        }
        batch.fin.push(row);
    }
    if batch.is_empty() {
        return Ok(None);
    }
    let turn = FinalStateTurn::begin(node);
    let ticket = node.store.write(std::mem::take(batch));
    Ok(Some((ticket, copies, turn)))
}

/// The row of a final state; `tell` is the queue of the account to notify, or 0.
pub fn row(ended: &Final, tell: u32) -> FinRow {
    FinRow {
        id: ended.id,
        at: ended.at,
        state: ended.state(),
        error: ended.error.clone(),
        operator: ended.operator,
        tell,
        done_at: ended.done_at,
        remote_item: Bytes::new(),
        remote_part: ended.part as u8,
    }
}

/// When a message assembled from parts ends, its parts end with the same state in the same commit.
/// Returns false when none was added, also when they were added before.
fn add_parts(finals: &mut Vec<Final>) -> bool {
    if finals.iter().all(|ended| parts_of(ended).is_empty()) {
        return false;
    }
    let known: HashSet<u64> = finals.iter().map(|ended| ended.id).collect();
    let more: Vec<Final> = finals
        .iter()
        .flat_map(|whole| {
            let new = parts_of(whole).iter().filter(|id| !known.contains(id));
            new.map(|id| Final {
                id: *id,
                message: None,
                attempts: 0,
                handed_over: false,
                unawaited: true,
                ..whole.clone()
            })
        })
        .collect();
    let any = !more.is_empty();
    finals.extend(more);
    any
}

fn parts_of(ended: &Final) -> &[u64] {
    let message = ended.message.as_ref();
    let composition = message.and_then(|message| message.composition.as_ref());
    composition.map_or(&[], |composition| &composition.made_of)
}

/// The message was sent at this time (Unix ms), and does not end before it: operators write whole minutes, by clocks of their
/// own.
pub fn note_sent(ended: &mut Final, sent_at: i64) {
    ended.sent_at = sent_at;
    if ended.done_at != 0 {
        ended.done_at = ended.done_at.max(sent_at.min(ended.at));
    }
}

async fn load_missing_with_retries(node: &Arc<NodeContext>, finals: &mut Vec<Final>) {
    let missing = ids_without_message(finals);
    if !missing.is_empty()
        && let Some(loaded) = load(node, missing).await
    {
        fill_messages(node, finals, loaded).await;
    }
}

async fn load_missing(node: &Arc<NodeContext>, finals: &mut Vec<Final>) -> Result<(), StoreError> {
    let missing = ids_without_message(finals);
    if !missing.is_empty() {
        let loaded = node.store.load(missing).await?;
        fill_messages(node, finals, loaded).await;
    }
    Ok(())
}

fn ids_without_message(finals: &[Final]) -> Vec<u64> {
    finals
        .iter()
        .filter(|ended| ended.message.is_none())
        .map(|ended| ended.id)
        .collect()
}

/// Adds the message to final states that lack it; drops ids that the store does not know. If a message is damaged, that is
/// listed and its end before anybody is answered.
async fn fill_messages(node: &NodeContext, finals: &mut Vec<Final>, loaded: Vec<Option<Stored>>) {
    if loaded.iter().any(Option::is_none) {
        damaged::settle(node).await;
    }
    let mut loaded = loaded.into_iter();
    for ended in finals.iter_mut().filter(|ended| ended.message.is_none()) {
        if let Some(stored) = loaded.next().flatten() {
            ended.attempts = ended.attempts.max(stored.attempts);
            note_sent(ended, stored.sent_at);
            ended.message = Some(Box::new(stored.message));
        }
    }
    finals.retain(|ended| ended.message.is_some());
}

/// Messages by id, in the order of the ids; waits for a store that is briefly unreachable. `None` if
/// the store will not come back for this process.
pub async fn load(node: &NodeContext, ids: Vec<u64>) -> Option<Vec<Option<Stored>>> {
    let mut pause = FIRST_PAUSE;
    loop {
        match node.store.load(ids.clone()).await {
            Ok(loaded) => return Some(loaded),
            Err(StoreError::Fenced | StoreError::Closed) => return None,
            Err(error) => tracing::warn!(%error, "messages wait for the store"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::test_support;

    #[actix::test]
    async fn final_states_wait_for_those_before_them_until_these_have_ended_or_nobody_waits() {
        let node = test_support::node(1, None).await.context;
        let waiting = || std::mem::take(&mut *lock(&node.ending)).rest().count();
        let [first, second, third] = [(); 3].map(|()| FinalStateTurn::begin(&node));
        third.end(Some(FinalBatch::default()));
        second.end(None);
        assert_eq!(waiting(), 1, "the first one has not ended");
        drop(first);

        let [first, second] = [(); 2].map(|()| FinalStateTurn::begin(&node));
        second.end(Some(FinalBatch::default()));
        drop(first);
        assert_eq!(waiting(), 0);
    }
}
