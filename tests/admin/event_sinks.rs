//! Event sinks, by a real server of NATS: every state in order, MO, receipts and binds; changed without a restart;
//! nothing lost when the broker or a node is killed.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use prost::Message as _;
use serde_json::{Value, json};
use smsc::pb::events::Event;
use smsc::smpp::{CommandStatus, SubmitSm};

use crate::harness::{
    Login, Peer, PrivateNats, Published, Scene, receipt, send_receipt, submit,
    told_although_the_publishing_node_is_killed, until,
};

const ALL: &str = "['accepted', 'mo', 'sent', 'retry', 'ended', 'dlr', 'health']";

fn sink(nats: &PrivateNats, keys: &str) -> String {
    format!(
        "[[event_sink]]\nname = 'all'\nservers = ['{}']\ntimeout = '1s'\n{keys}",
        nats.url()
    )
}

fn scene(nats: &PrivateNats, keys: &str) -> Scene {
    let section = sink(nats, keys);
    Scene::with("retry.delays = ['50ms']", |smsc| {
        smsc.with_api().toml(&section)
    })
}

/// What is published of a message, once it has ended.
fn told_of(nats: &PrivateNats, id: &str) -> Vec<Value> {
    until(&format!("the end of {id}"), || {
        let all = nats.events().into_iter().map(|(_, event)| event);
        let of: Vec<Value> = all.filter(|event| event["id"] == id).collect();
        let has_ended = of.iter().any(|event| event["event"] == "ended");
        has_ended.then_some(of)
    })
}

fn names(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect()
}

#[test]
fn every_state_of_a_message_is_told_in_order() {
    let nats = PrivateNats::of(&["sms.>"], Login::Nobody);
    let keys = "events = ['accepted', 'sent', 'retry', 'ended']\nsubject = 'sms.{operator}.{account}.{event}'";
    let mut scene = scene(&nats, keys);
    let id = scene.submit();
    scene.refuse(CommandStatus::ESME_RSYSERR);
    scene.take("theirs");
    scene.report("theirs", "DELIVRD");
    let told = told_of(&nats, &id);
    assert_eq!(names(&told), ["accepted", "retry", "sent", "ended"]);
    for event in &told {
        assert_eq!(event["account"], "test");
        assert_eq!(event["to"], "447700900123");
    }
    assert_eq!(told[1]["status"], CommandStatus::ESME_RSYSERR.0);
    assert_eq!(told[2]["operator_message_id"], "theirs");
    assert_eq!(told[2]["operator"], "operator:up");
    assert_eq!(told[3]["state"], "DELIVERED");
    let subjects: BTreeSet<String> = nats
        .published()
        .into_iter()
        .map(|one| one.subject)
        .collect();
    let expected = [
        "none.test.accepted",
        "up.test.retry",
        "up.test.sent",
        "up.test.ended",
    ];
    assert_eq!(subjects, expected.map(|one| format!("sms.{one}")).into());
    // The broker has the last event before the SMSC has noted that.
    let admin = scene.smsc.admin();
    let sink = until("nothing that waits", || {
        let sink = admin.get("/v1/sinks")["sinks"][0].take();
        (sink["waiting"] == 0 && sink["published"].as_u64() >= Some(4)).then_some(sink)
    });
    assert!(sink["server"].is_string(), "{sink}");
    // It is counted from time to time.
    until("the metric to say so", || {
        (admin.metric("smsc_sink_waiting{sink=\"all\"}") == Some(0.0)).then_some(())
    });
}

