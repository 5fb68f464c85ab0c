//! `[[number_range]]`: names, prefixes, numbers of digits, and targets that exist.

use std::collections::HashMap;

use super::Findings;
use crate::number_range::{MOST_DIGITS, number_plan};
use crate::{CompiledPolicies, Config, NumberClass};
use smsc_domain::address;

/// Index of a range, and its least and most digits.
type RangeDigits = (usize, (u32, u32));

/// Targets are checked with those of routes.
pub(super) fn check_number_ranges(
    config: &Config,
    policies: &CompiledPolicies,
    found: &mut Findings,
) {
    number_plan(config, policies, &mut found.problems);
    let mut seen: HashMap<&[u8], Vec<RangeDigits>> = HashMap::new();
    for (index, range) in config.number_range.iter().enumerate() {
        let base = format!("number_range[{index}]");
        let counted = range.counted();
        if let Some((min, max)) = counted.filter(|(min, max)| min > max) {
            let message = format!("is {min}, and `max_digits` only {max}");
            found.problem(format!("{base}.min_digits"), message);
        }
        let key = format!("{base}.prefixes");
        if range.class == NumberClass::Outside && !range.numbers.is_empty() {
            let message =
                "means nothing outside: which numbers exist there, others know; remove it";
            found.problem(format!("{base}.numbers"), message);
        }
        for (at, text) in range.prefixes.iter().enumerate() {
            let key = format!("{key}[{at}]");
            let prefix = address::normalise(text.as_bytes());
            if !(prefix.is_empty() || address::is_digits(prefix))
                || prefix.len() > MOST_DIGITS as usize
            {
                let message = format!("{text:?} must be up to {MOST_DIGITS} digits, or empty");
                found.problem(key, message);
                continue;
            }
            // Those with a number of digits and those without do not compete.
            let own = counted.unwrap_or((0, 0));
            let others = seen.entry(prefix).or_default();
            let overlaps = |other: &(u32, u32)| own.0 <= other.1 && other.0 <= own.1;
            if let Some((first, _)) = others.iter().find(|(_, other)| overlaps(other)) {
                let message = if *first == index {
                    format!("{text:?} is there twice; remove one")
                } else {
                    format!(
                        "number_range[{first}] has numbers with {text:?} of as many digits; \
                         join them, or choose other `min_digits` and `max_digits`"
                    )
                };
                found.problem(key, message);
            }
            others.push((index, own));
        }
    }
}
