//! Which connection takes which message. Kannel asks every connection; one that refuses is out, one
//! that prefers the message goes before the others, and those of equal rank share.

use std::collections::BTreeSet;

use super::groups::KannelGroup;
use super::smsc::KannelConnection;
use super::users::KannelSender;
use crate::routes::{ConvertedRule, FailoverSteps, settle};
use crate::{ConversionNotes, SourcePlace};

/// The messages that a connection takes.
#[derive(Debug, Default)]
pub(super) struct Preferences {
    allowed_ids: Option<Vec<String>>,
    denied_ids: Vec<String>,
    preferred_ids: Vec<String>,
    allowed: Vec<String>,
    denied: Vec<String>,
    preferred: Vec<String>,
}

/// Routes for all messages, and for the senders that select a connection by its id.
pub(super) fn rules(
    connections: &[KannelConnection],
    senders: &[KannelSender],
    notes: &mut ConversionNotes,
) -> Vec<ConvertedRule> {
    let Some(place) = connections
        .first()
        .map(|connection| connection.place.clone())
    else {
        return Vec::new();
    };
    let mut prefixes: BTreeSet<&str> = BTreeSet::from([""]);
    for preferences in connections
        .iter()
        .filter_map(|one| one.preferences.as_ref())
    {
        prefixes.extend(preferences.prefixes());
    }
    let mut rules = Vec::new();
    // The longest first: `settle` follows the first rule that matches.
    let mut ordered: Vec<&str> = prefixes.into_iter().collect();
    ordered.sort_by_key(|prefix| std::cmp::Reverse(prefix.len()));
    for prefix in ordered {
        for sender in senders.iter().filter(|sender| sender.smsc_id.is_some()) {
            rules.push(ConvertedRule {
                prefix: prefix.to_owned(),
                account: Some(sender.system_id.clone()),
                to: steps(connections, prefix, sender.smsc_id.as_deref()),
                place: sender.place.clone(),
            });
        }
        rules.push(ConvertedRule {
            prefix: prefix.to_owned(),
            account: None,
            to: steps(connections, prefix, None),
            place: place.clone(),
        });
    }
    let (kept, _) = settle(&rules);
    for rule in &kept {
        explain(rule, &rule.place, notes);
    }
    if kept.is_empty() {
        let what = "no connection takes messages that name no smsc-id";
        notes.must(&place, what, "write a [[route]] for the accounts");
    }
    kept
}

fn explain(rule: &ConvertedRule, place: &SourcePlace, notes: &mut ConversionNotes) {
    if rule.to.is_empty() {
        let what = format!(
            "no connection takes messages to {}{}",
            match rule.prefix.as_str() {
                "" => "anywhere",
                prefix => prefix,
            },
            rule.account
                .as_ref()
                .map_or(String::new(), |account| format!(" from {account}"))
        );
        let instead = "they end UNDELIVERABLE (test:failed); name an operator in that route if \
                       they should be delivered";
        notes.should(place, what, instead);
    }
}

/// The preferring connections, then the others.
fn steps(connections: &[KannelConnection], prefix: &str, smsc_id: Option<&str>) -> FailoverSteps {
    let mut ranks: [Vec<String>; 2] = Default::default();
    for connection in connections {
        let Some(preferences) = &connection.preferences else {
            continue;
        };
        if preferences.takes(prefix, smsc_id) {
            let rank = usize::from(!preferences.prefers(prefix, smsc_id));
            ranks[rank].push(connection.id.clone());
        }
    }
    ranks.into_iter().filter(|rank| !rank.is_empty()).collect()
}

// === impl Preferences ===

impl Preferences {
    /// The keys of a group.
    pub fn of(group: &KannelGroup) -> Self {
        // Routes ignore a +. Kannel compares it: `smsc convert --compare` shows where that matters.
        let digits = |key: &str| -> Vec<String> {
            let plain = |prefix: String| prefix.trim_start_matches('+').to_owned();
            let prefixes = group.list(key).into_iter().map(plain);
            prefixes
                .filter(|prefix| prefix.bytes().all(|octet| octet.is_ascii_digit()))
                .collect()
        };
        Self {
            allowed_ids: group
                .get("allowed-smsc-id")
                .map(|_| group.list("allowed-smsc-id")),
            denied_ids: group.list("denied-smsc-id"),
            preferred_ids: group.list("preferred-smsc-id"),
            allowed: digits("allowed-prefix"),
            denied: digits("denied-prefix"),
            preferred: digits("preferred-prefix"),
        }
    }

    fn prefixes(&self) -> impl Iterator<Item = &str> {
        let all = [&self.allowed, &self.denied, &self.preferred];
        all.into_iter().flatten().map(String::as_str)
    }

    /// Every prefix of every list is evaluated separately, so a number is in a list exactly when
    /// its representing prefix is.
    fn takes(&self, prefix: &str, smsc_id: Option<&str>) -> bool {
        let named = |ids: &[String]| smsc_id.is_some_and(|id| ids.iter().any(|one| one == id));
        let by_id = match &self.allowed_ids {
            Some(allowed) => named(allowed),
            None => !named(&self.denied_ids),
        };
        let (allowed, denied) = (within(&self.allowed, prefix), within(&self.denied, prefix));
        let by_number = match (self.allowed.is_empty(), self.denied.is_empty()) {
            (true, _) => !denied,
            (false, true) => allowed,
            (false, false) => allowed || !denied,
        };
        by_id && by_number
    }

    fn prefers(&self, prefix: &str, smsc_id: Option<&str>) -> bool {
        smsc_id.is_some_and(|id| self.preferred_ids.iter().any(|one| one == id))
            || within(&self.preferred, prefix)
    }
}

fn within(list: &[String], prefix: &str) -> bool {
    list.iter().any(|one| prefix.starts_with(one.as_str()))
}