#[test]
fn two_sinks_in_one_stream_are_noticed() {
    let nats = PrivateNats::of(&["sms.>"], Login::Nobody);
    let other =
        sink(&nats, "events = ['ended']\nsubject = 'sms.other'").replace("'all'", "'other'");
    let mut scene = scene(
        &nats,
        &format!("events = ['ended']\nsubject = 'sms.one'\n{other}"),
    );
    let admin = scene.smsc.admin();
    for theirs in ["a", "b"] {
        let id = scene.submit_as(theirs);
        scene.report(theirs, "DELIVRD");
        told_of(&nats, &id);
        until("both sinks to be done", || {
            let sinks = admin.get("/v1/sinks");
            let all = sinks["sinks"].as_array()?;
            let is_done =
                |sink: &Value| sink["waiting"] == 0 && sink["published"].as_u64() > Some(0);
            all.iter().all(is_done).then_some(())
        });
    }
    until("the cure to be told", || {
        let sinks = admin.get("/v1/sinks");
        let said = |sink: &Value| {
            sink["last_error"]
                .as_str()
                .is_some_and(|why| why.contains("stream of its own"))
        };
        sinks["sinks"].as_array()?.iter().any(said).then_some(())
    });
}

#[test]
fn receipts_and_binds_are_told_as_smpp_connector_does() {
    let nats = PrivateNats::of(&["sms.>", "operator.>"], Login::Nobody);
    let dlr = "events = ['dlr']\nsubject = 'sms.dlr.inbound'";
    let health = sink(&nats, "events = ['health']\nsubject = 'operator.health'");
    let health = health.replace("'all'", "'health'");
    let mut scene = scene(&nats, &format!("{dlr}\n{health}"));
    let id = scene.submit_as("1a2b");
    scene.report("1a2b", "UNDELIV");
    let on = |subject: &str| -> Vec<Published> {
        let all = nats.published().into_iter();
        all.filter(|one| one.subject == subject).collect()
    };
    let dlr = until("a receipt", || on("sms.dlr.inbound").pop());
    let dlr: Value = serde_json::from_slice(&dlr.body).unwrap();
    let keys: BTreeSet<&String> = dlr.as_object().unwrap().keys().collect();
    let documented = [
        "version",
        "eventId",
        "occurredAt",
        "messageId",
        "operatorMessageId",
        "operatorId",
        "status",
        "deliveredAt",
        "smppErrorCode",
    ]
    .map(str::to_owned);
    assert_eq!(keys, documented.iter().collect());
    let event_id = uuid::Uuid::try_parse(dlr["eventId"].as_str().unwrap()).unwrap();
    assert_eq!(event_id.get_version_num(), 5);
    assert_eq!(dlr["messageId"], *id);
    assert_eq!(dlr["operatorMessageId"], "1a2b");
    assert_eq!(dlr["operatorId"], "up");
    assert_eq!(dlr["status"], "UNDELIVERABLE");
    assert_eq!(dlr["deliveredAt"], Value::Null);
    let told = |count: usize| -> Vec<String> {
        until(&format!("{count} changes of binds"), || {
            let all = on("operator.health");
            let status = |one: &Published| -> String {
                let event: Value = serde_json::from_slice(&one.body).unwrap();
                assert_eq!(event["operatorId"], "up");
                event["status"].as_str().unwrap().to_owned()
            };
            (all.len() >= count).then(|| all.iter().map(status).collect())
        })
    };
    assert_eq!(told(1), ["BOUND"]);
    // The connection ends with the bind.
    scene.bind = Peer::bind(scene.smsc.smpp(), "test", "test");
    assert_eq!(told(2), ["BOUND", "UNBOUND"]);
    scene.bind = scene.operator.accept_bind();
    assert_eq!(told(3), ["BOUND", "UNBOUND", "BOUND"]);
}

