//! A circuit breaker: a service that fails repeatedly gets no calls for a while.
//!
//! Used by the resolver for its look-up service and by the queues for their operators. Closed until
//! a number of calls in a row, or a share of the calls of ten seconds, have failed; then open for a
//! pause without calls; then half open: a few calls are tried, and either all of them succeed or the
//! pause begins again. The caller passes the time. Guarantees that only calls which
//! [`Breaker::admit`] let through decide how a pause ends.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Answers that the share of failures is measured over come from this time.
pub const WINDOW: Duration = Duration::from_secs(10);
/// The window moves by this.
const SLICE: Duration = Duration::from_secs(1);
/// A share of fewer answers than this is ignored.
pub const LEAST_ANSWERS: u32 = 20;

/// When a breaker opens and how it closes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakerLimits {
    /// Failures in a row that open it; 0: a row never does.
    pub in_a_row: u32,
    /// Share of failures among the answers of [`WINDOW`] that opens it, if there were
    /// [`LEAST_ANSWERS`]; 0: a share never does.
    pub share: f64,
    /// How long there are no calls.
    pub pause: Duration,
    /// Calls that try after the pause; all of them must succeed. At least 1.
    pub probes: u32,
}

/// The state of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerStatus {
    Closed,
    /// No calls.
    Open,
    /// A few calls try.
    HalfOpen,
}

/// Whether calls may be made.
#[derive(Debug)]
pub struct Breaker {
    limits: BreakerLimits,
    failures: u32,
    recent: VecDeque<WindowSlice>,
    state: BreakerState,
}

#[derive(Debug)]
enum BreakerState {
    Closed,
    Open { since: Instant },
    HalfOpen { under_way: u32, succeeded: u32 },
}

/// Answers of one part of the window.
#[derive(Debug)]
struct WindowSlice {
    began: Instant,
    answers: u32,
    failures: u32,
}

// === impl BreakerLimits ===

impl BreakerLimits {
    /// Never opens.
    pub const OFF: Self = Self {
        in_a_row: 0,
        share: 0.0,
        pause: Duration::ZERO,
        probes: 1,
    };

    /// Opens after this many failures in a row; then one call at a time is tried.
    pub fn in_a_row(most: u32, pause: Duration) -> Self {
        Self {
            in_a_row: most.max(1),
            pause,
            ..Self::OFF
        }
    }

    /// Whether it can open at all.
    pub fn is_on(&self) -> bool {
        self.in_a_row > 0 || self.share > 0.0
    }
}

// === impl Breaker ===

impl Breaker {
    /// Closed.
    pub fn new(limits: BreakerLimits) -> Self {
        Self {
            limits,
            failures: 0,
            recent: VecDeque::new(),
            state: BreakerState::Closed,
        }
    }

    /// Changes the limits. A breaker that can no longer open is closed.
    pub fn configure(&mut self, limits: BreakerLimits) {
        self.limits = limits;
        if !limits.is_on() {
            self.close();
        }
    }

    /// Whether it can open at all.
    pub fn is_on(&self) -> bool {
        self.limits.is_on()
    }

    /// Whether a call may be made now; if so, the caller must report its outcome.
    pub fn admit(&mut self, now: Instant) -> bool {
        if self.room(now) == 0 {
            return false;
        }
        match &mut self.state {
            BreakerState::Closed => {}
            BreakerState::HalfOpen { under_way, .. } => *under_way += 1,
            BreakerState::Open { .. } => {
                self.state = BreakerState::HalfOpen {
                    under_way: 1,
                    succeeded: 0,
                };
            }
        }
        true
    }

    /// Calls that would be admitted now.
    pub fn room(&self, now: Instant) -> u32 {
        match self.state {
            BreakerState::Closed => u32::MAX,
            BreakerState::Open { since } if now.duration_since(since) < self.limits.pause => 0,
            BreakerState::Open { .. } => self.limits.probes.max(1),
            BreakerState::HalfOpen {
                under_way,
                succeeded,
            } => {
                let used = under_way + succeeded;
                self.limits.probes.max(1).saturating_sub(used)
            }
        }
    }

