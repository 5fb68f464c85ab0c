//! The rates between addresses, compiled for use on the path of a message.

use std::collections::HashMap;

use crate::config;
use crate::domain::address::normalise;
use crate::domain::policy::AddressLimit;

/// The limits of the configuration, without those of accounts that do not exist.
pub(super) fn limits(
    config: &config::Config,
    accounts: &HashMap<String, u32>,
) -> Vec<AddressLimit> {
    let prefix = |text: &str| normalise(text.as_bytes()).into();
    let limit = |limit: &config::LimitConfig| {
        let account = match &limit.account {
            Some(name) => Some(*accounts.get(name)?),
            None => None,
        };
        Some(AddressLimit {
            name: limit.name.clone(),
            account,
            sender_prefix: prefix(&limit.sender_prefix),
            destination_prefix: prefix(&limit.destination_prefix),
            rate: limit.rate,
            burst: limit.burst.unwrap_or(limit.rate.ceil() as u32).max(1),
            per: limit.per.into(),
        })
    };
    config.limit.iter().filter_map(limit).collect()
}
