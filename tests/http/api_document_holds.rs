//! The OpenAPI document of the HTTP API for accounts agrees with the running server: generated requests find
//! no server error, and no answer that it does not describe.

use super::delivering;
use crate::harness::{Simulator, Smsc, run, schemathesis};
use serde_json::json;

/// The same requests every time.
const SEED: &str = "20261124";
/// Most requests generated for each operation.
const EXAMPLES: &str = "40";
/// Time limit for all of them, in seconds.
const TIME: &str = "45";

#[test]
fn made_up_requests_find_nothing_outside_the_document() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new()
        .with_api()
        .relaying_to(operator.address())
        .start();
    let api = smsc.api_of("test", "both");
    for number in 0..5 {
        let order =
            json!({ "to": format!("44770090000{number}"), "from": "ACME", "text": "hello" });
        assert_eq!(api.call("POST", "/v1/messages", Some(&order)).0, 202);
    }
    let finished = run(schemathesis(&api, SEED, EXAMPLES, TIME).current_dir(smsc.data_dir()));
    assert!(finished.success, "{}{}", finished.stdout, finished.stderr);
    smsc.assert_no_panic();
}

#[test]
fn a_node_that_is_about_to_stop_takes_nothing_new() {
    let smsc = delivering();
    let api = smsc.api_of("test", "both");
    assert_eq!(smsc.admin().call("POST", "/v1/drain", None).0, 200);
    let order = json!({ "to": "447700900123", "from": "ACME", "text": "hello" });
    let (status, said) = api.call("POST", "/v1/messages", Some(&order));
    assert_eq!(status, 503, "{said}");
    assert_eq!(api.call("GET", "/v1/messages", None).0, 200);
    assert_eq!(smsc.admin().call("DELETE", "/v1/drain", None).0, 200);
    assert_eq!(api.call("POST", "/v1/messages", Some(&order)).0, 202);
}
