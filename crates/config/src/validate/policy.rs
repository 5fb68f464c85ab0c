//! `[policy]`, `[[list]]` and `[[limit]]`, and what accounts say of senders and destinations.

use super::{Findings, accounts};
use crate::problem::did_you_mean;
use crate::{CompiledPolicies, Config, LimitPer, PolicyConfig};
use smsc_domain::address::normalise;
use smsc_domain::policy::Keywords;

pub(super) fn check_policy(config: &Config, found: &mut Findings) {
    let policies = CompiledPolicies::read(config, &mut found.problems);
    for (index, account) in config.account.iter().enumerate() {
        policies.of(&format!("account[{index}]"), account, &mut found.problems);
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
    for (at, word) in opt_in_keywords.iter().enumerate() {
        let key = format!("policy.opt_in_keywords[{at}]");
        let both = out.choice(word).is_some();
        found.require(&key, !both, "is an opt-out keyword as well; remove one");
    }
}

fn check_limits(config: &Config, found: &mut Findings) {
    let accounts = accounts(config);
    for (index, limit) in config.limit.iter().enumerate() {
        let base = format!("limit[{index}]");
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
