//! Which messages Ingest accepts: refusals, which are counted, and limits.
//!
//! The rules are in [`crate::domain::policy`], compiled by the plan. [`PolicyState::check`] judges one
//! message by its addresses. [`PolicyState::screen`] takes the tokens of limits for a batch, and handles
//! keywords of subscribers. A message to which no rule applies costs a comparison or two. Invariant: an
//! opt-out by keyword is in the store before its message is answered.

mod limiter;
mod listed;
mod opt_outs;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::actors::context::NodeContext;
use crate::actors::context::declined::Declined;
use crate::actors::context::plan::{AccountPlan, Plan};
use crate::clock;
use crate::config;
use crate::content;
use crate::domain::address::{mask, plain};
use crate::domain::policy::PolicyRefusal;
use crate::pb::{Kind, Message, SubmitCause};
use crate::smpp::CommandStatus;
use crate::store::StoreError;
use crate::store::opt_out::OptOutRow;

pub use limiter::{BucketRequest, Limiter};
pub use listed::list_opt_outs;
pub use opt_outs::OptOutLists;

/// Refusals are logged at most this often, in milliseconds; the metric counts each of them.
const SAY_EVERY: i64 = 10_000;

/// State that a node keeps beside the plan: buckets of limits, and the opt-out lists.
#[derive(Default)]
pub struct PolicyState {
    pub limiter: Limiter,
    pub opt_outs: OptOutLists,
    /// When a refusal was last logged, and how many were not logged since.
    said_at: AtomicI64,
    unsaid: AtomicU64,
}

// === impl PolicyState ===

impl PolicyState {
    pub fn new(config: &config::PolicyConfig) -> Self {
        let state = Self::default();
        state.configure(config);
        state
    }

    /// Adapts to the configuration; called for each plan that is applied.
    pub fn configure(&self, config: &config::PolicyConfig) {
        self.limiter.resize(config.limit_addresses);
    }

    /// Whether an account may send a message with its current addresses.
    ///
    /// # Errors
    /// How it is refused.
    pub fn check(
        &self,
        node: &NodeContext,
        account: &AccountPlan,
        message: &Message,
    ) -> Result<(), Declined> {
        self.verdict(account, message)
            .map_err(|reason| self.refuse(node, account, message, reason))
    }

    /// Why the account may not send the message; nothing is counted.
    ///
    /// # Errors
    /// The reason.
    pub fn verdict(&self, account: &AccountPlan, message: &Message) -> Result<(), PolicyRefusal> {
        if let Some(policy) = &account.policy {
            policy.check(&message.source, &message.destination)?;
        }
        let name = &account.config.system_id;
        if self.opt_outs.has(name, &message.destination) {
            Err(PolicyRefusal::OptedOut)
        } else {
            Ok(())
        }
    }

