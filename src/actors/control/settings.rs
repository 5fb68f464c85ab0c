//! The accounts, operators, routes and policy in the store, and how this node applies them.
//!
//! The store is authoritative; the file of a node only seeds an empty store ([`settle`]) and is
//! compared with it. A change is checked, written as a new version by compare-and-set, and applied here
//! before it is answered; the other nodes are notified, and also look every second ([`follow_versions`]).
//! Called by `app` at start and on SIGHUP, by Admin for the API. Invariants: a node applies versions in
//! order; a version that it cannot apply changes nothing on it and is reported by
//! [`ConfigState::trouble`].

mod config_change;
mod error;
mod files;
mod kept;
mod secrets;
mod state;
mod tried;
mod unused_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::context::remote_command;
use crate::actors::routing::policy::PolicyState;
use crate::actors::runtime::supervise::every;
use crate::api::{Difference, ResourceChange};
use crate::clock;
use crate::config::{self, Config, ConfigError, ConfigProblem, Keyring};
use crate::domain::settings::{ResourceKind, ResourceUpdate, Resources, difference, summary};
use crate::pb::SettingsChanged;
use crate::pb::order::What;
use crate::store::settings::Edit;
use crate::store::{Store, StoreError};

pub use crate::store::settings::{SettingsVersion, StoredSetting, StoredSettings, VersionQuery};
pub use config_change::{Condition, ConfigChange};
pub use error::SettingsError;
use error::TRIES;
pub use state::ConfigState;
use unused_file::{DEMO, FIRST_START, StoreMaker};

/// How often a node reads the version, in case it missed a notification.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often a node reads the files with secrets again.
const SECRETS_EVERY: Duration = Duration::from_secs(5);

/// The configuration with which a node starts.
pub struct Settled {
    /// The file, with the store's accounts, operators, routes and policy.
    pub config: Arc<Config>,
    pub state: ConfigState,
}

