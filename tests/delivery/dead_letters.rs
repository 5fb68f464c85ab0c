//! Failed messages are listed with their attempts and replayed; receipts that match nothing are listed,
//! matched by hand and dropped. On one node, and where another node has the queue.

use crate::harness::{
    Admin, Cluster, FakeOperator, Peer, Scene, Smsc, accept, answer, next_submit, stat_of, submit,
    taken, until,
};
use bytes::Bytes;
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus, SubmitSm};

const TO: &str = "447700900123";
const DELIVERED: u32 = 2;
const UNDELIVERABLE: u32 = 5;
const REJECTED: u32 = 8;

fn text(of: &str) -> Bytes {
    Bytes::copy_from_slice(of.as_bytes())
}

/// Sends a receipt as an operator.
fn receipt(link: &mut Peer, id: &str, stat: &str, error: &str) {
    link.request(Body::DeliverSm(SubmitSm {
        source_addr: text(TO),
        destination_addr: text("12345"),
        esm_class: 4,
        short_message: text(&format!(
            "id:{id} sub:001 dlvrd:000 submit date:2601010000 done date:2601010000 stat:{stat} err:{error} text:"
        )),
        ..SubmitSm::default()
    }));
}

fn replay(admin: &Admin, id: &str, how: &Value) -> (u16, Value) {
    admin.call("POST", &format!("/v1/messages/{id}/replay"), Some(how))
}

/// Replays a message; returns the id of the new one.
fn replayed(admin: &Admin, id: &str, how: &Value) -> String {
    let (status, said) = replay(admin, id, how);
    assert_eq!(status, 200, "{said}");
    said["message"].as_str().unwrap().to_owned()
}

/// Why a replay is refused.
fn refused(admin: &Admin, id: &str, how: &Value) -> String {
    let (status, said) = replay(admin, id, how);
    assert_eq!(status, 409, "{said}");
    said["detail"].as_str().unwrap().to_owned()
}

