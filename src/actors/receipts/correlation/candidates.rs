//! Which message a receipt is about, where its id may be that of several.
//!
//! Until the form of an operator's ids is sure, an id is looked up in every form that it may have. A decimal id may so be
//! that of one message, and its hexadecimal form that of another: the subscriber's address in the receipt decides between
//! them. Without one the receipt is parked until the form is sure: another subscriber's message must not end by it.

use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use super::addresses::{fits, named, names_a_subscriber};
use super::index::{CorrelationKey, IdForm, IndexEntry};
use super::{Correlation, EarlyReceipt, FoundMessage, Match, ok};
use crate::pb::OperatorReceipt;
use crate::store::Stored;

/// A message whose id a receipt may have, in this form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReceiptCandidate {
    form: IdForm,
    key: CorrelationKey,
    id: u64,
    /// It is final.
    done: bool,
    /// The index has it.
    in_memory: bool,
}

/// What the candidates and the address in a receipt say.
#[derive(Debug, PartialEq, Eq)]
enum CandidateChoice {
    /// `is_sure`: the address says so.
    One {
        place: usize,
        is_sure: bool,
    },
    Unclear,
}

// === impl ReceiptCandidate ===

impl ReceiptCandidate {
    fn of(form: IdForm, key: CorrelationKey, entry: Option<IndexEntry>) -> Option<Self> {
        entry.map(|entry| Self {
            form,
            key,
            id: entry.id,
            done: entry.done,
            in_memory: true,
        })
    }
}

impl Correlation {
    /// The message that a receipt is about. It is taken as ended by one that says how: an intermediate one leaves it open,
    /// also for the end that comes right behind it.
    pub(super) fn find(&mut self, operator: u32, receipt: &OperatorReceipt) -> FoundMessage {
        let keys = self.keys(operator, &receipt.operator_message_id);
        // The usual case: the form is sure.
        if let [(form, key)] = keys[..] {
            return match ReceiptCandidate::of(form, key, self.index.get(key)) {
                Some(one) => self.take(operator, receipt, one, true, false),
                None => FoundMessage::Nothing,
            };
        }
        let candidates = self.candidates(&keys);
        let Some(&first) = candidates.first() else {
            return FoundMessage::Nothing;
        };
        let fits: Vec<Option<bool>> = candidates
            .iter()
            .map(|one| {
                let recent = self.recent.get(&one.id)?;
                fits(receipt, &recent.message)
            })
            .collect();
        if let [fits] = fits[..] {
            let is_expected = self.is_expected(operator, first.form);
            return match fits {
                // Another node, or an hour on disk, may have the right one.
                None | Some(false) if names_a_subscriber(receipt) && self.is_elsewhere() => {
                    FoundMessage::Unclear
                }
                None | Some(false) if !is_expected => FoundMessage::Nothing,
                _ => {
                    // The same in every form: it says nothing of the form.
                    let is_clear = keys.iter().any(|(_, key)| *key != keys[0].1);
                    let is_sure = is_clear && fits == Some(true);
                    self.take(operator, receipt, first, is_clear, is_sure)
                }
            };
        }
        if names_a_subscriber(receipt) && fits.contains(&None) {
            return FoundMessage::Unclear;
        }
        match self.choose(operator, &candidates, &fits) {
            CandidateChoice::One { place, is_sure } => {
                self.take(operator, receipt, candidates[place], is_sure, is_sure)
            }
            CandidateChoice::Unclear => FoundMessage::Unclear,
        }
    }

    /// Takes a candidate as the one. `is_clear`: its form is known by it. `is_sure`: that form is sure.
    fn take(
        &mut self,
        operator: u32,
        receipt: &OperatorReceipt,
        one: ReceiptCandidate,
        is_clear: bool,
        is_sure: bool,
    ) -> FoundMessage {
        self.fitted(operator, one.form, is_clear && !one.done, is_sure);
        if one.done {
            return FoundMessage::Repeated(one.id);
        }
        if self.ends(receipt) {
            self.index.mark_done(one.key, one.id);
        }
        FoundMessage::Open(one.id, one.key)
    }

    /// The messages in memory under these keys, each once.
    fn candidates(&mut self, keys: &[(IdForm, CorrelationKey)]) -> Vec<ReceiptCandidate> {
        let mut found: Vec<ReceiptCandidate> = Vec::with_capacity(1);
        for (form, key) in keys {
            if let Some(one) = ReceiptCandidate::of(*form, *key, self.index.get(*key))
                && !found.iter().any(|other| other.id == one.id)
            {
                found.push(one);
            }
        }
        found
    }

    /// Whether messages may wait for receipts that are not in memory.
    fn is_elsewhere(&self) -> bool {
        self.index.spilled > 0 || self.node.local_lease.is_shared()
    }

