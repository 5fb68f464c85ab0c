//! The OpenAPI document of the HTTP API for accounts agrees with the running server: generated requests find
//! no server error, and no answer that it does not describe.

use std::collections::BTreeSet;

use super::delivering;
use crate::harness::{Simulator, Smsc, run, schemathesis};
use serde_json::json;

/// By this seed each run makes the same requests.
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
fn every_path_and_method_is_in_the_document_and_wants_a_key() {
    let smsc = delivering();
    let api = smsc.api_of("test", "both");
    let stranger = smsc.api("");
    let document = stranger.get("/v1/openapi.json");
    for (path, operations) in document["paths"].as_object().unwrap() {
        let operations = operations.as_object().unwrap();
        let (status, said) = api.call("PURGE", path, None);
        assert_eq!(status, 405, "{path}: {said}");
        let detail = said["detail"].as_str().unwrap();
        let taken = detail.split(" takes ").nth(1).unwrap();
        let taken = taken.split(", not ").next().unwrap().split(", ");
        let taken: BTreeSet<String> = taken
            .filter(|method| *method != "HEAD")
            .map(str::to_lowercase)
            .collect();
        let documented: BTreeSet<String> = operations.keys().cloned().collect();
        assert_eq!(taken, documented, "{path}");
        for (method, operation) in operations {
            let is_open = operation["security"].as_array().unwrap().is_empty();
            let (status, _) = stranger.call(&method.to_uppercase(), path, None);
            assert_eq!(status != 401, is_open, "{method} {path} answers {status}");
        }
    }
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
