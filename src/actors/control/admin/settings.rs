//! Questions about the configuration in the store, changes to it, and notes about its resources.

use std::sync::Arc;

use super::api_keys;
use super::context::AdminContext;
use crate::actors::context::pages;
use crate::actors::control::settings::{
    Condition, ConfigChange, ConfigChangeResult, SettingsError, SettingsVersion, StoredSettings,
};
use crate::actors::routing::explain::{ExplainRoute, explain};
use crate::actors::routing::explain_mo::{ExplainMo, explain_mo};
use crate::api::{Difference, Explanation, MoExplanation, ResourceNote, ResourceNotes, time};
use crate::clock;
use crate::domain::id;
use crate::domain::settings::{ResourceKey, ResourceKind};
use crate::pb::Refusal;
use crate::store::notes::NoteRow;
use crate::store::settings::VersionQuery;

/// Most notes about one resource.
const MOST_NOTES: usize = 200;

/// What the store holds and what this node has applied.
pub struct SettingsState {
    pub settings: StoredSettings,
    /// The version that this node has applied.
    pub applied: u64,
    /// Why that is not the version of the store.
    pub trouble: Option<String>,
    /// That the store was not made from this node's file, and what to do.
    pub unused_file: Option<String>,
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
        unused_file: configuration.state.unused_file(),
    })
}

/// The resources of one kind, with the version of the whole configuration: what others there are is not read.
pub async fn of_kind(
    admin: Arc<AdminContext>,
    kind: ResourceKind,
) -> Result<StoredSettings, SettingsError> {
    admin.configuration.read_kind(kind).await
}

/// The names of all resources, in the order of their kinds.
pub async fn names(admin: Arc<AdminContext>) -> Result<Vec<ResourceKey>, Refusal> {
    Ok(admin.node.store.setting_names().await?)
}

/// Makes a change, or says what it would be.
pub async fn change(
    admin: Arc<AdminContext>,
    ask: ChangeSettings,
) -> Result<ConfigChangeResult, SettingsError> {
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
        let node = &admin.node;
        api_keys::remove_all(node, &admin.access, &account).await?;
        node.logins.forget(node.store.as_ref(), &account).await?;
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
pub async fn compare_file(admin: Arc<AdminContext>) -> Result<Difference, SettingsError> {
    admin.configuration.compare().await
}

/// Where a message would go.
pub async fn route(admin: Arc<AdminContext>, ask: ExplainRoute) -> Explanation {
    let intake = &admin.intake;
    explain(&admin.node, &intake.networks, &intake.imsis, &ask)
}

/// What would become of an MO message.
pub async fn mo_rule(admin: Arc<AdminContext>, ask: ExplainMo) -> MoExplanation {
    let intake = &admin.intake;
    explain_mo(&admin.node, &intake.networks, &intake.imsis, &ask)
}

/// Notes about a resource, or about any, the newest first.
pub async fn notes(
    admin: Arc<AdminContext>,
    about: Option<ResourceKey>,
    before: u64,
    limit: u32,
) -> Result<ResourceNotes, Refusal> {
    let about = about.map(|key| key.to_string());
    let limit = limit as usize;
    let found = admin.node.store.notes(about, pages::below(before), limit);
    let found = found.await?;
    Ok(ResourceNotes {
        next_before: pages::next_before(&found, limit, |last| last.id.to_string()),
        notes: found.into_iter().map(note_of).collect(),
    })
}

/// Writes a note about a resource.
pub async fn add_note(
    admin: Arc<AdminContext>,
    about: ResourceKey,
    text: String,
    by: String,
) -> Result<ResourceNote, Refusal> {
    if !admin.node.store.setting_names().await?.contains(&about) {
        return Err(Refusal::not_found(format!("there is no {about}")));
    }
    let key = about.to_string();
    let there = admin
        .node
        .store
        .notes(Some(key.clone()), u64::MAX, MOST_NOTES);
    if there.await?.len() >= MOST_NOTES {
        return Err(Refusal::conflict(format!(
            "{about} has {MOST_NOTES} notes: remove some of them"
        )));
    }
    let id = admin.node.next_id(clock::now_ms());
    let note = NoteRow {
        id: id.map_err(|ahead| Refusal::unavailable(ahead.to_string()))?,
        about: key,
        text,
        by,
    };
    admin.node.store.add_note(note.clone()).await?;
    Ok(note_of(note))
}

/// Removes a note; answers with it.
pub async fn remove_note(admin: Arc<AdminContext>, id: u64) -> Result<ResourceNote, Refusal> {
    let removed = admin.node.store.remove_note(id).await?;
    removed.map(note_of).ok_or_else(|| {
        Refusal::not_found(format!("there is no note {id}; GET /v1/notes lists them"))
    })
}

fn note_of(row: NoteRow) -> ResourceNote {
    ResourceNote {
        at: time(id::millis(row.id)),
        id: row.id.to_string(),
        about: row.about,
        text: row.text,
        by: row.by,
    }
}
