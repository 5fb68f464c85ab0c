//! How long a message waits that has ended a session of its peer, alone, before it is tried alone again.
//!
//! Used by the queues of operators and accounts, and by connections to an HLR.

use std::time::Duration;

/// Longest pause of one that others tell apart from its peer.
pub const LONGEST: Duration = Duration::from_secs(30 * 60);
/// Longest pause while nothing tells it apart.
const LONGEST_UNTOLD: Duration = Duration::from_secs(60);
/// From here on the pause is the longest in any case.
const MANY: u32 = 12;

/// The pause after so many ends, of which the first one has this pause: three times as long each time.
pub fn pause(ends: u32, first: Duration, is_told_apart: bool) -> Duration {
    let longest = if is_told_apart {
        LONGEST
    } else {
        LONGEST_UNTOLD
    };
    let times = 3_u32.saturating_pow(ends.clamp(1, MANY) - 1);
    first.saturating_mul(times).min(longest.max(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let seconds = |ends, first, is_told_apart| {
            pause(ends, Duration::from_secs(first), is_told_apart).as_secs()
        };
        let told_apart = [0, 1, 2, 3, 4, 7, 99].map(|ends| seconds(ends, 5, true));
        assert_eq!(told_apart, [5, 5, 15, 45, 135, 1_800, 1_800]);
        let untold = [1, 3, 4, u32::MAX].map(|ends| seconds(ends, 5, false));
        assert_eq!(untold, [5, 45, 60, 60]);
        assert_eq!(seconds(9, 7_200, true), 7_200, "as configured");
    }
}
