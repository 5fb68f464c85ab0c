//! Takes submissions in: validates, routes through the current plan, makes them durable, answers,
//! and hands them to their queues.
//!
//! One per session arbiter, so that a batch crosses threads only twice: to the store's writer and
//! to the queue. The answer is given after the commit and never before.

mod check;

use std::sync::Arc;
use std::time::Instant;

use actix::{Actor, Context, Handler, ResponseFuture, Supervised};

use self::check::{Tokens, check, route_by_id};
use crate::actors::balance::Reservation;
use crate::actors::context::NodeContext;
use crate::actors::dispatch::{pass_on, write};
use crate::actors::duplicates::{self, Admitted, Claim};
use crate::actors::policy;
use crate::actors::rewrite;
use crate::actors::shown_id;
use crate::actors::stage::{self, Staged};
use crate::actors::timed_mailbox::measured;
use crate::actors::traced::{self, Submitted};
use crate::clock;
use crate::content;
use crate::domain::trace::Ratio;
use crate::pb::{Alphabet, Kind, Message, Submission, SubmitBatch, SubmitReply, SubmitResult};
use crate::smpp::{CommandStatus, DeliverSm};
use crate::store::{ChangeRow, StoreError};

/// Socket reads of one arbiter's sessions.
pub const MAILBOX: usize = 4096;

pub struct Ingest {
    node: Arc<NodeContext>,
}

/// The answers to a batch, and what happens after they are written: the messages go to their
/// queues when this is dropped. So no receipt overtakes the answer that it needs, and nothing stays
/// behind when the session that asked is gone.
pub struct Accepted {
    pub reply: SubmitReply,
    node: Arc<NodeContext>,
    taken: Vec<Taken>,
}

/// An accepted message, and the sequence number of its submission.
struct Taken {
    sequence: u32,
    staged: Staged,
    /// Held until its outcome is known, where duplicates are looked for.
    claim: Option<Box<Claim>>,
}

/// Not in the table of `pb.rs`: the answer carries more than a protobuf struct can.
impl actix::Message for SubmitBatch {
    type Result = Accepted;
}

// === impl Accepted ===

impl Accepted {
    fn new(results: Vec<SubmitResult>, node: Arc<NodeContext>, taken: Vec<Taken>) -> Self {
        Self {
            reply: SubmitReply { results },
            node,
            taken,
        }
    }
}

impl Drop for Accepted {
    fn drop(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        let count = taken.iter().map(|taken| taken.staged.dispatches()).sum();
        let dispatches = taken
            .into_iter()
            .flat_map(|taken| taken.staged.into_parcels());
        pass_on(&self.node, count, dispatches);
    }
}

// === impl Taken ===

impl Taken {
    /// The number by which its sender knows it.
    fn shown_id(&self) -> u64 {
        let message = self.staged.message();
        message.map_or(self.staged.id(), shown_id::number)
    }

    /// Its claim, with what to say of it.
    fn claimed(&mut self) -> Option<(Box<Claim>, u64)> {
        let id = self.shown_id();
        self.claim.take().map(|claim| (claim, id))
    }
}

// === impl Ingest ===

impl Ingest {
    pub fn new(node: Arc<NodeContext>) -> Self {
        Self { node }
    }
}

