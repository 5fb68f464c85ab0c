//! Accounts, operators, routes, policy, MO rules, GSM networks, number ranges, event sinks and sources of commands as resources: their JSON, their names, what is wrong with them.
//!
//! Called by the actors that keep the store's configuration, and by `smsc apply`. The same
//! declaration that reads `[[account]]` from a file reads and writes its JSON, so the keys, their
//! types and their checks are the same everywhere. A body as it is kept has the keys that are not
//! the default, in alphabetical order; a password that stands in a file of its own stays there. What is shown has every key, and no secret.

mod changed;
mod kinds;
mod secrets;

use figment::Figment;
use figment::value::Value;
use serde_json::Value as Json;

pub use self::changed::{ChangedKey, fields};
pub(crate) use self::kinds::{ConfiguredResource, for_kind};
use self::secrets::{with_ended_secrets, with_secrets_of};

use super::problem::ConfigProblem;
use super::secret_files;
use super::setting::{Setting, SettingReader, Write};
use super::{Config, RouteConfig};
use smsc_domain::address;
use smsc_domain::settings::{ResourceKey, ResourceKind, Resources, THE_POLICY, wrong_in_a_path};

/// A configuration from a node's file and the resources of the store, with its errors.
#[derive(Debug)]
pub struct Candidate {
    pub config: Config,
    /// Keys name the resource: `routes/44.to[0]`.
    pub problems: Vec<ConfigProblem>,
    pub warnings: Vec<ConfigProblem>,
}

// === impl Config ===

impl Config {
    /// The stored form.
    pub fn resources(&self) -> Resources {
        let mut all = Resources::new();
        for kind in ResourceKind::ALL {
            for_kind!(kind, One => for one in One::list(self) {
                all.insert(ResourceKey::new(kind, one.resource_name()), one.body());
            });
        }
        all
    }

    /// What the store would have if this file were applied: [`Config::resources`], and what `compat.smpp_connector` stands
    /// for, as the store has it now (`known`) if it does.
    pub fn resources_over(&self, known: &Resources) -> Resources {
        let own = self.resources();
        let mut all = self.compat.smpp_connector.with_resources(&own);
        for (key, body) in &mut all {
            if let Some(kept) = known.get(key).filter(|_| !own.contains_key(key)) {
                body.clone_from(kept);
            }
        }
        all
    }

    /// Whether there is nothing that [`Config::resources`] could name.
    pub fn has_no_resources(&self) -> bool {
        let mut kinds = ResourceKind::ALL.into_iter();
        kinds.all(|kind| for_kind!(kind, One => One::list(self).is_empty()))
    }

    /// This configuration with other resources, checked. Reads the files that passwords and addresses
    /// stand in.
    pub fn with_resources(&self, resources: &Resources) -> Candidate {
        self.with_resources_after(resources, None)
    }

    /// This configuration with other resources, checked, in the place of an `earlier` one, whose secrets stay where their
    /// files cannot be used now. Reads the files that passwords and addresses stand in.
    pub fn with_resources_after(&self, resources: &Resources, earlier: Option<&Self>) -> Candidate {
        let mut config = self.clone();
        for kind in ResourceKind::ALL {
            for_kind!(kind, One => One::clear(&mut config));
        }
        let mut problems = Vec::new();
        for (key, body) in resources {
            let read =
                for_kind!(key.kind, One => read::<One>(body).map(|one| one.add_to(&mut config)));
            for problem in read.err().unwrap_or_default() {
                problems.push(ConfigProblem::new(join(key, &problem.key), problem.message));
            }
        }
        let (mut found, mut stays) = (Vec::new(), Vec::new());
        secret_files::read_kept(&mut config, earlier, &mut found, &mut stays);
        for (index, list) in config.list.iter_mut().enumerate() {
            if let Some(message) = list.unusable_file() {
                found.push(ConfigProblem::new(format!("list[{index}].file"), message));
                // Read once, and reported in these words.
                list.file = None;
            }
        }
        let warnings = match config.validate() {
            Ok(warnings) => warnings,
            Err(error) => {
                found.extend(error.problems().iter().cloned());
                Vec::new()
            }
        };
        let name = |problem: ConfigProblem| ConfigProblem {
            key: config.with_names(&problem.key),
            message: config.with_names(&problem.message),
            origin: problem.origin,
        };
        problems.extend(found.into_iter().map(name));
        let warnings = stays.into_iter().chain(warnings).map(name).collect();
        Candidate {
            problems,
            warnings,
            config,
        }
    }

