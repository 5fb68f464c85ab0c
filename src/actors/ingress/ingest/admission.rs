//! A batch of submissions in the stages of [`accept`](super::accept).
//!
//! Invariants: each submission is answered once. What was taken for a submission that is refused (its
//! place under the account's limit, its claim among duplicates, its charge) is given back, even if the
//! batch is dropped halfway.

use std::sync::Arc;
use std::time::Instant;

use super::accepted::{Accepted, Taken};
use super::check::{SubmitTokens, alphabet_of, check, full, route_by_id};
use super::entered;
use super::in_line::{leave, wait_in_line};
use super::intake::Intake;
use super::keys::Keys;
use crate::actors::billing::balance::Reservation;
use crate::actors::context::declined::Declined;
use crate::actors::context::traced::{self, SubmissionTimes};
use crate::actors::ingress::duplicates::{self, Claim, GuardedBatch};
use crate::actors::multipart::stage::{self, Staged};
use crate::actors::queue::dispatch;
use crate::actors::receipts::{final_state, shown_id};
use crate::clock;
use crate::domain::trace::Ratio;
use crate::pb::{
    Alphabet, Final, Message, ReplayOrder, Submission, SubmitBatch, SubmitCause, SubmitResult,
};
use crate::smpp::CommandStatus;
use crate::store::{ChangeRow, StoreError, Written};

/// A message that has passed the checks, with the sequence number of its submission.
type Checked = (u32, Box<Message>);

pub(super) struct Admission {
    intake: Arc<Intake>,
    sender: u32,
    peer: String,
    is_group: bool,
    /// The queue that the messages go to, whatever routes say; 0 for none.
    to: u32,
    /// Set for replayed messages: they were charged and judged when they came.
    replay: Option<ReplayOrder>,
    /// Of requests with an Idempotency-Key: their answers are written with the messages.
    keys: Keys,
    /// Final states of the messages that this one answers: written with it.
    ends: Vec<Final>,
    began: Instant,
    /// When the batch was read and when its messages were routed, in Unix microseconds.
    read: i64,
    routed: i64,
    /// Places under the sender's limit that are reserved but not durable yet.
    places: usize,
    /// Messages that wait for a look-up, while they are not durable.
    in_line: Vec<u64>,
    admitted: GuardedBatch,
    reservation: Reservation,
    results: Vec<SubmitResult>,
    was_written: bool,
    /// Whether [`Self::ends`] are written.
    ended: bool,
}

// === impl Admission ===

impl Admission {
    /// The stages of a batch, and its submissions.
    pub(super) fn begin(
        intake: Arc<Intake>,
        batch: SubmitBatch,
        keys: Keys,
        ends: Vec<Final>,
    ) -> (Self, Vec<Submission>) {
        let alphabet = match (batch.encoded, batch.alphabet_is_fixed) {
            (true, _) => Alphabet::Gsm,
            (_, true) => batch.alphabet(),
            _ => alphabet_of(&intake.node, batch.sender, batch.alphabet),
        };
        let mut submissions = batch.submissions;
        if alphabet != Alphabet::Gsm && batch.replay.is_none() {
            let messages = submissions.iter_mut().flat_map(|one| &mut one.message);
            messages.for_each(|message| message.set_alphabet(alphabet));
        }
        let admission = Self {
            intake,
            sender: batch.sender,
            peer: batch.peer,
            is_group: batch.group,
            to: batch.to,
            replay: batch.replay,
            keys,
            ends,
            began: Instant::now(),
            read: clock::now_us(),
            routed: 0,
            places: 0,
            in_line: Vec::new(),
            admitted: GuardedBatch::default(),
            reservation: Reservation::default(),
            results: Vec::with_capacity(submissions.len()),
            was_written: false,
            ended: false,
        };
        (admission, submissions)
    }

    /// Unix milliseconds at which the whole batch is accepted.
    fn now(&self) -> i64 {
        self.read / 1_000
    }

