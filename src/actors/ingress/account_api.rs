//! What the HTTP APIs and the local socket do for an account: log in, submit, find, change, cancel and price messages,
//! read its balance, keep its opt-out list.
//!
//! Called by the handlers of every HTTP API for accounts, from the threads of the server, by the connections of
//! `actors/local`, and by the sources of commands. Submissions pass the same Ingest as those of SMPP binds, so that rates, policies, prices, duplicates and durability are the same.
//! Invariant: an account sees and commands its own messages only.

mod aliases;
mod command;
mod limits;
mod login;
mod opt_outs;
mod refused;
mod replace;
mod seen;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix::{Addr, MailboxError};

use crate::actors::billing::balance;
use crate::actors::billing::usage::{self, AskedUsage};
use crate::actors::context::declined::Declined;
use crate::actors::context::octets::HeldOctets;
use crate::actors::context::plan::{AccountPlan, Plan};
use crate::actors::context::{NodeContext, pages};
use crate::actors::ingress::gate::Gate;
use crate::actors::ingress::idempotency::{self, BegunRequest, Request};
use crate::actors::ingress::ingest::{
    Accepted, Ingest, Intake, Keys, Submit, no_route, no_such_number,
};
use crate::actors::multipart::stage;
use crate::actors::orders;
use crate::actors::receipts::shown_id;
use crate::actors::routing::{policy, rewrite};
use crate::api::{Balance, UsageReport};
use crate::clock;
use crate::content;
use crate::pb::queue_command::Verb;
use crate::pb::{
    CommandMessage, Commanded, Message, MessageState, Refusal, Submission, SubmitBatch,
    SubmitCause, SubmitResult,
};
use crate::smpp::CommandStatus;
use crate::store::redis::Redis;
use crate::store::{MessageHistory, Search, Stored};

pub use self::command::{Command, CommandOutcome, CommandTaken, Ids, SentCommands};
pub use self::limits::LimitState;
pub use self::login::NotIn;
pub use self::refused::{OverBurst, Reason, Refused};
pub use self::replace::{Expiry, MessageChange, NotReplaced};
pub use self::seen::{MessageStep, SeenMessage};
pub use crate::actors::ingress::idempotency::NotOnce;

/// Most messages of one request.
pub const MOST: usize = 1_000;
/// Longest Idempotency-Key.
pub const MAX_KEY: usize = 255;
/// Milliseconds in which an order is executed or not at all.
const PATIENCE_MS: i64 = 5_000;

/// The way of the HTTP APIs and of the local socket into the SMSC. Cheap to clone.
#[derive(Clone)]
pub struct AccountApi {
    intake: Arc<Intake>,
    /// Shared with the sessions of ESMEs: a password is the same guess everywhere.
    gate: Arc<Gate>,
    /// Every Ingest of this node, taken in turns.
    ingests: Arc<[Addr<Ingest>]>,
    next: Arc<AtomicUsize>,
    /// Where ids of the Redis SMS platform are made, if answers over XML-RPC have those.
    aliases: Option<Arc<Redis>>,
}

/// What a message would cost, and whether it would be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// Short messages that the handset gets.
    pub segments: u32,
    /// Credits; `None` if the account does not pay in advance.
    pub price: Option<i64>,
    /// The refusal that is certain already.
    pub refused: Option<Refused>,
}

/// Which messages of an account to list, newest first.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Exact addresses, without a plus sign.
    pub to: Option<String>,
    pub from: Option<String>,
    /// Accepted from this moment on, and before that one (Unix milliseconds).
    pub since: Option<i64>,
    pub until: Option<i64>,
    pub state: Option<MessageState>,
    /// Those that came to it, instead of those that it has submitted. `to` must be given: nothing else finds them soon.
    pub received: bool,
    pub texts: bool,
    /// Only ids below this one.
    pub before: Option<u64>,
    pub limit: usize,
}