/// Accepts a batch. Every submission is answered; the accepted ones only after the commit.
pub async fn accept(node: Arc<NodeContext>, batch: SubmitBatch) -> Accepted {
    let started = Instant::now();
    let read = clock::now_us();
    let now = read / 1_000;
    let sender = batch.sender;
    let peer = batch.peer;
    let is_group = batch.group;
    let count = batch.submissions.len();
    let alphabet = alphabet_of(&node, sender, batch.alphabet);
    let mut submissions = batch.submissions;
    let replay = batch.replay;
    if alphabet != Alphabet::Gsm && replay.is_none() {
        let messages = submissions.iter_mut().flat_map(|one| &mut one.message);
        messages.for_each(|message| message.set_alphabet(alphabet));
    }
    let mut tokens = match &replay {
        None => Tokens::take(&node, sender, &submissions).await,
        // It was paid for when it came.
        Some(_) => Tokens::UNLIMITED,
    };
    let mut results = Vec::with_capacity(count);
    let mut checked: Vec<(u32, Box<Message>)> = Vec::with_capacity(count);
    for Submission { sequence, message } in submissions {
        let mut message = message.unwrap_or_default();
        let verdict = match tokens.spend(&message) {
            false => Err(CommandStatus::ESME_RTHROTTLED),
            true => check(&node, sender, &mut message, replay.as_ref(), now),
        };
        match verdict {
            Ok(()) => checked.push((sequence, message)),
            Err(status) => results.push(refusal(sequence, status)),
        }
    }
    if replay.is_none() && node.plan().screens() {
        let refused = policy::screen(&node, sender, &mut checked).await;
        results.extend(
            refused
                .into_iter()
                .map(|(sequence, status)| refusal(sequence, status)),
        );
    }
    let mut admitted = match &replay {
        None => Admitted::of(&node, sender, is_group, &mut checked).await,
        Some(_) => Admitted::default(),
    };
    if checked.is_empty() {
        count_results(&node, &results);
        results.extend(admitted.answers(&node).await);
        return Accepted::new(results, node, Vec::new());
    }
    let ratio = match node.traces.is_on() {
        true => node.plan().trace_ratio(sender),
        false => Ratio::NONE,
    };
    let ids = match node.next_ids(now, checked.len()) {
        Ok(ids) => ids,
        Err(_) => {
            let status = CommandStatus::ESME_RSYSERR;
            for (sequence, _) in checked {
                node.release(sender);
                if let Some(claim) = admitted.next_claim() {
                    claim.refuse(status);
                }
                results.push(refusal(sequence, status));
            }
            count_results(&node, &results);
            results.extend(admitted.answers(&node).await);
            return Accepted::new(results, node, Vec::new());
        }
    };
    for ((_, message), id) in checked.iter_mut().zip(ids) {
        message.id = id;
        if replay.as_ref().is_none_or(|order| order.to == 0) {
            route_by_id(&node, message);
        }
        traced::pick(&node, ratio, message);
    }
    if is_group {
        shown_id::group(&mut checked);
    }
    let routed = clock::now_us();
    let mut accepted: Vec<Taken> = Vec::with_capacity(checked.len());
    for (sequence, message) in checked {
        let claim = admitted.next_claim();
        match Staged::new(&node, message) {
            Ok(staged) => accepted.push(Taken {
                sequence,
                staged,
                claim,
            }),
            Err(error) => {
                if let Some(claim) = claim {
                    claim.refuse(CommandStatus::ESME_RSUBMITFAIL);
                }
                tracing::warn!(sender = %node.name_of(sender), %error, "a text cannot be written for its peer");
                node.release(sender);
                results.push(refusal(sequence, CommandStatus::ESME_RSUBMITFAIL));
            }
        }
    }
    let messages = accepted.iter().filter_map(|taken| taken.staged.message());
    let mut reservation = match &replay {
        None => Reservation::open(&node, sender, messages).await,
        Some(_) => Reservation::default(),
    };
    if reservation.is_charged() {
        accepted.retain_mut(|taken| {
            let charged = taken
                .staged
                .message()
                .map(|message| reservation.charge(&node, message));
            let Some(Err(status)) = charged else {
                return true;
            };
            taken.staged.ids().for_each(|_| node.release(sender));
            if let Some(claim) = taken.claim.take() {
                claim.refuse(status);
            }
            results.push(refusal(taken.sequence, status));
            false
        });
        if accepted.is_empty() {
            count_results(&node, &results);
            results.extend(admitted.answers(&node).await);
            return Accepted::new(results, node, accepted);
        }
    }
    let staged = accepted.iter().map(|taken| &taken.staged);
    let mut rows = stage::rows(staged, node.plan().divided, now);
    rows.charge = reservation.take_rows();
    if let Some(order) = &replay {
        rows.change = replays(&accepted, &order.by, now);
    }
    let dispatches = accepted
        .iter_mut()
        .flat_map(|taken| taken.staged.parcels_mut());
    let written = write(&node, rows, dispatches).await;
    let times = Submitted {
        read,
        routed,
        durable: clock::now_us(),
    };
    let trace = |taken: &Taken, refused| {
        if let Some(message) = taken.staged.message() {
            traced::submitted(&node, message, times, &peer, refused);
            let parts = taken.staged.parts();
            parts.for_each(|part| traced::divided(&node, part, times));
        }
    };
    match written {
        Ok(written) => {
            let rejected: Vec<u64> = written.rejected.iter().map(|row| row.id).collect();
            accepted.retain(|taken| {
                let bad =
                    !rejected.is_empty() && taken.staged.ids().any(|id| rejected.contains(&id));
                if bad {
                    taken.staged.give_up(&node, &rejected);
                    let id = taken.staged.id();
                    reservation.give_back(&node, id, !rejected.contains(&id));
                    trace(taken, Some(CommandStatus::ESME_RSYSERR.0));
                    results.push(refusal(taken.sequence, CommandStatus::ESME_RSYSERR));
                }
                !bad
            });
            accepted.iter().for_each(|taken| trace(taken, None));
            results.extend(accepted.iter().map(|taken| SubmitResult {
                sequence: taken.sequence,
                status: 0,
                id: taken.shown_id(),
            }));
            let claims = accepted.iter_mut().filter_map(Taken::claimed);
            duplicates::accepted(&node, claims);
        }
        Err(error) => {
            let status = match &error {
                StoreError::Full { .. } => CommandStatus::ESME_RMSGQFUL,
                _ => CommandStatus::ESME_RSYSERR,
            };
            tracing::error!(%error, messages = accepted.len(), "messages refused");
            reservation.refused(&error);
            for taken in accepted.drain(..) {
                taken.staged.ids().for_each(|_| node.release(sender));
                trace(&taken, Some(status.0));
                if let Some(claim) = taken.claim {
                    claim.refuse(status);
                }
                results.push(refusal(taken.sequence, status));
            }
        }
    }
    count_results(&node, &results);
    results.extend(admitted.answers(&node).await);
    node.metrics
        .ingest_seconds
        .observe(started.elapsed().as_secs_f64());
    Accepted::new(results, node, accepted)
}

