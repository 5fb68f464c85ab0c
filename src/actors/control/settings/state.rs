//! What a node knows of the configuration: held by [`Configuration`](super::Configuration), which changes it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, ArcSwapOption};

use super::error::SettingsError;
use crate::actors::context::addresses::SupervisorAddress;
use crate::actors::context::plan::{MakeQueues, Plan};
use crate::config::{Config, Keyring};
use crate::domain::settings::{Resources, difference, summary};
use crate::pb::PlanChanged;
use crate::store::StoreError;

/// What this node knows of its configuration.
pub struct ConfigState {
    pub(super) file: ArcSwap<Config>,
    /// Where `file` was read; `None` for a node without one.
    pub(super) path: Option<PathBuf>,
    /// What passwords in the store are sealed with.
    pub(super) keys: ArcSwap<Keyring>,
    pub(super) applied: AtomicU64,
    pub(super) trouble: ArcSwapOption<String>,
    /// One change of the plan at a time.
    pub(super) turn: tokio::sync::Mutex<()>,
    supervisor: OnceLock<SupervisorAddress>,
}

// === impl ConfigState ===

impl ConfigState {
    /// Works with this version of the store's configuration.
    pub(super) fn new(file: Config, path: Option<PathBuf>, keys: Keyring, applied: u64) -> Self {
        Self {
            path,
            keys: ArcSwap::from_pointee(keys),
            applied: AtomicU64::new(applied),
            file: ArcSwap::from_pointee(file),
            trouble: ArcSwapOption::empty(),
            turn: tokio::sync::Mutex::new(()),
            supervisor: OnceLock::new(),
        }
    }

    /// The version that this node works with.
    pub fn applied(&self) -> u64 {
        self.applied.load(Ordering::Relaxed)
    }

    /// Why this node does not work with the store's version.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.load().as_ref().map(|text| text.to_string())
    }

    /// Starts the queues of a plan, and one more that holds messages.
    ///
    /// # Errors
    /// Nobody starts queues any more.
    pub async fn make_queues(
        &self,
        plan: &Arc<Plan>,
        orphan: Option<u32>,
    ) -> Result<(), StoreError> {
        let Some(supervisor) = self.supervisor.get() else {
            return Ok(());
        };
        let plan = Arc::clone(plan);
        let made = supervisor
            .recipient()
            .send(MakeQueues { plan, orphan })
            .await;
        made.map_err(|_| StoreError::Closed)
    }

    /// Has queues and binds brought in line with the plan. A supervisor that is restarting applies it when it
    /// is back.
    pub(super) async fn tell_supervisor(&self) {
        if let Some(supervisor) = self.supervisor.get() {
            let _ = supervisor.recipient().send(PlanChanged {}).await;
        }
    }

    /// Tells, once, why a version is not worked with here.
    pub(super) fn in_trouble(&self, version: u64, error: SettingsError) -> SettingsError {
        let trouble = format!("version {version}: {error}");
        if self.trouble().as_ref() != Some(&trouble) {
            tracing::error!("the configuration in the store is not applied here: {trouble}");
        }
        self.trouble.store(Some(Arc::new(trouble)));
        error
    }

    /// Who brings queues and binds in line with a new plan.
    pub fn set_supervisor(&self, supervisor: SupervisorAddress) {
        // A second one would be the same: there is one root.
        let _ = self.supervisor.set(supervisor);
    }

    pub(super) fn tell_difference(&self, version: u64, resources: &Resources) {
        let file = self.file.load();
        let Some(path) = self.path.as_ref().filter(|_| !file.has_no_resources()) else {
            return;
        };
        let changes = difference(resources, &file.resources());
        if !changes.is_empty() {
            tracing::warn!(
                file = %path.display(),
                version,
                would = %summary(&changes),
                "the file differs from the configuration in the store, which is used; \
                 `smsc apply -f FILE` applies the file"
            );
        }
    }
}