fn ids(list: &Value) -> Vec<String> {
    let all = list["messages"].as_array().unwrap();
    all.iter()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The receipts that match nothing, once there are `count` of them.
fn unmatched(admin: &Admin, count: usize) -> Vec<Value> {
    until(&format!("{count} unmatched receipts"), || {
        let list = admin.get("/v1/receipts/unmatched");
        let all = list["receipts"].as_array().unwrap().clone();
        (all.len() == count).then_some(all)
    })
}

fn three_are_found_by_filter_and_page(admin: &Admin, failed: &[String]) {
    for (filter, count) in [
        ("operator=up", 3),
        ("operator=other", 0),
        ("error=ESME_RINVDSTADR&account=test", 3),
        ("error=12", 0),
        ("state=EXPIRED", 0),
        ("state=rejected&to=%2B447700900123", 3),
        ("to=447700900124", 0),
        ("until=2001-01-01", 0),
        ("since=2001-01-01", 3),
        ("replayed=true", 0),
    ] {
        let list = admin.get(&format!("/v1/dead-letters?{filter}"));
        assert_eq!(ids(&list).len(), count, "{filter}: {list}");
    }
    let page = admin.get("/v1/dead-letters?limit=2");
    let before = page["next_before"].as_str().unwrap();
    let rest = admin.get(&format!("/v1/dead-letters?limit=2&before={before}"));
    assert_eq!(ids(&rest), [failed[0].clone()], "{rest}");
    assert!(rest["next_before"].is_null(), "{rest}");
}

/// `failed` is final, `waiting` has not ended.
fn what_cannot_be_replayed(admin: &Admin, failed: &str, waiting: &str) {
    let (status, said) = replay(admin, "17", &json!({}));
    assert_eq!(status, 404, "{said}");
    assert!(refused(admin, waiting, &json!({})).contains("not final"));
    let (status, said) = replay(admin, failed, &json!({ "to": "account:test" }));
    assert_eq!(status, 409, "{said}");
    let (status, said) = replay(admin, failed, &json!({ "validity": "never" }));
    assert_eq!(status, 400, "{said}");
    let reader = admin.with_role("read", "reader");
    assert_eq!(replay(&reader, failed, &json!({})).0, 403);
    let erased = admin.call("DELETE", &format!("/v1/subscribers/{TO}/messages"), None);
    assert_eq!(erased.0, 200, "{}", erased.1);
    let again = json!({ "again": true });
    assert!(refused(admin, failed, &again).contains("erased"));
}

#[test]
fn what_has_failed_since_a_moment_is_listed_by_its_end() {
    let mut scene = Scene::new("");
    let admin = scene.smsc.admin();
    // Accepted first, and the last to end.
    let late = scene.submit_as("a");
    let early = scene.submit();
    scene.refuse(CommandStatus::ESME_RINVDSTADR);
    let ended = scene.smsc.wait_for_final(&early)["final"]["at"].clone();
    let ended: jiff::Timestamp = ended.as_str().unwrap().parse().unwrap();
    let between = ended.as_millisecond() + 1;
    until("the clock to go on", || {
        (smsc::clock::now_ms() > between).then_some(())
    });
    scene.report("a", "UNDELIV");
    scene.smsc.wait_for_final(&late);
    for (query, listed) in [
        ("dead-letters?order=ended".to_owned(), vec![&late, &early]),
        (
            "dead-letters?order=accepted".to_owned(),
            vec![&early, &late],
        ),
        ("dead-letters".to_owned(), vec![&early, &late]),
        (format!("dead-letters?ended_since={between}"), vec![&late]),
        (format!("dead-letters?ended_until={between}"), vec![&early]),
        (
            format!("dead-letters?ended_since={between}&order=accepted"),
            vec![&late],
        ),
        ("dead-letters?order=ended&limit=1".to_owned(), vec![&late]),
        (
            format!("dead-letters?order=ended&before={late}"),
            vec![&early],
        ),
        (format!("messages?ended_since={between}"), vec![&late]),
        (format!("messages?ended_until={between}"), vec![&early]),
        (
            "messages?state=REJECTED&order=ended".to_owned(),
            vec![&early],
        ),
    ] {
        let found = admin.get(&format!("/v1/{query}"));
        assert_eq!(ids(&found).iter().collect::<Vec<_>>(), listed, "{query}");
    }
    for (query, field) in [
        ("messages?order=ended", "order"),
        ("messages?order=ended&state=DELIVERED", "order"),
        ("messages?ended_since=1&state=ENROUTE", "state"),
        ("dead-letters?order=size", "order"),
        ("dead-letters?ended_since=soon", "ended_since"),
    ] {
        let (status, said) = admin.call("GET", &format!("/v1/{query}"), None);
        assert_eq!((status, &said["field"]), (400, &json!(field)), "{query}");
    }
    let filter = json!({ "filter": { "ended_since": between.to_string() }, "dry_run": true });
    let (_, report) = admin.call("POST", "/v1/messages/replay", Some(&filter));
    assert_eq!(report["matched"], 1, "{report}");
    let moment = between.to_string();
    for command in [
        ["dead-letter", "list", "--ended-since", &moment, "-o", "csv"].as_slice(),
        &["message", "list", "--ended-since", &moment, "-o", "csv"],
    ] {
        let shown = scene.smsc.command(command);
        let (titles, rows) = shown.stdout.split_once('\n').unwrap();
        assert!(titles.contains("ended"), "{titles}");
        assert!(rows.contains(&late) && !rows.contains(&early), "{rows}");
    }
}

/// Replays the last of three once more; `shown` stands in the list, `replayed` was sent again before.
fn commands_do_the_same(smsc: &Smsc, shown: &[&str], replayed: &str) {
    let admin = smsc.admin();
    let cli = |arguments: &str| {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let url = format!("http://{}", smsc.http());
        let whom = ["--url", &url, "--token", admin.token()];
        smsc.run(&[&arguments[..], &whom].concat())
    };
    let table = cli("dead-letters --operator up --state rejected");
    assert!(table.success, "{}", table.stderr);
    for part in shown {
        assert!(table.stdout.contains(*part), "{part}: {}", table.stdout);
    }
    let none = cli("replay --operator up --to other");
    assert!(none.stdout.contains("0 messages fit"), "{none:?}");
    let twice = cli(&format!("replay {replayed} --to other"));
    assert!(
        twice.stderr.contains("--again") || twice.stderr.contains("again"),
        "{twice:?}"
    );
    let once_more = cli("replay --error ESME_RINVDSTADR --to other --again --limit 1 --yes");
    assert!(once_more.stdout.contains("1 of 1"), "{once_more:?}");
}

#[test]
fn what_failed_is_sent_again() {
    let (bad, good) = (FakeOperator::listen(), FakeOperator::listen());
    let mut smsc = Smsc::new()
        .account("test", "test")
        .operator("up", bad.address())
        .operator("other", good.address())
        .route("", "up")
        .start();
    let (mut bad, mut good) = (bad.accept_bind(), good.accept_bind());
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let admin = smsc.admin();
    let failed: Vec<String> = ["one", "two", "three"]
        .iter()
        .map(|text| {
            let id = esme.submit(submit(TO, text));
            let (sequence, _) = next_submit(&mut bad);
            answer(&mut bad, sequence, CommandStatus::ESME_RINVDSTADR, "");
            assert_eq!(stat_of(&esme.deliver()), (id.clone(), REJECTED));
            id
        })
        .collect();

    // Listed, with every attempt.
    let newest_first: Vec<String> = failed.iter().rev().cloned().collect();
    let list = admin.get("/v1/dead-letters");
    assert_eq!(ids(&list), newest_first, "{list}");
    let attempt = &list["messages"][0]["history"][0];
    assert_eq!(attempt["status"], "ESME_RINVDSTADR", "{list}");
    assert_eq!(attempt["queue"], "operator:up");
    assert!(attempt["latency_ms"].is_u64() && attempt["at"].is_string());
    let session = admin.get("/v1/operators/up")["binds"][0]["session"].to_string();
    let bind = attempt["bind"].as_str().unwrap();
    assert_eq!(bind.split_once('/').map(|(_, one)| one), Some(&*session));
    three_are_found_by_filter_and_page(&admin, &failed);

    // Replayed to another operator: a new message, and both name each other.
    let by_other = json!({ "to": "other", "validity": "1h" });
    let first = replayed(&admin, &failed[0], &by_other);
    assert_eq!(taken(&mut good, "a1").short_message, "one");
    let new = admin.get(&format!("/v1/messages/{first}"));
    assert_eq!(new["replay_of"], json!(failed[0]), "{new}");
    assert_eq!(new["sender"], "account:test");
    receipt(&mut good, "a1", "DELIVRD", "000");
    assert_eq!(smsc.wait_for_final(&first)["state"], "DELIVERED");
    let old = admin.get(&format!("/v1/messages/{}", failed[0]));
    assert_eq!(old["state"], "REJECTED", "{old}");
    assert_eq!(old["replayed_as"], json!(first));
    assert_eq!(old["changes"][0]["kind"], "replay");
    assert!(refused(&admin, &failed[0], &by_other).contains(&first));
    assert!(refused(&admin, &first, &json!({})).contains("DELIVERED"));
    // Its sender got no receipt for the first replay, but gets one for this.
    let with_receipt = json!({ "to": "operator:other", "again": true, "receipt": true });
    let second = replayed(&admin, &failed[0], &with_receipt);
    taken(&mut good, "a2");
    receipt(&mut good, "a2", "DELIVRD", "000");
    assert_eq!(stat_of(&esme.deliver()), (second.clone(), DELIVERED));
    assert_eq!(
        admin.get(&format!("/v1/messages/{}", failed[0]))["replayed_as"],
        json!(second)
    );

    // Many at once: replayed messages are left out.
    let many = |order: Value| {
        let (status, said) = admin.call("POST", "/v1/messages/replay", Some(&order));
        assert_eq!(status, 200, "{said}");
        said
    };
    let filter = json!({ "operator": "up", "state": "REJECTED" });
    let looked = many(json!({ "filter": filter, "dry_run": true }));
    assert_eq!(
        (&looked["matched"], &looked["replayed"]),
        (&json!(2), &json!(0))
    );
    let done = many(json!({ "filter": filter, "to": "other" }));
    assert_eq!(
        (&done["matched"], &done["replayed"]),
        (&json!(2), &json!(2)),
        "{done}"
    );
    assert_eq!(taken(&mut good, "a3").short_message, "two", "oldest first");
    assert_eq!(taken(&mut good, "a4").short_message, "three");
    assert_eq!(many(json!({ "filter": filter }))["matched"], 0);
    assert_eq!(admin.metric("smsc_messages_replayed_total"), Some(4.0));

    let shown = [&*failed[0], &second, "ESME_RINVDSTADR", bind];
    commands_do_the_same(&smsc, &shown, &failed[1]);
    assert_eq!(taken(&mut good, "a5").short_message, "three");

    let waiting = esme.submit(submit(TO, "four"));
    what_cannot_be_replayed(&admin, &failed[1], &waiting);
    // The link stays when the text is erased.
    assert_eq!(
        admin.get(&format!("/v1/messages/{}", failed[0]))["replayed_as"],
        json!(second)
    );

    smsc.terminate();
    smsc.fsck();
    smsc.start_again();
    assert_eq!(
        ids(&admin.get("/v1/dead-letters?replayed=true")),
        newest_first
    );
    smsc.assert_no_panic();
}

/// The whole message is listed, and is divided again for its new route.
#[test]
fn a_long_text_is_sent_again_as_a_whole() {
    let (bad, good) = (FakeOperator::listen(), FakeOperator::listen());
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", bad.address(), "long_messages = \"udh\"")
        .operator_with("other", good.address(), "long_messages = \"payload\"")
        .route("", "up")
        .start();
    let (mut bad, mut good) = (bad.accept_bind(), good.accept_bind());
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let admin = smsc.admin();
    let long = "0123456789".repeat(20);
    let id = esme.submit(submit(TO, &long));
    for _ in 0..2 {
        let (sequence, _) = next_submit(&mut bad);
        answer(&mut bad, sequence, CommandStatus::ESME_RINVDSTADR, "");
    }
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), REJECTED));
    let list = admin.get("/v1/dead-letters");
    assert_eq!(ids(&list), std::slice::from_ref(&id), "{list}");
    let part = list["messages"][0]["parts"]["sent_as"][0].as_str().unwrap();
    smsc.wait_for_final(part);
    assert!(refused(&admin, part, &json!({})).contains(&id));
    let by_other = json!({ "to": "other", "receipt": true });
    let whole = replayed(&admin, &id, &by_other);
    assert_eq!(taken(&mut good, "w").payload(), long);
    receipt(&mut good, "w", "DELIVRD", "000");
    assert_eq!(stat_of(&esme.deliver()), (whole, DELIVERED));
    let cut = replayed(&admin, &id, &json!({ "again": true }));
    let parts: Vec<SubmitSm> = ["p1", "p2"].map(|id| taken(&mut bad, id)).into();
    let body = |part: &SubmitSm| part.short_message[6..].to_vec();
    assert_eq!([body(&parts[0]), body(&parts[1])].concat(), long.as_bytes());
    let shown = admin.get(&format!("/v1/messages/{cut}"));
    assert_eq!(shown["replay_of"], json!(id), "{shown}");
    smsc.assert_no_panic();
}

