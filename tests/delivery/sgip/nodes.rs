//! Of three nodes, the gateway may bring what it has to any.

use std::sync::{Arc, Mutex};

use super::*;
use crate::harness::Cluster;

#[test]
fn reports_and_messages_of_handsets_are_taken_at_any_node() {
    let gateway = FakeGateway::listen(SGIP);
    let address = gateway.address();
    let ports = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&ports);
    let cluster = Cluster::of(3)
        .each(move |node| {
            let listens = local(free_port());
            taken.lock().unwrap().push(listens);
            node.toml(&format!("[sgip]\nlisten = [\"{listens}\"]\n"))
                .account_with("test", "test", "addresses = [\"10655\"]")
                .route("", "up")
                .operator_with("up", address, &keys("", ""))
        })
        .start();
    let mut line = gateway.accept();
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let listens = ports.lock().unwrap().clone();
    for (at, listens) in listens.into_iter().enumerate() {
        let mut brings = Line::enter(listens);
        let id = esme.submit(submit(NUMBER, &format!("message {at}")));
        let (sequence, _) = line.take();
        brings.report(sequence, NUMBER, 0, 0);
        assert_eq!(brings.taken(), 0);
        assert_eq!(stat_of(&esme.deliver()), (id, 2));
        brings.deliver(NUMBER, "10655", 0, b"from a handset");
        assert_eq!(brings.taken(), 0);
        assert_eq!(esme.deliver().short_message, "from a handset");
    }
    cluster.nodes.iter().for_each(|node| node.assert_no_panic());
}
