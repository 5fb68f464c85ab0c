//! What a node starts with: the configured store and its content.
//!
//! Called once by [`super::start`], on a thread that may block.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use secrecy::SecretString;
use smsc_host::clock::{Catch, follow};

use crate::actors::cluster;
use crate::actors::context::plan::Plan;
use crate::actors::control::settings::{ConfigState, Settled, settle};
use crate::actors::queue::seeds::Seeds;
use crate::app::Orders;
use crate::clock;
use crate::config::{AfterStepBack, Config, Postgres};
use crate::domain::{id, moment};
use crate::store::balance::{BalanceStore as _, PurseRow};
use crate::store::cluster::{ClusterStore, Membership};
use crate::store::postgres::{PgOptions, PgStore};
use crate::store::sqlite::{SqliteOptions, SqliteStore};
use crate::store::{ParkedRow, Store};

pub struct Bootstrap {
    pub store: Arc<dyn Store>,
    /// `store`, when other nodes may use it too, and this node's membership.
    pub cluster: Option<Arc<dyn ClusterStore>>,
    pub membership: Option<Membership>,
    pub plan: Plan,
    /// Where the plan's accounts, operators, routes and policy come from.
    pub settings: ConfigState,
    /// What the embedded store holds; a shared one is read as partitions come.
    pub seeds: Seeds,
    pub parked: Vec<ParkedRow>,
    /// The number in the ids that are made here.
    pub node: u8,
    /// Ids go on above it.
    pub highest: u64,
    /// Balances and quotas of the embedded store.
    pub purses: Vec<PurseRow>,
}

// === impl Bootstrap ===

impl Bootstrap {
    /// Opens the store and reads it. `path` is where the configuration was read. Blocks.
    ///
    /// # Errors
    /// A store that cannot be used; the text says what to do.
    pub fn open(config: Config, path: Option<PathBuf>, orders: Orders) -> anyhow::Result<Self> {
        match pg_options(&config)? {
            Some(_) if orders.accept_loss => anyhow::bail!(
                "--accept-loss is about the log of an embedded store, and this configuration names PostgreSQL"
            ),
            Some(options) => Self::shared(config, path, options),
            None => Self::embedded(config, path, orders),
        }
    }

    fn embedded(config: Config, path: Option<PathBuf>, orders: Orders) -> anyhow::Result<Self> {
        let store = SqliteStore::open(SqliteOptions {
            wal_autocheckpoint: config.store.wal_autocheckpoint,
            batch_rows: config.store.batch_rows,
            linger: config.store.linger,
            results_linger: config.store.results_linger,
            min_free_mib: config.store.min_free_mib,
            search_index: config.store.search_index,
            idempotency_keys: config.api.idempotency_keys,
            accept_loss: orders.accept_loss,
            ..SqliteOptions::new(&config.data_dir)
        })?;
        let now = clock::now_ms();
        let highest = highest_id(&store, now)?;
        let node = id::free_node(&store.asides()?, config.node, now)
            .context("every node number has ids that were set aside (smsc repair-ids)")?;
        let Settled { config, state } = settle(config, path, &store)?;
        let seeds = Seeds::read(&store, &config)?;
        Ok(Self {
            plan: Plan::build(config, &store)?,
            settings: state,
            seeds,
            parked: store.parked(usize::MAX)?,
            node,
            highest,
            purses: store.purses(None).wait()?,
            store: Arc::new(store),
            cluster: None,
            membership: None,
        })
    }

    fn shared(config: Config, path: Option<PathBuf>, options: PgOptions) -> anyhow::Result<Self> {
        let store = Arc::new(PgStore::open(options)?);
        let asked = Instant::now();
        let theirs = store.now_ms().wait()?;
        check_clock(clock::now_ms(), theirs)?;
        // From now on all nodes have one clock, also in the ids that they give.
        follow(theirs, asked, Instant::now(), Catch::Up);
        let highest = highest_id(store.as_ref(), clock::now_ms())?;
        let Settled { config, state } = settle(config, path, store.as_ref())?;
        let membership = store.join(
            cluster::card(&config),
            config.cluster.lease,
            (config.node != 0).then_some(config.node),
        )?;
        tracing::info!(node = membership.node, epoch = membership.epoch, "joined");
        Ok(Self {
            plan: Plan::build(config, store.as_ref())?,
            settings: state,
            seeds: Seeds::default(),
            parked: Vec::new(),
            node: membership.node,
            highest,
            purses: Vec::new(),
            store: Arc::clone(&store) as Arc<dyn Store>,
            cluster: Some(store),
            membership: Some(membership),
        })
    }
}

/// The highest id of a store, if ids can go on above it now (Unix ms).
fn highest_id(store: &dyn Store, now: i64) -> anyhow::Result<u64> {
    let highest = store.highest_id()?;
    id::check(highest, now).map_err(|ahead| {
        anyhow::anyhow!(
            "{ahead}: it is {} here, and the newest id of the store was made at {}. If the clock is \
             wrong now, set it. If it was wrong then, run `smsc repair-ids` with this configuration: \
             it sets those ids aside, and new ones are given by the clock again",
            moment::text(now),
            moment::text(id::millis(highest))
        )
    })?;
    Ok(highest)
}

/// A node follows the clock of the database, but TLS checks certificates by this one. The ids of builds that do not
/// follow it would stop every node that starts after them.
fn check_clock(now: i64, theirs: i64) -> anyhow::Result<()> {
    anyhow::ensure!(
        now - theirs <= id::MAX_LEAD_MS,
        "the clock of this machine is {} s ahead of the database's: it is {} here, and {} there; set it",
        (now - theirs) / 1_000,
        moment::text(now),
        moment::text(theirs)
    );
    Ok(())
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
        admin_readers,
        batch_rows,
        statement_timeout,
        lock_timeout,
        write_timeout,
        rewrite_for,
        rewrite_mib,
        after_step_back,
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
        admin_readers: *admin_readers,
        batch_rows: *batch_rows,
        statement_timeout: *statement_timeout,
        lock_timeout: *lock_timeout,
        write_timeout: *write_timeout,
        message_correlations: *message_correlations,
        correlation_ttl: config.correlation.ttl,
        rewrite_for: *rewrite_for,
        rewrite_octets: *rewrite_mib << 20,
        hold_after_step_back: *after_step_back == AfterStepBack::Hold,
        standalone: false,
    }))
}
