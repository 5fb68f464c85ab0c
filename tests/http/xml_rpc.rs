//! XML-RPC at /RPC2, driven by Python's xmlrpc.client: the same as /v1/messages, with faults that name the argument.

use crate::harness::{Answerer, Client, Simulator, Smsc, SmscBuilder, python_script, until};
use serde_json::{Value, json};

const TO: &str = "447700900123";

fn with_xml_rpc() -> SmscBuilder {
    Smsc::new().with_api().env("SMSC_API__XML_RPC", "true")
}

fn play(smsc: &Smsc, key: &str, case: &[&str]) -> Value {
    let url = format!("http://{}/RPC2", smsc.api_address());
    let arguments = [&[url.as_str(), key], case].concat();
    Client::run(python_script("xml_rpc_client.py", &arguments))
}

fn send(smsc: &Smsc, key: &str) -> Value {
    let params = json!([{ "user_numbers": TO, "sp_number": "ACME", "content": "hello" }]);
    play(smsc, key, &["call", "sms.send", &params.to_string()])
}

#[test]
fn pythons_client_sends_follows_and_cancels() {
    let simulator = Simulator::new().start();
    let smsc = with_xml_rpc().relaying_to(simulator.address()).start();
    let api = smsc.api_of("test", "both");
    let seen = play(&smsc, api.token(), &["journey"]);
    assert_eq!(seen["balance"]["account"], "test");
    // The same message by REST.
    let message = api.get(&format!("/v1/messages/{}", seen["sent"].as_str().unwrap()));
    assert_eq!(message["state"], "DELIVERED");
    let kept = json!({
        "charge_number": TO, "corp_id": "01234", "fee_type": 2, "fee_value": 15, "given_value": 0, "agent_flag": 1,
        "more_related_to_mt_flag": 3,
    });
    assert_eq!(message["metadata"], kept);
    let shown = smsc.admin().get(&format!(
        "/v1/messages/{}?text=true",
        seen["sent"].as_str().unwrap()
    ));
    assert!(shown.to_string().contains("Grüße <&> \\n€"), "{shown}");
    let metrics = smsc.admin().text("/metrics").unwrap().1;
    assert!(
        metrics.contains("route=\"/RPC2\",status=\"200\""),
        "{metrics}"
    );
    smsc.assert_no_panic();
}

#[test]
fn a_session_is_a_key_as_first_argument() {
    let simulator = Simulator::new().start();
    let smsc = with_xml_rpc().relaying_to(simulator.address()).start();
    let api = smsc.api_of("test", "both");
    let seen = play(&smsc, api.token(), &["session"]);
    let id = seen["sent"].as_str().unwrap();
    assert_eq!(api.get(&format!("/v1/messages/{id}"))["to"], TO);
}

#[test]
fn each_fault_has_its_code_and_names_the_argument() {
    let smsc = with_xml_rpc()
        .account("test", "test")
        .account("other", "other")
        .account_with(
            "prepaid",
            "prepaid",
            "prepaid = true\nprices = { default = 2 }",
        )
        .account_with("limited", "limited", "rate = 1.0\nburst = 2")
        .route("44", "test:delivered")
        .start();
    let key = |account, role| smsc.api_of(account, role).token().to_owned();
    let others = json!({
        "read": key("test", "read"), "send": key("test", "send"), "other": key("other", "both"),
        "prepaid": key("prepaid", "both"), "limited": key("limited", "both"),
    });
    let seen = play(
        &smsc,
        &key("test", "both"),
        &["faults", &others.to_string()],
    );
    for (what, code, part) in [
        ("parameter", 400, "priority: "),
        ("missing", 400, "content: "),
        ("none", 400, "message: "),
        ("too many", 400, "params: "),
        ("method", 400, "methodName: "),
        ("destination", 400, "user_numbers: "),
        ("schedule", 400, "schedule_time: "),
        ("expiry", 400, "expire_time: "),
        ("wrong key", 401, "wrong"),
        ("wrong user", 401, "account"),
        ("no key", 401, "session: "),
        ("wrong session", 401, "wrong"),
        ("role send", 403, "role send"),
        ("role cancel", 403, "role send"),
        ("role read", 403, "role read"),
        ("unknown", 404, "1900000000000000123"),
        ("unknown cancel", 404, "1900000000000000123"),
        ("of another", 404, ""),
        ("balance", 402, "balance"),
        ("bulk type", 400, "messages: "),
        ("bulk size", 400, "messages: "),
        ("calls", 400, "calls: "),
        ("rate", 429, "rate"),
    ] {
        let fault = &seen[what];
        assert_eq!(fault[0], code, "{what}: {fault}");
        assert!(fault[1].as_str().unwrap().contains(part), "{what}: {fault}");
    }
}

