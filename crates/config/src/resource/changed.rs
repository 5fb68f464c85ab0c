//! What a change of a resource does, key by key.
//!
//! Called by the admin API and `smsc diff`; a secret shows only that it has changed.

use serde_json::{Map, Value as Json};

use super::shown;
use crate::sealing::secrets;
use smsc_domain::settings::ResourceUpdate;

/// One key of a resource that differs. A secret is shown as `"(secret)"`.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedKey {
    pub field: String,
    pub before: Json,
    pub after: Json,
}

/// What stands for a secret where it is compared.
pub(super) const SECRET: &str = "(secret)";

/// What a change does, key by key; of what is new or gone, the keys that are not the default.
pub fn fields(change: &ResourceUpdate) -> Vec<ChangedKey> {
    let side = |body: &Option<String>| -> Map<String, Json> {
        let Some(body) = body else {
            return Map::new();
        };
        let kept = serde_json::from_str(body).unwrap_or(Json::Null);
        match kept {
            Json::Object(map) => map,
            _ => Map::new(),
        }
    };
    let (before, after) = (side(&change.before), side(&change.after));
    // Keys of a changed resource that are missing on one side have the default there.
    let default = |field: &str, there: bool| {
        if there {
            shown(change.key.kind, "{}")
                .get(field)
                .cloned()
                .unwrap_or(Json::Null)
        } else {
            Json::Null
        }
    };
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let is_secret = |name: &str| secrets(change.key.kind).contains(&name);
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| {
            let value = |side: &Map<String, Json>, there: bool| match side.get(name) {
                Some(_) if is_secret(name) => Json::from(SECRET),
                Some(value) => value.clone(),
                None => default(name, there),
            };
            ChangedKey {
                field: name.clone(),
                before: value(&before, change.before.is_some()),
                after: value(&after, change.after.is_some()),
            }
        })
        .collect()
}
