//! How fast an operator is sent to after it has said that it is too much: additive increase,
//! multiplicative decrease (AIMD), as for a congested network.
//!
//! Used by the queue of an operator, one per node. A refusal halves the rate, from what was really
//! sent in the last second, down to a floor and at most once a second: what was under way when the
//! first refusal came says nothing new. After that the rate climbs by a twentieth a second, until it is
//! the configured one, or twice the one that was refused: then the limit goes. Time comes in. Nothing
//! is counted per message while there is no limit.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Least rate, messages per second; a smaller configured one is the floor.
pub const FLOOR: f64 = 1.0;
/// At most once in this time the rate is halved; also the time that the rate is measured over.
const ONCE_IN: Duration = Duration::from_secs(1);
/// Share of the refused rate that is added each second.
const CLIMB: f64 = 0.05;
/// Least climb, messages per second each second.
const LEAST_CLIMB: f64 = 0.5;
/// Without a configured rate the limit goes at so many times the refused one.
const ENOUGH: f64 = 2.0;
/// Tokens are kept for this part of a second.
const KEPT: f64 = 0.25;
/// Refusals that may be about a single subscriber count when they are such a share of what was sent.
const SHARE: f64 = 0.1;

/// The pace towards one operator.
#[derive(Debug, Default)]
pub struct Backoff {
    limit: Option<Limit>,
    /// What had been sent at which time, for the last second.
    samples: VecDeque<(Instant, u64)>,
    doubtful: Option<(Instant, u32)>,
}

#[derive(Debug)]
struct Limit {
    /// Messages per second.
    rate: f64,
    /// The rate that was refused last.
    refused: f64,
    halved: Instant,
    climbed: Instant,
    tokens: f64,
    filled: Instant,
}

/// What a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Our rate, surely: ESME_RTHROTTLED.
    Rate,
    /// Perhaps only this subscriber's queue: ESME_RMSGQFUL.
    Doubtful,
}

// === impl Backoff ===

impl Backoff {
    /// Called every 100 ms or so: notes how much has been sent in all, and climbs. True when this has
    /// ended the limit.
    pub fn tick(&mut self, now: Instant, sent_total: u64, configured: Option<f64>) -> bool {
        // The youngest sample that is a second old is the one to measure from.
        while self
            .samples
            .get(1)
            .is_some_and(|(at, _)| now.duration_since(*at) >= ONCE_IN)
        {
            self.samples.pop_front();
        }
        self.samples.push_back((now, sent_total));
        let Some(limit) = &mut self.limit else {
            return false;
        };
        let seconds = now.duration_since(limit.climbed).as_secs_f64();
        limit.climbed = now;
        limit.fill(now);
        limit.rate += seconds * (CLIMB * limit.refused).max(LEAST_CLIMB);
        let enough = ENOUGH * limit.refused;
        let ends = limit.rate >= configured.map_or(enough, |rate| rate.min(enough));
        if ends {
            self.limit = None;
        }
        ends
    }

    /// The operator has refused a message because it is too much. True when this has lowered the rate.
    ///
    /// `sent_total` as in [`Backoff::tick`]; `configured`: the operator's rate, if it has one.
    pub fn refused(
        &mut self,
        now: Instant,
        sent_total: u64,
        configured: Option<f64>,
        refusal: Refusal,
    ) -> bool {
        let measured = self.measured(sent_total);
        if refusal == Refusal::Doubtful && !self.are_many(now, measured) {
            return false;
        }
        let rate = match &self.limit {
            Some(limit) if now.duration_since(limit.halved) < ONCE_IN => return false,
            // The limit may be far above what there is to send.
            Some(limit) => limit.rate.min(measured.max(limit.rate / 2.0)),
            None => configured.map_or(measured, |rate| rate.min(measured)),
        };
        let floor = configured.map_or(FLOOR, |rate| rate.min(FLOOR));
        let tokens = self.limit.as_ref().map_or(0.0, |limit| limit.tokens);
        self.limit = Some(Limit {
            rate: (rate / 2.0).max(floor),
            refused: rate.max(floor),
            halved: now,
            climbed: now,
            tokens: tokens.min(0.0),
            filled: now,
        });
        true
    }