    /// Checks rate, fields, times, addresses, routes and limits of the account.
    pub(super) async fn check(&mut self, submissions: Vec<Submission>) -> Vec<Checked> {
        let mut tokens = match &self.replay {
            None => SubmitTokens::take(&self.intake.node, self.sender, &submissions).await,
            Some(_) => SubmitTokens::UNLIMITED,
        };
        let (now, replay, to) = (self.now(), self.replay.as_ref(), self.to);
        let mut checked = Vec::with_capacity(submissions.len());
        for Submission { sequence, message } in submissions {
            let mut message = message.unwrap_or_default();
            let mut verdict = match tokens.spend(&message) {
                Ok(()) => check(&self.intake, self.sender, &mut message, replay, to, now),
                refused => refused,
            };
            if verdict.is_ok() {
                let node = &self.intake.node;
                verdict = tokens.spend_rest(node, self.sender, &message).await;
                if verdict.is_err() {
                    node.release(self.sender);
                }
            }
            match verdict {
                Ok(()) => {
                    self.places += 1;
                    checked.push((sequence, message));
                }
                Err(declined) => {
                    self.turned_away(&message, declined.status.0);
                    self.results.push(declined.result(sequence));
                }
            }
        }
        checked
    }

    /// Tells those who watch of a submission that was refused before it had an id.
    fn turned_away(&self, message: &Message, status: u32) {
        traced::turned_away(&self.intake.node, message, self.sender, &self.peer, status);
    }

    /// Checks limits between addresses and executes keywords.
    pub(super) async fn screen(&mut self, checked: &mut Vec<Checked>) {
        if self.replay.is_some() || !self.intake.node.plan().screens() {
            return;
        }
        let intake = &self.intake;
        let watches = &intake.node.watches;
        let is_watched = |one: &&Checked| watches.wants(&one.1, self.sender);
        let watched: Vec<Checked> = if watches.is_idle() {
            Vec::new()
        } else {
            checked.iter().filter(is_watched).cloned().collect()
        };
        let refused = intake
            .policy
            .screen(&intake.node, self.sender, checked)
            .await;
        self.places = checked.len();
        for (sequence, declined) in refused {
            if let Some((_, message)) = watched.iter().find(|(one, _)| *one == sequence) {
                self.turned_away(message, declined.status.0);
            }
            self.results.push(declined.result(sequence));
        }
    }

    /// Takes out duplicates.
    pub(super) async fn take_duplicates_out(&mut self, checked: &mut Vec<Checked>) {
        if self.replay.is_none() && self.ends.is_empty() {
            let Intake {
                node, duplicates, ..
            } = self.intake.as_ref();
            let admitted = GuardedBatch::of(node, duplicates, self.sender, self.is_group, checked);
            self.admitted = admitted.await;
            self.places = checked.len();
        }
    }

    /// Gives ids, and queues that depend on them; the result is empty if no ids can be given.
    pub(super) fn identify(&mut self, mut checked: Vec<Checked>) -> Vec<Checked> {
        if checked.is_empty() {
            return checked;
        }
        let Ok(ids) = self.intake.node.next_ids(self.now(), checked.len()) else {
            for (sequence, _) in checked {
                let claim = self.admitted.next_claim();
                self.refuse(sequence, CommandStatus::ESME_RSYSERR.into(), 1, claim);
            }
            return Vec::new();
        };
        let node = &self.intake.node;
        let plan = node.plan();
        let ratio = if node.traces.is_on() {
            plan.trace_ratio(self.sender)
        } else {
            Ratio::NONE
        };
        for ((_, message), id) in checked.iter_mut().zip(ids) {
            message.id = id;
            let is_ordered = self.to != 0
                || self.replay.as_ref().is_some_and(|order| order.to != 0)
                || message.copied.is_some();
            if !is_ordered {
                route_by_id(node, message);
            }
            if wait_in_line(&self.intake, &plan, message, is_ordered) {
                self.in_line.push(id);
            }
            traced::pick(node, ratio, message);
        }
        if self.is_group {
            shown_id::group(&mut checked);
        }
        checked
    }

