//! The queue of an account is shared by the nodes that it has receivers on.
//!
//! One node delivers to the operator and is never harmed; the others only have ESMEs. So what is late is late
//! because of the account's queue alone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::harness::{self, Cluster, ClusterBuilder, Peer, Simulator, receipted, submit, until};
use smsc::domain::partition::{self, PARTITIONS};
use smsc::smpp::{Body, CommandId, CommandStatus};

const NODES: usize = 3;
const ACCOUNT: &str = "account:test";
/// Messages of a round: several for each partition.
const MESSAGES: usize = 192;
const WINDOW: usize = 10;
/// How long to listen on one bind before the next one.
const LISTEN: Duration = Duration::from_millis(2);

fn cluster(operator: std::net::SocketAddr) -> ClusterBuilder {
    Cluster::of(NODES)
        .roles(1, &["smpp", "http", "janitor"])
        .roles(2, &["smpp", "http", "janitor"])
        .each(move |smsc| {
            smsc.account_with("test", "test", &format!("window = {WINDOW}"))
                .operator("up", operator)
                .route("", "up")
        })
}

fn number(n: usize) -> String {
    format!("4477009{n:05}")
}

/// The receivers of the account, by node, and what they have got.
struct Receivers {
    binds: BTreeMap<usize, Peer>,
    /// Subscriber, id and node, in the order of arrival.
    got: Vec<(String, String, usize)>,
    /// The longest time without a receipt while some were awaited.
    gap: Duration,
}

// === impl Receivers ===

impl Receivers {
    fn new() -> Self {
        Self {
            binds: BTreeMap::new(),
            got: Vec::new(),
            gap: Duration::ZERO,
        }
    }

    fn bind(&mut self, cluster: &Cluster, node: usize) {
        let mut peer = Peer::connect(cluster.nodes[node].smpp());
        let status = peer.bind_as(Body::BindReceiver, "test", "test");
        assert_eq!(status, CommandStatus::ESME_ROK);
        self.binds.insert(node, peer);
    }

