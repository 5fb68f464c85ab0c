//! Turns batches into the arrays of the writer's statements.
//!
//! Called by a lane for each transaction. Guarantees that a transaction has the same result as its
//! batches applied one after another: a statement sees each row once, and a `retry` that a later
//! attempt or final state ends is not written.

use std::collections::BTreeMap;

use ahash::{AHashMap, AHashSet};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::correlations::{OverflowCounts, message_uuid};
use super::failure::{CommitResult, PostgresFailure};
use super::inbox::{hand_off, inbox_rows, octets_of};
use super::outbox::of_ends;
use super::record::{is_new_to_older_builds, payload_kind, text_of};
use super::sinks::note;
use super::statements::StatementStep;
use crate::checksum::{Summed as _, close_change};
use crate::record::{encode_body, numbering};
use crate::sinks::{Listeners, early};
use crate::{FinRow, RemoteItem, WriteBatch};
use smsc_domain::partition;

/// Larger rows are refused: no message comes near it (an SMPP PDU is at most 64 KiB here).
const MAX_ROW: usize = 1024 * 1024;

pub type Parameter<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// A statement and its arrays.
pub struct StatementCall<'a> {
    pub step: StatementStep,
    pub parameters: Vec<Parameter<'a>>,
    /// Rows of its arrays, where that matters.
    pub rows: usize,
}

/// What the table for other programs needs to know; `None` in [`calls`] when it is not kept.
pub struct Correlate<'a> {
    /// By interned name; `None` for what is no operator.
    pub operators: &'a AHashMap<u32, Option<Uuid>>,
    pub ttl_ms: i64,
    pub kept: &'a OverflowCounts,
}

/// Which rows a transaction allows for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// None that is there already: it fails.
    New,
    Any,
}

// === impl StatementCall ===

impl<'a> StatementCall<'a> {
    pub fn new(step: StatementStep, parameters: Vec<Parameter<'a>>) -> Self {
        Self {
            step,
            parameters,
            rows: 0,
        }
    }

    /// Its parameters, as they are sent.
    pub fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        let parameters = self.parameters.iter();
        parameters
            .map(|one| &**one as &(dyn ToSql + Sync))
            .collect()
    }
}

/// The statements for these batches, in order. `listeners` are those that events are written for.
pub fn calls<'a>(
    batches: &[&'a WriteBatch],
    expect: Expect,
    correlate: Option<&Correlate<'_>>,
    listeners: &Listeners,
) -> CommitResult<Vec<StatementCall<'a>>> {
    let mut calls: Vec<StatementCall<'a>> = Vec::new();
    accept(batches, &mut calls)?;
    remote_items(
        batches.iter().flat_map(|batch| &batch.remote_items),
        &mut calls,
    );
    tries(batches, &mut calls)?;
    sent(batches, correlate, &mut calls)?;
    let retry = retry(batches)?;
    for row in early(batches, &listeners.sinks) {
        calls.push(note(row));
    }
    fin(batches, expect, correlate, listeners.of_ends(), &mut calls)?;
    calls.extend(retry);
    rest(batches, &mut calls)?;
    if expect == Expect::New {
        for call in &mut calls {
            call.step = call.step.for_new_rows();
        }
    }
    Ok(calls)
}

