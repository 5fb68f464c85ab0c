//! The binds of an account are counted over all nodes, also those that came while the database was silent.

use std::thread;

use crate::harness::{Cluster, Peer, until};
use smsc::smpp::CommandStatus;
use smsc::smpp::pdu::Body;

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
    until("one bind to be counted", || {
        (cluster.postgres.rows(counted).len() == 1).then_some(())
    });
    let _other = Peer::bind(elsewhere, "test", "test");
    let mut refused = Peer::connect(elsewhere);
    let answer = refused.bind_as(Body::BindTransceiver, "test", "test");
    assert_eq!(answer, CommandStatus::ESME_RALYBND);
    assert_eq!(cluster.postgres.rows(counted).len(), 2);
}
