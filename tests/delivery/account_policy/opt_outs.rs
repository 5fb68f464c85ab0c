//! Numbers that want no messages: set by keywords, REST and commands, on every node.

use std::net::SocketAddr;

use bytes::Bytes;
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus, SubmitSm};

use super::{OK, octets, refused, sent};
use crate::harness::{Admin, Cluster, FakeOperator, Peer, Smsc, SmscBuilder, until};

/// An SMSC whose account `shop` has the address 4455, and an account without an address.
fn with_opt_outs(smsc: SmscBuilder, operator: SocketAddr) -> SmscBuilder {
    smsc.account_with("shop", "shop", "addresses = [\"4455\"]")
        .account("bank", "bank")
        .operator("up", operator)
        .toml(
            r#"[policy]
               opt_out_keywords = ["STOP", "стоп"]
               opt_in_keywords = ["START"]
               opt_out_status = "ESME_RX_P_APPN""#,
        )
        .route("", "test:delivered")
}

const OUT: CommandStatus = CommandStatus::ESME_RX_P_APPN;
const NUMBER: &str = "447700900001";

/// A subscriber's text to the account, as the operator sends it; it is always delivered.
fn says(operator: &mut Peer, shop: &mut Peer, data_coding: u8, text: &[u8]) {
    let mobile_originated = SubmitSm {
        source_addr: octets(NUMBER),
        destination_addr: octets("4455"),
        data_coding,
        short_message: Bytes::copy_from_slice(text),
        ..SubmitSm::default()
    };
    let sequence = operator.request(Body::DeliverSm(mobile_originated));
    assert_eq!(operator.answer_to(sequence).status, OK);
    assert_eq!(shop.deliver().short_message, text);
}

fn opt_outs(admin: &Admin, query: &str) -> Vec<(String, Value)> {
    let page = admin.get(&format!("/v1/opt-outs{query}"));
    let rows = page["opt_outs"].as_array().unwrap().iter();
    rows.map(|row| {
        (
            row["number"].as_str().unwrap().to_owned(),
            row["account"].clone(),
        )
    })
    .collect()
}

#[test]
fn subscribers_say_that_they_want_no_more() {
    let listener = FakeOperator::listen();
    let mut smsc = with_opt_outs(Smsc::new(), listener.address()).start();
    let mut operator = listener.accept_bind();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let mut bank = Peer::bind(smsc.smpp(), "bank", "bank");
    says(&mut operator, &mut shop, 0, b"please stop");
    assert_eq!(sent(&mut shop, "4455", NUMBER), OK);
    says(&mut operator, &mut shop, 0, b" Stop ");
    assert_eq!(sent(&mut shop, "4455", NUMBER), OUT);
    assert_eq!(sent(&mut shop, "4455", &format!("+{NUMBER}")), OUT);
    // No character leads past the list.
    for formatted in ["+44 7700-900001", "447700900001 ", "(44)7700/900.001"] {
        assert_eq!(sent(&mut shop, "4455", formatted), OUT, "{formatted:?}");
    }
    for odd in ["f", "#", "*", "\r"] {
        let status = sent(&mut shop, "4455", &format!("{NUMBER}{odd}"));
        assert_eq!(status, CommandStatus::ESME_RINVDSTADR, "{odd:?}");
    }
    assert_eq!(
        sent(&mut bank, "4455", NUMBER),
        OK,
        "the list is one account's"
    );
    assert_eq!(refused(&smsc, "shop", "opted_out"), 5.0);
    // What the account has taken would come again if that were not durable.
    let brought = smsc.admin().get("/v1/messages?account=operator:up");
    for one in brought["messages"].as_array().unwrap() {
        smsc.wait_for_final(one["id"].as_str().unwrap());
    }
    // It is durable, and loaded before any session can submit.
    smsc.kill();
    smsc.start_again();
    let mut operator = listener.accept_bind();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    assert_eq!(sent(&mut shop, "4455", NUMBER), OUT);
    let admin = smsc.admin();
    assert_eq!(admin.metric("smsc_opt_outs"), Some(1.0));
    let entry = admin.get("/v1/opt-outs")["opt_outs"][0].clone();
    assert_eq!(entry["by"], "opt-out keyword by operator:up", "{entry}");
    says(&mut operator, &mut shop, 0, b"start");
    assert_eq!(sent(&mut shop, "4455", NUMBER), OK);
    assert_eq!(opt_outs(&admin, ""), []);
    // UCS-2, another script.
    let stop: Vec<u8> = "СТОП".encode_utf16().flat_map(u16::to_be_bytes).collect();
    says(&mut operator, &mut shop, 8, &stop);
    assert_eq!(sent(&mut shop, "4455", NUMBER), OUT);
}

