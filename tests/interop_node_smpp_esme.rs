//! npm's smpp on both sides: as an ESME that binds with interface_version 5.0, and as the operator
//! that sees what became of its fields and TLVs, a vendor's included.

mod harness;

use harness::{Client, Smsc, free_port, node_script};

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