macro_rules! call {
    ($calls:expr, $step:expr $(, $column:expr)* $(,)?) => {
        $calls.push(StatementCall::new($step, vec![$(Box::new($column) as Parameter<'_>),*]))
    };
}

fn accept<'a>(batches: &[&'a WriteBatch], calls: &mut Vec<StatementCall<'a>>) -> CommitResult {
    let all: Vec<_> = batches.iter().flat_map(|batch| &batch.accept).collect();
    if all.is_empty() {
        return Ok(());
    }
    let ids = keys(all.iter().map(|message| message.id))?;
    let bodies: Vec<Vec<u8>> = all
        .iter()
        .map(|message| {
            let mut body = Vec::with_capacity(message.short_message.len() + 64);
            encode_body(message, &mut body);
            body
        })
        .collect();
    for (message, body) in all.iter().zip(&bodies) {
        check_size(body.len() + message.source.len() + message.destination.len())?;
    }
    let ints = |of: fn(&smsc_proto::Message) -> u32| -> Vec<i32> {
        all.iter().map(|message| of(message) as i32).collect()
    };
    let times = |of: fn(&smsc_proto::Message) -> i64| -> Vec<i64> {
        all.iter().map(|message| of(message)).collect()
    };
    let kinds: Vec<i16> = all.iter().map(|message| payload_kind(message)).collect();
    if kinds.iter().copied().any(is_new_to_older_builds) {
        call!(calls, StatementStep::RefuseOlder);
    }
    let parts: Vec<i16> = all
        .iter()
        .map(|message| i16::from(partition::of(&message.destination)))
        .collect();
    let packed: Vec<Option<i32>> = all
        .iter()
        .map(|message| numbering(message).map(|packed| packed as i32))
        .collect();
    let texts = |of: fn(&smsc_proto::Message) -> &[u8]| -> Vec<_> {
        all.iter().map(|message| text_of(of(message))).collect()
    };
    call!(
        calls,
        StatementStep::Accept,
        ids,
        times(|message| message.accepted_at),
        ints(|message| message.sender),
        ints(|message| message.queue),
        parts,
        ints(|message| message.priority),
        times(|message| message.due_at),
        times(|message| message.expires_at),
        texts(|message| &message.source),
        texts(|message| &message.destination),
        packed,
        kinds,
        bodies,
    );
    Ok(())
}

fn remote_items<'a>(
    items: impl Iterator<Item = &'a RemoteItem>,
    calls: &mut Vec<StatementCall<'_>>,
) {
    let rows = inbox_rows(items);
    if !rows.is_empty() {
        calls.push(hand_off(rows.iter().map(|row| (row[0], octets_of(row)))));
    }
}

fn tries<'a>(batches: &[&'a WriteBatch], calls: &mut Vec<StatementCall<'a>>) -> CommitResult {
    // The last one of a key wins.
    let all: BTreeMap<_, _> = batches
        .iter()
        .flat_map(|batch| &batch.tries)
        .map(|row| ((row.id, row.attempt), row))
        .collect();
    if all.is_empty() {
        return Ok(());
    }
    let all: Vec<_> = all.into_values().collect();
    let ids = keys(all.iter().map(|row| row.id))?;
    call!(
        calls,
        StatementStep::Tries,
        ids,
        column(&all, |row| row.attempt as i32),
        column(&all, |row| row.at),
        column(&all, |row| row.operator as i32),
    );
    Ok(())
}

fn sent<'a>(
    batches: &[&'a WriteBatch],
    correlate: Option<&Correlate<'_>>,
    calls: &mut Vec<StatementCall<'a>>,
) -> CommitResult {
    let mut all: Vec<_> = batches.iter().flat_map(|batch| &batch.sent).collect();
    if all.is_empty() {
        return Ok(());
    }
    all.sort_by_key(|row| (row.id, row.attempt));
    if all
        .windows(2)
        .any(|pair| (pair[0].id, pair[0].attempt.max(1)) == (pair[1].id, pair[1].attempt.max(1)))
    {
        // One statement cannot tell which of them comes first; one after another can.
        return Err(PostgresFailure::Row("an attempt is there twice".to_owned()));
    }
    let ids = keys(all.iter().map(|row| row.id))?;
    for row in &all {
        check_size(row.operator_message_id.len())?;
    }
    call!(
        calls,
        StatementStep::Sent,
        ids,
        column(&all, |row| row.attempt.max(1) as i32),
        column(&all, |row| row.at),
        column(&all, |row| row.operator as i32),
        column(&all, |row| row.status as i32),
        column(&all, |row| text_of(&row.operator_message_id)),
        column(&all, |row| row.latency_ms as i32),
        column(&all, |row| row.correlation as i64),
        column(&all, |row| row.bind as i64),
        column(&all, |row| {
            (row.sum() ^ row.attempt ^ row.attempt.max(1)) as i32
        }),
    );
    let Some(correlate) = correlate else {
        return Ok(());
    };
    let mut seen = AHashSet::new();
    let mut kept = Vec::new();
    for row in &all {
        let operator = correlate.operators.get(&row.operator).copied().flatten();
        let Some(operator) = operator.filter(|_| row.status == 0) else {
            continue;
        };
        let theirs = text_of(&row.operator_message_id);
        if !theirs.is_empty()
            && correlate.kept.fits(&theirs)
            && seen.insert((operator, theirs.clone()))
        {
            kept.push((row, operator, theirs));
        }
    }
    if kept.is_empty() {
        return Ok(());
    }
    // In the order of the unique key, so that two nodes never wait for each other.
    kept.sort_by(|left, right| (left.1, &left.2).cmp(&(right.1, &right.2)));
    call!(
        calls,
        StatementStep::Correlate,
        column(&kept, |(row, ..)| row.id as i64),
        column(&kept, |(row, ..)| row
            .known_as
            .unwrap_or_else(|| message_uuid(row.id))),
        column(&kept, |(_, _, theirs)| theirs.clone()),
        column(&kept, |(_, operator, _)| *operator),
        column(&kept, |(row, ..)| row.at),
        correlate.ttl_ms,
    );
    if let Some(call) = calls.last_mut() {
        call.rows = kept.len();
    }
    Ok(())
}

