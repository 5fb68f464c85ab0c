//! Wake-ups arrive, also after every connection was cut.

use std::sync::Arc;
use std::time::Duration;

use smsc::store::cluster::{ClusterStore, NodeCard};
use tokio::sync::Notify;

use crate::database::{Database, Node};

/// Far more than a wake-up takes.
const PATIENCE: Duration = Duration::from_secs(30);

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

/// A hint may get lost while connections are made: asks until it comes.
fn wakes(from: &Node, to: &Node) -> bool {
    let woken = to.store.woken();
    (0..300).any(|_| {
        from.store.wake(&[to.me.node]);
        is_woken(&woken, PATIENCE / 300)
    })
}

#[test]
fn nodes_wake_each_other() {
    let database = Database::new();
    let [one, two] = [database.node(), database.node()];
    for node in [&one, &two] {
        assert!(is_woken(&node.store.woken(), PATIENCE), "when it listens");
    }
    assert!(wakes(&one, &two));
    assert!(wakes(&two, &one));
    // Both listen and have sent: from here on nothing gets lost, and many wishes are few wake-ups.
    for _ in 0..20 {
        (0..100).for_each(|_| one.store.wake(&[two.me.node, one.me.node, 77]));
        assert!(is_woken(&one.store.woken(), PATIENCE));
        assert!(is_woken(&two.store.woken(), PATIENCE));
    }
}

#[test]
fn a_node_whose_connections_were_cut_goes_on() {
    let database = Database::new();
    let [one, two] = [database.node(), database.node()];
    for node in [&one, &two] {
        assert!(is_woken(&node.store.woken(), PATIENCE), "when it listens");
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
            assert!(
                is_woken(&node.store.woken(), PATIENCE),
                "it may have missed one"
            );
        }
        assert!(wakes(&one, &two));
        assert!(wakes(&two, &one));
    }
}
