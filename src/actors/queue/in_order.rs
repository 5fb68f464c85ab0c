//! The order of a queue whose operator has `strict_order`: one message at a time, and nothing overtakes one that
//! failed for now.
//!
//! Used by the actions that grant and settle. It keeps the body of the message that a session has, so that one that
//! comes back is in front at once: a body that would have to be read first would let those behind it pass. Invariant:
//! while the message in front waits for its next attempt, nothing is granted.

use std::time::Duration;

use tokio::time::Instant;

use crate::pb::Message;

#[derive(Default)]
pub(super) struct InOrder {
    /// What a session was given.
    given: Option<(u64, Box<Message>)>,
    /// The message in front that failed for now, and when it goes again.
    waits: Option<(u64, Instant)>,
    /// Messages that are being replaced: they are out of the lists, and those behind them must not pass.
    replacing: usize,
}

// === impl InOrder ===

impl InOrder {
    /// A session is given this message.
    pub(super) fn give(&mut self, id: u64, message: &Message) {
        self.given = Some((id, Box::new(message.clone())));
    }

    /// The body of a message that comes back; `None` if another one was given since, or the lists were discarded.
    pub(super) fn take_back(&mut self, id: u64) -> Option<Box<Message>> {
        let (given, message) = self.given.take()?;
        (given == id).then_some(message)
    }

    /// A message is taken out, and comes back when its replacement is written.
    pub(super) fn begin_replacing(&mut self) {
        self.replacing += 1;
    }

    pub(super) fn end_replacing(&mut self) {
        self.replacing = self.replacing.saturating_sub(1);
    }

    pub(super) fn is_replacing(&self) -> bool {
        self.replacing > 0
    }

    /// The message in front goes again after this pause.
    pub(super) fn wait(&mut self, id: u64, pause: Duration) {
        self.waits = (!pause.is_zero()).then(|| (id, Instant::now() + pause));
    }

    /// Whether a message in front waits for its next attempt.
    pub(super) fn is_waiting(&self) -> bool {
        self.waits.is_some()
    }

    /// The message goes at once; whether it waited.
    pub(super) fn hurry(&mut self, id: u64) -> bool {
        let waited = self.waits.take_if(|(waiting, _)| *waiting == id);
        waited.is_some()
    }

    /// Whether grants have to wait; `front` is the next message, `None` while its body is not in memory. One that was
    /// taken out holds nobody up.
    pub(super) fn holds(&mut self, front: Option<u64>) -> bool {
        let Some((id, until)) = self.waits else {
            return false;
        };
        let is_over = Instant::now() >= until || front.is_some_and(|front| front != id);
        if is_over {
            self.waits = None;
        }
        !is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_message_in_front_holds_the_others_until_its_time_comes_or_it_is_gone() {
        let mut order = InOrder::default();
        assert!(!order.holds(Some(1)));
        order.wait(1, Duration::from_secs(5));
        assert!(order.holds(Some(1)) && order.holds(None));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(!order.holds(Some(1)) && !order.is_waiting());

        order.wait(2, Duration::from_secs(5));
        assert!(!order.holds(Some(3)), "2 was cancelled");
        order.wait(3, Duration::from_secs(5));
        assert!(!order.hurry(4) && order.hurry(3));
        assert!(!order.holds(Some(3)));
        order.wait(3, Duration::ZERO);
        assert!(!order.is_waiting());
    }

    #[test]
    fn a_body_is_kept_until_its_message_comes_back() {
        let mut order = InOrder::default();
        order.give(7, &Message::default());
        assert!(order.take_back(7).is_some());
        assert!(order.take_back(7).is_none());
        order.give(8, &Message::default());
        assert!(order.take_back(7).is_none());
    }
}
