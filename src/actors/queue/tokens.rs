//! The rate at which a queue may grant: tokens from Throttle, and pauses in which it grants nothing.
//!
//! Used by the action that grants. Invariants: a token is used once and before it expires, and one request
//! to Throttle is pending at a time: one timer per pause, not one per message.

use std::time::Duration;

use tokio::time::Instant;

use crate::pb::TakenTokens;

#[derive(Default)]
pub(super) struct QueueTokens {
    /// Granted and not used yet.
    count: u32,
    /// When they expire: a limit that nodes share grants them for this moment only.
    until: Option<Instant>,
    /// Throttle has been asked, or has said when to ask again.
    is_asking: bool,
    /// Nothing is granted before this time.
    hold_until: Option<Instant>,
}

// === impl QueueTokens ===

impl QueueTokens {
    /// Tokens that can be used now.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn spend(&mut self, spent: u32) {
        self.count -= spent;
    }

    /// How many tokens to request when `wanted` are needed; `None` while a request is pending or its
    /// pause runs.
    pub(super) fn ask(&mut self, wanted: u32) -> Option<u32> {
        if self.is_asking || wanted <= self.count {
            return None;
        }
        self.is_asking = true;
        Some(wanted - self.count)
    }

    /// Throttle has answered. Without tokens it says when to ask again: the caller then calls
    /// [`QueueTokens::may_ask`].
    pub(super) fn answered(&mut self, taken: &TakenTokens) -> Option<Duration> {
        self.is_asking = taken.granted == 0;
        self.add(taken.granted, taken.valid_ms);
        let pause = Duration::from_millis(u64::from(taken.retry_in_ms.max(1)));
        self.is_asking.then_some(pause)
    }

    /// The pause is over.
    pub(super) fn may_ask(&mut self) {
        self.is_asking = false;
    }

    /// Adds tokens to the remaining ones. All expire with the earliest of them.
    fn add(&mut self, granted: u32, valid_ms: u32) {
        self.drop_dead();
        if granted == 0 {
            return;
        }
        let until =
            (valid_ms > 0).then(|| Instant::now() + Duration::from_millis(u64::from(valid_ms)));
        self.until = match self.until {
            Some(before) if self.count > 0 => Some(until.map_or(before, |until| until.min(before))),
            _ => until,
        };
        self.count += granted;
    }

    /// Drops expired tokens.
    pub(super) fn drop_dead(&mut self) {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            self.count = 0;
            self.until = None;
        }
    }

    /// Grants nothing for a while: the operator throttles, or the store cannot be read.
    pub(super) fn hold_for(&mut self, pause: Duration) {
        self.hold_until = Some(Instant::now() + pause);
    }

    pub(super) fn is_on_hold(&self) -> bool {
        self.hold_until.is_some_and(|until| Instant::now() < until)
    }

    pub(super) fn end_hold(&mut self) {
        self.hold_until = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_live_in_time_are_lost_with_it() {
        let mut tokens = QueueTokens::default();
        tokens.add(5, 0);
        tokens.drop_dead();
        assert_eq!((tokens.count, tokens.until), (5, None), "kept");

        tokens.add(3, 60_000);
        let long = tokens.until.expect("an end");
        assert_eq!(tokens.count, 8);
        tokens.add(2, 30_000);
        assert!(
            tokens.until.expect("an end") < long,
            "the earlier end holds"
        );
        tokens.add(2, 0);
        assert!(tokens.until.is_some(), "and is not forgotten");

        tokens.until = Some(Instant::now());
        tokens.add(4, 60_000);
        assert_eq!(tokens.count, 4, "the dead ones are not among them");
    }

    #[test]
    fn throttle_is_asked_once_at_a_time_for_what_is_missing() {
        let mut tokens = QueueTokens::default();
        let answer = |granted| TakenTokens {
            granted,
            retry_in_ms: 7,
            ..TakenTokens::default()
        };
        assert_eq!(tokens.ask(5), Some(5));
        assert_eq!(tokens.ask(5), None, "it has not answered yet");
        assert_eq!(tokens.answered(&answer(3)), None);
        assert_eq!(tokens.ask(3), None, "there are as many");
        assert_eq!(tokens.ask(5), Some(2));
        let pause = tokens.answered(&answer(0));
        assert_eq!(pause, Some(Duration::from_millis(7)));
        assert_eq!(tokens.ask(5), None, "it has said when");
        tokens.may_ask();
        assert_eq!(tokens.ask(5), Some(2));
    }
}