#[test]
fn opt_out_lists_are_seen_and_changed_by_the_api_and_by_commands() {
    let smsc = with_opt_outs(Smsc::new(), ([127, 0, 0, 1], 9).into()).start();
    let admin = smsc.admin();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let mut bank = Peer::bind(smsc.smpp(), "bank", "bank");
    let put = |path: &str| admin.call("PUT", &format!("/v1/opt-outs/{path}"), None);
    assert_eq!(
        put("447700900001?account=shop"),
        (200, json!({ "changed": true }))
    );
    assert_eq!(
        put("+447700900001?account=shop"),
        (200, json!({ "changed": false }))
    );
    assert_eq!(put("447700900002"), (200, json!({ "changed": true })));
    assert_eq!(sent(&mut shop, "x", "447700900001"), OUT);
    assert_eq!(sent(&mut bank, "x", "447700900001"), OK);
    assert_eq!(sent(&mut shop, "x", "447700900002"), OUT);
    assert_eq!(sent(&mut bank, "x", "447700900002"), OUT);
    assert_eq!(put("447700900003?account=nobody").0, 404);
    assert_eq!(put("ACME").0, 400);
    let (first, second) = (
        ("447700900001".to_owned(), json!("shop")),
        ("447700900002".to_owned(), Value::Null),
    );
    assert_eq!(opt_outs(&admin, ""), [second.clone(), first.clone()]);
    assert_eq!(
        opt_outs(&admin, "?account=shop"),
        std::slice::from_ref(&first)
    );
    assert_eq!(
        opt_outs(&admin, "?number=%2B447700900002"),
        std::slice::from_ref(&second)
    );
    let page = admin.get("/v1/opt-outs?limit=1");
    let before = page["next_before"].as_str().unwrap();
    assert_eq!(
        opt_outs(&admin, &format!("?limit=1&before={before}")),
        [first]
    );
    // Everyone may read the lists, not everyone may change them, and the audit log contains no number.
    let reader = admin.with_role("read", "reader");
    assert_eq!(opt_outs(&reader, "").len(), 2);
    assert_eq!(
        reader.call("DELETE", "/v1/opt-outs/447700900002", None).0,
        403
    );
    let audit = admin.get("/v1/audit?path=/v1/opt-outs").to_string();
    assert!(
        audit.contains("4477*****001") && !audit.contains("447700900001"),
        "{audit}"
    );

    let command = |arguments: &[&str]| {
        let url = format!("http://{}", smsc.http());
        let login = ["--url", &url, "--token", admin.token()];
        let done = smsc.run(&[&["opt-out"], arguments, &login].concat());
        assert!(done.success, "{arguments:?}: {}", done.stderr);
        done.stdout
    };
    let list = command(&["list"]);
    assert!(
        list.contains("447700900001") && list.contains("(all)"),
        "{list}"
    );
    command(&[
        "remove",
        "447700900001",
        "+447700900009",
        "--account",
        "shop",
    ]);
    command(&["remove", "447700900002"]);
    assert_eq!(
        command(&["add", "33123", "--account", "bank"]),
        "33123: done\n"
    );
    assert_eq!(
        command(&["add", "33123", "--account", "bank"]),
        "33123: was so already\n"
    );
    assert_eq!(sent(&mut shop, "x", "447700900001"), OK);
    assert_eq!(sent(&mut bank, "x", "447700900002"), OK);
    assert_eq!(sent(&mut bank, "x", "33123"), OUT);
}

#[test]
fn an_opt_out_reaches_every_node() {
    let listener = FakeOperator::listen();
    let address = listener.address();
    let cluster = Cluster::of(2)
        .each(move |smsc| with_opt_outs(smsc, address))
        .start();
    let [one, other] = &cluster.nodes[..] else {
        panic!("two nodes")
    };
    let mut operator = listener.accept_bind();
    let mut shop = Peer::bind(one.smpp(), "shop", "shop");
    let mut elsewhere = Peer::bind(other.smpp(), "shop", "shop");
    assert_eq!(sent(&mut elsewhere, "4455", NUMBER), OK);
    let mobile_originated = SubmitSm {
        source_addr: octets(NUMBER),
        destination_addr: octets("4455"),
        short_message: octets("STOP"),
        ..SubmitSm::default()
    };
    let sequence = operator.request(Body::DeliverSm(mobile_originated));
    assert_eq!(operator.answer_to(sequence).status, OK);
    for peer in [&mut shop, &mut elsewhere] {
        until("the opt-out", || {
            (sent(peer, "4455", NUMBER) == OUT).then_some(())
        });
    }
    let (status, done) = other.admin().call(
        "DELETE",
        &format!("/v1/opt-outs/{NUMBER}?account=shop"),
        None,
    );
    assert_eq!((status, done), (200, json!({ "changed": true })));
    assert_eq!(
        sent(&mut elsewhere, "4455", NUMBER),
        OK,
        "at once where it was ordered"
    );
    until("the opt-in", || {
        (sent(&mut shop, "4455", NUMBER) == OK).then_some(())
    });
    for admin in [one.admin(), other.admin()] {
        assert_eq!(opt_outs(&admin, ""), []);
    }
}