#[test]
fn messages_that_nobody_reports_are_told_to_have_ended() {
    let nats = PrivateNats::of(&["sms.>"], Login::Nobody);
    let keys = "events = ['dlr']\nsubject = 'sms.dlr.inbound'";
    let mut scene = scene(&nats, keys);
    let refused = scene.submit();
    scene.refuse(CommandStatus::ESME_RINVDSTADR);
    scene.smsc.wait_for_final(&refused);
    // It expires before the operator, whose connection ends here, could have it.
    scene.bind = Peer::bind(scene.smsc.smpp(), "test", "test");
    let expired = scene.esme.submit(SubmitSm {
        validity_period: Bytes::from_static(b"000000000001000R"),
        ..submit("447700900123", "late")
    });
    scene.smsc.wait_for_final(&expired);
    let told = |id: &str| {
        until(&format!("the report of {id}"), || {
            let all = nats.published().into_iter();
            let mut all = all.map(|one| serde_json::from_slice::<Value>(&one.body).unwrap());
            all.find(|event| event["messageId"] == *id)
        })
    };
    let of_refused = told(&refused);
    assert_eq!(of_refused["status"], "REJECTED");
    assert_eq!(of_refused["operatorId"], "up");
    assert_eq!(of_refused["operatorMessageId"], Value::Null);
    assert_eq!(of_refused["smppErrorCode"], "11");
    assert_eq!(told(&expired)["status"], "EXPIRED");
}

#[test]
fn a_receipt_that_matches_nothing_is_told_without_a_message() {
    let nats = PrivateNats::of(&["sms.>"], Login::Nobody);
    let keys = "events = ['dlr']\nsubject = 'sms.dlr.inbound'";
    let section = sink(&nats, keys);
    let mut scene = Scene::with("", |smsc| {
        smsc.toml(&section)
            .toml("[correlation]\nearly_hold = \"50ms\"")
    });
    let nobodys = receipt("id:nobodys stat:UNDELIV err:042");
    assert_eq!(
        send_receipt(&mut scene.bind, nobodys),
        CommandStatus::ESME_ROK
    );
    let told = until("the report", || nats.published().pop());
    let told: Value = serde_json::from_slice(&told.body).unwrap();
    assert_eq!(told.get("messageId"), None, "{told}");
    assert_eq!(told["operatorMessageId"], "nobodys");
    assert_eq!(told["operatorId"], "up");
    assert_eq!(told["status"], "UNDELIVERABLE");
    assert_eq!(told["smppErrorCode"], "042");
}

#[test]
fn a_message_of_an_operator_is_told_with_its_text() {
    let nats = PrivateNats::of(&["sms.>"], Login::Nobody);
    let keys = "events = ['mo']\nformat = 'protobuf'\nsubject = 'sms.mo'";
    let section = sink(&nats, keys);
    let mut scene = Scene::of("addresses = ['12345']", "", |smsc| smsc.toml(&section));
    let mo = SubmitSm {
        short_message: Bytes::from_static(b"hello there"),
        registered_delivery: 0,
        ..submit("12345", "")
    };
    assert_eq!(send_receipt(&mut scene.bind, mo), CommandStatus::ESME_ROK);
    let told = until("an MO message", || nats.published().pop());
    let event = Event::decode(&told.body[..]).unwrap();
    assert_eq!((&*event.event, &*event.kind), ("mo", "MO"));
    assert_eq!((&*event.to, &*event.text), ("12345", "hello there"));
    assert_eq!((&*event.account, &*event.operator), ("test", "operator:up"));
    assert_eq!(told.id, event.event_id);
}