    /// Prepares messages in the form that their peers want: whole, in parts, or in the queue where
    /// parts wait.
    pub(super) fn stage(&mut self, checked: Vec<Checked>) -> Vec<Taken> {
        self.routed = clock::now_us();
        let mut taken = Vec::with_capacity(checked.len());
        let intake = Arc::clone(&self.intake);
        let plan = intake.node.plan();
        for (sequence, message) in checked {
            let claim = self.admitted.next_claim();
            match Staged::new(&self.intake.node, message) {
                Ok(mut staged) => {
                    if self.replay.is_none() {
                        // What was divided costs what it was divided into.
                        staged.set_price(|message| plan.price_of(message));
                    }
                    self.places += staged.counted().count() - 1;
                    taken.push(Taken {
                        sequence,
                        staged,
                        claim,
                    });
                }
                Err(error) => {
                    tracing::warn!(sender = %self.intake.node.name_of(self.sender), %error, "a text cannot be written for its peer");
                    self.refuse(sequence, stage::declined_for(&error), 1, claim);
                }
            }
        }
        taken
    }

    /// Charges the account.
    pub(super) async fn charge(&mut self, taken: &mut Vec<Taken>) {
        if self.replay.is_some() || taken.is_empty() {
            return;
        }
        let messages = taken.iter().filter_map(|taken| taken.staged.message());
        let Intake { node, balance, .. } = self.intake.as_ref();
        self.reservation = Reservation::open(node, balance, self.sender, messages).await;
        if !self.reservation.is_charged() {
            return;
        }
        taken.retain_mut(|taken| {
            let message = taken.staged.message();
            let charged =
                message.map(|message| self.reservation.charge(&self.intake.node, message));
            let Some(Err(declined)) = charged else {
                return true;
            };
            self.refuse_taken(taken, declined);
            false
        });
    }

    /// Makes the messages durable when their queues have room, or refuses them.
    pub(super) async fn write(&mut self, taken: &mut Vec<Taken>) {
        if taken.is_empty() {
            return;
        }
        let dispatches = taken
            .iter_mut()
            .flat_map(|taken| taken.staged.dispatches_mut());
        let queues = dispatches.map(|dispatch| dispatch.queue());
        let _entered = entered::enter(&self.intake.node, queues).await;
        let staged = taken.iter().map(|taken| &taken.staged);
        let mut rows = stage::rows(staged, self.intake.node.plan().divided, self.now());
        rows.charge = self.reservation.take_rows();
        let ends = self.ends.iter().map(|ended| final_state::row(ended, 0));
        rows.fin.extend(ends);
        if let Some(order) = &self.replay {
            rows.change = replays(taken, &order.by, self.now());
        }
        if !self.keys.are_none() {
            let mut results = self.results.clone();
            results.extend(taken.iter().map(Taken::result));
            results.extend(self.admitted.known_answers());
            rows.idempotency.extend(self.keys.rows(results));
        }
        let dispatches = taken
            .iter_mut()
            .flat_map(|taken| taken.staged.dispatches_mut());
        // From now on only an answer of the store gives places back.
        self.places = 0;
        let written = dispatch::write(&self.intake.node, rows, dispatches).await;
        self.was_written = true;
        let times = SubmissionTimes {
            read: self.read,
            routed: self.routed,
            durable: clock::now_us(),
        };
        match written {
            Ok(written) => self.written(taken, &written, times),
            Err(error) => self.not_written(taken, &error, times),
        }
    }

    fn written(&mut self, taken: &mut Vec<Taken>, written: &Written, times: SubmissionTimes) {
        let mut rejected = written.rejected.iter();
        if rejected.all(|row| row.table != "idempotency") {
            self.keys.kept();
        }
        if !self.ends.is_empty() {
            self.ended = true;
            let node = &self.intake.node;
            final_state::concluded(node, &mut self.ends, written, times.routed);
        }
        let rejected: Vec<u64> = written.rejected.iter().map(|row| row.id).collect();
        if !rejected.is_empty() {
            taken.retain(|taken| {
                let is_bad = taken.staged.ids().any(|id| rejected.contains(&id));
                if is_bad {
                    taken.staged.give_up(&self.intake.node, &rejected);
                    let id = taken.staged.id();
                    let was_charged = !rejected.contains(&id);
                    self.reservation
                        .give_back(&self.intake.node, id, was_charged);
                    let status = CommandStatus::ESME_RSYSERR;
                    self.trace(taken, times, Some(status.0));
                    self.results
                        .push(Declined::from(status).result(taken.sequence));
                }
                !is_bad
            });
        }
        for taken in taken.iter() {
            self.trace(taken, times, None);
        }
        self.results.extend(taken.iter().map(Taken::result));
        let claims = taken.iter_mut().filter_map(Taken::claimed);
        duplicates::accepted(&self.intake.node, &self.intake.duplicates, claims);
    }

