//! GCRA: a token bucket in one number.
//!
//! The generic cell rate algorithm (ITU-T I.371 annex A) keeps only the *theoretical arrival time*
//! of the next message; a batch is granted with one subtraction and one division. Used by Throttle
//! for accounts and operators; never grants more than `rate * t + burst` in any span `t`. [`GcraParameters`]
//! is the same for a limiter shared by nodes, where tokens are used later than they are granted.

use std::time::Duration;

/// Rates are clamped to what the arithmetic carries; configuration refuses rates ≤ 0 earlier.
const RATE_RANGE: (f64, f64) = (1e-6, 1e9);
const NANOS_PER_SECOND: f64 = 1e9;

/// One limiter: `rate` messages a second on average, `burst` at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gcra {
    /// Nanoseconds between two messages at the limit, rounded up: never faster than asked.
    interval: u64,
    /// Nanoseconds that the bucket holds: burst × interval.
    capacity: u64,
    /// When the bucket would be full again, in the caller's nanoseconds.
    full_at: u64,
}

/// What [`Gcra::take`] gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcraGrant {
    /// Messages that may go now.
    pub granted: u32,
    /// When the next one may go; zero when everything was granted.
    pub retry_in: Duration,
}

/// A shared GCRA's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GcraParameters {
    /// Microseconds between two tokens.
    pub interval_us: f64,
    /// Tokens at once.
    pub burst: u32,
    /// Tokens must be used within this time of the grant; none: whenever.
    pub slice: Option<Duration>,
}

/// How long strictly limited tokens live. Longer costs rate, shorter is too short for the way from
/// Redis to the socket.
const STRICT_SLICE: Duration = Duration::from_millis(40);
/// Clocks of nodes and of Redis run apart by less than this within a second.
const CLOCKS: Duration = Duration::from_millis(1);
/// Strict batches are a fiftieth of a second's tokens: what is granted at once is missing from the
/// rate that keeps coming.
const STRICT_BATCHES: u32 = 50;
/// Most tokens of an account that a node holds in reserve, and for how long they last at its rate.
const RESERVE: u32 = 100;
const RESERVE_SECONDS: f64 = 0.1;

// === impl GcraParameters ===

impl GcraParameters {
    /// A token bucket as it is: `rate` on average, `burst` at once.
    pub fn bucket(rate: f64, burst: u32) -> Self {
        Self {
            interval_us: interval_us(rate),
            burst: burst.max(1),
            slice: None,
        }
    }

    /// Never more than `rate` messages *sent* in any second, wherever it begins.
    ///
    /// A token granted at `t` is used in `[t, t + slice]`, so what is sent within one second was
    /// granted within `1 s + slice`. In a span that long a GCRA with interval `T` and burst `B`
    /// grants at most `(1 s + slice) / T + B`, rounded down. With whole tokens that is at most `R`
    /// (the rate, rounded down) when `T > (1 s + slice) / (R - B + 1)`. The price is about a
    /// twentieth of the rate.
    pub fn strict(rate: f64, burst: u32) -> Self {
        let whole = if rate < 1.0 { 1 } else { rate as u32 };
        let burst = (whole / STRICT_BATCHES).clamp(1, burst.max(1));
        let span = Duration::from_secs(1) + STRICT_SLICE + CLOCKS;
        let strict = span.as_micros() as f64 / f64::from(whole - burst + 1);
        Self {
            // A microsecond more: the bound is open.
            interval_us: (strict + 1.0).ceil().max(interval_us(rate)),
            burst,
            slice: Some(STRICT_SLICE),
        }
    }
}

fn interval_us(rate: f64) -> f64 {
    1e6 / rate.clamp(RATE_RANGE.0, RATE_RANGE.1)
}

/// How many tokens of an account to ask for when `wanted` are needed now: at least those, and a
/// tenth of a second's worth to spend without asking.
pub fn with_reserve(rate: f64, wanted: u32) -> u32 {
    let reserve = (rate * RESERVE_SECONDS) as u32;
    wanted.max(reserve.min(RESERVE))
}

// === impl Gcra ===

impl Gcra {
    /// A full bucket. A burst of 0 counts as 1: a limiter that never grants is a suspended queue,
    /// not a rate.
    pub fn new(rate_per_second: f64, burst: u32) -> Self {
        let rate = if rate_per_second.is_nan() {
            RATE_RANGE.0
        } else {
            rate_per_second.clamp(RATE_RANGE.0, RATE_RANGE.1)
        };
        let interval = (NANOS_PER_SECOND / rate).ceil() as u64;
        Self {
            interval,
            capacity: interval.saturating_mul(u64::from(burst.max(1))),
            full_at: 0,
        }
    }

