//! A circuit breaker: a service that fails again and again is left alone for a while.
//!
//! Used by the resolver. Closed until so many calls in a row have failed; then open for a pause, in
//! which nobody calls; then one call at a time may try, until one succeeds. Time comes in.

use std::time::{Duration, Instant};

/// Whether calls may be made.
#[derive(Debug)]
pub struct Breaker {
    /// Failures in a row that open it.
    most: u32,
    pause: Duration,
    failures: u32,
    /// Open, or trying, since.
    opened: Option<Instant>,
    /// A call that tries is under way.
    trying: bool,
}

// === impl Breaker ===

impl Breaker {
    /// Closed.
    pub fn new(most: u32, pause: Duration) -> Self {
        Self {
            most: most.max(1),
            pause,
            failures: 0,
            opened: None,
            trying: false,
        }
    }

    /// Other limits from now on.
    pub fn configure(&mut self, most: u32, pause: Duration) {
        (self.most, self.pause) = (most.max(1), pause);
    }

    /// Whether a call may be made now; who is told so reports how it went.
    pub fn admit(&mut self, now: Instant) -> bool {
        match self.opened {
            None => true,
            Some(since) if !self.trying && now.duration_since(since) >= self.pause => {
                self.trying = true;
                true
            }
            Some(_) => false,
        }
    }

    /// A call was answered.
    pub fn succeeded(&mut self) {
        self.failures = 0;
        self.opened = None;
        self.trying = false;
    }

    /// A call failed. True when this has opened the breaker.
    pub fn failed(&mut self, now: Instant) -> bool {
        self.failures = self.failures.saturating_add(1);
        let before = self.opened.is_some();
        if self.trying || self.failures >= self.most {
            // A call that began earlier makes an open breaker no younger.
            if self.trying || !before {
                self.opened = Some(now);
            }
            self.trying = false;
        }
        !before && self.opened.is_some()
    }

    /// Whether the service counts as away.
    pub fn is_open(&self) -> bool {
        self.opened.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(10);

    #[test]
    fn opens_after_failures_in_a_row_and_lets_one_try_after_the_pause() {
        let start = Instant::now();
        let mut breaker = Breaker::new(3, PAUSE);
        for _ in 0..2 {
            assert!(breaker.admit(start));
            assert!(!breaker.failed(start));
        }
        breaker.succeeded();
        for _ in 0..2 {
            assert!(!breaker.failed(start), "the row was broken");
        }
        assert!(breaker.failed(start));
        assert!(breaker.is_open());
        assert!(!breaker.admit(start + PAUSE / 2));
        assert!(breaker.admit(start + PAUSE));
        assert!(!breaker.admit(start + PAUSE), "one at a time");
        assert!(!breaker.failed(start + PAUSE), "it was open before");
        assert!(!breaker.admit(start + PAUSE), "the pause begins again");
        assert!(breaker.admit(start + 2 * PAUSE));
        breaker.succeeded();
        assert!(!breaker.is_open() && breaker.admit(start));
    }

    #[test]
    fn calls_that_fail_late_do_not_prolong_the_pause() {
        let start = Instant::now();
        let mut breaker = Breaker::new(1, PAUSE);
        assert!(breaker.failed(start));
        assert!(!breaker.failed(start + PAUSE / 2));
        assert!(breaker.admit(start + PAUSE));
    }
}
