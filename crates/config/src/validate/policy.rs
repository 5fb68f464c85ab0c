//! `[policy]`, `[[list]]` and `[[limit]]`, and what accounts say of senders and destinations.

use std::collections::HashMap;

use super::Findings;
use crate::problem::did_you_mean;
use crate::{CompiledPolicies, Config, LimitPer, PolicyConfig};
use smsc_domain::address::normalise;
use smsc_domain::policy::Keywords;

/// Longest name of a list or a limit: it is part of keys.
const MAX_NAME: usize = 64;
/// Octets of the longest address (SMPP 3.4 §5.2.9).
const MAX_PREFIX: usize = 20;

pub(super) fn check_policy(config: &Config, found: &mut Findings) {
    let names = config.list.iter().map(|list| list.name.as_str());
    check_names("list", names, found);
    let policies = CompiledPolicies::read(config, &mut found.problems);
    for (index, account) in config.account.iter().enumerate() {
        policies.of(&format!("account[{index}]"), account, &mut found.problems);
    }
    found.at_least_one(
        "policy.limit_addresses",
        config.policy.limit_addresses as u64,
    );
    if config.policy.opt_out_status == 0 {
        let message = "must not be ESME_ROK: the message would be lost; write \"ESME_RINVDSTADR\"";
        found.problem("policy.opt_out_status", message);
    }
    check_keywords(config, found);
    check_limits(config, found);
    super::mo_rules::check_mo_rules(config, &policies, found);
    super::number_ranges::check_number_ranges(config, &policies, found);
}

fn check_keywords(config: &Config, found: &mut Findings) {
    let PolicyConfig {
        opt_out_keywords,
        opt_in_keywords,
        ..
    } = &config.policy;
    let out = Keywords::new(opt_out_keywords, &[]);
    for (key, words) in [
        ("policy.opt_out_keywords", opt_out_keywords),
        ("policy.opt_in_keywords", opt_in_keywords),
    ] {
        for (at, word) in words.iter().enumerate() {
            let key = format!("{key}[{at}]");
            found.require(&key, !word.trim().is_empty(), "is empty; write a word");
        }
    }
    for (at, word) in opt_in_keywords.iter().enumerate() {
        let key = format!("policy.opt_in_keywords[{at}]");
        let both = out.choice(word).is_some();
        found.require(&key, !both, "is an opt-out keyword as well; remove one");
    }
}

fn check_limits(config: &Config, found: &mut Findings) {
    let names = config.limit.iter().map(|limit| limit.name.as_str());
    check_names("limit", names, found);
    let accounts: Vec<&str> = config
        .account
        .iter()
        .map(|account| account.system_id.as_str())
        .collect();
    for (index, limit) in config.limit.iter().enumerate() {
        let base = format!("limit[{index}]");
        found.check_rate(&base, Some(limit.rate), limit.burst);
        if let Some(account) = &limit.account
            && !accounts.contains(&account.as_str())
        {
            // A warning: accounts come and go by the API, limits are in the file of the node.
            let hint = did_you_mean(account, &accounts);
            let message = format!("there is no account \"{account}\", {hint}");
            found.warn(format!("{base}.account"), message);
        }
        for (key, prefix) in [
            ("sender_prefix", &limit.sender_prefix),
            ("destination_prefix", &limit.destination_prefix),
        ] {
            let key = format!("{base}.{key}");
            found.check_text(&key, prefix, MAX_PREFIX);
            found.require(
                &key,
                !normalise(prefix.as_bytes()).contains(&b'*'),
                "begins addresses as it is; leave out the `*`",
            );
        }
        if limit.per == LimitPer::Destination && limit.rate > 1_000.0 {
            found.warn(
                format!("{base}.rate"),
                "is for each destination; `per = \"rule\"` limits all of them together",
            );
        }
    }
}

/// Names of resources: there, short and made of few signs, and each only once.
pub(super) fn check_names<'a>(
    kind: &str,
    names: impl Iterator<Item = &'a str>,
    found: &mut Findings,
) {
    let mut first = HashMap::new();
    for (index, name) in names.enumerate() {
        let key = format!("{kind}[{index}].name");
        let allowed = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
        if name.is_empty() {
            found.problem(key, "is missing");
        } else if name.len() > MAX_NAME || !name.bytes().all(allowed) {
            let message = format!("must be up to {MAX_NAME} letters, digits, `-`, `_` or `.`");
            found.problem(key, message);
        } else {
            let before = *first.entry(name).or_insert(index);
            if before != index {
                found.problem(key, format!("\"{name}\" is already {kind}[{before}]"));
            }
        }
    }
}
