//! A peer may connect to any node.
//!
//! Three nodes: ESMEs submit on one that delivers nothing, the operator's only bind is on another
//! one that no ESME can reach, and the receipts and mobile-originated messages arrive on a third.

use crate::harness::{self, Cluster, FakeOperator, Peer, Simulator, submit, until};
use bytes::Bytes;
use smsc::smpp::{Body, CommandStatus, SubmitSm};

const MESSAGES: usize = 50;
const ENTRY: usize = 0;
const DELIVERY: usize = 1;
const EXIT: usize = 2;

/// Only the node [`DELIVERY`] connects to operators, and it has no other peers.
fn cluster(operator: std::net::SocketAddr) -> Cluster {
    Cluster::of(3)
        .roles(ENTRY, &["smpp", "http"])
        .roles(DELIVERY, &["delivery", "http", "janitor"])
        .roles(EXIT, &["smpp", "http"])
        .each(move |smsc| {
            smsc.account_with("test", "test", "addresses = [\"12345\"]")
                .operator("up", operator)
                .route("", "up")
        })
        .start()
}

fn bind(cluster: &Cluster, node: usize, kind: fn(smsc::smpp::BindRequest) -> Body) -> Peer {
    let mut peer = Peer::connect(cluster.nodes[node].smpp());
    let status = peer.bind_as(kind, "test", "test");
    assert_eq!(status, CommandStatus::ESME_ROK);
    peer
}

/// The message id in the text of a receipt.
fn id_of(receipt: &SubmitSm) -> String {
    let text = String::from_utf8(receipt.short_message.to_vec()).unwrap();
    let id = text.strip_prefix("id:").unwrap_or_else(|| panic!("{text}"));
    assert!(text.contains("stat:DELIVRD"), "{text}");
    id.split(' ').next().unwrap().to_owned()
}

#[test]
fn submitted_here_delivered_there_receipted_elsewhere() {
    let operator = Simulator::new().start();
    let cluster = cluster(operator.address());
    cluster.nodes[DELIVERY].wait_for_binds("up", 1);
    let mut receiver = bind(&cluster, EXIT, Body::BindReceiver);
    let mut transmitter = bind(&cluster, ENTRY, Body::BindTransmitter);

    let mut ids: Vec<String> = (0..MESSAGES)
        .map(|number| transmitter.submit(submit(&format!("4477009{number:05}"), "hello")))
        .collect();
    let mut told: Vec<String> = (0..MESSAGES).map(|_| id_of(&receiver.deliver())).collect();
    ids.sort();
    told.sort();
    assert_eq!(told, ids);
    assert_eq!(operator.wait_for(MESSAGES).len(), MESSAGES);
    assert_eq!(bound(&cluster, ENTRY) + bound(&cluster, EXIT), 0);

    // Every node can show every message.
    for node in &cluster.nodes {
        until("the final state to be seen", || {
            (node.message(&ids[0])?["state"] == "DELIVERED").then_some(())
        });
    }
    cluster.wait_until_idle(harness::PATIENCE);
}

/// The operator's binds on one node.
fn bound(cluster: &Cluster, node: usize) -> u64 {
    let operator = cluster.nodes[node]
        .admin()
        .get("/v1/operators/up?scope=node");
    operator["bound"].as_u64().unwrap()
}

#[test]
fn mobile_originated_messages_find_the_node_of_their_account() {
    let operator = FakeOperator::listen();
    let cluster = cluster(operator.address());
    let mut link = operator.accept_bind();
    let mut receiver = bind(&cluster, EXIT, Body::BindReceiver);
    for number in 0..MESSAGES {
        let text = format!("number {number}");
        let sequence = link.request(Body::DeliverSm(SubmitSm {
            source_addr: Bytes::from_static(b"447700900999"),
            destination_addr: Bytes::from_static(b"12345"),
            short_message: Bytes::from(text.clone()),
            ..SubmitSm::default()
        }));
        assert_eq!(link.answer_to(sequence).status, CommandStatus::ESME_ROK);
        let got = receiver.deliver();
        assert_eq!(got.short_message, text);
        assert_eq!(got.source_addr, "447700900999");
    }
    cluster.wait_until_idle(harness::PATIENCE);
}

#[test]
fn receipts_wait_until_their_account_binds_anywhere() {
    let operator = Simulator::new().start();
    let cluster = cluster(operator.address());
    cluster.nodes[DELIVERY].wait_for_binds("up", 1);
    let mut transmitter = bind(&cluster, ENTRY, Body::BindTransmitter);
    let id = transmitter.submit(submit("447700900123", "hello"));
    transmitter.unbind();
    until("the final state", || {
        let message = cluster.nodes[ENTRY].message(&id)?;
        (message["state"] == "DELIVERED").then_some(())
    });
    let mut receiver = bind(&cluster, EXIT, Body::BindReceiver);
    assert_eq!(id_of(&receiver.deliver()), id);
    cluster.wait_until_idle(harness::PATIENCE);
}
