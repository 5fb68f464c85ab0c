//! Pain 24 of other products: a batch is answered with success and nothing is sent, or is sent twice because nobody
//! could ask. Here each item has a result and an id whose state can be read, and an Idempotency-Key makes a repeated
//! request harmless, after a crash and on another node too.

use super::delivering;
use crate::harness::{Admin, Answer, Cluster, Simulator, Smsc, until};
use serde_json::{Value, json};

const KEY: &str = "Idempotency-Key";

fn order(numbers: &[&str]) -> Value {
    json!({ "to": numbers, "from": "ACME", "text": "hello" })
}

fn send(api: &Admin, key: &str, order: &Value) -> Answer {
    api.request("POST", "/v1/messages", &[(KEY, key)], Some(order))
}

fn count(api: &Admin) -> usize {
    let listed = api.get("/v1/messages?limit=1000");
    listed["messages"].as_array().unwrap().len()
}

#[test]
fn each_item_has_a_result_and_a_state() {
    let simulator = Simulator::new().start();
    let smsc = Smsc::new()
        .with_api()
        .relaying_to(simulator.address())
        .start();
    let api = smsc.api_of("test", "both");
    let batch = json!({ "messages": [
        { "to": "447700900001", "from": "ACME", "text": "one" },
        { "to": "not a number", "from": "ACME", "text": "two" },
        { "to": ["447700900003", "447700900004"], "from": "ACME", "text": "three" },
    ] });
    let answer = send(&api, "batch", &batch);
    assert_eq!(answer.status, 202, "{}", answer.body);
    let results = answer.body["messages"].as_array().unwrap().clone();
    assert_eq!(results.len(), 4);
    for result in results {
        let Some(id) = result["id"].as_str() else {
            assert_eq!(result["error"]["field"], "to", "{result}");
            continue;
        };
        until("the message is delivered", || {
            let message = api.get(&format!("/v1/messages/{id}"));
            (message["state"] == "DELIVERED").then_some(())
        });
    }
    assert_eq!(simulator.wait_for(3).len(), 3);
    // A repetition says the same of each, the refused one included, and sends nothing.
    let again = send(&api, "batch", &batch);
    assert_eq!((again.status, &again.body), (202, &answer.body));
    assert_eq!(count(&api), 3);
}

#[test]
fn a_key_is_for_one_request() {
    let smsc = Smsc::new()
        .with_api()
        .account("test", "test")
        .account("other", "other")
        .route("", "test:delivered")
        .start();
    let api = smsc.api_of("test", "both");
    let first = send(&api, "k", &order(&["447700900001"]));
    assert_eq!(first.status, 202);
    let other = send(&api, "k", &order(&["447700900002"]));
    assert_eq!(
        (other.status, other.body["field"].as_str()),
        (422, Some(KEY))
    );
    // Keys of other accounts are other keys.
    let theirs = smsc.api_of("other", "both");
    assert_eq!(send(&theirs, "k", &order(&["447700900001"])).status, 202);
    assert_eq!((count(&api), count(&theirs)), (1, 1));
    // What was refused as a whole may be repeated under its key.
    let refused = json!({ "to": "447700900003", "from": "ACME", "text": "x", "valid_until": "2001-01-01T00:00:00Z" });
    assert_eq!(send(&api, "r", &refused).status, 422);
    assert_eq!(send(&api, "r", &order(&["447700900003"])).status, 202);
    for key in ["", &"x".repeat(256)] {
        let answer = send(&api, key, &order(&["447700900001"]));
        assert_eq!(answer.status, 400, "{}", answer.body);
    }
}

#[test]
fn a_request_repeated_after_a_kill_has_the_same_answer() {
    let mut smsc = delivering();
    let api = smsc.api_of("test", "both");
    let before = send(&api, "k", &order(&["447700900001", "447700900002"]));
    assert_eq!(before.status, 202);
    smsc.kill();
    smsc.fsck();
    smsc.start_again();
    let after = until("the key is known again", || {
        let after = send(&api, "k", &order(&["447700900001", "447700900002"]));
        (after.status == 202).then_some(after)
    });
    assert_eq!(after.body, before.body);
    assert_eq!(count(&api), 2);
}

#[test]
fn requests_that_race_on_two_nodes_are_carried_out_once() {
    let cluster = Cluster::of(2)
        .each(|smsc| {
            smsc.with_api()
                .account("test", "test")
                .route("", "test:delivered")
        })
        .start();
    let admin = cluster.nodes[0].admin();
    let new = json!({ "account": "test", "role": "both" });
    let (_, made) = admin.call("POST", "/v1/api-keys", Some(&new));
    let key = made["secret"].as_str().unwrap();
    let apis = [0, 1].map(|node: usize| cluster.nodes[node].api(key));
    until("both nodes know the key", || {
        let statuses = apis
            .iter()
            .map(|api| api.call("GET", "/v1/messages", None).0);
        statuses
            .into_iter()
            .all(|status| status == 200)
            .then_some(())
    });
    let racing: Vec<_> = (0..8)
        .map(|n| {
            let api = apis[n % 2].clone();
            std::thread::spawn(move || send(&api, "race", &order(&["447700900001"])))
        })
        .collect();
    let answers: Vec<Answer> = racing.into_iter().map(|one| one.join().unwrap()).collect();
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert!(
        statuses.iter().all(|status| [202, 409].contains(status)),
        "{statuses:?}"
    );
    let accepted: Vec<&Value> = answers
        .iter()
        .filter(|answer| answer.status == 202)
        .map(|answer| &answer.body)
        .collect();
    assert!(!accepted.is_empty(), "{statuses:?}");
    assert!(
        accepted.windows(2).all(|pair| pair[0] == pair[1]),
        "{accepted:?}"
    );
    assert_eq!(count(&apis[0]), 1);
    let late = send(&apis[1], "race", &order(&["447700900001"]));
    assert_eq!((late.status, &late.body), (202, accepted[0]));
}

#[test]
fn a_request_that_is_being_carried_out_is_not_begun_again() {
    let smsc = delivering();
    let api = smsc.api_of("test", "both");
    let store = rusqlite::Connection::open(smsc.data_dir().join("smsc.db")).unwrap();
    // Nothing becomes durable while somebody else writes.
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (tell, told) = std::sync::mpsc::sync_channel(2);
    for _ in 0..2 {
        let (api, tell) = (api.clone(), tell.clone());
        std::thread::spawn(move || {
            let answer = send(&api, "k", &order(&["447700900001"]));
            tell.send(answer).unwrap();
        });
    }
    let refused = told.recv().unwrap();
    assert_eq!(refused.status, 409, "{}", refused.body);
    let kind = refused.body["type"].as_str().unwrap();
    assert!(kind.ends_with("idempotency-key-in-progress"), "{kind}");
    assert_ne!(refused.header("retry-after"), "");
    store.execute_batch("ROLLBACK").unwrap();
    let accepted = told.recv().unwrap();
    assert_eq!(accepted.status, 202, "{}", accepted.body);
    let after = send(&api, "k", &order(&["447700900001"]));
    assert_eq!((after.status, &after.body), (202, &accepted.body));
    assert_eq!(count(&api), 1);
}
