//! Event sinks on a broker of Kafka that is neither librdkafka nor ours (tansu), by a consumer that is neither (aiokafka):
//! every state of every message once, in order, in the partition of its message, also of what was published while
//! the broker was killed.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::{KafkaCluster, KafkaRecord, Scene, until};

/// Messages before the broker is killed, and as many while it is away.
const MESSAGES: usize = 40;

fn scene(kafka: &KafkaCluster) -> Scene {
    // What is not acknowledged within twice this time is published again, and is then in the topic twice.
    let section = format!(
        "[[event_sink]]\nname = 'all'\nkind = 'kafka'\nservers = {}\ntimeout = '20s'\nevents = ['accepted', 'sent', 'ended']\n",
        kafka.servers()
    );
    Scene::with("retry.delays = ['50ms']", |smsc| smsc.toml(&section))
}

/// Sends messages that are delivered; gives their ids.
fn deliver(scene: &mut Scene, name: &str) -> BTreeSet<String> {
    (0..MESSAGES)
        .map(|number| {
            let theirs = format!("{name}{number}");
            let id = scene.submit_as(&theirs);
            scene.report(&theirs, "DELIVRD");
            id
        })
        .collect()
}

/// The records of these messages, once the last event of each is there.
fn records_of(kafka: &KafkaCluster, ids: &BTreeSet<String>) -> BTreeMap<String, Vec<KafkaRecord>> {
    until("the ends of all messages", || {
        let mut found: BTreeMap<String, Vec<KafkaRecord>> = BTreeMap::new();
        let records = kafka.records().into_iter();
        for record in records.filter(|record| ids.contains(&record.key)) {
            found.entry(record.key.clone()).or_default().push(record);
        }
        let ended = |records: &Vec<KafkaRecord>| records.iter().any(|one| event(one) == "ended");
        (found.len() == ids.len() && found.values().all(ended)).then_some(found)
    })
}

fn event(record: &KafkaRecord) -> String {
    record.event()["event"].as_str().unwrap().to_owned()
}

#[test]
fn nothing_is_lost_on_a_broker_that_is_killed() {
    let mut kafka = KafkaCluster::tansu(5, &["sms.events"]);
    let mut scene = scene(&kafka);
    let ids = deliver(&mut scene, "before");
    let mut partitions = BTreeSet::new();
    for (id, records) in records_of(&kafka, &ids) {
        let events: Vec<String> = records.iter().map(event).collect();
        assert_eq!(events, ["accepted", "sent", "ended"], "{id}");
        assert!(records.is_sorted_by_key(|one| one.offset), "{records:?}");
        for one in &records {
            assert_eq!(Some(one.id()), one.event()["event_id"].as_str());
            assert_eq!(one.partition, one.chosen, "as other producers choose");
        }
        partitions.insert(records[0].partition);
    }
    assert!(partitions.len() > 1, "one partition has all");

    kafka.take_away();
    let ids = deliver(&mut scene, "away");
    let sink = || scene.smsc.admin().get("/v1/sinks")["sinks"][0].clone();
    until("a failure", || {
        sink()["last_error"].is_string().then_some(())
    });
    kafka.bring_back();
    // What came twice has the same event id.
    for (id, records) in records_of(&kafka, &ids) {
        let mut seen = BTreeSet::new();
        let once = records
            .iter()
            .filter(|one| seen.insert(one.id().to_owned()));
        let events: Vec<String> = once.map(event).collect();
        assert_eq!(events, ["accepted", "sent", "ended"], "{id}");
    }
    until("nothing that waits", || {
        (sink()["waiting"] == 0).then_some(())
    });
}