/// The store's configuration on this node.
pub struct StoredConfiguration {
    node: Arc<NodeContext>,
    pub state: ConfigState,
    /// Gets each plan that is applied.
    policy: Arc<PolicyState>,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigChangeResult {
    /// The version after it; unchanged if there was nothing to change, or for a dry run.
    pub version: u64,
    /// The version of the changed resource, or of the whole configuration.
    pub tag: u64,
    pub changes: Vec<ResourceUpdate>,
    pub warnings: Vec<ConfigProblem>,
    /// Keys of files with secrets that were read again, because nothing else has changed.
    pub secrets: Vec<String>,
}

// === start ===

/// Seeds an empty store from the file, otherwise reads it and logs how the file differs. Blocks.
///
/// # Errors
/// The store fails, or this node cannot use its configuration; the text names the key and how to fix
/// it.
pub fn settle(file: Config, path: Option<PathBuf>, store: &dyn Store) -> anyhow::Result<Settled> {
    let keys = Keyring::new(&file.secrets).map_err(anyhow::Error::msg)?;
    let read = || -> anyhow::Result<StoredSettings> {
        let settings = store.settings().wait()?;
        Ok(kept::open(&keys, settings)?)
    };
    let mut settings = read()?;
    if settings.version == 0 && !file.has_no_resources() {
        let own = file.resources();
        check_names(&Resources::new(), &own)?;
        let changes = difference(&Resources::new(), &own);
        if write(
            store,
            &keys,
            0,
            changes,
            &origin(path.as_deref()),
            FIRST_START,
        )? {
            tracing::info!(version = 1, "the configuration is in the store from now on");
        }
        settings = read()?;
    } else if path.is_none() && !file.has_no_resources() {
        // Only the demo has resources without a file; its operator listens on another port each time.
        let moved = config_change::with_addresses(&settings.resources(), &file.resources());
        let changes = difference(&settings.resources(), &moved);
        if !changes.is_empty() {
            write(
                store,
                &keys,
                settings.version,
                changes,
                DEMO,
                "its operator listens elsewhere",
            )?;
            settings = read()?;
        }
    }
    settings = with_operators(&file, settings, |version, changes| {
        let who = "compat.smpp_connector.operators";
        write(store, &keys, version, changes, who, "what was not known")?;
        read()
    })?;
    ConfigState::tell_sealing(&keys, &store.settings().wait()?);
    let resources = settings.resources();
    let candidate = file.with_resources(&resources);
    if !candidate.problems.is_empty() {
        let version = settings.version;
        return Err(
            anyhow::Error::new(ConfigError::Invalid(candidate.problems)).context(format!(
                "version {version} of the configuration in the store cannot be used"
            )),
        );
    }
    // Those of the file were told when it was read.
    let told = file.validate().unwrap_or_default();
    for warning in candidate.warnings.iter().filter(|one| !told.contains(one)) {
        tracing::warn!("{warning}");
    }
    let first = VersionQuery {
        below: 2,
        limit: 1,
        ..VersionQuery::ALL
    };
    let first = store.settings_versions(first).wait()?;
    let maker = first.first().map(StoreMaker::of);
    let state = ConfigState::new(file, path, keys, settings.version, maker);
    state.tell_difference(settings.version, &resources);
    Ok(Settled {
        config: Arc::new(candidate.config),
        state,
    })
}

/// The store's configuration with the operators that `compat.smpp_connector` names, and what connects them to NATS. `write` writes changes of a version,
/// unless another node was faster, and reads what is there then.
fn with_operators(
    file: &Config,
    mut settings: StoredSettings,
    write: impl Fn(u64, Vec<ResourceUpdate>) -> anyhow::Result<StoredSettings>,
) -> anyhow::Result<StoredSettings> {
    let compat = &file.compat.smpp_connector;
    for _ in 0..TRIES {
        let known = settings.resources();
        let wanted = compat.with_resources(&known);
        check_names(&known, &wanted)?;
        let changes = difference(&known, &wanted);
        if changes.is_empty() {
            return Ok(settings);
        }
        settings = write(settings.version, changes)?;
    }
    anyhow::bail!("other nodes change the configuration all the time; start again")
}

/// # Errors
/// Something new has a name that no request of the API would reach.
fn check_names(known: &Resources, wanted: &Resources) -> Result<(), ConfigError> {
    let found = config::names_out_of_reach(known, wanted);
    if found.is_empty() {
        Ok(())
    } else {
        Err(ConfigError::Invalid(found))
    }
}

fn origin(path: Option<&Path>) -> String {
    path.map_or_else(|| DEMO.to_owned(), |path| path.display().to_string())
}

/// Whether the version was still the expected one.
fn write(
    store: &dyn Store,
    keys: &Keyring,
    expected: u64,
    changes: Vec<ResourceUpdate>,
    who: &str,
    what: &str,
) -> Result<bool, StoreError> {
    let edit = Edit {
        expected,
        at: clock::now_ms(),
        who: who.to_owned(),
        what: format!("{what}: {}", summary(&changes)),
        changes,
    };
    Ok(store
        .edit_settings(kept::seal(keys, edit))
        .wait()?
        .is_some())
}

// === impl StoredConfiguration ===

impl StoredConfiguration {
    /// `policy` gets each plan that is applied.
    pub fn new(node: Arc<NodeContext>, state: ConfigState, policy: Arc<PolicyState>) -> Arc<Self> {
        Arc::new(Self {
            node,
            state,
            policy,
        })
    }

    /// The configuration in the store, with passwords in clear.
    ///
    /// # Errors
    /// See [`ConfigState::read`].
    pub async fn read(&self) -> Result<StoredSettings, SettingsError> {
        self.state.read(self.node.store.as_ref()).await
    }

    /// Its resources of one kind, with passwords in clear.
    ///
    /// # Errors
    /// See [`ConfigState::read_kind`].
    pub async fn read_kind(&self, kind: ResourceKind) -> Result<StoredSettings, SettingsError> {
        self.state.read_kind(self.node.store.as_ref(), kind).await
    }

    /// Versions of the store, see [`ConfigState::history`].
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn history(
        &self,
        which: VersionQuery,
    ) -> Result<Vec<SettingsVersion>, SettingsError> {
        self.state.history(self.node.store.as_ref(), which).await
    }

    /// Seals every password of the store and its history with the first key; returns in how many
    /// bodies.
    ///
    /// # Errors
    /// There is no key; the key of a password is gone; the store does not answer.
    pub async fn reseal(&self, by: &str) -> Result<u64, SettingsError> {
        let keys = self.state.keys.load_full();
        kept::reseal(self.node.store.as_ref(), &keys, by).await
    }

