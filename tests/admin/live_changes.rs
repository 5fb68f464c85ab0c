//! Accounts, operators and routes are changed while the SMSC works: under load other sessions are not
//! affected, nothing is lost, and every acknowledged message ends in one state.
//!
//! The load offers 10,000 messages a second. A development build on a busy machine of two cores
//! takes fewer; what is asserted does not depend on how many.

mod resources;

use crate::history;
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use crate::harness::{self, Cluster, Peer, Process, Simulator, Smsc, submit, until, within};
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus};

const RATE: &str = "10000";
/// Acknowledged messages between two changes.
const BETWEEN: usize = 3_000;
/// From the end of the load to the last receipt; it takes a fraction.
const LIMIT: Duration = Duration::from_secs(180);
/// How long a rate is measured.
const LOOK: Duration = Duration::from_secs(2);

fn operator_settings(operator: &Simulator) -> Value {
    json!({
        "address": operator.address().to_string(),
        "system_id": "smsc",
        "password": "secret",
        "window": 250,
        "reconnect": ["200ms"],
    })
}

fn load(smsc: &Smsc) -> Process {
    let mut command = Command::new(harness::binary());
    command
        .args(["load", "--host", &smsc.smpp().to_string()])
        .args(["--binds", "4", "--window", "100", "--rate", RATE])
        .args(["--duration", "10m", "--settle", "120s", "--journal"])
        .arg(smsc.file("load.journal"));
    Process::start("smsc load", command, &smsc.file("load.log"))
}

fn acknowledged(smsc: &Smsc) -> usize {
    let journal = std::fs::read(smsc.file("load.journal")).unwrap_or_default();
    let lines = journal.split(|octet| *octet == b'\n');
    lines.filter(|line| line.starts_with(b"A\t")).count()
}

fn wait_for_traffic(smsc: &Smsc, load: &mut Process) {
    let before = acknowledged(smsc);
    until("messages to be acknowledged", || {
        load.assert_running();
        (acknowledged(smsc) > before + BETWEEN).then_some(())
    });
}

/// Session number, name and start of all bound sessions with these names.
fn sessions(smsc: &Smsc, names: &[&str]) -> BTreeSet<String> {
    let answer = smsc.admin().get("/v1/binds");
    let binds = answer["binds"].as_array().unwrap().iter();
    binds
        .filter(|bind| bind["state"] == "bound")
        .filter(|bind| names.iter().any(|name| bind["name"] == *name))
        .map(|bind| format!("{} {} {}", bind["session"], bind["name"], bind["since"]))
        .collect()
}

#[test]
fn under_load_nobody_else_is_touched_and_nothing_is_lost() {
    let operators = [(); 3].map(|()| Simulator::new().start());
    let [first, second, third] = &operators;
    let mut smsc = Smsc::new()
        .account_with("test", "test", "window = 500")
        .account("other", "other")
        .operator_with("first", first.address(), "binds = 2\nwindow = 250")
        .operator("second", second.address())
        .route("", "first")
        .route("33", "second")
        .start();
    smsc.wait_for_binds("first", 2);
    smsc.wait_for_binds("second", 1);
    let admin = smsc.admin();
    let mut other = Peer::bind(smsc.smpp(), "other", "other");
    let mut load = load(&smsc);
    wait_for_traffic(&smsc, &mut load);
    let names = ["test", "other", "first", "second"];
    let before = sessions(&smsc, &names);
    assert_eq!(before.len(), 4 + 1 + 2 + 1, "{before:?}");

    // Add an operator, version 2.
    let new = [("If-None-Match", "*")];
    let path = "/v1/operators/third";
    let added = admin.request("PUT", path, &new, Some(&operator_settings(third)));
    assert_eq!(
        (added.status, &added.body["version"]),
        (201, &json!(2)),
        "{added:?}"
    );
    smsc.wait_for_binds("third", 1);

    // Move a route, version 3.
    wait_for_traffic(&smsc, &mut load);
    admin.put("/v1/routes/default", &json!({"to": ["third"]}));
    third.wait_for(BETWEEN);

    // Change a password, version 4: bound sessions stay bound.
    let account = admin.get("/v1/accounts/test");
    let mut settings = account["settings"].clone();
    settings["password"] = json!("rotated");
    admin.put("/v1/accounts/test", &settings);
    let mut late = Peer::connect(smsc.smpp());
    let refused = late.bind_as(Body::BindTransmitter, "test", "test");
    assert_eq!(refused, CommandStatus::ESME_RINVPASWD);
    let mut late = Peer::connect(smsc.smpp());
    let taken = late.bind_as(Body::BindTransmitter, "test", "rotated");
    assert_eq!(taken, CommandStatus::ESME_ROK);
    late.unbind();

    // Lower a rate, version 5: it applies at once, to the existing bind.
    wait_for_traffic(&smsc, &mut load);
    let bind = sessions(&smsc, &["third"]);
    admin.put("/v1/operators/third/rate", &json!({"rate": 1, "burst": 1}));
    until("what was granted before to be sent", || {
        let queue = admin.get("/v1/queues/operator:third");
        (queue["in_flight"].as_u64()? <= 1).then_some(())
    });
    // What the queue has given out: on a busy machine the operator writes its journal later.
    let granted = || {
        let name = "smsc_queue_granted_total{queue=\"operator:third\"}";
        admin.metric(name).expect("a queue that granted") as u64
    };
    let sent = until("what was granted before to be counted", || {
        let before = granted();
        within(Duration::from_millis(300), || None::<()>);
        let now = granted();
        (now <= before + 3).then_some(now)
    });
    let most = LOOK.as_secs() * 10;
    let faster = within(LOOK, || (granted() > sent + most).then_some(()));
    assert!(
        faster.is_none(),
        "more than {most} in {LOOK:?} at one a second"
    );
    assert_eq!(sessions(&smsc, &["third"]), bind, "the bind stays");

    // Roll back to the version with the new operator, before the route moved: version 6.
    let (status, rolled) = admin.post("/v1/config/rollback/2");
    assert_eq!((status, &rolled["version"]), (200, &json!(6)), "{rolled}");
    let at_first = first.journal().len();
    first.wait_for(at_first + BETWEEN);
    let mut again = Peer::connect(smsc.smpp());
    let back = again.bind_as(Body::BindTransmitter, "test", "test");
    assert_eq!(back, CommandStatus::ESME_ROK, "the old password again");
    again.unbind();

    // Other sessions have not been affected.
    load.assert_running();
    until("the binds of this test to go", || {
        (sessions(&smsc, &names).len() <= before.len()).then_some(())
    });
    assert_eq!(sessions(&smsc, &names), before);
    other.assert_alive();
    other.submit(submit("33612345678", "hello"));
    second.wait_for(1);

    load.signal("INT");
    within(LIMIT, || (!load.is_running()).then_some(()))
        .unwrap_or_else(|| panic!("receipts are missing after {LIMIT:?}"));
    assert!(load.wait().success(), "the load found losses");
    other.deliver();
    other.unbind();
    smsc.terminate();
    smsc.assert_no_panic();
    smsc.fsck();
    let sender = history::Sender::read(&smsc.file("load.journal"));
    let stored = history::Stored::embedded(&smsc);
    let journal: Vec<_> = operators.iter().flat_map(Simulator::journal).collect();
    let found = history::check(&stored, &sender, &journal);
    println!("{found:?}");
    assert!(found.acknowledged > 4 * BETWEEN, "{found:?}");
    assert_eq!(found.duplicates_by_us, 0, "{found:?}");
}

