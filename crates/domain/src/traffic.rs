//! What the history of messages has of a minute or an hour: counts of each operator, account and error, and of what failed by all
//! three.
//!
//! Filled from [`super::outcomes`], written by the task that keeps the history, and read by the admin API. Bounded: further
//! operators and accounts than [`MOST_SERIES`] count as number 0, further errors than [`MOST_ERRORS`] as [`OTHER_ERRORS`].
//! Its stored form is a version, and the counts in the order of their keys as numbers of seven bits an octet (LEB128), so that a
//! series takes about 15 octets.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most operators, and most accounts.
pub const MOST_SERIES: usize = 8_192;
/// Most different errors.
pub const MOST_ERRORS: usize = 200;
/// Most counts of what failed, by operator, account and error, that a minute has; the largest stay.
pub const CROSSES_OF_MINUTE: usize = 250;
/// Most of them that an hour has.
pub const CROSSES_OF_HOUR: usize = 1_000;
/// The error that stands for all further ones.
pub const OTHER_ERRORS: &str = "other";
/// Longest name of an error, octets.
const LONGEST_ERROR: usize = 40;
/// While counts come in, so many times as many crosses are kept as remain.
const SPARE: usize = 2;
/// The first octet of the stored form.
const FORM: u8 = 1;

/// Messages of one operator, account or error in some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrafficCounts {
    /// Answered by operators with ESME_ROK.
    pub accepted: u64,
    /// Answered by operators with an error that is not throttling.
    pub refused: u64,
    /// Ended DELIVERED or ACCEPTED.
    pub delivered: u64,
    /// Ended otherwise.
    pub failed: u64,
    /// The sum of the times of all answers that are counted here, milliseconds.
    pub answer_ms: u64,
}

/// The counts of a minute or an hour. Operators and accounts are numbers of their queues, 0 for none and for all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrafficBlock {
    operators: BTreeMap<u32, TrafficCounts>,
    accounts: BTreeMap<u32, TrafficCounts>,
    /// Only `refused` and `failed`.
    errors: BTreeMap<String, TrafficCounts>,
    /// Messages that failed, by operator, account and error.
    crosses: BTreeMap<(u32, u32, String), u64>,
}

/// Whose messages are counted; everybody's without one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrafficFilter {
    /// Numbers of the operator's queue and of the account.
    pub operator: Option<u32>,
    pub account: Option<u32>,
    /// Its name.
    pub error: Option<String>,
}

/// What messages are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficDimension {
    Operator,
    Account,
    Error,
}

/// What messages have in common that are divided by one dimension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficKey {
    /// The number of an operator's queue, or of an account.
    Number(u32),
    /// The name of an error.
    Error(String),
}

/// Reads numbers of the stored form.
struct TrafficReader<'b>(&'b [u8]);

// === impl TrafficCounts ===

impl TrafficCounts {
    /// Adds those of another series, or of another time.
    pub fn add(&mut self, other: &Self) {
        self.change(other, u64::saturating_add);
    }

    /// The mean time of an answer, milliseconds; `None` without answers.
    pub fn mean_answer_ms(&self) -> Option<f64> {
        let answers = self.accepted.saturating_add(self.refused);
        (answers > 0).then(|| self.answer_ms as f64 / answers as f64)
    }

    fn subtract(&mut self, other: &Self) {
        self.change(other, u64::saturating_sub);
    }

    fn change(&mut self, other: &Self, change: fn(u64, u64) -> u64) {
        for (own, of_other) in [
            (&mut self.accepted, other.accepted),
            (&mut self.refused, other.refused),
            (&mut self.delivered, other.delivered),
            (&mut self.failed, other.failed),
            (&mut self.answer_ms, other.answer_ms),
        ] {
            *own = change(*own, of_other);
        }
    }

    fn fields(&self) -> [u64; 5] {
        [
            self.accepted,
            self.refused,
            self.delivered,
            self.failed,
            self.answer_ms,
        ]
    }
}

// === impl TrafficBlock ===

