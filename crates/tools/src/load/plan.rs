//! Which message is sent next, and when it should have been sent.
//!
//! Without a rate, as fast as the windows allow, and a message is intended for the moment it is
//! sent. With a rate the schedule is fixed in advance (message n at n / rate): when the SMSC is slow
//! the schedule does not wait for it, and latency is counted from the intended moment, so that a
//! stall counts for every message that it delayed (no coordinated omission). Messages to be sent
//! again go first. Times are microseconds since the start of the run.

use std::collections::VecDeque;
use std::time::Duration;

/// How long after its end a schedule may still send what was due before it: the last wake-up comes a
/// little late, a slow SMSC is not waited for.
const GRACE_US: u64 = 50_000;

/// A message on its way to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingSubmission {
    /// Number of the message within the run.
    pub index: u64,
    /// When it should have been sent.
    pub intended_us: u64,
    /// Whether an earlier connection broke before its answer.
    pub again: bool,
}

/// The schedule of a run.
#[derive(Debug)]
pub struct LoadPlan {
    rate: Option<f64>,
    count: u64,
    until_us: u64,
    next: u64,
    again: VecDeque<PendingSubmission>,
    stopped: bool,
}

// === impl LoadPlan ===

impl LoadPlan {
    /// Ends after `count` messages or `duration`, whichever comes first.
    pub fn new(rate: Option<f64>, count: Option<u64>, duration: Option<Duration>) -> Self {
        let until_us = duration.map_or(u64::MAX, |duration| duration.as_micros() as u64);
        Self {
            rate,
            count: count.unwrap_or(u64::MAX),
            until_us,
            next: 0,
            again: VecDeque::new(),
            stopped: false,
        }
    }

    /// The next message that is due.
    pub fn take(&mut self, now_us: u64) -> Option<PendingSubmission> {
        if let Some(again) = self.again.pop_front() {
            return Some(again);
        }
        if self.is_over(now_us) {
            return None;
        }
        let intended_us = match self.rate {
            None => now_us,
            Some(rate) => due_at_us(self.next, rate),
        };
        if intended_us > now_us || intended_us >= self.until_us {
            return None;
        }
        self.next += 1;
        Some(PendingSubmission {
            index: self.next - 1,
            intended_us,
            again: false,
        })
    }

    /// How many messages are due and not sent; without a rate, no limit.
    pub fn due(&self, now_us: u64) -> u64 {
        let again = self.again.len() as u64;
        if self.is_over(now_us) {
            return again;
        }
        let scheduled = match self.rate {
            None => u64::MAX - again,
            Some(rate) => self.scheduled(now_us, rate).saturating_sub(self.next),
        };
        again + scheduled
    }

    /// Messages that the schedule had before its end and that were never sent.
    pub fn behind(&self) -> u64 {
        match self.rate {
            Some(rate) if !self.stopped && self.until_us < u64::MAX => {
                self.scheduled(self.until_us, rate) - self.next
            }
            _ => 0,
        }
    }

    /// Messages sent at least once.
    pub fn sent(&self) -> u64 {
        self.next
    }

    /// Whether nothing will be sent any more, except what has to be sent again.
    pub fn is_over(&self, now_us: u64) -> bool {
        self.stopped
            || self.next >= self.count
            || match self.rate {
                None => now_us >= self.until_us,
                Some(rate) => {
                    now_us >= self.until_us.saturating_add(GRACE_US)
                        || due_at_us(self.next, rate) >= self.until_us
                }
            }
    }

    /// Whether nothing at all is left to be sent.
    pub fn is_empty(&self, now_us: u64) -> bool {
        self.again.is_empty() && self.is_over(now_us)
    }

    /// Puts a message whose connection broke at the head of the queue.
    pub fn send_again(&mut self, submission: PendingSubmission) {
        self.again.push_back(PendingSubmission {
            again: true,
            ..submission
        });
    }

    /// Ends the schedule now.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Drops messages to be sent again; returns how many.
    pub fn abandon(&mut self) -> u64 {
        self.again.drain(..).count() as u64
    }

    fn scheduled(&self, now_us: u64, rate: f64) -> u64 {
        // Message n is due at n / rate rounded up, so the count is exact at every microsecond.
        let now_us = now_us.min(self.until_us.saturating_sub(1));
        let count = (now_us as f64 * rate / 1e6).floor() as u64 + 1;
        count.min(self.count).max(self.next)
    }
}

/// Among how many of `binds` the messages that are due are shared: a write should carry several.
pub fn sharers(due: u64, binds: usize) -> u64 {
    const WORTH_A_WRITE: u64 = 16;
    due.div_ceil(WORTH_A_WRITE).clamp(1, binds.max(1) as u64)
}

/// When message `index` is due.
pub fn due_at_us(index: u64, rate: f64) -> u64 {
    (index as f64 * 1e6 / rate).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(plan: &mut LoadPlan, now_us: u64) -> Vec<u64> {
        std::iter::from_fn(|| plan.take(now_us))
            .map(|submission| submission.intended_us)
            .collect()
    }

    #[test]
    fn a_rate_is_a_schedule_that_waits_for_nobody() {
        let mut plan = LoadPlan::new(Some(1000.0), None, Some(Duration::from_secs(1)));
        assert_eq!(taken(&mut plan, 0), [0]);
        assert_eq!(taken(&mut plan, 999), [0u64; 0]);
        assert_eq!(plan.due(3000), 3);
        assert_eq!(
            taken(&mut plan, 3000),
            [1000, 2000, 3000],
            "late, and told so"
        );
        assert_eq!(taken(&mut plan, 999_999).len(), 996);
        assert_eq!((plan.sent(), plan.behind()), (1000, 0));
        assert!(plan.is_empty(1_000_000));
    }

    #[test]
    fn what_a_slow_receiver_left_unsent_is_counted() {
        let mut plan = LoadPlan::new(Some(100.0), None, Some(Duration::from_secs(2)));
        assert_eq!(taken(&mut plan, 500_000).len(), 51);
        assert!(plan.take(2_000_000 + GRACE_US).is_none());
        assert_eq!(plan.behind(), 149);
    }

    #[test]
    fn without_a_rate_a_message_is_intended_for_now() {
        let mut plan = LoadPlan::new(None, Some(3), None);
        assert_eq!(plan.take(7).map(|next| next.intended_us), Some(7));
        assert_eq!(taken(&mut plan, 9), [9, 9]);
        assert!(plan.is_over(9) && plan.behind() == 0);
    }

    #[test]
    fn what_is_sent_again_goes_first_and_keeps_its_moment() {
        let mut plan = LoadPlan::new(None, Some(2), None);
        let first = plan.take(5).unwrap();
        plan.send_again(first);
        assert!(!plan.is_empty(6));
        let again = plan.take(50).unwrap();
        assert_eq!((again.index, again.intended_us, again.again), (0, 5, true));
        assert_eq!(plan.take(51).map(|next| next.index), Some(1));
        assert!(plan.is_empty(52));
        plan.send_again(again);
        plan.stop();
        assert_eq!(plan.due(53), 1);
        assert_eq!(plan.abandon(), 1);
        assert!(plan.is_empty(53));
    }
}
