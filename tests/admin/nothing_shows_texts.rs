//! No answer of the admin API shows a text or a password to whoever did not ask for it with the role that it needs.
//!
//! Walks the OpenAPI document, so that an endpoint that is added is looked at, too.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::harness::{Admin, FakeOperator, Peer, Smsc, accept, next_submit, submit, until};
use smsc::smpp::{Body, SubmitSm};

/// A word of each text.
const TEXT: &str = "nightingale";
/// In each password.
const SECRET: &str = "s3cr";

/// What does not end by itself.
const STREAMS: [&str; 2] = ["/v1/events", "/v1/binds/{node}/{session}/pdus"];

/// The paths with GET of the document, with these values for their parameters.
fn paths(admin: &Admin, values: &BTreeMap<&str, String>) -> Vec<String> {
    let document = admin.get("/v1/openapi.json");
    let all = document["paths"].as_object().unwrap();
    let mut found = Vec::new();
    for (path, methods) in all {
        if methods.get("get").is_none() || STREAMS.contains(&path.as_str()) {
            continue;
        }
        let parts = path.split('/').map(|part| match part.strip_prefix('{') {
            // Of other parameters any value does.
            Some(name) => values
                .get(name.trim_end_matches('}'))
                .map_or("1", String::as_str),
            None => part,
        });
        let filled = parts.collect::<Vec<&str>>().join("/");
        found.push(filled);
    }
    assert!(found.len() > 50, "{found:?}");
    found
}

#[test]
fn no_role_sees_what_it_did_not_ask_for() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account("test", "s3cr-tst")
        .account_with(
            "api",
            "s3cr-api",
            "callback_url = \"http://127.0.0.1:9/\"\ncallback_allow_private = [\"127.0.0.1\"]",
        )
        .operator_with(
            "up",
            operator.address(),
            "password = \"s3cr-op\"\nwindow = 1\nresponse_timeout = \"5m\"",
        )
        .route("", "up")
        .start();
    let admin = smsc.admin();
    let mut bind = operator.accept_bind();
    let mut esme = Peer::bind(smsc.smpp(), "test", "s3cr-tst");
    let text = |text: &str| SubmitSm {
        short_message: Bytes::copy_from_slice(format!("{TEXT} {text}").as_bytes()),
        ..submit("447700900123", "")
    };
    // One has failed for good, one waits, and a receipt of none has come, with the beginning of a text.
    let failed = esme.submit(text("failed"));
    let (sequence, _) = next_submit(&mut bind);
    accept(&mut bind, sequence, "theirs");
    let report = |id: &str| {
        let line = format!(
            "id:{id} sub:001 dlvrd:000 submit date:2611290000 done date:2611290001 stat:UNDELIV err:001 text:{TEXT}"
        );
        SubmitSm {
            esm_class: 4,
            short_message: line.into_bytes().into(),
            ..submit("447700900123", "")
        }
    };
    for id in ["theirs", "nobodys"] {
        let asked = bind.request(Body::DeliverSm(report(id)));
        assert!(bind.answer_to(asked).status.is_ok());
    }
    smsc.wait_for_final(&failed);
    let waits = esme.submit(text("waits"));
    until("the receipt that matches nothing", || {
        let list = admin.get("/v1/receipts/unmatched");
        (list["receipts"].as_array().unwrap().len() == 1).then_some(())
    });
    let [read, operate] = ["read", "operate"].map(|role| admin.with_role(role, role));
    let values = BTreeMap::from([
        ("id", failed.clone()),
        ("name", "up".to_owned()),
        ("queue", "operator:up".to_owned()),
    ]);
    let mut seen_number = false;
    for path in paths(&admin, &values) {
        let waiting = path.replace(&failed, &waits);
        for path in [path.clone(), waiting] {
            for (role, bearer) in [("read", &read), ("operate", &operate), ("admin", &admin)] {
                let (status, answer) = bearer.text(&path).unwrap();
                assert!(status < 500, "{role} {path}: {status} {answer}");
                assert!(
                    !answer.contains(TEXT),
                    "{role} reads a text at {path}: {answer}"
                );
                assert!(
                    !answer.contains(SECRET),
                    "{role} reads a secret at {path}: {answer}"
                );
                seen_number |= answer.contains("447700900123");
            }
        }
    }
    assert!(seen_number, "the walk finds messages");
    // Who asks for texts gets them by the role that it needs, and it is noted.
    for path in [
        &format!("/v1/messages/{failed}?text=true"),
        "/v1/receipts/unmatched?text=true",
    ] {
        assert_eq!(read.call("GET", path, None).0, 403, "{path}");
        let (status, answer) = operate.call("GET", path, None);
        assert_eq!(status, 200, "{answer}");
        assert!(answer.to_string().contains(TEXT), "{path}: {answer}");
    }
    let audit = admin.get("/v1/audit").to_string();
    assert!(audit.contains("texts of receipts were read"), "{audit}");
}
