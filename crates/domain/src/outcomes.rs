//! What became of messages lately, counted by operator and account in buckets of time: what incidents are found in, and what the
//! history of messages is made of.
//!
//! Filled by queues (refusals), Correlation (answers) and Receipts (ends), a batch at a time; read by the task that looks
//! for incidents, and by the one that keeps the history. Bounded: at most [`KEPT`] buckets of each of [`MOST_PAIRS`] pairs.
//! Where there are more, idle ones go, and further accounts of an operator are counted as one that is not known: what
//! operators do is counted in full, and for the history what accounts do as well. What was counted since it was last read is
//! apart from the buckets ([`PairLog`]), so that nothing is counted twice for both readers. All of them share one lock: what
//! the history is given is numbers ([`UntoldMessages`]), and whoever asked makes a block of them, after the lock.

use std::collections::{HashMap, VecDeque};
use std::mem;

use crate::command_status;
use crate::traffic::{MOST_SERIES, OTHER_ERRORS, TrafficBlock, TrafficCounts, failed, shortened};

/// Buckets of a pair: those of the incident, and the hour before it while a bucket has a minute.
pub const KEPT: i64 = 70;
/// Buckets whose counts are taken for those of now: the current one and the last one.
pub const NOW: i64 = 2;
/// Receipts are looked for in so many buckets, for messages of the older half of them: a receipt takes its time.
const LATELY: i64 = 10;
const OLDER_HALF: i64 = 5;
/// Most pairs of an operator and a known account.
const MOST_PAIRS: usize = 4_096;
/// Idle pairs that go at once, so that usual counts are not all lost for a crowd of new pairs.
const IDLE_AT_ONCE: usize = MOST_PAIRS / 8;
/// Most pairs that went before the history was told of them; further ones count for their operator and no account.
const MOST_GONE: usize = 4 * MOST_PAIRS;
/// The account of what is of none that is known.
const NO_ACCOUNT: u32 = 0;
/// Most different causes of a bucket.
const MOST_CAUSES: usize = 8;
/// Most different errors with which messages of a pair have ended since they were last read; others are counted together.
const MOST_END_ERRORS: usize = 16;

/// Whether an attempt counts among those that are taken or refused: the first one, and the second one, which may be the first
/// to another operator. A message that is refused for now and tried again and again would count each time, and hide how others
/// do. The history has all attempts.
pub fn counts_for_shares(attempt: u32) -> bool {
    attempt <= 2
}

/// How often there was which cause: a command_status, or the state of a receipt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CauseCounts(Vec<(u32, u32)>);

/// Messages of a time by what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// Answered with ESME_ROK.
    pub taken: u32,
    /// Answered with ESME_ROK at an attempt that no share counts: see [`counts_for_shares`].
    pub taken_again: u32,
    /// Answered with an error that is not throttling, by its command_status.
    pub refused: u32,
    pub statuses: CauseCounts,
    /// Those of `taken` for which a receipt is to come.
    pub awaited: u32,
    /// Receipts that ended a message, not long after it was sent.
    pub receipts: u32,
    /// Those of them for messages that were counted in `awaited`: of other nodes they are not.
    pub own_receipts: u32,
    /// Those of `receipts` that report a failure, by their state.
    pub failed: u32,
    pub states: CauseCounts,
    /// Answers whose time is known, the sum of these times in milliseconds, and that of their squares.
    pub answers: u32,
    pub answer_ms: u64,
    pub answer_ms_squared: u64,
}

/// What is known of an operator, an account, or a pair of both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenOutcomes {
    /// The bucket that is being filled.
    pub current: OutcomeCounts,
    /// The bucket before it.
    pub last: OutcomeCounts,
    /// All buckets before these, without causes.
    pub before: OutcomeCounts,
    /// How many buckets ago the first of them was.
    pub known_for: i64,
    /// Messages of some buckets ago for which receipts should have come, and receipts for such since then.
    pub awaited_lately: u32,
    pub receipts_lately: u32,
    /// Messages and receipts of the buckets before those.
    pub awaited_before: u32,
    pub receipts_before: u32,
}

