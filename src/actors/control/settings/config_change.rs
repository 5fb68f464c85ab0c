//! Requested changes of the configuration, their preconditions, and their results. Pure.

use std::fmt;

use serde_json::{Map, Value};

use super::error::SettingsError;
use super::{Lists, Settings, SettingsVersion};
use crate::config::{self, Problem};
use crate::domain::settings::{Change, Key, Kind, Resources, summary, undo};

/// The key that says when a resource is tried.
const ORDER: &str = "order";
/// Between two numbers of an order, so that others fit between them.
const STEP: u64 = 10;

/// A change of the configuration.
#[derive(Debug, Clone)]
pub enum ConfigChange {
    /// Sets one resource; a secret that is left out stays.
    Put { key: Key, given: Value },
    /// Sets some keys of one resource, which must exist; other keys stay.
    Merge { key: Key, given: Map<String, Value> },
    /// Deletes one resource.
    Delete(Key),
    /// Sets the order in which resources of a kind are tried: names all of them, the first one first.
    Order { kind: Kind, names: Vec<String> },
    /// Sets the whole configuration.
    Replace(Lists),
    /// Restores the configuration of this version: the whole, or only one resource.
    Rollback { version: u64, only: Option<Key> },
}

/// Preconditions of a change on the current version (RFC 9110 §13.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
    /// It is one of these.
    pub is_one_of: Option<Vec<u64>>,
    /// It exists.
    pub exists: bool,
    /// It does not exist.
    pub is_absent: bool,
}

// === impl Condition ===

impl Condition {
    /// Compares with the current version.
    ///
    /// # Errors
    /// [`SettingsError::Precondition`].
    pub fn check(&self, current: Option<u64>, what: &str) -> Result<(), SettingsError> {
        let fail = |text: String| Err(SettingsError::Precondition(text));
        match (&self.is_one_of, current) {
            (Some(_), None) => return fail(format!("{what} does not exist")),
            (Some(versions), Some(current)) if !versions.contains(&current) => {
                return fail(format!(
                    "{what} has version {current} now: read it again, and make the change to that"
                ));
            }
            _ => {}
        }
        match current {
            None if self.exists => fail(format!("{what} does not exist")),
            Some(_) if self.is_absent => fail(format!("{what} exists already")),
            _ => Ok(()),
        }
    }
}

// === impl ConfigChange ===

impl ConfigChange {
    /// The version of the resource to change; `None` if it does not exist.
    pub(super) fn version_of(&self, settings: &Settings) -> Option<u64> {
        match self {
            Self::Put { key, .. } | Self::Merge { key, .. } | Self::Delete(key) => {
                settings.get(key).map(|setting| setting.version)
            }
            Self::Order { .. } | Self::Replace(_) | Self::Rollback { .. } => {
                Some(settings.version).filter(|version| *version > 0)
            }
        }
    }

    /// The resources after the change.
    pub(super) fn apply(
        &self,
        settings: &Settings,
        newer: &[SettingsVersion],
    ) -> Result<Resources, SettingsError> {
        let mut resources = settings.resources();
        match self {
            Self::Put { key, given } => {
                let old = resources.get(key).map(String::as_str);
                let body = config::accept(key, given, old).map_err(|found| invalid(key, found))?;
                resources.insert(key.clone(), body);
            }
            Self::Merge { key, given } => merge(key, given, &mut resources)?,
            Self::Delete(key) => {
                resources.remove(key).ok_or_else(|| missing(key))?;
            }
            Self::Order { kind, names } => order(*kind, names, &mut resources)?,
            Self::Replace(lists) => return replace(lists, &resources),
            Self::Rollback { version, only } => {
                if *version == 0 || *version > settings.version {
                    return Err(SettingsError::NotFound(format!(
                        "there is no version {version}; GET /v1/config/versions lists them"
                    )));
                }
                let mut then = resources.clone();
                for one in newer.iter().filter(|one| one.version <= settings.version) {
                    undo(&mut then, &one.changes);
                }
                match only {
                    None => resources = then,
                    Some(key) => restore(key, then.remove(key), *version, &mut resources)?,
                }
            }
        }
        Ok(resources)
    }

