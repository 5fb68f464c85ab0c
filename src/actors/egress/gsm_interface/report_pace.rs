//! How often status reports of other service centres go to handsets.
//!
//! Held by the interface. They are in no queue, whose rate they would have. Invariant: they have a part of the rate of their
//! network, besides that of messages.

use tokio::time::Instant;

use crate::domain::limit::Gcra;

/// This part of the window is for them, and one place at least. They have as large a part of the rate, besides that of messages.
pub(super) const SHARE: u32 = 4;

/// How often they go to handsets.
#[derive(Default)]
pub(super) struct ReportPace {
    /// The rate of the network, and their part of it.
    part: Option<(f64, Gcra)>,
    /// What the part counts its time from.
    since: Option<Instant>,
}

// === impl ReportPace ===

impl ReportPace {
    /// Whether another one may go, where the network has this rate per second.
    pub(super) fn take(&mut self, rate: Option<f64>, now: Instant) -> bool {
        let Some(rate) = rate else {
            return true;
        };
        let since = *self.since.get_or_insert(now);
        let at = now.saturating_duration_since(since).as_nanos() as u64;
        if self.part.as_ref().is_none_or(|(of, _)| *of != rate) {
            let part = rate / f64::from(SHARE);
            self.part = Some((rate, Gcra::new(part, part as u32)));
        }
        let part = self.part.as_mut();
        part.is_none_or(|(_, part)| part.take(at, 1).granted > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn reports_have_a_part_of_the_rate_as_it_is_now() {
        let (mut pace, now) = (ReportPace::default(), Instant::now());
        let mut taken = |rate, now| (0..1_000).filter(|_| pace.take(rate, now)).count();
        assert_eq!(taken(Some(40.0), now), 10);
        assert_eq!(taken(Some(40.0), now), 0);
        assert_eq!(taken(Some(40.0), now + Duration::from_millis(500)), 5);
        assert_eq!(taken(Some(400.0), now + Duration::from_millis(500)), 100);
        // One at least.
        assert_eq!(taken(Some(0.5), now + Duration::from_millis(500)), 1);
        assert_eq!(taken(None, now), 1_000);
    }
}
