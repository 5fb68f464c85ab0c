//! What gateways say about destinations: which they cannot reach, which are congested, and where nobody
//! speaks SCCP (RFC 4666 §3.4).
//!
//! There is one table of states for each link, since another gateway may reach what this one cannot; it is
//! bounded by the number of point codes. Of the destinations that we write to, changes are told.

use std::time::{Duration, Instant};

use ahash::AHashMap;

use crate::point_code::PointCode;

/// How long a congestion lasts that is not said again, and a missing user part: gateways repeat the first
/// with the traffic, and say nothing when the second is back. T(stat.info) of Q.714 begins with 10 s.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Words of 64 bits for 14-bit point codes.
const WORDS: usize = (PointCode::MAX as usize + 1) / 64;
/// Most destinations whose changes are told.
const WRITTEN_MAX: usize = 1_024;

/// An affected point code: those that differ from it in the lowest `mask` bits at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AffectedPoints {
    mask: u8,
    point_code: PointCode,
}

/// All affected point codes of a message: one bit for each point code, however often they are named.
#[derive(Debug, Default)]
pub(crate) struct AffectedSet {
    words: Vec<u64>,
}

/// What one gateway says.
#[derive(Debug, Default)]
pub(crate) struct DestinationStates {
    /// A bit for each point code that it cannot reach; no words while there is none.
    unavailable: Vec<u64>,
    without_user: AHashMap<PointCode, Instant>,
}

/// The destinations that we write to.
#[derive(Debug, Default)]
pub(crate) struct WrittenDestinations {
    known: AHashMap<PointCode, WrittenDestination>,
}

#[derive(Debug, Clone, Copy)]
struct WrittenDestination {
    is_available: bool,
    congestion: u8,
    congested_until: Option<Instant>,
}

// === impl AffectedPoints ===

impl AffectedPoints {
    /// As a number of the parameter.
    pub(crate) fn of_number(number: u32) -> Self {
        let [mask, ..] = number.to_be_bytes();
        Self {
            mask,
            point_code: PointCode(number & 0x00FF_FFFF),
        }
    }

    fn bounds(self) -> (u32, u32) {
        // A mask of 24 bits and more means all.
        let wild = (1_u32 << self.mask.min(24)) - 1;
        (self.point_code.0 & !wild, self.point_code.0 | wild)
    }
}

// === impl AffectedSet ===

impl AffectedSet {
    /// Whether it has a point code.
    pub(crate) fn contains(&self, point_code: PointCode) -> bool {
        let word = self.words.get(point_code.0 as usize / 64);
        word.is_some_and(|word| word >> (point_code.0 % 64) & 1 == 1)
    }

    fn insert(&mut self, affected: AffectedPoints) {
        self.words.resize(WORDS, 0);
        let (first, last) = affected.bounds();
        // By whole words: a message may name all point codes many times.
        let words = (0_u32..).zip(&mut self.words);
        let count = (last / 64 - first / 64 + 1) as usize;
        for (number, word) in words.skip(first as usize / 64).take(count) {
            let (from, to) = (number * 64, number * 64 + 63);
            let above = u64::MAX << (first.max(from) - from);
            *word |= above & u64::MAX >> (to - last.min(to));
        }
    }
}

impl FromIterator<AffectedPoints> for AffectedSet {
    fn from_iter<I: IntoIterator<Item = AffectedPoints>>(all: I) -> Self {
        let mut set = Self::default();
        all.into_iter().for_each(|affected| set.insert(affected));
        set
    }
}

// === impl DestinationStates ===

impl DestinationStates {
    /// DUNA, or DAVA and DRST.
    pub(crate) fn set_available(&mut self, affected: &AffectedSet, is_available: bool) {
        if is_available {
            self.without_user
                .retain(|point, _| !affected.contains(*point));
        }
        if self.unavailable.is_empty() {
            if is_available {
                return;
            }
            self.unavailable = vec![0; WORDS];
        }
        for (word, bits) in self.unavailable.iter_mut().zip(&affected.words) {
            *word = if is_available {
                *word & !bits
            } else {
                *word | bits
            };
        }
    }

    /// DUPU of SCCP. The mask counts for nothing there (§3.4.5).
    pub(crate) fn set_without_user(&mut self, affected: AffectedPoints, now: Instant) {
        if affected.point_code.is_itu() {
            self.without_user
                .insert(affected.point_code, now + REMEMBERED);
        }
    }

    /// Whether it can be written to.
    pub(crate) fn is_available(&self, point_code: PointCode) -> bool {
        !self.is_unreachable(point_code) && !self.without_user.contains_key(&point_code)
    }

    /// Whether the gateway said that it cannot reach it.
    pub(crate) fn is_unreachable(&self, point_code: PointCode) -> bool {
        let word = self.unavailable.get(point_code.0 as usize / 64);
        word.is_some_and(|word| word >> (point_code.0 % 64) & 1 == 1)
    }

    /// Tries missing user parts again after a while.
    pub(crate) fn expire(&mut self, now: Instant) {
        self.without_user.retain(|_, until| *until > now);
    }
}

// === impl WrittenDestinations ===

impl WrittenDestinations {
    /// We write to this one. Of more than 1024, no changes are told.
    pub(crate) fn note(&mut self, point_code: PointCode) {
        if self.known.len() < WRITTEN_MAX || self.known.contains_key(&point_code) {
            self.known.entry(point_code).or_insert(WrittenDestination {
                is_available: true,
                congestion: 0,
                congested_until: None,
            });
        }
    }

    pub(crate) fn points(&self) -> impl Iterator<Item = PointCode> + '_ {
        self.known.keys().copied()
    }

    /// Asks of each whether it is available now; those that changed.
    pub(crate) fn update(
        &mut self,
        is_available: impl Fn(PointCode) -> bool,
    ) -> Vec<(PointCode, bool)> {
        let mut changed = Vec::new();
        for (point_code, known) in &mut self.known {
            let now = is_available(*point_code);
            if now != known.is_available {
                known.is_available = now;
                changed.push((*point_code, now));
            }
        }
        changed
    }

    /// SCON; those whose level changes. Level 0 ends a congestion.
    pub(crate) fn set_congested(
        &mut self,
        affected: &AffectedSet,
        level: u8,
        now: Instant,
    ) -> Vec<PointCode> {
        let mut told = Vec::new();
        for (point_code, known) in &mut self.known {
            if !affected.contains(*point_code) {
                continue;
            }
            // Gateways repeat it with the traffic.
            if known.congestion != level {
                told.push(*point_code);
            }
            known.congestion = level;
            known.congested_until = (level > 0).then_some(now + REMEMBERED);
        }
        told
    }

    /// How congested it is, 0 to 3.
    pub(crate) fn congestion(&self, point_code: PointCode) -> u8 {
        self.known
            .get(&point_code)
            .map_or(0, |known| known.congestion)
    }

    /// Those whose congestion was not said again.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<PointCode> {
        let mut ended = Vec::new();
        for (point_code, known) in &mut self.known {
            if known.congested_until.is_some_and(|until| until <= now) {
                known.congestion = 0;
                known.congested_until = None;
                ended.push(*point_code);
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests;
