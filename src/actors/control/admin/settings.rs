//! Questions about the configuration in the store, and changes to it.
//!
//! Not protobuf: they never leave the process, and the bodies are JSON already.

use std::sync::Arc;

use actix::{Handler, Message, MessageResult, ResponseFuture};

use super::{Admin, api_keys};
use crate::actors::control::settings::{
    Changed, Comparison, Condition, ConfigChange, Settings, SettingsError, SettingsVersion,
};
use crate::actors::routing::explain::{ExplainRoute, Explanation, explain};
use crate::actors::routing::explain_mo::{ExplainMo, MoExplanation, explain_mo};
use crate::domain::settings::Kind;
use crate::store::settings::VersionQuery;

/// Requests the whole configuration, and the version that this node has applied.
pub struct ReadSettings;

/// What the store holds and what this node has applied.
pub struct SettingsState {
    pub settings: Settings,
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

/// Requests versions of the history, newest first.
pub struct ReadVersions(pub VersionQuery);

/// Seals every password of the store with the first key; the answer is how many bodies changed.
pub struct Reseal {
    pub by: String,
}

/// Compares the store with this node's file.
pub struct CompareFile;

impl Message for ReadSettings {
    type Result = Result<SettingsState, SettingsError>;
}

impl Message for ChangeSettings {
    type Result = Result<Changed, SettingsError>;
}

impl Message for ReadVersions {
    type Result = Result<Vec<SettingsVersion>, SettingsError>;
}

impl Message for Reseal {
    type Result = Result<u64, SettingsError>;
}

impl Message for CompareFile {
    type Result = Result<Comparison, SettingsError>;
}

impl Message for ExplainRoute {
    type Result = Explanation;
}

impl Message for ExplainMo {
    type Result = MoExplanation;
}

impl Handler<ReadSettings> for Admin {
    type Result = ResponseFuture<Result<SettingsState, SettingsError>>;

    fn handle(&mut self, _: ReadSettings, _: &mut Self::Context) -> Self::Result {
        let configuration = Arc::clone(&self.configuration);
        Box::pin(async move {
            Ok(SettingsState {
                settings: configuration.read().await?,
                applied: configuration.state.applied(),
                trouble: configuration.state.trouble(),
            })
        })
    }
}

impl Handler<ChangeSettings> for Admin {
    type Result = ResponseFuture<Result<Changed, SettingsError>>;

    fn handle(&mut self, ask: ChangeSettings, _: &mut Self::Context) -> Self::Result {
        let configuration = Arc::clone(&self.configuration);
        let (node, access) = (Arc::clone(&self.node), Arc::clone(&self.access));
        Box::pin(async move {
            let removed = match &ask.config_change {
                ConfigChange::Delete(key) if key.kind == Kind::Account && !ask.dry_run => {
                    Some(key.name.clone())
                }
                _ => None,
            };
            let change =
                configuration.change(ask.config_change, ask.condition, ask.dry_run, &ask.by);
            let changed = change.await;
            // Also where it is gone already: the store may have failed between the two before.
            let is_gone = matches!(changed, Ok(_) | Err(SettingsError::NotFound(_)));
            if let Some(account) = removed.filter(|_| is_gone) {
                api_keys::remove_all(&node, &access, &account).await?;
            }
            changed
        })
    }
}

impl Handler<ReadVersions> for Admin {
    type Result = ResponseFuture<Result<Vec<SettingsVersion>, SettingsError>>;

    fn handle(&mut self, ask: ReadVersions, _: &mut Self::Context) -> Self::Result {
        let configuration = Arc::clone(&self.configuration);
        Box::pin(async move { configuration.history(ask.0).await })
    }
}

impl Handler<Reseal> for Admin {
    type Result = ResponseFuture<Result<u64, SettingsError>>;

    fn handle(&mut self, ask: Reseal, _: &mut Self::Context) -> Self::Result {
        let configuration = Arc::clone(&self.configuration);
        Box::pin(async move { configuration.reseal(&ask.by).await })
    }
}

impl Handler<CompareFile> for Admin {
    type Result = ResponseFuture<Result<Comparison, SettingsError>>;

    fn handle(&mut self, _: CompareFile, _: &mut Self::Context) -> Self::Result {
        let configuration = Arc::clone(&self.configuration);
        Box::pin(async move { configuration.compare().await })
    }
}

impl Handler<ExplainRoute> for Admin {
    type Result = MessageResult<ExplainRoute>;

    fn handle(&mut self, ask: ExplainRoute, _: &mut Self::Context) -> Self::Result {
        let known = (&*self.intake.networks, &*self.intake.imsis);
        MessageResult(explain(&self.node, known, &ask))
    }
}

impl Handler<ExplainMo> for Admin {
    type Result = MessageResult<ExplainMo>;

    fn handle(&mut self, ask: ExplainMo, _: &mut Self::Context) -> Self::Result {
        let known = (&*self.intake.networks, &*self.intake.imsis);
        MessageResult(explain_mo(&self.node, known, &ask))
    }
}
