//! Finds our message for an operator's message id, across binds, restarts and early receipts.
//!
//! Sessions send the operator's answers ([`SentBatch`]) before the receipts of the same socket read
//! ([`ReceiptBatch`]). A receipt that matches ends its message. The operator's deliver_sm is answered
//! only after that commit, and so are repetitions of it that come meanwhile. A receipt that matches
//! nothing is held briefly without an answer, because it may have overtaken its submit_sm_resp on
//! another bind. Then it is parked durably, answered, and tried again with each new id. A receipt for a
//! message that is already final is answered and counted: the final state stays, and the sender is
//! notified once.

mod addresses;
mod answers;
mod awaited;
mod candidates;
mod forget;
mod forms;
mod gather;
mod gathered;
mod heard;
mod index;
mod intermediate;
mod last_heard;
mod parked;
mod restart;
mod settle;
mod sweep;
mod unmatched;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, WrapFuture};
use tokio::time::Instant;

pub use self::awaited::Awaited;
pub(in crate::actors) use self::forget::final_of;
use self::forms::Learned;
use self::index::{CorrelationIndex, CorrelationKey, IdForm};
use self::parked::Parked;
use crate::actors::context::NodeContext;
use crate::actors::runtime::supervise::Health;
use crate::actors::runtime::timed_mailbox::measured;
use crate::config::MessageIdForm;
use crate::domain::{ByQueue, id};
use crate::pb::{
    CorrelationSnapshot, FlushCorrelation, Message, MessageState, OperatorReceipt, ReceiptBatch,
    ReceiptReply, ReceiptResult, SentBatch,
};
use crate::smpp::CommandStatus;
use crate::store::ParkedRow;

/// One batch per socket read of any operator.
pub const MAILBOX: usize = 8192;
const TICK: Duration = Duration::from_millis(50);
const RETRY_PARKED: Duration = Duration::from_secs(1);
/// How long after a start divided messages are checked.
const LOOK_BACK: Duration = Duration::from_secs(65);
/// Octets of messages sent lately that are kept for their receipts.
const RECENT: u64 = 64 << 20;
/// Octets of receipts held without an answer, of which each operator has a share; beyond that they are parked at once.
const EARLY: u64 = 4 << 20;

pub struct Correlation {
    node: Arc<NodeContext>,
    health: Arc<Health>,
    index: CorrelationIndex,
    /// Messages sent lately, so that their receipts need no read; the oldest are dropped first.
    recent: HashMap<u64, SentAttempt, ahash::RandomState>,
    recent_order: VecDeque<u64>,
    recent_octets: u64,
    early: Vec<EarlyReceipt>,
    parked: Parked,
    /// Rows of parked receipts that found no room at the start; dropped with the next sweep.
    beyond: Vec<u64>,
    /// The form in which each operator's ids have matched.
    learned: ByQueue<Learned>,
    /// Set when parked receipts may match because more is known of their ids.
    parked_due: bool,
    next_sweep: Instant,
    /// When parked receipts are next compared with messages that other nodes have sent.
    next_retry: Instant,
    retries: u32,
    /// Messages whose final state is being written, with repeated receipts, which are answered like the
    /// first one: before that commit no operator may be told that its receipt is stored.
    settling: HashMap<u64, Vec<Repeat>, ahash::RandomState>,
    counters: CorrelationCounters,
    /// States that may not be the last ones.
    waiting: last_heard::HeardStates,
    /// Receipts that come in several messages.
    gathered: gathered::Gathered,
    /// Receipts, with their operators, whose parts were found in the store.
    complete: Vec<(u32, OperatorReceipt)>,
}

/// A repeated receipt: the session that brought it, and its answer if the commit succeeds.
type Repeat = (u64, ReceiptResult);

/// A message that was sent, and in which attempt.
struct SentAttempt {
    message: Box<Message>,
    attempt: u32,
    /// When its answer came, Unix milliseconds.
    at: i64,
}

struct EarlyReceipt {
    until: Instant,
    operator: u32,
    session: u64,
    receipt: OperatorReceipt,
}

#[derive(Debug, Default)]
struct CorrelationCounters {
    matched: u64,
    unmatched: u64,
    repeated: u64,
    early: u64,
}

/// A receipt with the message it is about.
struct Match {
    id: u64,
    receipt: OperatorReceipt,
    operator: u32,
    session: u64,
    /// The parked row that it settles; 0 for none.
    parked: u64,
    /// Its place in the index; `None` if it came from the spilled hours.
    key: Option<CorrelationKey>,
}

