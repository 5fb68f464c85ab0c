//! PostgreSQL fails over to a standby that had not received the last of what was acknowledged: nodes write again what
//! they still know. Each message ends once and is sent once, however often nodes start later.

use std::collections::HashMap;
use std::time::Duration;

use crate::harness::{Cluster, Node, Peer, PrivatePostgres, Simulator, submit, until};

const NODES: usize = 2;
const IDLE_WITHIN: Duration = Duration::from_secs(60);
/// Messages of each kind.
const MESSAGES: usize = 40;

/// A cluster whose database has an asynchronous standby.
struct Lagging {
    operators: [Simulator; 2],
    standby: PrivatePostgres,
    cluster: Cluster,
    /// Texts by id, of all that was acknowledged.
    accepted: HashMap<String, String>,
}

// === impl Lagging ===

impl Lagging {
    /// `keys`: of `[postgres]`; `flags`: of the simulated operator `b`.
    fn start(keys: &'static str, flags: &str) -> Self {
        let operators = ["", flags].map(|flags| Simulator::new().flags(flags).start());
        let addresses = [operators[0].address(), operators[1].address()];
        let primary = PrivatePostgres::start();
        let standby = primary.standby();
        primary.set("synchronous_standby_names", "");
        let url = format!(
            "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?connect_timeout=2",
            primary.port(),
            standby.port()
        );
        let cluster = Cluster::of(NODES)
            .usual_lease()
            .on(primary, &url)
            .postgres(keys)
            .each(move |smsc| {
                smsc.account("test", "test")
                    .operator_with("up", addresses[0], "binds = 2\nreconnect = [\"500ms\"]")
                    .operator_with("b", addresses[1], "binds = 2\nreconnect = [\"500ms\"]")
                    .route("888", "b")
                    .route("", "up")
            })
            .start();
        cluster.wait_until_held_by(0, &[0, 1], "operator:up", 4);
        let scene = Self {
            operators,
            standby,
            cluster,
            accepted: HashMap::new(),
        };
        scene.wait_for_shares(&[16, 16]);
        scene
    }

    /// Waits until the nodes hold so many partitions of each operator's queue.
    fn wait_for_shares(&self, shares: &[u64]) {
        until("these shares of each queue", || {
            let answer = self.cluster.nodes[0].admin().get("/v1/nodes");
            let nodes = answer["nodes"].as_array()?;
            let shared = |queue: &str| -> Vec<u64> {
                let all = nodes.iter().flat_map(|node| node["queues"].as_array());
                let of_queue = all.flatten().filter(|one| one["queue"] == queue);
                let held = of_queue.filter_map(|one| one["partitions"].as_u64());
                held.filter(|held| *held > 0).collect()
            };
            let is_shared = |queue| shared(queue) == shares;
            ["operator:up", "operator:b"]
                .into_iter()
                .all(is_shared)
                .then_some(())
        });
    }

    /// Submits to both nodes in turns.
    fn submit(&mut self, prefix: &str, name: &str) {
        let mut peers: Vec<Peer> = (self.cluster.nodes.iter())
            .map(|node| Peer::transmitter(node.smpp(), "test", "test"))
            .collect();
        for number in 0..MESSAGES {
            let text = format!("{name}-{number}");
            let to = format!("{prefix}9{number:05}");
            let id = peers[number % NODES].submit(submit(&to, &text));
            self.accepted.insert(id, text);
        }
    }

    fn order(&self, order: &str) {
        let path = format!("/v1/queues/operator:b/{order}");
        let (status, said) = self.cluster.nodes[0].admin().post(&path);
        assert!(status < 300, "{order}: {said}");
        // The other node may not have carried it out when this one answers: what comes now must not be sent there.
        if order == "suspend" {
            let own = "/v1/queues/operator:b?scope=node";
            let is_suspended = |node: &Node| node.admin().get(own)["suspended"] == true;
            until("both nodes to suspend the queue", || {
                let all = self.cluster.nodes.iter().all(is_suspended);
                all.then_some(())
            });
        }
    }

    /// What the primary writes from now on is lost with it.
    fn cut_off_standby(&self) {
        let written = self
            .cluster
            .postgres
            .rows("SELECT pg_current_wal_lsn()::text");
        let written: String = written[0].get(0);
        until("the standby to have all", || {
            let has = format!("SELECT pg_last_wal_replay_lsn() >= '{written}'::pg_lsn");
            self.standby.rows(&has)[0].get::<_, bool>(0).then_some(())
        });
        self.standby.set("primary_conninfo", "");
        until("the standby to receive nothing", || {
            let receives = "SELECT 1 FROM pg_stat_wal_receiver";
            self.standby.rows(receives).is_empty().then_some(())
        });
    }