    /// Applies the store's configuration to this node; with `anyway`, even if the version is unchanged.
    ///
    /// # Errors
    /// The store's configuration cannot be read or used here: the plan stays as it is.
    pub async fn follow(self: &Arc<Self>, anyway: bool) -> Result<(), SettingsError> {
        let _turn = self.state.turn.lock().await;
        let (file, keys) = (self.state.file.load_full(), self.state.keys.load_full());
        self.follow_with(anyway, file, keys).await
    }

    /// Follows the configuration with this file and these keys, which are the node's when it has succeeded. The caller has the turn.
    async fn follow_with(
        self: &Arc<Self>,
        anyway: bool,
        file: Arc<Config>,
        keys: Arc<Keyring>,
    ) -> Result<(), SettingsError> {
        let (node, state) = (&self.node, &self.state);
        let version = node.store.settings_version().await?;
        if !anyway && version == state.applied() {
            return Ok(());
        }
        let settings = node.store.settings().await?;
        let settings = match kept::open(&keys, settings) {
            Ok(settings) => settings,
            Err(error) => return Err(state.in_trouble(version, error.into())),
        };
        let resources = settings.resources();
        let built = blocking({
            let (this, file) = (Arc::clone(self), Arc::clone(&file));
            let earlier = node.config();
            move || {
                let candidate = file.with_resources_after(&resources, Some(&earlier));
                SettingsError::if_any(candidate.problems)?;
                Ok(Plan::build(
                    Arc::new(candidate.config),
                    this.node.store.as_ref(),
                )?)
            }
        });
        let plan = match built.await {
            Ok(plan) => plan,
            Err(error) => return Err(state.in_trouble(settings.version, error)),
        };
        let plan = Arc::new(plan);
        // Once the plan is set, messages are routed by it and must find their queues.
        state.make_queues(&plan, None).await?;
        self.policy.configure(&plan.config.policy);
        node.set_plan(plan);
        state.file.store(file);
        state.look_at_file(|| settings.resources());
        state.keys.store(keys);
        state.applied.store(settings.version, Ordering::Relaxed);
        state.trouble.store(None);
        state.tell_supervisor().await;
        tracing::info!(version = settings.version, "configuration applied");
        Ok(())
    }

    /// Applies a file that was read again, except its accounts, operators, routes and policy.
    ///
    /// # Errors
    /// The store cannot be read, or its configuration cannot be used with this file.
    pub async fn reload(self: &Arc<Self>, file: Config) -> Result<(), SettingsError> {
        let keys = Keyring::new(&file.secrets).map_err(SettingsError::Sealed)?;
        let turn = self.state.turn.lock().await;
        self.follow_with(true, Arc::new(file), Arc::new(keys))
            .await?;
        drop(turn);
        let settings = self.read().await?;
        self.state
            .tell_difference(settings.version, &settings.resources());
        Ok(())
    }