    /// Chooses the one that the address in the receipt fits (`fits`, for each candidate). Of several to one subscriber it is
    /// the one in the form that is likely.
    fn choose(
        &self,
        operator: u32,
        candidates: &[ReceiptCandidate],
        fits: &[Option<bool>],
    ) -> CandidateChoice {
        if let Some(place) = named(fits.iter().copied()) {
            return CandidateChoice::One {
                place,
                is_sure: true,
            };
        }
        let known = self.learned.get(&operator).map(|known| known.form);
        let mut likely = (candidates.iter().zip(fits))
            .map(|(one, fits)| *fits == Some(true) && Some(one.form) == known);
        match likely.position(|is_likely| is_likely) {
            Some(place) => CandidateChoice::One {
                place,
                is_sure: false,
            },
            None => CandidateChoice::Unclear,
        }
    }

    /// Reads the messages that these receipts may be about, and settles those receipts that name the right one. The others
    /// are parked as unclear.
    pub(super) fn decide(&mut self, receipts: Vec<EarlyReceipt>, ctx: &mut Context<Self>) {
        if receipts.is_empty() {
            return;
        }
        let is_elsewhere = self.is_elsewhere();
        let mut asked = Vec::with_capacity(receipts.len());
        for early in receipts {
            let keys = self.keys(early.operator, &early.receipt.operator_message_id);
            let candidates = self.candidates(&keys);
            asked.push((early, keys, candidates));
        }
        let stored: Vec<CorrelationKey> = if is_elsewhere {
            asked
                .iter()
                .flat_map(|(_, keys, _)| keys)
                .map(|(_, key)| *key)
                .collect()
        } else {
            Vec::new()
        };
        let (node, oldest) = (Arc::clone(&self.node), self.oldest());
        let look = async move {
            let mut found = if stored.is_empty() {
                Vec::new()
            } else {
                (node.store.find_correlations(stored, oldest).await).unwrap_or_default()
            }
            .into_iter();
            let mut ids = Vec::new();
            for (_, keys, candidates) in &mut asked {
                for ((form, key), id) in keys.iter().zip(found.by_ref().take(keys.len())) {
                    if let Some(id) = id
                        && !candidates.iter().any(|one| one.id == id)
                    {
                        candidates.push(ReceiptCandidate {
                            form: *form,
                            key: *key,
                            id,
                            done: false,
                            in_memory: false,
                        });
                    }
                }
                ids.extend(candidates.iter().map(|one| one.id));
            }
            let loaded = node.store.load(ids).await.unwrap_or_default();
            (asked, loaded)
        };
        ctx.spawn(
            look.into_actor(self)
                .map(|(asked, loaded), correlation, ctx| {
                    let mut loaded = loaded.into_iter();
                    let (mut matches, mut unclear) = (Vec::new(), Vec::new());
                    for (mut early, _, candidates) in asked {
                        let stored: Vec<Option<Stored>> =
                            loaded.by_ref().take(candidates.len()).collect();
                        match correlation.decided(&early, &candidates, &stored) {
                            FoundMessage::Open(id, key) => {
                                let in_memory =
                                    (candidates.iter()).any(|one| one.id == id && one.in_memory);
                                matches.push(Match {
                                    key: in_memory.then_some(key),
                                    ..Match::of_early(early, id, key)
                                });
                            }
                            FoundMessage::Repeated(known) => {
                                correlation.repeated(1);
                                let answer =
                                    correlation.or_wait(known, early.session, ok(&early.receipt));
                                correlation.answer(early.session, answer.into_iter().collect());
                            }
                            // The right one may be of another form, or come later: it is held to its end.
                            FoundMessage::Nothing => correlation.early.push(early),
                            FoundMessage::Unclear => {
                                early.receipt.unclear = true;
                                unclear.push(early);
                            }
                        }
                    }
                    if !matches.is_empty() {
                        correlation.settle(matches, ctx);
                    }
                    correlation.keep(unclear, ctx);
                }),
        );
    }

    fn decided(
        &mut self,
        early: &EarlyReceipt,
        candidates: &[ReceiptCandidate],
        stored: &[Option<Stored>],
    ) -> FoundMessage {
        let receipt = &early.receipt;
        let message = |stored: &Option<Stored>| fits(receipt, &stored.as_ref()?.message);
        let choice = match candidates.len() {
            0 => return FoundMessage::Nothing,
            1 => {
                let is_sure = stored.first().and_then(message) == Some(true);
                if !is_sure && !self.is_expected(early.operator, candidates[0].form) {
                    return FoundMessage::Nothing;
                }
                CandidateChoice::One { place: 0, is_sure }
            }
            _ => {
                let fits: Vec<Option<bool>> = stored.iter().map(message).collect();
                // What could not be read says nothing.
                if fits.len() == candidates.len() {
                    self.choose(early.operator, candidates, &fits)
                } else {
                    CandidateChoice::Unclear
                }
            }
        };
        let CandidateChoice::One { place, is_sure } = choice else {
            return FoundMessage::Unclear;
        };
        let mut one = candidates[place];
        // It may have ended since.
        let is_final = |stored: &Stored| stored.fin.is_some();
        one.done = stored
            .get(place)
            .and_then(Option::as_ref)
            .is_some_and(is_final)
            || one.in_memory
                && !(self.index.get(one.key))
                    .is_some_and(|entry| entry.id == one.id && !entry.done);
        self.take(early.operator, receipt, one, is_sure, is_sure)
    }
}
