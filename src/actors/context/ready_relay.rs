//! What the other nodes are to hear of subscribers that are there again: messages to them may wait on any node.
//!
//! Told by [`super::remote_command`], one order after the other, and each thing once: a network or a program that says it a
//! million times holds up no other work on the store. What finds no room is not told; its messages are tried when their
//! pause is over.

use std::collections::HashSet;
use std::sync::Mutex;

use crate::actors::runtime::locks::lock;
use crate::pb::SubscriberReady;

/// Subscribers that may wait to be told of.
const MOST: usize = 10_000;

/// What the other nodes are still to hear of subscribers.
#[derive(Default)]
pub struct ReadyRelay {
    untold: Mutex<Untold>,
}

#[derive(Default)]
struct Untold {
    ready: HashSet<SubscriberReady>,
    /// Whether a task tells them.
    is_told: bool,
}

// === impl ReadyRelay ===

impl ReadyRelay {
    /// Whether a task is to be started that tells it.
    pub fn add(&self, ready: SubscriberReady) -> bool {
        let mut untold = lock(&self.untold);
        if untold.ready.len() >= MOST {
            return false;
        }
        untold.ready.insert(ready);
        !std::mem::replace(&mut untold.is_told, true)
    }

    /// All that is untold; with nothing, the task that asks ends.
    pub fn take(&self) -> HashSet<SubscriberReady> {
        let mut untold = lock(&self.untold);
        untold.is_told = !untold.ready.is_empty();
        std::mem::take(&mut untold.ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(imsi: usize) -> SubscriberReady {
        SubscriberReady {
            queue: 1,
            imsi: imsi.to_string(),
            ..SubscriberReady::default()
        }
    }

    #[test]
    fn each_subscriber_is_told_once_by_one_task() {
        let relay = ReadyRelay::default();
        assert!(relay.add(ready(1)));
        assert!(!relay.add(ready(1)) && !relay.add(ready(2)), "a task runs");
        assert_eq!(relay.take(), HashSet::from([ready(1), ready(2)]));
        assert!(!relay.add(ready(1)), "the task asks again");
        assert_eq!(relay.take().len(), 1);
        assert!(relay.take().is_empty());
        assert!(relay.add(ready(1)), "the task has ended");
    }

    #[test]
    fn memory_is_bounded() {
        let relay = ReadyRelay::default();
        for imsi in 0..MOST + 10 {
            relay.add(ready(imsi));
        }
        assert_eq!(relay.take().len(), MOST);
    }
}
