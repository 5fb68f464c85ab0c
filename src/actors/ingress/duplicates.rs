//! The guard against repeated submissions, for accounts with `duplicate_window`.
//!
//! Ingest calls it for each batch of such an account ([`GuardedBatch::of`]), after all other checks and
//! before ids are given. A repetition of an accepted submission is answered without being stored. A
//! repetition of one that is still being stored waits for its outcome and shares it, so that of any
//! number of simultaneous equal submissions one is stored, or all are refused.
//!
//! Each node remembers what it has accepted, and reads the store's newest rows at start, whichever node
//! wrote them ([`restore`]). With Redis ([`shared`]) nodes ask each other as well.

mod memory;
mod shared;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

pub use self::memory::Duplicates;
use self::memory::{Later, State, SubmissionOutcome};
use crate::actors::context::NodeContext;
use crate::actors::runtime::locks::lock;
use crate::clock;
use crate::config::OnDuplicate;
use crate::content::{self, UDHI};
use crate::domain::duplicate::{self, DuplicateKey};
use crate::pb::{Message, SubmitResult};
use crate::smpp::{CommandStatus, Tlvs, tag};
use crate::store::{FinRow, Search, StoreError, Stored};
use crate::telemetry::metrics::ResultLabel;

/// Rows that are read from the store at once.
const PAGE: usize = 2_000;
/// The outcome of a submission that has none.
const GIVEN_UP: SubmissionOutcome = Err(CommandStatus::ESME_RSYSERR);
/// Optional parameters that distinguish submissions: references, the part of a longer text, ports,
/// text.
const COUNTS: &[u16] = &[
    tag::USER_MESSAGE_REFERENCE,
    tag::SAR_MSG_REF_NUM,
    tag::SAR_TOTAL_SEGMENTS,
    tag::SAR_SEGMENT_SEQNUM,
    tag::SOURCE_PORT,
    tag::DEST_PORT,
    tag::MESSAGE_PAYLOAD,
];

/// The right and the duty to report the outcome of a submission. Dropping it means that the submission
/// was refused.
pub struct Claim {
    duplicates: Arc<Duplicates>,
    key: DuplicateKey,
    window: Duration,
    outcome: watch::Sender<Option<SubmissionOutcome>>,
    /// Whether Redis has a mark of it.
    marked: bool,
}

/// The result of the guard for a batch.
#[derive(Default)]
pub struct GuardedBatch {
    claims: std::vec::IntoIter<Box<Claim>>,
    /// Duplicates by their sequence numbers, with the submission that they repeat.
    again: Vec<(u32, First)>,
    answer: Answer,
}

enum First {
    Known(SubmissionOutcome),
    Pending(Later),
}

/// How duplicates are answered.
#[derive(Clone, Copy, Default)]
struct Answer {
    same_id: bool,
    status: u32,
}

// === impl GuardedBatch ===

impl GuardedBatch {
    /// Takes the duplicates out of a batch that has passed all other checks. For an account without
    /// `duplicate_window` this costs one comparison.
    pub async fn of(
        node: &NodeContext,
        duplicates: &Arc<Duplicates>,
        sender: u32,
        is_group: bool,
        checked: &mut Vec<(u32, Box<Message>)>,
    ) -> Self {
        let (answer, mut found) = {
            let plan = node.plan();
            let account = plan.account_by_id(sender).map(|account| &account.config);
            let Some(account) = account.filter(|one| !one.duplicate_window.is_zero()) else {
                return Self::default();
            };
            let answer = Answer {
                same_id: account.duplicates == OnDuplicate::SameId,
                status: plan.config.smpp.duplicate_status,
            };
            let name = plan.name_of(sender);
            let keys: Vec<DuplicateKey> =
                checked.iter().map(|(_, one)| key_of(name, one)).collect();
            (answer, look(duplicates, &keys, account.duplicate_window))
        };
        shared::ask(duplicates, &node.metrics, &mut found).await;
        let mut admitted = Self {
            answer,
            ..Self::default()
        };
        let mut claims = Vec::with_capacity(found.len());
        let mut fresh = Vec::with_capacity(found.len());
        for ((sequence, message), found) in std::mem::take(checked).into_iter().zip(found) {
            match found {
                Ok(claim) => {
                    claims.push(claim);
                    fresh.push((sequence, message));
                }
                Err(first) => {
                    node.release(sender);
                    admitted.again.push((sequence, first));
                }
            }
        }
        // A submit_multi has one id: that of its new messages.
        admitted.answer.same_id &= !is_group || fresh.is_empty();
        admitted.claims = claims.into_iter();
        *checked = fresh;
        admitted
    }