    fn fail_over(&mut self) {
        self.cluster.postgres.kill9();
        self.standby.promote();
    }

    /// Acknowledges receipts until nothing is active at this server.
    fn wait_until_idle_at(&self, url: &str) {
        let mut receivers: Vec<Peer> = (self.cluster.nodes.iter())
            .map(|node| Peer::bind(node.smpp(), "test", "test"))
            .collect();
        crate::harness::wait_until_idle_at(url, IDLE_WITHIN, || {
            receivers.iter_mut().for_each(Peer::acknowledge_all);
        });
    }

    /// How often each text was sent.
    fn sent(&self) -> HashMap<String, usize> {
        let mut sent = HashMap::new();
        for line in self.operators.iter().flat_map(Simulator::journal) {
            *sent.entry(line.text).or_default() += 1;
        }
        sent
    }

    /// Acknowledged messages without a final state, as the standby has them.
    fn without_end(&self) -> Vec<&String> {
        let ended = self.standby.rows("SELECT id FROM fin WHERE state = 2");
        let ended: Vec<i64> = ended.iter().map(|row| row.get(0)).collect();
        let open = self.accepted.iter();
        let open = open.filter(|(id, _)| !ended.contains(&id.parse().unwrap()));
        open.map(|(_, text)| text).collect()
    }

    /// Sends what waits in the queue of `b`.
    fn resume_and_wait_for_attempts(&self) {
        self.order("resume");
        until("the attempts to be written", || {
            let sent = self.cluster.postgres.rows("SELECT 1 FROM sent");
            (sent.len() == MESSAGES).then_some(())
        });
    }

    /// The node that lives has written its own attempts again, and the others are held.
    fn assert_held_or_sent_once(&self, lives: usize) {
        let messages = until("the attempts of the dead node to be held", || {
            let sent = self.standby.rows("SELECT DISTINCT id FROM sent").len();
            let (messages, _) = held(&self.cluster.nodes[lives]);
            (sent + messages as usize == MESSAGES).then_some(messages)
        });
        assert!(messages > 0);
        self.assert_sent_once();
    }

    fn assert_sent_once(&self) {
        let sent = self.sent();
        let not_once = self
            .accepted
            .values()
            .filter(|text| sent.get(*text) != Some(&1));
        let not_once: Vec<_> = not_once.map(|text| (text, sent.get(text))).collect();
        assert!(not_once.is_empty(), "not sent once: {not_once:?}");
    }
}

/// What `GET /v1/held` says: held messages, and doubtful partitions.
fn held(node: &Node) -> (u64, u64) {
    let list = node.admin().get("/v1/held");
    let number = |name: &str| list[name].as_u64().unwrap();
    (number("count"), number("partitions"))
}

#[test]
fn the_last_seconds_are_written_again() {
    let mut scene = Lagging::start("", "");
    // Replicated, and sent in what is lost.
    scene.order("suspend");
    scene.submit("888", "waiting");
    scene.cut_off_standby();
    scene.order("resume");
    // Accepted, sent and told in what is lost.
    scene.submit("777", "lost");
    let primary = scene.cluster.postgres.url();
    scene.wait_until_idle_at(&primary);
    // Accepted in what is lost, and not sent.
    scene.order("suspend");
    scene.submit("888", "later");
    scene.fail_over();
    scene.submit("777", "after");
    scene.order("resume");
    let standby = scene.standby.url();
    scene.wait_until_idle_at(&standby);
    assert_eq!(scene.without_end(), [""; 0], "no final state");
    scene.assert_sent_once();
    assert!(
        scene
            .cluster
            .nodes
            .iter()
            .any(|node| node.log_lines_with("went back in time") > 0)
    );
    // Who reads the database anew finds nothing to send.
    for node in &mut scene.cluster.nodes {
        node.kill();
    }
    for node in &mut scene.cluster.nodes {
        node.start_again();
    }
    scene.submit("777", "restarted");
    scene.wait_until_idle_at(&standby);
    scene.assert_sent_once();
}

/// Without receipts, so that nothing else tells what became of them.
fn scene_with_attempts_in_what_is_lost(keys: &'static str) -> Lagging {
    let mut scene = Lagging::start(keys, "--receipts none");
    scene.order("suspend");
    scene.submit("888", "waiting");
    scene.cut_off_standby();
    scene.resume_and_wait_for_attempts();
    scene
}