/// A page of messages.
#[derive(Debug, Clone)]
pub struct MessagesPage {
    pub messages: Vec<SeenMessage>,
    /// `before` of the next page; `None` when everything was read.
    pub next_before: Option<u64>,
}

/// Why a request was not carried out as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotSubmitted {
    /// It is more than its account may ever submit at once.
    OverBurst(OverBurst),
    /// It has a key.
    NotOnce(NotOnce),
}

// === impl AccountApi ===

impl AccountApi {
    pub fn new(
        intake: Arc<Intake>,
        gate: Arc<Gate>,
        ingests: impl IntoIterator<Item = Addr<Ingest>>,
    ) -> Self {
        Self {
            intake,
            gate,
            ingests: ingests.into_iter().collect(),
            next: Arc::default(),
            aliases: None,
        }
    }

    pub fn node(&self) -> &NodeContext {
        &self.intake.node
    }

    /// The account of this name, unless it was removed or disabled.
    pub fn account(&self, system_id: &str) -> Option<Arc<AccountPlan>> {
        self.node().full_plan().account(system_id).cloned()
    }

    /// Whether nothing new is accepted, because the node is about to stop.
    pub fn is_draining(&self) -> bool {
        self.node().draining.load(Ordering::Relaxed)
    }

    /// Submits messages in one batch. Returns once they are durable, with the id of each in their order, or why it
    /// was refused. `peer`: address and port of the client, for traces.
    ///
    /// # Errors
    /// They are more than the account may ever submit at once.
    pub async fn submit(
        &self,
        account: &AccountPlan,
        peer: String,
        messages: Vec<Message>,
    ) -> Result<Vec<Result<u64, Refused>>, NotSubmitted> {
        self.submit_with(account, peer, messages, Keys::None).await
    }

    async fn submit_with(
        &self,
        account: &AccountPlan,
        peer: String,
        messages: Vec<Message>,
        keys: Keys,
    ) -> Result<Vec<Result<u64, Refused>>, NotSubmitted> {
        self.check_burst(account, &messages)?;
        let count = messages.len();
        let batch = batch(account, peer, messages);
        let Some(_arriving) = self.arriving(&batch) else {
            let full = || Err(self.no_memory(account));
            return Ok(std::iter::repeat_with(full).take(count).collect());
        };
        let submit = Submit::timed(batch, keys, self.node());
        // One Ingest after the other.
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let accepted = self.ingests[turn % self.ingests.len()].send(submit).await;
        Ok(self.verdicts(account, accepted, count))
    }

    /// Counts what a request takes in memory, until this is dropped; `None` while its account has its share of that.
    fn arriving(&self, batch: &SubmitBatch) -> Option<HeldOctets> {
        let messages = batch.submissions.iter();
        let messages = messages.filter_map(|one| one.message.as_ref());
        let octets = messages.map(|message| message.weight()).sum();
        let node = self.node();
        let most = node.config().smpp.intake_mib << 20;
        let (held, is_within) = node.arriving.hold(batch.sender, octets, most);
        is_within.then_some(held)
    }

    /// Submits a request that may be repeated: its messages are submitted once, and a repetition
    /// has the same outcome, also after a crash and on another node.
    ///
    /// # Errors
    /// Another request had its key, it is being carried out, the store cannot remember it, or it is new and more than
    /// the account may ever submit at once.
    pub async fn submit_once(
        &self,
        account: &AccountPlan,
        peer: String,
        messages: Vec<Message>,
        key: &str,
        target: &str,
        body: &[u8],
    ) -> Result<Vec<Result<u64, Refused>>, NotSubmitted> {
        let request = Request::new(account.id, key, target, body);
        let begun = idempotency::begin(&self.intake.node, request).await;
        match begun.map_err(NotSubmitted::NotOnce)? {
            BegunRequest::New(claim) => {
                let keys = Keys::All(claim);
                self.submit_with(account, peer, messages, keys).await
            }
            BegunRequest::Again(answer) => {
                let results = answer.results.into_iter();
                Ok(results.map(|one| self.verdict(one, account)).collect())
            }
        }
    }

