//! Takes submissions in: validates, routes through the current plan, makes them durable, answers,
//! and hands them to their queues.
//!
//! One per session arbiter, so that a batch crosses threads only twice: to the store's writer and
//! to the queue. The answer is given after the commit and never before.

use std::sync::Arc;
use std::time::Instant;

use actix::{Actor, Context, Handler, ResponseFuture, Supervised};

use crate::actors::hand_over::{pass_on, write};
use crate::actors::hub::Hub;
use crate::actors::posted::{Posted, measured};
use crate::actors::shown_id;
use crate::actors::stage::{self, Staged};
use crate::actors::traced::{self, Submitted};
use crate::clock;
use crate::content;
use crate::domain::trace::Ratio;
use crate::domain::{address, validity};
use crate::pb::{
    Alphabet, Kind, Message, Submission, SubmitBatch, SubmitReply, SubmitResult, TakeTokens,
};
use crate::smpp::{CommandStatus, time};
use crate::store::{ChangeRow, StoreError};

/// Socket reads of one arbiter's sessions.
pub const MAILBOX: usize = 4096;

pub struct Ingest {
    hub: Arc<Hub>,
}

/// The answers to a batch, and what happens after they are written: the messages go to their
/// queues when this is dropped. So no receipt overtakes the answer that it needs, and nothing stays
/// behind when the session that asked is gone.
pub struct Accepted {
    pub reply: SubmitReply,
    hub: Arc<Hub>,
    taken: Vec<Taken>,
}

/// An accepted message, and the sequence number of its submission.
struct Taken {
    sequence: u32,
    staged: Staged,
}

/// Not in the table of `pb.rs`: the answer carries more than a protobuf struct can.
impl actix::Message for SubmitBatch {
    type Result = Accepted;
}

// === impl Accepted ===

impl Accepted {
    fn new(results: Vec<SubmitResult>, hub: Arc<Hub>, taken: Vec<Taken>) -> Self {
        Self {
            reply: SubmitReply { results },
            hub,
            taken,
        }
    }
}

impl Drop for Accepted {
    fn drop(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        let count = taken.iter().map(|taken| taken.staged.parcels()).sum();
        let parcels = taken
            .into_iter()
            .flat_map(|taken| taken.staged.into_parcels());
        pass_on(&self.hub, count, parcels);
    }
}

// === impl Ingest ===

impl Ingest {
    pub fn new(hub: Arc<Hub>) -> Self {
        Self { hub }
    }
}

