//! The sending rate to an operator after throttling: additive increase, multiplicative decrease (AIMD), as
//! in congestion control.
//!
//! Used by the queue of an operator, one per node. A refusal halves the rate, beginning from the actual
//! rate of the last second, down to a floor. Then the effect is evaluated. If the rate was too high, half
//! of it brings fewer refusals. An operator that refuses the same share means something else, such as one
//! network behind it, and the other messages must not be slowed for that: its refusals do not count until
//! the limit is lifted, and that share is considered normal for ten minutes: only a significantly higher
//! share counts then. Refusals that go on far below the refused rate are evaluated again, and after two
//! minutes they only slow the rise, so that a conclusion drawn from bad luck does not last.
//!
//! While nothing is refused, the rate rises by a twentieth a second, and faster where it was never refused,
//! until it is the configured one, or twice the one that the limit began with: then the limit is lifted.
//! The caller passes the time. Nothing is counted per message while there is no limit.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Least rate, messages per second; a smaller configured one is the floor.
pub const FLOOR: f64 = 1.0;
/// The first rate that is halved is at least this: the first messages after a rest tell little.
const START: f64 = 10.0;
const SECOND: Duration = Duration::from_secs(1);
/// Answers to messages under way when the rate was halved come within this time and are ignored.
const SETTLES: Duration = Duration::from_millis(500);
/// Nothing is concluded from fewer messages.
const SAMPLE: f64 = 10.0;
/// Nor, if a share of refusals is expected, from fewer messages than would produce this many of
/// them.
const EXPECTED: f64 = 3.0;
/// Above this share of refusals, the rate is certainly too high.
const MOST: f64 = 0.5;
/// How long a share of refusals that half the rate did not change is considered normal for the
/// operator.
const KNOWN: Duration = Duration::from_secs(600);
/// Over these times refusals are counted.
const WINDOWS: [Duration; 2] = [SECOND, Duration::from_secs(10)];
/// So few are never many.
const FEW: u32 = 2;
/// Refusals are significant beyond this many standard deviations of the expected share.
const DEVIATIONS: f64 = 3.0;
/// Half the rate has not helped if this much of the share of refusals remains.
const STEADY: f64 = 0.5;
/// Refusals that go on below this part of the refused rate are evaluated again: they prevent its rise.
const NEAR: f64 = 0.9;
/// After a refusal the rate does not climb for this time.
const QUIET: Duration = Duration::from_secs(2);
/// This long after it was halved, a refusal only slows the rise: few refusals must not keep it low for
/// good.
const HELD: Duration = Duration::from_secs(120);
/// A climb that is slowed has this part of its speed.
const CREEP: f64 = 0.1;
/// Share of the refused rate that is added each second.
const CLIMB: f64 = 0.05;
/// Share of the rate that is added each second above the refused one.
const CLIMB_ABOVE: f64 = 0.1;
/// Least climb, messages per second each second.
const LEAST_CLIMB: f64 = 0.5;
/// The limit is lifted at this many times the rate that it began with.
const ENOUGH: f64 = 2.0;
/// Tokens are kept for this part of a second.
const KEPT: f64 = 0.25;
/// Refusals count if they are significantly more than this share of the sent messages, in a second or in
/// ten: a few are normal at full rate.
const MANY: f64 = 0.05;
/// The share for refusals that may be about single subscribers.
const MANY_DOUBTFUL: f64 = 0.1;

/// The pace towards one operator.
#[derive(Debug, Default)]
pub struct Backoff {
    limit: Option<ReducedRate>,
    /// What had been sent at which time, for the last second.
    samples: VecDeque<(Instant, u64)>,
    /// Refusals of the last second or so, and of the last ten.
    recent: [Option<RefusalWindow>; 2],
    /// Share of refusals that our rate does not change, and until when that is believed.
    own: Option<(f64, Instant)>,
}

/// Refusals since a moment, and what had been sent a second before it.
#[derive(Debug, Clone, Copy)]
struct RefusalWindow {
    since: Instant,
    sent: u64,
    refusals: u32,
}

#[derive(Debug)]
struct ReducedRate {
    /// Messages per second.
    rate: f64,
    /// The rate before it was halved for the first time.
    began: f64,
    /// The rate before it was halved last.
    refused: f64,
    /// When it was halved last.
    halved: Instant,
    stage: BackoffStage,
    /// Share of refusals before it was halved last, where that was measured and is small.
    share: Option<f64>,
    /// The rate does not climb before.
    quiet_until: Instant,
    climbed: Instant,
    tokens: f64,
    filled: Instant,
}