    /// Gives accepted messages to their queues, and what became of each.
    fn verdicts(
        &self,
        account: &AccountPlan,
        answer: Result<Accepted, MailboxError>,
        count: usize,
    ) -> Vec<Result<u64, Refused>> {
        let mut results = match answer {
            Ok(accepted) => {
                let results = accepted.reply.results.clone();
                accepted.pass_on();
                results
            }
            // Ingest failed on this batch: whether it was accepted is unknown.
            Err(_) => (0..count as u32)
                .map(|sequence| SubmitResult {
                    sequence,
                    status: CommandStatus::ESME_RSYSERR.0,
                    ..SubmitResult::default()
                })
                .collect(),
        };
        results.sort_unstable_by_key(|result| result.sequence);
        let results = results.into_iter();
        results.map(|one| self.verdict(one, account)).collect()
    }

    fn verdict(&self, result: SubmitResult, account: &AccountPlan) -> Result<u64, Refused> {
        let status = CommandStatus(result.status);
        if status.is_ok() {
            return Ok(result.id);
        }
        let declined = Declined::until(result.cause(), status, result.retry_at);
        Err(self.refused(declined, account))
    }

    fn refused(&self, declined: impl Into<Declined>, account: &AccountPlan) -> Refused {
        Refused::new(declined.into(), account, &self.node().config().smpp)
    }

    fn no_memory(&self, account: &AccountPlan) -> Refused {
        let status = CommandStatus::ESME_RTHROTTLED;
        let soon = clock::now_ms() + 1_000;
        let declined = Declined::until(SubmitCause::Memory, status, soon);
        self.refused(declined, account)
    }

    /// A message that the account has submitted, or that came to it, and what happened to it, in order.
    ///
    /// # Errors
    /// There is none with this id, or the store does not answer.
    pub async fn find(
        &self,
        account: &AccountPlan,
        id: u64,
    ) -> Result<(SeenMessage, Vec<MessageStep>), Refusal> {
        let history = orders::history(self.node(), id).await?;
        let message = &history.stored.message;
        let is_seen = has_submitted(account, message, id)
            || came_to(account, message, &self.node().full_plan());
        if !is_seen {
            return Err(orders::no_such_message(id));
        }
        let attempts = orders::attempts(self.node(), &history).await?;
        Ok(seen::with_steps(&history, &attempts))
    }

    /// The rows of a message that the account has submitted and knows by this id.
    async fn own(&self, account: &AccountPlan, id: u64) -> Result<MessageHistory, Refusal> {
        let history = orders::history(self.node(), id).await?;
        if has_submitted(account, &history.stored.message, id) {
            Ok(history)
        } else {
            // In the words for an id of no message: whether others have it is not the account's business.
            Err(orders::no_such_message(id))
        }
    }