#[test]
fn every_node_follows_and_keeps_its_sessions() {
    let operators = [(); 2].map(|()| Simulator::new().start());
    let address = operators[0].address();
    let cluster = Cluster::of(3)
        .each(move |smsc| {
            smsc.account("a", "a")
                .account("b", "b")
                .account("c", "c")
                .operator_with("up", address, "binds = 3")
                .route("", "up")
        })
        .start();
    cluster.wait_until_held_by(0, &[0, 1, 2], "operator:up", 3);
    // One account each, because receipts go to the node where the account is bound.
    let names = ["a", "b", "c"];
    let mut peers: Vec<Peer> = cluster
        .nodes
        .iter()
        .zip(names)
        .map(|(node, name)| Peer::bind(node.smpp(), name, name))
        .collect();
    let own = |node: &Smsc| sessions(node, &["a", "b", "c", "up"]);
    let applied = |version: u64| {
        for node in &cluster.nodes {
            until("every node to apply it", || {
                let config = node.admin().get("/v1/config");
                (config["applied"] == version && config["version"] == version).then_some(())
            });
        }
    };
    applied(1);
    let before: Vec<_> = cluster
        .nodes
        .iter()
        .map(|node| {
            until("a bind of each side on each node", || {
                let own = own(node);
                (own.len() == 2).then_some(own)
            })
        })
        .collect();

    cluster.nodes[0]
        .admin()
        .put("/v1/operators/new", &operator_settings(&operators[1]));
    applied(2);
    cluster.nodes[1]
        .admin()
        .put("/v1/routes/44", &json!({"prefix": "44", "to": ["new"]}));
    applied(3);
    until("the new operator to be bound", || {
        let bound = cluster
            .nodes
            .iter()
            .any(|node| node.admin().get("/v1/operators/new")["bound"] == 1);
        bound.then_some(())
    });
    for peer in &mut peers {
        peer.submit(submit("447700900123", "hello"));
    }
    operators[1].wait_for(3);
    for peer in &mut peers {
        peer.deliver();
    }
    // Of simultaneous writers on three nodes, one after the other succeeds; nothing is lost.
    std::thread::scope(|scope| {
        for (number, node) in cluster.nodes.iter().enumerate() {
            scope.spawn(move || {
                for at in 0..3 {
                    let path = format!("/v1/accounts/new{number}{at}");
                    node.admin().put(&path, &json!({"password": "p"}));
                }
            });
        }
    });
    applied(12);
    let accounts = cluster.nodes[2].admin().get("/v1/accounts");
    assert_eq!(accounts["accounts"].as_array().unwrap().len(), 3 + 9);
    let (status, _) = cluster.nodes[2].admin().post("/v1/config/rollback/3");
    assert_eq!(status, 200);
    applied(13);
    for (node, before) in cluster.nodes.iter().zip(before) {
        assert_eq!(own(node), before, "the same sessions");
    }
    for peer in &mut peers {
        peer.assert_alive();
    }
    // A node that starts later uses the store's configuration, not its file's.
    for node in &cluster.nodes {
        assert!(!node.log().contains("panicked at"));
    }
}