    /// The pace of a shared limiter for one that is not.
    pub fn paced(pace: &GcraParameters) -> Self {
        let interval = (pace.interval_us * 1e3).ceil() as u64;
        Self {
            interval,
            capacity: interval.saturating_mul(u64::from(pace.burst)),
            full_at: 0,
        }
    }

    /// Empties the bucket; nothing comes into it before `wait` is over.
    pub fn empty(&mut self, now_ns: u64, wait: Duration) {
        let wait = wait.as_nanos() as u64;
        self.full_at = now_ns.saturating_add(self.capacity).saturating_add(wait);
    }

    /// Takes up to `wanted` tokens at `now_ns` (any monotonic nanoseconds, always the same clock).
    pub fn take(&mut self, now_ns: u64, wanted: u32) -> GcraGrant {
        self.take_at_least(now_ns, wanted, 0)
    }

    /// Takes up to `wanted` tokens, if fewer than `least` are of no use: a bucket with any token grants as many, and owes the
    /// rest.
    pub fn take_at_least(&mut self, now_ns: u64, wanted: u32, least: u32) -> GcraGrant {
        let full_at = self.full_at.max(now_ns);
        let room = self.capacity.saturating_sub(full_at - now_ns);
        let mut granted = u64::from(wanted).min(room / self.interval);
        if granted > 0 {
            granted = granted.max(u64::from(least));
        }
        self.full_at = full_at.saturating_add(granted * self.interval);
        let retry_in = if granted >= u64::from(wanted) {
            0
        } else {
            // Until the next token.
            let until = (self.full_at - now_ns).saturating_add(self.interval);
            until.saturating_sub(self.capacity)
        };
        GcraGrant {
            granted: granted as u32,
            retry_in: Duration::from_nanos(retry_in),
        }
    }

    /// Tokens that could be taken at `now_ns`.
    pub fn available(&self, now_ns: u64) -> u32 {
        let used = self.full_at.saturating_sub(now_ns);
        let room = self.capacity.saturating_sub(used) / self.interval;
        u32::try_from(room).unwrap_or(u32::MAX)
    }

    /// Puts back tokens that were taken and not used (the bind was lost before the write).
    pub fn give_back(&mut self, unused: u32) {
        let back = self.interval.saturating_mul(u64::from(unused));
        self.full_at = self.full_at.saturating_sub(back);
    }

    /// Takes the settings of another one; the share of the bucket that is used up stays used up.
    pub fn reconfigure(&mut self, now_ns: u64, like: Self) {
        let used = self.full_at.saturating_sub(now_ns) as f64 / self.capacity as f64;
        *self = like;
        self.full_at = now_ns.saturating_add((used * self.capacity as f64) as u64);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn refuses_exactly_what_exceeds_the_burst() {
        let mut limit = Gcra::new(100.0, 100);
        let taken = limit.take(SECOND, 110);
        assert_eq!(taken.granted, 100);
        assert_eq!(taken.retry_in, Duration::from_millis(10));
        assert_eq!(limit.available(SECOND), 0);
        assert_eq!(limit.take(2 * SECOND, 1_000).granted, 100);
    }

    #[test]
    fn one_by_one_is_the_same_as_at_once() {
        let mut limit = Gcra::new(100.0, 100);
        let granted: u32 = (0..110).map(|_| limit.take(7, 1).granted).sum();
        assert_eq!(granted, 100);
    }

    #[test]
    fn says_when_to_come_back() {
        let mut limit = Gcra::new(4.0, 1);
        assert_eq!(limit.take(0, 1).retry_in, Duration::ZERO);
        let refused = limit.take(SECOND / 10, 1);
        assert_eq!(refused.granted, 0);
        assert_eq!(refused.retry_in, Duration::from_millis(150));
        let later = SECOND / 10 + refused.retry_in.as_nanos() as u64;
        assert_eq!(limit.take(later, 1).granted, 1);
    }

    #[test]
    fn gives_back_and_reconfigures() {
        let mut limit = Gcra::new(10.0, 10);
        assert_eq!(limit.take(SECOND, 10).granted, 10);
        limit.give_back(4);
        assert_eq!(limit.available(SECOND), 4);
        limit.take(SECOND, 4);
        limit.reconfigure(SECOND, Gcra::new(1000.0, 1000));
        assert_eq!(limit.available(SECOND), 0);
        assert_eq!(limit.available(2 * SECOND), 1000);
    }

    #[test]
    fn what_is_worth_nothing_in_parts_is_granted_whole_and_owed() {
        let mut limit = Gcra::paced(&GcraParameters::strict(10.0, 10));
        let interval = Duration::from_nanos(limit.interval);
        let taken = limit.take_at_least(SECOND, 4, 3);
        assert_eq!(taken.granted, 3);
        assert_eq!(taken.retry_in, 3 * interval, "two are owed");
        let soon = SECOND + limit.interval * 2;
        assert_eq!(limit.take_at_least(soon, 4, 3).granted, 0);
        let then = SECOND + limit.interval * 3;
        assert_eq!(limit.take_at_least(then, 4, 0).granted, 1);
    }

    #[test]
    fn an_emptied_bucket_begins_anew_after_the_wait() {
        let mut limit = Gcra::new(100.0, 100);
        limit.empty(SECOND, Duration::from_millis(40));
        let taken = limit.take(SECOND, 10);
        assert_eq!(
            (taken.granted, taken.retry_in),
            (0, Duration::from_millis(50))
        );
        assert_eq!(limit.take(SECOND * 3 / 2, 100).granted, 46);
    }

    #[test]
    fn odd_settings_stay_finite() {
        for rate in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-300] {
            let mut limit = Gcra::new(rate, u32::MAX);
            assert!(limit.take(0, 1).granted <= 1);
            limit.take(u64::MAX, u32::MAX);
        }
    }