/// What is known of the messages of an account that an operator was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairOutcomes {
    /// Numbers of the operator's queue and of the account; 0 for an account that is not known.
    pub operator: u32,
    pub account: u32,
    pub seen: SeenOutcomes,
}

/// The counts of all pairs.
#[derive(Debug)]
pub struct OutcomeLog {
    bucket_ms: i64,
    pairs: HashMap<(u32, u32), PairLog, ahash::RandomState>,
    /// The bucket in which idle pairs were last looked for: once in each, because that reads all of them.
    swept: Option<i64>,
    /// What the history has not been told of pairs that went.
    gone: UntoldPairs,
    /// What accounts did that were counted as none, because there was no room for their pairs. For the history alone.
    apart: AccountsApart,
}

type UntoldPairs = HashMap<(u32, u32), UntoldTraffic, ahash::RandomState>;
type AccountsApart = HashMap<u32, TrafficCounts, ahash::RandomState>;

/// The counts of a pair.
#[derive(Debug, Default)]
struct PairLog {
    buckets: VecDeque<OutcomeBucket>,
    /// What is in neither the newest bucket, to which it belongs, nor in `untold`, where ends and later refusals are at once.
    fresh: OutcomeCounts,
    untold: UntoldTraffic,
}

/// What the history has not been told of a pair.
#[derive(Debug, Default, PartialEq, Eq)]
struct UntoldTraffic {
    counts: TrafficCounts,
    /// How many of the refused had which command_status; further ones than a few are left out.
    statuses: CauseCounts,
    /// How many of the failed ended with which error; further ones than a few are left out.
    errors: Vec<(String, u64)>,
}

/// A pair to which something is added.
#[derive(Debug)]
pub struct CountedPair<'l> {
    fresh: &'l mut OutcomeCounts,
    untold: &'l mut UntoldTraffic,
    /// The account, where the pair is that of its operator and no account.
    apart: Option<&'l mut TrafficCounts>,
}

/// What the history has not been told, of all pairs.
#[derive(Debug, Default)]
pub struct UntoldMessages {
    pairs: Vec<((u32, u32), UntoldTraffic)>,
    apart: AccountsApart,
}

#[derive(Debug)]
struct OutcomeBucket {
    /// Its time, in buckets since 1970.
    number: i64,
    counts: OutcomeCounts,
}

// === impl CauseCounts ===

impl CauseCounts {
    /// Counts `count` more of a cause; further causes than a few are left out.
    pub fn add(&mut self, cause: u32, count: u32) {
        if let Some((_, counted)) = self.0.iter_mut().find(|(known, _)| *known == cause) {
            *counted = counted.saturating_add(count);
        } else if self.0.len() < MOST_CAUSES {
            self.0.push((cause, count));
        }
    }

    /// The most frequent cause.
    pub fn most(&self) -> Option<u32> {
        let most = self.0.iter().max_by_key(|(_, count)| *count);
        most.map(|(cause, _)| *cause)
    }
}

// === impl OutcomeCounts ===

impl OutcomeCounts {
    fn note_accepted(&mut self, awaited: bool, after_ms: u32) {
        self.awaited = self.awaited.saturating_add(u32::from(awaited));
        self.note_answer(after_ms);
    }

    fn note_refused(&mut self, status: u32, after_ms: u32) {
        self.refused = self.refused.saturating_add(1);
        self.statuses.add(status, 1);
        self.note_answer(after_ms);
    }

    fn note_receipt(&mut self, failed: Option<u8>, own: bool) {
        self.receipts = self.receipts.saturating_add(1);
        self.own_receipts = self.own_receipts.saturating_add(u32::from(own));
        if let Some(state) = failed {
            self.failed = self.failed.saturating_add(1);
            self.states.add(u32::from(state), 1);
        }
    }

