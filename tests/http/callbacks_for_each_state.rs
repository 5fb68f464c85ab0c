//! Callbacks for states before the final one: that a message waits, that an operator has accepted it, that it is tried
//! again. Each entrance asks for them in its own way.

use std::collections::HashMap;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use smsc::smpp::{CommandStatus, SubmitSm};

use crate::harness::hooks::{Hook, HookReply, Hooks};
use crate::harness::{
    Client, PeerError, Scene, Smsc, python_script, submit, submit_quietly, until,
};
use crate::plain::get;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Long enough for a callback to show itself, had there been one.
const QUIET: Duration = Duration::from_millis(700);

pub fn keys(way: &str, states: &[&str], hooks: &Hooks) -> String {
    format!(
        "deliver_by = {way:?}\ncallback_url = {:?}\ncallback_secrets = {SECRET:?}\n\
         callback_states = {states:?}\ncallback_hosts = [\"127.0.0.1\"]\n\
         callback_allow_private = [\"127.0.0.1\"]\n",
        hooks.url("127.0.0.1")
    )
}

pub fn scene(keys: &str) -> Scene {
    let quickly = "[retry]\ndelays = [\"100ms\"]";
    Scene::of(keys, "", |builder| {
        builder
            .with_api_and("kannel = true\njasmin = true\nxml_rpc = true")
            .toml(quickly)
    })
}

fn send(smsc: &Smsc, more: &Value) -> (u16, Value) {
    let mut order = json!({ "to": "447700900123", "from": "ACME", "text": "hello" });
    let more = more.as_object().unwrap().clone();
    order.as_object_mut().unwrap().extend(more);
    let api = smsc.api_of("test", "both");
    api.call("POST", "/v1/messages", Some(&order))
}

fn accepted(smsc: &Smsc, more: &Value) -> String {
    let (status, said) = send(smsc, more);
    assert_eq!(status, 202, "{said}");
    said["messages"][0]["id"].as_str().unwrap().to_owned()
}

pub fn kind(hook: &Hook) -> String {
    hook.json()["type"].as_str().unwrap().to_owned()
}

pub fn kinds(came: &[Hook]) -> Vec<String> {
    came.iter().map(kind).collect()
}

pub fn about(hook: &Hook) -> String {
    let id = &hook.json()["data"]["message_id"];
    id.as_str().unwrap().to_owned()
}

#[test]
fn a_message_is_queued_tried_again_sent_and_delivered() {
    let hooks = Hooks::taking();
    let mut scene = scene(&keys("callback", &[], &hooks));
    let all = json!({ "callback_states": ["queued", "sent", "retrying"], "reference": "order 7" });
    let id = accepted(&scene.smsc, &all);
    hooks.wait_for(1);
    scene.refuse(CommandStatus::ESME_RX_T_APPN);
    hooks.wait_for(2);
    scene.take("A1");
    hooks.wait_for(3);
    scene.report("A1", "DELIVRD");
    let came = hooks.wait_for(4);
    assert_eq!(
        kinds(&came),
        [
            "message.queued",
            "message.retrying",
            "message.sent",
            "message.delivered"
        ]
    );
    let said: Vec<Value> = came
        .iter()
        .map(|hook| hook.json()["data"].clone())
        .collect();
    for (said, hook) in said.iter().zip(&came) {
        assert_eq!(
            (&said["message_id"], &said["client_reference"]),
            (&json!(id), &json!("order 7"))
        );
        assert!(!hook.header("webhook-signature").is_empty());
    }
    assert_eq!(
        (&said[0]["state"], &said[0]["attempt"]),
        (&json!("QUEUED"), &Value::Null)
    );
    assert_eq!(
        (&said[1]["attempt"], &said[1]["error"]),
        (&json!(1), &json!("ESME_RX_T_APPN"))
    );
    assert!(said[1]["next_attempt_at"].is_string(), "{}", said[1]);
    assert_eq!(
        (&said[2]["attempt"], &said[2]["operator"]),
        (&json!(2), &json!("up"))
    );
    assert_eq!(said[2]["operator_message_id"], "A1");
    assert_eq!(
        (&said[3]["attempt"], &said[3]["sent_at"]),
        (&json!(2), &came[2].json()["timestamp"])
    );
    let ids: Vec<&str> = came.iter().map(Hook::id).collect();
    let expected = [
        format!("queued_{id}_0"),
        format!("retrying_{id}_1"),
        format!("sent_{id}_2"),
        format!("receipt_{id}"),
    ];
    assert_eq!(ids, expected);
    // The copies are nobody's messages.
    let own = scene.smsc.api_of("test", "read").get("/v1/messages");
    assert_eq!(own["messages"].as_array().unwrap().len(), 1, "{own}");
    let all = scene.smsc.admin().get("/v1/messages");
    let states: Vec<&Value> = (all["messages"].as_array().unwrap().iter())
        .map(|message| &message["copy_of"]["state"])
        .collect();
    assert_eq!(
        states,
        [
            &json!("sent"),
            &json!("retrying"),
            &json!("queued"),
            &Value::Null
        ]
    );
    until("its record", || {
        (scene.smsc.records().len() == 1).then_some(())
    });
    scene.smsc.assert_no_panic();
}