    /// A description for the history.
    pub(super) fn what(&self, changes: &[Change]) -> String {
        match self {
            Self::Rollback { version, .. } => {
                format!("rolled back to version {version}: {}", summary(changes))
            }
            Self::Order { .. } => format!("put in order: {}", summary(changes)),
            Self::Replace(_) => format!("applied as a whole: {}", summary(changes)),
            Self::Put { .. } | Self::Merge { .. } | Self::Delete(_) => summary(changes),
        }
    }
}

impl fmt::Display for ConfigChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put { key, .. } | Self::Merge { key, .. } | Self::Delete(key) => {
                write!(f, "{key}")
            }
            Self::Order { .. } | Self::Replace(_) | Self::Rollback { .. } => {
                f.write_str("the configuration")
            }
        }
    }
}

/// Gives the resources of a kind the numbers that they have, in this order; new ones if some have the same.
fn order(kind: Kind, names: &[String], resources: &mut Resources) -> Result<(), SettingsError> {
    let mut found = Vec::new();
    let mut say = |key: String, message: String| {
        found.push(Problem {
            key,
            message,
            origin: None,
        });
    };
    for (at, name) in names.iter().enumerate() {
        let key = format!("{ORDER}[{at}]");
        if !resources.contains_key(&Key::new(kind, name)) {
            say(key, format!("there is no {} {name:?}", kind.as_str()));
        } else if names[..at].contains(name) {
            say(key, format!("{name:?} is there twice; remove one"));
        }
    }
    let mut numbers = Vec::new();
    for (key, body) in resources.iter().filter(|(key, _)| key.kind == kind) {
        numbers.push(config::shown(kind, body)[ORDER].as_u64());
        if !names.contains(&key.name) {
            say(
                ORDER.to_owned(),
                format!("lacks {:?}; name all of them", key.name),
            );
        }
    }
    if !found.is_empty() {
        return Err(SettingsError::Invalid(found));
    }
    numbers.sort_unstable();
    if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
        numbers = (1..=names.len() as u64).map(|at| Some(at * STEP)).collect();
    }
    for (name, number) in names.iter().zip(numbers) {
        let given = Map::from_iter([(ORDER.to_owned(), Value::from(number))]);
        merge(&Key::new(kind, name), &given, resources)?;
    }
    Ok(())
}

/// Sets some keys of one resource.
fn merge(
    key: &Key,
    given: &Map<String, Value>,
    resources: &mut Resources,
) -> Result<(), SettingsError> {
    let old = resources.get(key).ok_or_else(|| missing(key))?;
    let mut whole = config::shown(key.kind, old);
    if let Value::Object(whole) = &mut whole {
        whole.extend(given.clone());
    }
    let body = config::accept(key, &whole, Some(old)).map_err(|found| invalid(key, found))?;
    resources.insert(key.clone(), body);
    Ok(())
}

/// Makes one resource what it was in a version; what was not there then is removed.
fn restore(
    key: &Key,
    then: Option<String>,
    version: u64,
    resources: &mut Resources,
) -> Result<(), SettingsError> {
    let now = resources.remove(key);
    if now.is_none() && then.is_none() {
        return Err(SettingsError::NotFound(format!(
            "{key} is neither in version {version} nor now; GET /v1/config/versions?resource={key} lists when it was"
        )));
    }
    resources.extend(then.map(|body| (key.clone(), body)));
    Ok(())
}

fn missing(key: &Key) -> SettingsError {
    let (kind, path) = (key.kind.as_str(), key.kind.path());
    SettingsError::NotFound(format!(
        "there is no {kind} {:?}; GET /v1/{path} lists them",
        key.name
    ))
}

fn invalid(key: &Key, found: Vec<Problem>) -> SettingsError {
    let prefix = key.to_string();
    SettingsError::Invalid(found.into_iter().map(|one| below(&prefix, one)).collect())
}

fn below(prefix: &str, problem: Problem) -> Problem {
    Problem {
        key: match problem.key.as_str() {
            "" => prefix.to_owned(),
            key => format!("{prefix}.{key}"),
        },
        ..problem
    }
}