impl TrafficBlock {
    /// Nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.operators.is_empty() && self.accounts.is_empty() && self.errors.is_empty()
    }

    /// Counts messages at an operator.
    pub fn note_operator(&mut self, operator: u32, counts: &TrafficCounts) {
        series(&mut self.operators, operator).add(counts);
    }

    /// Counts messages of an account.
    pub fn note_account(&mut self, account: u32, counts: &TrafficCounts) {
        series(&mut self.accounts, account).add(counts);
    }

    /// These messages were counted for no account (0), and are of this one.
    pub fn give_to_account(&mut self, account: u32, counts: &TrafficCounts) {
        self.note_account(account, counts);
        if let Some(others) = self.accounts.get_mut(&0) {
            others.subtract(counts);
            if *others == TrafficCounts::default() {
                self.accounts.remove(&0);
            }
        }
    }

    /// Counts the refusals and failures of `counts` for their error.
    pub fn note_error(&mut self, operator: u32, account: u32, error: &str, counts: &TrafficCounts) {
        let counts = TrafficCounts {
            refused: counts.refused,
            failed: counts.failed,
            ..TrafficCounts::default()
        };
        let error = self.note_error_alone(error, &counts);
        self.note_cross((operator, account, error), counts.failed);
    }

    /// Adds the counts of another time or node.
    pub fn add(&mut self, other: &Self) {
        for (number, counts) in &other.operators {
            series(&mut self.operators, *number).add(counts);
        }
        for (number, counts) in &other.accounts {
            series(&mut self.accounts, *number).add(counts);
        }
        for (error, counts) in &other.errors {
            self.note_error_alone(error, counts);
        }
        for ((operator, account, error), messages) in &other.crosses {
            let known = self.errors.contains_key(error);
            let error = if known { error.as_str() } else { OTHER_ERRORS };
            self.note_cross((*operator, *account, error.to_owned()), *messages);
        }
    }

    /// Forgets what failed by operator, account and error, except for so many of the largest.
    pub fn keep_largest(&mut self, most: usize) {
        if self.crosses.len() <= most {
            return;
        }
        let mut all: Vec<_> = std::mem::take(&mut self.crosses).into_iter().collect();
        // Those of one size stay in the order of their keys.
        all.sort_by_key(|(_, messages)| Reverse(*messages));
        all.truncate(most);
        self.crosses = all.into_iter().collect();
    }

    /// The counts of an operator; `None` where it had no messages.
    pub fn of_operator(&self, number: u32) -> Option<&TrafficCounts> {
        self.operators.get(&number)
    }

    /// The counts of an account; `None` where it had no messages.
    pub fn of_account(&self, number: u32) -> Option<&TrafficCounts> {
        self.accounts.get(&number)
    }

    /// The refusals and failures with an error; `None` where there were none.
    pub fn of_error(&self, error: &str) -> Option<&TrafficCounts> {
        self.errors.get(error)
    }

    /// All messages: what operators answered, and how the messages of accounts ended.
    pub fn total(&self) -> TrafficCounts {
        let mut total = TrafficCounts::default();
        for counts in self.operators.values() {
            total.add(&TrafficCounts {
                delivered: 0,
                failed: 0,
                ..*counts
            });
        }
        for counts in self.accounts.values() {
            total.add(&TrafficCounts {
                delivered: counts.delivered,
                failed: counts.failed,
                ..TrafficCounts::default()
            });
        }
        total
    }

    /// The counts of what fits; of two conditions or more only what failed, as far as it is kept.
    pub fn of(&self, filter: &TrafficFilter) -> TrafficCounts {
        let known = match (filter.operator, filter.account, filter.error.as_deref()) {
            (None, None, None) => return self.total(),
            (Some(operator), None, None) => self.of_operator(operator).copied(),
            (None, Some(account), None) => self.of_account(account).copied(),
            (None, None, Some(error)) => self.of_error(error).copied(),
            _ => {
                // What is damaged may have any number.
                let messages = self.fitting(filter).map(|(_, messages)| messages);
                Some(failed(messages.fold(0, u64::saturating_add)))
            }
        };
        known.unwrap_or_default()
    }

    /// The counts of what fits, by a dimension; with a condition of another one only what failed, as far as it is kept.
    pub fn by(
        &self,
        dimension: TrafficDimension,
        filter: &TrafficFilter,
    ) -> Vec<(TrafficKey, TrafficCounts)> {
        if filter.is_about_others_than(dimension) {
            let crosses = self.fitting(filter);
            return crosses
                .map(|((operator, account, error), messages)| {
                    let key = match dimension {
                        TrafficDimension::Operator => TrafficKey::Number(*operator),
                        TrafficDimension::Account => TrafficKey::Number(*account),
                        TrafficDimension::Error => TrafficKey::Error(error.clone()),
                    };
                    (key, failed(messages))
                })
                .collect();
        }
        let (numbers, only) = match dimension {
            TrafficDimension::Operator => (&self.operators, filter.operator),
            TrafficDimension::Account => (&self.accounts, filter.account),
            TrafficDimension::Error => {
                let errors = self.errors.iter();
                return errors
                    .filter(|(error, _)| filter.error.as_ref().is_none_or(|only| only == *error))
                    .map(|(error, counts)| (TrafficKey::Error(error.clone()), *counts))
                    .collect();
            }
        };
        let numbers = numbers.iter();
        numbers
            .filter(|(number, _)| only.is_none_or(|only| only == **number))
            .map(|(number, counts)| (TrafficKey::Number(*number), *counts))
            .collect()
    }

    /// What failed and fits, by operator, account and error.
    fn fitting(&self, filter: &TrafficFilter) -> impl Iterator<Item = (&(u32, u32, String), u64)> {
        let crosses = self.crosses.iter();
        let crosses = crosses.filter(move |((operator, account, error), _)| {
            filter.operator.is_none_or(|only| only == *operator)
                && filter.account.is_none_or(|only| only == *account)
                && filter.error.as_ref().is_none_or(|only| only == error)
        });
        crosses.map(|(cross, messages)| (cross, *messages))
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = vec![FORM];
        for numbers in [&self.operators, &self.accounts] {
            put(numbers.len() as u64, &mut to);
            let mut last = 0;
            for (number, counts) in numbers {
                put(u64::from(number - last), &mut to);
                last = *number;
                for field in counts.fields() {
                    put(field, &mut to);
                }
            }
        }
        put(self.errors.len() as u64, &mut to);
        for (error, counts) in &self.errors {
            put(error.len() as u64, &mut to);
            to.extend_from_slice(error.as_bytes());
            put(counts.refused, &mut to);
            put(counts.failed, &mut to);
        }
        let errors: Vec<&String> = self.errors.keys().collect();
        put(self.crosses.len() as u64, &mut to);
        for ((operator, account, error), messages) in &self.crosses {
            // Each error of a cross is one of the errors; if it were not, its place would be that of the next one.
            let place = errors.binary_search(&error).unwrap_or_else(|next| next);
            for number in [
                u64::from(*operator),
                u64::from(*account),
                place as u64,
                *messages,
            ] {
                put(number, &mut to);
            }
        }
        to
    }

    /// Reads the stored form; `None` if it is damaged, or of a newer release.
    pub fn decode(stored: &[u8]) -> Option<Self> {
        let (form, rest) = stored.split_first()?;
        if *form != FORM {
            return None;
        }
        let mut from = TrafficReader(rest);
        let mut block = Self {
            operators: from.series()?,
            accounts: from.series()?,
            ..Self::default()
        };
        for _ in 0..from.number()? {
            let error = from.text()?;
            let counts = TrafficCounts {
                refused: from.number()?,
                failed: from.number()?,
                ..TrafficCounts::default()
            };
            block.errors.insert(error, counts);
        }
        let errors: Vec<String> = block.errors.keys().cloned().collect();
        for _ in 0..from.number()? {
            let (operator, account) = (from.short()?, from.short()?);
            let place = usize::try_from(from.number()?).ok()?;
            let error = errors.get(place)?.clone();
            block
                .crosses
                .insert((operator, account, error), from.number()?);
        }
        from.0.is_empty().then_some(block)
    }

    /// Counts for an error; gives the name by which it is counted.
    fn note_error_alone(&mut self, error: &str, counts: &TrafficCounts) -> String {
        let name = shortened(error);
        let is_full = self.errors.len() >= MOST_ERRORS && !self.errors.contains_key(name);
        let name = if is_full { OTHER_ERRORS } else { name };
        match self.errors.get_mut(name) {
            Some(sum) => sum.add(counts),
            None => {
                self.errors.insert(name.to_owned(), *counts);
            }
        }
        name.to_owned()
    }

    fn note_cross(&mut self, cross: (u32, u32, String), messages: u64) {
        if messages == 0 {
            return;
        }
        let sum = self.crosses.entry(cross).or_default();
        *sum = sum.saturating_add(messages);
        if self.crosses.len() > SPARE * CROSSES_OF_HOUR {
            self.keep_largest(CROSSES_OF_HOUR);
        }
    }
}

