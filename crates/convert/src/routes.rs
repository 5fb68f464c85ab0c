//! Converts rules that are tried in order into routes of which the most specific one wins.
//!
//! Other products try their routes one after the other, or ask every connection whether it takes
//! the message. Ours are chosen by the longest prefix, then by the account. [`settle`] gives every
//! combination of conditions that can hold together a route of its own, so that both agree on every
//! message, and leaves out those that change nothing.

use std::collections::BTreeSet;

use super::SourcePlace;
use super::draft::{DraftTable, list, quoted};

/// Targets in order of failover; those of one step share equally.
pub(super) type FailoverSteps = Vec<Vec<String>>;

/// A condition and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConvertedRule {
    /// Destinations that start with it.
    pub prefix: String,
    /// Only messages of this account.
    pub account: Option<String>,
    /// No target when empty: such messages are refused.
    pub to: FailoverSteps,
    /// Where it comes from.
    pub place: SourcePlace,
}

/// Prefix and account.
type RouteCondition = (String, Option<String>);

/// Routes that lead every message where the first matching rule does, and the rules that no
/// message reaches, by their index.
pub(super) fn settle(rules: &[ConvertedRule]) -> (Vec<ConvertedRule>, Vec<usize>) {
    let conditions = closed(rules.iter().map(condition).collect());
    let reached = |wanted: &RouteCondition| {
        rules
            .iter()
            .position(|rule| covers(&condition(rule), wanted))
    };
    let unreached = (0..rules.len())
        .filter(|index| reached(&condition(&rules[*index])) != Some(*index))
        .collect();
    let mut ordered: Vec<RouteCondition> = conditions.into_iter().collect();
    ordered.sort_by_key(|(prefix, account)| (prefix.len(), account.is_some()));
    let mut kept: Vec<ConvertedRule> = Vec::new();
    for wanted in ordered {
        let Some(rule) = reached(&wanted).map(|index| &rules[index]) else {
            continue;
        };
        // The target of a message without a route for this condition.
        let otherwise = kept
            .iter()
            .filter(|kept| covers(&condition(kept), &wanted))
            .max_by_key(|kept| (kept.prefix.len(), kept.account.is_some()));
        let needed = match otherwise {
            Some(otherwise) => otherwise.to != rule.to,
            None => !rule.to.is_empty(),
        };
        if needed {
            let (prefix, account) = wanted;
            kept.push(ConvertedRule {
                prefix,
                account,
                ..rule.clone()
            });
        }
    }
    kept.sort_by(|a, b| (&a.prefix, &a.account).cmp(&(&b.prefix, &b.account)));
    (kept, unreached)
}

/// With every pair of conditions also what fits both.
fn closed(mut conditions: BTreeSet<RouteCondition>) -> BTreeSet<RouteCondition> {
    let mut fresh: Vec<RouteCondition> = conditions.iter().cloned().collect();
    while let Some(one) = fresh.pop() {
        let both: Vec<RouteCondition> = conditions
            .iter()
            .filter_map(|other| intersect(&one, other))
            .collect();
        for condition in both {
            if conditions.insert(condition.clone()) {
                fresh.push(condition);
            }
        }
    }
    conditions
}

fn condition(rule: &ConvertedRule) -> RouteCondition {
    (rule.prefix.clone(), rule.account.clone())
}

/// Whether every message of `inner` is one of `outer`.
fn covers(outer: &RouteCondition, inner: &RouteCondition) -> bool {
    inner.0.starts_with(&outer.0) && (outer.1.is_none() || outer.1 == inner.1)
}

fn intersect(a: &RouteCondition, b: &RouteCondition) -> Option<RouteCondition> {
    let prefix = match (a.0.starts_with(&b.0), b.0.starts_with(&a.0)) {
        (true, _) => &a.0,
        (_, true) => &b.0,
        _ => return None,
    };
    let account = match (&a.1, &b.1) {
        (Some(a), Some(b)) if a != b => return None,
        (Some(one), _) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    };
    Some((prefix.clone(), account))
}

// === impl ConvertedRule ===

impl ConvertedRule {
    /// As `[[route]]`.
    pub fn table(&self) -> DraftTable {
        let mut table = DraftTable::of(&self.place, "route");
        table.text("prefix", &self.prefix);
        if let Some(account) = &self.account {
            table.text("account", account);
        }
        let steps: Vec<String> = self.to.iter().map(|step| written(step)).collect();
        if steps.is_empty() {
            table.set("to", list(&["test:failed"]));
        } else {
            table.set("to", format!("[{}]", steps.join(", ")));
        }
        table
    }
}

fn written(step: &[String]) -> String {
    if let [only] = step {
        return quoted(only);
    }
    let shares: Vec<String> = step
        .iter()
        .map(|target| format!("{} = 1", quoted(target)))
        .collect();
    format!("{{ {} }}", shares.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(prefix: &str, account: Option<&str>, to: &str) -> ConvertedRule {
        ConvertedRule {
            prefix: prefix.to_owned(),
            account: account.map(str::to_owned),
            to: match to {
                "" => Vec::new(),
                to => vec![vec![to.to_owned()]],
            },
            place: SourcePlace {
                file: "f".to_owned(),
                line: 1,
            },
        }
    }

    fn shown(rules: &[ConvertedRule]) -> Vec<String> {
        let show = |rule: &ConvertedRule| {
            format!(
                "{}/{}/{}",
                rule.prefix,
                rule.account.as_deref().unwrap_or("*"),
                rule.to.concat().join(",")
            )
        };
        rules.iter().map(show).collect()
    }

    #[test]
    fn an_earlier_wide_rule_hides_a_later_narrow_one() {
        let (kept, unreached) = settle(&[rule("44", None, "a"), rule("447", None, "b")]);
        assert_eq!(shown(&kept), ["44/*/a"]);
        assert_eq!(unreached, [1]);
    }

    #[test]
    fn what_fits_two_rules_follows_the_earlier_one() {
        let rules = [
            rule("44", None, "a"),
            rule("", Some("acme"), "b"),
            rule("", None, "c"),
        ];
        let (kept, unreached) = settle(&rules);
        // Routes here compare the account only among equal prefixes, so 44 needs nothing more.
        assert_eq!(shown(&kept), ["/*/c", "/acme/b", "44/*/a"]);
        assert!(unreached.is_empty());
        let turned = [rules[1].clone(), rules[0].clone(), rules[2].clone()];
        let (kept, _) = settle(&turned);
        assert_eq!(shown(&kept), ["/*/c", "/acme/b", "44/*/a", "44/acme/b"]);
    }

    #[test]
    fn nobody_is_a_route_only_where_somebody_would_take_it() {
        let (kept, _) = settle(&[rule("1", None, ""), rule("", None, "a")]);
        assert_eq!(shown(&kept), ["/*/a", "1/*/"]);
        let (kept, _) = settle(&[rule("1", None, ""), rule("2", None, "a")]);
        assert_eq!(shown(&kept), ["2/*/a"]);
    }
}
