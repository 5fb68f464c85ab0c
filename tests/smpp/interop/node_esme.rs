//! npm's smpp on both sides: as an ESME that binds with interface_version 5.0, and as the operator,
//! which reports the fields and TLVs that it got, including a vendor's.

use crate::harness::{Client, FakeOperator, Simulator, Smsc, free_port, node_script};
use smsc::smpp::{AlertNotification, Body, CommandStatus, SubmitSm};

#[test]
fn tlvs_of_an_esme_reach_the_operator_unchanged() {
    let port = free_port();
    let mut operator = Client::start(
        "node operator",
        node_script("node_operator.js", &[&port.to_string()]),
    );
    operator.wait_for("listening", |_| true);
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("up", ([127, 0, 0, 1], port).into())
        .route("", "up")
        .start();

    let (host, port) = (smsc.smpp().ip().to_string(), smsc.smpp().port().to_string());
    let seen = Client::run(node_script("node_esme.js", &[&host, &port, "test", "test"]));

    assert_eq!(seen["bind"]["status"], 0);
    assert_eq!(seen["bind"]["system_id"], "smsc");
    let version = seen["bind"]["version"]
        .as_u64()
        .expect("sc_interface_version");
    assert!([0x34, 0x50].contains(&version), "{version:#x}");
    assert_eq!(seen["submit"]["status"], 0);
    assert_eq!(seen["unbind"], 0);

    let arrived = operator.wait_for("message", |_| true);
    assert_eq!(arrived["text"], "hello node");
    assert_eq!(arrived["source"], "12345");
    assert_eq!(arrived["destination"], "447700900123");
    assert_eq!(arrived["user_message_reference"], 77);
    assert_eq!(arrived["source_port"], 1234);
    assert_eq!(arrived["vendor_reference"], "customer-42");

    let receipt = &seen["receipts"][0];
    assert_eq!(receipt["esm_class"], 4);
    assert_eq!(receipt["receipted_message_id"], seen["submit"]["id"]);
    assert_eq!(receipt["message_state"], 2);
    assert_eq!(receipt["user_message_reference"], 77);
    let text = receipt["text"].as_str().unwrap();
    assert!(text.contains("stat:DELIVRD"), "{text}");
    smsc.assert_no_panic();
}

#[test]
fn an_esme_asks_orders_and_submits_to_many() {
    let smsc = Smsc::new()
        .account_with("test", "test", "lists = { team = [\"447700900002\"] }")
        .operator("up", Simulator::new().address())
        .route("", "up")
        .start();
    let (host, port) = (smsc.smpp().ip().to_string(), smsc.smpp().port().to_string());
    let arguments = [&host, &port, "test", "test"];
    let seen = Client::run(node_script("node_operations.js", &arguments));

    let answered = |what: &str, command: &str, status: CommandStatus| {
        assert_eq!(seen[what]["command"], command, "{what}: {seen}");
        assert_eq!(seen[what]["status"], status.0, "{what}: {seen}");
    };
    let ok = CommandStatus::ESME_ROK;
    for (what, command) in [
        ("bind", "bind_transceiver_resp"),
        ("submit", "submit_sm_resp"),
        ("query", "query_sm_resp"),
        ("replace", "replace_sm_resp"),
        ("again", "submit_sm_resp"),
        ("cancel", "cancel_sm_resp"),
        ("cancelled", "query_sm_resp"),
        ("multi", "submit_multi_resp"),
        ("data", "data_sm_resp"),
        ("all", "cancel_sm_resp"),
        ("unbind", "unbind_resp"),
    ] {
        answered(what, command, ok);
    }
    assert_eq!(seen["query"]["state"], 1);
    assert_eq!(seen["again"]["id"], seen["submit"]["id"]);
    assert_eq!(seen["cancelled"]["state"], 4);
    assert_eq!(seen["multi"]["failures"].as_array().unwrap().len(), 1);
    answered("twice", "cancel_sm_resp", CommandStatus::ESME_RCANCELFAIL);
    answered("unknown", "query_sm_resp", CommandStatus::ESME_RINVMSGID);
    let refused = [
        (
            "broadcast",
            "broadcast_sm_resp",
            CommandStatus::ESME_RBCASTFAIL,
        ),
        (
            "query_broadcast",
            "query_broadcast_sm_resp",
            CommandStatus::ESME_RBCASTQUERYFAIL,
        ),
        (
            "cancel_broadcast",
            "cancel_broadcast_sm_resp",
            CommandStatus::ESME_RBCASTCANCELFAIL,
        ),
    ];
    for (what, command, status) in refused {
        answered(what, command, status);
    }
    smsc.assert_no_panic();
}

#[test]
fn an_esme_is_called_alerted_and_told_what_is_unknown() {
    let port = free_port();
    let arguments = [port.to_string()];
    let mut called = Client::start(
        "node called",
        node_script("node_called.js", &[&arguments[0], "test", "test"]),
    );
    called.wait_for("listening", |_| true);
    let operator = FakeOperator::listen();
    let keys = format!(
        "addresses = [\"12345\"]\noutbind = \"127.0.0.1:{port}\"\noutbind_password = \"knock\""
    );
    let smsc = Smsc::new()
        .account_with("test", "test", &keys)
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let mut link = operator.accept_bind();
    // A message waits for the account, which has no receiver.
    link.request(Body::DeliverSm(SubmitSm {
        source_addr: "447700900123".into(),
        destination_addr: "12345".into(),
        short_message: "are you there?".into(),
        ..SubmitSm::default()
    }));
    let outbind = called.wait_for("outbind", |_| true);
    assert_eq!(outbind["system_id"], "smsc");
    assert_eq!(outbind["password"], "knock");
    assert_eq!(called.wait_for("bound", |_| true)["status"], 0);
    let delivered = called.wait_for("delivered", |_| true);
    assert_eq!(delivered["text"], "are you there?");

    link.request(Body::AlertNotification(AlertNotification {
        source_addr: "447700900123".into(),
        esme_addr: "12345".into(),
        ..AlertNotification::default()
    }));
    let alert = called.wait_for("alert", |_| true);
    assert_eq!(alert["source"], "447700900123");
    assert_eq!(alert["esme"], "12345");
    assert_eq!(called.wait_for("alive", |_| true)["status"], 0);
    let nack = called.wait_for("nack", |_| true);
    assert_eq!(nack["status"], CommandStatus::ESME_RINVCMDID.0);
    assert_eq!(nack["sequence"], 4711);
    assert!(called.process().wait().success());
    let unbound = called
        .events()
        .into_iter()
        .find(|event| event["event"] == "unbound");
    assert_eq!(unbound.expect("unbound")["status"], 0);
    smsc.assert_no_panic();
}
