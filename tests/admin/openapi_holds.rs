//! The OpenAPI document agrees with the running server: it has every path and method and no other, and
//! thousands of generated requests find nothing outside it.

use std::collections::BTreeSet;

use crate::harness::{Peer, Simulator, Smsc, run, schemathesis, submit_quietly};
use serde_json::{Value, json};

/// A method that no path has: the response lists the existing ones.
const OTHER: &str = "PURGE";
/// By this seed each run makes the same requests.
const SEED: &str = "20261121";
/// Most requests generated for each operation.
const EXAMPLES: &str = "25";
/// Time limit for all of them, in seconds.
const TIME: &str = "45";

#[test]
fn every_path_and_method_is_in_the_document_and_no_other() {
    let mut smsc = Smsc::new().account("test", "test").start();
    let admin = smsc.admin();
    let served = admin.bearer("none needed").get("/v1/openapi.json");
    let printed = smsc.run(&["openapi"]);
    let printed: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(served, printed, "`smsc openapi` prints what is served");
    assert!(served["openapi"].as_str().unwrap().starts_with("3.1"));

    let mut asked = 0;
    for (path, operations) in served["paths"].as_object().unwrap() {
        // After a hundred wrong tokens nobody listens to us; a new process does not know us.
        asked += operations.as_object().unwrap().len();
        if asked > 80 {
            asked = 0;
            smsc.kill();
            smsc.start_again();
        }
        let documented: BTreeSet<String> = operations
            .as_object()
            .unwrap()
            .keys()
            .map(|method| method.to_uppercase())
            .collect();
        let (status, answer) = admin.call(OTHER, path, None);
        assert_eq!(status, 405, "{path}: {answer}");
        let detail = answer["detail"].as_str().unwrap();
        let takes = detail.split(" takes ").nth(1).unwrap();
        let taken = takes.split(", not ").next().unwrap();
        let taken: BTreeSet<String> = taken
            .split(", ")
            .filter(|method| *method != "HEAD")
            .map(str::to_owned)
            .collect();
        assert_eq!(taken, documented, "{path}");
        for (method, operation) in operations.as_object().unwrap() {
            let is_open = operation["security"].as_array().unwrap().is_empty();
            let (status, _) = admin.bearer("").call(&method.to_uppercase(), path, None);
            // There are more operations than wrong tokens that are looked at.
            let is_refused = [401, 429].contains(&status);
            assert_eq!(!is_refused, is_open, "{method} {path} answers {status}");
        }
    }
}

#[cfg(feature = "swagger-ui")]
#[test]
fn the_pages_come_from_this_server() {
    let smsc = Smsc::new().start();
    let admin = smsc.admin();
    let (status, page) = admin.text("/v1/docs/").unwrap();
    assert!(status == 200 && page.contains("swagger"), "{page}");
    for file in [
        "swagger-ui.css",
        "swagger-ui-bundle.js",
        "swagger-initializer.js",
    ] {
        assert_eq!(
            admin.text(&format!("/v1/docs/{file}")).unwrap().0,
            200,
            "{file}"
        );
        assert!(page.contains(file), "{file} is not on the page");
    }
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "{page}"
    );
}

#[test]
fn made_up_requests_find_nothing_outside_the_document() {
    let operator = Simulator::new().start();
    let mut smsc = Smsc::new()
        .account("test", "test")
        .operator("up", operator.address())
        .operator("down", Simulator::new().address())
        .route("1", "down")
        .route("", "up")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for number in 0..20 {
        esme.submit(submit_quietly(
            &format!("{}4477009000{number:02}", number % 2),
            "hello",
        ));
    }
    drop(esme);
    let admin = smsc.admin();
    admin.with_role("read", "reader");
    // A drained node correctly answers many requests with 503, which would be reported as an error.
    let finished = run(schemathesis(&admin, SEED, EXAMPLES, TIME)
        .args(["--exclude-operation-id", "post_drain"])
        // Their responses do not end for minutes; tests/admin/console.rs and live_traces.rs test them.
        .args(["--exclude-operation-id", "get_events"])
        .args(["--exclude-operation-id", "post_traces"])
        .args(["--exclude-operation-id", "get_binds_node_session_pdus"])
        .current_dir(smsc.data_dir()));
    assert!(finished.success, "{}{}", finished.stdout, finished.stderr);
    smsc.assert_no_panic();
    let (status, answer) = admin.call("PUT", "/v1/log-level", Some(&json!({ "level": "info" })));
    assert_eq!(status, 200, "it is alive: {answer}");
    smsc.terminate();
    smsc.fsck();
}