    /// Makes a configuration change, here and on the other nodes; with `dry_run` only returns what it
    /// would do.
    ///
    /// # Errors
    /// See [`SettingsError`]; then nothing has changed.
    pub async fn change(
        self: &Arc<Self>,
        config_change: ConfigChange,
        condition: Condition,
        dry_run: bool,
        by: &str,
    ) -> Result<ConfigChangeResult, SettingsError> {
        let config_change = Arc::new(config_change);
        for _ in 0..TRIES {
            let settings = self.read().await?;
            condition.check(
                config_change.version_of(&settings),
                &config_change.to_string(),
            )?;
            let newer = match config_change.as_ref() {
                ConfigChange::Rollback { version, .. } => {
                    let newer = VersionQuery {
                        after: *version,
                        ..VersionQuery::ALL
                    };
                    self.history(newer).await?
                }
                _ => Vec::new(),
            };
            let version = settings.version;
            let tag = config_change.version_of(&settings).unwrap_or(version);
            let checked = blocking({
                let (this, config_change) = (Arc::clone(self), Arc::clone(&config_change));
                move || {
                    let before = settings.resources();
                    let after = config_change.apply(&settings, &newer)?;
                    // Versions of the history were checked when they were made.
                    if !matches!(*config_change, ConfigChange::Rollback { .. }) {
                        this.state.check_files(&before, &after)?;
                        SettingsError::if_any(config::names_out_of_reach(&before, &after))?;
                    }
                    this.state.check_sealing(&after)?;
                    let changes = difference(&before, &after);
                    let earlier = this.node.config();
                    let file = this.state.file.load();
                    let candidate = file.with_resources_after(&after, Some(&earlier));
                    SettingsError::if_any(candidate.problems)?;
                    Ok((changes, candidate.warnings))
                }
            });
            let (changes, warnings) = checked.await?;
            let mut changed = ConfigChangeResult {
                version,
                tag,
                changes,
                warnings,
                secrets: Vec::new(),
            };
            if dry_run {
                return Ok(changed);
            }
            if changed.changes.is_empty() {
                changed.secrets = self.refresh_secrets().await?;
                return Ok(changed);
            }
            let what = config_change.what(&changed.changes);
            let edit = Edit {
                expected: version,
                at: clock::now_ms(),
                who: by.to_owned(),
                what: what.clone(),
                changes: changed.changes.clone(),
            };
            let edit = kept::seal(&self.state.keys.load(), edit);
            let Some(version) = self.node.store.edit_settings(edit).await? else {
                continue;
            };
            (changed.version, changed.tag) = (version, version);
            tracing::info!(target: "audit", by, command = "configure", what, version, "command carried out");
            // The others are notified first: they need not wait until this node has rebuilt its plan.
            let told = What::Settings(SettingsChanged { version });
            if let Err(refusal) = remote_command::to_others(&self.node, told).await {
                tracing::warn!(reason = %refusal.detail, "other nodes could not be notified; they find the new version by themselves");
            }
            if let Err(error) = self.follow(false).await {
                let message = format!("written, but not applied on this node yet: {error}");
                changed.warnings.push(ConfigProblem::new("", message));
            }
            return Ok(changed);
        }
        Err(SettingsError::Busy)
    }

    /// Compares the store with the current content of this node's file.
    ///
    /// # Errors
    /// The store cannot be read, or the file is invalid.
    pub async fn compare(&self) -> Result<Difference, SettingsError> {
        let settings = self.read().await?;
        let path = self.state.path.clone();
        let file = match path.clone() {
            None => self.state.file.load_full(),
            Some(path) => {
                let load = move || {
                    Config::load(Some(&path)).map_err(|error| match error {
                        ConfigError::Invalid(problems) => SettingsError::Invalid(problems),
                        other => SettingsError::Invalid(vec![ConfigProblem::new(
                            path.display().to_string(),
                            other.to_string(),
                        )]),
                    })
                };
                Arc::new(blocking(load).await?)
            }
        };
        let compared = path.is_some() && !file.has_no_resources();
        let known = settings.resources();
        let changes = if compared {
            difference(&known, &file.resources_over(&known))
        } else {
            Vec::new()
        };
        Ok(Difference {
            version: settings.version,
            file: path.map(|path| path.display().to_string()),
            compared,
            changes: changes.iter().map(ResourceChange::new).collect(),
        })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SettingsError> + Send + 'static,
) -> Result<T, SettingsError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(StoreError::Failed(error.to_string()).into()))
}

// === following ===

/// Looks for versions of which this node was not notified, and reads the files with secrets again; without an end.
pub async fn follow_versions(configuration: &Arc<StoredConfiguration>) {
    let look = async || {
        // `follow` logs new problems; the store logs that a database is unreachable.
        let _ = configuration.follow(false).await;
        let _ = configuration.policy.refresh(&configuration.node).await;
    };
    // In a task of its own, so that a panic of the other look does not end it halfway. What is wrong is logged, and told as
    // `trouble`.
    let look_at_secrets = async || {
        let configuration = Arc::clone(configuration);
        let look = actix::spawn(async move { configuration.refresh_secrets().await });
        drop(look.await);
    };
    tokio::join!(
        every(LOOK_EVERY, look),
        every(SECRETS_EVERY, look_at_secrets)
    );
}

/// Body of a whole configuration: one list of resources of each kind.
pub type Lists = Vec<(ResourceKind, Vec<Value>)>;
