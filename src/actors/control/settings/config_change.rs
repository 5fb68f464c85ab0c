//! Requested changes of the configuration, their preconditions, and their results. Pure.

use std::fmt;

use serde_json::{Map, Value};

use super::error::SettingsError;
use super::{Lists, SettingsVersion, StoredSettings};
use crate::config::{self, ConfigProblem};
use crate::domain::settings::{
    ResourceKey, ResourceKind, ResourceUpdate, Resources, summary, undo,
};

/// The key that says when a resource is tried.
const ORDER: &str = "order";
/// Between two numbers of an order, so that others fit between them.
const STEP: u64 = 10;

/// A change of the configuration.
#[derive(Debug, Clone)]
pub enum ConfigChange {
    /// Sets one resource; a secret that is left out stays.
    Put { key: ResourceKey, given: Value },
    /// Sets some keys of one resource, which must exist; other keys stay.
    Merge {
        key: ResourceKey,
        given: Map<String, Value>,
    },
    /// Deletes one resource.
    Delete(ResourceKey),
    /// Sets the order in which resources of a kind are tried: names all of them, the first one first.
    Order {
        kind: ResourceKind,
        names: Vec<String>,
    },
    /// Sets the whole configuration.
    Replace(Lists),
    /// Restores the configuration of this version: the whole, or only one resource.
    Rollback {
        version: u64,
        only: Option<ResourceKey>,
    },
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
    pub(super) fn version_of(&self, settings: &StoredSettings) -> Option<u64> {
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
        settings: &StoredSettings,
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
    pub(super) fn what(&self, changes: &[ResourceUpdate]) -> String {
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
fn order(
    kind: ResourceKind,
    names: &[String],
    resources: &mut Resources,
) -> Result<(), SettingsError> {
    let mut found = Vec::new();
    let mut say = |key: String, message: String| found.push(ConfigProblem::new(key, message));
    for (at, name) in names.iter().enumerate() {
        let key = format!("{ORDER}[{at}]");
        if !resources.contains_key(&ResourceKey::new(kind, name)) {
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
    SettingsError::if_any(found)?;
    numbers.sort_unstable();
    if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
        numbers = (1..=names.len() as u64).map(|at| Some(at * STEP)).collect();
    }
    for (name, number) in names.iter().zip(numbers) {
        let given = Map::from_iter([(ORDER.to_owned(), Value::from(number))]);
        merge(&ResourceKey::new(kind, name), &given, resources)?;
    }
    Ok(())
}

/// Sets some keys of one resource.
fn merge(
    key: &ResourceKey,
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
    key: &ResourceKey,
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

fn missing(key: &ResourceKey) -> SettingsError {
    let (kind, path) = (key.kind.as_str(), key.kind.path());
    SettingsError::NotFound(format!(
        "there is no {kind} {:?}; GET /v1/{path} lists them",
        key.name
    ))
}

/// Problems of what was given for a resource.
pub(super) fn invalid(key: &ResourceKey, found: Vec<ConfigProblem>) -> SettingsError {
    let prefix = key.to_string();
    SettingsError::Invalid(found.into_iter().map(|one| below(&prefix, one)).collect())
}

fn below(prefix: &str, problem: ConfigProblem) -> ConfigProblem {
    ConfigProblem {
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
                Ok((key, _)) if resources.contains_key(&key) => {
                    let message = format!("{key} is there twice; remove one");
                    found.push(ConfigProblem::new(place, message));
                }
                Ok((key, body)) => {
                    resources.insert(key, body);
                }
                Err(problems) => {
                    found.extend(problems.into_iter().map(|one| below(&place, one)));
                }
            }
        }
    }
    SettingsError::if_any(found)?;
    Ok(resources)
}

fn one(
    kind: ResourceKind,
    given: &Value,
    old: &Resources,
) -> Result<(ResourceKey, String), Vec<ConfigProblem>> {
    let key = ResourceKey::new(kind, config::name_of(kind, given)?);
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
        if key.kind == ResourceKind::Operator
            && let Some(address) = there.get("address")
        {
            here.insert("address".to_owned(), address.clone());
            *body = Value::Object(here).to_string();
        }
    }
    moved
}

#[cfg(test)]
mod tests;