#[test]
fn an_account_asks_for_all_that_it_submits_over_smpp() {
    let hooks = Hooks::taking();
    let mut scene = scene(&keys("both", &["queued", "sent"], &hooks));
    let id = scene.submit_as("A1");
    hooks.wait_for(2);
    scene.report("A1", "DELIVRD");
    let came = hooks.wait_for(3);
    assert_eq!(
        kinds(&came),
        ["message.queued", "message.sent", "message.delivered"]
    );
    assert!(came.iter().all(|hook| about(hook) == id));
    let receipt = scene.esme.deliver();
    assert_eq!(receipt.esm_class, 4, "the receipt, and no state before it");
    // Whoever wants no receipt hears of nothing.
    let quiet = submit_quietly("447700900124", "hello");
    scene.esme.submit(quiet);
    scene.take("A2");
    // A message over HTTP chooses its own.
    let id = accepted(
        &scene.smsc,
        &json!({ "receipt": true, "callback_states": [] }),
    );
    scene.take("A3");
    scene.report("A3", "UNDELIV");
    let came = hooks.wait_for(4);
    assert_eq!(
        (kind(&came[3]), about(&came[3])),
        ("message.undeliverable".to_owned(), id)
    );
    scene.smsc.assert_no_panic();
}

#[test]
fn a_state_goes_where_the_receipt_of_its_message_goes() {
    let (own, other) = (Hooks::taking(), Hooks::taking());
    let keys = keys("smpp", &["sent"], &own);
    let mut scene = scene(&keys);
    let id = accepted(&scene.smsc, &json!({ "callback": other.url("127.0.0.1") }));
    scene.take("A1");
    let came = other.wait_for(1);
    assert_eq!(
        (kind(&came[0]), about(&came[0])),
        ("message.sent".to_owned(), id)
    );
    scene.report("A1", "DELIVRD");
    assert_eq!(kind(&other.wait_for(2)[1]), "message.delivered");
    // On binds there are no states.
    scene.submit_as("A2");
    scene.report("A2", "DELIVRD");
    assert_eq!(scene.esme.deliver().esm_class, 4);
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence));
    assert!(own.came().is_empty());
}

#[test]
fn a_divided_text_is_queued_and_sent_once() {
    let hooks = Hooks::taking();
    let mut scene = scene(&keys("callback", &["queued", "sent"], &hooks));
    let id = accepted(
        &scene.smsc,
        &json!({ "text": "long ".repeat(80), "receipt": true }),
    );
    for part in ["A1", "A2", "A3"] {
        scene.take(part);
    }
    let came = hooks.wait_for(2);
    assert_eq!(kinds(&came), ["message.queued", "message.sent"]);
    assert_eq!(
        came[1].json()["data"]["operator_message_id"],
        "A3",
        "the last part speaks for all"
    );
    for part in ["A1", "A2", "A3"] {
        scene.report(part, "DELIVRD");
    }
    let came = hooks.wait_for(3);
    assert_eq!(kind(&came[2]), "message.delivered");
    assert_eq!(
        came[2].json()["data"]["sent_at"],
        came[1].json()["timestamp"]
    );
    assert!(
        came.iter()
            .all(|hook| about(hook) == id && hook.json()["data"]["parts"] == 3)
    );
}

#[test]
fn parts_that_are_put_together_have_the_states_of_the_whole() {
    let hooks = Hooks::taking();
    let keys = keys("callback", &["queued", "sent"], &hooks);
    let operator = "long_messages = \"payload\"";
    let mut scene = Scene::of(&keys, operator, |builder| builder);
    let mut ids = [1, 2].map(|sequence| {
        let mut octets = vec![5, 0, 3, 42, 2, sequence];
        octets.extend(b"half ");
        scene.esme.submit(SubmitSm {
            esm_class: 0x40,
            short_message: octets.into(),
            ..submit("447700900123", "")
        })
    });
    scene.take("A1");
    hooks.wait_for(4);
    scene.report("A1", "DELIVRD");
    let came = hooks.wait_for(6);
    ids.sort();
    for wanted in ["message.queued", "message.sent", "message.delivered"] {
        let of_kind = came.iter().filter(|hook| kind(hook) == wanted);
        let mut said: Vec<String> = of_kind.map(about).collect();
        said.sort();
        assert_eq!(said, ids, "{wanted}");
    }
    let sent = came
        .iter()
        .find(|hook| kind(hook) == "message.sent")
        .unwrap();
    assert_eq!(sent.json()["data"]["operator_message_id"], "A1");
}

