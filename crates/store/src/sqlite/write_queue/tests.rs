//! What is taken at once, and what rests.

use smsc_proto::Message;
use tokio::sync::oneshot;

use super::*;
use crate::{FinRow, SentRow, TryRow, WriteBatch};

/// Longer than a test takes.
const LONG: Duration = Duration::from_secs(3_600);

fn push(queue: &SqliteWriteQueue, batch: WriteBatch) {
    let (answer, _) = oneshot::channel();
    queue.push(WaitingBatch { batch, answer });
}

fn new(id: u64) -> WriteBatch {
    let message = Message {
        id,
        ..Message::default()
    };
    WriteBatch {
        accept: vec![message],
        ..WriteBatch::default()
    }
}

fn sent(ids: std::ops::Range<u64>) -> WriteBatch {
    let row = |id| SentRow {
        id,
        attempt: 1,
        at: 1,
        operator: 1,
        bind: 1,
        status: 0,
        operator_message_id: bytes::Bytes::new(),
        latency_ms: 1,
        correlation: 0,
        known_as: None,
    };
    WriteBatch {
        sent: ids.map(row).collect(),
        ..WriteBatch::default()
    }
}

fn fin(id: u64) -> WriteBatch {
    WriteBatch {
        fin: vec![FinRow::damaged(id)],
        ..WriteBatch::default()
    }
}

fn tries(id: u64) -> WriteBatch {
    let row = TryRow {
        id,
        attempt: 1,
        at: 1,
        operator: 1,
    };
    WriteBatch {
        tries: vec![row],
        ..WriteBatch::default()
    }
}

/// Ids of what is taken now; empty where the writer would sleep.
fn taken(queue: &SqliteWriteQueue) -> Vec<u64> {
    {
        let mut state = queue.lock();
        state.begin_rest(queue.rest);
        if !state.has_work(queue.rest) {
            return Vec::new();
        }
    }
    let (mut group, mut job) = (Vec::new(), None);
    let take = Take {
        rows: 1_000,
        linger: Duration::ZERO,
        pause: None,
    };
    assert!(queue.take(&mut group, &mut job, take));
    assert_eq!(job.is_some(), group.is_empty());
    let ids = |pending: &WaitingBatch| {
        let batch = &pending.batch;
        let new = batch.accept.iter().map(|message| message.id);
        let sent = batch.sent.iter().map(|row| row.id);
        let rest = (batch.fin.iter().map(|row| row.id)).chain(batch.tries.iter().map(|row| row.id));
        new.chain(sent).chain(rest).collect::<Vec<_>>()
    };
    group.iter().flat_map(ids).collect()
}

#[test]
fn results_of_a_quiet_moment_are_written_at_once_and_the_next_ones_rest() {
    let queue = SqliteWriteQueue::new(LONG);
    push(&queue, fin(1));
    assert_eq!(taken(&queue), [1]);
    push(&queue, fin(2));
    push(&queue, new(3));
    assert_eq!(taken(&queue), [3], "new messages go first");
    assert!(taken(&queue).is_empty());
    push(&queue, new(4));
    push(&queue, tries(5));
    assert_eq!(taken(&queue), [2, 4, 5], "in the order of the calls");
    // That was a commit of results as well.
    push(&queue, fin(6));
    assert!(taken(&queue).is_empty());
}

#[test]
fn what_nobody_waits_for_is_written_with_what_someone_waits_for() {
    let queue = SqliteWriteQueue::new(LONG);
    push(&queue, sent(1..2));
    assert!(taken(&queue).is_empty());
    push(&queue, fin(1));
    assert_eq!(taken(&queue), [1, 1]);
    push(&queue, sent(2..3));
    assert!(taken(&queue).is_empty());
    assert!(queue.push_job(Box::new(|_| {})));
    assert_eq!(taken(&queue), [2], "a job comes behind it");
    assert!(taken(&queue).is_empty(), "the job");
    assert_eq!(queue.rows(), 0);
}

#[test]
fn results_do_not_rest_when_many_rows_wait() {
    let queue = SqliteWriteQueue::new(LONG);
    push(&queue, fin(1));
    assert_eq!(taken(&queue), [1]);
    let many = MANY_ROWS as u64;
    push(&queue, sent(0..many - 1));
    assert!(taken(&queue).is_empty());
    push(&queue, sent(many..many + 1));
    assert_eq!(taken(&queue).len(), MANY_ROWS);
    // New messages count, too.
    push(&queue, fin(1));
    push(&queue, fin(2));
    for id in 3..many {
        push(&queue, new(id));
    }
    assert_eq!(taken(&queue).len() as u64, many - 3, "without the results");
    push(&queue, fin(3));
    for id in 3..=many {
        push(&queue, new(id));
    }
    assert_eq!(taken(&queue).len() as u64, many + 1);
}

#[test]
fn the_rest_is_over_in_time_and_when_the_queue_is_closed() {
    let queue = SqliteWriteQueue::new(Duration::ZERO);
    for id in 1..4 {
        push(&queue, sent(id..id + 1));
        assert_eq!(taken(&queue), [id]);
    }
    let queue = SqliteWriteQueue::new(LONG);
    push(&queue, sent(1..2));
    queue.close();
    assert_eq!(taken(&queue), [1]);
}

#[test]
fn while_the_disk_is_full_results_are_tried_again_without_new_messages() {
    let queue = SqliteWriteQueue::new(LONG);
    push(&queue, sent(1..2));
    push(&queue, new(2));
    let full = StoreError::Full { floor_mib: 1 };
    assert_eq!(queue.refuse_accepts(Some(full)).len(), 1);
    assert_eq!(queue.rows(), 1);
    let (mut group, mut job) = (Vec::new(), None);
    let take = Take {
        rows: 1_000,
        linger: Duration::ZERO,
        pause: Some(Duration::ZERO),
    };
    assert!(queue.take(&mut group, &mut job, take));
    assert_eq!((group.len(), queue.rows()), (1, 0));
}