#[test]
fn a_receipt_is_matched_by_hand() {
    let mut scene = Scene::new("");
    let admin = scene.smsc.admin();
    let id = scene.esme.submit(submit(TO, "hello"));
    scene.take("right");
    receipt(&mut scene.bind, "wrong", "UNDELIV", "069");
    receipt(&mut scene.bind, "nobody's", "DELIVRD", "000");
    let found = unmatched(&admin, 2);
    let of = |theirs: &str| -> Value {
        let one = found
            .iter()
            .find(|one| one["operator_message_id"] == theirs);
        one.unwrap().clone()
    };
    let wrong = of("wrong");
    assert_eq!(wrong["operator"], "operator:up");
    assert_eq!(
        (&wrong["from"], &wrong["to"]),
        (&json!(TO), &json!("12345"))
    );
    assert_eq!(
        (&wrong["state"], &wrong["error"]),
        (&json!("UNDELIVERABLE"), &json!("069"))
    );
    assert!(wrong["at"].is_string(), "{wrong}");
    let path = |one: &Value| format!("/v1/receipts/unmatched/{}", one["id"].as_str().unwrap());
    let matching = |receipt: &str, message: &str| {
        let order = json!({ "message": message });
        admin.call("POST", &format!("{receipt}/match"), Some(&order))
    };
    // A restart loses nothing.
    scene.smsc.terminate();
    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    scene.esme = Peer::bind(scene.smsc.smpp(), "test", "test");
    unmatched(&admin, 2);

    let waiting = scene.esme.submit(submit(TO, "later"));
    let (sequence, _) = next_submit(&mut scene.bind);
    for (receipt, message, status) in [
        ("/v1/receipts/unmatched/17", &*id, 404),
        (&*path(&wrong), "17", 404),
        (&*path(&wrong), "x", 400),
        (&*path(&wrong), &*waiting, 409),
    ] {
        let (said, body) = matching(receipt, message);
        assert_eq!(said, status, "{receipt} {message}: {body}");
    }
    let (status, ended) = matching(&path(&wrong), &id);
    assert_eq!(
        (status, &ended["state"]),
        (200, &json!("UNDELIVERABLE")),
        "{ended}"
    );
    assert_eq!(ended["final"]["error"], "069");
    assert_eq!(ended["final"]["reported_by"], "operator:up");
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), UNDELIVERABLE));
    assert_eq!(matching(&path(&wrong), &id).0, 404, "it is gone");
    let url = format!("http://{}", scene.smsc.http());
    let listed = scene.smsc.run(&[
        "receipt",
        "unmatched",
        "--url",
        &url,
        "--token",
        admin.token(),
    ]);
    assert!(listed.stdout.contains("nobody's"), "{listed:?}");
    let nobodys = path(&of("nobody's"));
    let (status, said) = matching(&nobodys, &id);
    assert_eq!(status, 409, "{said}");
    assert_eq!(admin.call("DELETE", &nobodys, None).0, 204);
    assert_eq!(admin.call("DELETE", &nobodys, None).0, 404);
    unmatched(&admin, 0);
    until("no receipt to be compared any more", || {
        (admin.metric("smsc_receipts_parked") == Some(0.0)).then_some(())
    });
    // An id that comes later does not match a dropped receipt.
    accept(&mut scene.bind, sequence, "nobody's");
    receipt(&mut scene.bind, "nobody's", "DELIVRD", "000");
    assert_eq!(stat_of(&scene.esme.deliver()), (waiting, DELIVERED));
    scene.smsc.assert_no_panic();
}

