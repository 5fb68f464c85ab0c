//! Decrease, increase, and simulations of a sender with operators of all kinds.

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
    assert!(
        !backoff.refused(start, 20, None, Refusal::Rate),
        "one alone"
    );
    assert_eq!(backoff.allowance(start), None);
    for _ in 0..18 {
        assert!(
            !backoff.refused(start + TICK, 200, None, Refusal::Rate),
            "few"
        );
    }
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
        (1, Some(100.0), 5.0),
        (1, None, 5.0),
        (1, Some(4.0), 2.0),
        (1, Some(0.5), 0.5),
    ] {
        let mut backoff = Backoff::default();
        backoff.tick(start, 0, configured);
        (0..sent.max(3)).for_each(|_| {
            backoff.refused(start, sent, configured, Refusal::Rate);
        });
        assert_eq!(backoff.rate(), Some(wanted), "{sent} of {configured:?}");
    }
}

#[test]
fn it_climbs_back_and_goes() {
    let start = Instant::now();
    let after = |configured: Option<f64>, seconds: u64| {
        let mut backoff = Backoff::default();
        backoff.tick(start, 0, configured);
        (0..12).for_each(|_| {
            backoff.refused(start, 100, configured, Refusal::Rate);
        });
        for at in 1..=seconds {
            backoff.tick(start + Duration::from_secs(at), 100, configured);
        }
        backoff.rate().map(|rate| rate.round() as u32)
    };
    assert_eq!(after(Some(100.0), 1), Some(50), "quiet at first");
    assert_eq!(after(Some(100.0), 6), Some(75));
    assert_eq!(after(Some(100.0), 10), Some(95));
    assert_eq!(after(Some(100.0), 12), None, "the configured rate");
    assert!(after(None, 15) > Some(120));
    assert_eq!(after(None, 25), None, "twice what it began with");
}

#[test]
fn full_queues_of_single_subscribers_slow_nobody_down() {
    let start = Instant::now();
    let mut backoff = Backoff::default();
    backoff.tick(start, 0, None);
    for _ in 0..19 {
        assert!(!backoff.refused(start, 100, None, Refusal::Doubtful));
    }
    assert!(
        backoff.refused(start, 100, None, Refusal::Doubtful),
        "more than chance makes of 1 in 10"
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
    (0..5).for_each(|_| {
        backoff.refused(start, 20, None, Refusal::Rate);
    });
    let mut now = start + TICK;
    assert_eq!(backoff.allowance(now), Some(1));
    backoff.spend(4);
    now += 3 * TICK;
    assert_eq!(backoff.allowance(now), Some(0));
    now += 2 * TICK;
    assert_eq!(backoff.allowance(now), Some(2));
}

#[test]
fn one_that_refuses_everything_is_soon_hardly_tried() {
    let mut race = Race::new(0, None);
    race.run(10, 100);
    let before = race.sent;
    race.run(60, 100);
    assert!(race.sent - before <= 240, "{}", race.sent - before);
}

#[test]
fn one_that_refuses_a_part_whatever_the_rate_is_not_starved() {
    for part in [3, 10, 50] {
        let start = Instant::now();
        let mut backoff = Backoff::default();
        let (mut sent, mut now) = (0, start);
        for _ in 0..1200 {
            now += TICK;
            backoff.tick(now, sent, None);
            let some = backoff.allowance(now).unwrap_or(u32::MAX).min(20);
            backoff.spend(some);
            for _ in 0..some {
                sent += 1;
                if sent.is_multiple_of(part) {
                    backoff.refused(now, sent, None, Refusal::Rate);
                }
            }
        }
        // 200 a second were wanted.
        let rate = sent as f64 / 120.0;
        assert!(rate > 40.0, "1 of {part} refused: {rate} a second");
    }
}

/// How many seconds a sender is behind after an hour when so many come a second and an operator refuses
/// those that it is asked about, whatever their rate.
fn behind(offered: f64, mut refuses: impl FnMut(u64) -> bool) -> f64 {
    let mut now = Instant::now();
    let mut backoff = Backoff::default();
    let (mut sent, mut waiting) = (0, 0.0);
    for _ in 0..36_000 {
        now += TICK;
        backoff.tick(now, sent, None);
        waiting += offered / 10.0;
        let allowed = backoff.allowance(now).unwrap_or(u32::MAX);
        let some = allowed.min(waiting as u32);
        backoff.spend(some);
        for _ in 0..some {
            sent += 1;
            if refuses(sent) {
                let _ = backoff.refused(now, sent, None, Refusal::Rate);
            } else {
                waiting -= 1.0;
            }
        }
    }
    waiting / offered
}

#[test]
fn one_that_refuses_some_by_chance_gets_all_that_there_is_to_send() {
    for offered in [3.0, 10.0, 25.0, 300.0] {
        for percent in [3, 10, 30] {
            for seed in 1..20 {
                let mut draw = draws(seed);
                let late = behind(offered, |_| draw() < percent);
                assert!(late < 120.0, "{percent} % of {offered} a second: {late} s");
            }
            // Or evenly, by one bind or by two that count alike.
            for clump in [1, 2] {
                let period = 100 * clump / percent;
                let late = behind(offered, |number| number % period < clump);
                assert!(
                    late < 120.0,
                    "{clump} of {period} at {offered} a second: {late} s"
                );
            }
        }
    }
}

/// Draws of a hundred, the same for the same seed.
fn draws(seed: u64) -> impl FnMut() -> u64 {
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    move || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % 100
    }
}

/// A limit that bad luck has brought must not stay because a few go on to be refused.
#[test]
fn one_that_began_badly_gets_all_that_there_is_to_send() {
    for offered in [10.0, 25.0, 100.0] {
        for percent in [2, 4, 7, 10, 20] {
            for seed in 1..60 {
                let mut draw = draws(seed);
                let bad_start = (10.0 * offered) as u64;
                let late = behind(offered, |number| {
                    let share = if number < bad_start { 40 } else { percent };
                    draw() < share
                });
                assert!(
                    late < 120.0,
                    "seed {seed}, {percent} % of {offered} a second: {late} s"
                );
            }
        }
    }
}

/// Refusals that come so evenly that they are never many put a climb off; they do not stop it.
#[test]
fn few_refusals_do_not_hold_it_for_good() {
    for seed in 1..200 {
        let mut draw = draws(seed);
        let late = behind(10.0, |number| {
            if number < 100 {
                draw() < 40
            } else {
                number % 14 == 0
            }
        });
        assert!(late < 120.0, "seed {seed}: {late} s");
    }
}

proptest! {
    /// However fast it began, an operator is refused little in the long run and used well.
    #[test]
    fn it_finds_what_an_operator_takes(capacity in 10u64..500, more in 2u64..40) {
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
