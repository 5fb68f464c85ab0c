//! An acknowledged message is in a queue until it has ended: through any partitions and targets,
//! however long the queue is, and even if it was lost in memory.

use std::process::Command;
use std::time::Duration;

use crate::harness::{
    self, Cluster, Peer, Process, Simulator, Smsc, SmscBuilder, execute, submit, until, within,
};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(180);

/// Messages that are not final, in a shared store.
const ACTIVE: &str = "SELECT count(*)::bigint FROM msg m
    LEFT JOIN fin f ON f.id = m.id WHERE f.id IS NULL";

fn active(cluster: &Cluster) -> i64 {
    cluster.postgres.rows(ACTIVE)[0].get(0)
}

fn address(port: u16) -> std::net::SocketAddr {
    ([127, 0, 0, 1], port).into()
}

#[test]
fn failover_there_and_back_after_a_takeover_loses_nothing() {
    const MESSAGES: usize = 600;
    let moods = "--reject-percent 90 --reject-status ESME_RSYSERR --receipts none";
    let [one, other] = [0, 1].map(|_| Simulator::new().flags(moods).start());
    let (first, second) = (one.address().port(), other.address().port());
    let mut cluster = Cluster::of(2)
        .each(move |smsc| {
            smsc.account("test", "test")
                .operator_with("opx", address(first), "binds = 2\nreceipts = \"never\"")
                .operator_with("opy", address(second), "binds = 2\nreceipts = \"never\"")
                .toml("[retry]\ndelays = [\"200ms\"]")
                .toml("[[route]]\nprefix = \"\"\nto = [\"opx\", \"opy\"]")
        })
        .start();
    assert!(cluster.nodes[1].terminate().success());
    for queue in ["operator:opx", "operator:opy"] {
        cluster.wait_until_held_by(0, &[0], queue, 4);
    }
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    for number in 0..MESSAGES {
        esme.submit(submit(&format!("447700900{number:03}"), "on its way"));
    }
    // Half of the waiting messages belong to another node from now on, and are moved between the
    // operators.
    cluster.nodes[1].start_again();
    for queue in ["operator:opx", "operator:opy"] {
        cluster.wait_until_held_by(0, &[0, 1], queue, 4);
    }
    within(LIMIT, || (active(&cluster) == 0).then_some(())).unwrap_or_else(|| {
        panic!(
            "{} of {MESSAGES} acknowledged messages have not ended after {LIMIT:?}",
            active(&cluster)
        )
    });
    let delivered = || one.journal().len() + other.journal().len();
    // An operator writes its journal a moment later.
    within(LIMIT, || (delivered() >= MESSAGES).then_some(()));
    assert_eq!(delivered(), MESSAGES, "each went once");
    cluster.nodes.iter().for_each(|node| node.assert_no_panic());
}

/// Inserts copies of the stored messages, a minute older, as if they had been lost in memory. They have no checksums,
/// which would be those of other ids.
const COPY_EMBEDDED: &str =
    "INSERT INTO msg SELECT id - (60000 << 20), at, sender, queue, priority,
    due_at, expires_at, source, destination, numbering, substr(body, 7) FROM msg";
const COPY_SHARED: &str = "INSERT INTO msg SELECT id - (60000::bigint << 20), at, sender, queue,
    part, priority, due_at, expires_at, source, destination, numbering, payload_kind,
    substr(body, 7) FROM msg";

fn with_sweeps(operator: &Simulator) -> impl Fn(SmscBuilder) -> SmscBuilder + use<> {
    let address = operator.address();
    move |smsc| {
        smsc.account("test", "test")
            .operator_with("up", address, "receipts = \"never\"")
            .route("", "up")
            .toml("[queue]\ncompare_every = \"1s\"")
    }
}

/// Submits, inserts lost copies by `lose`, and waits until these are at the operator, too.
fn is_put_back(smsc: &Smsc, operator: &Simulator, lose: impl FnOnce()) {
    const MESSAGES: usize = 5;
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for number in 0..MESSAGES {
        esme.submit(submit(&format!("44770090012{number}"), "lost"));
    }
    operator.wait_for(MESSAGES);
    assert_eq!(
        smsc.admin().metric("smsc_messages_put_back_total"),
        Some(0.0)
    );
    lose();
    let journal = operator.wait_for(2 * MESSAGES);
    assert_eq!(journal.len(), 2 * MESSAGES);
    for number in 0..MESSAGES {
        let to = format!("44770090012{number}");
        let times = journal.iter().filter(|line| line.destination == to).count();
        assert_eq!(times, 2, "{to}");
    }
    let put_back = smsc.admin().metric("smsc_messages_put_back_total");
    assert_eq!(put_back, Some(MESSAGES as f64), "counted");
    let log = smsc.log();
    let said = log
        .lines()
        .filter(|line| line.contains("that no queue knew"));
    assert!(said.clone().count() >= 1, "{log}");
    assert!(said.into_iter().all(|line| line.contains("ERROR")), "{log}");
    // Nothing else is ever put back.
    let more = within(Duration::from_secs(3), || {
        (operator.journal().len() > 2 * MESSAGES).then_some(())
    });
    assert_eq!(more, None);
    smsc.assert_no_panic();
}

