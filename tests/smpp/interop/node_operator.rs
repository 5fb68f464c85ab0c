//! npm's smpp as an operator: it accepts messages, sends receipts without TLVs and a mobile-originated
//! message. When it refuses bind_transceiver, the SMSC binds as a transmitter and a receiver instead.

use crate::harness::{Client, Peer, Smsc, free_port, node_script, submit};
use serde_json::Value;
use smsc::smpp::tag;

/// A Node operator on a free port, and its address.
fn operator(options: &[&str]) -> (Client, std::net::SocketAddr) {
    let port = free_port();
    let text = port.to_string();
    let arguments: Vec<&str> = [text.as_str()]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    let mut client = Client::start("node operator", node_script("node_operator.js", &arguments));
    client.wait_for("listening", |_| true);
    (client, ([127, 0, 0, 1], port).into())
}

fn smsc_bound_to(address: std::net::SocketAddr) -> Smsc {
    let smsc = Smsc::new()
        .account_with("test", "test", "addresses = [\"12345\"]")
        .operator("up", address)
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    smsc
}

/// Submits one message and gets its receipt and the mobile-originated message, in either order.
fn round_trip(smsc: &Smsc) {
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello operator"));
    let (first, second) = (esme.deliver(), esme.deliver());
    let (receipt, from_mobile) = match first.esm_class {
        0x04 => (first, second),
        _ => (second, first),
    };
    assert_eq!(receipt.esm_class, 0x04);
    assert_eq!(
        receipt
            .tlvs
            .get_c_string(tag::RECEIPTED_MESSAGE_ID)
            .unwrap(),
        id
    );
    assert_eq!(receipt.tlvs.get(tag::MESSAGE_STATE), Some(&[2][..]));
    assert_eq!(from_mobile.short_message, "from a mobile");
    assert_eq!(from_mobile.source_addr, "447700900123");
    assert_eq!(from_mobile.destination_addr, "12345");
    assert_eq!(from_mobile.tlvs.get(0x1501), Some(&b"network-7"[..]));
    assert_eq!(smsc.wait_for_final(&id)["state"], "DELIVERED");
    esme.unbind();
    smsc.assert_no_panic();
}

/// Both deliveries of the operator were answered with ESME_ROK.
fn assert_answered(operator: &mut Client) {
    let answers = |client: &Client| {
        let events = client.events();
        events
            .into_iter()
            .filter(|event| event["event"] == "answer")
            .collect::<Vec<Value>>()
    };
    crate::harness::until("two answers to the operator", || {
        (answers(operator).len() == 2).then_some(())
    });
    assert!(answers(operator).iter().all(|answer| answer["status"] == 0));
}

#[test]
fn node_smpp_takes_messages_and_sends_receipts_and_mo() {
    let (mut operator, address) = operator(&[]);
    let smsc = smsc_bound_to(address);
    let bind = operator.wait_for("bind", |_| true);
    assert_eq!(bind["kind"], "bind_transceiver");
    assert_eq!(bind["system_id"], "smsc");
    assert_eq!(bind["password"], "secret");
    assert_eq!(bind["version"], 0x34);
    round_trip(&smsc);
    assert_answered(&mut operator);
}

#[test]
fn a_refused_transceiver_becomes_a_transmitter_and_a_receiver() {
    let (mut operator, address) = operator(&["no-transceiver"]);
    let smsc = smsc_bound_to(address);
    operator.wait_for("bind", |bind| bind["kind"] == "bind_transmitter");
    operator.wait_for("bind", |bind| bind["kind"] == "bind_receiver");
    round_trip(&smsc);
    assert_answered(&mut operator);
}
