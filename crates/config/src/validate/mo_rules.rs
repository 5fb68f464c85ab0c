//! `[[mo_rule]]`: names, and accounts and operators that exist.

use super::Findings;
use crate::mo_rule::mo_rules;
use crate::problem::did_you_mean;
use crate::{Account, CompiledPolicies, Config};

/// The other rules are those of `CompiledPolicies`, whose lists are reported there.
pub(super) fn check_mo_rules(config: &Config, policies: &CompiledPolicies, found: &mut Findings) {
    mo_rules(config, policies, &mut found.problems);
    let accounts: Vec<(&str, bool)> = config
        .account
        .iter()
        .map(|account| (account.system_id.as_str(), account.enabled))
        .collect();
    let operators: Vec<(&str, bool)> = config
        .operator
        .iter()
        .map(|operator| (operator.id.as_str(), operator.enabled))
        .collect();
    for (index, rule) in config.mo_rule.iter().enumerate() {
        let base = format!("mo_rule[{index}]");
        if rule.name == "explain" {
            let message = "is the path of an explanation (/v1/mo-rules/explain); choose another";
            found.problem(format!("{base}.name"), message);
        }
        for (field, kind, name, known) in [
            ("operator", "operator", &rule.operator, &operators),
            ("account", "account", &rule.account, &accounts),
            ("deliver_to", "account", &rule.deliver_to, &accounts),
            ("reply_account", "account", &rule.reply_account, &accounts),
        ] {
            let Some(name) = name else { continue };
            let key = format!("{base}.{field}");
            match known.iter().find(|(known, _)| known == name) {
                Some((_, true)) => {}
                Some((_, false)) => {
                    let message = format!("\"{name}\" is not enabled: this rule takes nothing");
                    found.warn(key, message);
                }
                None => {
                    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                    let hint = did_you_mean(name, &names);
                    found.problem(key, format!("there is no {kind} \"{name}\", {hint}"));
                }
            }
        }
        let of_account = |account: &&Account| Some(&account.system_id) == rule.deliver_to.as_ref();
        if let Some(callback) = &rule.callback
            && let Some(account) = config.account.iter().find(of_account)
        {
            check_callback(&format!("{base}.callback"), callback, account, found);
        }
    }
}

/// The account must have a callback of this name.
fn check_callback(key: &str, callback: &str, account: &Account, found: &mut Findings) {
    let names: Vec<&str> = account.callbacks.iter().map(|(name, _)| name).collect();
    if names.contains(&callback) {
        return;
    }
    let system_id = &account.system_id;
    let message = if names.is_empty() {
        format!(
            "the account \"{system_id}\" has no `callbacks`; give it some, or leave `callback` out"
        )
    } else {
        let hint = did_you_mean(callback, &names);
        format!("there is no \"{callback}\" in `callbacks` of the account \"{system_id}\", {hint}")
    };
    found.problem(key.to_owned(), message);
}
