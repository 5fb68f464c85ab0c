//! Several nodes on one PostgreSQL server, with faults that a test can inject.
//!
//! ```text
//! let mut cluster = Cluster::of(3)
//!     .short_lease()                                   others take over when a node is killed
//!     .roles(1, &["delivery", "http", "janitor"])      others keep all roles
//!     .skew(2, "+10s")                                 its wall clock is wrong
//!     .each(|smsc| smsc.account("test", "test"))       the same configuration for all
//!     .start();                                        joined and ready when this returns
//! cluster.nodes[0].kill();                             a node is an [`Smsc`]
//! ```

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use smsc::smpp::{Body, CommandStatus};

use super::{
    Gate, Peer, PrivatePostgres, PrivateRedis, Smsc, SmscBuilder, debian_library, run, until,
};

/// Longer than a busy machine delays the heartbeat of a node.
const LEASE: &str = "60s";
/// As it is where nothing is configured.
const USUAL_LEASE: &str = "10s";
/// Short, so that a test need not wait long for a takeover; long enough for heartbeats that are late on a busy machine.
const SHORT_LEASE: &str = "6s";
const HEARTBEAT: &str = "300ms";
/// So long that no heartbeat is due before a test ends.
const SELDOM: &str = "1h";
const LEASE_OF_SELDOM: &str = "4h";
const CLUSTER: &str = r#"margin = "2s"
poll = "300ms""#;
/// The longest that is allowed: a Redis that is only late does not count as unreachable.
const REDIS_TIMEOUT: &str = "1s";

/// A cluster to start.
pub struct ClusterBuilder {
    plans: Vec<NodePlan>,
    lease: &'static str,
    heartbeat: &'static str,
    redis: bool,
    gated: bool,
    server: Option<(PrivatePostgres, String)>,
    /// More keys of `[postgres]`.
    database_keys: &'static str,
    each: Box<dyn Fn(SmscBuilder) -> SmscBuilder>,
}

#[derive(Default)]
struct NodePlan {
    roles: Option<String>,
    skew: Option<String>,
    variables: Vec<(&'static str, String)>,
}

/// A running cluster; its servers stop when it is dropped.
pub struct Cluster {
    // Fields are dropped in this order: nodes before the servers that they use.
    pub nodes: Vec<Node>,
    pub redis: Option<PrivateRedis>,
    pub postgres: PrivatePostgres,
}

/// One node.
pub struct Node {
    smsc: Smsc,
    gate: Option<Gate>,
}

/// What the live nodes hold together, as one of them reports it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Names (host and process) of the live nodes.
    pub alive: Vec<String>,
    /// Dead nodes that are not taken over yet.
    pub lost: usize,
    /// Bind slots of all operators.
    pub binds: usize,
    /// Partitions of the requested queue.
    pub partitions: u64,
}

// === impl ClusterBuilder ===

impl ClusterBuilder {
    /// For tests that lose nodes: others take over soon.
    pub fn short_lease(mut self) -> Self {
        self.lease = SHORT_LEASE;
        self
    }

    /// The lease of a cluster where nothing is configured.
    pub fn usual_lease(mut self) -> Self {
        self.lease = USUAL_LEASE;
        self
    }

    /// On this server, which nodes reach by this URL.
    pub fn on(mut self, server: PrivatePostgres, url: &str) -> Self {
        self.server = Some((server, url.to_owned()));
        self
    }

    /// More keys of `[postgres]`, as TOML lines.
    pub fn postgres(mut self, keys: &'static str) -> Self {
        self.database_keys = keys;
        self
    }

    /// Nodes look at the cluster only when another node notifies them.
    pub fn without_heartbeat(mut self) -> Self {
        (self.lease, self.heartbeat) = (LEASE_OF_SELDOM, SELDOM);
        self
    }

    /// Shares limits through a Redis server of this cluster.
    pub fn redis(mut self) -> Self {
        self.redis = true;
        self
    }

    /// Each node reaches PostgreSQL through its own [`Gate`].
    pub fn gated(mut self) -> Self {
        self.gated = true;
        self
    }