    fn note_answer(&mut self, after_ms: u32) {
        self.answers = self.answers.saturating_add(1);
        let after_ms = u64::from(after_ms);
        self.answer_ms = self.answer_ms.saturating_add(after_ms);
        self.answer_ms_squared = self.answer_ms_squared.saturating_add(after_ms * after_ms);
    }

    /// Adds those of another pair, or of another time.
    pub fn add(&mut self, other: &Self) {
        self.add_numbers(other);
        for (cause, count) in &other.statuses.0 {
            self.statuses.add(*cause, *count);
        }
        for (cause, count) in &other.states.0 {
            self.states.add(*cause, *count);
        }
    }

    /// Adds all but causes, of which only those of now are told: a look reads an hour while whoever counts waits.
    fn add_numbers(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.taken, other.taken),
            (&mut self.taken_again, other.taken_again),
            (&mut self.refused, other.refused),
            (&mut self.awaited, other.awaited),
            (&mut self.receipts, other.receipts),
            (&mut self.own_receipts, other.own_receipts),
            (&mut self.failed, other.failed),
            (&mut self.answers, other.answers),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.answer_ms = self.answer_ms.saturating_add(other.answer_ms);
        let squares = other.answer_ms_squared;
        self.answer_ms_squared = self.answer_ms_squared.saturating_add(squares);
    }
}

// === impl SeenOutcomes ===

