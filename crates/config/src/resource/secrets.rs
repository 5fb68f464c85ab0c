//! Secrets in the bodies of resources: which are given, which stay, and which are left to a file.

use secrecy::SecretString;
use serde_json::Value as Json;

use super::kept;
use crate::problem::ConfigProblem;
use crate::sealing;
use crate::{Account, OperatorConfig};
use smsc_domain::settings::{ResourceKey, ResourceKind};

/// What was given, with the secrets of `old` that were left out: what is shown does not have them, and comes back
/// without. A secret that comes from a file now is not kept.
pub(super) fn with_secrets_of(kind: ResourceKind, given: &Json, old: Option<&str>) -> Json {
    let mut given = given.clone();
    let old = old.and_then(|old| serde_json::from_str::<Json>(old).ok());
    let (Some(old), Some(now)) = (old, given.as_object_mut()) else {
        return given;
    };
    for secret in sealing::secrets(kind) {
        let is_given = [*secret, &*format!("{secret}_file")]
            .iter()
            .any(|key| now.get(*key).is_some_and(|value| !value.is_null()));
        if !is_given && let Some(kept) = old.get(*secret) {
            now.insert((*secret).to_owned(), kept.clone());
        }
    }
    given
}

/// A body in which secrets are empty that it has not, neither as they are nor in a file, where they end.
pub(super) fn with_ended_secrets(
    of: &ResourceKey,
    mut body: Json,
    ends: impl Fn(&ResourceKey, &str) -> bool,
) -> Json {
    let Some(keys) = body.as_object_mut() else {
        return body;
    };
    for secret in sealing::secrets(of.kind) {
        let has = |key: &str| keys.get(key).is_some_and(|value| !value.is_null());
        if !has(secret) && !has(&format!("{secret}_file")) && ends(of, secret) {
            keys.insert((*secret).to_owned(), Json::from(""));
        }
    }
    body
}

/// A password is given as it is or by a file.
pub(super) fn one_of(given: &Json, key: &str, from_file: bool) -> Result<(), Vec<ConfigProblem>> {
    let is_given = given
        .get(key)
        .is_some_and(|value| !value.is_null() && value != "");
    if is_given && from_file {
        let message = format!("set either this or `{key}`, not both");
        Err(vec![ConfigProblem::new(format!("{key}_file"), message)])
    } else {
        Ok(())
    }
}

pub(super) fn account_body(one: &Account) -> String {
    let mut one = one.clone();
    for (_, file, secret) in one.secrets_in_files() {
        if file.is_some() {
            *secret = SecretString::default();
        }
    }
    kept(&one)
}

pub(super) fn operator_body(one: &OperatorConfig) -> String {
    let mut one = one.clone();
    if one.password_file.is_some() {
        one.password = SecretString::default();
    }
    kept(&one)
}
