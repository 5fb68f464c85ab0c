//! How accounts are charged: compiled from their configuration, used by the balance.

use std::sync::Arc;

use crate::config::Account;
use crate::domain::price::{Prices, Purse, Tariff};

/// What the messages of an account cost, if prices apply to it: it pays in advance, or there are prices.
pub fn tariff_of(account: &Account, for_all: &Arc<Prices>, any_for_all: bool) -> Option<Tariff> {
    let own = &account.prices;
    (account.prepaid || any_for_all || own.iter().next().is_some())
        .then(|| Tariff::new(Arc::new(Prices::build(own.iter())), Arc::clone(for_all)))
}

/// How an account is charged.
#[derive(Debug, Clone)]
pub struct Charging {
    /// Segments per day.
    pub quota: Option<i64>,
    /// The tariff of a prepaid account.
    pub tariff: Option<Tariff>,
}

// === impl Charging ===

impl Charging {
    /// How an account is charged; `None` if it is not.
    pub fn of(account: &Account, for_all: &Arc<Prices>) -> Option<Self> {
        let quota = account
            .quota_per_day
            .map(|quota| i64::try_from(quota).unwrap_or(i64::MAX));
        let tariff = tariff_of(account, for_all, false).filter(|_| account.prepaid);
        (quota.is_some() || tariff.is_some()).then_some(Self { quota, tariff })
    }

    /// How far a purse may go down: a quota counts from 0 downwards.
    pub fn floor(&self, purse: Purse) -> i64 {
        if purse.is_balance() {
            0
        } else {
            -self.quota.unwrap_or(i64::MAX)
        }
    }
}