/// Nodes have forgotten that waiting messages were sent.
#[test]
fn what_was_forgotten_is_held_until_somebody_orders_it() {
    let mut scene = scene_with_attempts_in_what_is_lost("rewrite_for = \"0s\"");
    let waiting: Vec<String> = scene.accepted.keys().cloned().collect();
    // Later commits take the place of those that are kept.
    scene.submit("777", "more");
    let primary = scene.cluster.postgres.url();
    until("more attempts", || {
        let sent = crate::harness::rows(&primary, "SELECT 1 FROM sent");
        (sent.len() == 2 * MESSAGES).then_some(())
    });
    scene.fail_over();
    until("both nodes to say it", || {
        let said = |node: &Node| node.log_lines_with("further than what was kept") > 0;
        scene.cluster.nodes.iter().all(said).then_some(())
    });
    // Whoever reads these partitions anew does not send what waits in them.
    for node in &mut scene.cluster.nodes {
        node.kill();
    }
    for node in &mut scene.cluster.nodes {
        node.start_again();
    }
    let node = &scene.cluster.nodes[0];
    until("all to be held", || {
        let list = node.admin().get("/v1/held?limit=1000");
        let held = list["messages"].as_array()?.iter();
        let held: Vec<String> = held
            .filter_map(|one| Some(one["id"].as_str()?.to_owned()))
            .collect();
        waiting.iter().all(|id| held.contains(id)).then_some(())
    });
    let degraded = until("the node to be degraded", || {
        let (_, answer) = node.admin().text("/health/ready").ok()?;
        answer.contains("back in time").then_some(answer)
    });
    assert!(degraded.contains("degraded"), "{degraded}");
    // Also later ones, of partitions that were read after that.
    let count = until("the metric to count them", || {
        let (count, _) = held(node);
        let metric = node.admin().metric("smsc_messages_held");
        (metric == Some(count as f64)).then_some(count)
    });
    scene.assert_sent_once();
    // One is cancelled, the others are sent once more, because somebody wants it.
    let cancelled = &waiting[0];
    let shown = node.command(&["message", "show", cancelled]).stdout;
    assert!(shown.contains("it has been held since"), "{shown}");
    let done = node.command(&["held", "cancel", "--id", cancelled]);
    assert!(done.success, "{}{}", done.stdout, done.stderr);
    assert_eq!(node.final_state(cancelled), "DELETED");
    let again = node.command(&["held", "cancel", "--id", cancelled]);
    assert!(!again.success, "it is held no more");
    let done = node.command(&["held", "release", "--all"]);
    let said = format!("{} messages", count - 1);
    assert!(
        done.stdout.contains(&said),
        "{said}: {}{}",
        done.stdout,
        done.stderr
    );
    until("the others to be sent once more", || {
        let sent = scene.sent();
        let twice = |id: &&String| sent.get(&scene.accepted[*id]) == Some(&2);
        (waiting.iter().filter(twice).count() == MESSAGES - 1).then_some(())
    });
    assert_eq!(scene.sent()[&scene.accepted[cancelled]], 1);
    assert_eq!(held(&scene.cluster.nodes[1]), (0, 0));
}

/// A node and the primary are lost together: nobody knows what the node has sent last.
#[test]
fn what_a_dead_node_may_have_sent_is_held() {
    let mut scene = scene_with_attempts_in_what_is_lost("");
    let sent_by = |node: usize| {
        let delivered = "smsc_queue_delivered_total{queue=\"operator:b\"}";
        let admin = scene.cluster.nodes[node].admin();
        admin.metric(delivered).unwrap_or_default() as usize
    };
    // The one that has sent more. What a node publishes is a moment old.
    let (dead, lives) = until("both to count what they have sent", || {
        let (first, second) = (sent_by(0), sent_by(1));
        let order = if first > second { (0, 1) } else { (1, 0) };
        (first + second == MESSAGES).then_some(order)
    });
    scene.cluster.nodes[dead].kill();
    scene.fail_over();
    scene.assert_held_or_sent_once(lives);
}

/// Partitions move to a node in what is lost, and it dies with the primary: by the standby they are still those of the node
/// that lives.
#[test]
fn what_a_dead_node_may_have_sent_of_partitions_that_it_had_just_taken_is_held() {
    let mut scene = Lagging::start("", "--receipts none");
    scene.order("suspend");
    scene.submit("888", "waiting");
    scene.cluster.nodes[1].kill();
    scene.wait_for_shares(&[32]);
    scene.cut_off_standby();
    scene.cluster.nodes[1].start_again();
    scene.wait_for_shares(&[16, 16]);
    scene.resume_and_wait_for_attempts();
    scene.cluster.nodes[1].kill();
    scene.fail_over();
    scene.assert_held_or_sent_once(0);
}