    /// Messages that may go now; `None` without a limit.
    pub fn allowance(&mut self, now: Instant) -> Option<u32> {
        let limit = self.limit.as_mut()?;
        limit.fill(now);
        Some(limit.tokens.max(0.0) as u32)
    }

    /// So many have gone. More than was allowed is paid back before the next one goes: a text of
    /// several short messages goes whole.
    pub fn spend(&mut self, messages: u32) {
        if let Some(limit) = &mut self.limit {
            limit.tokens -= f64::from(messages);
        }
    }

    /// Messages per second that the limit allows; `None` without one.
    pub fn rate(&self) -> Option<f64> {
        self.limit.as_ref().map(|limit| limit.rate)
    }

    /// No limit any more.
    pub fn forget(&mut self) {
        self.limit = None;
    }

    /// What was sent within the last second, at least 1: something was refused.
    fn measured(&self, sent_total: u64) -> f64 {
        let before = self.samples.front().map_or(0, |(_, sent)| *sent);
        sent_total.saturating_sub(before).max(1) as f64
    }

    fn are_many(&mut self, now: Instant, measured: f64) -> bool {
        let count = match &mut self.doubtful {
            Some((since, count)) if now.duration_since(*since) < ONCE_IN => {
                *count += 1;
                *count
            }
            _ => {
                self.doubtful = Some((now, 1));
                1
            }
        };
        // One alone is never many.
        count > 1 && f64::from(count) >= SHARE * measured
    }
}

// === impl Limit ===