/// Changes of `retry`: first deletions, then new rows.
fn retry<'a>(batches: &[&'a WriteBatch]) -> CommitResult<Vec<StatementCall<'a>>> {
    let mut over = Vec::new();
    let mut waiting = BTreeMap::new();
    for batch in batches {
        for row in batch.sent.iter().filter(|row| row.status == 0) {
            waiting.remove(&row.id);
            over.push(row.id);
        }
        for row in &batch.retry {
            waiting.insert(row.id, row);
        }
        for row in &batch.fin {
            waiting.remove(&row.id);
            over.push(row.id);
        }
    }
    let mut calls = Vec::new();
    if !over.is_empty() {
        over.sort_unstable();
        call!(calls, StatementStep::Unretry, keys(over.into_iter())?);
    }
    if !waiting.is_empty() {
        let all: Vec<_> = waiting.into_values().collect();
        let ids = keys(all.iter().map(|row| row.id))?;
        call!(
            calls,
            StatementStep::Retry,
            ids,
            column(&all, |row| row.due_at),
            column(&all, |row| row.attempts as i32),
        );
    }
    Ok(calls)
}

fn fin<'a>(
    batches: &[&'a WriteBatch],
    expect: Expect,
    correlate: Option<&Correlate<'_>>,
    readers: Vec<i16>,
    calls: &mut Vec<StatementCall<'a>>,
) -> CommitResult {
    let mut first = BTreeMap::new();
    for row in batches.iter().flat_map(|batch| &batch.fin) {
        first.entry(row.id).or_insert(row);
    }
    if first.is_empty() {
        return Ok(());
    }
    let all: Vec<&FinRow> = first.into_values().collect();
    let ids = keys(all.iter().map(|row| row.id))?;
    for row in &all {
        check_size(row.error.len())?;
    }
    let columns: Vec<Parameter<'a>> = vec![
        Box::new(ids),
        Box::new(column(&all, |row| row.at)),
        Box::new(column(&all, |row| i32::from(row.state) as i16)),
        Box::new(column(&all, |row| text_of(&row.error))),
        Box::new(column(&all, |row| row.operator as i32)),
        Box::new(column(&all, |row| row.tell as i32)),
        Box::new(column(&all, |row| row.done_at)),
        Box::new(column(&all, |row| row.sum() as i32)),
    ];
    let mut call = StatementCall::new(StatementStep::Fin, columns);
    let remote: Vec<RemoteItem> = all.iter().filter_map(|row| handed_off(row)).collect();
    // What is handed off depends on who wins, unless all do.
    if expect == Expect::Any && !remote.is_empty() {
        call.step = StatementStep::FinRemote;
        let octets = |row: &&'a FinRow| Some(&row.remote_item[..]).filter(|all| !all.is_empty());
        call.parameters
            .push(Box::new(all.iter().map(octets).collect::<Vec<_>>()));
        let parts = column(&all, |row| i16::from(row.remote_part));
        call.parameters.push(Box::new(parts));
    }
    call.parameters.extend(of_ends(readers, &all));
    calls.push(call);
    if expect == Expect::New {
        remote_items(remote.iter(), calls);
    }
    let Some(correlate) = correlate else {
        return Ok(());
    };
    let received: Vec<_> = all
        .iter()
        .filter_map(|row| {
            let operator = correlate.operators.get(&row.operator).copied().flatten()?;
            Some((*row, operator))
        })
        .collect();
    if !received.is_empty() {
        call!(
            calls,
            StatementStep::Received,
            column(&received, |(row, _)| row.id as i64),
            column(&received, |(row, _)| message_uuid(row.id)),
            column(&received, |(_, operator)| *operator),
            column(&received, |(row, _)| row.at),
            column(&received, |(row, _)| row.operator as i32),
        );
    }
    Ok(())
}

