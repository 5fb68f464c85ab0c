//! Ends of messages as events on NATS JetStream, by a real server: nothing lost, nothing twice in the stream.

use std::collections::BTreeSet;

use crate::harness::{Cluster, Peer, PrivateNats, Scene, submit, until};
use serde_json::Value;

const SUBJECT: &str = "sms.events.status";

fn scene(nats: &PrivateNats) -> Scene {
    let section = format!("[nats]\nservers = ['{}']\ntimeout = '1s'", nats.url());
    Scene::with("", |smsc| smsc.with_api().toml(&section))
}

/// The events, once there are so many.
fn events(nats: &PrivateNats, count: usize) -> Vec<(String, Value)> {
    let all = until(&format!("{count} events"), || {
        let all = nats.events();
        (all.len() >= count).then_some(all)
    });
    assert_eq!(all.len(), count, "no more than expected: {all:?}");
    all
}

fn end(scene: &mut Scene, theirs: &str, stat: &str) {
    scene.submit_as(theirs);
    scene.report(theirs, stat);
}

#[test]
fn each_ended_message_is_an_event_with_its_record() {
    let nats = PrivateNats::start(SUBJECT);
    let mut scene = scene(&nats);
    end(&mut scene, "a", "DELIVRD");
    end(&mut scene, "b", "UNDELIV");
    let events = events(&nats, 2);
    let mut states = BTreeSet::new();
    for (id, event) in &events {
        assert_eq!(*id, format!("{}.ended", event["id"].as_str().unwrap()));
        assert_eq!(event["account"], "test");
        assert_eq!(event["operator"], "operator:up");
        assert_eq!(event["to"], "447700900123");
        states.insert(event["state"].as_str().unwrap());
    }
    assert_eq!(states, BTreeSet::from(["DELIVERED", "UNDELIVERABLE"]));
    let read = "smsc_outbox_read_total{reader=\"nats\"}";
    until("events to be finished", || {
        (scene.metric(read) == 2.0).then_some(())
    });
}

#[test]
fn events_wait_while_nats_is_down_and_outlive_a_kill() {
    let mut nats = PrivateNats::start(SUBJECT);
    let mut scene = scene(&nats);
    end(&mut scene, "a", "DELIVRD");
    events(&nats, 1);
    nats.kill9();
    end(&mut scene, "b", "DELIVRD");
    scene.kill_and_start_again();
    end(&mut scene, "c", "DELIVRD");
    nats.restart();
    let ids: BTreeSet<String> = events(&nats, 3).into_iter().map(|one| one.0).collect();
    assert_eq!(ids.len(), 3, "each has an id of its own");
}

#[test]
fn another_node_publishes_when_one_is_killed() {
    const EACH: usize = 20;
    let nats = PrivateNats::start(SUBJECT);
    let section = format!("[nats]\nservers = ['{}']\ntimeout = '1s'", nats.url());
    let mut cluster = Cluster::of(2).short_lease().delivering(section).start();
    let mut esme = Peer::bind(cluster.nodes[1].smpp(), "test", "test");
    let mut send = || -> BTreeSet<String> {
        (0..EACH)
            .map(|at| esme.submit(submit(&format!("4477009001{at:02}"), "hello")))
            .collect()
    };
    let mut sent = send();
    events(&nats, EACH);
    // The one that came first does the work for both.
    cluster.nodes[0].kill();
    sent.append(&mut send());
    let told: BTreeSet<String> = events(&nats, 2 * EACH)
        .iter()
        .map(|(_, event)| event["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(told, sent);
}
