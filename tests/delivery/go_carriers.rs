//! Go's implementations of CMPP and SGIP (gocmpp, go_cmpp, go_sgip) as clients and as gateways, as a script plays them octet by
//! octet from their sources: the machines that the tests run on have no Go.

use std::net::SocketAddr;

use serde_json::Value;

use crate::harness::carrier_client::{
    NUMBER, SECRET, SHORT_CODE, SOURCE, free_listener, with_client,
};
use crate::harness::gateway::sgip::NODE;
use crate::harness::{
    Client, FakeOperator, Peer, Smsc, SmscBuilder, python_script, receipt, send_receipt,
    submit_ucs2, taken, ucs2,
};
use smsc::smpp::SubmitSm;

const OTHER: &str = "8613800138001";
/// Tests of the connection come soon.
const TESTED: &str = "enquire_link_interval = \"1s\"\nenquire_link_timeout = \"5s\"";

fn start(part: &str, arguments: &[&str]) -> Client {
    let arguments = [&[part], arguments].concat();
    Client::start(part, python_script("go_carriers.py", &arguments))
}

fn any(_: &Value) -> bool {
    true
}

#[test]
fn clients_of_gocmpp_submit_and_hear_what_became_of_it() {
    let address = free_listener();
    let smsc = with_client(Smsc::new(), address, "")
        .smpp(TESTED)
        .route("", "test:delivered")
        .start();
    let port = address.port().to_string();
    for version in ["20", "21", "30"] {
        let mut client = start("gocmpp", &[&port, SOURCE, SECRET, version, NUMBER]);
        client.wait_for("done", any);
        let said = |name: &str| {
            let all = client.events().into_iter();
            let mut all = all.filter(|event| event["event"] == name);
            all.next().unwrap_or_else(|| panic!("{version}: no {name}"))
        };
        let (submitted, report) = (said("submitted"), said("report"));
        assert_eq!(submitted["result"], 0, "{version}: {submitted}");
        assert_eq!(report["msg_id"], submitted["msg_id"], "{version}: {report}");
        assert_eq!(report["stat"], "DELIVRD", "{version}");
        assert_eq!(report["to"], NUMBER, "{version}");
        assert_ne!(said("stale")["result"], 0, "{version}");
    }
    smsc.assert_no_panic();
}

#[test]
fn a_transmitter_of_go_cmpp_is_parted_and_its_receiver_has_the_reports() {
    let (operator, address) = (FakeOperator::listen(), free_listener());
    let smsc = with_client(Smsc::new(), address, "")
        .smpp(TESTED)
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let mut bind = operator.accept_bind();
    smsc.wait_for_binds("up", 1);
    let port = address.port().to_string();
    let mut receiver = start("receiver", &[&port, SOURCE, SECRET, "2"]);
    receiver.wait_for("login", any);
    let to = format!("{NUMBER},{OTHER}");
    let mut transmitter = start("transmitter", &[&port, SOURCE, SECRET, SHORT_CODE, &to]);
    for theirs in ["one", "two"] {
        let sent = taken(&mut bind, theirs);
        assert_eq!(
            (sent.data_coding, sent.short_message),
            (8, ucs2("你好, go_cmpp"))
        );
    }
    let done = transmitter.wait_for("done", any);
    assert_eq!(
        (&done["result"], &done["parted"]),
        (&0.into(), &true.into()),
        "{done}"
    );
    for theirs in ["one", "two"] {
        let said = receipt(&format!("id:{theirs} stat:DELIVRD err:000"));
        assert!(send_receipt(&mut bind, said).is_ok());
    }
    receiver.wait_for("done", any);
    for number in [NUMBER, OTHER] {
        let report = receiver.wait_for("report", |event| event["to"] == number);
        assert_eq!(report["msg_id"], done["msg_id"], "{report}");
    }
    smsc.assert_no_panic();
}

