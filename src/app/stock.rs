//! What a node starts with: the store that the configuration names, and what is in it.
//!
//! Called once by [`super::start`], on a thread that may block.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use secrecy::SecretString;

use crate::actors::cluster;
use crate::actors::plan::Plan;
use crate::actors::queue::Seeds;
use crate::actors::settings::{Desk, Settled, settle};
use crate::config::{Config, Postgres};
use crate::store::balance::{BalanceStore as _, PurseRow};
use crate::store::cluster::{ClusterStore, Membership};
use crate::store::postgres::{PgOptions, PgStore};
use crate::store::sqlite::{SqliteOptions, SqliteStore};
use crate::store::{ParkedRow, Store};

pub struct Stock {
    pub store: Arc<dyn Store>,
    /// The same store, when other nodes may use it too, and this node's membership.
    pub cluster: Option<Arc<dyn ClusterStore>>,
    pub membership: Option<Membership>,
    pub plan: Plan,
    /// Where the plan's accounts, operators, routes and policy come from.
    pub settings: Desk,
    /// What the embedded store holds; a shared one is read as partitions come.
    pub seeds: Seeds,
    pub parked: Vec<ParkedRow>,
    pub highest: u64,
    /// Balances and quotas of the embedded store.
    pub purses: Vec<PurseRow>,
}

// === impl Stock ===

impl Stock {
    /// Opens the store and reads it. `path` is where the configuration was read. Blocks.
    ///
    /// # Errors
    /// A store that cannot be used; the text says what to do.
    pub fn open(config: Config, path: Option<PathBuf>) -> anyhow::Result<Self> {
        match pg_options(&config)? {
            Some(options) => Self::shared(config, path, options),
            None => Self::embedded(config, path),
        }
    }

    fn embedded(config: Config, path: Option<PathBuf>) -> anyhow::Result<Self> {
        let store = SqliteStore::open(SqliteOptions {
            wal_autocheckpoint: config.store.wal_autocheckpoint,
            batch_rows: config.store.batch_rows,
            linger: config.store.linger,
            min_free_mib: config.store.min_free_mib,
            search_index: config.store.search_index,
            ..SqliteOptions::new(&config.data_dir)
        })?;
        let Settled { config, desk } = settle(config, path, &store)?;
        let seeds = Seeds::read(&store, &config)?;
        Ok(Self {
            plan: Plan::build(config, &store)?,
            settings: desk,
            seeds,
            parked: store.parked(usize::MAX)?,
            highest: store.highest_id()?,
            purses: store.purses(None).wait()?,
            store: Arc::new(store),
            cluster: None,
            membership: None,
        })
    }

    fn shared(config: Config, path: Option<PathBuf>, options: PgOptions) -> anyhow::Result<Self> {
        let store = Arc::new(PgStore::open(options)?);
        let Settled { config, desk } = settle(config, path, store.as_ref())?;
        let membership = store.join(
            cluster::card(&config),
            config.cluster.lease,
            (config.node != 0).then_some(config.node),
        )?;
        tracing::info!(node = membership.node, epoch = membership.epoch, "joined");
        Ok(Self {
            plan: Plan::build(config, store.as_ref())?,
            settings: desk,
            seeds: Seeds::default(),
            parked: Vec::new(),
            highest: store.highest_id()?,
            purses: Vec::new(),
            store: Arc::clone(&store) as Arc<dyn Store>,
            cluster: Some(store),
            membership: Some(membership),
        })
    }
}

/// How the shared store is reached; `None` when the configuration names none.
///
/// # Errors
/// `postgres.url_file` cannot be read.
pub fn pg_options(config: &Config) -> anyhow::Result<Option<PgOptions>> {
    let Postgres {
        url,
        url_file,
        ca_file,
        writers,
        readers,
        batch_rows,
        statement_timeout,
        lock_timeout,
        write_timeout,
        message_correlations,
    } = &config.postgres;
    let url = match (url, url_file) {
        (Some(url), _) => url.clone(),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("postgres.url_file: {} cannot be read", file.display()))?;
            SecretString::from(text.trim())
        }
        (None, None) => return Ok(None),
    };
    Ok(Some(PgOptions {
        url,
        ca_file: ca_file.clone(),
        writers: *writers,
        readers: *readers,
        batch_rows: *batch_rows,
        statement_timeout: *statement_timeout,
        lock_timeout: *lock_timeout,
        write_timeout: *write_timeout,
        message_correlations: *message_correlations,
        correlation_ttl: config.correlation.ttl,
        standalone: false,
    }))
}