    /// Sets the roles of one node.
    pub fn roles(mut self, node: usize, roles: &[&str]) -> Self {
        self.plans[node].roles = Some(format!("roles = {roles:?}"));
        self
    }

    /// Sets how far the wall clock of one node is off: `+10s`.
    pub fn skew(mut self, node: usize, skew: &str) -> Self {
        self.plans[node].skew = Some(skew.to_owned());
        self
    }

    /// Sets a variable of one node, such as that of a key of its configuration.
    pub fn variable(mut self, node: usize, key: &'static str, value: &str) -> Self {
        self.plans[node].variables.push((key, value.to_owned()));
        self
    }

    /// One node has the wall clock that these variables set.
    pub fn skewed_by(
        mut self,
        node: usize,
        variables: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        self.plans[node].variables.extend(variables);
        self
    }

    /// Sets the configuration of all nodes.
    pub fn each(mut self, configure: impl Fn(SmscBuilder) -> SmscBuilder + 'static) -> Self {
        self.each = Box::new(configure);
        self
    }

    /// Nodes with the account `test`, whose messages are delivered at once, and with this configuration.
    pub fn delivering(self, toml: String) -> Self {
        self.each(move |smsc| {
            smsc.account("test", "test")
                .route("", "test:delivered")
                .toml(&toml)
        })
    }

    /// Starts the servers, creates the tables, and starts the nodes one after another.
    pub fn start(self) -> Cluster {
        let (postgres, url) = match self.server {
            Some((server, url)) => (server, Some(url)),
            None => (PrivatePostgres::start_copied(), None),
        };
        let redis = self.redis.then(PrivateRedis::start);
        migrate(&postgres.url());
        let nodes = self
            .plans
            .iter()
            .enumerate()
            .map(|(number, plan)| {
                let gate = self
                    .gated
                    .then(|| Gate::to(([127, 0, 0, 1], postgres.port()).into()));
                let url = match &gate {
                    Some(gate) => format!("postgres://postgres@{}/postgres", gate.address()),
                    None => url.clone().unwrap_or_else(|| postgres.url()),
                };
                let sign = if url.contains('?') { '&' } else { '?' };
                let url = format!("{url}{sign}application_name={}", session_name(number));
                let mut smsc = (self.each)(Smsc::new())
                    .toml(&format!(
                        "[postgres]\nurl = {url:?}\n{}",
                        self.database_keys
                    ))
                    .toml(&format!(
                        "[cluster]\nlease = {:?}\nheartbeat = {:?}\n{CLUSTER}\n{}",
                        self.lease,
                        self.heartbeat,
                        plan.roles.as_deref().unwrap_or_default()
                    ));
                if let Some(redis) = &redis {
                    let url = redis.url();
                    smsc = smsc.toml(&format!(
                        "[redis]\nurl = {url:?}\ntimeout = {REDIS_TIMEOUT:?}"
                    ));
                }
                if let Some(roles) = &plan.roles
                    && !roles.contains("smpp")
                {
                    smsc = smsc.without_listener();
                }
                if let Some(skew) = &plan.skew {
                    let library = debian_library("faketime/libfaketimeMT.so.1");
                    smsc = smsc
                        .env("LD_PRELOAD", library.to_str().unwrap())
                        .env("FAKETIME", skew)
                        .env("DONT_FAKE_MONOTONIC", "1")
                        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
                }
                for (key, value) in &plan.variables {
                    smsc = smsc.env(key, value);
                }
                Node {
                    smsc: smsc.start(),
                    gate,
                }
            })
            .collect();
        Cluster {
            nodes,
            redis,
            postgres,
        }
    }
}

/// Waits until every message in a database is final and its sender has been notified; calls `meanwhile` again and again.
pub fn wait_until_idle_at(url: &str, limit: Duration, mut meanwhile: impl FnMut()) {
    let active = || {
        let sql = "SELECT json_agg(a)::text FROM (SELECT * FROM active LIMIT 10) a";
        super::rows(url, sql)[0].get::<_, Option<String>>(0)
    };
    let idle = super::within(limit, || {
        meanwhile();
        active().is_none().then_some(())
    });
    let rest = active();
    assert!(idle.is_some(), "not finished after {limit:?}: {rest:?}");
}