/// A receipt that matches no unfinished message in memory.
struct UncorrelatedReceipt {
    receipt: OperatorReceipt,
    /// The id of a final message that it matches.
    known: Option<u64>,
}

enum FoundMessage {
    /// Not final yet.
    Open(u64, CorrelationKey),
    /// This message is final.
    Repeated(u64),
    Nothing,
    /// Its id may be that of several messages, of which not enough is in memory.
    Unclear,
}

// === impl Correlation ===

impl Correlation {
    /// `sent`: messages in the store that wait for receipts; `parked`: receipts that matched nothing.
    pub fn new(
        node: Arc<NodeContext>,
        health: Arc<Health>,
        mut sent: Vec<Awaited>,
        parked: Vec<ParkedRow>,
    ) -> Self {
        // Of several messages with the same id, the newest comes last.
        sent.sort_by_key(|awaited| awaited.id);
        let config = node.config();
        let mut correlation = Self {
            index: CorrelationIndex::new(config.correlation.memory),
            recent: HashMap::default(),
            recent_order: VecDeque::new(),
            recent_octets: 0,
            early: Vec::new(),
            parked: Parked::new(&config.correlation),
            beyond: Vec::new(),
            learned: ByQueue::default(),
            parked_due: false,
            next_sweep: Instant::now() + config.correlation.sweep,
            next_retry: Instant::now(),
            retries: 0,
            settling: HashMap::default(),
            counters: CorrelationCounters::default(),
            waiting: last_heard::HeardStates::default(),
            gathered: gathered::Gathered::default(),
            complete: Vec::new(),
            health,
            node,
        };
        let plan = correlation.node.full_plan();
        for awaited in sent {
            let operator = awaited.operator;
            if operator == plan.divided {
                // The last part may have ended just before this process did.
                correlation.next_sweep = correlation.next_sweep.min(Instant::now() + LOOK_BACK);
            }
            if plan.is_carrier(operator) {
                continue;
            }
            let form = correlation.form_of(operator);
            let key = correlation.index.key(operator, &awaited.theirs, form);
            correlation.index.insert(key, awaited.id, awaited.at);
        }
        for row in parked {
            let beyond = correlation.park_in_memory(row);
            correlation.beyond.extend(beyond);
        }
        correlation
    }

    fn form_of(&self, operator: u32) -> MessageIdForm {
        self.node.plan().message_id_form(operator)
    }

    /// The keys under which the answer to this receipt's message may be stored.
    fn keys(&self, operator: u32, id: &[u8]) -> Vec<(IdForm, CorrelationKey)> {
        let own = self.form_of(operator);
        self.forms_of(operator)
            .into_iter()
            .filter_map(|form| {
                let answered = match own {
                    MessageIdForm::AsIs => id.to_vec(),
                    _ => index::as_answered(id, form)?,
                };
                Some((form, self.index.key(operator, &answered, own)))
            })
            .collect()
    }

    fn receipts(&mut self, mut batch: ReceiptBatch, ctx: &mut Context<Self>) {
        if batch
            .receipts
            .iter()
            .any(|receipt| receipt.part().is_some())
        {
            self.gather(&mut batch, ctx);
        }
        let mut matches = Vec::with_capacity(batch.receipts.len());
        let mut answered = Vec::new();
        let mut unmatched = Vec::new();
        let mut repeats = Vec::new();
        let mut unclear = Vec::new();
        let is_shared = self.node.local_lease.is_shared();
        for receipt in batch.receipts {
            match self.find(batch.operator, &receipt) {
                FoundMessage::Open(id, key) => matches.push(Match {
                    id,
                    receipt,
                    operator: batch.operator,
                    session: batch.session,
                    parked: 0,
                    key: Some(key),
                }),
                // Its message has ended or is about to, so the intermediate state is obsolete.
                FoundMessage::Repeated(_) if !is_final(receipt.state()) => {
                    answered.push(ok(&receipt))
                }
                // Another node may have been given the same id for a newer message.
                FoundMessage::Repeated(known) if is_shared => unmatched.push(UncorrelatedReceipt {
                    receipt,
                    known: Some(known),
                }),
                FoundMessage::Repeated(known) => {
                    self.repeated(1);
                    repeats.push((known, ok(&receipt)));
                }
                FoundMessage::Nothing => unmatched.push(UncorrelatedReceipt {
                    receipt,
                    known: None,
                }),
                FoundMessage::Unclear => {
                    unclear.push(self.early_of(batch.operator, batch.session, receipt))
                }
            }
        }
        if !matches.is_empty() {
            self.settle(matches, ctx);
        }
        // Only now, because both may have come in one batch: the first one is being settled.
        for (known, result) in repeats {
            answered.extend(self.or_wait(known, batch.session, result));
        }
        self.answer(batch.session, answered);
        self.decide(unclear, ctx);
        if !unmatched.is_empty() {
            self.look_further(batch.operator, batch.session, unmatched, ctx);
        }
    }

