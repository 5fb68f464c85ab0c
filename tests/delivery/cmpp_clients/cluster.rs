//! Three nodes: a client is logged in at one of them, its messages and reports go by the others.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use smsc::cmpp::Cmpp;

use crate::harness::carrier_client::{CarrierClient, NUMBER, free_listener, message, with_client};
use crate::harness::{Cluster, FakeOperator, Node, SmscBuilder, taken};

/// Where this node listens for CMPP.
fn listens_at(node: &Node) -> SocketAddr {
    let config = node.config();
    let (_, after) = config.split_once("[[listener]]").unwrap();
    let address = after.split('"').nth(1).unwrap();
    address.parse().unwrap()
}

#[test]
fn reports_reach_the_client_wherever_it_is_logged_in() {
    let operator = FakeOperator::listen();
    let upstream = operator.address();
    let each = move |node: SmscBuilder| {
        with_client(node, free_listener(), "window = 16")
            .operator("up", upstream)
            .route("", "up")
    };
    let mut cluster = Cluster::of(3)
        .short_lease()
        .roles(0, &["smpp", "http"])
        .roles(1, &["smpp", "http"])
        .roles(2, &["delivery", "http", "janitor"])
        .each(each)
        .start();
    let mut bind = operator.accept_bind();
    let mut client = CarrierClient::log_in(listens_at(&cluster.nodes[0]), Cmpp::V30);
    let mut msg_ids = BTreeSet::new();
    for number in 0..20 {
        let to = format!("86138001380{number:02}");
        msg_ids.insert(client.submit(message(&[&to], 0, b"hello")));
        taken(&mut bind, &format!("id{number}"));
    }
    let mut reported = BTreeSet::new();
    for number in 0..20 {
        // The node of the client dies in the middle, and the client goes to another.
        if number == 10 {
            cluster.nodes[0].kill();
            client = CarrierClient::log_in(listens_at(&cluster.nodes[1]), Cmpp::V20);
        }
        let text = format!("id:id{number} stat:DELIVRD err:000");
        let receipt = smsc::smpp::SubmitSm {
            esm_class: 0x04,
            short_message: text.into(),
            ..crate::harness::submit("10655", "")
        };
        crate::harness::send_receipt(&mut bind, receipt);
        if number < 10 {
            reported.insert(client.report().msg_id);
        }
    }
    // Some may come twice: the node that died had not told that they were taken.
    while reported != msg_ids {
        let report = client.report();
        assert!(msg_ids.contains(&report.msg_id), "{report:?}");
        reported.insert(report.msg_id);
    }
    // What was accepted by a node that is gone is cancelled, or not, by its Msg_Id on any.
    assert_eq!(client.cancel(*msg_ids.first().unwrap()), 1, "it has ended");
    let msg_id = client.submit(message(&[NUMBER], 0, b"by the other node"));
    assert!(!msg_ids.contains(&msg_id));
}