/// `smsc migrate`, as an administrator runs it before the first node starts.
pub fn migrate(url: &str) {
    let folder = tempfile::tempdir().unwrap();
    let config = format!("data_dir = \"data\"\n[postgres]\nurl = {url:?}\n");
    std::fs::write(folder.path().join("smsc.toml"), config).unwrap();
    let made = run(Command::new(super::binary())
        .args(["migrate", "--config", "smsc.toml"])
        .current_dir(folder.path()));
    assert!(made.success, "migrate: {}{}", made.stdout, made.stderr);
}

// === impl Cluster ===

impl Cluster {
    /// A cluster with all roles, correct clocks and an empty configuration on each node.
    pub fn of(nodes: usize) -> ClusterBuilder {
        ClusterBuilder {
            plans: (0..nodes).map(|_| NodePlan::default()).collect(),
            lease: LEASE,
            heartbeat: HEARTBEAT,
            redis: false,
            gated: false,
            server: None,
            database_keys: "",
            each: Box::new(|smsc| smsc),
        }
    }

    /// Two nodes with the account `test`, whose messages go to the operator `up` here, and with this configuration; each
    /// has a bind.
    pub fn of_two(operator: SocketAddr, toml: &'static str) -> Self {
        let cluster = Self::of(2)
            .each(move |smsc| {
                smsc.account("test", "test")
                    .operator_with("up", operator, "binds = 2")
                    .route("", "up")
                    .toml(toml)
            })
            .start();
        cluster.wait_until_held_by(0, &[0, 1], "operator:up", 2);
        cluster
    }

    /// A gate to the SMPP ports of all nodes, like a load balancer in front of a cluster.
    pub fn entry(&self) -> Gate {
        Gate::to_any(self.nodes.iter().map(|node| node.smpp()).collect())
    }

    /// What the live nodes hold, as this node reports it; `None` if it does not answer.
    pub fn held(&self, seen_by: usize, queue: &str) -> Option<Held> {
        let answer = self.nodes[seen_by].admin().try_get("/v1/nodes").ok()?;
        let mut held = Held::default();
        for node in answer["nodes"].as_array()? {
            if node["state"] == "lost" {
                held.lost += 1;
                continue;
            }
            held.alive.push(node["name"].as_str()?.to_owned());
            held.binds += node["binds"].as_array()?.len();
            let shares = node["queues"].as_array()?.iter();
            held.partitions += shares
                .filter(|share| share["queue"] == queue)
                .filter_map(|share| share["partitions"].as_u64())
                .sum::<u64>();
        }
        Some(held)
    }

    /// Waits until this node sees exactly these nodes alive, none dead, and all bind slots and
    /// partitions of an operator's queue held by them.
    pub fn wait_until_held_by(&self, seen_by: usize, nodes: &[usize], queue: &str, binds: usize) {
        let mut names: Vec<String> = nodes.iter().map(|node| self.process_of(*node)).collect();
        names.sort();
        let what = format!("{queue} and {binds} binds to be held by the nodes {nodes:?}");
        let mut last = None;
        let settled = super::within(super::PATIENCE, || {
            let held = self.held(seen_by, queue);
            let is_so = held.as_ref().is_some_and(|held| {
                let mut alive: Vec<String> = held.alive.iter().map(|name| process(name)).collect();
                alive.sort();
                alive == names && held.lost == 0 && held.binds == binds && held.partitions == 32
            });
            last = held;
            is_so.then_some(())
        });
        assert!(settled.is_some(), "waited in vain for {what}: {last:?}");
    }

    /// The operator's binds that a node holds, as another one reports it.
    pub fn binds_of(&self, node: usize, seen_by: usize) -> usize {
        let wanted = self.process_of(node);
        let answer = self.nodes[seen_by].admin().get("/v1/nodes");
        let all = answer["nodes"].as_array().unwrap();
        all.iter()
            .filter(|node| process(node["name"].as_str().unwrap()) == wanted)
            .filter_map(|node| node["binds"].as_array().map(Vec::len))
            .sum()
    }

