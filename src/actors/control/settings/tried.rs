//! An operator as a PUT of it would make it, which is kept nowhere: for who tries its connection before it is there.

use std::sync::Arc;

use serde_json::Value;

use super::config_change::invalid;
use super::error::SettingsError;
use super::{StoredConfiguration, blocking};
use crate::config::{self, ConfigProblem, OperatorConfig};
use crate::domain::settings::{ResourceKey, Resources};

impl StoredConfiguration {
    /// An operator of these settings, as this node would use it. No secret goes to an address that somebody only tries: a
    /// password that is left out is empty, and a file must be one that may be named through the API, or that the operator of
    /// this name at this address has already.
    ///
    /// # Errors
    /// What is wrong with it; the store does not answer.
    pub async fn tried_operator(
        self: &Arc<Self>,
        key: ResourceKey,
        given: Value,
    ) -> Result<OperatorConfig, SettingsError> {
        let mut resources = self.read().await?.resources();
        let this = Arc::clone(self);
        blocking(move || {
            let body = config::accept(&key, &given, None).map_err(|found| invalid(&key, found))?;
            let file = this.state.file.load();
            let tried = Resources::from([(key.clone(), body.clone())]);
            let in_file = file.resources();
            let known = [&resources, &in_file].map(|all| there(all, &key, &body));
            let known = known.each_ref();
            // Before anything reads them.
            let folder = file.http.files_dir.as_deref();
            SettingsError::if_any(config::files_out_of_reach(&tried, folder, &known))?;
            resources.extend(tried);
            let candidate = file.with_resources(&resources);
            let prefix = key.to_string();
            // What is wrong with others does not matter here.
            let own = |one: &ConfigProblem| {
                let rest = one.key.strip_prefix(&prefix);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            SettingsError::if_any(candidate.problems.into_iter().filter(own).collect())?;
            let mut operators = candidate.config.operator.into_iter();
            let found = operators.find(|one| one.id == key.name);
            found.ok_or_else(|| {
                SettingsError::Invalid(vec![ConfigProblem::new(prefix, "cannot be read")])
            })
        })
        .await
    }
}

/// The resource of this key, if it has the address of this body.
fn there(all: &Resources, key: &ResourceKey, body: &str) -> Resources {
    let address = |body: &str| -> Option<Value> {
        let settings: Value = serde_json::from_str(body).ok()?;
        settings.get("address").cloned()
    };
    let found = all.get_key_value(key);
    let found = found.filter(|(_, kept)| address(kept) == address(body));
    let found = found.map(|(key, kept)| (key.clone(), kept.clone()));
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::ResourceKind;

    #[test]
    fn what_is_named_already_stays_with_its_address() {
        let key = ResourceKey::new(ResourceKind::Operator, "up");
        let body = r#"{"address":"a:1","id":"up","password_file":"/run/up"}"#.to_owned();
        let all = Resources::from([(key.clone(), body)]);
        let tried = |address: &str| format!(r#"{{"address":"{address}","id":"up"}}"#);
        assert_eq!(there(&all, &key, &tried("a:1")), all);
        assert!(there(&all, &key, &tried("b:1")).is_empty());
        let other = ResourceKey::new(ResourceKind::Operator, "other");
        assert!(there(&all, &other, &tried("a:1")).is_empty());
    }
}