    /// A text about `route[3]` as one about `routes/44`: places in lists mean nothing to somebody
    /// who sees resources.
    pub(super) fn with_names(&self, text: &str) -> String {
        if let Some(field) = text.strip_prefix("policy.") {
            return join(&ResourceKey::new(ResourceKind::Policy, THE_POLICY), field);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        'next: while let Some(at) = rest.find('[') {
            let (before, after) = rest.split_at(at);
            for kind in ResourceKind::ALL {
                let Some(head) = before.strip_suffix(kind.as_str()) else {
                    continue;
                };
                let place = after[1..].split_once(']');
                let Some((number, tail)) = place else { break };
                let Some(key) = number.parse().ok().and_then(|at| self.key_at(kind, at)) else {
                    break;
                };
                out.push_str(head);
                out.push_str(&key.to_string());
                rest = tail;
                continue 'next;
            }
            out.push_str(before);
            out.push('[');
            rest = &after[1..];
        }
        out.push_str(rest);
        out
    }

    fn key_at(&self, kind: ResourceKind, at: usize) -> Option<ResourceKey> {
        let name = for_kind!(kind, One => One::list(self).get(at)?.resource_name());
        Some(ResourceKey::new(kind, name))
    }
}

// === impl RouteConfig ===

impl RouteConfig {
    /// What the route is called: its name, or else its conditions, such as `44`, `default` (an empty
    /// prefix) or `44:from=ACME:account=bulk`.
    pub fn key(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => self.conditions(),
        }
    }

    /// What it is called without a name.
    pub fn conditions(&self) -> String {
        let plain =
            |text: &str| String::from_utf8_lossy(address::normalise(text.as_bytes())).into_owned();
        let mut key = plain(&self.prefix);
        if key.is_empty() {
            key = "default".to_owned();
        }
        if let Some(source) = self.source_prefix.as_deref().filter(|one| !one.is_empty()) {
            key.push_str(&format!(":from={}", plain(source)));
        }
        if let Some(account) = &self.account {
            key.push_str(&format!(":account={account}"));
        }
        if let Some(network) = &self.network {
            key.push_str(&format!(":network={network}"));
        }
        if self.mobile_originated {
            key.push_str(":mobile_originated");
        }
        key
    }
}

/// Reads what was given for a resource and answers its body as it is kept. A secret that was left
/// out is the one of `old`; a name that was left out is the one of `key`.
///
/// # Errors
/// Everything that types and names can tell; the rest is found by [`Config::with_resources`].
pub fn accept(
    key: &ResourceKey,
    given: &Json,
    old: Option<&str>,
) -> Result<String, Vec<ConfigProblem>> {
    let given = &with_secrets_of(key.kind, given, old);
    for_kind!(key.kind, One => {
        let mut one: One = read_value(given)?;
        one.take_name(&key.name)?;
        one.check_given(given)?;
        Ok(one.body())
    })
}

/// What a resource that was given without a path is called.
///
/// # Errors
/// It cannot be read, or has no name.
pub fn name_of(kind: ResourceKind, given: &Json) -> Result<String, Vec<ConfigProblem>> {
    for_kind!(kind, One => {
        let Some(field) = One::NAME_FIELD else {
            return Ok(One::default().resource_name());
        };
        let name = read_value::<One>(given)?.resource_name();
        if name.is_empty() {
            Err(vec![ConfigProblem::new(field, "is missing")])
        } else {
            Ok(name)
        }
    })
}

