//! Wake-ups arrive, even after every connection was closed.

use std::sync::Arc;
use std::time::Duration;

use smsc::store::cluster::{ClusterStore, Hint, NodeCard};
use tokio::sync::Notify;

use super::database::{Database, Node};

/// Far more than a wake-up takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// No requested wake-up is pending after this long.
const QUIET: Duration = Duration::from_millis(300);

fn is_woken(woken: &Arc<Notify>, patience: Duration) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        tokio::time::timeout(patience, woken.notified())
            .await
            .is_ok()
    })
}

/// A hint may get lost while connections are made: repeats it until it arrives.
fn wakes(from: &Node, to: &Node) -> bool {
    Hint::ALL.into_iter().all(|hint| {
        (0..300).any(|_| {
            from.store.wake(&[to.me.node], hint);
            is_woken(&to.store.woken(hint), PATIENCE / 300)
        })
    })
}

/// Whether it gets every hint, because it may have missed some.
fn is_told_to_look(node: &Node) -> bool {
    Hint::ALL
        .map(|hint| node.store.woken(hint))
        .iter()
        .all(|woken| is_woken(woken, PATIENCE))
}

/// Two nodes that listen.
fn listening(database: &Database) -> [Node; 2] {
    let nodes = [database.node(), database.node()];
    for node in &nodes {
        assert!(is_told_to_look(node), "when it listens");
    }
    nodes
}

#[test]
fn nodes_wake_each_other() {
    let database = Database::new();
    let [one, two] = listening(&database);
    assert!(wakes(&one, &two));
    assert!(wakes(&two, &one));
    // Both listen and have sent: from now on nothing gets lost, and many requests are few wake-ups.
    for _ in 0..20 {
        (0..100).for_each(|_| {
            one.store
                .wake(&[two.me.node, one.me.node, 77], Hint::HandOff)
        });
        assert!(is_woken(&one.store.woken(Hint::HandOff), PATIENCE));
        assert!(is_woken(&two.store.woken(Hint::HandOff), PATIENCE));
    }
}

#[test]
fn a_hint_is_none_of_the_other_kind() {
    let database = Database::new();
    let [one, two] = listening(&database);
    assert!(wakes(&one, &two));
    for sent in Hint::ALL {
        let given = |hint: &Hint| is_woken(&two.store.woken(*hint), QUIET);
        // Second requests of `wakes` may still be pending.
        while Hint::ALL.iter().any(given) {}
        one.store.wake(&[two.me.node], sent);
        assert!(is_woken(&two.store.woken(sent), PATIENCE));
        let others: Vec<Hint> = Hint::ALL.into_iter().filter(given).collect();
        assert_eq!(others, [], "{sent:?}");
    }
}

#[test]
fn who_leaves_has_the_others_share_anew() {
    let database = Database::new();
    let [one, two] = listening(&database);
    one.store.leave().expect("left");
    assert!(is_woken(&two.store.woken(Hint::Shares), PATIENCE));
}

#[test]
fn a_node_whose_connections_were_cut_goes_on() {
    let database = Database::new();
    let [one, two] = listening(&database);
    for node in [&one, &two] {
        node.store.beat(NodeCard::default()).wait().expect("lives");
    }
    for _ in 0..3 {
        database.session().run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
        for node in [&one, &two] {
            let beat = node.store.beat(NodeCard::default()).wait();
            assert_eq!(beat.expect("lives").nodes.len(), 2);
            assert!(is_told_to_look(node), "it may have missed one");
        }
        assert!(wakes(&one, &two));
        assert!(wakes(&two, &one));
    }
}
