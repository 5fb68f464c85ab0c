//! Who may send what to whom, as ingest asks: refusals with their count, and limits.
//!
//! The rules are in [`crate::domain::policy`], compiled by the plan. [`check`] judges one message by
//! its addresses; [`screen`] takes the tokens of limits for a batch. Both concern what accounts
//! submit; a message that nothing is configured for pays a comparison.

mod limiter;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::actors::hub::Hub;
use crate::actors::plan::AccountPlan;
use crate::clock;
use crate::config;
use crate::content;
use crate::domain::address::mask;
use crate::domain::policy::Reason;
use crate::pb::Message;
use crate::smpp::CommandStatus;

pub use limiter::{Bucket, Limiter};

/// A line about refusals at most so often, in milliseconds; the metric counts each of them.
const SAY_EVERY: i64 = 10_000;

/// What a node keeps beside the plan.
#[derive(Default)]
pub struct Desk {
    pub limiter: Limiter,
    said_at: AtomicI64,
    unsaid: AtomicU64,
}

// === impl Desk ===

impl Desk {
    pub fn new(config: &config::Policy) -> Self {
        let desk = Self::default();
        desk.configure(config);
        desk
    }

    /// Brings it in line with the configuration.
    pub fn configure(&self, config: &config::Policy) {
        self.limiter.resize(config.limit_addresses);
    }
}

/// Whether an account may send a message, by the addresses that it has now.
///
/// # Errors
/// The status to refuse it with.
pub fn check(hub: &Hub, account: &AccountPlan, message: &Message) -> Result<(), CommandStatus> {
    let Some(policy) = &account.policy else {
        return Ok(());
    };
    policy
        .check(&message.source, &message.destination)
        .map_err(|reason| refuse(hub, account, message, reason))
}

/// Takes the tokens of limits for what was checked, in order; what there are not enough for goes
/// from `checked` to the result, with its status.
pub async fn screen(
    hub: &Hub,
    sender: u32,
    checked: &mut Vec<(u32, Message)>,
) -> Vec<(u32, CommandStatus)> {
    let plan = hub.full_plan();
    let Some(account) = plan.account_by_id(sender).filter(|_| plan.has_limits()) else {
        return Vec::new();
    };
    let mut buckets: Vec<Bucket> = Vec::new();
    let mut places: HashMap<(usize, Box<[u8]>), usize> = HashMap::new();
    // For each message, the buckets that it needs tokens of, and how many of each.
    let mut needs: Vec<Vec<(usize, u32)>> = Vec::with_capacity(checked.len());
    for (_, message) in checked.iter() {
        let mut own = Vec::new();
        for (rule, limit) in plan.limits().iter().enumerate() {
            let Some(address) = limit.bucket_of(sender, &message.source, &message.destination)
            else {
                continue;
            };
            let place = *places.entry((rule, address.into())).or_insert_with(|| {
                buckets.push(Bucket::new(limit, address));
                buckets.len() - 1
            });
            // A text of more parts than there are ever tokens at once costs all of them.
            let price = content::segments(message).min(limit.burst);
            buckets[place].wanted = buckets[place].wanted.saturating_add(price);
            own.push((place, price));
        }
        needs.push(own);
    }
    if buckets.is_empty() {
        return Vec::new();
    }
    let mut left = hub.policy.limiter.take(&buckets).await;
    let mut closed = vec![false; buckets.len()];
    let mut refused = Vec::new();
    let mut needs = needs.into_iter();
    checked.retain(|(sequence, message)| {
        let own = needs.next().unwrap_or_default();
        let mut paid = true;
        for &(place, price) in &own {
            // What follows is not let past: parts of one text stay together.
            closed[place] |= left[place] < price;
            paid &= !closed[place];
        }
        if paid {
            own.iter().for_each(|&(place, price)| left[place] -= price);
        } else {
            hub.release(sender);
            let status = refuse(hub, account, message, Reason::OverLimit);
            refused.push((*sequence, status));
        }
        paid
    });
    for (bucket, unused) in buckets.iter_mut().zip(left) {
        bucket.wanted = unused;
    }
    buckets.retain(|bucket| bucket.wanted > 0);
    if !buckets.is_empty() {
        hub.policy.limiter.give_back(&buckets).await;
    }
    refused
}

/// Counts a refusal and says its status.
fn refuse(hub: &Hub, account: &AccountPlan, message: &Message, reason: Reason) -> CommandStatus {
    let name = &account.config.system_id;
    hub.metrics.policy_refused(name, reason);
    let desk = &hub.policy;
    let now = clock::now_ms();
    let before = desk.said_at.load(Ordering::Relaxed);
    let mine = now - before >= SAY_EVERY
        && desk
            .said_at
            .compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
    if mine {
        tracing::warn!(
            account = %name,
            reason = reason.as_str(),
            from = %mask(&message.source),
            to = %mask(&message.destination),
            others = desk.unsaid.swap(0, Ordering::Relaxed),
            "refused by policy"
        );
    } else {
        desk.unsaid.fetch_add(1, Ordering::Relaxed);
    }
    match reason {
        Reason::SenderBlocked | Reason::SenderNotAllowed => CommandStatus::ESME_RINVSRCADR,
        Reason::DestinationBlocked | Reason::DestinationNotAllowed => {
            CommandStatus::ESME_RINVDSTADR
        }
        Reason::OverLimit => CommandStatus::ESME_RTHROTTLED,
        Reason::OptedOut => CommandStatus::ESME_RINVDSTADR,
    }
}