    /// The claim of the next message that stayed in the batch, in their order.
    pub fn next_claim(&mut self) -> Option<Box<Claim>> {
        self.claims.next()
    }

    /// The answers to the duplicates, once the outcomes of the submissions that they repeat are known.
    pub async fn answers(self, node: &NodeContext) -> Vec<SubmitResult> {
        let mut results = Vec::with_capacity(self.again.len());
        for (sequence, first) in self.again {
            let outcome = match first {
                First::Known(outcome) => outcome,
                First::Pending(later) => outcome_of(later).await,
            };
            let answer = self.answer.to(sequence, outcome);
            let result = match (answer.status, outcome) {
                (0, _) => "same_id",
                (_, Ok(_)) => "refused",
                (_, Err(_)) => "failed",
            };
            if answer.status != 0 {
                node.metrics.refused(answer.status);
            }
            let duplicates = &node.metrics.duplicates;
            duplicates.get_or_create(&ResultLabel { result }).inc();
            results.push(answer);
        }
        results
    }

    /// The answers to duplicates as far as they are known already: the others count as refused.
    pub fn known_answers(&self) -> impl Iterator<Item = SubmitResult> {
        self.again.iter().map(|(sequence, first)| {
            let outcome = match first {
                First::Known(outcome) => *outcome,
                First::Pending(later) => later.borrow().unwrap_or(GIVEN_UP),
            };
            self.answer.to(*sequence, outcome)
        })
    }
}

// === impl Answer ===

impl Answer {
    fn to(self, sequence: u32, outcome: SubmissionOutcome) -> SubmitResult {
        let (status, id) = match outcome {
            Ok(id) if self.same_id => (0, id),
            Ok(_) => (self.status, 0),
            Err(status) => (status.0, 0),
        };
        SubmitResult {
            sequence,
            status,
            id,
            ..SubmitResult::default()
        }
    }
}

/// For each submission of a batch, the one that it repeats; a new one is claimed.
fn look(
    duplicates: &Arc<Duplicates>,
    keys: &[DuplicateKey],
    window: Duration,
) -> Vec<Result<Box<Claim>, First>> {
    let now = duplicates.now();
    let mut state = lock(&duplicates.state);
    let look = |&key: &DuplicateKey| {
        if let Some(id) = state.recent.find(key, now) {
            return Err(First::Known(Ok(id)));
        }
        if let Some(later) = state.pending.get(&key) {
            return Err(First::Pending(later.clone()));
        }
        let (outcome, later) = watch::channel(None);
        state.pending.insert(key, later);
        Ok(Box::new(Claim {
            duplicates: Arc::clone(duplicates),
            key,
            window,
            outcome,
            marked: false,
        }))
    };
    keys.iter().map(look).collect()
}

async fn outcome_of(mut later: Later) -> SubmissionOutcome {
    match later.wait_for(Option::is_some).await {
        Ok(outcome) => outcome.unwrap_or(GIVEN_UP),
        Err(_) => GIVEN_UP,
    }
}

// === impl Claim ===

impl Claim {
    /// It was not stored, and this was the response.
    pub fn refuse(self, status: CommandStatus) {
        self.settle(Err(status), |_| {});
    }

    /// Another node has accepted it before, under this id.
    fn adopt(self, id: u64) {
        self.settle(Ok(id), |_| {});
    }

