//! Event sinks on Kafka, by librdkafka's mock of its brokers and a consumer of confluent-kafka: every state in order in
//! the partition of its message, nothing lost when the brokers are away or a node is killed, and what comes twice has the
//! same id. `event_sinks.rs` has what does not depend on the broker.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message as _;
use serde_json::{Value, json};
use smsc::pb::events::Event;

use crate::harness::{
    Authority, KafkaCluster, KafkaRecord, Scene, told_although_the_publishing_node_is_killed, until,
};

const STATES: &str = "events = ['accepted', 'sent', 'ended']";

fn sink(kafka: &KafkaCluster, keys: &str) -> String {
    format!(
        "[[event_sink]]\nname = 'all'\nkind = 'kafka'\nservers = {}\ntimeout = '2s'\n{keys}\n",
        kafka.servers()
    )
}

fn scene(kafka: &KafkaCluster, keys: &str) -> Scene {
    let section = sink(kafka, keys);
    Scene::with("retry.delays = ['50ms']", |smsc| {
        smsc.with_api().toml(&section)
    })
}

/// What is published of a message, once it has ended: each event once, in the order of its partition.
fn told_of(kafka: &KafkaCluster, id: &str) -> Vec<KafkaRecord> {
    until(&format!("the end of {id}"), || {
        let records = kafka.records();
        let mut of: Vec<KafkaRecord> = records.into_iter().filter(|one| one.key == id).collect();
        let has_ended = of.iter().any(|one| one.event()["event"] == "ended");
        let mut seen = BTreeSet::new();
        of.retain(|one| seen.insert(one.id().to_owned()));
        has_ended.then_some(of)
    })
}

fn names(records: &[KafkaRecord]) -> Vec<String> {
    let name = |one: &KafkaRecord| one.event()["event"].as_str().unwrap().to_owned();
    records.iter().map(name).collect()
}

/// What the admin API says of the only sink.
fn state(scene: &Scene) -> Value {
    scene.smsc.admin().get("/v1/sinks")["sinks"][0].clone()
}

#[test]
fn events_of_a_message_are_in_one_partition_in_order() {
    let kafka = KafkaCluster::start(5, &["sms.events"]);
    let mut scene = scene(&kafka, STATES);
    let mut partitions = BTreeSet::new();
    for number in 0..8 {
        let theirs = format!("theirs{number}");
        let id = scene.submit_as(&theirs);
        scene.report(&theirs, "DELIVRD");
        let told = told_of(&kafka, &id);
        assert_eq!(names(&told), ["accepted", "sent", "ended"]);
        for one in &told {
            let event = one.event();
            assert_eq!((&*one.key, event["id"].as_str()), (&*id, Some(&*id)));
            assert_eq!(Some(one.id()), event["event_id"].as_str());
            assert_eq!(one.headers["content-type"], "application/json");
            assert_eq!(one.partition, told[0].partition, "{id}");
            assert_eq!(one.partition, one.chosen, "as other producers choose");
        }
        assert!(told.is_sorted_by_key(|one| one.offset), "{told:?}");
        partitions.insert(told[0].partition);
    }
    assert!(
        partitions.len() > 1,
        "one partition has all: {partitions:?}"
    );
    let sink = until("nothing that waits", || {
        let sink = state(&scene);
        (sink["waiting"] == 0 && sink["published"].as_u64() >= Some(24)).then_some(sink)
    });
    assert_eq!(
        (&sink["kind"], &sink["subject"]),
        (&json!("kafka"), &json!("sms.events"))
    );
    // It is counted from time to time.
    until("the metric to say so", || {
        let metric = scene.smsc.admin().metric("smsc_sink_waiting{sink=\"all\"}");
        (metric == Some(0.0)).then_some(())
    });
    let shown = scene.smsc.command(&["sink", "show", "all"]);
    assert!(
        shown.stdout.contains("topic           sms.events"),
        "{shown:?}"
    );
}

