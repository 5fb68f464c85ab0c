//! Ends of messages that wait in a store for the section `[nats]` of a build before: told, and published by the event sink
//! that replaces it.

use serde_json::json;

use crate::harness::{PrivateNats, Scene, until};

const SUBJECT: &str = "sms.events.status";

#[test]
fn what_waits_for_the_section_is_published_by_the_sink_that_replaces_it() {
    let nats = PrivateNats::start(SUBJECT);
    let mut scene = Scene::with("", |smsc| smsc.with_api());
    let id = scene.submit_as("a");
    scene.report("a", "DELIVRD");
    scene.smsc.wait_for_final(&id);
    scene.smsc.kill();
    let file = scene.smsc.data_dir().join("smsc.db");
    let open = || rusqlite::Connection::open(&file).unwrap();
    let store = open();
    let octets = id.parse::<u64>().unwrap().to_be_bytes();
    store
        .execute(
            "INSERT INTO outbox(reader, kind, at, ids) VALUES(3, 1, unixepoch() * 1000, ?1)",
            [octets],
        )
        .unwrap();
    drop(store);
    scene.smsc.start_again();
    until("what waits to be told", || {
        let waiting = scene.metric("smsc_outbox_waiting{reader=\"nats\"}");
        (waiting == 1.0).then_some(())
    });
    assert!(scene.smsc.log().contains("outbox.hold"));

    let sink = json!({"servers": [nats.url()], "events": ["ended"], "subject": SUBJECT});
    let admin = scene.smsc.admin();
    let put = |name: &str| {
        let path = format!("/v1/event-sinks/{name}");
        let (status, body) = admin.call("PUT", &path, Some(&sink));
        assert_eq!(status, 201, "{body}");
    };
    put("other");
    put("nats");
    let (event_id, event) = until("the event", || nats.events().pop());
    assert_eq!(event_id, format!("{id}.ended"));
    assert_eq!(
        (&event["id"], &event["state"]),
        (&json!(id), &json!("DELIVERED"))
    );
    until("nothing to wait any more", || {
        let waiting = "SELECT count(*) FROM outbox WHERE reader = 3";
        let waiting: i64 = open().query_row(waiting, [], |row| row.get(0)).unwrap();
        (waiting == 0).then_some(())
    });
    assert_eq!(nats.events().len(), 1, "of one sink");
}
