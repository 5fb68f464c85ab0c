//! Messages that go to the store for their queues, and wait until these have room (`context/backpressure.rs`).

use std::sync::Arc;

use futures_util::future::join_all;

use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueuePort;

/// A queue that messages have entered; until this is dropped they count as not written.
#[must_use]
pub struct EnteredQueue {
    port: Arc<QueuePort>,
    messages: usize,
}

/// Waits until all these messages, by the queue of each, may be written: for all full queues together no longer than
/// for one.
pub async fn enter(node: &NodeContext, queues: impl Iterator<Item = u32>) -> Vec<EnteredQueue> {
    let mut counts: Vec<(u32, usize)> = Vec::new();
    for queue in queues {
        match counts.iter_mut().find(|(known, _)| *known == queue) {
            Some((_, count)) => *count += 1,
            None => counts.push((queue, 1)),
        }
    }
    let mut entered = Vec::with_capacity(counts.len());
    let mut waiting = Vec::new();
    for (queue, messages) in counts {
        let Some(port) = node.queue(queue) else {
            continue;
        };
        if port.backpressure.must_wait() {
            node.metrics.intake_held_back.inc_by(messages as u64);
            waiting.push(EnteredQueue::when_it_has_room(port, messages));
        } else {
            entered.push(EnteredQueue::new(port, messages));
        }
    }
    // Beside one another: in turn, thirty full queues would take a minute.
    entered.extend(join_all(waiting).await);
    entered
}

// === impl EnteredQueue ===

impl EnteredQueue {
    fn new(port: Arc<QueuePort>, messages: usize) -> Self {
        port.backpressure.entered(messages);
        Self { port, messages }
    }

    async fn when_it_has_room(port: Arc<QueuePort>, messages: usize) -> Self {
        port.backpressure.wait(messages).await;
        Self::new(port, messages)
    }
}

impl Drop for EnteredQueue {
    fn drop(&mut self) {
        self.port.backpressure.written(self.messages);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::actors::context::backpressure::QueueLevel;
    use crate::actors::context::ports::QueueKind;
    use crate::actors::queue::{MAILBOX, Queue};
    use crate::actors::runtime::supervise;
    use crate::actors::test_support;

    const FULL: QueueLevel = QueueLevel {
        waiting: 11,
        page: 10,
        granted: 0,
        is_fast: true,
    };

    fn add_queue(node: &NodeContext, queue: u32) {
        let (address, _slot) = supervise::slot::<Queue>(MAILBOX);
        node.add_queue(Arc::new(QueuePort::new(
            queue,
            format!("queue {queue}"),
            QueueKind::Operator,
            address.into(),
            Arc::clone(&node.local_lease),
            &node.metrics,
        )));
    }

    #[actix::test]
    async fn a_batch_for_many_full_queues_waits_no_longer_than_for_one() {
        let test = test_support::node(1, None).await;
        let node = &test.context;
        let many = 1_000..1_040;
        for queue in many.clone() {
            add_queue(node, queue);
            node.queue(queue).unwrap().backpressure.steer(FULL);
        }
        tokio::time::pause();
        let began = Instant::now();
        let one = enter(node, [1_000].into_iter()).await;
        let for_one = began.elapsed();
        drop(one);
        let began = Instant::now();
        let all = enter(node, many).await;
        assert_eq!(all.len(), 40);
        // A timer may fire a millisecond late.
        assert!(began.elapsed() < for_one * 2, "{:?}", began.elapsed());
    }

    #[actix::test]
    async fn messages_for_a_full_queue_wait_and_others_do_not() {
        let test = test_support::node(1, None).await;
        let node = &test.context;
        for queue in [test.operator, test.account] {
            add_queue(node, queue);
        }
        let port = node.queue(test.operator).unwrap();
        port.backpressure.steer(FULL);
        let others = enter(node, [test.account].into_iter()).await;
        assert_eq!(others.len(), 1);
        assert_eq!(node.metrics.intake_held_back.get(), 0);
        let queues = [test.operator, test.account, test.operator];
        let waits = enter(node, queues.into_iter());
        tokio::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(node.metrics.intake_held_back.get(), 2);
        let has_room = QueueLevel { waiting: 8, ..FULL };
        port.backpressure.steer(has_room);
        let entered = waits.await;
        // They fill the page until they are written.
        port.backpressure.steer(has_room);
        let next = enter(node, [test.operator].into_iter());
        tokio::pin!(next);
        assert!(futures_util::poll!(&mut next).is_pending());
        drop(entered);
        port.backpressure.steer(has_room);
        assert!(futures_util::poll!(&mut next).is_ready());
    }
}