/// What is known since the rate was halved last.
#[derive(Debug)]
enum BackoffStage {
    /// Old answers still come.
    Settling,
    /// Refusals since then are counted.
    Judging { sent: u64, refusals: u32 },
    /// It has helped: refusals count again when they are many.
    Helped,
    /// It has not: this share of refusals is about something else. They are counted.
    Futile {
        share: f64,
        sent: u64,
        refusals: u32,
    },
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
    /// Called every 100 ms or so: records how much has been sent in all, and raises the rate. True
    /// when this has lifted the limit.
    pub fn tick(&mut self, now: Instant, sent_total: u64, configured: Option<f64>) -> bool {
        // The youngest sample that is a second old is the one to measure from.
        while self
            .samples
            .get(1)
            .is_some_and(|(at, _)| now.duration_since(*at) >= SECOND)
        {
            self.samples.pop_front();
        }
        self.samples.push_back((now, sent_total));
        let Some(limit) = &mut self.limit else {
            return false;
        };
        limit.fill(now);
        limit.look(now, sent_total);
        limit.climb(now);
        let enough = ENOUGH * limit.began;
        let ends = limit.rate >= configured.map_or(enough, |rate| rate.min(enough));
        if ends {
            self.own = limit
                .own_share(sent_total)
                .map(|share| (share, now + KNOWN))
                .or(self.own);
            self.limit = None;
        }
        ends
    }

    /// The operator has throttled a message. True when this has lowered the rate.
    ///
    /// `sent_total` as in [`Backoff::tick`]; `configured`: the operator's rate, if it has one.
    pub fn refused(
        &mut self,
        now: Instant,
        sent_total: u64,
        configured: Option<f64>,
        refusal: Refusal,
    ) -> bool {
        if let Some(limit) = &mut self.limit
            && matches!(limit.stage, BackoffStage::Settling)
        {
            limit.quiet_until = now + QUIET;
            return false;
        }
        let measured = self.measured(sent_total);
        let own = self.own.filter(|(_, until)| now < *until);
        let own = own.map_or(0.0, |(share, _)| share);
        let expected = match refusal {
            Refusal::Rate => MANY,
            Refusal::Doubtful => MANY_DOUBTFUL,
        };
        let are_many = self.are_many(now, sent_total, measured, expected.max(own));
        if !are_many && (self.limit.is_none() || refusal == Refusal::Doubtful) {
            return false;
        }
        let floor = configured.map_or(FLOOR, |rate| rate.min(FLOOR));
        let most = configured.unwrap_or(f64::INFINITY);
        let start = measured.max(START).min(most);
        let is_first = self.limit.is_none();
        let limit = self.limit.get_or_insert(ReducedRate {
            rate: start,
            began: start,
            refused: start,
            halved: now,
            stage: BackoffStage::Helped,
            share: None,
            quiet_until: now,
            climbed: now,
            tokens: 0.0,
            filled: now,
        });
        let counts = limit.counts(now, sent_total, are_many, own);
        if counts {
            // A limit may be far above what there is to send.
            let used = if is_first {
                limit.rate
            } else {
                limit.rate.min(measured.max(limit.rate / 2.0))
            };
            limit.refused = used.max(floor);
            limit.rate = (limit.refused / 2.0).max(floor);
            limit.halved = now;
            limit.stage = BackoffStage::Settling;
            limit.tokens = limit.tokens.min(0.0);
            self.recent = Default::default();
        }
        counts
    }

    /// Messages that may go now; `None` without a limit.
    pub fn allowance(&mut self, now: Instant) -> Option<u32> {
        let limit = self.limit.as_mut()?;
        limit.fill(now);
        Some(limit.tokens.max(0.0) as u32)
    }

    /// This many were sent. Sending above the limit is compensated before the next one.
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
        (self.limit, self.own) = (None, None);
    }

    /// What was sent within the last second, at least 1: something was refused.
    fn measured(&self, sent_total: u64) -> f64 {
        let before = self.samples.front().map_or(0, |(_, sent)| *sent);
        sent_total.saturating_sub(before).max(1) as f64
    }

    /// Counts a refusal; whether there are more, lately, than chance makes of an expected share.
    fn are_many(&mut self, now: Instant, sent_total: u64, measured: f64, expected: f64) -> bool {
        let fresh = RefusalWindow {
            since: now,
            sent: sent_total.saturating_sub(measured as u64),
            refusals: 0,
        };
        let mut are_many = false;
        for (window, length) in self.recent.iter_mut().zip(WINDOWS) {
            let window = window.get_or_insert(fresh);
            if now.duration_since(window.since) >= length {
                *window = fresh;
            }
            window.refusals += 1;
            let sent = sent_total.saturating_sub(window.sent) as f64;
            are_many |=
                window.refusals > FEW && exceeds(window.refusals, expected, sent.max(measured));
        }
        are_many
    }
}

