//! `[[number_range]]`: names, prefixes, numbers of digits, and targets that exist.

use std::collections::HashMap;

use super::Findings;
use super::policy::check_names;
use crate::number_range::number_plan;
use crate::{CompiledPolicies, Config, NumberClass, NumberRange};
use smsc_domain::address;

/// Most digits of an address (SMPP 3.4 §5.2.9).
const MOST_DIGITS: u32 = 20;

/// Index of a range, and its least and most digits.
type RangeDigits = (usize, (u32, u32));

/// Targets are checked with those of routes.
pub(super) fn check_number_ranges(
    config: &Config,
    policies: &CompiledPolicies,
    found: &mut Findings,
) {
    let names = config.number_range.iter().map(|range| range.name.as_str());
    check_names("number_range", names, found);
    number_plan(config, policies, &mut found.problems);
    let mut seen: HashMap<&[u8], Vec<RangeDigits>> = HashMap::new();
    for (index, range) in config.number_range.iter().enumerate() {
        let base = format!("number_range[{index}]");
        check_digits(&base, range, found);
        let key = format!("{base}.prefixes");
        found.require(
            &key,
            !range.prefixes.is_empty(),
            "is missing; write [\"\"] for every number",
        );
        if range.class == NumberClass::Outside && !range.numbers.is_empty() {
            let message =
                "means nothing outside: which numbers exist there, others know; remove it";
            found.problem(format!("{base}.numbers"), message);
        }
        let counted = range.counted();
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

fn check_digits(base: &str, range: &NumberRange, found: &mut Findings) {
    for (field, given) in [
        ("min_digits", range.min_digits),
        ("max_digits", range.max_digits),
    ] {
        if given.is_some_and(|given| !(1..=MOST_DIGITS).contains(&given)) {
            let message = format!("must be 1 to {MOST_DIGITS}");
            found.problem(format!("{base}.{field}"), message);
        }
    }
    if let Some((min, max)) = range.counted()
        && min > max
    {
        let message = format!("is {min}, and `max_digits` only {max}");
        found.problem(format!("{base}.min_digits"), message);
    }
}
