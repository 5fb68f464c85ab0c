//! Messages that go to the store for their queues, and wait until these have room (`context/intake_pace.rs`).

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
        if port.intake.must_wait() {
            node.metrics.intake_held_back.inc_by(count as u64);
            port.intake.wait(count).await;
        }
        port.intake.entered(count);
        entered.0.push((port, count));
    }
    entered
}

impl Drop for Entered {
    fn drop(&mut self) {
        for (port, count) in &self.0 {
            port.intake.written(*count);
        }
    }
}