    /// A page of the account's messages, newest first.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn search(
        &self,
        account: &AccountPlan,
        filter: Filter,
    ) -> Result<MessagesPage, Refusal> {
        let search = Search {
            to: filter.to,
            from: filter.from,
            sender: (!filter.received).then_some(account.id),
            since: filter.since,
            until: filter.until,
            state: filter.state,
            ..Search::default()
        };
        let store = &self.node().store;
        let read = async |before, limit| store.search(search.at(before, limit)).await;
        let plan = self.node().full_plan();
        let is_own = |stored: &Stored| {
            let message = &stored.message;
            if filter.received {
                came_to(account, message, &plan)
            } else {
                !content::is_internal(message)
            }
        };
        let found = pages::full_page(filter.before, filter.limit, read, is_own).await?;
        Ok(MessagesPage {
            messages: found
                .messages
                .iter()
                .map(|stored| SeenMessage {
                    text: filter
                        .texts
                        .then(|| content::text_of(&stored.message))
                        .flatten(),
                    ..SeenMessage::from(stored)
                })
                .collect(),
            next_before: found.next_before,
        })
    }

    /// Cancels a waiting message of the account.
    ///
    /// # Errors
    /// There is none with this id, it is beyond that, or its queue does not answer.
    pub async fn cancel(&self, account: &AccountPlan, id: u64) -> Result<Commanded, Refusal> {
        self.own(account, id).await?;
        let order = CommandMessage {
            id,
            verb: Verb::Cancel.into(),
            by: self.node().name_of(account.id),
            before: clock::now_ms() + PATIENCE_MS,
            ..CommandMessage::default()
        };
        orders::message::carry_out(self.node(), &order).await
    }

    /// What the account has left.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn balance(&self, account: &AccountPlan) -> Result<Balance, Refusal> {
        let name = account.config.system_id.clone();
        balance::read(Arc::clone(&self.intake.node), name).await
    }

    /// How many of the account's messages ended.
    ///
    /// # Errors
    /// As [`usage::read`].
    pub async fn usage(
        &self,
        account: &AccountPlan,
        ask: AskedUsage,
    ) -> Result<UsageReport, Refusal> {
        let ask = AskedUsage {
            account: account.config.system_id.clone(),
            ..ask
        };
        usage::read(Arc::clone(&self.intake.node), ask).await
    }

    /// What would become of a message if it were submitted now. Changes nothing, and spends no rate, quota or balance.
    pub fn estimate(&self, account: &AccountPlan, mut message: Message) -> Estimate {
        let plan = self.node().plan();
        let mut target = None;
        let rewritten = rewrite::incoming(&plan, account.id, &mut message);
        let refused = rewritten
            .err()
            .map(Declined::from)
            .or_else(|| {
                let reason = self.intake.policy.verdict(account, &message).err()?;
                Some(policy::declined_for(&self.intake.node, reason))
            })
            .or_else(|| {
                let range = plan.range_without(&message.destination);
                range.map(|_| no_such_number())
            })
            .or_else(|| {
                message.sender = account.id;
                target = plan.first_target(&message, 0, self.node());
                let is_routable = target.is_some() || plan.wants_network(&message);
                (!is_routable).then(|| no_route(&plan))
            })
            .or_else(|| {
                message.queue = target?;
                let staged = stage::check(self.node(), &message);
                staged.err().map(|error| stage::declined_for(&error))
            });
        let tariff = plan.charging(account.id).and_then(|charging| {
            let tariff = charging.tariff.as_ref()?;
            Some(i64::from(tariff.price(&message.destination)))
        });
        let segments = plan.segments_at(target.unwrap_or_default(), &message);
        Estimate {
            segments,
            price: tariff.map(|price| price.saturating_mul(i64::from(segments))),
            refused: refused.map(|declined| self.refused(declined, account)),
        }
    }
}

/// Whether the account has submitted a message, and knows it by this id: parts, and ids that are not those of its sender, are
/// internal.
fn has_submitted(account: &AccountPlan, message: &Message, id: u64) -> bool {
    let is_known = shown_id::number(message) == id || message.group_size == 0;
    message.sender == account.id && !content::is_internal(message) && is_known
}

/// Whether a message came to the account. Not by the numbers that it has now: they may have been another account's.
fn came_to(account: &AccountPlan, message: &Message, plan: &Plan) -> bool {
    let is_own = plan.account_of(message.queue) == Some(account.id);
    is_own && message.copied.is_none() && !content::is_internal(message)
}

fn batch(
    account: &AccountPlan,
    peer: String,
    messages: Vec<impl Into<Box<Message>>>,
) -> SubmitBatch {
    let submissions = messages.into_iter().zip(0..);
    SubmitBatch {
        sender: account.id,
        submissions: submissions
            .map(|(message, sequence)| Submission {
                sequence,
                message: Some(message.into()),
            })
            .collect(),
        peer,
        encoded: true,
        ..SubmitBatch::default()
    }
}