    /// Puts a number on an opt-out list or takes it off. On return the change is durable, and known on
    /// this node.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn opt(
        &self,
        node: &NodeContext,
        account: String,
        number: String,
        out: bool,
        by: String,
    ) -> Result<bool, StoreError> {
        let row = OptOutRow {
            account,
            number,
            out,
            at: clock::now_ms(),
            who: by,
            ..OptOutRow::default()
        };
        let changed = node.store.set_opt_out(row).await?;
        self.refresh(node).await?;
        Ok(changed)
    }

    /// Reads changes of the opt-out lists.
    ///
    /// # Errors
    /// The store does not answer; the known lists stay.
    pub async fn refresh(&self, node: &NodeContext) -> Result<(), StoreError> {
        self.opt_outs.refresh(node.store.as_ref()).await?;
        node.metrics.opt_outs.set(self.opt_outs.count() as i64);
        Ok(())
    }

    /// The last check: limits, then keywords. Moves refused messages from `checked` to the result, with
    /// their status.
    pub async fn screen(
        &self,
        node: &NodeContext,
        sender: u32,
        checked: &mut Vec<(u32, Box<Message>)>,
    ) -> Vec<(u32, Declined)> {
        let plan = node.full_plan();
        let mut refused = self.take_tokens(node, &plan, sender, checked).await;
        if !plan.keywords().is_empty() {
            let heard = self.hear(node, &plan, sender, checked).await;
            if let Err((error, sequences)) = heard {
                // The operator or ESME sends it again: an acknowledged opt-out must not be lost.
                tracing::error!(%error, "an opt-out could not be written; its message is refused");
                checked.retain(|(sequence, _)| {
                    let lost = sequences.contains(sequence);
                    if lost {
                        node.release(sender);
                        refused.push((*sequence, CommandStatus::ESME_RSYSERR.into()));
                    }
                    !lost
                });
            }
        }
        refused
    }

    /// Executes mobile-originated texts that consist of a keyword. The error lists the messages whose
    /// opt-out was not written.
    async fn hear(
        &self,
        node: &NodeContext,
        plan: &Plan,
        sender: u32,
        checked: &[(u32, Box<Message>)],
    ) -> Result<(), (StoreError, Vec<u32>)> {
        // An account can say anything of a subscriber, unless it is a message centre.
        let is_believed = plan
            .account_by_id(sender)
            .is_none_or(|account| account.config.mobile_originated);
        let mut choices = checked.iter().filter_map(|(sequence, message)| {
            let is_heard = is_believed || message.source_gsm != 0;
            if message.kind() != Kind::Mo || message.source.is_empty() || !is_heard {
                return None;
            }
            let account = plan.hears(message)?;
            let out = plan.keywords().choice(&content::text_of(message)?)?;
            Some((*sequence, account, &message.source, out))
        });
        while let Some((sequence, account, source, out)) = choices.next() {
            let number = String::from_utf8_lossy(&plain(source)).into_owned();
            let word = if out { "opt-out" } else { "opt-in" };
            let by = format!("{word} keyword by {}", node.name_of(sender));
            if let Err(error) = self.opt(node, account.to_owned(), number, out, by).await {
                let rest = choices.map(|(sequence, ..)| sequence);
                return Err((error, std::iter::once(sequence).chain(rest).collect()));
            }
        }
        Ok(())
    }

    /// Takes the tokens of limits for the checked messages, in order.
    async fn take_tokens(
        &self,
        node: &NodeContext,
        plan: &Plan,
        sender: u32,
        checked: &mut Vec<(u32, Box<Message>)>,
    ) -> Vec<(u32, Declined)> {
        let account = match plan.account_by_id(sender) {
            Some(account) if !plan.limits().is_empty() => account,
            _ => return Vec::new(),
        };
        let mut buckets: Vec<BucketRequest> = Vec::new();
        let mut places: HashMap<(usize, Box<[u8]>), usize> = HashMap::new();
        // For each message, its buckets and how many tokens of each it needs.
        let mut needs: Vec<Vec<(usize, u32)>> = Vec::with_capacity(checked.len());
        for (_, message) in checked.iter() {
            let mut own = Vec::new();
            for (rule, limit) in plan.limits().iter().enumerate() {
                let Some(address) = limit.bucket_of(sender, &message.source, &message.destination)
                else {
                    continue;
                };
                let place = *places.entry((rule, address.into())).or_insert_with(|| {
                    buckets.push(BucketRequest::new(limit, address));
                    buckets.len() - 1
                });
                // A text with more parts than the bucket holds tokens costs the whole bucket.
                let price = plan.segments_at(message.queue, message).min(limit.burst);
                buckets[place].wanted = buckets[place].wanted.saturating_add(price);
                own.push((place, price));
            }
            needs.push(own);
        }
        if buckets.is_empty() {
            return Vec::new();
        }
        let mut left = self.limiter.take(&buckets).await;
        // What of each bucket was refused: later messages do not overtake it, so that the parts of one text stay
        // together.
        let mut behind = vec![0_u64; buckets.len()];
        let mut refused = Vec::new();
        let mut needs = needs.into_iter();
        checked.retain(|(sequence, message)| {
            let own = needs.next().unwrap_or_default();
            let mut slowest: Option<Declined> = None;
            for &(place, price) in &own {
                if left[place] >= price && behind[place] == 0 {
                    continue;
                }
                behind[place] += u64::from(price);
                let cause = SubmitCause::Policy;
                let declined = Declined::by_rate(cause, behind[place], buckets[place].rate());
                let is_later = |known: Declined| known.retry_at < declined.retry_at;
                if slowest.is_none_or(is_later) {
                    slowest = Some(declined);
                }
            }
            match slowest {
                None => own.iter().for_each(|&(place, price)| left[place] -= price),
                Some(declined) => {
                    node.release(sender);
                    self.refuse(node, account, message, PolicyRefusal::OverLimit);
                    refused.push((*sequence, declined));
                }
            }
            slowest.is_none()
        });
        for (bucket, unused) in buckets.iter_mut().zip(left) {
            bucket.wanted = unused;
        }
        buckets.retain(|bucket| bucket.wanted > 0);
        if !buckets.is_empty() {
            self.limiter.give_back(&buckets).await;
        }
        refused
    }

    /// Counts a refusal and returns it.
    pub fn refuse(
        &self,
        node: &NodeContext,
        account: &AccountPlan,
        message: &Message,
        reason: PolicyRefusal,
    ) -> Declined {
        let name = &account.config.system_id;
        node.metrics.policy_refused(name, reason);
        let now = clock::now_ms();
        let before = self.said_at.load(Ordering::Relaxed);
        let mine = now - before >= SAY_EVERY
            && self
                .said_at
                .compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if mine {
            tracing::warn!(
                account = %name,
                reason = reason.as_str(),
                from = %mask(&message.source),
                to = %mask(&message.destination),
                others = self.unsaid.swap(0, Ordering::Relaxed),
                "refused by policy"
            );
        } else {
            self.unsaid.fetch_add(1, Ordering::Relaxed);
        }
        declined_for(node, reason)
    }
}

/// A refusal for this reason.
pub fn declined_for(node: &NodeContext, reason: PolicyRefusal) -> Declined {
    match reason {
        PolicyRefusal::SenderBlocked | PolicyRefusal::SenderNotAllowed => {
            CommandStatus::ESME_RINVSRCADR.into()
        }
        PolicyRefusal::DestinationBlocked
        | PolicyRefusal::DestinationNotAllowed
        | PolicyRefusal::NeedsMobileOriginated => {
            Declined::by(SubmitCause::NotAllowed, CommandStatus::ESME_RINVDSTADR)
        }
        PolicyRefusal::OverLimit => {
            Declined::by(SubmitCause::Policy, CommandStatus::ESME_RTHROTTLED)
        }
        PolicyRefusal::OptedOut => {
            let status = node.plan().config.policy.opt_out_status;
            Declined::by(SubmitCause::OptedOut, CommandStatus(status))
        }
    }
}
