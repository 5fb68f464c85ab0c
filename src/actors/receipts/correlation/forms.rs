//! `message_id = "auto"`: in which form an operator's receipts have the ids of its answers.
//!
//! The first receipt that matches in only one form determines the form. It is sure when the address in a receipt has shown
//! it, or when many have matched. Then later receipts are looked up in
//! that form alone, so that an old decimal id is never mistaken for another message's hexadecimal one; until then
//! [`super::candidates`] decides. The match may have been a coincidence: a receipt that matches nothing in that form is
//! looked up in the others when its hold is over, as is the id in its text where receipted_message_id has another one. If one matches, Correlation learns the other form, logs it, stores
//! it, and looks up the parked receipts again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::time::Instant;

use super::addresses::{fits, named, names_a_subscriber};
use super::index::{self, CorrelationKey, IdForm};
use super::{Correlation, EarlyReceipt, FoundMessage, Match, earliest};
use crate::clock;
use crate::config::MessageIdForm;
use crate::pb::OperatorReceipt;
use crate::store::Stored;

/// After this many matching receipts a form is established: a match in another form must fit the
/// addresses, too.
const ESTABLISHED: u32 = 100;
/// A change is logged at most once in this time per operator.
const WARN_AGAIN: Duration = Duration::from_secs(60);

/// What is known of an operator's ids.
pub(super) struct Learned {
    pub(super) form: IdForm,
    /// Receipts that have matched since this process started.
    fitted: u32,
    /// An address has shown it, or many receipts have.
    is_sure: bool,
    warned: Option<Instant>,
}

/// A message that a receipt matches in a form that was not expected.
#[derive(Debug, Clone, Copy)]
struct Otherwise {
    /// `None` by the id in the text, which says nothing of the form.
    form: Option<IdForm>,
    key: CorrelationKey,
    id: u64,
}

impl Correlation {
    /// The forms in which the ids of an operator's receipts are looked up.
    pub(super) fn forms_of(&self, operator: u32) -> Vec<IdForm> {
        match (self.form_of(operator), self.learned.get(&operator)) {
            (MessageIdForm::Auto, Some(learned)) if learned.is_sure => vec![learned.form],
            (form, _) => index::forms(form).to_vec(),
        }
    }

    /// Whether ids are of this form, as far as is known.
    pub(super) fn is_expected(&self, operator: u32, form: IdForm) -> bool {
        let known = self.learned.get(&operator);
        known.is_none_or(|known| known.form == form)
            || self.form_of(operator) != MessageIdForm::Auto
    }

    /// Takes over the forms from the store.
    pub(super) fn remember_forms(&mut self, forms: Vec<(u32, u8)>) {
        for (operator, number) in forms {
            if let Some(form) = IdForm::of_number(number) {
                let learned = Learned {
                    form,
                    fitted: 0,
                    is_sure: false,
                    warned: None,
                };
                self.learned.entry(operator).or_insert(learned);
            }
        }
    }

    /// A receipt matched in this form. `is_clear`: in this one only; `is_sure`: its address says so.
    pub(super) fn fitted(&mut self, operator: u32, form: IdForm, is_clear: bool, is_sure: bool) {
        if self.form_of(operator) != MessageIdForm::Auto {
            return;
        }
        match self.learned.get_mut(&operator) {
            Some(learned) if learned.form == form => {
                learned.fitted = learned.fitted.saturating_add(1);
                if !learned.is_sure && (is_sure || learned.fitted >= ESTABLISHED) {
                    learned.is_sure = true;
                    self.parked_due = true;
                }
            }
            Some(_) if !is_sure => {}
            None if !is_clear => {}
            _ => self.learn(operator, form, is_sure),
        }
    }