#[test]
fn a_topic_for_each_kind_of_event_and_protobuf() {
    let kafka = KafkaCluster::start(2, &["sms.accepted.test", "sms.ended.test", "binds"]);
    let keys =
        "events = ['accepted', 'ended']\ntopic = 'sms.{event}.{account}'\nformat = 'protobuf'";
    let health = sink(&kafka, "events = ['health']\ntopic = 'binds'").replace("'all'", "'health'");
    let mut scene = scene(&kafka, &format!("{keys}\n{health}"));
    let id = scene.submit_as("theirs");
    scene.report("theirs", "DELIVRD");
    let on = |topic: &str| {
        until(topic, || {
            kafka.records().into_iter().find(|one| one.topic == topic)
        })
    };
    for (topic, name) in [
        ("sms.accepted.test", "accepted"),
        ("sms.ended.test", "ended"),
    ] {
        let record = on(topic);
        let event = Event::decode(&record.body()[..]).unwrap();
        assert_eq!((&*event.event, &*event.id), (name, &*id));
        assert_eq!(record.headers["content-type"], "application/x-protobuf");
        assert_eq!(record.id(), event.event_id);
    }
    let bound = on("binds");
    assert_eq!(
        (&*bound.key, bound.event()["status"].as_str()),
        ("operator:up", Some("BOUND"))
    );
}

#[test]
fn brokers_that_are_away_cost_no_event_and_no_order() {
    let mut kafka = KafkaCluster::start(3, &["sms.events"]);
    let mut scene = scene(&kafka, STATES);
    let before = scene.submit_as("a");
    scene.report("a", "DELIVRD");
    told_of(&kafka, &before);
    kafka.take_away();
    let first = scene.submit_as("b");
    scene.report("b", "DELIVRD");
    until("a failure", || {
        state(&scene)["last_error"].is_string().then_some(())
    });
    assert!(state(&scene)["waiting"].as_u64() > Some(0));
    scene.kill_and_start_again();
    let second = scene.submit_as("c");
    scene.report("c", "DELIVRD");
    kafka.bring_back();
    for id in [first, second] {
        assert_eq!(names(&told_of(&kafka, &id)), ["accepted", "sent", "ended"]);
    }
    until("nothing that waits", || {
        (state(&scene)["waiting"] == 0).then_some(())
    });
}

#[test]
fn what_a_broker_refuses_for_now_is_published_again() {
    // MESSAGE_TOO_LARGE, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT.
    let kafka = KafkaCluster::failing(&[10, 6, 19, 7], &["sms.events"]);
    let mut scene = scene(&kafka, STATES);
    let id = scene.submit_as("a");
    scene.report("a", "DELIVRD");
    assert_eq!(names(&told_of(&kafka, &id)), ["accepted", "sent", "ended"]);
    until("nothing that waits", || {
        (state(&scene)["waiting"] == 0).then_some(())
    });
}

#[test]
fn a_topic_that_is_missing_is_named() {
    let kafka = KafkaCluster::start(1, &["sms.events"]);
    let mut scene = Scene::with("", |smsc| smsc.with_api());
    let admin = scene.smsc.admin();
    let servers: Value = serde_json::from_str(&kafka.servers()).unwrap();
    let mut body = json!({
        "kind": "kafka", "servers": servers, "topic": "sms.none", "events": ["accepted", "sent", "ended"],
        "timeout": "2s",
    });
    let put = |body: &Value| admin.call("PUT", "/v1/event-sinks/all", Some(body)).0;
    let reader = admin.with_role("read", "reader");
    assert_eq!(
        reader.call("PUT", "/v1/event-sinks/all", Some(&body)).0,
        403
    );
    assert_eq!(put(&body), 201);
    let id = scene.submit_as("a");
    scene.report("a", "DELIVRD");
    until("an error that names the topic", || {
        let error = state(&scene)["last_error"].as_str()?.to_owned();
        error.contains("no topic \"sms.none\"").then_some(())
    });
    body["topic"] = "sms.events".into();
    assert_eq!(put(&body), 200);
    assert_eq!(names(&told_of(&kafka, &id)), ["accepted", "sent", "ended"]);
    assert_eq!(admin.call("DELETE", "/v1/event-sinks/all", None).0, 200);
    until("no sink", || {
        (admin.get("/v1/sinks")["sinks"] == json!([])).then_some(())
    });
}