/// Accepts a batch. Every submission is answered; the accepted ones only after the commit.
pub async fn accept(hub: Arc<Hub>, batch: SubmitBatch) -> Accepted {
    let started = Instant::now();
    let read = clock::now_us();
    let now = read / 1_000;
    let sender = batch.sender;
    let peer = batch.peer;
    let is_group = batch.group;
    let count = batch.submissions.len();
    let alphabet = alphabet_of(&hub, sender, batch.alphabet);
    let mut submissions = batch.submissions;
    let replay = batch.replay;
    if alphabet != Alphabet::Gsm && replay.is_none() {
        let messages = submissions.iter_mut().flat_map(|one| &mut one.message);
        messages.for_each(|message| message.set_alphabet(alphabet));
    }
    let mut tokens = match &replay {
        None => Tokens::take(&hub, sender, &submissions).await,
        // It was paid for when it came.
        Some(_) => Tokens::UNLIMITED,
    };
    let to = replay.as_ref().map_or(0, |replay| replay.to);
    let mut results = Vec::with_capacity(count);
    let mut checked: Vec<(u32, Message)> = Vec::with_capacity(count);
    for Submission { sequence, message } in submissions {
        let message = message.unwrap_or_default();
        let verdict = match tokens.spend(&message) {
            false => Err(CommandStatus::ESME_RTHROTTLED),
            true => check(&hub, sender, message, to, now),
        };
        match verdict {
            Ok(message) => checked.push((sequence, message)),
            Err(status) => results.push(refusal(sequence, status)),
        }
    }
    if checked.is_empty() {
        count_results(&hub, &results);
        return Accepted::new(results, hub, Vec::new());
    }
    let ratio = match hub.traces.is_on() {
        true => hub.plan().trace_ratio(sender),
        false => Ratio::NONE,
    };
    let ids = hub.ids.next_block(now, checked.len());
    for ((_, message), id) in checked.iter_mut().zip(ids) {
        message.id = id;
        if to == 0 {
            route_by_id(&hub, message);
        }
        traced::pick(&hub, ratio, message);
    }
    if is_group {
        shown_id::group(&mut checked);
    }
    let routed = clock::now_us();
    let mut accepted: Vec<Taken> = Vec::with_capacity(checked.len());
    for (sequence, message) in checked {
        match Staged::new(&hub, message) {
            Ok(staged) => accepted.push(Taken { sequence, staged }),
            Err(error) => {
                tracing::warn!(sender = %hub.name_of(sender), %error, "a text cannot be written for its peer");
                hub.release(sender);
                results.push(refusal(sequence, CommandStatus::ESME_RSUBMITFAIL));
            }
        }
    }
    let staged = accepted.iter().map(|taken| &taken.staged);
    let mut rows = stage::rows(staged, hub.plan().divided, now);
    if let Some(order) = &replay {
        rows.change = replays(&accepted, &order.by, now);
    }
    let parcels = accepted
        .iter_mut()
        .flat_map(|taken| taken.staged.parcels_mut());
    let written = write(&hub, rows, parcels).await;
    let times = Submitted {
        read,
        routed,
        durable: clock::now_us(),
    };
    let trace = |taken: &Taken, refused| {
        if let Some(message) = taken.staged.message() {
            traced::submitted(&hub, message, times, &peer, refused);
            let parts = taken.staged.parts();
            parts.for_each(|part| traced::divided(&hub, part, times));
        }
    };
    match written {
        Ok(written) => {
            let rejected: Vec<u64> = written.rejected.iter().map(|row| row.id).collect();
            accepted.retain(|taken| {
                let bad =
                    !rejected.is_empty() && taken.staged.ids().any(|id| rejected.contains(&id));
                if bad {
                    taken.staged.give_up(&hub, &rejected);
                    trace(taken, Some(CommandStatus::ESME_RSYSERR.0));
                    results.push(refusal(taken.sequence, CommandStatus::ESME_RSYSERR));
                }
                !bad
            });
            accepted.iter().for_each(|taken| trace(taken, None));
            results.extend(accepted.iter().map(|taken| {
                SubmitResult {
                    sequence: taken.sequence,
                    status: 0,
                    id: taken
                        .staged
                        .message()
                        .map_or(taken.staged.id(), shown_id::number),
                }
            }));
        }
        Err(error) => {
            let status = match &error {
                StoreError::Full { .. } => CommandStatus::ESME_RMSGQFUL,
                _ => CommandStatus::ESME_RSYSERR,
            };
            tracing::error!(%error, messages = accepted.len(), "messages refused");
            for taken in accepted.drain(..) {
                taken.staged.ids().for_each(|_| hub.release(sender));
                trace(&taken, Some(status.0));
                results.push(refusal(taken.sequence, status));
            }
        }
    }
    count_results(&hub, &results);
    hub.metrics
        .ingest_seconds
        .observe(started.elapsed().as_secs_f64());
    Accepted::new(results, hub, accepted)
}

/// What data_coding 0 means in what this sender submits: as it is configured, else as its listener
/// says.
fn alphabet_of(hub: &Hub, sender: u32, listener: Option<i32>) -> Alphabet {
    let plan = hub.plan();
    let says = plan
        .account_by_id(sender)
        .is_none_or(|account| account.config.alphabet.is_some());
    let listener = listener.and_then(|alphabet| Alphabet::try_from(alphabet).ok());
    match listener {
        Some(alphabet) if !says => alphabet,
        _ => content::as_stored(plan.alphabet_of(sender)),
    }
}

/// What a sender may submit now: a token for each short message that a handset gets.
struct Tokens {
    /// `None` without a limit.
    left: Option<u32>,
    burst: u32,
}

impl Tokens {
    const UNLIMITED: Self = Self {
        left: None,
        burst: 0,
    };

    async fn take(hub: &Hub, sender: u32, submissions: &[Submission]) -> Self {
        let limit = hub.plan().rate_of(sender);
        let mut tokens = Self {
            burst: limit.map_or(0, |(_, burst)| burst),
            ..Self::UNLIMITED
        };
        if limit.is_none() || !hub.is_account(sender) {
            return tokens;
        }
        let messages = submissions.iter().filter_map(|one| one.message.as_ref());
        let ask = TakeTokens {
            key: sender,
            wanted: messages.map(|message| tokens.price(message)).sum(),
        };
        let ask = Posted::new(ask, &hub.mailboxes.throttle);
        tokens.left = Some(match hub.throttle.send(ask).await {
            Ok(taken) => taken.granted,
            // Throttle is restarting: refusing is safe, the sender tries again.
            Err(_) => 0,
        });
        tokens
    }

