//! One page of the database that cannot be read stops nobody: all messages that are not on it are delivered, once.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use crate::harness::{Cluster, Peer, PrivatePostgres, Simulator, submit_quietly, until};
use smsc::smpp::pdu::Body;

const MESSAGES: usize = 2_000;
/// That the submitter has in flight.
const WINDOW: usize = 50;
const LIMIT: Duration = Duration::from_secs(120);

/// Stopped nodes, and messages that wait for an operator that is away.
struct WaitingCluster {
    cluster: Cluster,
    operator: Simulator,
    /// The table of the day.
    table: String,
}

// === impl WaitingCluster ===

impl WaitingCluster {
    fn new() -> Self {
        let operator = Simulator::new();
        let address = operator.address();
        let server = PrivatePostgres::start_with_checksums();
        let url = server.url();
        let mut cluster = Cluster::of(2)
            .on(server, &url)
            .usual_lease()
            .each(move |smsc| {
                smsc.account("test", "test")
                    .operator("up", address)
                    .route("", "up")
            })
            .start();
        let mut esme = Peer::transmitter(cluster.nodes[0].smpp(), "test", "test");
        let mut waiting = VecDeque::new();
        for number in 0..MESSAGES {
            if waiting.len() == WINDOW {
                accepted(&mut esme, &mut waiting);
            }
            let message = submit_quietly(&format!("4477009{number:05}"), &format!("text-{number}"));
            waiting.push_back(esme.request(Body::SubmitSm(message)));
        }
        while !waiting.is_empty() {
            accepted(&mut esme, &mut waiting);
        }
        drop(esme);
        for node in &mut cluster.nodes {
            node.terminate();
        }
        let table = cluster
            .postgres
            .rows("SELECT tableoid::regclass::text FROM msg LIMIT 1");
        let table = table[0].get(0);
        Self {
            cluster,
            operator,
            table,
        }
    }

    fn start(&mut self) {
        for node in &mut self.cluster.nodes {
            node.start_again();
        }
    }

    fn stop(&mut self) {
        for node in &mut self.cluster.nodes {
            node.terminate();
        }
    }

    /// Ids of messages, in order.
    fn ids(&self, condition: &str) -> Vec<i64> {
        let sql = format!(
            "SELECT id FROM {} WHERE {condition} ORDER BY id",
            self.table
        );
        let rows = self.cluster.postgres.rows(&sql);
        rows.iter().map(|row| row.get(0)).collect()
    }

    fn listed(&self, table: &str) -> Vec<i64> {
        let sql = format!("SELECT id FROM damaged WHERE origin = '{table}' ORDER BY id");
        let rows = self.cluster.postgres.rows(&sql);
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// What has come to the operator, each message once.
    fn delivered(&self) -> BTreeSet<String> {
        let journal = self.operator.journal();
        let texts: BTreeSet<String> = journal.iter().map(|line| line.text.clone()).collect();
        assert_eq!(texts.len(), journal.len(), "each once");
        texts
    }

    fn wait_until_degraded(&self) {
        for node in &self.cluster.nodes {
            until("the node to say that rows are damaged", || {
                let (_, ready) = node.admin().text("/health/ready").ok()?;
                ready.contains("rows are damaged").then_some(())
            });
        }
    }
}

fn accepted(esme: &mut Peer, waiting: &mut VecDeque<u32>) {
    let sequence = waiting.pop_front().expect("a request");
    match esme.answer_to(sequence).body {
        Body::SubmitSmResp(answer) => assert!(!answer.message_id.is_empty()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_but_what_is_on_a_damaged_page_is_delivered() {
    let mut waiting = WaitingCluster::new();
    let damaged = waiting.ids("(ctid::text::point)[0] = 3");
    assert!(!damaged.is_empty());
    waiting
        .cluster
        .postgres
        .damage_page(&waiting.table.clone(), 3);
    waiting.start();
    waiting.operator.start_again();
    let delivered = MESSAGES - damaged.len();
    until("all others at the operator", || {
        (waiting.operator.journal().len() >= delivered).then_some(())
    });
    until("the damaged ones on the list", || {
        (waiting.listed("msg") == damaged).then_some(())
    });
    until("the end of all", || {
        let ended = "SELECT count(*) FROM fin";
        let ended: i64 = waiting.cluster.postgres.rows(ended)[0].get(0);
        (ended == MESSAGES as i64).then_some(())
    });
    assert_eq!(waiting.delivered().len(), delivered);
    waiting.wait_until_degraded();
    let ends = "SELECT count(*) FROM fin WHERE error = 'damaged' AND tell = 0";
    let ends: i64 = waiting.cluster.postgres.rows(ends)[0].get(0);
    assert_eq!(ends, damaged.len() as i64);
}

#[test]
fn what_a_damaged_index_does_not_find_is_delivered_after_its_repair() {
    let mut waiting = WaitingCluster::new();
    let index = format!("{}_pkey", waiting.table);
    // The second of its leaves.
    waiting.cluster.postgres.damage_page(&index, 2);
    waiting.start();
    waiting.operator.start_again();
    until("others at the operator", || {
        (waiting.operator.journal().len() >= MESSAGES / 2).then_some(())
    });
    waiting.wait_until_degraded();
    assert!(waiting.listed("msg").is_empty(), "nothing is given up");
    assert!(!waiting.listed("page").is_empty());
    waiting.stop();
    assert!(waiting.delivered().len() < MESSAGES);
    let repair = format!("REINDEX INDEX {index}");
    waiting.cluster.postgres.execute(&repair);
    waiting.start();
    waiting.operator.wait_for(MESSAGES);
    waiting.cluster.wait_until_idle(LIMIT);
    assert_eq!(waiting.delivered().len(), MESSAGES);
}