    fn settle(&self, outcome: SubmissionOutcome, note: impl FnOnce(&mut State)) {
        {
            let mut state = lock(&self.duplicates.state);
            state.pending.remove(&self.key);
            note(&mut state);
        }
        self.outcome.send_replace(Some(outcome));
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let told = *self.outcome.borrow();
        if told.is_none() {
            self.settle(GIVEN_UP, |_| {});
        }
        if self.marked && !matches!(told, Some(Ok(_))) {
            shared::withdraw(&self.duplicates, self.key);
        }
    }
}

/// Messages were stored under these ids, with which repetitions are answered from now on.
pub fn accepted(
    node: &NodeContext,
    duplicates: &Duplicates,
    claims: impl Iterator<Item = (Box<Claim>, u64)>,
) {
    let mut marks = Vec::new();
    for (claim, id) in claims {
        let now = duplicates.now();
        let until = now.saturating_add(millis(claim.window));
        let most = node.plan().config.smpp.duplicate_entries;
        claim.settle(Ok(id), |state| {
            state.keep(claim.key, id, until, now, most, &node.metrics);
        });
        if claim.marked {
            marks.push((claim.key, id, claim.window));
        }
    }
    shared::publish(duplicates, marks);
}

/// Reads the messages accepted within the longest window of any account: newest rows first, and no more
/// than there is room for. Blocks; called before any session may submit.
///
/// # Errors
/// The store cannot be read; rows read before stay.
pub fn restore(node: &NodeContext, duplicates: &Duplicates) -> Result<(), StoreError> {
    let plan = node.full_plan();
    let windows = plan.accounts().map(|one| one.config.duplicate_window);
    let longest = windows.max().unwrap_or_default();
    if longest.is_zero() {
        return Ok(());
    }
    let wall = clock::now_ms();
    let mut left = plan.config.smpp.duplicate_entries;
    let mut search = Search {
        since: Some(wall - millis(longest)),
        ..Search::default()
    };
    let mut found: Vec<(DuplicateKey, u64, i64)> = Vec::new();
    while left > 0 {
        search.limit = PAGE.min(left);
        let page = node.store.search(search.clone()).wait()?;
        left -= page.messages.len();
        // What was refused may be submitted again.
        let is_refused = |stored: &&Stored| stored.fin.as_ref().is_some_and(FinRow::is_taken_back);
        let accepted = page.messages.iter().filter(|stored| !is_refused(stored));
        let messages = accepted.map(|stored| &stored.message);
        found.extend(messages.filter_map(|message| {
            let account = plan.account_by_id(message.sender)?;
            let ends = message.accepted_at + millis(account.config.duplicate_window);
            let counts = ends > wall && !content::is_internal(message) && !message.text_erased;
            let key = || key_of(plan.name_of(message.sender), message);
            counts.then(|| {
                (
                    key(),
                    crate::actors::receipts::shown_id::number(message),
                    ends - wall,
                )
            })
        }));
        search.before = page.next_before;
        if search.before.is_none() {
            break;
        }
    }
    if left == 0 {
        tracing::warn!(
            "smpp.duplicate_entries is too small for the submissions within the duplicate window"
        );
    }
    let most = plan.config.smpp.duplicate_entries;
    let now = duplicates.now();
    let mut state = lock(&duplicates.state);
    for (key, id, lasts) in found.into_iter().rev() {
        state.keep(key, id, now + lasts, now, most, &node.metrics);
    }
    tracing::info!(entries = state.recent.len(), "duplicate guard read");
    Ok(())
}

fn key_of(sender: &str, message: &Message) -> DuplicateKey {
    let submission = duplicate::SubmissionIdentity {
        sender,
        source: &message.source,
        destination: &message.destination,
        data_coding: message.data_coding.to_le_bytes()[0],
        udhi: message.esm_class & UDHI != 0,
        short_message: &message.short_message,
    };
    let tlvs = Tlvs::from_raw(message.tlvs.clone());
    let parameters = tlvs.iter().filter(|(tag, _)| COUNTS.contains(tag));
    duplicate::key(&submission, parameters)
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
