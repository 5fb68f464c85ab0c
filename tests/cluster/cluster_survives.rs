//! Acknowledged messages survive any fault of one part of a cluster, under load.
//!
//! `smsc load` submits to three nodes through a load balancer, at a moderate steady rate, to one
//! operator with as many binds as there are nodes. A fault is injected; the load ends when it is over
//! and all nodes are back. Then every acknowledged message is in exactly one final state, its sender
//! has been notified, and the operator has it. Duplicates are counted: for each lost node, at most its
//! windows in flight and one commit. The operator never had more than the configured binds.
//!
//! `SMSC_TEST_BACKLOG=500000 SMSC_TEST_BINARY=target/release/smsc cargo test --test cluster cluster_survives` has so many
//! messages wait for the operator before the load and the fault begin; its rate keeps most of them waiting meanwhile.

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::harness::{
    self, Cluster, ClusterBuilder, Gate, Peer, Process, Simulator, until, within,
};
use crate::history::{self, Findings, Sender, Stored};
use tempfile::TempDir;

const NODES: usize = 3;
const BINDS: usize = 3;
const WINDOW: usize = 50;
/// Most binds that one node holds while another is away.
const BINDS_OF_A_NODE: usize = BINDS.div_ceil(NODES - 1);
const COMMIT_BATCH: usize = 512;
/// Messages of a lost node that may be sent again.
const LEFT_BY_A_NODE: usize = BINDS_OF_A_NODE * WINDOW + COMMIT_BATCH;
const RATE: &str = "600";
/// Acknowledged between two faults: enough that every node has work.
const BETWEEN_FAULTS: usize = 1_000;
/// Log lines of nodes that stop because they have no lease, and that take over a dead node.
const LEASE_LOST: &str = "standing back";
const TAKEN_OVER: &str = "a dead node is taken over";
const QUEUE: &str = "operator:up";
const BACKLOG_JOURNAL: &str = "backlog.journal";
/// From the end of the load to the last receipt; it takes a fraction, unless there is a backlog.
const LIMIT: Duration = Duration::from_secs(180);
/// At most so many messages a second go to the operator; more than the load sends.
const TO_OPERATOR: usize = 3_000;

/// A cluster under load.
struct Scene {
    load: Process,
    cluster: Cluster,
    /// A gate between the nodes and the operator, which counts binds.
    door: Gate,
    operator: Simulator,
    folder: TempDir,
    /// Each scene needs the whole machine.
    _alone: MutexGuard<'static, ()>,
}

// === impl Scene ===