/// A sink that comes by REST, logs in with a file, and goes again.
fn comes_and_goes(login: Login, field: &str, secret: &str) {
    let nats = PrivateNats::of(&["sms.>"], login);
    let mut scene = Scene::with("", |smsc| smsc.with_api().http("files_dir = 'files'"));
    std::fs::create_dir(scene.smsc.file("files")).unwrap();
    let file = scene.smsc.file("files/secret");
    std::fs::write(&file, secret).unwrap();
    let admin = scene.smsc.admin();
    let mut body =
        json!({ "servers": [nats.url()], "events": ["accepted", "ended"], "timeout": "1s" });
    let reader = admin.with_role("read", "reader");
    let put = |body: &Value| admin.call("PUT", "/v1/event-sinks/late", Some(body));
    assert_eq!(
        reader.call("PUT", "/v1/event-sinks/late", Some(&body)).0,
        403
    );
    assert_eq!(put(&body).0, 201);
    let state = || reader.get("/v1/sinks")["sinks"][0].clone();
    let id = scene.submit_as("a");
    scene.report("a", "DELIVRD");
    until("a refused login", || {
        state()["last_error"].is_string().then_some(())
    });
    assert!(state()["waiting"].as_u64() > Some(0));
    body[field] = file.display().to_string().into();
    if field == "password_file" {
        body["user"] = "smsc".into();
    }
    let changed = put(&body);
    assert_eq!(changed.0, 200, "{changed:?}");
    assert_eq!(names(&told_of(&nats, &id)), ["accepted", "ended"]);
    until("nothing that waits", || {
        (state()["waiting"] == 0).then_some(())
    });
    let shown = scene.smsc.command(&["sink", "show", "late"]);
    assert!(shown.stdout.contains("accepted, ended"), "{shown:?}");
    assert_eq!(admin.call("DELETE", "/v1/event-sinks/late", None).0, 200);
    until("no sink", || {
        (admin.get("/v1/sinks")["sinks"] == json!([])).then_some(())
    });
    let untold = scene.submit_as("b");
    scene.report("b", "DELIVRD");
    scene.smsc.wait_for_final(&untold);
    // Under its name it goes on where it was: what had been kept for it would come first.
    assert_eq!(put(&body).0, 201);
    let told = scene.submit_as("c");
    scene.report("c", "DELIVRD");
    assert_eq!(names(&told_of(&nats, &told)), ["accepted", "ended"]);
    let events = nats.events();
    assert!(events.iter().all(|(_, event)| event["id"] != *untold));
}

#[test]
fn a_sink_logs_in_with_a_password() {
    let login = Login::User("smsc".to_owned(), "secret".to_owned());
    comes_and_goes(login, "password_file", "secret\n");
}

#[test]
fn a_sink_logs_in_with_a_token() {
    comes_and_goes(Login::Token("secret".to_owned()), "token_file", "secret\n");
}

#[test]
fn a_sink_logs_in_with_a_credentials_file() {
    let login = Login::jwt();
    let Login::Jwt { credentials, .. } = login.clone() else {
        panic!("no credentials");
    };
    comes_and_goes(login, "credentials_file", &credentials);
}

#[test]
fn a_broker_that_is_away_costs_no_event_and_no_order() {
    let mut nats = PrivateNats::of(&["sms.>"], Login::Nobody);
    let mut scene = scene(&nats, "events = ['accepted', 'sent', 'ended']");
    nats.kill9();
    let first = scene.submit_as("a");
    scene.report("a", "DELIVRD");
    until("a failure", || {
        let sinks = scene.smsc.admin().get("/v1/sinks");
        sinks["sinks"][0]["last_error"].is_string().then_some(())
    });
    scene.kill_and_start_again();
    let second = scene.submit_as("b");
    scene.report("b", "DELIVRD");
    nats.restart();
    for id in [first, second] {
        assert_eq!(names(&told_of(&nats, &id)), ["accepted", "sent", "ended"]);
    }
}

#[test]
fn three_nodes_tell_everything_in_order_when_the_publishing_one_is_killed() {
    let nats = PrivateNats::of(&["sms.>"], Login::Nobody);
    let section = sink(&nats, &format!("events = {ALL}"));
    let told = || {
        let mut told: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (_, event) in nats.events() {
            if let Some(id) = event["id"].as_str() {
                told.entry(id.to_owned()).or_default().push(event);
            }
        }
        told
    };
    let names = |events: &[Value]| names(events).into_iter().map(str::to_owned).collect();
    told_although_the_publishing_node_is_killed(section, told, names);
    let ids: Vec<String> = nats.events().into_iter().map(|one| one.0).collect();
    let different: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(
        different.len(),
        ids.len(),
        "the stream drops what comes twice"
    );
}