/// What data_coding 0 means in what this sender submits: as it is configured, else as its listener
/// says.
pub fn alphabet_of(node: &NodeContext, sender: u32, listener: Option<i32>) -> Alphabet {
    let plan = node.plan();
    let says = plan
        .account_by_id(sender)
        .is_none_or(|account| account.config.alphabet.is_some());
    let listener = listener.and_then(|alphabet| Alphabet::try_from(alphabet).ok());
    match listener {
        Some(alphabet) if !says => alphabet,
        _ => content::as_stored(plan.alphabet_of(sender)),
    }
}

/// What the histories of failed messages tell of those that they are sent again as.
fn replays(accepted: &[Taken], by: &str, now: i64) -> Vec<ChangeRow> {
    let messages = accepted.iter().filter_map(|taken| taken.staged.message());
    messages
        .filter_map(|message| {
            let old = message.replay_of.as_ref()?;
            Some(ChangeRow::replayed(old.id, now, by, message.id))
        })
        .collect()
}

fn refusal(sequence: u32, status: CommandStatus) -> SubmitResult {
    SubmitResult {
        sequence,
        status: status.0,
        id: 0,
    }
}

fn count_results(node: &NodeContext, results: &[SubmitResult]) {
    let refused = results.iter().filter(|result| result.status != 0).count() as u64;
    node.metrics.accepted.inc_by(results.len() as u64 - refused);
    for result in results.iter().filter(|result| result.status != 0) {
        node.metrics.refused(result.status);
    }
}

/// Which way a message travels that came as `deliver_sm`: to an account's own address it is MO.
pub fn kind_of(node: &NodeContext, sender: u32, deliver: &DeliverSm) -> Kind {
    let plan = node.plan();
    let destination = rewrite::destination(&plan, sender, deliver);
    if plan.mo_account(&destination).is_some() {
        Kind::Mo
    } else {
        Kind::Mt
    }
}

// === messages ===

measured!(Ingest: SubmitBatch);

impl Actor for Ingest {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Supervised for Ingest {}

impl Handler<SubmitBatch> for Ingest {
    type Result = ResponseFuture<Accepted>;

    fn handle(&mut self, batch: SubmitBatch, _: &mut Self::Context) -> Self::Result {
        Box::pin(accept(Arc::clone(&self.node), batch))
    }
}
