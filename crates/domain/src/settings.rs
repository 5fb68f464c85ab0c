//! Accounts, operators, routes, policy, MO rules, GSM networks, number ranges, event sinks and sources of commands as resources: names, versions, differences, rollback.
//!
//! The store keeps them, the configuration gives their bodies a meaning, the admin API shows them.
//! Here a body is only text, the same text for the same content. Guarantees that applying the
//! changes of a [`difference`] to one side gives the other, and undoing them restores the first.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Declares the kinds of resources: for each the words for one of them and for all, and the last part of their path.
macro_rules! kinds {
    ($(#[$meta:meta])* pub enum $Kinds:ident {
        $($(#[$doc:meta])* $Kind:ident: $one:literal, $all:literal, $path:literal;)+
    }) => {
        $(#[$meta])*
        pub enum $Kinds {
            $($(#[$doc])* $Kind,)+
        }

        impl $Kinds {
            pub const ALL: [Self; [$($one),+].len()] = [$(Self::$Kind),+];

            /// The word for one of them.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$Kind => $one,)+
                }
            }

            /// The word for all of them: the name of their table, and of their list in the API.
            pub fn plural(self) -> &'static str {
                match self {
                    $(Self::$Kind => $all,)+
                }
            }

            /// The last part of their path in the API.
            pub fn path(self) -> &'static str {
                match self {
                    $(Self::$Kind => $path,)+
                }
            }
        }
    };
}

kinds! {
    /// A resource as stored.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ResourceKind {
        /// An ESME that may bind to us.
        Account: "account", "accounts", "accounts";
        /// An upstream that we bind to.
        Operator: "operator", "operators", "operators";
        /// Which messages go where.
        Route: "route", "routes", "routes";
        /// Addresses by a name.
        List: "list", "lists", "lists";
        /// How fast accounts may send between some addresses.
        Limit: "limit", "limits", "limits";
        /// The policy for every account. There is one: [`THE_POLICY`].
        Policy: "policy", "policies", "policies";
        /// What becomes of messages that operators bring.
        MoRule: "mo_rule", "mo_rules", "mo-rules";
        /// A GSM core network that we connect to.
        Gsm: "gsm", "gsm", "gsm";
        /// A part of the number plan.
        NumberRange: "number_range", "number_ranges", "number-ranges";
        /// A broker that gets events.
        EventSink: "event_sink", "event_sinks", "event-sinks";
        /// A stream of NATS JetStream whose commands become messages.
        NatsSource: "nats_source", "nats_sources", "nats-sources";
    }
}

/// The name of the only policy.
pub const THE_POLICY: &str = "all";

/// What is wrong with a name that is to be part of a path of the API, and what to do; `None` if nothing is. Clients resolve `.` and `..` in
/// paths (RFC 3986 §5.2.4), so that no request would reach what is called so.
pub fn wrong_in_a_path(name: &str) -> Option<String> {
    let is_wrong = matches!(name, "." | "..");
    is_wrong.then(|| {
        format!("{name:?} cannot be a part of a URL, where it means a folder; choose another name")
    })
}

/// The name of one resource; written `accounts/test`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ResourceKey {
    pub kind: ResourceKind,
    /// Of an account its system_id, of an operator its id, of a route its key, else its name.
    pub name: String,
}

/// All resources of a configuration with their bodies.
pub type Resources = BTreeMap<ResourceKey, String>;

/// The change of one resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceUpdate {
    pub key: ResourceKey,
    /// `None`: it is new.
    pub before: Option<String>,
    /// `None`: it is removed.
    pub after: Option<String>,
}

// === impl ResourceKind ===

impl ResourceKind {
    /// Whether a whole configuration may say nothing of them: programs that were written before there were any do not
    /// name them.
    pub fn is_optional(self) -> bool {
        matches!(
            self,
            Self::MoRule | Self::Gsm | Self::NumberRange | Self::EventSink | Self::NatsSource
        )
    }
}

// === impl ResourceKey ===

impl ResourceKey {
    pub fn new(kind: ResourceKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
        }
    }
}

impl FromStr for ResourceKey {
    type Err = String;

    /// Reads `routes/44`, as it is written in the history.
    fn from_str(text: &str) -> Result<Self, String> {
        let (plural, name) = text.split_once('/').unwrap_or((text, ""));
        let kind = ResourceKind::ALL
            .into_iter()
            .find(|kind| kind.plural() == plural);
        match kind.filter(|_| !name.is_empty()) {
            Some(kind) => Ok(Self::new(kind, name)),
            None => Err(format!(
                "{text:?} names no resource; write a kind and a name, such as routes/44; the kinds are {}",
                ResourceKind::ALL.map(ResourceKind::plural).join(", ")
            )),
        }
    }
}

impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.plural(), self.name)
    }
}

// === impl ResourceUpdate ===

impl ResourceUpdate {
    /// `added`, `changed` or `removed`.
    pub fn action(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "added",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "removed",
        }
    }
}