#[test]
fn a_sink_logs_in_by_every_mechanism_over_tls() {
    let authority = Authority::new("brokers");
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = authority
        .sign("localhost")
        .write(folder.path(), "certificate");
    std::fs::rename(key, folder.path().join("key.pem")).unwrap();
    std::fs::write(folder.path().join("authority.pem"), &authority.pem).unwrap();
    std::fs::write(folder.path().join("password"), "pencil\n").unwrap();
    std::fs::write(folder.path().join("wrong"), "crayon\n").unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let kafka = KafkaCluster::behind_doors(folder.path(), &["sms.events"]);
    let mut scene = Scene::with("", |smsc| {
        smsc.with_api()
            .http(&format!("files_dir = '{}'", folder.path().display()))
    });
    let admin = scene.smsc.admin();
    let servers: Value = serde_json::from_str(&kafka.servers()).unwrap();
    let sink = |mechanism: &str, password: &str, authority: &str| {
        let body = json!({
            "kind": "kafka", "servers": servers, "events": ["ended"], "timeout": "5s", "tls": true,
            "user": "smsc", "password_file": file(password), "sasl_mechanism": mechanism,
            "ca_file": file(authority), "cert_file": certificate, "key_file": file("key.pem"),
        });
        let put = admin.call("PUT", "/v1/event-sinks/all", Some(&body));
        assert!(matches!(put.0, 200 | 201), "{put:?}");
    };
    let failed_with = |scene: &Scene, part: &str| {
        until(part, || {
            let error = state(scene)["last_error"].as_str()?.to_owned();
            error.contains(part).then_some(())
        });
    };
    sink("SCRAM-SHA-512", "wrong", "authority.pem");
    let mut theirs = 0;
    let mut ended = |scene: &mut Scene| {
        theirs += 1;
        let id = scene.submit_as(&theirs.to_string());
        scene.report(&theirs.to_string(), "DELIVRD");
        id
    };
    let first = ended(&mut scene);
    failed_with(&scene, "SaslAuthenticationFailed");
    let other = Authority::new("other");
    std::fs::write(folder.path().join("other.pem"), &other.pem).unwrap();
    sink("SCRAM-SHA-512", "password", "other.pem");
    failed_with(&scene, "is not trusted here");
    for mechanism in ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"] {
        let before = kafka.logins(mechanism);
        sink(mechanism, "password", "authority.pem");
        // The first one may still go by the connection of before.
        until(mechanism, || {
            let id = ended(&mut scene);
            assert_eq!(names(&told_of(&kafka, &id)), ["ended"], "{mechanism}");
            (kafka.logins(mechanism) > before).then_some(())
        });
    }
    assert_eq!(names(&told_of(&kafka, &first)), ["ended"]);
}

#[test]
fn three_nodes_tell_everything_in_order_when_the_publishing_one_is_killed() {
    let kafka = KafkaCluster::start(4, &["sms.events"]);
    let section = sink(&kafka, STATES);
    let told = || {
        // The order in which each was there first: what comes twice has the id of before.
        let (mut told, mut ids) = (BTreeMap::<String, Vec<KafkaRecord>>::new(), BTreeSet::new());
        for record in kafka.records() {
            if ids.insert(record.id().to_owned()) {
                told.entry(record.key.clone()).or_default().push(record);
            }
        }
        told
    };
    let told = told_although_the_publishing_node_is_killed(section, told, names);
    for (id, records) in told {
        let names = names(&records);
        let different: BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{id}: {names:?}");
    }
}