#[test]
fn a_full_disk_and_a_node_that_stops_have_codes_of_their_own() {
    let operator = Answerer::start();
    let mut smsc = with_xml_rpc()
        .relaying_to(operator.address())
        .smpp("drain_timeout = \"300s\"")
        .start();
    let key = smsc.api_of("test", "send").token().to_owned();
    operator.be_silent();
    assert!(send(&smsc, &key)["result"]["id"].is_string());
    until("the message is in a window", || {
        (operator.submits() == 1).then_some(())
    });
    // It waits for the answer of the operator.
    smsc.process().signal("TERM");
    let fault = until("new messages are refused", || {
        let fault = send(&smsc, &key)["fault"].clone();
        (!fault.is_null()).then_some(fault)
    });
    assert_eq!(fault[0], 503, "{fault}");
    smsc.kill();
    let config = smsc.config();
    smsc.set_config(&config.replace("min_free_mib = 1\n", "min_free_mib = 99999999999\n"));
    smsc.start_again_unready();
    until("the API answers", || {
        let (status, _) = smsc.api(&key).text("/health/live").ok()?;
        (status == 200).then_some(())
    });
    let fault = send(&smsc, &key)["fault"].clone();
    assert_eq!(fault[0], 507, "{fault}");
}

#[test]
fn what_was_accepted_survives_a_kill() {
    let mut simulator = Simulator::new();
    let mut smsc = with_xml_rpc().relaying_to(simulator.address()).start();
    let key = smsc.api_of("test", "both").token().to_owned();
    let ids: Vec<String> = (0..5)
        .map(|_| {
            let sent = send(&smsc, &key);
            sent["result"]["id"].as_str().unwrap().to_owned()
        })
        .collect();
    smsc.kill();
    smsc.fsck();
    simulator = simulator.start();
    smsc.start_again();
    for id in &ids {
        let params = json!([id]).to_string();
        until("the message is delivered", || {
            let status = play(&smsc, &key, &["call", "sms.status", &params]);
            (status["result"]["state"] == "DELIVERED").then_some(())
        });
    }
    assert!(simulator.wait_for(ids.len()).len() >= ids.len());
}

#[test]
fn documents_that_mean_harm_are_refused_and_harm_nobody() {
    let smsc = with_xml_rpc()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let api = smsc.api_of("test", "both");
    let seen = play(&smsc, api.token(), &["hostile"]);
    for what in [
        "good",
        "bearer",
        "without a type",
        "application/xml",
        "latin",
        "good again",
    ] {
        let text = seen[what][1].as_str().unwrap();
        assert!(text.contains("<name>credits</name>"), "{what}: {text}");
    }
    for (what, part) in [
        ("laughs", "DOCTYPE"),
        ("outside", "DOCTYPE"),
        ("deep", "deep"),
        ("wide", "more than"),
        ("base64", "base64"),
        ("utf-16", "UTF-16"),
        ("utf-8", "UTF-8"),
        ("cut", "request: "),
        ("json", "request: "),
        ("empty", "request: "),
        ("key header", "idempotency-key: "),
    ] {
        let text = seen[what][1].as_str().unwrap();
        assert_eq!(seen[what][0], 200, "{what}: {text}");
        assert!(
            text.contains("<int>400</int>") && text.contains(part),
            "{what}: {text}"
        );
    }
    assert!(
        seen["scheme"][1]
            .as_str()
            .unwrap()
            .contains("<int>401</int>")
    );
    assert_eq!(seen["json type"][0], 415);
    assert_eq!(seen["get"][0], 405);
    // A client that still writes may see its connection closed instead of the answer.
    for what in ["large", "large stranger"] {
        assert!(
            [0, 413].contains(&seen[what][0].as_u64().unwrap()),
            "{}",
            seen[what]
        );
    }
    let memory = smsc.process().memory_kib("VmHWM");
    assert!(memory < 1024 * 1024, "{memory} KiB");
    smsc.assert_no_panic();
}

#[test]
fn wrong_keys_are_held_back_also_in_the_body() {
    let smsc = with_xml_rpc().account("test", "test").start();
    let api = smsc.api_of("test", "read");
    let balance = |key: &str| play(&smsc, key, &["call", "sms.balance", "[]"]);
    // Through REST, because it is the same account of guesses.
    let guess = || smsc.api("smsck_wrong").call("GET", "/v1/messages", None).0;
    until("guesses are held back", || (guess() == 429).then_some(()));
    assert_eq!(balance("smsck_wrong")["fault"][0], 429);
    assert_eq!(play(&smsc, "smsck_wrong", &["guess"])["fault"][0], 429);
    assert_eq!(
        balance(api.token())["result"]["account"],
        "test",
        "a valid key passes from the same address"
    );
}

#[test]
fn it_is_off_unless_it_is_switched_on() {
    let smsc = Smsc::new().with_api().account("test", "test").start();
    let (status, said) = smsc.api("").call("POST", "/RPC2", None);
    assert_eq!(status, 404);
    assert!(
        !said["detail"].as_str().unwrap().contains(", /RPC2"),
        "{said}"
    );
    let smsc = with_xml_rpc().account("test", "test").start();
    let (status, said) = smsc.api("").call("GET", "/nowhere", None);
    assert_eq!(status, 404);
    assert!(
        said["detail"].as_str().unwrap().contains(", /RPC2"),
        "{said}"
    );
    let document = smsc.api("").get("/v1/openapi.json");
    assert!(document["paths"]["/RPC2"].is_null());
}