    /// Waits until every stored message is final and its sender has been notified.
    pub fn wait_until_idle(&self, limit: Duration) {
        self.wait_until_idle_with(limit, || {});
    }

    /// Like [`Self::wait_until_idle`]; calls `meanwhile` again and again.
    pub fn wait_until_idle_with(&self, limit: Duration, meanwhile: impl FnMut()) {
        wait_until_idle_at(&self.postgres.url(), limit, meanwhile);
    }

    /// Sends SIGSTOP while a transaction of the node is open that has locked its membership.
    pub fn freeze_in_a_transaction(&self, node: usize) {
        // While it holds its row, a session has the name of those that write.
        let open = format!(
            "SELECT 1 FROM pg_stat_activity a
               JOIN pg_locks l ON l.pid = a.pid
               JOIN node n ON n.card->>'name' LIKE '%:{}'
             WHERE a.application_name = format('smsc node %s epoch %s', n.node, n.epoch)
               AND a.state = 'idle in transaction'
               AND l.relation = 'node'::regclass AND l.mode = 'RowShareLock'",
            self.process_of(node)
        );
        until("the node to stand still in a transaction", || {
            self.nodes[node].freeze();
            let stands = !self.postgres.rows(&open).is_empty();
            if !stands {
                self.nodes[node].thaw();
            }
            stands.then_some(())
        });
    }

    fn process_of(&self, node: usize) -> String {
        self.nodes[node].process().id().to_string()
    }
}

/// The application name of a node's sessions in PostgreSQL, except those that write.
fn session_name(node: usize) -> String {
    format!("smsc-{node}")
}

/// The process id in a node's name, which consists of host and process.
fn process(name: &str) -> String {
    name.rsplit(':').next().unwrap_or(name).to_owned()
}

// === impl Node ===

impl Node {
    /// The gate between this node and PostgreSQL.
    pub fn gate(&self) -> &Gate {
        self.gate.as_ref().expect("a cluster that is gated()")
    }

    /// Sends SIGSTOP, and waits until the process has stopped.
    pub fn freeze(&self) {
        self.process().signal("STOP");
        let path = format!("/proc/{}/stat", self.process().id());
        until("the node to stand still", || {
            let stat = std::fs::read_to_string(&path).ok()?;
            let state = stat.rsplit(')').next()?.split_whitespace().next()?;
            (state == "T").then_some(())
        });
    }

    /// SIGCONT.
    pub fn thaw(&self) {
        self.process().signal("CONT");
    }

    /// How many lines of its log contain this text.
    pub fn log_lines_with(&self, text: &str) -> usize {
        let log = self.log();
        log.lines().filter(|line| line.contains(text)).count()
    }

    /// Waits until one more bind of the account `test` is refused. Only while the store is silent, as it may be for a moment
    /// on a busy machine, a node counts its own binds alone and admits one: it says so, and the next bind is asked.
    pub fn wait_until_one_more_bind_is_refused(&self) {
        const ALONE: &str = "binds are counted on this node only";
        until("one more bind to be refused", || {
            let before = self.log_lines_with(ALONE);
            let mut more = Peer::connect(self.smpp());
            let status = more.bind_as(Body::BindTransceiver, "test", "test");
            if status == CommandStatus::ESME_ROK {
                until("the reason why it was admitted", || {
                    (self.log_lines_with(ALONE) > before).then_some(())
                });
                more.unbind();
                return None;
            }
            assert_eq!(status, CommandStatus::ESME_RALYBND);
            Some(())
        });
    }

    /// A message as the admin API of this node shows it.
    pub fn message(&self, id: &str) -> Option<Value> {
        self.admin().try_get(&format!("/v1/messages/{id}")).ok()
    }
}

impl Deref for Node {
    type Target = Smsc;

    fn deref(&self) -> &Smsc {
        &self.smsc
    }
}

impl DerefMut for Node {
    fn deref_mut(&mut self) -> &mut Smsc {
        &mut self.smsc
    }
}
