//! Messages over HTTP: accepted when they are durable, each recipient with its own result, followed to their end.

use super::delivering;
use crate::harness::{Admin, Answerer, Peer, Simulator, Smsc, until};
use serde_json::{Value, json};

const TO: &str = "447700900123";

fn send(api: &Admin, order: &Value) -> Value {
    let (status, said) = api.call("POST", "/v1/messages", Some(order));
    assert_eq!(status, 202, "{said}");
    said
}

fn id(submitted: &Value) -> String {
    submitted["messages"][0]["id"].as_str().unwrap().to_owned()
}

fn ended(api: &Admin, id: &str) -> Value {
    until("the message has ended", || {
        let message = api.get(&format!("/v1/messages/{id}"));
        (!message["ended_at"].is_null()).then_some(message)
    })
}

#[test]
fn a_message_is_delivered_and_its_state_is_seen_without_any_bind() {
    let simulator = Simulator::new().start();
    let smsc = Smsc::new()
        .with_api()
        .relaying_to(simulator.address())
        .start();
    let api = smsc.api_of("test", "both");
    let order = json!({
        "to": "+44 7700 900123", "from": "ACME", "text": "hello", "reference": "order-7",
        "metadata": { "shop": 1 },
    });
    let submitted = send(&api, &order);
    assert_eq!(
        (&submitted["accepted"], &submitted["refused"]),
        (&json!(1), &json!(0))
    );
    let message = ended(&api, &id(&submitted));
    // The operator was asked for a receipt although the account wants none.
    assert_eq!(message["state"], "DELIVERED");
    assert_eq!(
        (&message["to"], &message["from"]),
        (&json!(TO), &json!("ACME"))
    );
    assert_eq!(message["reference"], "order-7");
    assert_eq!(message["metadata"], json!({ "shop": 1 }));
    let steps: Vec<&str> = message["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["what"].as_str().unwrap())
        .collect();
    assert_eq!(steps, ["accepted", "sent", "delivered"]);
    assert!(!message.to_string().contains("operator:up"), "{message}");
    let journal = simulator.wait_for(1);
    assert_eq!(journal.len(), 1);
    let queue = smsc.admin().get("/v1/queues/account:test");
    assert_eq!(
        queue["waiting"], 0,
        "no receipt waits for a bind that never comes"
    );
}

#[test]
fn a_receipt_goes_to_the_binds_of_the_account_if_wanted() {
    let smsc = delivering();
    let api = smsc.api_of("test", "send");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let order = json!({ "to": TO, "from": "ACME", "text": "hello", "receipt": true });
    let submitted = send(&api, &order);
    let receipt = esme.deliver();
    let text = String::from_utf8_lossy(&receipt.short_message).into_owned();
    assert!(
        text.contains(&id(&submitted)) && text.contains("DELIVRD"),
        "{text}"
    );
}

#[test]
fn long_texts_are_divided_whatever_the_operator_wants() {
    let operator = Answerer::start();
    let smsc = Smsc::new()
        .with_api()
        .relaying_to(operator.address())
        .start();
    smsc.wait_for_binds("up", 1);
    let api = smsc.api_of("test", "both");
    let order = json!({ "to": TO, "from": "ACME", "text": "ж".repeat(100) });
    let submitted = send(&api, &order);
    let first = &submitted["messages"][0];
    assert_eq!(
        (&first["parts"], &first["alphabet"]),
        (&json!(2), &json!("UCS-2"))
    );
    until("both parts are sent", || {
        (operator.submits() == 2).then_some(())
    });
    let message = api.get(&format!("/v1/messages/{}", id(&submitted)));
    assert_eq!(message["parts"], 2);
    let listed = api.get("/v1/messages");
    assert_eq!(
        listed["messages"].as_array().unwrap().len(),
        1,
        "parts are not shown"
    );
}

#[test]
fn each_recipient_has_its_own_result() {
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", "destinations = [\"44*\"]")
        .route("44", "test:delivered")
        .start();
    let api = smsc.api_of("test", "both");
    let orders = json!({ "messages": [
        { "to": ["447700900001", "49170000002"], "from": "ACME", "text": "one" },
        { "to": "447700900003", "from": "ACME" },
        { "to": [{ "number": "447700900004", "values": { "name": "Ann" } }], "from": "ACME", "text": "Dear {{name}}" },
    ] });
    let said = send(&api, &orders);
    assert_eq!(
        (&said["accepted"], &said["refused"]),
        (&json!(2), &json!(2))
    );
    let results = said["messages"].as_array().unwrap();
    let fields: Vec<&str> = results
        .iter()
        .map(|one| one["error"]["field"].as_str().unwrap_or(""))
        .collect();
    assert_eq!(fields, ["", "to", "text", ""]);
    assert_eq!(results[1]["error"]["command_status"], "ESME_RINVDSTADR");
    let ids: Vec<&Value> = results.iter().map(|one| &one["id"]).collect();
    assert!(ids[0].is_string() && ids[1].is_null() && ids[2].is_null() && ids[3].is_string());
    // If all are refused, the answer says so.
    for (order, expected, field) in [
        (
            json!({ "to": "49170000002", "from": "A", "text": "x" }),
            422,
            "to",
        ),
        (json!({ "to": "x", "from": "A", "text": "x" }), 400, "to"),
        (
            json!({ "to": TO, "from": "A", "text": "x", "valid_until": "2001-01-01T00:00:00Z" }),
            422,
            "valid_until",
        ),
    ] {
        let (status, said) = api.call("POST", "/v1/messages", Some(&order));
        assert_eq!(
            (status, said["field"].as_str()),
            (expected, Some(field)),
            "{said}"
        );
    }
}

#[test]
fn http_and_smpp_share_rate_and_balance() {
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", "rate = 1.0\nburst = 5")
        .account_with(
            "prepaid",
            "prepaid",
            "prepaid = true\nprices = { default = 2 }",
        )
        .route("", "test:delivered")
        .start();
    let api = smsc.api_of("test", "send");
    let many: Vec<String> = (0..5).map(|n| format!("4477009001{n:02}")).collect();
    let said = send(&api, &json!({ "to": many, "from": "ACME", "text": "x" }));
    assert_eq!(said["accepted"], 5, "{said}");
    let (status, said) = api.call(
        "POST",
        "/v1/messages",
        Some(&json!({ "to": many, "from": "ACME", "text": "x" })),
    );
    assert!(
        status == 429 || said["accepted"].as_u64().unwrap() < 5,
        "{status} {said}"
    );
    let prepaid = smsc.api_of("prepaid", "both");
    let order = json!({ "to": TO, "from": "ACME", "text": "x" });
    assert_eq!(prepaid.call("POST", "/v1/messages", Some(&order)).0, 402);
    let top_up = json!({ "add": 2, "reference": "1" });
    assert_eq!(
        smsc.admin()
            .call("POST", "/v1/accounts/prepaid/balance", Some(&top_up))
            .0,
        200
    );
    let (_, estimate) = prepaid.call("POST", "/v1/messages/estimate", Some(&order));
    assert_eq!(
        (&estimate["price"], &estimate["parts"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(
        prepaid.get("/v1/balance")["credits"],
        2,
        "an estimate costs nothing"
    );
    send(&prepaid, &order);
    assert_eq!(prepaid.get("/v1/balance")["credits"], 0);
}

#[test]
fn a_scheduled_message_waits_and_can_be_cancelled() {
    let smsc = delivering();
    let api = smsc.api_of("test", "both");
    let in_an_hour = smsc::domain::moment::text(smsc::clock::now_ms() + 3_600_000);
    let order = json!({ "to": TO, "from": "ACME", "text": "later", "send_at": in_an_hour });
    let id = id(&send(&api, &order));
    let path = format!("/v1/messages/{id}");
    assert_eq!(api.get(&path)["state"], "ENROUTE");
    assert!(api.get(&path)["due_at"].is_string());
    let (status, said) = api.call("POST", &format!("{path}/cancel"), None);
    // 202 is the answer when its end is not seen soon.
    assert!([200, 202].contains(&status), "{status} {said}");
    assert_eq!(ended(&api, &id)["state"], "DELETED");
    let (status, said) = api.call("POST", &format!("{path}/cancel"), None);
    assert_eq!(status, 409, "{said}");
}

#[test]
fn pages_follow_each_other() {
    let smsc = delivering();
    let api = smsc.api_of("test", "both");
    let many: Vec<String> = (0..25).map(|n| format!("4477009001{n:02}")).collect();
    assert_eq!(
        send(&api, &json!({ "to": many, "from": "ACME", "text": "x" }))["accepted"],
        25
    );
    let (mut path, mut seen) = ("/v1/messages?limit=10".to_owned(), Vec::new());
    loop {
        let page = api.get(&path);
        seen.extend(
            page["messages"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["to"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next_before"].as_str() else {
            break;
        };
        path = format!("/v1/messages?limit=10&before={next}");
    }
    seen.sort();
    assert_eq!(seen, many);
    let found = until("the search finds it", || {
        let found = api.get("/v1/messages?to=%2B447700900107");
        (found["messages"].as_array()?.len() == 1).then_some(found)
    });
    assert_eq!(found["messages"][0]["to"], "447700900107");
}

#[test]
fn what_was_accepted_survives_a_kill() {
    let mut simulator = Simulator::new();
    let mut smsc = Smsc::new()
        .with_api()
        .relaying_to(simulator.address())
        .start();
    let api = smsc.api_of("test", "both");
    let ids: Vec<String> = (0..50)
        .map(|n| {
            id(&send(
                &api,
                &json!({ "to": TO, "from": "ACME", "text": format!("message {n}") }),
            ))
        })
        .collect();
    smsc.kill();
    smsc.fsck();
    simulator = simulator.start();
    smsc.start_again();
    for id in &ids {
        assert_eq!(ended(&api, id)["state"], "DELIVERED");
    }
    let journal = simulator.wait_for(ids.len());
    assert!(journal.len() >= ids.len());
}

#[test]
fn bad_requests_are_named_and_harm_nobody() {
    let smsc = delivering();
    let api = smsc.api_of("test", "both");
    let large = json!({ "to": TO, "from": "ACME", "text": "x".repeat(1_100_000) });
    assert_eq!(api.call("POST", "/v1/messages", Some(&large)).0, 413);
    for (method, path, body, status) in [
        ("PUT", "/v1/messages", None, 405),
        ("GET", "/v1/messages?colour=red", None, 400),
        ("GET", "/v1/messages?state=SENT", None, 400),
        ("GET", "/v1/messages/abc", None, 400),
        ("GET", "/v1/messages/17", None, 404),
        ("POST", "/v1/messages", Some(json!("x")), 400),
        (
            "POST",
            "/v1/messages",
            Some(json!({ "to": TO, "from": "A", "text": "x", "colour": 1 })),
            400,
        ),
        ("POST", "/v1/messages/17/eat", None, 404),
    ] {
        let (found, said) = api.call(method, path, body.as_ref());
        assert_eq!(found, status, "{method} {path}: {said}");
        assert!(
            said["type"]
                .as_str()
                .unwrap()
                .starts_with("urn:smsc:problem:"),
            "{said}"
        );
    }
    let order = json!({ "to": TO, "from": "ACME", "text": "hello" });
    send(&api, &order);
    let (_, metrics) = smsc.admin().text("/metrics").unwrap();
    for series in [
        r#"smsc_api_requests_total{method="POST",route="/v1/messages",status="202"} 1"#,
        r#"smsc_api_requests_total{method="GET",route="/v1/messages/{id}",status="404"} 1"#,
    ] {
        assert!(metrics.contains(series), "{series} in {metrics}");
    }
    smsc.assert_no_panic();
}

#[test]
fn the_document_describes_the_api() {
    let smsc = Smsc::new().with_api().account("test", "test").start();
    let document = smsc.api("").get("/v1/openapi.json");
    let paths = document["paths"].as_object().unwrap();
    for path in [
        "/v1/messages",
        "/v1/messages/{id}",
        "/v1/messages/{id}/cancel",
        "/v1/messages/estimate",
        "/v1/balance",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
    assert!(!paths.keys().any(|path| path.starts_with("/v1/queues")));
    let text = document.to_string();
    for part in text.split("\"$ref\":\"#").skip(1) {
        let pointer = part.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}