fn quoted(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The parameters of a query or form.
fn parameters(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn bits_4_and_8_of_kannel_are_reported() {
    let hooks = Hooks::taking();
    let mut scene = scene(&keys("smpp", &[], &hooks));
    let url = quoted(&format!(
        "{}?type=%d&answer=%A&smsc=%i",
        hooks.url("127.0.0.1")
    ));
    for (mask, expected) in [(31, &["4", "8", "1"][..]), (8, &["8"]), (4, &["4"])] {
        let before = hooks.came().len();
        let said = get(
            scene.smsc.api_address(),
            &format!(
                "/cgi-bin/sendsms?user=test&pass=test&from=ACME&to=447700900123&text=hello&dlr-mask={mask}&dlr-url={url}"
            ),
        );
        assert_eq!(said.brief(), (202, "0: Accepted for delivery"));
        // A state that has not been reported when the next one comes may be left out.
        let queued = expected.iter().filter(|kind| **kind == "4").count();
        hooks.wait_for(before + queued);
        scene.take(&format!("A{mask}"));
        let states = expected.iter().filter(|kind| **kind != "1").count();
        hooks.wait_for(before + states);
        scene.report(&format!("A{mask}"), "DELIVRD");
        let came = hooks.wait_for(before + expected.len());
        let queries: Vec<_> = came[before..]
            .iter()
            .map(|hook| parameters(hook.path.split_once('?').unwrap().1))
            .collect();
        let types: Vec<&str> = queries.iter().map(|query| query["type"].as_str()).collect();
        assert_eq!(types, expected);
        for query in queries.iter().filter(|query| query["type"] == "8") {
            assert_eq!(
                (query["answer"].as_str(), query["smsc"].as_str()),
                ("ACK%2F", "up")
            );
        }
    }
}

#[test]
fn levels_1_and_3_of_jasmin_are_reported() {
    let hooks = Hooks::answering(|_, _| HookReply::Text("ACK/Jasmin"));
    let mut scene = scene(&keys("smpp", &[], &hooks));
    let url = quoted(&hooks.url("127.0.0.1"));
    let send = |level: u32| {
        let said = get(
            scene.smsc.api_address(),
            &format!(
                "/send?username=test&password=test&to=447700900123&content=hello&dlr=yes&dlr-level={level}&dlr-url={url}"
            ),
        );
        assert_eq!(said.status, 200, "{}", said.text);
        said.text.split('"').nth(1).unwrap().to_owned()
    };
    let ids = [send(1), send(3), send(1)];
    scene.take("A1");
    scene.take("A3");
    scene.refuse(CommandStatus::ESME_RINVDSTADR);
    // Whatever has not been reported when a message ends may be left out.
    hooks.wait_for(3);
    scene.report("A1", "DELIVRD");
    scene.report("A3", "DELIVRD");
    let came = hooks.wait_for(4);
    let mut said: Vec<_> = came
        .iter()
        .map(|hook| {
            let form = parameters(std::str::from_utf8(&hook.octets).unwrap());
            let of = ids.iter().position(|id| *id == form["id"]).unwrap();
            (of, form["level"].clone(), form["message_status"].clone())
        })
        .collect();
    assert_eq!(said[3], (1, "2".to_owned(), "DELIVRD".to_owned()));
    said.sort();
    let expected = [
        (0, "1", "ESME_ROK"),
        (1, "1", "ESME_ROK"),
        (1, "2", "DELIVRD"),
        (2, "1", "ESME_RINVDSTADR"),
    ];
    let expected = expected.map(|(of, level, status)| (of, level.to_owned(), status.to_owned()));
    assert_eq!(said, expected);
}

#[test]
fn an_operator_without_receipts_is_reported_once() {
    let hooks = Hooks::taking();
    let operator = "receipts = \"never\"";
    let mut scene = Scene::of(&keys("callback", &["sent"], &hooks), operator, |builder| {
        builder
    });
    let id = scene.submit_as("A1");
    let came = hooks.wait_for(1);
    scene.smsc.wait_for_final(&id);
    assert_eq!(kinds(&came), ["message.accepted"], "the end says it");
}

#[test]
fn what_cannot_be_reported_is_refused_and_named() {
    let hooks = Hooks::taking();
    let scene = scene(&keys("smpp", &[], &hooks));
    for (states, why) in [
        (json!(["sent", "delivered"]), "\"delivered\""),
        (json!(["sent"]), "on binds"),
    ] {
        let (status, said) = send(&scene.smsc, &json!({ "callback_states": states }));
        assert_eq!(
            (status, &said["field"]),
            (400, &json!("callback_states")),
            "{said}"
        );
        assert!(said["detail"].as_str().unwrap().contains(why), "{said}");
    }
    // The same arguments by XML-RPC.
    let api = scene.smsc.api_of("test", "both");
    let call = |states: Value| {
        let url = format!("http://{}/RPC2", scene.smsc.api_address());
        let order = json!([{
            "user_numbers": "447700900123", "sp_number": "ACME", "content": "hello",
            "callback": hooks.url("127.0.0.1"), "callback_states": states,
        }]);
        let arguments = [&url, api.token(), "call", "sms.send", &order.to_string()];
        Client::run(python_script("xml_rpc_client.py", &arguments))
    };
    let refused = call(json!(["seen"]));
    assert!(refused.to_string().contains("callback_states"), "{refused}");
    call(json!(["queued"]));
    assert_eq!(kinds(&hooks.wait_for(1)), ["message.queued"]);
}