#[test]
fn another_node_has_the_queue() {
    let operator = FakeOperator::listen();
    let address = operator.address();
    let cluster = Cluster::of(2)
        .roles(0, &["smpp", "http"])
        .roles(1, &["delivery", "http", "janitor"])
        .each(move |smsc| smsc.relaying_to(address))
        .start();
    let mut link = operator.accept_bind();
    cluster.nodes[1].wait_for_binds("up", 1);
    let here = cluster.nodes[0].admin();
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let failed = esme.submit(submit(TO, "hello"));
    let (sequence, _) = next_submit(&mut link);
    answer(&mut link, sequence, CommandStatus::ESME_RINVDSTADR, "");
    assert_eq!(stat_of(&esme.deliver()), (failed.clone(), REJECTED));
    let list = here.get("/v1/dead-letters?operator=up&error=11&account=test");
    assert_eq!(ids(&list), std::slice::from_ref(&failed), "{list}");
    assert_ne!(list["messages"][0]["history"][0]["bind"], "", "{list}");

    let again = replayed(&here, &failed, &json!({ "receipt": true }));
    assert_eq!(taken(&mut link, "right").short_message, "hello");
    assert!(refused(&here, &failed, &json!({})).contains(&again));
    assert_eq!(
        ids(&here.get("/v1/dead-letters?replayed=true")),
        std::slice::from_ref(&failed)
    );
    let there = cluster.nodes[1].admin();
    assert!(refused(&there, &failed, &json!({})).contains(&again));

    // The other node has parked it, and forgets it.
    receipt(&mut link, "wrong", "DELIVRD", "000");
    let found = unmatched(&here, 1);
    let path = format!(
        "/v1/receipts/unmatched/{}/match",
        found[0]["id"].as_str().unwrap()
    );
    let order = json!({ "message": again });
    let (status, ended) = until("the answer of the operator to be stored", || {
        let done = here.call("POST", &path, Some(&order));
        (done.0 != 409).then_some(done)
    });
    assert_eq!(
        (status, &ended["state"]),
        (200, &json!("DELIVERED")),
        "{ended}"
    );
    assert_eq!(stat_of(&esme.deliver()), (again, DELIVERED));
    unmatched(&there, 0);
    until("the other node to forget it", || {
        (there.metric("smsc_receipts_parked") == Some(0.0)).then_some(())
    });
    cluster.nodes.iter().for_each(|node| node.assert_no_panic());
}