impl SeenOutcomes {
    /// Adds what is known of another pair.
    pub fn add(&mut self, other: &Self) {
        self.current.add(&other.current);
        self.last.add(&other.last);
        self.before.add_numbers(&other.before);
        self.known_for = self.known_for.max(other.known_for);
        for (sum, more) in [
            (&mut self.awaited_lately, other.awaited_lately),
            (&mut self.receipts_lately, other.receipts_lately),
            (&mut self.awaited_before, other.awaited_before),
            (&mut self.receipts_before, other.receipts_before),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    /// What counts as now: the current bucket and the last one.
    pub fn now(&self) -> OutcomeCounts {
        let mut now = self.last.clone();
        now.add(&self.current);
        now
    }

    fn of(buckets: &VecDeque<OutcomeBucket>, current: i64) -> Self {
        let mut seen = Self::default();
        for OutcomeBucket { number, counts } in buckets {
            let ago = current - number;
            if !(0..KEPT).contains(&ago) {
                continue;
            }
            seen.known_for = seen.known_for.max(ago);
            match ago {
                0 => seen.current.add(counts),
                1 => seen.last.add(counts),
                _ => seen.before.add_numbers(counts),
            }
            if ago < LATELY {
                seen.receipts_lately = seen.receipts_lately.saturating_add(counts.own_receipts);
                if ago >= OLDER_HALF {
                    seen.awaited_lately = seen.awaited_lately.saturating_add(counts.awaited);
                }
            } else {
                seen.awaited_before = seen.awaited_before.saturating_add(counts.awaited);
                seen.receipts_before = seen.receipts_before.saturating_add(counts.own_receipts);
            }
        }
        seen
    }
}

// === impl OutcomeLog ===

impl OutcomeLog {
    /// Without counts; a bucket has so many milliseconds.
    pub fn new(bucket_ms: i64) -> Self {
        Self {
            bucket_ms: bucket_ms.max(1),
            pairs: HashMap::default(),
            swept: None,
            gone: HashMap::default(),
            apart: HashMap::default(),
        }
    }

    /// How long a bucket is, milliseconds.
    pub fn bucket_ms(&self) -> i64 {
        self.bucket_ms
    }

    /// Begins anew with buckets of so many milliseconds; what the history has not been told yet stays.
    pub fn restart(&mut self, bucket_ms: i64) {
        for (pair, mut log) in self.pairs.drain() {
            log.tell();
            put_away(&mut self.gone, pair, log.untold);
        }
        self.bucket_ms = bucket_ms.max(1);
    }

    /// Receipts for messages that were sent before this time (Unix milliseconds) are not counted. Most of those that take long
    /// report a failure: after a campaign, or at night, they would be many of the few. Nor can it be said soon that they are
    /// missing.
    pub fn prompt_since(&self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(OLDER_HALF * self.bucket_ms)
    }

    /// The pair, to which what happens now (Unix milliseconds) is added.
    pub fn at(&mut self, operator: u32, account: u32, now_ms: i64) -> CountedPair<'_> {
        let number = now_ms.div_euclid(self.bucket_ms);
        let place = self.place_of((operator, account), number);
        let apart = if place.1 == account {
            None
        } else {
            apart_of(&mut self.apart, account)
        };
        let log = self.pairs.entry(place).or_default();
        log.set_back(number);
        let newest = log.buckets.back().map(|bucket| bucket.number);
        if newest.is_none_or(|newest| newest < number) {
            log.tell();
            if log.buckets.len() as i64 >= KEPT {
                log.buckets.pop_front();
            }
            let counts = OutcomeCounts::default();
            log.buckets.push_back(OutcomeBucket { number, counts });
        }
        CountedPair {
            fresh: &mut log.fresh,
            untold: &mut log.untold,
            apart,
        }
    }

    /// Everything that was counted since the last call.
    pub fn take_traffic(&mut self) -> UntoldMessages {
        let mut pairs: Vec<_> = mem::take(&mut self.gone).into_iter().collect();
        for (pair, log) in &mut self.pairs {
            log.tell();
            let untold = mem::take(&mut log.untold);
            if untold != UntoldTraffic::default() {
                pairs.push((*pair, untold));
            }
        }
        UntoldMessages {
            pairs,
            apart: mem::take(&mut self.apart),
        }
    }

    /// What is known of each pair at this time (Unix milliseconds). Forgets those of which nothing is known any more.
    pub fn look(&mut self, now_ms: i64) -> Vec<PairOutcomes> {
        let current = now_ms.div_euclid(self.bucket_ms);
        let gone = &mut self.gone;
        self.pairs.retain(|pair, log| {
            log.tell();
            let newest = log.buckets.back().map(|bucket| bucket.number);
            let is_known = newest.is_some_and(|newest| newest > current - KEPT);
            if !is_known {
                put_away(gone, *pair, mem::take(&mut log.untold));
            }
            is_known
        });
        let pairs = self.pairs.iter();
        pairs
            .map(|((operator, account), log)| PairOutcomes {
                operator: *operator,
                account: *account,
                seen: SeenOutcomes::of(&log.buckets, current),
            })
            .collect()
    }

    /// Where a pair is counted in this bucket: where there is no room, with those of its operator and no account.
    fn place_of(&mut self, pair: (u32, u32), number: i64) -> (u32, u32) {
        if self.pairs.len() < MOST_PAIRS || self.pairs.contains_key(&pair) {
            return pair;
        }
        if self.swept != Some(number) {
            self.swept = Some(number);
            self.drop_idle(number);
        }
        if self.pairs.len() < MOST_PAIRS {
            pair
        } else {
            (pair.0, NO_ACCOUNT)
        }
    }

    /// Forgets the longest idle pairs, and those of a time at which the clock was wrong; none that counts as now.
    fn drop_idle(&mut self, number: i64) {
        let newest = |buckets: &VecDeque<OutcomeBucket>| buckets.back().map(|one| one.number);
        let in_use = number - NOW..=number + 1;
        let pairs = self.pairs.iter();
        let mut idle: Vec<(Option<i64>, (u32, u32))> = pairs
            .map(|(pair, log)| (newest(&log.buckets), *pair))
            .filter(|(newest, _)| newest.is_none_or(|newest| !in_use.contains(&newest)))
            .collect();
        idle.sort_unstable();
        for (_, pair) in idle.into_iter().take(IDLE_AT_ONCE) {
            if let Some(mut log) = self.pairs.remove(&pair) {
                log.tell();
                put_away(&mut self.gone, pair, log.untold);
            }
        }
    }
}

/// Keeps what the history has not been told of a pair that goes.
fn put_away(gone: &mut UntoldPairs, pair: (u32, u32), untold: UntoldTraffic) {
    if untold == UntoldTraffic::default() {
        return;
    }
    let is_full = gone.len() >= MOST_GONE && !gone.contains_key(&pair);
    let place = if is_full { (pair.0, NO_ACCOUNT) } else { pair };
    gone.entry(place).or_default().add(untold);
}

/// A refusal whose answer came after so many milliseconds.
fn refused_once(after_ms: u32) -> TrafficCounts {
    TrafficCounts {
        refused: 1,
        answer_ms: u64::from(after_ms),
        ..TrafficCounts::default()
    }
}

/// The counts of an account that is counted apart, while there is room.
fn apart_of(apart: &mut AccountsApart, account: u32) -> Option<&mut TrafficCounts> {
    if apart.len() >= MOST_SERIES && !apart.contains_key(&account) {
        return None;
    }
    Some(apart.entry(account).or_default())
}

// === impl PairLog ===

impl PairLog {
    /// This is the current bucket, though the newest may be later: the clock was set back. What was counted until then is before
    /// now, and still says what is usual.
    fn set_back(&mut self, current: i64) {
        let newest = self.buckets.back().map_or(current, |newest| newest.number);
        if newest <= current + 1 {
            return;
        }
        self.tell();
        let ahead = newest - (current - NOW);
        for bucket in &mut self.buckets {
            bucket.number -= ahead;
        }
    }