    /// A call was answered. Calls that began before the breaker opened should not be reported.
    pub fn succeeded(&mut self, now: Instant) {
        match &mut self.state {
            BreakerState::Closed => {
                self.failures = 0;
                self.count(now, 0);
            }
            BreakerState::Open { .. } => {}
            BreakerState::HalfOpen {
                under_way,
                succeeded,
            } => {
                *under_way = under_way.saturating_sub(1);
                *succeeded += 1;
                if *succeeded >= self.limits.probes.max(1) {
                    self.close();
                }
            }
        }
    }

    /// A call failed. True when this has opened the breaker.
    pub fn failed(&mut self, now: Instant) -> bool {
        match self.state {
            BreakerState::Closed => {
                self.failures = self.failures.saturating_add(1);
                self.count(now, 1);
                let opens = self.is_too_much();
                if opens {
                    self.state = BreakerState::Open { since: now };
                }
                opens
            }
            // A call that began earlier makes an open breaker no younger.
            BreakerState::Open { .. } => false,
            BreakerState::HalfOpen { .. } => {
                self.state = BreakerState::Open { since: now };
                false
            }
        }
    }

    /// An admitted call was not made, or its outcome does not count.
    pub fn abandoned(&mut self) {
        if let BreakerState::HalfOpen { under_way, .. } = &mut self.state {
            *under_way = under_way.saturating_sub(1);
        }
    }

    /// The outcomes of admitted calls will not be reported.
    pub fn forget_calls(&mut self) {
        if let BreakerState::HalfOpen { under_way, .. } = &mut self.state {
            *under_way = 0;
        }
    }

    /// The current state: an open breaker whose pause is over is half open.
    pub fn stand(&self, now: Instant) -> BreakerStatus {
        match self.state {
            BreakerState::Closed => BreakerStatus::Closed,
            BreakerState::Open { .. } if self.room(now) == 0 => BreakerStatus::Open,
            BreakerState::Open { .. } | BreakerState::HalfOpen { .. } => BreakerStatus::HalfOpen,
        }
    }