/// What is new in `after` and has a name that no path of the API can have. What was there before stays usable.
pub fn names_out_of_reach(before: &Resources, after: &Resources) -> Vec<ConfigProblem> {
    let new = after.keys().filter(|key| !before.contains_key(*key));
    new.filter_map(|key| {
        let message = wrong_in_a_path(&key.name)?;
        let field = for_kind!(key.kind, One => One::NAME_FIELD).unwrap_or_default();
        Some(ConfigProblem::new(join(key, field), message))
    })
    .collect()
}

/// A kept body with every key, for people: without secrets, options that are not set as `null`.
pub fn shown(kind: ResourceKind, body: &str) -> Json {
    fn written<T: Setting + Default>(body: &str) -> Option<Json> {
        read::<T>(body).ok()?.write(Write::SHOWN)
    }
    let shown = for_kind!(kind, One => written::<One>(body));
    shown.unwrap_or(Json::Null)
}

/// All resources as one document, with their secrets: for the API, from somebody who has them. A secret that is left out
/// would stay, so one that a resource has not is empty where it `ends` there.
pub fn document(resources: &Resources, ends: impl Fn(&ResourceKey, &str) -> bool) -> Json {
    let list = |kind: ResourceKind| -> Json {
        resources
            .iter()
            .filter(|(key, _)| key.kind == kind)
            .filter_map(|(key, body)| {
                let body = serde_json::from_str::<Json>(body).ok()?;
                Some(with_ended_secrets(key, body, &ends))
            })
            .collect()
    };
    // Servers of earlier builds do not know all kinds: a document without any of those is also for them.
    let has_some = |kind: &ResourceKind| resources.keys().any(|key| key.kind == *kind);
    ResourceKind::ALL
        .into_iter()
        .filter(|kind| !kind.is_optional() || has_some(kind))
        .map(|kind| (kind.plural().to_owned(), list(kind)))
        .collect()
}

/// The name in the path, unless the body has another one.
fn own_name(field: &str, path: &str, given: Option<String>) -> Result<String, Vec<ConfigProblem>> {
    match given.filter(|given| !given.is_empty()) {
        Some(given) if given != path => {
            let message = format!("is {given:?}, but the path says {path:?}; leave it out");
            Err(vec![ConfigProblem::new(field, message)])
        }
        _ => Ok(path.to_owned()),
    }
}

fn kept<T: Setting>(one: &T) -> String {
    let mut json = one.write(Write::KEPT).unwrap_or(Json::Null);
    json.sort_all_objects();
    json.to_string()
}

fn read<T: Setting + Default>(body: &str) -> Result<T, Vec<ConfigProblem>> {
    let given: Json = serde_json::from_str(body)
        .map_err(|error| vec![ConfigProblem::new("", format!("is no JSON: {error}"))])?;
    read_value(&given)
}

fn read_value<T: Setting + Default>(given: &Json) -> Result<T, Vec<ConfigProblem>> {
    let value = Value::serialize(without_nulls(given))
        .map_err(|error| vec![ConfigProblem::new("", format!("cannot be read: {error}"))])?;
    let figment = Figment::new();
    let mut reader = SettingReader::new(&figment);
    let one = T::read(&value, "", &mut reader).unwrap_or_default();
    if reader.problems.is_empty() {
        Ok(one)
    } else {
        Err(reader.problems)
    }
}

/// `null` means in JSON that a key is absent.
fn without_nulls(json: &Json) -> Json {
    match json {
        Json::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect(),
        Json::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

fn join(key: &ResourceKey, field: &str) -> String {
    if field.is_empty() {
        key.to_string()
    } else {
        format!("{key}.{field}")
    }
}

#[cfg(test)]
mod tests;