impl Limit {
    fn fill(&mut self, now: Instant) {
        let seconds = now.duration_since(self.filled).as_secs_f64();
        self.filled = now;
        self.tokens = (self.tokens + seconds * self.rate).min((KEPT * self.rate).max(1.0));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TICK: Duration = Duration::from_millis(100);

    /// An operator that takes `capacity` a second, whole seconds counted, and a sender with more to
    /// send than that.
    struct Race {
        now: Instant,
        start: Instant,
        backoff: Backoff,
        configured: Option<f64>,
        capacity: u64,
        sent: u64,
        second: u64,
        in_second: u64,
        refused: u64,
    }

    impl Race {
        fn new(capacity: u64, configured: Option<f64>) -> Self {
            let now = Instant::now();
            Self {
                now,
                start: now,
                backoff: Backoff::default(),
                configured,
                capacity,
                sent: 0,
                second: 0,
                in_second: 0,
                refused: 0,
            }
        }

        /// One tick, in which up to `wanted` are sent.
        fn tick(&mut self, wanted: u64) {
            self.now += TICK;
            self.backoff.tick(self.now, self.sent, self.configured);
            let second = self.now.duration_since(self.start).as_secs();
            if second != self.second {
                (self.second, self.in_second) = (second, 0);
            }
            let allowed = self.backoff.allowance(self.now).map_or(wanted, u64::from);
            let sent = allowed.min(wanted);
            self.backoff.spend(sent as u32);
            for _ in 0..sent {
                self.sent += 1;
                self.in_second += 1;
                if self.in_second > self.capacity {
                    self.refused += 1;
                    let (now, sent) = (self.now, self.sent);
                    self.backoff
                        .refused(now, sent, self.configured, Refusal::Rate);
                }
            }
        }

        fn run(&mut self, seconds: u64, wanted: u64) {
            (0..seconds * 10).for_each(|_| self.tick(wanted));
        }
    }

    #[test]
    fn a_refusal_halves_what_was_really_sent_and_many_at_once_halve_once() {
        let start = Instant::now();
        let mut backoff = Backoff::default();
        backoff.tick(start, 0, None);
        assert_eq!(backoff.allowance(start), None);
        assert!(backoff.refused(start + TICK, 200, None, Refusal::Rate));
        assert_eq!(backoff.rate(), Some(100.0));
        for _ in 0..50 {
            assert!(!backoff.refused(start + TICK, 200, None, Refusal::Rate));
        }
        assert_eq!(backoff.rate(), Some(100.0));
        assert_eq!(backoff.allowance(start + TICK), Some(0));
        assert_eq!(backoff.allowance(start + 2 * TICK), Some(10));
    }

    #[test]
    fn it_starts_at_the_configured_rate_when_less_than_that_was_not_sent() {
        let start = Instant::now();
        for (sent, configured, wanted) in [
            (500, Some(100.0), 50.0),
            (40, Some(100.0), 20.0),
            (1, Some(100.0), 1.0),
            (1, None, 1.0),
            (1, Some(0.5), 0.5),
        ] {
            let mut backoff = Backoff::default();
            backoff.tick(start, 0, configured);
            backoff.refused(start, sent, configured, Refusal::Rate);
            assert_eq!(backoff.rate(), Some(wanted), "{sent} of {configured:?}");
        }
    }

    #[test]
    fn it_climbs_back_and_goes() {
        let start = Instant::now();
        let after = |configured: Option<f64>, seconds: u64| {
            let mut backoff = Backoff::default();
            backoff.tick(start, 0, configured);
            backoff.refused(start, 100, configured, Refusal::Rate);
            for at in 1..=seconds {
                backoff.tick(start + Duration::from_secs(at), 100, configured);
            }
            backoff.rate().map(|rate| rate.round() as u32)
        };
        assert_eq!(after(Some(100.0), 5), Some(75));
        assert_eq!(after(Some(100.0), 9), Some(95));
        assert_eq!(
            after(Some(100.0), 11),
            None,
            "the configured rate is reached"
        );
        assert_eq!(after(None, 29), Some(195));
        assert_eq!(after(None, 31), None, "twice what was refused");
    }

    #[test]
    fn full_queues_of_single_subscribers_slow_nobody_down() {
        let start = Instant::now();
        let mut backoff = Backoff::default();
        backoff.tick(start, 0, None);
        for _ in 0..9 {
            assert!(!backoff.refused(start, 100, None, Refusal::Doubtful));
        }
        assert!(
            backoff.refused(start, 100, None, Refusal::Doubtful),
            "1 in 10"
        );
        let mut quiet = Backoff::default();
        assert!(
            !quiet.refused(start, 1, None, Refusal::Doubtful),
            "one alone"
        );
    }

    #[test]
    fn what_costs_more_than_is_left_is_paid_back() {
        let start = Instant::now();
        let mut backoff = Backoff::default();
        backoff.refused(start, 20, None, Refusal::Rate);
        let mut now = start + TICK;
        assert_eq!(backoff.allowance(now), Some(1));
        backoff.spend(4);
        now += 3 * TICK;
        assert_eq!(backoff.allowance(now), Some(0));
        now += 2 * TICK;
        assert_eq!(backoff.allowance(now), Some(2));
    }

    proptest! {
        /// However fast it began, an operator is refused little in the long run and used well.
        #[test]
        fn it_finds_what_an_operator_takes(capacity in 5u64..500, more in 2u64..40) {
            let mut race = Race::new(capacity, None);
            let wanted = (capacity * more).div_ceil(10);
            race.run(15, wanted);
            let (sent, refused) = (race.sent, race.refused);
            race.run(60, wanted);
            let (sent, refused) = (race.sent - sent, race.refused - refused);
            let taken = (sent - refused) as f64 / 60.0 / capacity as f64;
            prop_assert!(refused * 5 <= sent, "{refused} of {sent} refused");
            prop_assert!(taken > 0.5, "only {taken} of what it takes");
        }

        /// The rate stays between the floor and what is configured.
        #[test]
        fn the_rate_keeps_its_bounds(
            configured in 1.0f64..1000.0,
            steps in proptest::collection::vec((0u64..3_000, any::<bool>(), 0u64..500), 1..100),
        ) {
            let mut now = Instant::now();
            let mut backoff = Backoff::default();
            let mut sent = 0;
            for (pause, refused, more) in steps {
                now += Duration::from_millis(pause);
                sent += more;
                backoff.tick(now, sent, Some(configured));
                if refused {
                    backoff.refused(now, sent, Some(configured), Refusal::Rate);
                }
                if let Some(rate) = backoff.rate() {
                    prop_assert!((FLOOR..=configured).contains(&rate), "{rate}");
                }
            }
        }
    }
}
