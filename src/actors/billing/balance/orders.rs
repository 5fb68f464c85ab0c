//! Balances as the admin API reads and changes them. Called by the Admin actor.

use std::sync::Arc;

use super::NodePurses;
use crate::actors::context::plan::account_name;
use crate::actors::context::{NodeContext, pages};
use crate::api::{self, TopUp, TopUps, time};
use crate::clock;
use crate::domain::id;
use crate::domain::price::{Purse, end_of_day};
use crate::pb::Refusal;
use crate::store::balance::{TopUpOutcome, TopUpRow};

/// A change of a balance.
#[derive(Debug)]
pub struct WantedTopUp {
    /// system_id of the account.
    pub account: String,
    /// Below zero for a correction.
    pub amount: i64,
    /// Unique among the account's.
    pub reference: Option<String>,
    /// Who ordered it.
    pub by: String,
}

/// What an account has left on all nodes.
pub async fn read(node: Arc<NodeContext>, name: String) -> Result<api::Balance, Refusal> {
    let account = known(&node, &name).await?;
    view(&node, account, name).await
}

/// Adds to a balance, once per reference.
pub async fn add(
    node: Arc<NodeContext>,
    balance: Arc<NodePurses>,
    order: WantedTopUp,
) -> Result<api::ToppedUp, Refusal> {
    let account = known(&node, &order.account).await?;
    let now = clock::now_ms();
    let row = TopUpRow {
        id: node
            .next_id(now)
            .map_err(|ahead| Refusal::unavailable(ahead.to_string()))?,
        account,
        amount: order.amount,
        reference: order.reference,
        by: order.by,
    };
    let (top_up, repeated) = match top_up(&node, &balance, row.clone()).await? {
        TopUpOutcome::Done => (row, false),
        TopUpOutcome::Repeated(first) if first.amount == row.amount => (first, true),
        TopUpOutcome::Repeated(first) => {
            return Err(Refusal::conflict(format!(
                "the reference {:?} was used for {} credits; choose another one",
                first.reference.unwrap_or_default(),
                first.amount
            )));
        }
        TopUpOutcome::TooLow => {
            let view = view(&node, account, order.account).await?;
            let held = match view.reserved {
                0 => String::new(),
                held => format!(" (and {held} more that nodes hold for a moment)"),
            };
            return Err(Refusal::conflict(format!(
                "{} credits cannot be taken from a balance of {}{held}; it cannot be below zero",
                -row.amount,
                view.credits - view.reserved
            )));
        }
    };
    Ok(api::ToppedUp {
        repeated,
        top_up: shown(top_up),
        balance: view(&node, account, order.account).await?,
    })
}

/// A page of top-ups, newest first.
pub async fn top_ups(
    node: Arc<NodeContext>,
    name: String,
    before: u64,
    limit: u32,
) -> Result<TopUps, Refusal> {
    let account = known(&node, &name).await?;
    let limit = limit as usize;
    let rows = node.store.top_ups(account, pages::below(before), limit);
    let rows = rows.await?;
    let next_before = pages::next_before(&rows, limit, |last| last.id.to_string());
    Ok(TopUps {
        top_ups: rows.into_iter().map(shown).collect(),
        next_before,
    })
}

/// With the embedded store this node holds the balance: a deduction is reserved first, an addition
/// counts when the store has it.
async fn top_up(
    node: &NodeContext,
    balance: &NodePurses,
    row: TopUpRow,
) -> Result<TopUpOutcome, Refusal> {
    if node.cluster.is_some() {
        return Ok(node.store.top_up(row, 0).await?);
    }
    let held = balance.held(Purse::balance(row.account));
    let amount = row.amount;
    if amount >= 0 {
        let done = node.store.top_up(row, 0).await?;
        if done == TopUpOutcome::Done {
            held.put(amount);
        }
        return Ok(done);
    }
    if !held.spend(-amount, 0) {
        // The store is asked nevertheless, because a reference that was used before has its earlier
        // result.
        return Ok(node.store.top_up(row, i64::MAX).await?);
    }
    let done = node.store.top_up(row, 0).await;
    if !matches!(done, Ok(TopUpOutcome::Done)) {
        held.put(-amount);
    }
    Ok(done?)
}

async fn view(node: &NodeContext, account: u32, name: String) -> Result<api::Balance, Refusal> {
    let now = clock::now_ms();
    let rows = node.store.purses(Some(account)).await?;
    let of = |purse: Purse| rows.iter().find(|row| row.purse == purse);
    let balance = of(Purse::balance(account));
    let quota = of(Purse::quota(account, now));
    let plan = node.plan();
    let charging = plan.charging(account);
    Ok(api::Balance {
        account: name,
        prepaid: charging.is_some_and(|charging| charging.tariff.is_some()),
        credits: balance.map_or(0, |row| row.left + row.reserved),
        reserved: balance.map_or(0, |row| row.reserved),
        quota_per_day: charging
            .and_then(|charging| charging.quota)
            .filter(|quota| *quota > 0),
        quota_used_today: quota.map_or(0, |row| -(row.left + row.reserved)),
        resets_at: time(end_of_day(now)),
    })
}

/// The id of a configured account.
async fn known(node: &NodeContext, name: &str) -> Result<u32, Refusal> {
    let plan = node.full_plan();
    let mut configured = plan.config.account.iter();
    if !configured.any(|account| account.system_id == name) {
        return Err(Refusal::no_such("account", name, "accounts"));
    }
    let name = account_name(name);
    if let Some(number) = plan.sender(&name) {
        return Ok(number);
    }
    // It was never enabled, so it has no id yet.
    let store = Arc::clone(&node.store);
    let interned = tokio::task::spawn_blocking(move || store.intern(&name)).await;
    interned
        .map_err(|error| Refusal::unavailable(error.to_string()))?
        .map_err(Refusal::from)
}

fn shown(row: TopUpRow) -> TopUp {
    TopUp {
        id: row.id.to_string(),
        at: time(id::millis(row.id)),
        add: row.amount,
        reference: row.reference.filter(|reference| !reference.is_empty()),
        by: row.by,
    }
}