    fn learn(&mut self, operator: u32, form: IdForm, is_sure: bool) {
        let now = Instant::now();
        let before = self.learned.remove(&operator);
        let mut warned = before.as_ref().and_then(|before| before.warned);
        if let Some(before) = &before {
            self.node.metrics.id_forms_changed.inc();
            if warned.is_none_or(|at| now.duration_since(at) >= WARN_AGAIN) {
                warned = Some(now);
                tracing::warn!(
                    operator = %self.node.name_of(operator),
                    before = before.form.in_words(),
                    now = form.in_words(),
                    "a receipt was found by another form of its message id; if both forms occur, \
                     the operator mixes them: set message_id of the operator where one is wrong"
                );
            }
        }
        let learned = Learned {
            form,
            fitted: 1,
            is_sure,
            warned,
        };
        self.learned.insert(operator, learned);
        self.parked_due = true;
        let kept = self
            .node
            .store
            .keep_message_id_form(operator, form.number());
        actix::spawn(async move {
            if let Err(error) = kept.await {
                tracing::warn!(%error, "the form of an operator's message ids could not be stored");
            }
        });
    }

    /// The keys of a receipt in the forms that are not expected of its operator, and of the id in its text.
    fn other_keys(
        &self,
        operator: u32,
        receipt: &OperatorReceipt,
    ) -> Vec<(Option<IdForm>, CorrelationKey)> {
        let mut keys = Vec::new();
        if let (MessageIdForm::Auto, Some(learned)) =
            (self.form_of(operator), self.learned.get(&operator))
        {
            let key = |form: IdForm| {
                let answered = index::as_answered(&receipt.operator_message_id, form)?;
                Some(self.index.key(operator, &answered, MessageIdForm::Auto))
            };
            let expected = key(learned.form);
            let forms = index::forms(MessageIdForm::Auto).iter();
            keys.extend(forms.filter_map(|form| {
                let key = key(*form)?;
                (expected != Some(key)).then_some((Some(*form), key))
            }));
        }
        if !receipt.extras().text_id.is_empty() {
            let by_text = self.keys(operator, &receipt.extras().text_id).into_iter();
            keys.extend(by_text.map(|(_, key)| (None, key)));
        }
        keys
    }

    /// Looks up receipts whose hold is over in the other forms; parks those that do not match.
    pub(super) fn park(&mut self, receipts: Vec<EarlyReceipt>, ctx: &mut Context<Self>) {
        let mut keys: Vec<Vec<(Option<IdForm>, CorrelationKey)>> =
            Vec::with_capacity(receipts.len());
        for early in &receipts {
            keys.push(self.other_keys(early.operator, &early.receipt));
        }
        if keys.iter().all(Vec::is_empty) {
            return self.keep(receipts, ctx);
        }
        let node = Arc::clone(&self.node);
        let stored: Vec<CorrelationKey> =
            if self.index.spilled == 0 && !node.local_lease.is_shared() {
                Vec::new()
            } else {
                keys.iter().flatten().map(|(_, key)| *key).collect()
            };
        let in_memory: Vec<Vec<Option<u64>>> = keys
            .iter()
            .map(|keys| keys.iter().map(|(_, key)| self.open(*key)).collect())
            .collect();
        let oldest = self.oldest();
        let look = async move {
            let mut found = if stored.is_empty() {
                Vec::new()
            } else {
                node.store
                    .find_correlations(stored, oldest)
                    .await
                    .unwrap_or_default()
            }
            .into_iter();
            let (mut asked, mut rest) = (Vec::new(), Vec::new());
            for ((early, keys), in_memory) in receipts.into_iter().zip(keys).zip(in_memory) {
                let stored: Vec<Option<u64>> = found.by_ref().take(keys.len()).collect();
                let mut candidates: Vec<Otherwise> = Vec::new();
                for (at, ((form, key), id)) in keys.into_iter().zip(in_memory).enumerate() {
                    if let Some(id) = id.or_else(|| stored.get(at).copied().flatten())
                        && !candidates.iter().any(|other| other.id == id)
                    {
                        candidates.push(Otherwise { form, key, id });
                    }
                }
                if candidates.is_empty() {
                    rest.push(early);
                } else {
                    asked.push((early, candidates));
                }
            }
            let ids: Vec<u64> = asked
                .iter()
                .flat_map(|(_, candidates)| candidates)
                .map(|one| one.id)
                .collect();
            let loaded = if ids.is_empty() {
                Vec::new()
            } else {
                node.store.load(ids).await.unwrap_or_default()
            };
            (asked, loaded, rest)
        };
        ctx.spawn(
            look.into_actor(self)
                .map(|(asked, loaded, mut rest), correlation, ctx| {
                    let mut loaded = loaded.into_iter();
                    let mut matches = Vec::new();
                    for (early, candidates) in asked {
                        let stored: Vec<Option<Stored>> =
                            loaded.by_ref().take(candidates.len()).collect();
                        let Some(one) = correlation.believed(&early, &candidates, &stored) else {
                            rest.push(early);
                            continue;
                        };
                        if correlation.ends(&early.receipt) {
                            correlation.index.mark_done(one.key, one.id);
                        }
                        let known = correlation.learned.get(&early.operator);
                        if let Some(form) = one.form
                            && known.is_none_or(|known| known.form != form)
                        {
                            let is_sure = names_a_subscriber(&early.receipt);
                            correlation.learn(early.operator, form, is_sure);
                        }
                        matches.push(Match::of_early(early, one.id, one.key));
                    }
                    if !matches.is_empty() {
                        correlation.settle(matches, ctx);
                    }
                    correlation.keep(rest, ctx);
                }),
        );
    }

