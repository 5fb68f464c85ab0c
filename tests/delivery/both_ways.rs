//! `deliver_by = "both"`: an account gets its receipts and MO on its binds and as callbacks, and each way is durable,
//! tried again and given up by itself.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus, SubmitSm};

use crate::harness::hooks::{Hook, HookReply, Hooks};
use crate::harness::{Cluster, Peer, Scene, Smsc, SmscBuilder, database, migrate, submit, until};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn keys(way: &str, hooks: &Hooks) -> String {
    format!(
        "deliver_by = {way:?}\ncallback_url = {:?}\ncallback_secrets = {SECRET:?}\n\
         callback_allow_private = [\"127.0.0.1\"]\naddresses = [\"12345\"]\n",
        hooks.url("127.0.0.1")
    )
}

fn both(hooks: &Hooks) -> SmscBuilder {
    Smsc::new()
        .account_with("test", "test", &keys("both", hooks))
        .route("", "test:delivered")
}

fn about(hook: &Hook) -> String {
    hook.json()["data"]["message_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn bring(scene: &mut Scene, text: &'static [u8]) {
    let mo = SubmitSm {
        source_addr: Bytes::from_static(b"447700900123"),
        destination_addr: Bytes::from_static(b"12345"),
        short_message: Bytes::from_static(text),
        ..SubmitSm::default()
    };
    let sequence = scene.bind.request(Body::DeliverSm(mo));
    assert_eq!(
        scene.bind.answer_to(sequence).status,
        CommandStatus::ESME_ROK
    );
}

/// Waits until nothing waits for the account any more.
fn wait_for_nothing_left(smsc: &Smsc) {
    wait_for_nothing_left_with(smsc, || {});
}

/// Like [`wait_for_nothing_left`]; calls `meanwhile` again and again.
fn wait_for_nothing_left_with(smsc: &Smsc, mut meanwhile: impl FnMut()) {
    let admin = smsc.admin();
    until("empty queues of the account", || {
        meanwhile();
        let queues = admin.get("/v1/queues");
        let mut of_account = queues["queues"].as_array().unwrap().iter().filter(|queue| {
            let name = queue["name"].as_str().unwrap();
            name.ends_with(":test") && !name.starts_with("test:")
        });
        of_account
            .all(|queue| {
                queue["waiting"] == 0 && queue["scheduled"] == 0 && queue["in_flight"] == 0
            })
            .then_some(())
    });
}

#[test]
fn a_receipt_and_an_mo_message_come_on_both_ways() {
    let hooks = Hooks::taking();
    let mut scene = Scene::of(&keys("both", &hooks), "", |builder| builder);
    let id = scene.submit_as("1");
    scene.report("1", "DELIVRD");
    assert_eq!(scene.esme.deliver().esm_class, 4);
    let came = hooks.wait_for(1);
    assert_eq!(
        (about(&came[0]), came[0].id()),
        (id.clone(), format!("receipt_{id}").as_str())
    );
    assert_eq!(came[0].json()["type"], "message.delivered");
    bring(&mut scene, b"STATUS");
    let mo = scene.esme.deliver();
    assert_eq!((mo.esm_class, &mo.short_message[..]), (0, &b"STATUS"[..]));
    let came = hooks.wait_for(2);
    let said = came[1].json();
    assert_eq!(said["type"], "message.received");
    assert_eq!(said["data"]["text"], "STATUS");
    let mo = about(&came[1]);
    assert_eq!(came[1].id(), format!("message_{mo}"));
    assert_eq!(scene.smsc.wait_for_final(&mo)["state"], "DELIVERED");
    wait_for_nothing_left(&scene.smsc);
    // One of each, and one record for each that came from outside.
    assert_eq!(hooks.came().len(), 2);
    scene.smsc.assert_no_panic();
}

fn each_way_waits_by_itself(smsc: SmscBuilder, hooks: &Hooks) {
    const MESSAGES: usize = 20;
    let mut smsc = smsc.start();
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    let ids: HashSet<String> = (0..MESSAGES)
        .map(|number| transmitter.submit(submit(&format!("4477009{number:05}"), "hello")))
        .collect();
    // No receiver is bound; the callbacks come, and then nothing of them after a kill.
    hooks.wait_for(MESSAGES);
    let came: HashSet<String> = hooks.came().iter().map(about).collect();
    assert_eq!(came, ids);
    until("the copies to be over", || {
        let queues = smsc.admin().get("/v1/queues");
        let queues = queues["queues"].as_array().unwrap();
        let queue = queues
            .iter()
            .find(|queue| queue["name"] == "callback:test")?;
        (queue["waiting"] == 0 && queue["in_flight"] == 0).then_some(())
    });
    smsc.kill();
    smsc.start_again();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut receipts = HashSet::new();
    while receipts.len() < MESSAGES {
        let receipt = esme.deliver();
        let text = String::from_utf8_lossy(&receipt.short_message).into_owned();
        receipts.insert(text[3..].split(' ').next().unwrap().to_owned());
    }
    assert_eq!(receipts, ids);
    wait_for_nothing_left(&smsc);
    smsc.assert_no_panic();
}

#[test]
fn callbacks_do_not_wait_for_a_bind_nor_a_bind_for_them() {
    let hooks = Hooks::taking();
    each_way_waits_by_itself(both(&hooks), &hooks);
}

#[test]
fn callbacks_do_not_wait_for_a_bind_nor_a_bind_for_them_from_postgresql() {
    let database = database();
    migrate(database.url());
    let hooks = Hooks::taking();
    let store = format!("[postgres]\nurl = {:?}", database.url());
    each_way_waits_by_itself(both(&hooks).toml(&store), &hooks);
}

#[test]
fn a_receiver_that_fails_takes_nothing_from_the_bind_and_is_called_again_after_a_kill() {
    let hooks = Hooks::answering(|_, before| match before {
        0 | 1 => HookReply::status(500),
        _ => HookReply::ok(),
    });
    let mut smsc = both(&hooks).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    assert_eq!(esme.deliver().esm_class, 4);
    hooks.wait_for(1);
    smsc.kill();
    smsc.start_again();
    let came = hooks.wait_for(3);
    assert!(came.iter().all(|hook| about(hook) == id));
    assert!(came.iter().all(|hook| hook.id() == came[0].id()));
    // The acknowledgement of the bind may have come too late to be stored.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    wait_for_nothing_left_with(&smsc, || esme.acknowledge_all());
}

#[test]
fn what_is_given_up_on_one_way_is_among_the_failed_and_goes_again() {
    let takes = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&takes);
    let hooks = Hooks::answering(move |_, _| {
        if told.load(Ordering::Relaxed) {
            HookReply::ok()
        } else {
            HookReply::status(404)
        }
    });
    let smsc = Smsc::new()
        .account_with(
            "test",
            "test",
            &format!("{}callback_retry_for = \"1s\"\n", keys("both", &hooks)),
        )
        .route("", "test:delivered")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    assert_eq!(esme.deliver().esm_class, 4, "the bind has it");
    let admin = smsc.admin();
    let failed = until("the failed copy", || {
        let list = admin.get("/v1/dead-letters");
        list["messages"].as_array().unwrap().first().cloned()
    });
    assert_eq!(
        failed["copy_of"],
        json!({ "id": id, "receipt": true }),
        "{failed}"
    );
    let before = hooks.came().len();
    takes.store(true, Ordering::Relaxed);
    let path = format!("/v1/messages/{}/replay", failed["id"].as_str().unwrap());
    let (status, said) = admin.post(&path);
    assert!((200..300).contains(&status), "{status} {said}");
    let came = hooks.wait_for(before + 1);
    assert_eq!(about(&came[before]), id);
    assert_eq!(came[before].id(), came[0].id());
    wait_for_nothing_left(&smsc);
}