    #[test]
    fn an_account_asks_for_at_most_a_tenth_of_a_second_more() {
        assert_eq!(with_reserve(2.0, 1), 1);
        assert_eq!(with_reserve(200.0, 1), 20);
        assert_eq!(with_reserve(1e6, 1), 100);
        assert_eq!(with_reserve(100.0, 64), 64);
    }

    #[test]
    fn strictness_costs_little() {
        for rate in [1.0, 2.0, 10.0, 100.0, 1_000.0, 20_000.0] {
            let pace = GcraParameters::strict(rate, u32::MAX);
            let kept = 1e6 / pace.interval_us / rate;
            assert!((0.9..=1.0).contains(&kept), "{rate}: {kept}");
        }
        assert!((GcraParameters::strict(0.25, 1).interval_us - 4e6).abs() < 1e-3);
    }

    proptest! {
        /// Every second, counted from sends as late or early as they may be.
        #[test]
        fn strict_tokens_sent_whenever_they_may_be_keep_any_second(
            rate in 1f64..400.0,
            steps in proptest::collection::vec((0u64..60_000, 0u32..40, any::<bool>()), 50..400),
        ) {
            let pace = GcraParameters::strict(rate, u32::MAX);
            let slice = pace.slice.map_or(0, |slice| slice.as_micros() as u64);
            let (mut full, mut now) = (0f64, 0u64);
            let mut sent: Vec<u64> = Vec::new();
            for (wait, wanted, late) in steps {
                now += wait;
                full = full.max(now as f64);
                let room = pace.interval_us * f64::from(pace.burst) - (full - now as f64);
                let granted = f64::from(wanted).min((room / pace.interval_us + 1e-6).floor());
                full += granted * pace.interval_us;
                let at = if late { now + slice } else { now };
                sent.extend(std::iter::repeat_n(at, granted as usize));
            }
            sent.sort_unstable();
            let limit = rate as usize;
            for pair in sent.windows(limit + 1) {
                prop_assert!(pair[limit] - pair[0] >= 1_000_000, "{:?}", pair);
            }
        }

        #[test]
        fn never_more_than_rate_times_time_plus_burst(
            rate in 0.5f64..50_000.0,
            burst in 1u32..5_000,
            steps in proptest::collection::vec((0u64..200_000_000, 0u32..3_000), 1..200),
        ) {
            let mut limit = Gcra::new(rate, burst);
            let start = 12_345u64;
            let mut now = start;
            let mut total = 0u64;
            for (wait, wanted) in steps {
                now += wait;
                let taken = limit.take(now, wanted);
                prop_assert!(taken.granted <= wanted);
                prop_assert_eq!(taken.retry_in.is_zero(), taken.granted == wanted);
                total += u64::from(taken.granted);
                let allowed = rate * (now - start) as f64 / NANOS_PER_SECOND + f64::from(burst);
                prop_assert!(total as f64 <= allowed + 1e-6, "{} > {}", total, allowed);
            }
        }

        #[test]
        fn a_greedy_taker_gets_the_whole_rate(rate in 1f64..10_000.0, burst in 1u32..100) {
            let mut limit = Gcra::new(rate, burst);
            let mut total = 0u64;
            let mut now = 0u64;
            while now < 20 * SECOND {
                let taken = limit.take(now, 1_000_000);
                total += u64::from(taken.granted);
                now += taken.retry_in.as_nanos() as u64;
            }
            prop_assert!(total as f64 >= rate * 20.0 * 0.999, "{} of {}", total, rate * 20.0);
        }
    }
}