    /// The message that waits for its receipt under this key in memory.
    fn open(&mut self, key: CorrelationKey) -> Option<u64> {
        let entry = self.index.get(key).filter(|entry| !entry.done)?;
        Some(entry.id)
    }

    /// The match by an unexpected form of the id, or by that in the text, that is accepted: the address in the receipt says
    /// which of several it is; the only one must not be another subscriber's, and once the expected form is established
    /// the address must be said.
    fn believed(
        &self,
        early: &EarlyReceipt,
        candidates: &[Otherwise],
        stored: &[Option<Stored>],
    ) -> Option<Otherwise> {
        let receipt = &early.receipt;
        let fitting = |one: &Option<Stored>| fits(receipt, &one.as_ref()?.message);
        let place = match candidates {
            [only] => {
                let known = self.learned.get(&early.operator);
                let is_established = known.is_some_and(|known| known.fitted >= ESTABLISHED);
                let is_possible =
                    || !is_established || only.form.is_none() || receipt.source.is_empty();
                let is_believed = stored.first().and_then(fitting).unwrap_or_else(is_possible);
                is_believed.then_some(0)
            }
            _ => named(stored.iter().map(fitting)),
        }?;
        let is_open = stored.get(place)?.as_ref()?.fin.is_none();
        is_open.then_some(candidates[place])
    }

    /// The keys under which a parked receipt is found.
    pub(super) fn parked_keys(
        &self,
        operator: u32,
        theirs: &[u8],
        receipt: &OperatorReceipt,
    ) -> Vec<CorrelationKey> {
        if receipt.unclear {
            return Vec::new();
        }
        let mut keys = self.keys(operator, theirs);
        if !receipt.extras().text_id.is_empty() {
            keys.extend(self.keys(operator, &receipt.extras().text_id));
        }
        keys.retain(|(form, _)| self.is_expected(operator, *form));
        keys.into_iter().map(|(_, key)| key).collect()
    }

    /// Looks up parked receipts again: when the form of ids is read or changes.
    pub(super) fn try_parked(&mut self, ctx: &mut Context<Self>) {
        let now = clock::now_ms();
        let mut matches = Vec::new();
        let mut settled = HashSet::new();
        for late in self.parked.since(0, usize::MAX) {
            // By the forms known now.
            let theirs = late.receipt.operator_message_id.clone();
            let keys = self.parked_keys(late.operator, &theirs, &late.receipt);
            self.parked.set_keys(late.row, keys);
            let found = self.find(late.operator, &late.receipt);
            let may_be = |id: u64| {
                let recent = self.recent.get(&id);
                let message = recent.map(|recent| recent.message.as_ref());
                late.at >= earliest(id, message, now)
            };
            match found {
                FoundMessage::Open(id, key) if may_be(id) => {
                    self.parked.forget(late.row);
                    settled.insert(late.row);
                    matches.push(Match::of_parked(late, id, Some(key)));
                }
                FoundMessage::Open(id, key) => self.index.reopen(key, id),
                FoundMessage::Repeated(_) | FoundMessage::Nothing | FoundMessage::Unclear => {}
            }
        }
        if !matches.is_empty() {
            self.settle(matches, ctx);
        }
        if self.index.spilled > 0 || self.node.local_lease.is_shared() {
            let rest = self.parked.since(0, usize::MAX);
            self.find_all_parked(rest, ctx);
        }
    }
}