    /// Adds what is fresh to the newest bucket, and to what the history is told.
    fn tell(&mut self) {
        if self.fresh == OutcomeCounts::default() {
            return;
        }
        let fresh = mem::take(&mut self.fresh);
        self.untold.note(&fresh);
        if let Some(newest) = self.buckets.back_mut() {
            newest.counts.add(&fresh);
        }
    }
}

// === impl CountedPair ===

impl CountedPair<'_> {
    /// An answer with ESME_ROK came after so many milliseconds; `awaited`: whether a receipt is to come.
    pub fn note_taken(&mut self, awaited: bool, after_ms: u32) {
        self.fresh.taken = self.fresh.taken.saturating_add(1);
        self.note_accepted(awaited, after_ms);
    }

    /// An answer with ESME_ROK to a message that was tried so often that it is not counted again.
    pub fn note_taken_again(&mut self, awaited: bool, after_ms: u32) {
        self.fresh.taken_again = self.fresh.taken_again.saturating_add(1);
        self.note_accepted(awaited, after_ms);
    }

    /// An answer with an error that is not throttling came.
    pub fn note_refused(&mut self, status: u32, after_ms: u32) {
        self.fresh.note_refused(status, after_ms);
        self.note_apart(refused_once(after_ms));
    }

    /// An answer with an error that is not throttling, to a message that was tried so often that it is not counted again: for the
    /// history alone.
    pub fn note_refused_again(&mut self, status: u32, after_ms: u32) {
        let refused = refused_once(after_ms);
        self.untold.counts.add(&refused);
        self.untold.statuses.add(status, 1);
        self.note_apart(refused);
    }

    /// A receipt ended a message; `failed`: the number of its state, if that is a failure; `own`: whether its message was
    /// counted as one that awaits it. See [`OutcomeLog::prompt_since`].
    pub fn note_receipt(&mut self, failed: Option<u8>, own: bool) {
        self.fresh.note_receipt(failed, own);
    }

    /// A message has ended, for the history; `error`: of one that failed, by which name it is counted.
    pub fn note_end(&mut self, error: Option<&str>) {
        let ended = TrafficCounts {
            delivered: u64::from(error.is_none()),
            failed: u64::from(error.is_some()),
            ..TrafficCounts::default()
        };
        self.untold.counts.add(&ended);
        if let Some(error) = error {
            self.untold.note_error(error, 1);
        }
        self.note_apart(ended);
    }