/// The receipt of a final state, if it is for another node.
fn handed_off(row: &FinRow) -> Option<RemoteItem> {
    (!row.remote_item.is_empty()).then(|| RemoteItem {
        queue: row.tell,
        part: row.remote_part,
        id: row.id,
        octets: row.remote_item.clone(),
    })
}

fn rest<'a>(batches: &[&'a WriteBatch], calls: &mut Vec<StatementCall<'a>>) -> CommitResult {
    let mut told = keys(batches.iter().flat_map(|batch| &batch.told).copied())?;
    if !told.is_empty() {
        told.sort_unstable();
        told.dedup();
        call!(calls, StatementStep::Told, told);
    }
    let change: Vec<_> = batches.iter().flat_map(|batch| &batch.change).collect();
    if !change.is_empty() {
        let ids = keys(change.iter().map(|row| row.id))?;
        for row in &change {
            check_size(row.by.len() + row.body.len())?;
        }
        let closed = column(&change, |row| close_change(row));
        call!(
            calls,
            StatementStep::Change,
            ids,
            column(&change, |row| row.at),
            column(&change, |row| row.kind as i16),
            column(&change, |row| row.queue as i32),
            column(&change, |row| row.by.as_str()),
            column(&change, |row| row.expires_at),
            column(&closed, |(body, _)| Vec::from(&body[..])),
            column(&closed, |(_, checksum)| checksum.map(|sum| sum as i32)),
        );
    }
    let park: Vec<_> = batches.iter().flat_map(|batch| &batch.park).collect();
    if !park.is_empty() {
        let ids = keys(park.iter().map(|row| row.id))?;
        for row in &park {
            check_size(row.operator_message_id.len() + row.receipt.len())?;
        }
        call!(
            calls,
            StatementStep::Park,
            ids,
            column(&park, |row| row.operator as i32),
            column(&park, |row| text_of(&row.operator_message_id)),
            column(&park, |row| row.at),
            column(&park, |row| &row.receipt[..]),
            column(&park, |row| row.sum() as i32),
        );
    }
    let unpark = keys(batches.iter().flat_map(|batch| &batch.unpark).copied())?;
    if !unpark.is_empty() {
        call!(calls, StatementStep::Unpark, unpark);
    }
    heard(batches, calls)
}

fn heard<'a>(batches: &[&'a WriteBatch], calls: &mut Vec<StatementCall<'a>>) -> CommitResult {
    let heard: Vec<_> = batches.iter().flat_map(|batch| &batch.heard).collect();
    if heard.is_empty() {
        return Ok(());
    }
    let ids = keys(heard.iter().map(|row| row.id))?;
    for row in &heard {
        check_size(row.word.len() + row.error.len())?;
    }
    call!(
        calls,
        StatementStep::Heard,
        ids,
        column(&heard, |row| i16::from(row.kind())),
        column(&heard, |row| row.at),
        column(&heard, |row| row.operator as i32),
        column(&heard, |row| row.state as i16),
        column(&heard, |row| text_of(&row.word)),
        column(&heard, |row| text_of(&row.error)),
        column(&heard, |row| row.done_at),
        column(&heard, |row| row.due),
    );
    Ok(())
}

fn column<R, V>(rows: &[R], of: impl Fn(&R) -> V) -> Vec<V> {
    rows.iter().map(of).collect()
}

/// Ids above `i64::MAX` would sort below zero.
fn keys(ids: impl Iterator<Item = u64>) -> CommitResult<Vec<i64>> {
    ids.map(|id| {
        i64::try_from(id)
            .ok()
            .filter(|&id| id > 0)
            .ok_or_else(|| PostgresFailure::Row(format!("id {id} is out of range")))
    })
    .collect()
}

fn check_size(octets: usize) -> CommitResult {
    if octets > MAX_ROW {
        let reason = format!("row of {octets} octets, at most {MAX_ROW} are stored");
        return Err(PostgresFailure::Row(reason));
    }
    Ok(())
}
