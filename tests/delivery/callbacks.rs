//! Receipts and MO by HTTPS instead of by a bind: signed, under one id however often they are sent, in order, again
//! after failures and kills, and never to where they must not go.

mod reach;

use std::collections::HashSet;
use std::time::Duration;

use crate::harness::hooks::{Hook, HookReply, Hooks};
use crate::harness::{
    Client, Cluster, Peer, PeerError, Scene, Smsc, SmscBuilder, database, free_port, migrate,
    python_script, submit, until, within,
};
use bytes::Bytes;
use serde_json::{Value, json};
use smsc::domain::callback::signature::SigningSecrets;
use smsc::smpp::{Body, CommandId, CommandStatus, SubmitSm};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Long enough for a callback to show itself, had there been one.
const QUIET: Duration = Duration::from_millis(700);

/// The keys of an account whose callbacks go there.
fn to(url: &str) -> String {
    format!("deliver_by = \"callback\"\ncallback_url = {url:?}\ncallback_secrets = \"{SECRET}\"\n")
}

/// The keys of an account whose callbacks go to a receiver on this machine, which is allowed.
fn to_local(hooks: &Hooks) -> String {
    format!(
        "{}callback_allow_private = [\"127.0.0.1\"]\n",
        to(&hooks.url("127.0.0.1"))
    )
}

/// Every message ends at once.
fn delivering(keys: &str) -> SmscBuilder {
    Smsc::new()
        .account_with("test", "test", keys)
        .route("", "test:delivered")
}

fn submit_to(smsc: &Smsc, number: &str) -> String {
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    transmitter.submit(submit(number, "hello"))
}

fn submit_some(smsc: &Smsc, count: usize) -> Vec<String> {
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    (0..count)
        .map(|number| transmitter.submit(submit(&format!("4477009{number:05}"), "hello")))
        .collect()
}

fn assert_signed(hook: &Hook) {
    let timestamp = hook.header("webhook-timestamp").parse().unwrap();
    let secrets = SigningSecrets::parse(SECRET).unwrap();
    let signature = secrets.sign(hook.id(), timestamp, &hook.octets);
    assert_eq!(hook.header("webhook-signature"), signature);
}