    fn not_written(&mut self, taken: &mut Vec<Taken>, error: &StoreError, times: SubmissionTimes) {
        let declined = match error {
            StoreError::Full { .. } => full(SubmitCause::Disk),
            _ => CommandStatus::ESME_RSYSERR.into(),
        };
        self.intake.refusals.note(taken.len(), error);
        self.reservation.refused(error);
        for mut taken in taken.drain(..) {
            self.trace(&taken, times, Some(declined.status.0));
            self.refuse_taken(&mut taken, declined);
        }
    }

    /// All answers, once the outcomes of the submissions that duplicates repeat are known.
    pub(super) async fn answer(mut self, taken: Vec<Taken>) -> Accepted {
        let refused = self.results.iter().filter(|result| result.status != 0);
        let count = refused.clone().count() as u64;
        let metrics = &self.intake.node.metrics;
        metrics.accepted.inc_by(self.results.len() as u64 - count);
        refused.for_each(|result| metrics.refused(result.status));
        let admitted = std::mem::take(&mut self.admitted);
        let mut results = std::mem::take(&mut self.results);
        results.extend(admitted.answers(&self.intake.node).await);
        std::mem::take(&mut self.keys).end(&results).await;
        if self.was_written {
            let took = self.began.elapsed().as_secs_f64();
            let mut messages = taken.iter().filter_map(|taken| taken.staged.message());
            let trace = messages.find_map(traced::context_of);
            let ingest_seconds = &self.intake.node.metrics.ingest_seconds;
            ingest_seconds.observe(took, trace.map(|context| context.trace_id));
        }
        // Both in the order of ids.
        let accepted = |id: &u64| taken.binary_search_by_key(id, |taken| taken.staged.id());
        self.in_line.retain(|id| accepted(id).is_err());
        Accepted::new(results, self.ended, Arc::clone(&self.intake.node), taken)
    }

    fn refuse_taken(&mut self, taken: &mut Taken, declined: Declined) {
        let places = taken.staged.counted().count();
        let claim = taken.claim.take();
        self.refuse(taken.sequence, declined, places, claim);
    }

    /// Gives back what one submission has taken, except its charge, and answers it.
    fn refuse(
        &mut self,
        sequence: u32,
        declined: Declined,
        places: usize,
        claim: Option<Box<Claim>>,
    ) {
        (0..places).for_each(|_| self.intake.node.release(self.sender));
        self.places = self.places.saturating_sub(places);
        if let Some(claim) = claim {
            claim.refuse(declined.status);
        }
        self.results.push(declined.result(sequence));
    }

    fn trace(&self, taken: &Taken, times: SubmissionTimes, refused: Option<u32>) {
        if let Some(message) = taken.staged.message() {
            traced::submitted(&self.intake.node, message, times, &self.peer, refused);
            let parts = taken.staged.parts();
            parts.for_each(|part| traced::divided(&self.intake.node, part, times));
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        (0..self.places).for_each(|_| self.intake.node.release(self.sender));
        leave(&self.intake.node, &self.in_line);
    }
}

/// Rows for the histories of failed messages that name the messages replaying them.
fn replays(taken: &[Taken], by: &str, now: i64) -> Vec<ChangeRow> {
    let messages = taken.iter().filter_map(|taken| taken.staged.message());
    messages
        .filter_map(|message| {
            let old = message.replay_of.as_ref()?;
            Some(ChangeRow::replayed(old.id, now, by, message.id))
        })
        .collect()
}
