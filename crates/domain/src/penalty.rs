//! How long the refusal of a bind is delayed against password guessing: pure, by the caller's
//! clock.
//!
//! Refusals are counted by origin, and by account and origin. Guarantees that memory is bounded:
//! two generations of entries, of which the older is dropped as a whole when the younger is full.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// Refusals of an origin without a delay: many users may share one address.
pub const FREE_BY_ORIGIN: u32 = 10;
/// Refusals of an account from an origin without a delay.
pub const FREE_BY_ACCOUNT: u32 = 1;
/// The first delay; each further one is twice as long.
const FIRST: Duration = Duration::from_millis(100);
/// Refusals are forgotten after this time without a new one.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// Entries of a generation.
const GENERATION: usize = 16_384;

/// In place of an account: checks of this origin found no room. Accounts have odd numbers.
const BUSY: u64 = 2;

/// Where a connection comes from: an IPv4 address, or the /64 that an IPv6 site is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin(u128);

/// What refusals are counted by: an origin, and an account (0 for all of them).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PenaltyKey(Origin, u64);

/// Refusals, and when the last one was, by a clock that only goes forward.
#[derive(Debug, Clone, Copy)]
struct PenaltyEntry {
    refusals: u32,
    at: Duration,
}

/// The refusals that are remembered.
#[derive(Debug, Default)]
pub struct Penalties {
    young: HashMap<PenaltyKey, PenaltyEntry>,
    old: HashMap<PenaltyKey, PenaltyEntry>,
}

// === impl Origin ===

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => v6.to_bits() >> 64 << 64,
        })
    }
}

// === impl Penalties ===

impl Penalties {
    /// Counts one refusal; returns how long to delay it, at most `longest`. `account` is any number
    /// that stands for the name of the account, known or not.
    pub fn refuse(
        &mut self,
        origin: Origin,
        account: u64,
        now: Duration,
        longest: Duration,
    ) -> Duration {
        let by_origin = self.count(PenaltyKey(origin, 0), now);
        let by_account = self.count(PenaltyKey(origin, account | 1), now);
        let delay = delay(by_origin, FREE_BY_ORIGIN).max(delay(by_account, FREE_BY_ACCOUNT));
        delay.min(longest)
    }

    /// Whether an origin was refused lately.
    pub fn has_failed(&self, origin: Origin, now: Duration) -> bool {
        let key = PenaltyKey(origin, 0);
        let known = self.young.get(&key).or_else(|| self.old.get(&key));
        known.is_some_and(|entry| now.saturating_sub(entry.at) < FORGOTTEN)
    }

    /// There was no room to check what an origin has shown. Returns how long to delay that answer, at most `longest`: an
    /// origin that goes on asking waits longer and longer.
    pub fn no_room(&mut self, origin: Origin, now: Duration, longest: Duration) -> Duration {
        delay(self.count(PenaltyKey(origin, BUSY), now), 0).min(longest)
    }

    /// The account has bound from there: earlier failures were errors. The origin keeps its own count,
    /// otherwise one known account would allow guessing for all others.
    pub fn forgive(&mut self, origin: Origin, account: u64) {
        for key in [PenaltyKey(origin, account | 1), PenaltyKey(origin, BUSY)] {
            self.young.remove(&key);
            self.old.remove(&key);
        }
    }

    /// Refusals under a key, this one included.
    fn count(&mut self, key: PenaltyKey, now: Duration) -> u32 {
        let known = self.young.get(&key).or_else(|| self.old.get(&key));
        let before = match known {
            Some(entry) if now.saturating_sub(entry.at) < FORGOTTEN => entry.refusals,
            _ => 0,
        };
        let refusals = before.saturating_add(1);
        if self.young.len() >= GENERATION && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, PenaltyEntry { refusals, at: now });
        refusals
    }
}

