//! A client that nobody here wrote (PyPI's cmppy, CMPP 3.0), and a dissector that nobody here wrote.

use smsc::cmpp::{Body, Cmpp};

use super::Scene;
use crate::harness::carrier_client::{
    CarrierClient, NUMBER, SECRET, SOURCE, free_listener, message, with_client,
};
use crate::harness::{Client, Proxy, Smsc, dissected, python_script, taken, ucs2};

#[test]
fn cmppy_submits() {
    let mut scene = Scene::new(Cmpp::V30, "");
    let port = scene.address.port().to_string();
    let seen = Client::run(python_script(
        "cmppy_client.py",
        &[&port, SOURCE, SECRET, NUMBER],
    ));
    assert_eq!(seen["result"], 0, "{seen}");
    let sent = taken(&mut scene.bind, "one");
    assert_eq!(
        (sent.data_coding, sent.short_message),
        (8, ucs2("你好, cmppy"))
    );
    assert_eq!(sent.destination_addr, NUMBER);
    // Its report comes on the connection of another client of the account.
    scene.report("one", "stat:DELIVRD err:000");
    let report = scene.client.report();
    assert_eq!(report.msg_id.to_string(), seen["msg_id"].as_str().unwrap());
    assert_eq!(seen["authentic"], true, "{seen}");
    assert_eq!(seen["wrong"], 3, "{seen}");
    scene.smsc.assert_no_panic();
}

#[test]
fn tshark_finds_nothing_malformed() {
    for version in [Cmpp::V20, Cmpp::V30] {
        let address = free_listener();
        let smsc = with_client(Smsc::new(), address, "")
            .route("", "test:delivered")
            .start();
        let proxy = Proxy::to(address);
        let mut client = CarrierClient::log_in(proxy.address(), version);
        client.submit(message(&[NUMBER], 0, b"read by tshark"));
        client.report();
        client.submit(message(&[NUMBER, "8613800138001"], 8, &ucs2("你好")));
        client.report();
        client.report();
        client.cancel(1);
        client.request(Body::ActiveTest(Default::default()));
        client.line.expect("the response", |body| {
            matches!(body, Body::ActiveTestResp(_))
        });
        client.request(Body::Terminate(Default::default()));
        client.line.until_closed();
        let read = |arguments: &[&str]| dissected(&proxy, "cmpp", arguments);
        // Its dissector has only the widths of fields in 3.0; of 2.0 it knows the headers.
        if version == Cmpp::V30 {
            let complaints = "_ws.malformed || _ws.expert.severity >= warning";
            assert_eq!(read(&["-Y", complaints]), "");
        }
        let commands = read(&["-T", "fields", "-e", "cmpp.Command_Id"]);
        for command in [
            "0x80000001",
            "0x80000004",
            "0x00000005",
            "0x80000002",
            "0x80000008",
        ] {
            assert!(commands.contains(command), "{command} in {commands}");
        }
        smsc.assert_no_panic();
    }
}
