//! Checks of the tables of words that operators have, key by key.

use std::ops::RangeInclusive;

use super::Findings;
use crate::{OperatorConfig, RetryClass, Words};
use smsc_domain::{command_status, state};

/// `statuses`, or `causes`: every key is a status or a range without ESME_ROK, every word a class, and of two
/// ranges one is within the other or they do not touch, so that it is plain which one counts.
pub(super) fn check_statuses(base: &str, statuses: &Words, found: &mut Findings) {
    let mut ranges: Vec<(&str, RangeInclusive<u32>)> = Vec::new();
    for (key, word) in statuses.iter() {
        let at = format!("{base}.{key:?}");
        if RetryClass::of(word).is_none() {
            let words = RetryClass::ALL.map(RetryClass::as_str).join(", ");
            found.problem(
                at.clone(),
                format!("{word:?} is no class; write one of {words}"),
            );
        }
        let Some(range) = command_status::parse_range(key) else {
            let message = "is no command_status; write a name, a number such as 0x0400, or a range \
                           such as 0x0410-0x041F";
            found.problem(at, message);
            continue;
        };
        if range.contains(&0) {
            found.problem(at, "must not be ESME_ROK, which is no refusal; remove it");
            continue;
        }
        let clash = ranges.iter().find(|(_, other)| clashes(other, &range));
        if let Some((other, _)) = clash {
            let message = format!("overlaps with {other:?}; write ranges that do not");
            found.problem(at, message);
        }
        ranges.push((key, range));
    }
}

fn clashes(one: &RangeInclusive<u32>, other: &RangeInclusive<u32>) -> bool {
    let touch = one.start() <= other.end() && other.start() <= one.end();
    let within = |inner: &RangeInclusive<u32>, outer: &RangeInclusive<u32>| {
        outer.start() <= inner.start() && inner.end() <= outer.end()
    };
    touch && (one == other || !(within(one, other) || within(other, one)))
}

/// `receipt_states`: every key is a word or `err:` with a code, written once whatever its case, every
/// word a state.
pub(super) fn check_receipt_states(base: &str, operator: &OperatorConfig, found: &mut Findings) {
    let mut seen: Vec<String> = Vec::new();
    for (key, word) in operator.receipt_states.iter() {
        let at = format!("{base}.{key:?}");
        if state::from_exact_name(word).is_none() {
            let words: Vec<&str> = state::names().collect();
            let message = format!("{word:?} is no state; write one of {}", words.join(", "));
            found.problem(at.clone(), message);
        }
        let what = key.strip_prefix("err:").unwrap_or(key).trim();
        if what.is_empty() || !what.bytes().all(|octet| octet.is_ascii_graphic()) {
            let message = "is no word of a receipt; write its stat, or `err:` and its error code";
            found.problem(at.clone(), message);
        }
        let folded = key.to_ascii_uppercase();
        if seen.contains(&folded) {
            found.problem(at, "is there twice, in another case; remove one");
        }
        seen.push(folded);
    }
}