    /// What comes until the bind is ended counts.
    fn unbind(&mut self, node: usize) {
        let mut peer = self.binds.remove(&node).expect("bound");
        let sequence = peer.request(Body::Unbind);
        for pdu in peer.until_closed() {
            match pdu.body {
                Body::UnbindResp => assert_eq!(pdu.sequence, sequence),
                // Not acknowledged any more, so it comes again.
                Body::DeliverSm(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Takes and acknowledges what has arrived.
    fn listen(&mut self) {
        for (node, peer) in &mut self.binds {
            while let Ok(pdu) = peer.next(LISTEN) {
                let Body::DeliverSm(receipt) = &pdu.body else {
                    continue;
                };
                let subscriber = String::from_utf8(receipt.source_addr.to_vec()).unwrap();
                self.got.push((subscriber, receipted(receipt), *node));
                peer.acknowledge(CommandId::DELIVER_SM_RESP, pdu.sequence);
            }
        }
    }

    /// Listens until receipts for all of these ids have come.
    fn wait_for(&mut self, ids: &HashSet<String>) {
        self.wait_until("all receipts", |got| {
            let came: HashSet<&String> = got.iter().map(|(_, id, _)| id).collect();
            ids.iter().all(|id| came.contains(id))
        });
    }

    /// Listens until this has come.
    fn wait_until(&mut self, what: &str, is_enough: impl Fn(&[(String, String, usize)]) -> bool) {
        let (mut last, mut count) = (Instant::now(), self.got.len());
        until(what, || {
            self.listen();
            if self.got.len() > count {
                self.gap = self.gap.max(last.elapsed());
                (last, count) = (Instant::now(), self.got.len());
            }
            is_enough(&self.got).then_some(())
        });
    }

    fn ids(&self) -> Vec<&String> {
        self.got.iter().map(|(_, id, _)| id).collect()
    }
}

/// One message to each of the first numbers; their ids.
fn submit_round(transmitter: &mut Peer) -> HashSet<String> {
    (0..MESSAGES)
        .map(|n| transmitter.submit(submit(&number(n), "hello")))
        .collect()
}

/// Who holds the queue of the account: partition and node.
fn holders(cluster: &Cluster) -> HashMap<u8, usize> {
    let sql = format!(
        "SELECT l.part, l.node FROM lease l JOIN names n ON n.number = l.name
         JOIN node ON node.node = l.node AND node.epoch = l.epoch
         WHERE l.kind = 1 AND l.taken AND n.name = '{ACCOUNT}'"
    );
    let rows = cluster.postgres.rows(&sql);
    let holder = |row: &tokio_postgres::Row| {
        let (part, node): (i32, i16) = (row.get(0), row.get(1));
        (part as u8, node as usize)
    };
    rows.iter().map(holder).collect()
}

/// Waits until these nodes and no others hold all partitions, and each has its share. Receivers go on meanwhile: a
/// partition moves when what was given to them is acknowledged.
fn wait_until_divided(
    cluster: &Cluster,
    receivers: &mut Receivers,
    nodes: &[usize],
) -> HashMap<u8, usize> {
    until(&format!("the queue to be divided over {nodes:?}"), || {
        receivers.listen();
        let holders = holders(cluster);
        let is_even = nodes.iter().all(|node| {
            let held = holders.values().filter(|holder| *holder == node).count();
            held >= usize::from(PARTITIONS) / nodes.len()
        });
        let all: BTreeSet<u8> = holders.keys().copied().collect();
        (is_even && all == (0..PARTITIONS).collect()).then_some(holders)
    })
}

fn wait_until_whole(cluster: &Cluster, receivers: &mut Receivers) -> usize {
    until("one node to hold the whole queue", || {
        receivers.listen();
        let holders = holders(cluster);
        let whole = holders.get(&partition::WHOLE).copied();
        whole.filter(|_| holders.len() == 1)
    })
}

fn node_of(holders: &HashMap<u8, usize>, subscriber: &str) -> usize {
    holders[&partition::of(subscriber.as_bytes())]
}

#[test]
fn the_death_of_a_node_stops_its_share_of_the_receipts_alone() {
    let operator = Simulator::new().start();
    let mut cluster = cluster(operator.address()).start();
    cluster.nodes[0].wait_for_binds("up", 1);
    let mut transmitter = Peer::transmitter(cluster.nodes[0].smpp(), "test", "test");
    let mut receivers = Receivers::new();
    (0..NODES).for_each(|node| receivers.bind(&cluster, node));
    let holders = wait_until_divided(&cluster, &mut receivers, &[0, 1, 2]);

    let first = submit_round(&mut transmitter);
    receivers.wait_for(&first);
    for (subscriber, _, node) in &receivers.got {
        assert_eq!(*node, node_of(&holders, subscriber), "{subscriber}");
    }
    cluster.wait_until_idle_with(harness::PATIENCE, || receivers.listen());
    assert_eq!(receivers.got.len(), MESSAGES, "each once");

    cluster.nodes[2].kill();
    // However slow this machine is: nobody takes over before the receipts of the others were looked at.
    let lease_ends_in = |time: &str| {
        let sql = format!(
            "UPDATE node SET lease_until = clock_timestamp() + interval '{time}' WHERE node = 2 RETURNING node"
        );
        assert_eq!(
            cluster.postgres.rows(&sql).len(),
            1,
            "the dead node's lease"
        );
    };
    lease_ends_in("1 hour");
    receivers.binds.remove(&2);
    receivers.gap = Duration::ZERO;
    let second = submit_round(&mut transmitter);
    let is_dead = |subscriber: &str| node_of(&holders, subscriber) == 2;
    let others: usize = (0..MESSAGES).filter(|n| !is_dead(&number(*n))).count();
    let enough = MESSAGES + others;
    receivers.wait_until("the other receipts", |got| got.len() >= enough);
    let without_pause = receivers.gap;
    // None of the dead node's came before: its lease holds them.
    let after_death = &receivers.got[MESSAGES..MESSAGES + others];
    for (subscriber, _, node) in after_death {
        assert_eq!(*node, node_of(&holders, subscriber), "{subscriber}");
    }
    lease_ends_in("0");
    wait_until_divided(&cluster, &mut receivers, &[0, 1]);
    receivers.wait_for(&second);
    println!("longest gap of the other shares: {without_pause:?}");
    cluster.wait_until_idle_with(harness::PATIENCE, || receivers.listen());
    let all: HashSet<&String> = receivers.ids().into_iter().collect();
    assert_eq!(all.len(), 2 * MESSAGES, "every message was told of");
    assert_eq!(receivers.got.len(), 2 * MESSAGES, "and of none twice");
}

#[test]
fn partitions_follow_binds_without_losing_a_receipt() {
    let operator = Simulator::new().start();
    let cluster = cluster(operator.address()).start();
    cluster.nodes[0].wait_for_binds("up", 1);
    let mut transmitter = Peer::transmitter(cluster.nodes[0].smpp(), "test", "test");
    let mut receivers = Receivers::new();
    let mut ids = HashSet::new();
    // Who is bound in each round; the next one begins while receipts of the last are under way.
    let rounds: [&[usize]; 7] = [
        &[1],
        &[1, 2],
        &[0, 1, 2],
        &[0, 2],
        &[2],
        &[0, 1],
        &[0, 1, 2],
    ];
    for bound in rounds {
        for node in 0..NODES {
            match (bound.contains(&node), receivers.binds.contains_key(&node)) {
                (true, false) => receivers.bind(&cluster, node),
                (false, true) => receivers.unbind(node),
                _ => {}
            }
        }
        ids.extend(submit_round(&mut transmitter));
        receivers.listen();
    }
    receivers.wait_for(&ids);
    cluster.wait_until_idle_with(harness::PATIENCE, || receivers.listen());
    wait_until_divided(&cluster, &mut receivers, &[0, 1, 2]);
    let all: HashSet<&String> = receivers.ids().into_iter().collect();
    assert_eq!(all.len(), rounds.len() * MESSAGES);
    let repeated = receivers.got.len() - all.len();
    println!("{repeated} receipts twice");
    // Those whose acknowledgement a bind could not send before it ended.
    assert!(repeated <= rounds.len() * WINDOW, "{repeated} twice");
    for node in &cluster.nodes {
        assert_eq!(node.log_lines_with("that no queue knew"), 0);
    }
}

/// A member that behaves as one of the build before: its card does not say that it knows parts, it holds the queue
/// as a whole, and hands over to the whole queue.
#[test]
fn a_node_of_the_build_before_gets_the_whole_queue_and_leaves_it() {
    const OLD: usize = 9;
    let operator = Simulator::new().start();
    let cluster = cluster(operator.address()).start();
    cluster.nodes[0].wait_for_binds("up", 1);
    let mut transmitter = Peer::transmitter(cluster.nodes[0].smpp(), "test", "test");
    let mut receivers = Receivers::new();
    (0..NODES).for_each(|node| receivers.bind(&cluster, node));
    wait_until_divided(&cluster, &mut receivers, &[0, 1, 2]);
    let mut ids = submit_round(&mut transmitter);

    // It joins, and listens for ESMEs but has none.
    let run = |sql: &str| cluster.postgres.rows(sql);
    run(&format!(
        "INSERT INTO node(node, epoch, lease_until, since, card)
         VALUES({OLD}, nextval('node_epoch'), now() + interval '1 hour', now(), '{{\"roles\": [\"smpp\"]}}')"
    ));
    let holder = wait_until_whole(&cluster, &mut receivers);
    assert!(holder < NODES, "one with a receiver");
    ids.extend(submit_round(&mut transmitter));
    receivers.wait_for(&ids);
    cluster.wait_until_idle_with(harness::PATIENCE, || receivers.listen());

    // It gets a receiver, and the only one.
    (0..NODES).for_each(|node| receivers.unbind(node));
    run(&format!(
        "UPDATE node SET card = card || jsonb_build_object('serving', jsonb_build_array(number))
         FROM names WHERE names.name = '{ACCOUNT}' AND node.node = {OLD}"
    ));
    until("the others to give the queue back", || {
        holders(&cluster).is_empty().then_some(())
    });
    let claimed = run(&format!(
        "UPDATE lease l SET node = {OLD}, epoch = n.epoch, taken = true FROM node n, names q
         WHERE n.node = {OLD} AND l.kind = 1 AND l.name = q.number AND l.part = 255
           AND q.name = '{ACCOUNT}' RETURNING l.part"
    ));
    assert_eq!(claimed.len(), 1);
    let third = submit_round(&mut transmitter);
    let waiting = format!(
        "SELECT count(*) FROM fin f JOIN names n ON n.number = f.tell
         LEFT JOIN told t ON t.id = f.id WHERE n.name = '{ACCOUNT}' AND t.id IS NULL"
    );
    until("the receipts to be made", || {
        (run(&waiting)[0].get::<_, i64>(0) == MESSAGES as i64).then_some(())
    });
    let elsewhere = run("SELECT DISTINCT part FROM inbox");
    let parts: Vec<i16> = elsewhere.iter().map(|row| row.get(0)).collect();
    assert_eq!(parts, [255], "where that node looks");

    // It dies; what was for it is for the others.
    run(&format!("DELETE FROM node WHERE node = {OLD}"));
    (0..NODES).for_each(|node| receivers.bind(&cluster, node));
    wait_until_divided(&cluster, &mut receivers, &[0, 1, 2]);
    ids.extend(third);
    receivers.wait_for(&ids);
    cluster.wait_until_idle_with(harness::PATIENCE, || receivers.listen());
    let all: HashSet<&String> = receivers.ids().into_iter().collect();
    assert_eq!(
        (all.len(), receivers.got.len()),
        (3 * MESSAGES, 3 * MESSAGES)
    );
}
