//! Checks of prices, quotas and balances.

use super::Findings;
use crate::{Config, PriceList};
use smsc_domain::address;
use smsc_domain::price::DEFAULT;

/// An E.164 number with some air; SMPP addresses have at most 20 digits (SMPP 3.4 §5.2.9).
const MAX_PREFIX: usize = 20;
/// Longest name of a currency.
const MAX_CURRENCY: usize = 16;

pub(super) fn check_prices(config: &Config, found: &mut Findings) {
    check_list("policy.prices", &config.policy.prices, found);
    check_currency("policy.currency", &config.policy.currency, found);
    let smpp = &config.smpp;
    for (key, status, instead) in [
        (
            "smpp.quota_status",
            smpp.quota_status,
            "write \"ESME_RTHROTTLED\"",
        ),
        (
            "smpp.balance_status",
            smpp.balance_status,
            "write \"ESME_RSUBMITFAIL\"",
        ),
    ] {
        if status == 0 {
            let message = format!("must not be ESME_ROK: the message would be lost; {instead}");
            found.problem(key, message);
        }
    }
    for (index, account) in config.account.iter().enumerate() {
        let key = |name: &str| format!("account[{index}].{name}");
        check_list(&key("prices"), &account.prices, found);
        if let Some(currency) = &account.currency {
            check_currency(&key("currency"), currency, found);
        }
        if let Some(quota) = account.quota_per_day {
            found.at_least_one(&key("quota_per_day"), quota);
            found.require(
                &key("quota_per_day"),
                quota <= i64::MAX as u64,
                "is too large; remove the key for no quota",
            );
        }
        if account.prices.iter().next().is_some() && !account.prepaid {
            found.warn(
                key("prices"),
                "means nothing without a balance; add `prepaid = true`",
            );
        }
    }
}

fn check_currency(key: &str, currency: &str, found: &mut Findings) {
    found.require(
        key,
        (1..=MAX_CURRENCY).contains(&currency.len())
            && currency.bytes().all(|octet| octet.is_ascii_alphanumeric()),
        "must be 1 to 16 letters and digits, such as \"EUR\"",
    );
}

fn check_list(key: &str, prices: &PriceList, found: &mut Findings) {
    for (prefix, _) in prices.iter() {
        let is_prefix = address::is_digits(prefix.as_bytes()) && prefix.len() <= MAX_PREFIX;
        if prefix != DEFAULT && !is_prefix {
            let message = format!(
                "{prefix:?} is no prefix; write up to {MAX_PREFIX} digits without a plus, or `{DEFAULT}`"
            );
            found.problem(format!("{key}.{prefix}"), message);
        }
    }
}