impl Scene {
    /// Starts everything and waits until messages flow and each node has its share.
    fn start(options: impl FnOnce(ClusterBuilder) -> ClusterBuilder) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let operator = Simulator::new().start();
        let door = Gate::to(operator.address());
        let address = door.address();
        // The rate limits nothing, but makes the nodes use Redis where it is configured.
        let keys = format!("binds = {BINDS}\nwindow = {WINDOW}\nrate = {TO_OPERATOR}.0");
        let each = Cluster::of(NODES).each(move |smsc| {
            smsc.account_with("test", "test", "window = 200")
                .operator_with("up", address, &keys)
                .route("", "up")
        });
        let folder = tempfile::tempdir().unwrap();
        let backlog = backlog();
        if backlog > 0 {
            door.shut();
        }
        let cluster = options(each).start();
        if backlog > 0 {
            let journal = folder.path().join(BACKLOG_JOURNAL);
            let sent = harness::run(
                Command::new(harness::binary())
                    .args(["load", "--host", &cluster.entry().address().to_string()])
                    .args(["--binds", "6", "--window", "200", "--settle", "1s"])
                    .args(["--count", &backlog.to_string(), "--journal"])
                    .arg(&journal),
            );
            let accepted = Sender::read(&journal).accepted.len();
            assert_eq!(accepted, backlog, "{}{}", sent.stdout, sent.stderr);
            door.open();
        }
        cluster.wait_until_held_by(0, &[0, 1, 2], QUEUE, BINDS);
        until("all binds", || (door.connections() == BINDS).then_some(()));
        if backlog > 0 {
            door.forget_most_connections();
        }
        let mut command = Command::new(harness::binary());
        command
            .args(["load", "--host", &cluster.entry().address().to_string()])
            .args(["--binds", "6", "--window", "50", "--rate", RATE])
            .args(["--duration", "10m", "--settle"])
            .args([format!("{}s", limit().as_secs()), "--journal".to_owned()])
            .arg(folder.path().join("load.journal"));
        let load = Process::start("smsc load", command, &folder.path().join("load.log"));
        let mut scene = Self {
            load,
            cluster,
            door,
            operator,
            folder,
            _alone: alone,
        };
        scene.wait_for_traffic();
        scene
    }

    /// Waits until more messages were acknowledged.
    fn wait_for_traffic(&mut self) {
        let before = self.acknowledged();
        until("messages to be acknowledged", || {
            self.load.assert_running();
            (self.acknowledged() > before + BETWEEN_FAULTS).then_some(())
        });
    }

    fn acknowledged(&self) -> usize {
        let journal = std::fs::read(self.folder.path().join("load.journal")).unwrap_or_default();
        let lines = journal.split(|octet| *octet == b'\n');
        lines.filter(|line| line.starts_with(b"A\t")).count()
    }

    /// Waits until these nodes hold everything and all binds are up, as the first of them reports it.
    fn wait_until_held_by(&self, nodes: &[usize]) {
        self.cluster
            .wait_until_held_by(nodes[0], nodes, QUEUE, BINDS);
    }

    fn wait_for_all_binds(&self) {
        until("all binds", || {
            (self.door.connections() >= BINDS).then_some(())
        });
    }

    /// What the store knows of ten acknowledged messages whose receipt has not come.
    fn unheard(&self) -> String {
        let sender = Sender::read(&self.folder.path().join("load.journal"));
        let mut unheard: Vec<u64> = sender.accepted.into_keys().collect();
        unheard.retain(|id| !sender.receipts.contains_key(id));
        let ids: Vec<String> = unheard.iter().take(10).map(u64::to_string).collect();
        let sql = format!(
            "SELECT coalesce(json_agg(k)::text, '') FROM (
               SELECT m.id, m.part, a.stage, f.state, f.at, f.tell, t.id IS NOT NULL AS told,
                 (SELECT count(*) FROM sent s WHERE s.id = m.id) AS sent
               FROM msg m LEFT JOIN active a ON a.id = m.id LEFT JOIN fin f ON f.id = m.id
                 LEFT JOIN told t ON t.id = m.id
               WHERE m.id = ANY('{{{}}}'::bigint[])) k",
            ids.join(",")
        );
        let known: String = self.cluster.postgres.rows(&sql)[0].get(0);
        format!("{} messages without a receipt: {known}", unheard.len())
    }

    /// Ends the load, waits until all is done, stops the nodes and compares the histories.
    fn finish(mut self) -> Findings {
        self.load.signal("INT");
        let limit = limit();
        within(limit, || (!self.load.is_running()).then_some(()))
            .unwrap_or_else(|| panic!("no end after {limit:?}: {}", self.unheard()));
        assert!(self.load.wait().success(), "losses: {}", self.unheard());
        // Messages whose response was lost are not awaited by the load: another bind of its account
        // takes their receipts.
        let mut heir = Peer::bind(self.cluster.entry().address(), "test", "test");
        self.cluster
            .wait_until_idle_with(limit, || heir.acknowledge_all());
        heir.unbind();
        for node in &mut self.cluster.nodes {
            assert!(node.terminate().success());
            node.assert_no_panic();
        }
        let mut sender = Sender::read(&self.folder.path().join("load.journal"));
        if backlog() > 0 {
            sender.add(Sender::read(&self.folder.path().join(BACKLOG_JOURNAL)));
        }
        let stored = Stored::shared(&self.cluster.postgres.url());
        let found = history::check(&stored, &sender, &self.operator.journal());
        let lines = |text| -> Vec<usize> {
            let nodes = self.cluster.nodes.iter();
            nodes.map(|node| node.log_lines_with(text)).collect()
        };
        println!(
            "{found:?}, at most {} binds; leases lost {:?}, binds lost {:?}",
            self.door.most_connections(),
            lines(LEASE_LOST),
            lines("bind lost"),
        );
        found
    }
}

