//! Checks of the rules that rewrite addresses; every finding names the rule by its place and the key.

use super::Findings;
use crate::{AddressField, RewriteRule};

/// The highest TON and NPI that the standard has a meaning for (SMPP 3.4 §5.2.5, §5.2.6).
const MAX_TON: u8 = 6;
const MAX_NPI: u8 = 18;

/// Checks one list, such as `account[0].rewrite_in`.
pub(super) fn check_rewrite(list_key: &str, rules: &[RewriteRule], found: &mut Findings) {
    for (index, rule) in rules.iter().enumerate() {
        let key = |name: &str| format!("{list_key}[{index}].{name}");
        let Some(field) = rule.field else {
            found.problem(
                key("field"),
                "is missing; write \"source\" or \"destination\"",
            );
            continue;
        };
        let most = rule.max_length.unwrap_or(u32::MAX);
        if rule.min_length.is_some_and(|least| least > most) {
            found.problem(key("min_length"), "is above max_length; nothing matches");
        }
        check_replace(&key("replace"), rule, field, found);
        if rule.set_ton.is_some_and(|ton| ton > MAX_TON) {
            let message = format!("is no TON of the standard, which has 0 to {MAX_TON}");
            found.warn(key("set_ton"), message);
        }
        if rule.set_npi.is_some_and(|npi| npi > MAX_NPI) {
            let message = format!("is no NPI of the standard, which has 0 to {MAX_NPI}");
            found.warn(key("set_npi"), message);
        }
        let catches_all = |earlier: &RewriteRule| {
            earlier.field == Some(field) && earlier.to_domain().is_unconditional()
        };
        if let Some(at) = rules[..index].iter().position(catches_all) {
            let message = format!("is never reached: {list_key}[{at}] matches every address");
            found.warn(format!("{list_key}[{index}]"), message);
        }
    }
}

fn check_replace(key: &str, rule: &RewriteRule, field: AddressField, found: &mut Findings) {
    let Some(replace) = &rule.replace else { return };
    if rule.strip != 0 || !rule.add.is_empty() {
        let message = "stands for the whole address; remove it, or `strip` and `add`";
        found.problem(key, message);
    }
    if replace.is_empty() && field == AddressField::Destination {
        found.problem(key, "is empty; a message needs a destination");
    }
}