    /// A text of more parts than there are ever tokens at once costs all of them.
    fn price(&self, message: &Message) -> u32 {
        content::segments(message).min(self.burst)
    }

    /// Pays for a message; false when there is not enough left.
    fn spend(&mut self, message: &Message) -> bool {
        let Some(left) = self.left else { return true };
        self.left = left.checked_sub(self.price(message));
        let paid = self.left.is_some();
        if !paid {
            // What follows is not let past: parts of one text stay together.
            self.left = Some(0);
        }
        paid
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

/// Validates one submission and gives it its times, priority and first queue: `to`, or without one
/// (0) that of its route.
fn check(
    hub: &Hub,
    sender: u32,
    mut message: Message,
    to: u32,
    now: i64,
) -> Result<Message, CommandStatus> {
    let plan = hub.plan();
    if message.destination.is_empty() {
        return Err(CommandStatus::ESME_RINVDSTADR);
    }
    message.sender = sender;
    message.accepted_at = now;
    // Fields that are empty cost nothing to check: the common case.
    let schedule = time::parse_time(&message.schedule_delivery_time, now)
        .map_err(|_| CommandStatus::ESME_RINVSCHED)?;
    let valid_until = time::parse_time(&message.validity_period, now)
        .map_err(|_| CommandStatus::ESME_RINVEXPIRY)?;
    let times = validity::times(now, schedule, valid_until, plan.lifetime())
        .map_err(|error| CommandStatus(error.command_status()))?;
    message.due_at = times.due_at;
    message.expires_at = times.expires_at;
    if let Some(account) = plan.account_by_id(sender) {
        message.priority = message.priority.min(u32::from(account.priority_max));
    }
    let target =
        match to == 0 && plan.wants_network(&message) && !hub.networks.tell(&plan, &mut message) {
            // It is accepted now, and routed when its network is known.
            true => plan.resolve_queue,
            false if to != 0 => Some(to),
            false => plan.first_target(&message, 0, |queue| hub.available(queue)),
        };
    let Some(queue) = target else {
        tracing::warn!(
            to = %address::mask(&message.destination),
            sender = %hub.name_of(sender),
            "no route"
        );
        hub.metrics.no_route.inc();
        return Err(CommandStatus(plan.no_route_status()));
    };
    message.queue = queue;
    if let Some(port) = hub.queue(queue)
        && port.depth.load(std::sync::atomic::Ordering::Relaxed) >= hub.config().queue.max_waiting
    {
        hub.metrics.queue_full.inc();
        return Err(CommandStatus::ESME_RMSGQFUL);
    }
    if !hub.reserve(sender) {
        hub.metrics.account_full.inc();
        return Err(CommandStatus::ESME_RMSGQFUL);
    }
    Ok(message)
}

/// Weighted sharing goes by the id, which is known only now; without weights nothing changes.
fn route_by_id(hub: &Hub, message: &mut Message) {
    let plan = hub.plan();
    if plan.shares()
        && Some(message.queue) != plan.resolve_queue
        && let Some(queue) = plan.first_target(message, message.id, |queue| hub.available(queue))
    {
        message.queue = queue;
    }
}

fn refusal(sequence: u32, status: CommandStatus) -> SubmitResult {
    SubmitResult {
        sequence,
        status: status.0,
        id: 0,
    }
}

fn count_results(hub: &Hub, results: &[SubmitResult]) {
    let refused = results.iter().filter(|result| result.status != 0).count() as u64;
    hub.metrics.accepted.inc_by(results.len() as u64 - refused);
    for result in results.iter().filter(|result| result.status != 0) {
        hub.metrics.refused(result.status);
    }
}

/// Which way a message travels that came as `deliver_sm`: to an account's own address it is MO.
pub fn kind_of(hub: &Hub, destination: &[u8]) -> Kind {
    if hub.plan().mo_account(destination).is_some() {
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
        Box::pin(accept(Arc::clone(&self.hub), batch))
    }
}