/// How many messages wait for the operator before a fault.
fn backlog() -> usize {
    let wanted = std::env::var("SMSC_TEST_BACKLOG");
    wanted.map_or(0, |count| {
        count.parse().expect("SMSC_TEST_BACKLOG is a number")
    })
}

/// [`LIMIT`], and the time that the backlog takes.
fn limit() -> Duration {
    LIMIT + Duration::from_secs((2 * backlog() / TO_OPERATOR) as u64)
}

#[track_caller]
fn assert_at_most(found: &Findings, duplicates: usize) {
    assert!(
        found.duplicates_by_us <= duplicates,
        "more than {duplicates}: {found:?}"
    );
}

#[test]
fn pain_20_nodes_are_killed_one_after_another() {
    let mut scene = Scene::start(ClusterBuilder::short_lease);
    for killed in 0..NODES {
        let others: Vec<usize> = (0..NODES).filter(|node| *node != killed).collect();
        scene.cluster.nodes[killed].kill();
        scene.wait_until_held_by(&others);
        scene.wait_for_all_binds();
        scene.wait_for_traffic();
        scene.cluster.nodes[killed].start_again();
        scene.wait_until_held_by(&[0, 1, 2]);
        scene.wait_for_traffic();
    }
    assert_eq!(scene.door.most_connections(), BINDS);
    assert_at_most(&scene.finish(), NODES * LEFT_BY_A_NODE);
}

#[test]
fn postgres_is_killed_for_a_moment_and_for_longer_than_a_lease() {
    let mut scene = Scene::start(ClusterBuilder::short_lease);
    scene.cluster.postgres.kill9();
    scene.cluster.postgres.restart();
    scene.wait_until_held_by(&[0, 1, 2]);
    scene.wait_for_traffic();

    let nodes = &scene.cluster.nodes;
    // A node that has just stood back, and is about to join again, has no lease to lose.
    for node in nodes {
        until("every node to hold a lease", || {
            let held = node.log_lines_with("holds a lease");
            (held > node.log_lines_with(LEASE_LOST)).then_some(())
        });
    }
    let before = nodes.iter().map(|node| node.log_lines_with(LEASE_LOST));
    let before: Vec<usize> = before.collect();
    scene.cluster.postgres.kill9();
    for (node, before) in scene.cluster.nodes.iter().zip(before) {
        until("a node without a lease to stand back", || {
            (node.log_lines_with(LEASE_LOST) > before).then_some(())
        });
    }
    until("all binds to be closed", || {
        (scene.door.connections() == 0).then_some(())
    });
    scene.cluster.postgres.restart();
    scene.wait_until_held_by(&[0, 1, 2]);
    scene.wait_for_all_binds();
    scene.wait_for_traffic();
    assert_eq!(scene.door.most_connections(), BINDS);
    // Every node was lost once; the first time each may have lost pending commits.
    assert_at_most(&scene.finish(), 2 * NODES * LEFT_BY_A_NODE);
}

#[test]
fn redis_is_killed_flushed_and_silent() {
    let mut scene = Scene::start(ClusterBuilder::redis);
    for _ in 0..2 {
        let redis = scene.cluster.redis.as_mut().unwrap();
        redis.kill9();
        scene.wait_for_traffic();
        let redis = scene.cluster.redis.as_mut().unwrap();
        redis.restart();
        redis.flush();
        scene.wait_for_traffic();
        let redis = scene.cluster.redis.as_mut().unwrap();
        redis.pause(Duration::from_secs(2));
        scene.wait_for_traffic();
    }
    assert_eq!(scene.door.most_connections(), BINDS);
    assert_at_most(&scene.finish(), 0);
}