fn message_ids(hooks: &[Hook]) -> Vec<String> {
    let id = |hook: &Hook| {
        hook.json()["data"]["message_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    hooks.iter().map(id).collect()
}

/// The row of the account's callbacks among the binds, once it looks as wanted.
fn callbacks_that(smsc: &Smsc, fits: impl Fn(&Value) -> bool) -> Value {
    let admin = smsc.admin();
    until("the callbacks' row", || {
        let binds = admin.get("/v1/binds");
        let mut rows = binds["binds"].as_array().unwrap().iter();
        let row = rows.find(|row| row["direction"] == "callback" && fits(row))?;
        Some(row.clone())
    })
}

fn receipts_come_once(smsc: SmscBuilder, hooks: &Hooks) {
    const MESSAGES: usize = 40;
    let smsc = smsc.start();
    let ids: HashSet<String> = submit_some(&smsc, MESSAGES).into_iter().collect();
    hooks.wait_for(MESSAGES);
    for id in &ids {
        smsc.wait_until_told(id);
    }
    let came = hooks.came();
    assert_eq!(came.len(), MESSAGES, "each once");
    assert_eq!(message_ids(&came).into_iter().collect::<HashSet<_>>(), ids);
    came.iter().for_each(assert_signed);
    let said = came[0].json();
    assert_eq!(said["type"], "message.delivered");
    assert_eq!(said["data"]["state"], "DELIVERED");
    assert_eq!(said["data"]["account"], "test");
    assert_eq!(came[0].header("content-type"), "application/json");
    assert_eq!(came[0].path, "/hook");
    let row = callbacks_that(&smsc, |row| row["sent_total"] == MESSAGES);
    assert_eq!(row["state"], "bound");
    assert_eq!(row["name"], "test");
    assert_eq!(row["attempts"][0]["status"], 200);
    assert_eq!(row["attempts"].as_array().unwrap().len(), 10);
    smsc.assert_no_panic();
}

#[test]
fn receipts_arrive_signed_and_once() {
    let hooks = Hooks::taking();
    receipts_come_once(delivering(&to_local(&hooks)), &hooks);
}

#[test]
fn receipts_arrive_signed_and_once_from_postgresql() {
    let database = database();
    migrate(database.url());
    let hooks = Hooks::taking();
    let store = format!("[postgres]\nurl = {:?}", database.url());
    receipts_come_once(delivering(&to_local(&hooks)).toml(&store), &hooks);
}

#[test]
fn the_package_of_the_specification_verifies_them() {
    let hooks = Hooks::taking();
    let keys = format!("{}addresses = [\"12345\"]\n", to_local(&hooks));
    // The second secret is the new one.
    let other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    let keys = keys.replace(SECRET, &format!("{SECRET} {other}"));
    let mut scene = Scene::of(&keys, "", |builder| builder);
    scene.submit_as("1");
    scene.report("1", "DELIVRD");
    hooks.wait_for(1);
    assert_eq!(submit_mo(&mut scene), CommandStatus::ESME_ROK);
    let came = hooks.wait_for(2);
    let lines = came.iter().map(|hook| {
        let body = std::str::from_utf8(&hook.octets).unwrap();
        json!({ "headers": hook.headers, "body": body }).to_string() + "\n"
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("callbacks.jsonl");
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    for secret in [SECRET, other] {
        let arguments = [secret, file.to_str().unwrap()];
        let verified = Client::run(python_script("standard_webhooks.py", &arguments));
        let types = ["message.delivered", "message.received"];
        assert_eq!(verified, json!({ "types": types, "refused": 2 }));
    }
}

#[test]
fn a_receiver_gets_none_of_it_by_its_bind() {
    let hooks = Hooks::taking();
    let smsc = delivering(&to_local(&hooks)).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    hooks.wait_for(1);
    smsc.wait_until_told(&id);
    assert_eq!(esme.next(QUIET), Err(PeerError::Silence));
}

#[test]
fn mo_arrives_as_text_and_as_octets() {
    let hooks = Hooks::taking();
    let keys = format!("{}addresses = [\"12345\"]\n", to_local(&hooks));
    let mut scene = Scene::of(&keys, "", |builder| builder);
    let mo = SubmitSm {
        source_addr: Bytes::from_static(b"447700900123"),
        destination_addr: Bytes::from_static(b"12345"),
        data_coding: 8,
        short_message: Bytes::from_static(b"\x04\x1f\xd8\x3d\xde\x00"),
        ..SubmitSm::default()
    };
    let sequence = scene.bind.request(Body::DeliverSm(mo));
    assert_eq!(
        scene.bind.answer_to(sequence).status,
        CommandStatus::ESME_ROK
    );
    let came = hooks.wait_for(1);
    assert_signed(&came[0]);
    let said = came[0].json();
    assert_eq!(said["type"], "message.received");
    let data = &said["data"];
    assert_eq!(data["text"], "П😀");
    assert_eq!(data["raw"], "041fd83dde00");
    assert_eq!(
        (&data["from"], &data["to"]),
        (&json!("447700900123"), &json!("12345"))
    );
    assert_eq!(data["operator"], "up");
    let id = data["message_id"].as_str().unwrap();
    assert_eq!(scene.smsc.wait_for_final(id)["state"], "DELIVERED");
}

#[test]
fn what_failed_comes_again_under_its_id_also_after_a_kill() {
    let hooks = Hooks::answering(|_, before| match before {
        0 | 1 => HookReply::status(500),
        2 => HookReply::Nothing,
        _ => HookReply::ok(),
    });
    let mut smsc = delivering(&to_local(&hooks)).start();
    let id = submit_to(&smsc, "447700900123");
    hooks.wait_for(1);
    smsc.kill();
    smsc.start_again();
    let came = hooks.wait_for(4);
    smsc.wait_until_told(&id);
    assert_eq!(message_ids(&came), vec![id; 4]);
    let ids: HashSet<&str> = came.iter().map(Hook::id).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let bodies: HashSet<&[u8]> = came.iter().map(|hook| &hook.octets[..]).collect();
    assert_eq!(bodies.len(), 1, "each attempt says the same");
    came.iter().for_each(assert_signed);
    smsc.kill();
    smsc.start_again();
    callbacks_that(&smsc, |row| row["state"] == "bound");
    assert!(within(QUIET, || (hooks.came().len() > 4).then_some(())).is_none());
    smsc.kill();
    smsc.fsck();
}

#[test]
fn one_subscriber_s_callbacks_keep_their_order() {
    const MESSAGES: usize = 30;
    // The longer one takes, the more could overtake it.
    let hooks = Hooks::answering(|_, before| {
        HookReply::Slow(Duration::from_millis(match before % 3 {
            0 => 60,
            _ => 1,
        }))
    });
    let smsc = delivering(&to_local(&hooks)).start();
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    let mut sent: Vec<Vec<String>> = vec![Vec::new(); 3];
    for number in 0..MESSAGES {
        let to = format!("44770090012{}", number % 3);
        sent[number % 3].push(transmitter.submit(submit(&to, "hello")));
    }
    let came = hooks.wait_for(MESSAGES);
    for (number, ids) in sent.iter().enumerate() {
        let to = format!("44770090012{number}");
        let his: Vec<Hook> = (came.iter())
            .filter(|hook| hook.json()["data"]["to"] == to.as_str())
            .cloned()
            .collect();
        assert_eq!(message_ids(&his), *ids, "{to}");
    }
}

#[test]
fn gone_suspends_the_queue_until_it_is_resumed() {
    let hooks = Hooks::answering(|_, before| match before {
        0 => HookReply::status(410),
        _ => HookReply::ok(),
    });
    let keys = format!("{}callback_concurrency = 1\n", to_local(&hooks));
    let smsc = delivering(&keys).start();
    let ids = submit_some(&smsc, 3);
    let row = callbacks_that(&smsc, |row| row["state"] == "paused");
    assert_eq!(row["last_error"], "HTTP 410");
    assert!(within(QUIET, || (hooks.came().len() > 1).then_some(())).is_none());
    let (status, said) = smsc.admin().post("/v1/queues/account:test/resume");
    assert_eq!(status, 200, "{said}");
    for id in &ids {
        smsc.wait_until_told(id);
    }
    let mut came = message_ids(&hooks.came()[1..]);
    came.sort_unstable();
    assert_eq!(came, ids, "each once");
}

#[test]
fn a_receiver_that_was_away_gets_everything_in_order() {
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}/hook");
    let keys = format!("{}callback_allow_private = [\"127.0.0.1\"]\n", to(&url));
    let smsc = delivering(&keys).start();
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    let ids = (0..40).map(|_| {
        let id = transmitter.submit(submit("447700900123", "hello"));
        // Receipts are in the order in which messages end.
        smsc.wait_for_final(&id);
        id
    });
    let ids: Vec<String> = ids.collect();
    let row = callbacks_that(&smsc, |row| row["reconnect_attempts"].as_u64() >= Some(4));
    assert_eq!(row["state"], "waiting");
    let hooks = Hooks::taking_at(port);
    let came = hooks.wait_for(ids.len());
    assert_eq!(message_ids(&came), ids, "to one subscriber");
}

#[test]
fn what_is_tried_for_too_long_is_given_up() {
    let hooks = Hooks::answering(|_, _| HookReply::status(404));
    let keys = format!(
        "{}callback_retry_for = \"2s\"\naddresses = [\"12345\"]\n",
        to_local(&hooks)
    );
    let mut scene = Scene::of(&keys, "", |builder| builder);
    let id = scene.submit_as("1");
    scene.report("1", "DELIVRD");
    let admin = scene.smsc.admin();
    until("the end of the tries", || {
        let message = admin.get(&format!("/v1/messages/{id}"));
        (message["final"]["receipt_given_up"] == true).then_some(())
    });
    // An MO message ends, is listed among the failed ones, and can be sent again from there.
    let mo = submit_mo(&mut scene);
    assert_eq!(mo, CommandStatus::ESME_ROK);
    let failed = until("the failed message", || {
        let list = admin.get("/v1/dead-letters");
        let first = list["messages"].as_array().unwrap().first().cloned();
        first.filter(|one| one["destination"] == "12345" || one["to"] == "12345")
    });
    assert_eq!(failed["state"], "UNDELIVERABLE", "{failed}");
    assert_eq!(failed["final"]["error"], "404", "{failed}");
    assert!(hooks.came().len() >= 4, "each was tried more than once");
}

fn submit_mo(scene: &mut Scene) -> CommandStatus {
    let mo = SubmitSm {
        source_addr: Bytes::from_static(b"447700900123"),
        destination_addr: Bytes::from_static(b"12345"),
        short_message: Bytes::from_static(b"STATUS"),
        ..SubmitSm::default()
    };
    let sequence = scene.bind.request(Body::DeliverSm(mo));
    scene.bind.answer_to(sequence).status
}

#[test]
fn a_test_callback_says_what_the_receiver_answers() {
    let hooks = Hooks::answering(|_, before| match before {
        0 => HookReply::status(204),
        _ => HookReply::status(500),
    });
    // Before the account has its receipts this way.
    let keys = to_local(&hooks).replace("\"callback\"", "\"smpp\"");
    let smsc = delivering(&keys).account("plain", "plain").start();
    let path = "/v1/accounts/test/callback/test";
    let (status, said) = smsc.admin().post(path);
    assert_eq!((status, &said["status"]), (200, &json!(204)), "{said}");
    let came = hooks.came();
    assert_signed(&came[0]);
    assert_eq!(came[0].json()["type"], "test");
    let finished = smsc.run(&["callback", "test", "test", "--config", "smsc.toml"]);
    assert!(!finished.success);
    assert!(finished.stderr.contains("HTTP 500"), "{}", finished.stderr);
    assert_ne!(hooks.came()[1].id(), came[0].id());
    let operate = smsc.admin().with_role("operate", "operator");
    assert_eq!(operate.post(path).0, 200);
    let read = smsc.admin().with_role("read", "reader");
    assert_eq!(read.post(path).0, 403);
    for (account, status) in [("plain", 409), ("nobody", 404)] {
        let path = format!("/v1/accounts/{account}/callback/test");
        assert_eq!(smsc.admin().post(&path).0, status, "{account}");
    }
}

#[test]
fn the_way_changes_with_the_configuration_and_loses_nothing() {
    let hooks = Hooks::taking();
    let smsc = delivering("").start();
    let waiting = submit_to(&smsc, "447700900123");
    smsc.wait_for_final(&waiting);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let receipt = esme.deliver();
    assert_eq!(receipt.esm_class, 4);
    let admin = smsc.admin();
    let account = json!({
        "password": "test",
        "deliver_by": "callback",
        "callback_url": hooks.url("127.0.0.1"),
        "callback_secrets": SECRET,
        "callback_allow_private": ["127.0.0.1"],
    });
    let answer = admin.put("/v1/accounts/test", &account);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(!format!("{answer:?}").contains(SECRET), "never shown");
    let unbind = esme.expect("an unbind", |pdu| pdu.body == Body::Unbind);
    esme.acknowledge(CommandId::UNBIND_RESP, unbind.sequence);
    let id = submit_to(&smsc, "447700900123");
    hooks.wait_for(1);
    smsc.wait_until_told(&id);
    let back = admin.put("/v1/accounts/test", &json!({ "password": "test" }));
    assert_eq!(back.status, 200, "{back:?}");
    until("the callbacks to end", || {
        let binds = admin.get("/v1/binds");
        let rows = binds["binds"].as_array().unwrap();
        let any = rows.iter().any(|row| row["direction"] == "callback");
        (!any).then_some(())
    });
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit("447700900123", "hello"));
    assert_eq!(esme.deliver().esm_class, 4);
    assert_eq!(hooks.came().len(), 1);
}

#[test]
fn another_node_goes_on_when_one_is_killed() {
    let hooks = Hooks::taking();
    let keys = to_local(&hooks);
    let mut cluster = Cluster::of(2)
        .short_lease()
        .each(move |builder| {
            builder
                .account_with("test", "test", &keys)
                .route("", "test:delivered")
        })
        .start();
    let ids = submit_some(&cluster.nodes[0], 20);
    hooks.wait_for(20);
    cluster.nodes[0].kill();
    let more = submit_some(&cluster.nodes[1], 20);
    let all: HashSet<String> = ids.into_iter().chain(more).collect();
    until("the callbacks of all", || {
        let came: HashSet<String> = message_ids(&hooks.came()).into_iter().collect();
        (came == all).then_some(())
    });
}
