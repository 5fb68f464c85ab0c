//! Minutes, hours and days in Unix milliseconds: how long they are, and when the one began that a moment is in.
//!
//! Days and hours are those of UTC, without leap seconds.

/// A minute, milliseconds.
pub const MINUTE_MS: i64 = 60_000;
/// An hour, milliseconds.
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
/// A day, milliseconds.
pub const DAY_MS: i64 = 24 * HOUR_MS;

/// When the period of this length began that contains this moment; the first one began with 1970.
pub fn begin_of(length_ms: i64, at: i64) -> i64 {
    at.div_euclid(length_ms) * length_ms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_begins_at_its_first_moment() {
        for (at, began) in [(0, 0), (DAY_MS - 1, 0), (DAY_MS, DAY_MS), (-1, -DAY_MS)] {
            assert_eq!(begin_of(DAY_MS, at), began, "{at}");
        }
    }
}
