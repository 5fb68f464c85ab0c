//! Who comes first: results, acknowledged receipts, new messages.

use bytes::Bytes;

use super::*;
use crate::{RemoteItem, RetryRow};

const LIMIT: usize = 10;

/// A queue with two lanes; answers go nowhere.
fn queue() -> PostgresWriteQueue {
    PostgresWriteQueue::new(2)
}

fn push(queue: &PostgresWriteQueue, batch: WriteBatch) {
    let (answer, _) = oneshot::channel();
    queue.push(batch, answer);
}

fn new_messages(count: u64) -> WriteBatch {
    let message = |id| smsc_proto::Message {
        id,
        ..Default::default()
    };
    WriteBatch {
        accept: (1..=count).map(message).collect(),
        ..WriteBatch::default()
    }
}

fn results(count: u64) -> WriteBatch {
    let row = |id| RetryRow {
        id,
        due_at: 0,
        attempts: 1,
    };
    WriteBatch {
        retry: (1..=count).map(row).collect(),
        ..WriteBatch::default()
    }
}

fn told(count: u64) -> WriteBatch {
    WriteBatch {
        told: (1..=count).collect(),
        ..WriteBatch::default()
    }
}

/// Rows that a lane may write now: results, receipts, new messages.
fn taken(queue: &PostgresWriteQueue, lane: usize) -> (usize, usize, usize) {
    let group = queue.lock().pop(lane, lane == 1, LIMIT);
    let sum = |of: fn(&WriteBatch) -> usize| group.iter().map(|one| of(&one.batch)).sum();
    (
        sum(|batch| batch.retry.len()),
        sum(|batch| batch.told.len()),
        sum(|batch| batch.accept.len()),
    )
}

#[tokio::test]
async fn new_messages_do_not_wait_for_few_results() {
    let queue = queue();
    push(&queue, results(9));
    push(&queue, new_messages(4));
    assert_eq!(taken(&queue, 1), (0, 0, 4));
    assert_eq!(taken(&queue, 0), (9, 0, 0));
}

#[tokio::test]
async fn messages_for_other_nodes_go_through_one_lane() {
    let queue = queue();
    let for_others = || WriteBatch {
        remote_items: vec![RemoteItem {
            queue: 1,
            part: 0,
            id: 1,
            octets: Bytes::new(),
        }],
        ..new_messages(2)
    };
    push(&queue, new_messages(1));
    push(&queue, for_others());
    push(&queue, new_messages(3));
    assert_eq!(taken(&queue, 0), (0, 0, 1));
    assert_eq!(taken(&queue, 0), (0, 0, 0), "the next one is not for it");
    assert_eq!(taken(&queue, 1), (0, 0, 5));
}

#[tokio::test]
async fn while_results_wait_as_many_messages_are_taken_as_have_ended() {
    let queue = queue();
    (0..5).for_each(|_| push(&queue, results(10)));
    (0..20).for_each(|_| push(&queue, new_messages(1)));
    assert_eq!(taken(&queue, 1), (0, 0, 0), "nothing has ended");
    assert_eq!(taken(&queue, 0), (10, 0, 0));
    assert_eq!(taken(&queue, 1), (0, 0, 5));
    assert_eq!(taken(&queue, 1), (0, 0, 0), "its share is used up");
    assert_eq!(taken(&queue, 0), (10, 0, 0));
    assert_eq!(taken(&queue, 0), (10, 0, 0));
    assert_eq!(taken(&queue, 1), (0, 0, 10));
    // Less than a commit of results is left.
    assert_eq!(taken(&queue, 0), (10, 0, 0));
    assert_eq!(taken(&queue, 0), (10, 0, 0));
    assert_eq!(taken(&queue, 1), (0, 0, 5));
    assert_eq!(queue.rows(), 0);
}

#[tokio::test]
async fn receipts_are_written_by_any_lane_whatever_waits() {
    let queue = queue();
    push(&queue, results(20));
    push(&queue, new_messages(3));
    push(&queue, told(7));
    assert_eq!(taken(&queue, 1), (0, 7, 0));
    assert_eq!(taken(&queue, 0), (20, 0, 0));
    push(&queue, told(4));
    // Without results lane 0 does the same.
    assert_eq!(taken(&queue, 0), (0, 4, 3));
}

#[tokio::test]
async fn a_receipt_with_other_rows_stays_in_order() {
    let queue = queue();
    let mut batch = told(1);
    batch.retry = results(1).retry;
    push(&queue, batch);
    assert_eq!(taken(&queue, 1), (0, 0, 0));
    assert_eq!(taken(&queue, 0), (1, 1, 0));
}