#[test]
fn a_node_stands_still_for_longer_than_its_lease() {
    let mut scene = Scene::start(ClusterBuilder::short_lease);
    let mut most_frozen = 0;
    for in_a_transaction in [false, true] {
        let node = &scene.cluster.nodes[1];
        let stood_back = node.log_lines_with(LEASE_LOST);
        let had = scene.cluster.binds_of(1, 0);
        if in_a_transaction {
            // Others wait for the rows that it has locked, until the server ends its session.
            scene.cluster.freeze_in_a_transaction(1);
        } else {
            node.freeze();
        }
        // Binds move while their share is not even: it may have got one meanwhile.
        most_frozen = most_frozen.max(had).max(scene.cluster.binds_of(1, 0));
        scene.wait_until_held_by(&[0, 2]);
        scene.wait_for_all_binds();
        // Nothing can close the connections of a stopped process: the operator keeps them until
        // enquire_link is not answered.
        let most = scene.door.most_connections();
        assert!(
            most <= BINDS + most_frozen,
            "{most} with {most_frozen} of a stopped node"
        );
        scene.cluster.nodes[1].thaw();
        until("it to notice that its lease is over", || {
            let now = scene.cluster.nodes[1].log_lines_with(LEASE_LOST);
            (now > stood_back).then_some(())
        });
        scene.wait_until_held_by(&[0, 1, 2]);
        until("the old binds to be closed", || {
            (scene.door.connections() == BINDS).then_some(())
        });
        scene.wait_for_traffic();
    }
    assert_at_most(&scene.finish(), 2 * LEFT_BY_A_NODE);
}

#[test]
fn a_node_is_cut_off_from_postgres_for_longer_than_its_lease() {
    let mut scene = Scene::start(|cluster| cluster.short_lease().gated());
    for _ in 0..2 {
        scene.cluster.nodes[2].gate().shut();
        scene.wait_until_held_by(&[0, 1]);
        scene.wait_for_all_binds();
        // Its earlier writes arrive now, and are refused.
        scene.cluster.nodes[2].gate().open();
        scene.wait_until_held_by(&[0, 1, 2]);
        scene.wait_for_all_binds();
        scene.wait_for_traffic();
    }
    // It closed its binds before other nodes could have them.
    assert_eq!(scene.door.most_connections(), BINDS);
    assert_at_most(&scene.finish(), 2 * LEFT_BY_A_NODE);
}

#[test]
fn a_node_has_a_clock_that_is_half_a_minute_fast() {
    let mut scene = Scene::start(|cluster| cluster.usual_lease().skew(1, "+30s"));
    let newest = |scene: &Scene| {
        let rows = scene.cluster.postgres.rows("SELECT max(id) FROM msg");
        Duration::from_millis(rows[0].get::<_, i64>(0) as u64 >> 20)
    };
    // It follows that of the database, as the others do.
    let ahead = newest(&scene).saturating_sub(Duration::from_millis(smsc::clock::now_ms() as u64));
    assert!(ahead < Duration::from_secs(5), "{ahead:?}");
    // The clock does not matter for leases: the node neither loses its own nor takes those of others.
    for node in &scene.cluster.nodes {
        assert_eq!(node.log_lines_with(LEASE_LOST), 0);
        assert_eq!(node.log_lines_with(TAKEN_OVER), 0);
    }
    scene.wait_for_traffic();
    scene.cluster.nodes[1].kill();
    scene.wait_until_held_by(&[0, 2]);
    scene.cluster.nodes[1].start_again();
    scene.wait_until_held_by(&[0, 1, 2]);
    scene.wait_for_traffic();
    assert_eq!(scene.door.most_connections(), BINDS);
    assert_at_most(&scene.finish(), LEFT_BY_A_NODE);
}

#[test]
fn all_nodes_are_restarted_one_after_another_without_a_duplicate() {
    let mut scene = Scene::start(|cluster| cluster);
    for node in 0..NODES {
        assert!(scene.cluster.nodes[node].terminate().success());
        let others: Vec<usize> = (0..NODES).filter(|other| *other != node).collect();
        scene.wait_until_held_by(&others);
        scene.cluster.nodes[node].start_again();
        scene.wait_until_held_by(&[0, 1, 2]);
        scene.wait_for_all_binds();
        scene.wait_for_traffic();
    }
    assert_eq!(scene.door.most_connections(), BINDS);
    let found = scene.finish();
    assert_eq!(found.duplicates_by_us, 0, "{found:?}");
    assert_eq!(found.repeated_receipts, 0, "{found:?}");
    assert_eq!(found.sent_again, 0, "{found:?}");
}