    /// Whether the service counts as away.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, BreakerState::Closed)
    }

    fn close(&mut self) {
        self.state = BreakerState::Closed;
        self.failures = 0;
        self.recent.clear();
    }

    fn count(&mut self, now: Instant, failures: u32) {
        if self.limits.share <= 0.0 {
            return;
        }
        while self
            .recent
            .front()
            .is_some_and(|slice| now.duration_since(slice.began) >= WINDOW)
        {
            self.recent.pop_front();
        }
        match self.recent.back_mut() {
            Some(slice) if now.duration_since(slice.began) < SLICE => {
                slice.answers += 1;
                slice.failures += failures;
            }
            _ => self.recent.push_back(WindowSlice {
                began: now,
                answers: 1,
                failures,
            }),
        }
    }

    fn is_too_much(&self) -> bool {
        let BreakerLimits {
            in_a_row, share, ..
        } = self.limits;
        if in_a_row > 0 && self.failures >= in_a_row {
            return true;
        }
        let sum = |of: fn(&WindowSlice) -> u32| self.recent.iter().map(of).sum::<u32>();
        let answers = sum(|slice| slice.answers);
        let failures = sum(|slice| slice.failures);
        share > 0.0 && answers >= LEAST_ANSWERS && f64::from(failures) >= share * f64::from(answers)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAUSE: Duration = Duration::from_secs(10);

    #[test]
    fn opens_after_failures_in_a_row_and_lets_one_try_after_the_pause() {
        let start = Instant::now();
        let mut breaker = Breaker::new(BreakerLimits::in_a_row(3, PAUSE));
        for _ in 0..2 {
            assert!(breaker.admit(start));
            assert!(!breaker.failed(start));
        }
        breaker.succeeded(start);
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
        breaker.succeeded(start + 2 * PAUSE);
        assert!(!breaker.is_open() && breaker.admit(start));
    }

    #[test]
    fn calls_that_fail_late_do_not_prolong_the_pause() {
        let start = Instant::now();
        let mut breaker = Breaker::new(BreakerLimits::in_a_row(1, PAUSE));
        assert!(breaker.failed(start));
        assert!(!breaker.failed(start + PAUSE / 2));
        breaker.succeeded(start + PAUSE / 2);
        assert_eq!(breaker.stand(start + PAUSE / 2), BreakerStatus::Open);
        assert_eq!(breaker.stand(start + PAUSE), BreakerStatus::HalfOpen);
        assert!(breaker.admit(start + PAUSE));
    }

    #[test]
    fn every_probe_must_succeed() {
        let start = Instant::now();
        let mut breaker = Breaker::new(BreakerLimits {
            probes: 3,
            ..BreakerLimits::in_a_row(1, PAUSE)
        });
        breaker.failed(start);
        let mut now = start + PAUSE;
        assert_eq!((0..9).filter(|_| breaker.admit(now)).count(), 3);
        breaker.succeeded(now);
        assert!(!breaker.admit(now), "the three are not repeated");
        breaker.abandoned();
        assert!(breaker.admit(now), "one was never made");
        breaker.succeeded(now);
        assert!(!breaker.failed(now));
        assert_eq!(breaker.stand(now), BreakerStatus::Open);
        now += PAUSE;
        for _ in 0..3 {
            assert!(breaker.admit(now));
            breaker.succeeded(now);
        }
        assert_eq!(breaker.stand(now), BreakerStatus::Closed);
    }

    #[test]
    fn a_share_of_failures_opens_it_whatever_succeeds_between() {
        let start = Instant::now();
        let limits = BreakerLimits {
            share: 0.5,
            pause: PAUSE,
            ..BreakerLimits::OFF
        };
        let mut breaker = Breaker::new(limits);
        for n in 0..LEAST_ANSWERS - 1 {
            match n % 2 {
                0 => assert!(!breaker.failed(start), "{n}: too few to tell"),
                _ => breaker.succeeded(start),
            }
        }
        breaker.succeeded(start);
        assert!(breaker.failed(start), "11 of 21");

        let mut breaker = Breaker::new(limits);
        for _ in 0..LEAST_ANSWERS {
            breaker.succeeded(start);
        }
        // What is older than the window is forgotten.
        let later = start + WINDOW;
        let opened: Vec<bool> = (0..LEAST_ANSWERS).map(|_| breaker.failed(later)).collect();
        assert_eq!(opened.iter().position(|opened| *opened), Some(19));
    }

    #[test]
    fn one_that_is_switched_off_closes() {
        let start = Instant::now();
        let mut breaker = Breaker::new(BreakerLimits::in_a_row(1, PAUSE));
        breaker.failed(start);
        breaker.configure(BreakerLimits::OFF);
        assert!(!breaker.is_open() && !breaker.failed(start));
    }

    proptest! {
        /// Never more probes under way than allowed, and never a call within the pause.
        #[test]
        fn calls_are_few_while_it_is_not_closed(
            steps in proptest::collection::vec((0u8..4, 0u64..4_000), 1..200),
            probes in 1u32..5,
        ) {
            let mut now = Instant::now();
            let limits = BreakerLimits { probes, ..BreakerLimits::in_a_row(3, PAUSE) };
            let mut breaker = Breaker::new(limits);
            let mut under_way = 0u32;
            let mut opened = None;
            for (what, pause) in steps {
                now += Duration::from_millis(pause);
                let before = breaker.stand(now);
                match what {
                    0 if breaker.admit(now) && before != BreakerStatus::Closed => {
                        under_way += 1;
                        prop_assert!(opened.is_some_and(|at| now.duration_since(at) >= PAUSE));
                    }
                    1 if before == BreakerStatus::Closed || under_way > 0 => {
                        breaker.failed(now);
                        if breaker.stand(now) == BreakerStatus::Open {
                            (opened, under_way) = (Some(now), 0);
                        }
                    }
                    2 if before == BreakerStatus::Closed || under_way > 0 => {
                        breaker.succeeded(now);
                        under_way = under_way.saturating_sub(1);
                    }
                    3 if under_way > 0 => {
                        breaker.abandoned();
                        under_way -= 1;
                    }
                    _ => {}
                }
                prop_assert!(under_way <= probes);
                if breaker.stand(now) == BreakerStatus::Closed {
                    under_way = 0;
                }
            }
        }
    }
}