#[tokio::test]
async fn a_batch_without_rows_is_answered_in_order() {
    let queue = queue();
    push(&queue, results(9));
    push(&queue, WriteBatch::default());
    assert!(queue.lock().pop(1, true, LIMIT).is_empty());
    assert_eq!(queue.lock().pop(0, false, LIMIT).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn new_messages_wait_only_so_long_for_results() {
    let queue = queue();
    push(&queue, results(30));
    push(&queue, new_messages(3));
    assert_eq!(taken(&queue, 1), (0, 0, 0));
    // Lane 0 does not get on; the other one is waiting.
    let group = queue.take(1, LIMIT).await.expect("it is open");
    assert_eq!(group[0].batch.accept.len(), 3);
    assert!(queue.lock().idle.is_empty(), "it writes now");
}

#[tokio::test]
async fn a_lane_that_waits_is_woken_when_results_make_room() {
    let queue = std::sync::Arc::new(queue());
    push(&queue, results(10));
    push(&queue, results(10));
    push(&queue, new_messages(3));
    let other = std::sync::Arc::clone(&queue);
    let waiting = tokio::spawn(async move { other.take(1, LIMIT).await });
    tokio::task::yield_now().await;
    assert!(queue.lock().idle.contains(&1));
    let first = queue.take(0, LIMIT).await.expect("it is open");
    assert_eq!(first[0].batch.retry.len(), 10);
    let group = waiting.await.expect("no panic").expect("it is open");
    assert_eq!(group[0].batch.accept.len(), 3);
}

/// Lane 0 has written results for so long; nothing waits.
async fn after_a_commit_of(milliseconds: u64) -> PostgresWriteQueue {
    let queue = queue();
    push(&queue, results(1));
    assert_eq!(queue.take(0, LIMIT).await.expect("it is open").len(), 1);
    tokio::time::advance(Duration::from_millis(milliseconds)).await;
    queue
}

#[tokio::test(start_paused = true)]
async fn few_results_that_wait_after_a_commit_wait_for_more() {
    for (commit, rest) in [(1, 2), (3, 6), (50, 8)] {
        let queue = after_a_commit_of(commit).await;
        push(&queue, results(2));
        let started = Instant::now();
        let group = queue.take(0, LIMIT).await.expect("it is open");
        assert_eq!(group[0].batch.retry.len(), 2);
        // Timers have steps of a millisecond.
        let rested = started.elapsed().as_millis();
        assert!(
            (rest..=rest + 1).contains(&rested),
            "{rested} after {commit}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn results_that_come_when_nothing_waits_are_written_at_once() {
    let queue = std::sync::Arc::new(after_a_commit_of(3).await);
    let other = std::sync::Arc::clone(&queue);
    let waiting = tokio::spawn(async move { other.take(0, LIMIT).await });
    tokio::task::yield_now().await;
    let started = Instant::now();
    push(&queue, results(2));
    assert!(waiting.await.expect("no panic").is_some());
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn many_results_end_a_rest() {
    let queue = std::sync::Arc::new(after_a_commit_of(3).await);
    push(&queue, results(2));
    let other = std::sync::Arc::clone(&queue);
    let waiting = tokio::spawn(async move { other.take(0, 2 * MANY_RESULTS).await });
    tokio::task::yield_now().await;
    let started = Instant::now();
    push(&queue, results(1));
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    push(&queue, results(MANY_RESULTS as u64));
    let group = waiting.await.expect("no panic").expect("it is open");
    assert_eq!(group.len(), 3);
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn new_messages_are_written_while_results_rest() {
    let queue = after_a_commit_of(3).await;
    push(&queue, results(2));
    push(&queue, new_messages(4));
    let started = Instant::now();
    let group = queue.take(0, LIMIT).await.expect("it is open");
    assert_eq!(group[0].batch.accept.len(), 4);
    assert_eq!(started.elapsed(), Duration::ZERO);
    let group = queue.take(0, LIMIT).await.expect("it is open");
    assert_eq!(group[0].batch.retry.len(), 2);
    assert!(started.elapsed() <= Duration::from_millis(7));
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_closed_does_not_rest() {
    let queue = after_a_commit_of(3).await;
    push(&queue, results(2));
    queue.close();
    let started = Instant::now();
    assert!(queue.take(0, LIMIT).await.is_some());
    assert!(queue.take(0, LIMIT).await.is_none());
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_single_lane_does_not_rest() {
    let queue = PostgresWriteQueue::new(1);
    push(&queue, results(1));
    assert!(queue.take(0, LIMIT).await.is_some());
    tokio::time::advance(Duration::from_millis(3)).await;
    push(&queue, results(1));
    let started = Instant::now();
    assert!(queue.take(0, LIMIT).await.is_some());
    assert_eq!(started.elapsed(), Duration::ZERO);
}
