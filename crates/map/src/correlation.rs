//! MT correlation ids: what others get in place of the IMSI of a subscriber when they ask where it is, so that they bring
//! their messages to us (home routing, 3GPP TR 23.840).
//!
//! An id has the 15 digits of an IMSI: MCC and MNC of our network, then 9 or 10 digits. It is looked up in a table, and is no
//! permutation of the number, because there is no room for one: 9 or 10 digits are 29 or 33 bits, of which a number within
//! its prefixes takes 20 to 30. What is left for its age and for check digits would let about one guess in some hundred
//! pass, for every subscriber at any time, whether anybody has asked for it or not; and it could not tell who has asked.
//!
//! The digits of an id in the table are random: they say nothing about the IMSI, which we do not know ourselves, nor about the
//! number. A guess finds one of `n` ids that are valid with a chance of `n` in 10^10 (10^9 with an MNC of three digits): with
//! 100,000 of them 1 in 100,000 (1 in 10,000). A firewall that wants both of one network makes it rarer again: the table knows
//! who has asked. Whoever asks again for the same number while its id is valid gets the same one, which then lives longer, so
//! that the parts of a text and attempts that follow one another need one place.
//!
//! Each node has the whole table: an id is told to all others before it is given away. It is not stored: after the end of
//! all nodes, or on a node that has just started, an id is unknown, its message is refused as that of an unidentified subscriber,
//! and whoever has sent it asks again.
//!
//! Pure: times and random numbers come from the caller. Invariants: an id that is over is never found, also when the clock of
//! this node or of another one was ahead of the time and was set back: none lives longer than [`CORRELATION_LIFE_MAX`]; there are no more
//! than the caller allows, and a quarter of that for askers whose titles begin alike, so that a flood of questions from one network
//! leaves room for all others.

use std::collections::BTreeSet;

use ahash::AHashMap;

/// Digits of an IMSI (3GPP TS 23.003 §2.2), and so of an id.
const DIGITS: usize = 15;
/// Askers of one network have this part of all places.
const SHARE_OF_ASKER: usize = 4;
/// So many first digits tell the networks of askers apart: each has many titles to ask by.
const NETWORK_DIGITS: usize = 5;
/// Most ids that are kept, whatever other nodes say.
pub const CORRELATIONS_MAX: usize = 1_000_000;
/// The longest life of an id, in milliseconds.
pub const CORRELATION_LIFE_MAX: i64 = 24 * 3600 * 1000;
/// How many random ids are tried before there is said to be no room.
const TRIES: usize = 16;

/// An id, and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MtCorrelation {
    /// The 15 digits that stand in place of an IMSI.
    pub id: String,
    /// The subscriber, in international digits.
    pub msisdn: String,
    /// The global title of who has asked, in digits; empty without one.
    pub asked_by: String,
    /// When it is over, Unix milliseconds.
    pub until: i64,
}

/// What an id is wanted for.
#[derive(Debug, Clone, Copy)]
pub struct CorrelationWish<'a> {
    /// MCC and MNC, five or six digits.
    pub network: &'a str,
    /// The subscriber, in international digits.
    pub msisdn: &'a str,
    /// The global title of who asks, in digits; empty without one.
    pub asked_by: &'a str,
    /// When it is to be over, Unix milliseconds; [`CORRELATION_LIFE_MAX`] from now at the latest.
    pub until: i64,
    /// Most ids that may be valid at once.
    pub most: usize,
}

/// The ids that are valid.
#[derive(Debug, Default)]
pub struct MtCorrelations {
    by_id: AHashMap<String, MtCorrelation>,
    /// By subscriber and asker, the id.
    by_question: AHashMap<(String, String), String>,
    /// When each is over.
    due: BTreeSet<(i64, String)>,
    /// How many ids the askers of each network have.
    of_asker: AHashMap<String, usize>,
}

// === impl MtCorrelations ===