// === impl TrafficFilter ===

impl TrafficFilter {
    /// Whether there are several conditions: then only what failed is known.
    pub fn is_of_several(&self) -> bool {
        let conditions = [
            self.operator.is_some(),
            self.account.is_some(),
            self.error.is_some(),
        ];
        conditions.into_iter().filter(|is_there| *is_there).count() > 1
    }

    /// Whether there is a condition of another dimension: then only what failed is known.
    pub fn is_about_others_than(&self, dimension: TrafficDimension) -> bool {
        (self.operator.is_some() && dimension != TrafficDimension::Operator)
            || (self.account.is_some() && dimension != TrafficDimension::Account)
            || (self.error.is_some() && dimension != TrafficDimension::Error)
    }
}

/// Messages that failed.
pub(crate) fn failed(messages: u64) -> TrafficCounts {
    TrafficCounts {
        failed: messages,
        ..TrafficCounts::default()
    }
}

/// The counts of a number, or of 0 where there are too many.
fn series(numbers: &mut BTreeMap<u32, TrafficCounts>, number: u32) -> &mut TrafficCounts {
    let is_full = numbers.len() >= MOST_SERIES && !numbers.contains_key(&number);
    numbers.entry(if is_full { 0 } else { number }).or_default()
}

/// The beginning of an error's name, if it is long.
pub(crate) fn shortened(error: &str) -> &str {
    let mut end = error.len().min(LONGEST_ERROR);
    while !error.is_char_boundary(end) {
        end -= 1;
    }
    &error[..end]
}

