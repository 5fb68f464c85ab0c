//! The state of the configuration on a node; held and changed by [`StoredConfiguration`](super::StoredConfiguration).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::{ArcSwap, ArcSwapOption};
use secrecy::SecretString;

use super::error::SettingsError;
use super::unused_file::StoreMaker;
use crate::actors::context::addresses::SupervisorAddress;
use crate::actors::context::plan::{MakeQueues, Plan};
use crate::config::{Config, Keyring, SecretFile};
use crate::domain::settings::{Resources, difference, summary};
use crate::pb::PlanChanged;
use crate::store::StoreError;

/// A configuration, and its files with secrets.
type FilesOf = (Arc<Config>, Arc<Vec<SecretFile>>);

pub struct ConfigState {
    pub(super) file: ArcSwap<Config>,
    /// Where `file` was read; `None` for a node without a file.
    pub(super) path: Option<PathBuf>,
    /// Keys that seal passwords in the store.
    pub(super) keys: ArcSwap<Keyring>,
    pub(super) applied: AtomicU64,
    pub(super) trouble: ArcSwapOption<String>,
    /// Who made the first version of the store; `None` while there is none.
    maker: Option<StoreMaker>,
    /// That the file is not used, and what to do.
    unused_file: ArcSwapOption<String>,
    /// The files with secrets of the configuration that is used.
    pub(super) secret_files: Mutex<Option<FilesOf>>,
    /// Keys of files with secrets that cannot be used, and why.
    pub(super) unusable_secrets: Mutex<BTreeMap<String, String>>,
    /// The content of `secrets.key_file` that did not open this version of the store, and why.
    pub(super) refused_key: Mutex<Option<(u64, SecretString, String)>>,
    /// Serialises changes of the plan.
    pub(super) turn: tokio::sync::Mutex<()>,
    supervisor: OnceLock<SupervisorAddress>,
}

// === impl ConfigState ===

impl ConfigState {
    /// A state with this applied version of the store's configuration.
    pub(super) fn new(
        file: Config,
        path: Option<PathBuf>,
        keys: Keyring,
        applied: u64,
        maker: Option<StoreMaker>,
    ) -> Self {
        Self {
            path,
            maker,
            unused_file: ArcSwapOption::empty(),
            keys: ArcSwap::from_pointee(keys),
            applied: AtomicU64::new(applied),
            file: ArcSwap::from_pointee(file),
            trouble: ArcSwapOption::empty(),
            secret_files: Mutex::default(),
            unusable_secrets: Mutex::default(),
            refused_key: Mutex::default(),
            turn: tokio::sync::Mutex::new(()),
            supervisor: OnceLock::new(),
        }
    }

    /// The version that this node has applied.
    pub fn applied(&self) -> u64 {
        self.applied.load(Ordering::Relaxed)
    }

    /// Why this node does not apply the store's version.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.load().as_ref().map(|text| text.to_string())
    }

    /// That the store was made by the demo or from another file, so that accounts or operators of this node's file are not
    /// used, and the command that cures it.
    pub fn unused_file(&self) -> Option<String> {
        self.unused_file.load().as_deref().cloned()
    }

    /// Compares the file with the resources of the store, where somebody else has made that.
    pub(super) fn look_at_file(&self, resources: impl FnOnce() -> Resources) {
        let file = self.file.load();
        let said = match (&self.maker, &self.path) {
            (Some(maker), Some(path)) if maker.is_other(path) && !file.has_no_resources() => {
                maker.says(path, &resources(), &file.resources())
            }
            _ => None,
        };
        self.unused_file.store(said.map(Arc::new));
    }

    /// Starts the queues of a plan, and the queue `orphan`, which holds messages although no plan names
    /// it.
    ///
    /// # Errors
    /// The supervisor is gone.
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

    /// Makes the supervisor adapt queues and binds to the plan. A restarting supervisor does so when it is
    /// back.
    pub(super) async fn tell_supervisor(&self) {
        if let Some(supervisor) = self.supervisor.get() {
            let _ = supervisor.recipient().send(PlanChanged {}).await;
        }
    }

    /// Records, and logs once, why this node cannot apply a version.
    pub(super) fn in_trouble(&self, version: u64, error: SettingsError) -> SettingsError {
        let trouble = format!("version {version}: {error}");
        if self.trouble().as_ref() != Some(&trouble) {
            tracing::error!("the configuration in the store is not applied here: {trouble}");
        }
        self.trouble.store(Some(Arc::new(trouble)));
        error
    }

    /// Sets the actor that adapts queues and binds to a new plan.
    pub fn set_supervisor(&self, supervisor: SupervisorAddress) {
        // A second one would be the same: there is one root.
        let _ = self.supervisor.set(supervisor);
    }

    pub(super) fn tell_difference(&self, version: u64, resources: &Resources) {
        self.look_at_file(|| resources.clone());
        let file = self.file.load();
        let Some(path) = self.path.as_ref().filter(|_| !file.has_no_resources()) else {
            return;
        };
        let changes = difference(resources, &file.resources_over(resources));
        if let Some(unused) = self.unused_file() {
            tracing::warn!(version, would = %summary(&changes), "{unused}");
        } else if !changes.is_empty() {
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