impl MtCorrelations {
    /// An id for who asks at `now` (Unix milliseconds); `None` when there is no room.
    pub fn give(
        &mut self,
        wish: &CorrelationWish<'_>,
        now: i64,
        mut random: impl FnMut() -> u64,
    ) -> Option<MtCorrelation> {
        self.forget_old(now);
        let question = (wish.msisdn.to_owned(), wish.asked_by.to_owned());
        let known = self.by_question.get(&question);
        let known = known.filter(|id| id.starts_with(wish.network)).cloned();
        let id = match known {
            Some(id) => id,
            None => self.new_id(wish, &mut random)?,
        };
        let (msisdn, asked_by) = question;
        let given = MtCorrelation {
            id,
            msisdn,
            asked_by,
            until: wish.until.min(now.saturating_add(CORRELATION_LIFE_MAX)),
        };
        self.insert(given.clone());
        Some(given)
    }

    /// Takes an id that another node gives, or has prolonged. One that finds no room is left out.
    pub fn learn(&mut self, mut given: MtCorrelation, now: i64) {
        self.forget_old(now);
        given.until = given.until.min(now.saturating_add(CORRELATION_LIFE_MAX));
        if let Some(known) = self.by_id.get(&given.id)
            && known.msisdn == given.msisdn
        {
            // It may be prolonged here since.
            given.until = given.until.max(known.until);
        }
        let has_room = self.by_id.len() < CORRELATIONS_MAX || self.by_id.contains_key(&given.id);
        if given.until > now && has_room {
            self.insert(given);
        }
    }

    /// What an id stands for at `now` (Unix milliseconds).
    #[must_use]
    pub fn find(&self, id: &str, now: i64) -> Option<&MtCorrelation> {
        let is_valid = |known: &&MtCorrelation| known.until > now && !is_too_far(known.until, now);
        self.by_id.get(id).filter(is_valid)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    fn new_id(
        &self,
        wish: &CorrelationWish<'_>,
        random: &mut impl FnMut() -> u64,
    ) -> Option<String> {
        let of_asker = self.of_asker.get(network_of(wish.asked_by)).copied();
        let share = (wish.most / SHARE_OF_ASKER).max(1);
        if self.by_id.len() >= wish.most || of_asker.unwrap_or_default() >= share {
            return None;
        }
        let width = DIGITS.saturating_sub(wish.network.len());
        let all = 10_u64.pow(width as u32);
        (0..TRIES)
            .map(|_| format!("{}{:0width$}", wish.network, random() % all))
            .find(|id| !self.by_id.contains_key(id))
    }

    fn insert(&mut self, given: MtCorrelation) {
        self.remove(&given.id);
        let id = &given.id;
        self.due.insert((given.until, id.clone()));
        let question = (given.msisdn.clone(), given.asked_by.clone());
        self.by_question.insert(question, id.clone());
        let network = network_of(&given.asked_by).to_owned();
        *self.of_asker.entry(network).or_default() += 1;
        self.by_id.insert(id.clone(), given);
    }

    fn remove(&mut self, id: &str) {
        let Some(old) = self.by_id.remove(id) else {
            return;
        };
        self.due.remove(&(old.until, old.id));
        let network = network_of(&old.asked_by);
        if let Some(count) = self.of_asker.get_mut(network) {
            *count -= 1;
            if *count == 0 {
                self.of_asker.remove(network);
            }
        }
        let question = (old.msisdn, old.asked_by);
        if self.by_question.get(&question).is_some_and(|own| own == id) {
            self.by_question.remove(&question);
        }
    }

    fn forget_old(&mut self, now: i64) {
        while let Some((until, id)) = self.due.first() {
            if *until > now {
                break;
            }
            let id = id.clone();
            self.remove(&id);
        }
        while let Some((until, id)) = self.due.last() {
            if !is_too_far(*until, now) {
                break;
            }
            let id = id.clone();
            self.remove(&id);
        }
    }
}

/// The network of a global title, as far as its digits tell.
fn network_of(asked_by: &str) -> &str {
    asked_by.get(..NETWORK_DIGITS).unwrap_or(asked_by)
}

/// Whether a clock was set back since an id was given that is over at `until`.
fn is_too_far(until: i64, now: i64) -> bool {
    until.saturating_sub(now) > CORRELATION_LIFE_MAX
}

#[cfg(test)]
mod tests;
