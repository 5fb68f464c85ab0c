//! Fixtures for tests of shared limits: nodes that consist of a Throttle and a Redis client, and an
//! observer that reads Redis from outside.

use std::sync::Arc;
use std::time::Duration;

use actix::{Addr, Arbiter};
use deadpool_redis::redis::{Client, Connection, FromRedisValue, cmd};
use secrecy::SecretString;
use smsc::actors::context::plan::Plan;
use smsc::actors::context::{NodeContext, NodeParts};
use smsc::actors::control::settings::settle;
use smsc::actors::egress::throttle::{self, Throttle};
use smsc::actors::receipts::{self, correlation};
use smsc::actors::runtime::supervise::{self, Escalate, Health};
use smsc::config::{self, Account, Config, LimitMode, OperatorConfig};
use smsc::domain::id::IdGenerator;
use smsc::pb::{TakeTokens, TakenTokens};
use smsc::store::Store;
use smsc::store::redis::{Redis, RedisOptions};
use smsc::store::sqlite::{SqliteOptions, SqliteStore};
use smsc::telemetry::metrics::Metrics;
use smsc::telemetry::traces::Traces;
use tokio::time::Instant;

use super::RATE;
use crate::harness::{self, PrivateRedis};

pub struct Node {
    pub node: Arc<NodeContext>,
    throttle: Addr<Throttle>,
    pub operator: u32,
    pub account: u32,
    _folder: tempfile::TempDir,
}

/// A client that stays connected as long as the test's runtime.
pub async fn client(url: &str) -> Arc<Redis> {
    let redis = Redis::open(&RedisOptions {
        url: SecretString::from(url),
        timeout: harness::PATIENCE,
        ..RedisOptions::default()
    });
    let redis = Arc::new(redis.unwrap());
    let connecting = Arc::clone(&redis);
    tokio::task::spawn_local(async move { connecting.keep_connected().await });
    wait("a connection to Redis", || redis.is_up()).await;
    redis
}

pub async fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < harness::PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub async fn three_nodes(url: &str) -> [Node; 3] {
    [node(url).await, node(url).await, node(url).await]
}

/// The operator `up` and the account `test`, both limited to [`RATE`].
pub async fn node(url: &str) -> Node {
    node_with_patience(url, harness::PATIENCE).await
}

/// A node that continues alone when Redis has not answered for this time.
pub async fn node_with_patience(url: &str, timeout: Duration) -> Node {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        data_dir: folder.path().to_owned(),
        account: vec![Account {
            system_id: "test".to_owned(),
            password: "test".into(),
            rate: Some(RATE),
            ..Account::default()
        }],
        operator: vec![OperatorConfig {
            id: "up".to_owned(),
            address: "127.0.0.1:9".to_owned(),
            system_id: "smsc".to_owned(),
            rate: Some(RATE),
            ..OperatorConfig::default()
        }],
        redis: config::RedisConfig {
            url: Some(SecretString::from(url)),
            limit: LimitMode::Fixed,
            ..config::RedisConfig::default()
        },
        ..Config::default()
    };
    let options = SqliteOptions {
        min_free_mib: 0,
        ..SqliteOptions::new(folder.path())
    };
    let building = tokio::task::spawn_blocking(move || {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(options).unwrap());
        let settled = settle(config, None, store.as_ref()).unwrap();
        let plan = Plan::build(settled.config, store.as_ref()).unwrap();
        (store, plan)
    });
    let (store, plan) = building.await.unwrap();
    let operator = plan.operators().next().unwrap().id;
    let account = plan.account("test").unwrap().id;
    let (correlation, _) = supervise::slot::<correlation::Correlation>(correlation::MAILBOX);
    let (receipts, _) = supervise::slot::<receipts::Receipts>(receipts::MAILBOX);
    let (throttle, slot) = supervise::slot(throttle::MAILBOX);
    let metrics = Arc::new(Metrics::new(&mut Default::default()));
    let node = NodeContext::new(NodeParts {
        store,
        cluster: None,
        ids: IdGenerator::new(0, 0),
        metrics: Arc::clone(&metrics),
        traces: Traces::off(&metrics),
        plan,
        correlation: correlation.into(),
        receipts: receipts.into(),
        throttle: throttle.clone().into(),
    });
    let redis = Redis::open(&RedisOptions {
        url: SecretString::from(url),
        timeout,
        ..RedisOptions::default()
    });
    let redis = Arc::new(redis.unwrap());
    let escalate: Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
    let health = Health::new("throttle");
    let (for_actor, for_health) = (Arc::clone(&node), Arc::clone(&health));
    slot.start(&Arbiter::current(), health, escalate, move || {
        Throttle::new(for_actor, for_health, Some(redis))
    });
    let node = Node {
        node,
        throttle,
        operator,
        account,
        _folder: folder,
    };
    wait("limits that are shared", || node.redis_is_up()).await;
    node
}

// === impl Node ===

impl Node {
    pub fn redis_is_up(&self) -> bool {
        self.node.throttle_snapshot.get().redis_up
    }

    pub async fn take(&self, key: u32, wanted: u32) -> TakenTokens {
        self.throttle
            .send(TakeTokens {
                key,
                wanted,
                ..TakeTokens::default()
            })
            .await
            .unwrap()
    }
}

/// Commands of an observer, to read Redis from outside.
pub struct Outside(Connection);

// === impl Outside ===

impl Outside {
    pub fn new(redis: &PrivateRedis) -> Self {
        let client = Client::open(redis.url()).unwrap();
        Self(client.get_connection().unwrap())
    }

    pub fn ask<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut command = cmd(words[0]);
        command.arg(&words[1..]);
        command.query(&mut self.0).unwrap()
    }

    /// Seconds and microseconds.
    pub fn time(&mut self) -> (u64, u64) {
        self.ask(&["TIME"])
    }

    /// Returns at the beginning of a second.
    pub async fn new_second(&mut self) -> u64 {
        loop {
            let (second, micros) = self.time();
            if micros < 300_000 {
                return second;
            }
            tokio::time::sleep(Duration::from_micros(1_000_000 - micros)).await;
        }
    }

    pub fn counted(&mut self, second: u64) -> u64 {
        let count: Option<u64> = self.ask(&["GET", &format!("tps:up:{second}")]);
        count.unwrap_or(0)
    }

    pub fn script_calls(&mut self) -> u64 {
        let stats: String = self.ask(&["INFO", "commandstats"]);
        let calls = stats.lines().find_map(|line| {
            let rest = line.strip_prefix("cmdstat_evalsha:calls=")?;
            rest.split(',').next()?.parse().ok()
        });
        calls.unwrap_or(0)
    }
}