/// Whether there are more refusals than chance makes of a share of so many messages.
fn exceeds(refusals: u32, share: f64, sent: f64) -> bool {
    let expected = share * sent;
    f64::from(refusals) > expected + DEVIATIONS * expected.sqrt()
}

// === impl ReducedRate ===

impl ReducedRate {
    fn fill(&mut self, now: Instant) {
        let seconds = now.duration_since(self.filled).as_secs_f64();
        self.filled = now;
        self.tokens = (self.tokens + seconds * self.rate).min((KEPT * self.rate).max(1.0));
    }

    /// Begins and ends the time in which it is judged whether the last halving has helped.
    fn look(&mut self, now: Instant, sent_total: u64) {
        match self.stage {
            BackoffStage::Settling if now.duration_since(self.halved) >= SETTLES => {
                self.stage = BackoffStage::Judging {
                    sent: sent_total,
                    refusals: 0,
                };
            }
            BackoffStage::Judging { sent, refusals } => {
                let sent = sent_total.saturating_sub(sent) as f64;
                if refusals == 0 && self.is_judged(now, refusals, sent) {
                    self.stage = BackoffStage::Helped;
                }
            }
            BackoffStage::Settling | BackoffStage::Helped | BackoffStage::Futile { .. } => {}
        }
    }

    /// The share of refusals since it is known that the rate does not change it.
    fn own_share(&self, sent_total: u64) -> Option<f64> {
        match self.stage {
            BackoffStage::Futile {
                share,
                sent,
                refusals,
            } => {
                let sent = sent_total.saturating_sub(sent).max(1);
                // More than that came of the climb.
                Some((f64::from(refusals) / sent as f64).min(2.0 * share))
            }
            _ => None,
        }
    }

    /// Whether this many messages are enough to judge a share of refusals.
    fn is_judged(&self, now: Instant, refusals: u32, sent: f64) -> bool {
        let is_enough = match self.share {
            Some(share) => sent >= EXPECTED / share,
            None => f64::from(refusals) >= EXPECTED || sent >= EXPECTED / MANY,
        };
        now.duration_since(self.halved) >= SETTLES + SECOND && sent >= SAMPLE && is_enough
    }

    /// Takes note of a refusal; whether the rate is to be halved for it.
    fn counts(&mut self, now: Instant, sent_total: u64, are_many: bool, own: f64) -> bool {
        if !matches!(self.stage, BackoffStage::Futile { .. }) && (own == 0.0 || are_many) {
            self.quiet_until = now + QUIET;
        }
        let (sent, refusals) = match &mut self.stage {
            // Seen to by the caller.
            BackoffStage::Settling => return false,
            BackoffStage::Futile { refusals, .. } => {
                *refusals += 1;
                return false;
            }
            BackoffStage::Helped => {
                self.share = None;
                if !are_many && self.rate < NEAR * self.refused {
                    self.stage = BackoffStage::Judging {
                        sent: sent_total,
                        refusals: 0,
                    };
                }
                return are_many;
            }
            BackoffStage::Judging { sent, refusals } => {
                *refusals += 1;
                (sent_total.saturating_sub(*sent) as f64, *refusals)
            }
        };
        let share = f64::from(refusals) / sent.max(1.0);
        if sent >= SAMPLE && share >= MOST {
            self.share = None;
            return true;
        }
        if !self.is_judged(now, refusals, sent) {
            return false;
        }
        let are_few = share < MANY || own > 0.0 && !exceeds(refusals, own, sent);
        if are_few {
            self.stage = BackoffStage::Helped;
            return false;
        }
        if self.share.is_some_and(|before| share >= STEADY * before) {
            self.stage = BackoffStage::Futile {
                share,
                sent: sent_total,
                refusals: 0,
            };
            self.quiet_until = now;
            return false;
        }
        self.share = Some(share);
        true
    }

    fn climb(&mut self, now: Instant) {
        let seconds = now.duration_since(self.climbed).as_secs_f64();
        self.climbed = now;
        let part = if now >= self.quiet_until {
            1.0
        } else if now.duration_since(self.halved) >= HELD {
            CREEP
        } else {
            return;
        };
        let step = match self.stage {
            BackoffStage::Futile { .. } => CLIMB_ABOVE * self.refused.max(self.rate),
            _ if self.rate < self.refused => CLIMB * self.refused,
            _ => CLIMB_ABOVE * self.rate,
        };
        self.rate += seconds * part * step.max(LEAST_CLIMB);
    }
}

#[cfg(test)]
mod tests;