/// The delay of the refusal with this number, of which the first `free` have none.
fn delay(refusals: u32, free: u32) -> Duration {
    match refusals.checked_sub(free + 1) {
        None => Duration::ZERO,
        Some(doublings) => FIRST.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(5);
    const NOW: Duration = Duration::from_secs(1_000);

    fn origin(address: &str) -> Origin {
        Origin::from(address.parse::<IpAddr>().unwrap())
    }

    #[test]
    fn an_account_is_delayed_from_the_second_refusal_and_an_origin_from_the_eleventh() {
        let mut penalties = Penalties::default();
        let here = origin("192.0.2.1");
        let millis = |penalties: &mut Penalties, account| {
            penalties.refuse(here, account, NOW, LONGEST).as_millis()
        };
        let of_one: Vec<u128> = (0..9).map(|_| millis(&mut penalties, 8)).collect();
        assert_eq!(of_one, [0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        // Other accounts of that address are delayed only for their own failures, up to ten in all.
        assert_eq!(millis(&mut penalties, 20), 0);
        let of_many: Vec<u128> = (0..8)
            .map(|at| millis(&mut penalties, 30 + at * 2))
            .collect();
        assert_eq!(of_many, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        // Elsewhere nothing is known.
        let elsewhere = origin("192.0.2.2");
        let delay = penalties.refuse(elsewhere, 8, NOW, LONGEST);
        assert_eq!(delay, Duration::ZERO);
    }

    #[test]
    fn a_bind_forgives_the_account_and_time_forgives_all() {
        let mut penalties = Penalties::default();
        let here = origin("192.0.2.1");
        for _ in 0..5 {
            penalties.refuse(here, 8, NOW, LONGEST);
        }
        penalties.forgive(here, 8);
        assert_eq!(penalties.refuse(here, 8, NOW, LONGEST), Duration::ZERO);
        for _ in 0..20 {
            penalties.refuse(here, 8, NOW, LONGEST);
        }
        penalties.forgive(here, 8);
        assert_eq!(penalties.refuse(here, 8, NOW, LONGEST), LONGEST);
        let later = NOW + FORGOTTEN;
        assert_eq!(penalties.refuse(here, 8, later, LONGEST), Duration::ZERO);
    }

    #[test]
    fn who_finds_no_room_waits_longer_each_time_and_has_not_failed() {
        let mut penalties = Penalties::default();
        let here = origin("192.0.2.1");
        let mut millis = || penalties.no_room(here, NOW, LONGEST).as_millis();
        let waits: Vec<u128> = (0..8).map(|_| millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        assert!(!penalties.has_failed(here, NOW));
        assert_eq!(penalties.refuse(here, 8, NOW, LONGEST), Duration::ZERO);
        assert!(penalties.has_failed(here, NOW) && !penalties.has_failed(here, NOW + FORGOTTEN));
        penalties.forgive(here, 8);
        assert_eq!(penalties.no_room(here, NOW, LONGEST), FIRST);
    }

    #[test]
    fn never_longer_than_configured_and_never_too_far() {
        let mut penalties = Penalties::default();
        let here = origin("192.0.2.1");
        for _ in 0..200 {
            assert!(penalties.refuse(here, 8, NOW, LONGEST) <= LONGEST);
        }
        let none = penalties.refuse(here, 8, NOW, Duration::ZERO);
        assert_eq!(none, Duration::ZERO);
        assert_eq!(delay(u32::MAX, 0), FIRST.saturating_mul(u32::MAX));
    }

    #[test]
    fn memory_is_bounded_and_who_goes_on_is_not_forgotten() {
        let mut penalties = Penalties::default();
        let guesser = origin("198.51.100.1");
        let mut last = Duration::ZERO;
        for number in 0..100_000_u32 {
            let stranger = Origin::from(IpAddr::from(number.to_be_bytes()));
            penalties.refuse(stranger, 8, NOW, LONGEST);
            if number % 1_000 == 0 {
                last = penalties.refuse(guesser, 8, NOW, LONGEST);
            }
            let kept = penalties.young.len() + penalties.old.len();
            assert!(kept <= 2 * GENERATION + 2, "{kept}");
        }
        assert_eq!(last, LONGEST);
    }

    #[test]
    fn origins() {
        assert_eq!(origin("192.0.2.1"), origin("::ffff:192.0.2.1"));
        assert_ne!(origin("192.0.2.1"), origin("192.0.2.2"));
        assert_eq!(origin("2001:db8::1"), origin("2001:db8::2:1"));
        assert_ne!(origin("2001:db8::1"), origin("2001:db8:0:1::1"));
    }
}