/// An SMSC whose operator is the gateway of this part, with an ESME.
fn with_gateway(builder: SmscBuilder, part: &str, keys: &str) -> (Client, Smsc, Peer) {
    let mut gateway = start(part, &[]);
    let port = gateway.wait_for("listens", any)["port"].as_u64().unwrap() as u16;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let login = format!("system_id = {SOURCE:?}\npassword = {SECRET:?}\nwindow = 16");
    let smsc = builder
        .account_with("test", "test", &format!("addresses = [{SHORT_CODE:?}]"))
        .route("", "up")
        .operator_with("up", address, &format!("{login}\n{keys}"))
        .start();
    smsc.wait_for_binds("up", 1);
    let esme = Peer::bind(smsc.smpp(), "test", "test");
    (gateway, smsc, esme)
}

fn gateways_of_cmpp(part: &str, version: &str) {
    let keys =
        format!("{TESTED}\nprotocol = \"cmpp\"\ncarrier = {{ version = {version:?}, gbk = true }}");
    let (mut gateway, mut smsc, mut esme) = with_gateway(Smsc::new(), part, &keys);
    for text in ["plain", "你好, gateway"] {
        let id = esme.submit(SubmitSm {
            registered_delivery: 0,
            ..submit_ucs2(NUMBER, text)
        });
        let sent = gateway.wait_for("message", |event| event["text"] == text);
        assert_eq!(sent["to"], NUMBER, "{sent}");
        // Nobody asked for a receipt.
        assert_eq!(smsc.final_state(&id), "ACCEPTED");
    }
    // Tested more than once, on one connection.
    gateway.wait_for("test", |event| event["count"] == 3);
    let logins = gateway.events().into_iter();
    let logins = logins.filter(|event| event["event"] == "login").count();
    assert_eq!(logins, 1);
    assert!(smsc.terminate().success());
    gateway.wait_for("goodbye", any);
}

#[test]
fn a_gateway_of_gocmpp_gets_messages_and_is_parted_from() {
    gateways_of_cmpp("gocmpp-server", "3.0");
}

#[test]
fn a_gateway_of_go_cmpp_gets_messages_although_it_answers_a_test_with_a_test() {
    gateways_of_cmpp("go_cmpp-server", "2.0");
}

#[test]
fn a_gateway_of_go_sgip_gets_messages_and_brings_reports_and_texts() {
    let listens = free_listener();
    let builder = Smsc::new().toml(&format!("[sgip]\nlisten = [\"{listens}\"]"));
    let keys = format!("protocol = \"sgip\"\ncarrier = {{ node = {NODE}, gbk = true }}");
    let (mut gateway, smsc, mut esme) = with_gateway(builder, "smg-server", &keys);
    let id = esme.submit(submit_ucs2(NUMBER, "你好, gateway"));
    let sent = gateway.wait_for("message", any);
    assert_eq!((&sent["to"], &sent["coding"]), (&NUMBER.into(), &15.into()));
    assert_eq!(sent["text"], "你好, gateway");
    let sequence = sent["sequence"].as_array().unwrap().iter();
    let sequence: Vec<String> = sequence.map(Value::to_string).collect();
    let listens = listens.port().to_string();
    let mut arguments = vec![listens.as_str(), SOURCE, SECRET, NUMBER, SHORT_CODE];
    arguments.extend(sequence.iter().map(String::as_str));
    let mut brings = start("smg-client", &arguments);
    let done = brings.wait_for("done", any);
    for what in ["bound", "brought", "reported"] {
        assert_eq!(done[what], 0, "{done}");
    }
    assert_eq!(smsc.final_state(&id), "DELIVERED");
    let came = [esme.deliver(), esme.deliver()];
    let text = came.iter().find(|one| one.esm_class & 0x3C == 0).unwrap();
    assert_eq!(
        (text.data_coding, &text.short_message),
        (8, &ucs2("你好, go_sgip"))
    );
    smsc.assert_no_panic();
}
