//! Checks of prices, quotas and balances.

use super::Findings;
use crate::mark::MAX_DIGITS;
use crate::{Config, PriceList};
use smsc_domain::address;
use smsc_domain::price::DEFAULT;

pub(super) fn check_prices(config: &Config, found: &mut Findings) {
    check_list("policy.prices", &config.policy.prices, found);
    for (index, account) in config.account.iter().enumerate() {
        let key = |name: &str| format!("account[{index}].{name}");
        check_list(&key("prices"), &account.prices, found);
        if account.prices.iter().next().is_some() && !account.prepaid {
            found.warn(
                key("prices"),
                "means nothing without a balance; add `prepaid = true`",
            );
        }
    }
}

fn check_list(key: &str, prices: &PriceList, found: &mut Findings) {
    for (prefix, _) in prices.iter() {
        let is_prefix = address::is_digits(prefix.as_bytes()) && prefix.len() <= MAX_DIGITS;
        if prefix != DEFAULT && !is_prefix {
            let message = format!(
                "{prefix:?} is no prefix; write up to {MAX_DIGITS} digits without a plus, or `{DEFAULT}`"
            );
            found.problem(format!("{key}.{prefix}"), message);
        }
    }
}