    fn note_accepted(&mut self, awaited: bool, after_ms: u32) {
        self.fresh.note_accepted(awaited, after_ms);
        self.note_apart(TrafficCounts {
            accepted: 1,
            answer_ms: u64::from(after_ms),
            ..TrafficCounts::default()
        });
    }

    fn note_apart(&mut self, counts: TrafficCounts) {
        if let Some(apart) = &mut self.apart {
            apart.add(&counts);
        }
    }
}

// === impl UntoldTraffic ===

impl UntoldTraffic {
    fn note(&mut self, fresh: &OutcomeCounts) {
        self.counts.add(&TrafficCounts {
            accepted: u64::from(fresh.taken) + u64::from(fresh.taken_again),
            refused: u64::from(fresh.refused),
            delivered: 0,
            failed: 0,
            answer_ms: fresh.answer_ms,
        });
        for (status, count) in &fresh.statuses.0 {
            self.statuses.add(*status, *count);
        }
    }

    fn note_error(&mut self, error: &str, count: u64) {
        let error = shortened(error);
        if let Some((_, counted)) = self.errors.iter_mut().find(|(known, _)| known == error) {
            *counted = counted.saturating_add(count);
        } else if self.errors.len() < MOST_END_ERRORS {
            self.errors.push((error.to_owned(), count));
        }
    }

    fn add(&mut self, other: Self) {
        self.counts.add(&other.counts);
        for (status, count) in other.statuses.0 {
            self.statuses.add(status, count);
        }
        for (error, count) in other.errors {
            self.note_error(&error, count);
        }
    }

    /// The refusals and failures by their error; what was left out has [`OTHER_ERRORS`].
    fn by_error(&self) -> impl Iterator<Item = (String, TrafficCounts)> {
        let refused = |count| TrafficCounts {
            refused: count,
            ..TrafficCounts::default()
        };
        let statuses = self.statuses.0.iter();
        let statuses = statuses.map(move |(status, count)| (*status, refused(u64::from(*count))));
        let of_statuses: u64 = self.statuses.0.iter().map(|(_, n)| u64::from(*n)).sum();
        let of_errors: u64 = self.errors.iter().map(|(_, count)| count).sum();
        let others = TrafficCounts {
            refused: self.counts.refused.saturating_sub(of_statuses),
            failed: self.counts.failed.saturating_sub(of_errors),
            ..TrafficCounts::default()
        };
        let errors = self.errors.iter();
        let errors = errors.map(move |(error, count)| (error.clone(), failed(*count)));
        let others = (others != TrafficCounts::default()).then_some(others);
        statuses
            .map(|(status, counts)| (command_status::display(status), counts))
            .chain(errors)
            .chain(others.map(|others| (OTHER_ERRORS.to_owned(), others)))
    }
}

// === impl UntoldMessages ===

impl UntoldMessages {
    /// Nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.apart.is_empty()
    }

    /// All of it for the history: of the numbers for which this holds, and of messages that had no operator or no known account.
    /// What is of neither an operator nor an account is left out: messages from operators, that accounts get.
    pub fn into_block(
        self,
        is_operator: impl Fn(u32) -> bool,
        is_account: impl Fn(u32) -> bool,
    ) -> TrafficBlock {
        let mut block = TrafficBlock::default();
        for ((operator, account), untold) in &self.pairs {
            let known = (is_operator(*operator), is_account(*account));
            if known == (false, false) && (*operator, *account) != (0, NO_ACCOUNT) {
                continue;
            }
            if known.0 || *operator == 0 {
                block.note_operator(*operator, &untold.counts);
            }
            if known.1 || *account == NO_ACCOUNT {
                block.note_account(*account, &untold.counts);
            }
            let operator = if known.0 { *operator } else { 0 };
            let account = if known.1 { *account } else { NO_ACCOUNT };
            for (error, counts) in untold.by_error() {
                block.note_error(operator, account, &error, &counts);
            }
        }
        for (account, counts) in &self.apart {
            if is_account(*account) {
                block.give_to_account(*account, counts);
            }
        }
        block
    }
}

#[cfg(test)]
mod tests;