/// The given resources; errors name their place in the lists.
fn replace(lists: &Lists, old: &Resources) -> Result<Resources, SettingsError> {
    let mut resources = Resources::new();
    let mut found = Vec::new();
    for (kind, list) in lists {
        for (at, given) in list.iter().enumerate() {
            let place = format!("{}[{at}]", kind.plural());
            match one(*kind, given, old) {
                Ok((key, _)) if resources.contains_key(&key) => found.push(Problem {
                    key: place,
                    message: format!("{key} is there twice; remove one"),
                    origin: None,
                }),
                Ok((key, body)) => {
                    resources.insert(key, body);
                }
                Err(problems) => {
                    found.extend(problems.into_iter().map(|one| below(&place, one)));
                }
            }
        }
    }
    match found.is_empty() {
        true => Ok(resources),
        false => Err(SettingsError::Invalid(found)),
    }
}

fn one(kind: Kind, given: &Value, old: &Resources) -> Result<(Key, String), Vec<Problem>> {
    let key = Key::new(kind, config::name_of(kind, given)?);
    let old = old.get(&key).map(String::as_str);
    let body = config::accept(&key, given, old)?;
    Ok((key, body))
}

/// The resources, with the addresses of the operators with the same name in `from`.
pub(super) fn with_addresses(resources: &Resources, from: &Resources) -> Resources {
    let mut moved = resources.clone();
    for (key, body) in &mut moved {
        let parse = |body: &String| serde_json::from_str::<Map<String, Value>>(body).ok();
        let there = from.get(key).and_then(parse);
        let Some((there, mut here)) = there.zip(parse(body)) else {
            continue;
        };
        if key.kind == Kind::Operator
            && let Some(address) = there.get("address")
        {
            here.insert("address".to_owned(), address.clone());
            *body = Value::Object(here).to_string();
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::settings::difference;
    use crate::store::settings::Setting;

    fn settings(version: u64, list: &[(Kind, &str, Value)]) -> Settings {
        let mut settings: Vec<Setting> = list
            .iter()
            .map(|(kind, name, body)| Setting {
                key: Key::new(*kind, *name),
                version,
                body: body.to_string(),
            })
            .collect();
        settings.sort_by(|one, other| one.key.cmp(&other.key));
        Settings { version, settings }
    }

    fn two() -> Settings {
        settings(
            2,
            &[
                (
                    Kind::Account,
                    "a",
                    json!({"password": "p", "system_id": "a"}),
                ),
                (
                    Kind::Operator,
                    "up",
                    json!({"address": "h:1", "id": "up", "rate": 50}),
                ),
            ],
        )
    }

    #[test]
    fn a_merge_changes_only_what_it_names() {
        let config_change = ConfigChange::Merge {
            key: Key::new(Kind::Operator, "up"),
            given: Map::from_iter([("rate".to_owned(), json!(10))]),
        };
        let after = config_change.apply(&two(), &[]).unwrap();
        let body: Value = serde_json::from_str(&after[&Key::new(Kind::Operator, "up")]).unwrap();
        assert_eq!(body, json!({"address": "h:1", "id": "up", "rate": 10}));
        let config_change = ConfigChange::Merge {
            key: Key::new(Kind::Operator, "gone"),
            given: Map::new(),
        };
        assert!(matches!(
            config_change.apply(&two(), &[]),
            Err(SettingsError::NotFound(_))
        ));
    }

    #[test]
    fn an_order_keeps_its_numbers_unless_some_are_the_same() {
        let rules = |numbers: [u32; 3]| {
            let rule = |name, number| (Kind::MoRule, name, json!({"name": name, "order": number}));
            let [one, two, three] = numbers;
            settings(3, &[rule("a", one), rule("b", two), rule("c", three)])
        };
        let order = |names: &[&str], numbers| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let kind = Kind::MoRule;
            ConfigChange::Order { kind, names }.apply(&rules(numbers), &[])
        };
        let number = |after: &Resources, name: &str| {
            let body = &after[&Key::new(Kind::MoRule, name)];
            config::shown(Kind::MoRule, body)["order"].as_u64().unwrap()
        };
        let numbers = |after: Resources| ["a", "b", "c"].map(|name| number(&after, name));
        let after = order(&["c", "a", "b"], [5, 7, 90]).unwrap();
        assert_eq!(numbers(after), [7, 90, 5]);
        let after = order(&["b", "a", "c"], [100, 100, 7]).unwrap();
        assert_eq!(numbers(after), [20, 10, 30]);
        for (names, key, said) in [
            (vec!["a", "b"], "order", "lacks \"c\""),
            (vec!["a", "b", "x", "c"], "order[2]", "no mo_rule \"x\""),
            (vec!["a", "b", "c", "a"], "order[3]", "twice"),
        ] {
            match order(&names, [1, 2, 3]) {
                Err(SettingsError::Invalid(found)) => {
                    assert_eq!(found[0].key, key);
                    assert!(found[0].message.contains(said), "{found:?}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_rollback_undoes_what_came_after() {
        let before = settings(1, &[(Kind::Account, "a", json!({"system_id": "a"}))]);
        let changes = difference(&before.resources(), &two().resources());
        let newer = [SettingsVersion {
            version: 2,
            at: 0,
            who: String::new(),
            what: String::new(),
            changes,
        }];
        let rollback =
            |version, only| ConfigChange::Rollback { version, only }.apply(&two(), &newer);
        assert_eq!(rollback(1, None).unwrap(), before.resources());
        for unknown in [0, 3] {
            let refused = rollback(unknown, None);
            assert!(matches!(refused, Err(SettingsError::NotFound(_))));
        }
        // Only one resource: what was not there then is removed, the rest stays.
        let (account, operator) = (Key::new(Kind::Account, "a"), Key::new(Kind::Operator, "up"));
        let after = rollback(1, Some(operator)).unwrap();
        assert_eq!(after.len(), 1);
        assert_eq!(after[&account], two().resources()[&account]);
        let after = rollback(1, Some(account.clone())).unwrap();
        assert_eq!(after.len(), 2);
        assert_eq!(after[&account], before.resources()[&account]);
        let refused = rollback(1, Some(Key::new(Kind::Route, "44")));
        assert!(matches!(refused, Err(SettingsError::NotFound(_))));
    }

    #[test]
    fn the_whole_keeps_secrets_and_names_what_is_wrong() {
        let lists = |second: Value| {
            ConfigChange::Replace(vec![(
                Kind::Account,
                vec![json!({"system_id": "a", "window": 3}), second],
            )])
        };
        let after = lists(json!({"system_id": "b", "password": "q"}))
            .apply(&two(), &[])
            .unwrap();
        assert_eq!(after.len(), 2, "{after:?}");
        assert!(after[&Key::new(Kind::Account, "a")].contains("\"password\":\"p\""));
        for (wrong, key) in [
            (json!({"system_id": "a"}), "accounts[1]"),
            (json!({"password": "q"}), "accounts[1].system_id"),
            (json!({"system_id": "b", "rate": "x"}), "accounts[1].rate"),
        ] {
            match lists(wrong).apply(&two(), &[]) {
                Err(SettingsError::Invalid(found)) => assert_eq!(found[0].key, key),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn conditions_are_those_of_http() {
        let one_of = |versions: &[u64]| Condition {
            is_one_of: Some(versions.to_vec()),
            ..Condition::default()
        };
        let exists = Condition {
            exists: true,
            ..Condition::default()
        };
        let is_absent = Condition {
            is_absent: true,
            ..Condition::default()
        };
        for (condition, current, holds) in [
            (Condition::default(), None, true),
            (Condition::default(), Some(3), true),
            (one_of(&[3, 4]), Some(3), true),
            (one_of(&[4]), Some(3), false),
            (one_of(&[4]), None, false),
            (exists.clone(), Some(3), true),
            (exists, None, false),
            (is_absent.clone(), None, true),
            (is_absent, Some(3), false),
        ] {
            let checked = condition.check(current, "it");
            assert_eq!(checked.is_ok(), holds, "{condition:?} {current:?}");
        }
    }
}