#[test]
fn a_change_of_the_way_loses_nothing() {
    let hooks = Hooks::answering(|_, before| match before {
        0..4 => HookReply::status(503),
        _ => HookReply::ok(),
    });
    let smsc = both(&hooks).start();
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    let ids: HashSet<String> = (0..6)
        .map(|number| transmitter.submit(submit(&format!("4477009{number:05}"), "hello")))
        .collect();
    hooks.wait_for(1);
    let change = |way: &str| {
        let account = json!({
            "password": "test", "deliver_by": way, "callback_url": hooks.url("127.0.0.1"),
            "callback_secrets": SECRET, "callback_allow_private": ["127.0.0.1"],
        });
        let answer = smsc.admin().put("/v1/accounts/test", &account);
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    change("smpp");
    // What waits for the receiver still goes there, and the binds get theirs.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for _ in 0..ids.len() {
        assert_eq!(esme.deliver().esm_class, 4);
    }
    until("callbacks of all", || {
        let came: HashSet<String> = hooks.came().iter().map(about).collect();
        (came == ids).then_some(())
    });
    wait_for_nothing_left(&smsc);
}

#[test]
fn on_two_nodes_each_way_is_with_the_node_that_serves_it() {
    let hooks = Hooks::taking();
    let keys = keys("both", &hooks);
    let cluster = Cluster::of(2)
        .each(move |builder| {
            builder
                .account_with("test", "test", &keys)
                .route("", "test:delivered")
        })
        .start();
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let mut other = Peer::transmitter(cluster.nodes[1].smpp(), "test", "test");
    let ids: HashSet<String> = (0..20)
        .map(|number| other.submit(submit(&format!("4477009{number:05}"), "hello")))
        .collect();
    for _ in 0..ids.len() {
        assert_eq!(esme.deliver().esm_class, 4);
    }
    hooks.wait_for(ids.len());
    let came: HashSet<String> = hooks.came().iter().map(about).collect();
    assert_eq!(came, ids);
    let listed: Value = cluster.nodes[0].admin().get("/v1/messages");
    assert_eq!(
        listed["messages"].as_array().map(Vec::len),
        Some(40),
        "with the copies"
    );
}