    /// Answers receipts of sessions after their commit; if it failed, operators keep them and repeat them.
    fn answer_written(
        &self,
        by_session: impl IntoIterator<Item = (u64, Vec<ReceiptResult>)>,
        is_written: bool,
    ) {
        for (session, mut results) in by_session {
            if !is_written {
                for result in &mut results {
                    result.status = CommandStatus::ESME_RX_T_APPN.0;
                }
            }
            self.answer(session, results);
        }
    }

    fn answer(&self, session: u64, results: Vec<ReceiptResult>) {
        if !results.is_empty() {
            self.node.binds.reply(
                session,
                ReceiptReply {
                    results,
                    ..ReceiptReply::default()
                },
            );
        }
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        if self.early.iter().any(|early| early.until <= now) {
            let (late, held): (Vec<_>, Vec<_>) = std::mem::take(&mut self.early)
                .into_iter()
                .partition(|early| early.until <= now);
            self.early = held;
            self.park(late, ctx);
        }
        self.go_on(ctx);
        if std::mem::take(&mut self.parked_due) && !self.parked.is_empty() {
            self.try_parked(ctx);
        }
        self.settle_heard(ctx);
        if self.next_sweep <= now {
            self.next_sweep = now + self.node.config().correlation.sweep;
            if self.node.local_lease.is_janitor() {
                self.sweep(ctx);
            }
        }
        if self.node.local_lease.is_shared() && self.next_retry <= now {
            self.next_retry = now + RETRY_PARKED;
            self.retry_parked(ctx);
        }
        self.node.correlation_snapshot.set(CorrelationSnapshot {
            in_memory: self.index.len() as u64,
            spilled: self.index.spilled,
            parked: self.parked.len() as u64,
            matched_total: self.counters.matched,
            unmatched_total: self.counters.unmatched,
            repeated_total: self.counters.repeated,
            early_total: self.counters.early,
            restarts: self.health.restarts(),
        });
    }
}

/// The earliest time (Unix ms) at which a receipt of this message may have come, as seen at `now`. An
/// earlier receipt belongs to an earlier message with the same id.
fn earliest(id: u64, message: Option<&Message>, now: i64) -> i64 {
    /// The clocks of nodes that share a store differ a little.
    const CLOCKS_MS: i64 = 5_000;
    let accepted_at = message.map_or(id::millis(id) - id::MAX_LEAD_MS, |message| {
        message.accepted_at
    });
    if accepted_at <= now {
        accepted_at - CLOCKS_MS
    } else {
        // The clock was wrong at that time, so nothing can be compared with it.
        i64::MIN
    }
}

fn ok(receipt: &OperatorReceipt) -> ReceiptResult {
    ReceiptResult {
        sequence: receipt.sequence,
        status: 0,
    }
}

fn is_final(state: MessageState) -> bool {
    crate::domain::state::is_final(state as i32 as u8)
}

// === messages ===

measured!(Correlation: SentBatch, ReceiptBatch);

impl Actor for Correlation {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(TICK, |correlation, ctx| correlation.tick(ctx));
        let forms = self.node.store.message_id_forms();
        ctx.wait(forms.into_actor(self).map(|forms, correlation, _| {
            match forms {
                Ok(forms) => correlation.remember_forms(forms),
                Err(error) => {
                    tracing::warn!(%error, "the forms of operators' message ids could not be read and are learned again");
                }
            }
            correlation.parked_due = true;
        }));
    }
}

impl Handler<SentBatch> for Correlation {
    type Result = ();

    fn handle(&mut self, batch: SentBatch, ctx: &mut Self::Context) {
        self.sent(batch, ctx);
    }
}

impl Handler<FlushCorrelation> for Correlation {
    type Result = ();

    /// Batches are given to the store when they are handled, so handling this message is the answer.
    fn handle(&mut self, _: FlushCorrelation, _: &mut Self::Context) {}
}

impl Handler<ReceiptBatch> for Correlation {
    type Result = ();

    fn handle(&mut self, batch: ReceiptBatch, ctx: &mut Self::Context) {
        self.receipts(batch, ctx);
    }
}

#[cfg(test)]
mod tests;
