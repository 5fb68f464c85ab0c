//! The binds of an account are counted over all nodes, also those that came while the database was silent.

use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Cluster, Peer, until};

#[test]
fn binds_that_came_while_the_database_was_silent_are_counted_when_it_is_back() {
    let cluster = Cluster::of(2)
        .each(|smsc| smsc.account_with("test", "test", "max_binds = 2"))
        .start();
    let [here, elsewhere] = [0, 1].map(|node: usize| cluster.nodes[node].smpp());
    cluster.postgres.freeze();
    let [gone, _kept] = [0, 1]
        .map(|_| thread::spawn(move || Peer::bind(here, "test", "test")))
        .map(|bind| bind.join().unwrap());
    // Nobody waits for its permit any more.
    gone.unbind();
    cluster.postgres.thaw();
    let counted = "SELECT 1 FROM lease JOIN node USING(node, epoch) WHERE kind = 4";
    // On the way there it is one for a moment, too: of the bind that is gone, before the other one has its permit.
    let mut since = None;
    until("one bind to be counted, for a second", || {
        let is_one = cluster.postgres.rows(counted).len() == 1;
        since = is_one.then(|| since.unwrap_or_else(Instant::now));
        since.filter(|since| since.elapsed() >= Duration::from_secs(1))
    });
    let _other = Peer::bind(elsewhere, "test", "test");
    let two_are_counted = || cluster.postgres.rows(counted).len() == 2;
    until("both to be counted", || two_are_counted().then_some(()));
    cluster.nodes[1].wait_until_one_more_bind_is_refused();
    assert!(two_are_counted());
}
