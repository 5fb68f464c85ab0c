//! Questions about the configuration in the store, and changes to it.

use std::sync::Arc;

use super::api_keys;
use super::context::AdminContext;
use crate::actors::control::settings::{
    Comparison, Condition, ConfigChange, ConfigurationChange, SettingsError, SettingsVersion,
    StoredSettings,
};
use crate::actors::routing::explain::{ExplainRoute, RouteExplanation, explain};
use crate::actors::routing::explain_mo::{ExplainMo, MoRuleExplanation, explain_mo};
use crate::domain::settings::ResourceKind;
use crate::store::settings::VersionQuery;

/// What the store holds and what this node has applied.
pub struct SettingsState {
    pub settings: StoredSettings,
    /// The version that this node has applied.
    pub applied: u64,
    /// Why that is not the version of the store.
    pub trouble: Option<String>,
}

/// A change.
pub struct ChangeSettings {
    pub config_change: ConfigChange,
    pub condition: Condition,
    pub dry_run: bool,
    /// Who makes it, for the history.
    pub by: String,
}

/// The whole configuration, and the version that this node has applied.
pub async fn read(admin: Arc<AdminContext>) -> Result<SettingsState, SettingsError> {
    let configuration = &admin.configuration;
    Ok(SettingsState {
        settings: configuration.read().await?,
        applied: configuration.state.applied(),
        trouble: configuration.state.trouble(),
    })
}

/// Makes a change, or says what it would be.
pub async fn change(
    admin: Arc<AdminContext>,
    ask: ChangeSettings,
) -> Result<ConfigurationChange, SettingsError> {
    let removed = match &ask.config_change {
        ConfigChange::Delete(key) if key.kind == ResourceKind::Account && !ask.dry_run => {
            Some(key.name.clone())
        }
        _ => None,
    };
    let changed = (admin.configuration)
        .change(ask.config_change, ask.condition, ask.dry_run, &ask.by)
        .await;
    // Also where it is gone already: the store may have failed between the two before.
    let is_gone = matches!(changed, Ok(_) | Err(SettingsError::NotFound(_)));
    if let Some(account) = removed.filter(|_| is_gone) {
        api_keys::remove_all(&admin.node, &admin.access, &account).await?;
    }
    changed
}

/// Versions of the history, newest first.
pub async fn versions(
    admin: Arc<AdminContext>,
    which: VersionQuery,
) -> Result<Vec<SettingsVersion>, SettingsError> {
    admin.configuration.history(which).await
}

/// Seals every password of the store with the first key; the answer is how many bodies changed.
pub async fn reseal(admin: Arc<AdminContext>, by: String) -> Result<u64, SettingsError> {
    admin.configuration.reseal(&by).await
}

/// Compares the store with this node's file.
pub async fn compare_file(admin: Arc<AdminContext>) -> Result<Comparison, SettingsError> {
    admin.configuration.compare().await
}

/// Where a message would go.
pub async fn route(admin: Arc<AdminContext>, ask: ExplainRoute) -> RouteExplanation {
    let known = (&*admin.intake.networks, &*admin.intake.imsis);
    explain(&admin.node, known, &ask)
}

/// What would become of an MO message.
pub async fn mo_rule(admin: Arc<AdminContext>, ask: ExplainMo) -> MoRuleExplanation {
    let known = (&*admin.intake.networks, &*admin.intake.imsis);
    explain_mo(&admin.node, known, &ask)
}