fn put(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

// === impl TrafficReader ===

impl TrafficReader<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (octet, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(octet & 0x7F) << shift;
            if octet & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn short(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn series(&mut self) -> Option<BTreeMap<u32, TrafficCounts>> {
        let mut numbers = BTreeMap::new();
        let mut last: u32 = 0;
        for _ in 0..self.number()? {
            last = last.checked_add(self.short()?)?;
            let counts = TrafficCounts {
                accepted: self.number()?,
                refused: self.number()?,
                delivered: self.number()?,
                failed: self.number()?,
                answer_ms: self.number()?,
            };
            numbers.insert(last, counts);
        }
        Some(numbers)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(of: u64) -> TrafficCounts {
        TrafficCounts {
            accepted: of,
            refused: of / 3,
            delivered: of / 2,
            failed: of / 5,
            answer_ms: of.saturating_mul(40),
        }
    }

    /// Counts messages of an account at an operator.
    fn note(block: &mut TrafficBlock, operator: u32, account: u32, counts: &TrafficCounts) {
        block.note_operator(operator, counts);
        block.note_account(account, counts);
    }

    fn block(noted: &[(u32, u32, u64, u8)]) -> TrafficBlock {
        let mut block = TrafficBlock::default();
        for (operator, account, messages, error) in noted {
            let counts = counts(*messages);
            note(&mut block, *operator, *account, &counts);
            block.note_error(*operator, *account, &format!("{error:03}"), &counts);
        }
        block
    }

    fn sum(blocks: &[&TrafficBlock]) -> TrafficBlock {
        let mut sum = TrafficBlock::default();
        blocks.iter().for_each(|block| sum.add(block));
        sum
    }

    /// Octets of a time in which 1,000 accounts sent so many messages each through 200 operators.
    fn octets_of(messages: u64, crosses: usize) -> usize {
        let (mut block, counts) = (TrafficBlock::default(), counts(messages));
        for account in 1..=1_000 {
            // Numbers of accounts follow those of operators.
            let (operator, account) = (1 + account % 200, 200 + account);
            note(&mut block, operator, account, &counts);
            for error in ["011", "ESME_RINVSRCADR"] {
                block.note_error(operator, account, error, &counts);
            }
        }
        block.keep_largest(crosses);
        block.encode().len()
    }

    #[test]
    fn all_of_it_has_100_mb() {
        let minute = octets_of(300, CROSSES_OF_MINUTE);
        let hour = octets_of(18_000, CROSSES_OF_HOUR);
        // 25 hours of minutes, and 90 days of hours.
        let all = 1_500 * minute + 2_160 * hour;
        assert!(all < 100_000_000, "{minute} and {hour} octets");
    }

    #[test]
    fn what_is_too_much_counts_as_others() {
        let mut block = TrafficBlock::default();
        let (series, errors) = (MOST_SERIES as u32, MOST_ERRORS as u64);
        for number in 1..=series + 10 {
            note(&mut block, number, number, &counts(10));
        }
        assert_eq!(block.operators.len(), MOST_SERIES + 1);
        assert_eq!(block.of_operator(0), Some(&sum_of(10, counts(10))));
        for error in 0..errors + 10 {
            block.note_error(1, 1, &format!("{error:04}"), &counts(15));
        }
        assert_eq!(block.errors.len(), MOST_ERRORS + 1);
        assert_eq!(block.of_error(OTHER_ERRORS).unwrap().refused, 50);
        for account in 0..10_000 {
            block.note_error(1, account, "0001", &counts(15));
        }
        assert!(block.crosses.len() <= SPARE * CROSSES_OF_HOUR);
        let long = "ö".repeat(LONGEST_ERROR);
        assert!(shortened(&long).len() <= LONGEST_ERROR);
    }

    #[test]
    fn a_million_different_failures_of_hostile_clients_have_an_end() {
        let errors: Vec<String> = (0..1_000).map(|error| format!("{error:03}")).collect();
        let mut block = TrafficBlock::default();
        // What somebody is to see among them.
        block.note_error(7, 7, "069", &failed(1_000));
        let once = failed(1);
        for number in 0..1_000_000_u32 {
            let (operator, account) = (number % 100, number / 100);
            let error = &errors[number as usize % errors.len()];
            block.note_error(operator, account, error, &once);
            assert!(block.crosses.len() <= SPARE * CROSSES_OF_HOUR);
        }
        assert!(block.errors.len() <= MOST_ERRORS + 1);
        assert!(
            block
                .errors
                .keys()
                .all(|error| error.len() <= LONGEST_ERROR)
        );
        let of_errors: u64 = block.errors.values().map(|counts| counts.failed).sum();
        assert_eq!(of_errors, 1_001_000, "none is left out of the errors");
        block.keep_largest(CROSSES_OF_HOUR);
        assert_eq!(block.crosses.len(), CROSSES_OF_HOUR);
        assert_eq!(block.crosses[&(7, 7, "069".to_owned())], 1_000);
        let octets = block.encode().len();
        assert!(octets < 20_000, "{octets}");
    }

    fn sum_of(times: u64, one: TrafficCounts) -> TrafficCounts {
        let mut sum = TrafficCounts::default();
        (0..times).for_each(|_| sum.add(&one));
        sum
    }

    #[test]
    fn means_are_of_all_answers() {
        assert_eq!(counts(30).mean_answer_ms(), Some(30.0));
        assert_eq!(TrafficCounts::default().mean_answer_ms(), None);
    }

    #[test]
    fn what_was_counted_for_nobody_is_given_to_its_account() {
        let mut block = TrafficBlock::default();
        note(&mut block, 1, 0, &sum_of(3, counts(30)));
        block.give_to_account(7, &counts(30));
        assert_eq!(block.of_account(7), Some(&counts(30)));
        assert_eq!(block.of_account(0), Some(&sum_of(2, counts(30))));
        block.give_to_account(8, &sum_of(2, counts(30)));
        assert!(block.of_account(0).is_none(), "nothing is left");
        assert_eq!(block.total(), sum_of(3, counts(30)));
    }

    #[test]
    fn counts_that_are_damaged_add_up_to_the_most_there_is() {
        let mut block = TrafficBlock::default();
        for account in [1, 2] {
            let endless = failed(u64::MAX);
            block.note_error(1, account, "069", &endless);
        }
        let both = TrafficFilter {
            operator: Some(1),
            error: Some("069".to_owned()),
            account: None,
        };
        let read = TrafficBlock::decode(&block.encode()).unwrap();
        assert_eq!(read.of(&both).failed, u64::MAX);
    }

    #[test]
    fn messages_are_found_and_divided() {
        let block = block(&[(1, 2, 30, 1), (5, 2, 60, 1), (1, 6, 90, 7)]);
        let of_operator = TrafficFilter {
            operator: Some(1),
            ..TrafficFilter::default()
        };
        assert_eq!(block.of(&of_operator).accepted, 120);
        assert_eq!(block.of(&TrafficFilter::default()), block.total());
        let by = |dimension, filter: &TrafficFilter| block.by(dimension, filter);
        let own = by(TrafficDimension::Operator, &of_operator);
        assert_eq!(own, [(TrafficKey::Number(1), block.of(&of_operator))]);
        // Of an operator and accounts only what failed is known.
        let accounts = by(TrafficDimension::Account, &of_operator);
        let expected = [(2, 6), (6, 18)].map(|(account, messages)| {
            let key = TrafficKey::Number(account);
            (key, failed(messages))
        });
        assert_eq!(accounts, expected);
        let errors = by(TrafficDimension::Error, &TrafficFilter::default());
        assert_eq!(errors.len(), 2);
        assert_eq!(errors[0].0, TrafficKey::Error("001".to_owned()));
        assert_eq!((errors[0].1.refused, errors[0].1.failed), (30, 18));
        let of_error = TrafficFilter {
            error: Some("007".to_owned()),
            ..TrafficFilter::default()
        };
        assert_eq!(block.of(&of_error).failed, 18);
        let nobody = TrafficFilter {
            account: Some(9),
            ..TrafficFilter::default()
        };
        assert_eq!(block.of(&nobody), TrafficCounts::default());
    }

    #[test]
    fn what_is_damaged_or_newer_is_not_read() {
        let stored = block(&[(1, 2, 30, 1)]).encode();
        assert!(TrafficBlock::decode(&stored[..stored.len() - 1]).is_none());
        assert!(TrafficBlock::decode(&[&stored[..], &[0]].concat()).is_none());
        assert!(TrafficBlock::decode(&[2, 0, 0, 0, 0]).is_none());
        assert!(TrafficBlock::decode(&[]).is_none());
        let endless = [&[FORM], &[0xFF; 11][..]].concat();
        assert!(TrafficBlock::decode(&endless).is_none());
    }

    proptest! {
        #[test]
        fn what_was_stored_is_read(
            noted in proptest::collection::vec((any::<u32>(), any::<u32>(), any::<u64>(), any::<u8>()), 0..50),
        ) {
            let block = block(&noted);
            prop_assert_eq!(TrafficBlock::decode(&block.encode()), Some(block));
        }

        #[test]
        fn an_hour_is_its_minutes_in_any_order(
            minutes in proptest::collection::vec(
                proptest::collection::vec((0..9u32, 0..9u32, 0..1_000u64, 0..9u8), 0..9), 0..9),
        ) {
            let blocks: Vec<TrafficBlock> = minutes.iter().map(|noted| block(noted)).collect();
            let forwards: Vec<&TrafficBlock> = blocks.iter().collect();
            let backwards: Vec<&TrafficBlock> = blocks.iter().rev().collect();
            let hour = sum(&forwards);
            prop_assert_eq!(&hour, &sum(&backwards));
            prop_assert_eq!(&hour, &block(&minutes.concat()));
        }

        #[test]
        fn anything_is_read_or_refused(stored in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = TrafficBlock::decode(&stored);
        }
    }
}
