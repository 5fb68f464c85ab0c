//! Messages that go to the store for their queues, and wait until these have room (`context/backpressure.rs`).

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueuePort;

/// Messages that have entered their queues; until this is dropped they count as not written.
#[must_use]
#[derive(Default)]
pub struct Entered(Vec<(Arc<QueuePort>, usize)>);

/// Waits until all these messages, by the queue of each, may be written.
pub async fn enter(node: &NodeContext, queues: impl Iterator<Item = u32>) -> Entered {
    let mut counts: Vec<(u32, usize)> = Vec::new();
    for queue in queues {
        match counts.iter_mut().find(|(known, _)| *known == queue) {
            Some((_, count)) => *count += 1,
            None => counts.push((queue, 1)),
        }
    }
    let mut entered = Entered::default();
    for (queue, count) in counts {
        let Some(port) = node.queue(queue) else {
            continue;
        };
        if port.backpressure.must_wait() {
            node.metrics.intake_held_back.inc_by(count as u64);
            port.backpressure.wait(count).await;
        }
        port.backpressure.entered(count);
        entered.0.push((port, count));
    }
    entered
}

impl Drop for Entered {
    fn drop(&mut self) {
        for (port, count) in &self.0 {
            port.backpressure.written(*count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::context::backpressure::QueueLevel;
    use crate::actors::context::ports::QueueKind;
    use crate::actors::queue::{MAILBOX, Queue};
    use crate::actors::runtime::supervise;
    use crate::actors::test_support;

    #[actix::test]
    async fn messages_for_a_full_queue_wait_and_others_do_not() {
        let test = test_support::node(1, None).await;
        let node = &test.context;
        let (address, _slot) = supervise::slot::<Queue>(MAILBOX);
        for queue in [test.operator, test.account] {
            node.add_queue(Arc::new(QueuePort::new(
                queue,
                node.name_of(queue),
                QueueKind::Operator,
                address.clone().into(),
                Arc::clone(&node.local_lease),
                &node.metrics,
            )));
        }
        let full = QueueLevel {
            waiting: 11,
            page: 10,
            granted: 0,
            is_fast: true,
        };
        let port = node.queue(test.operator).unwrap();
        port.backpressure.steer(full);
        let others = enter(node, [test.account].into_iter()).await;
        assert_eq!(others.0.len(), 1);
        assert_eq!(node.metrics.intake_held_back.get(), 0);
        let queues = [test.operator, test.account, test.operator];
        let waits = enter(node, queues.into_iter());
        tokio::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert_eq!(node.metrics.intake_held_back.get(), 2);
        let has_room = QueueLevel { waiting: 8, ..full };
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