#[test]
fn what_no_queue_knows_is_put_back() {
    let operator = Simulator::new().start();
    let smsc = with_sweeps(&operator)(Smsc::new()).start();
    is_put_back(&smsc, &operator, || {
        let store = rusqlite::Connection::open(smsc.data_dir().join("smsc.db")).unwrap();
        store.busy_timeout(LIMIT).unwrap();
        store.execute(COPY_EMBEDDED, []).unwrap();
    });
}

#[test]
fn what_no_queue_of_a_cluster_knows_is_put_back_by_its_owner() {
    let operator = Simulator::new().start();
    let cluster = Cluster::of(1).each(with_sweeps(&operator)).start();
    let smsc = &cluster.nodes[0];
    cluster.wait_until_held_by(0, &[0], "operator:up", 1);
    is_put_back(smsc, &operator, || {
        execute(&cluster.postgres.url(), COPY_SHARED);
    });
}

/// Far more than fit in memory.
const MESSAGES: u64 = 40_000;

fn queue(smsc: &Smsc) -> Value {
    smsc.admin().get("/v1/queues/operator:up")
}

/// Fills a queue until most of it is out of memory.
fn fill(smsc: &Smsc) {
    let mut command = Command::new(harness::binary());
    command
        .args(["load", "--host", &smsc.smpp().to_string()])
        .args(["--binds", "2", "--window", "200", "--no-receipts"])
        .args(["--count", &MESSAGES.to_string()]);
    let mut load = Process::start("smsc load", command, &smsc.file("load.log"));
    within(LIMIT, || (!load.is_running()).then_some(())).expect("the load to end");
    assert!(load.wait().success());
    until("all of them to wait, most of them out of memory", || {
        let queue = queue(smsc);
        let is_spilled = queue["spilled"].as_u64()? >= MESSAGES / 2;
        let all = queue["waiting"].as_u64()? + queue["in_flight"].as_u64()?;
        (all == MESSAGES && is_spilled).then_some(())
    });
}

/// Fills a queue, purges it, and waits until all its messages have ended.
fn a_purge_ends_all(smsc: &Smsc) {
    fill(smsc);
    let admin = smsc.admin();
    let (status, answer) = admin.post("/v1/queues/operator:up/purge");
    assert_eq!((status, answer["count"].as_u64()), (202, Some(MESSAGES)));
    let left = within(LIMIT, || (queue(smsc)["waiting"] == 0).then_some(()));
    assert!(left.is_some(), "left after {LIMIT:?}: {}", queue(smsc));
    until("all of them to have ended", || {
        let deleted = admin.metric("smsc_message_seconds_count{state=\"DELETED\"}")?;
        (deleted as u64 == MESSAGES).then_some(())
    });
    assert!(!smsc.log().contains("reading the queue again"));
    smsc.assert_no_panic();
}

#[test]
fn an_end_that_the_store_refuses_for_a_while_is_written_without_a_restart() {
    let refuses = "--reject-percent 100 --reject-status ESME_RINVDSTADR";
    let operator = Simulator::new().flags(refuses).start();
    let smsc = Smsc::new().relaying_to(operator.address()).start();
    let store = rusqlite::Connection::open(smsc.data_dir().join("smsc.db")).unwrap();
    store.busy_timeout(LIMIT).unwrap();
    // A fault of neither a row nor the disk: the whole batch fails with it.
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON fin
                  BEGIN INSERT INTO nowhere VALUES(1); END";
    store.execute_batch(refuse).unwrap();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let ids = [0, 1, 2].map(|_| esme.submit(submit("447700900123", "no such number")));
    until("the store to refuse", || {
        smsc.log()
            .contains("final states not written")
            .then_some(())
    });
    store.execute_batch("DROP TRIGGER refuse").unwrap();
    for id in ids {
        assert_eq!(smsc.wait_for_final(&id)["state"], "REJECTED");
    }
    smsc.assert_no_panic();
}

fn with_little_memory(smsc: SmscBuilder) -> SmscBuilder {
    smsc.account_with("test", "test", "window = 500")
        .operator("up", Simulator::new().address())
        .route("", "up")
        .toml("[queue]\nmemory_items = 10000\npage = 256")
}

#[test]
fn a_purge_ends_all_of_a_spilled_queue() {
    a_purge_ends_all(&with_little_memory(Smsc::new()).start());
}

#[test]
fn a_purge_ends_all_of_a_spilled_queue_of_a_cluster() {
    let cluster = Cluster::of(1).each(with_little_memory).start();
    a_purge_ends_all(&cluster.nodes[0]);
}

#[test]
fn a_spilled_queue_fails_over_to_the_next_target() {
    let mut first = Simulator::new().flags("--profile silent").start();
    let second = Simulator::new().start();
    let smsc = Smsc::new()
        .account_with("test", "test", "window = 500")
        .operator_with("up", first.address(), "window = 10")
        .operator("other", second.address())
        .toml("[[route]]\nprefix = \"\"\nto = [\"up\", \"other\"]")
        .toml("[queue]\nmemory_items = 10000\npage = 256\nfailover_after = \"1s\"")
        .start();
    smsc.wait_for_binds("up", 1);
    fill(&smsc);
    first.kill();
    let arrived = within(LIMIT, || {
        (second.journal().len() as u64 >= MESSAGES).then_some(())
    });
    assert!(
        arrived.is_some(),
        "{} have moved, the rest waits: {}",
        second.journal().len(),
        queue(&smsc)
    );
    assert_eq!(second.journal().len() as u64, MESSAGES, "each went once");
    smsc.assert_no_panic();
}