/// What has to be done to `before` so that it is `after`, in the order of the keys.
pub fn difference(before: &Resources, after: &Resources) -> Vec<ResourceUpdate> {
    let mut keys: Vec<&ResourceKey> = before.keys().chain(after.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter()
        .filter(|key| before.get(key) != after.get(key))
        .map(|key| ResourceUpdate {
            key: key.clone(),
            before: before.get(key).cloned(),
            after: after.get(key).cloned(),
        })
        .collect()
}

/// Takes changes back.
pub fn undo(resources: &mut Resources, changes: &[ResourceUpdate]) {
    for change in changes {
        match &change.before {
            Some(body) => resources.insert(change.key.clone(), body.clone()),
            None => resources.remove(&change.key),
        };
    }
}

/// What some versions, in the order in which they were made, have changed together.
pub fn together<'a>(
    versions: impl IntoIterator<Item = &'a [ResourceUpdate]>,
) -> Vec<ResourceUpdate> {
    let mut all: BTreeMap<ResourceKey, ResourceUpdate> = BTreeMap::new();
    for change in versions.into_iter().flatten() {
        match all.get_mut(&change.key) {
            Some(known) => known.after.clone_from(&change.after),
            None => drop(all.insert(change.key.clone(), change.clone())),
        }
    }
    let all = all.into_values();
    all.filter(|change| change.before != change.after).collect()
}

/// The change that takes this one back.
pub fn reversed(change: ResourceUpdate) -> ResourceUpdate {
    ResourceUpdate {
        key: change.key,
        before: change.after,
        after: change.before,
    }
}

/// `3 operators changed, route 44 added`: changes in one line, for logs and the history.
pub fn summary(changes: &[ResourceUpdate]) -> String {
    let mut parts = Vec::new();
    for action in ["added", "changed", "removed"] {
        for kind in ResourceKind::ALL {
            let mut of_kind = changes
                .iter()
                .filter(|change| change.key.kind == kind && change.action() == action);
            match (of_kind.next(), of_kind.count()) {
                (None, _) => {}
                (Some(only), 0) => {
                    parts.push(format!("{} {} {action}", kind.as_str(), only.key.name));
                }
                (Some(_), more) => parts.push(format!("{} {} {action}", more + 1, kind.plural())),
            }
        }
    }
    if parts.is_empty() {
        "nothing changed".to_owned()
    } else {
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn resources(list: &[(ResourceKind, &str, &str)]) -> Resources {
        list.iter()
            .map(|(kind, name, body)| (ResourceKey::new(*kind, *name), (*body).to_owned()))
            .collect()
    }

    #[test]
    fn says_in_a_line_what_changed() {
        let before = resources(&[
            (ResourceKind::Account, "goes", "1"),
            (ResourceKind::Operator, "up", "1"),
            (ResourceKind::Route, "44", "1"),
            (ResourceKind::Route, "45", "1"),
        ]);
        let after = resources(&[
            (ResourceKind::Account, "comes", "1"),
            (ResourceKind::Operator, "up", "1"),
            (ResourceKind::Route, "44", "2"),
            (ResourceKind::Route, "45", "2"),
        ]);
        let changes = difference(&before, &after);
        assert_eq!(
            summary(&changes),
            "account comes added, 2 routes changed, account goes removed"
        );
        assert_eq!(summary(&[]), "nothing changed");
        assert_eq!(
            ResourceKey::new(ResourceKind::Route, "default").to_string(),
            "routes/default"
        );
    }

    #[test]
    fn a_key_is_read_as_it_is_written() {
        for kind in ResourceKind::ALL {
            let key = ResourceKey::new(kind, "a/b");
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        for wrong in ["", "routes", "routes/", "route/44", "/44"] {
            let said = wrong.parse::<ResourceKey>().unwrap_err();
            assert!(said.contains("routes/44"), "{said}");
        }
    }

    proptest! {
        #[test]
        fn several_changes_together_are_the_difference(
            steps in proptest::collection::vec(proptest::collection::btree_map("[a-e]", "[xyz]", 0..5), 1..5),
        ) {
            let all: Vec<Resources> = steps
                .into_iter()
                .map(|map| map.into_iter().map(|(name, body)| (ResourceKey::new(ResourceKind::Route, name), body)).collect())
                .collect();
            let changes: Vec<Vec<ResourceUpdate>> = all.windows(2).map(|pair| difference(&pair[0], &pair[1])).collect();
            let (first, last) = (&all[0], &all[all.len() - 1]);
            let found = together(changes.iter().map(Vec::as_slice));
            prop_assert_eq!(&found, &difference(first, last));
            let back: Vec<ResourceUpdate> = found.into_iter().map(reversed).collect();
            prop_assert_eq!(back, difference(last, first));
        }

        #[test]
        fn what_is_undone_is_as_before(
            before in proptest::collection::btree_map("[a-e]", "[xyz]", 0..5),
            after in proptest::collection::btree_map("[a-e]", "[xyz]", 0..5),
        ) {
            let all = |map: BTreeMap<String, String>| -> Resources {
                map.into_iter().map(|(name, body)| (ResourceKey::new(ResourceKind::Route, name), body)).collect()
            };
            let (before, after) = (all(before), all(after));
            let changes = difference(&before, &after);
            let mut undone = after.clone();
            undo(&mut undone, &changes);
            prop_assert_eq!(&undone, &before);
            prop_assert_eq!(changes.is_empty(), before == after);
        }
    }
}
