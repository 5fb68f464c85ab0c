//! Receipts that an account did not take are listed with the reason, and sent again by REST and the command line; a
//! receiver that has gone for good is left alone after a restart, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use smsc::smpp::{Body, CommandId, CommandStatus};

use crate::harness::hooks::{HookReply, Hooks};
use crate::harness::{Peer, Smsc, SmscBuilder, database, migrate, submit, until, within};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Long enough for a callback to show itself, had there been one.
const QUIET: Duration = Duration::from_millis(700);

fn called(hooks: &Hooks, more: &str) -> SmscBuilder {
    let keys = format!(
        "deliver_by = \"callback\"\ncallback_url = {:?}\ncallback_secrets = {SECRET:?}\n\
         callback_allow_private = [\"127.0.0.1\"]\n{more}",
        hooks.url("127.0.0.1")
    );
    Smsc::new()
        .account_with("test", "test", &keys)
        .account("plain", "plain")
        .route("", "test:delivered")
}

fn listed(smsc: &Smsc, query: &str) -> Vec<Value> {
    let list = smsc.admin().get(&format!("/v1/receipts/given-up{query}"));
    list["messages"].as_array().unwrap().clone()
}

fn they_are_listed_and_sent_again(smsc: SmscBuilder, hooks: &Hooks, takes: &AtomicBool) {
    let smsc = smsc.start();
    let mut esme = Peer::transmitter(smsc.smpp(), "test", "test");
    let mut ids: Vec<String> = (0..3)
        .map(|number| esme.submit(submit(&format!("44770090012{number}"), "hello")))
        .collect();
    let found = until("three receipts that were given up", || {
        let found = listed(&smsc, "");
        (found.len() == 3).then_some(found)
    });
    ids.reverse();
    let found_ids: Vec<&str> = found
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!(found_ids, ids, "newest first");
    assert_eq!(found[0]["final"]["receipt_given_up"], true);
    let change = &found[0]["changes"][0];
    assert_eq!(
        (&change["kind"], &change["by"]),
        (&json!("give_up"), &json!("callback: HTTP 404"))
    );
    assert_eq!(listed(&smsc, "?account=plain").len(), 0);
    assert_eq!(listed(&smsc, "?account=test&limit=1").len(), 1);
    // One by REST; the rest by the command line.
    takes.store(true, Ordering::Relaxed);
    let before = hooks.came().len();
    let admin = smsc.admin();
    let path = format!("/v1/receipts/given-up/{}/replay", ids[0]);
    assert_eq!(admin.with_role("read", "reader").post(&path).0, 403);
    let (status, said) = admin.post(&path);
    assert_eq!(status, 200, "{said}");
    let came = hooks.wait_for(before + 1);
    assert_eq!(came[before].id(), format!("receipt_{}", ids[0]));
    assert_eq!(came[before].json()["data"]["message_id"], ids[0].as_str());
    let copy = said["message"].as_str().unwrap();
    assert_eq!(
        smsc.wait_for_final(copy)["copy_of"],
        json!({ "id": ids[0], "receipt": true })
    );
    let (status, said) = admin.post(&path);
    assert_eq!(status, 409, "{said}");
    let again = admin.call("POST", &path, Some(&json!({ "again": true })));
    assert_eq!(again.0, 200, "{}", again.1);
    hooks.wait_for(before + 2);
    assert_eq!(listed(&smsc, "?replayed=true").len(), 1);
    let shown = smsc.command(&["receipt", "given-up", "--account", "test"]);
    let shown = shown.stdout;
    assert!(
        shown.contains(&ids[1]) && shown.contains("HTTP 404"),
        "{shown}"
    );
    let sent = smsc.command(&["receipt", "replay", "--account", "test"]);
    assert!(
        sent.stdout.contains("2 receipts are sent again"),
        "{}",
        sent.stderr
    );
    hooks.wait_for(before + 4);
    assert_eq!(listed(&smsc, "?replayed=false").len(), 0);
    let (status, _) = admin.post("/v1/receipts/given-up/12345/replay");
    assert_eq!(status, 404);
    smsc.assert_no_panic();
}

#[test]
fn receipts_that_were_given_up_are_listed_and_sent_again() {
    let (hooks, smsc, takes) = until_given_up();
    they_are_listed_and_sent_again(smsc, &hooks, &takes);
}

#[test]
fn receipts_that_were_given_up_are_listed_and_sent_again_from_postgresql() {
    let database = database();
    migrate(database.url());
    let (hooks, smsc, takes) = until_given_up();
    let store = format!("[postgres]\nurl = {:?}", database.url());
    they_are_listed_and_sent_again(smsc.toml(&store), &hooks, &takes);
}

/// A receiver that takes nothing until it is told to.
fn until_given_up() -> (Hooks, SmscBuilder, Arc<AtomicBool>) {
    let takes = Arc::new(AtomicBool::new(false));
    let for_receiver = Arc::clone(&takes);
    let hooks = Hooks::answering(move |_, _| {
        if for_receiver.load(Ordering::Relaxed) {
            HookReply::ok()
        } else {
            HookReply::status(404)
        }
    });
    let smsc = called(&hooks, "callback_retry_for = \"1s\"\n");
    (hooks, smsc, takes)
}

#[test]
fn a_receipt_that_a_bind_refused_is_sent_again_on_a_bind() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    let refused = esme.expect("a receipt", |pdu| matches!(pdu.body, Body::DeliverSm(_)));
    let status = CommandStatus::ESME_RX_P_APPN;
    esme.respond(CommandId::DELIVER_SM_RESP, refused.sequence, status);
    let Body::DeliverSm(refused) = refused.body else {
        unreachable!("it was looked at")
    };
    assert_eq!(refused.esm_class, 4);
    until("a receipt that was given up", || {
        listed(&smsc, "").first().cloned()
    });
    let (status, said) = smsc
        .admin()
        .post(&format!("/v1/receipts/given-up/{id}/replay"));
    assert_eq!(status, 200, "{said}");
    let again = esme.deliver();
    assert_eq!(
        (again.esm_class, &again.short_message),
        (4, &refused.short_message)
    );
    let copy = said["message"].as_str().unwrap();
    assert_eq!(smsc.wait_for_final(copy)["state"], "DELIVERED");
}

fn gone_for_good(smsc: SmscBuilder, hooks: &Hooks) {
    let mut smsc = smsc.start();
    let mut esme = Peer::transmitter(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    hooks.wait_for(1);
    let paused = |smsc: &Smsc| {
        let admin = smsc.admin();
        until("a pause", || {
            let binds = admin.get("/v1/binds");
            let mut rows = binds["binds"].as_array().unwrap().iter();
            rows.find(|row| row["direction"] == "callback" && row["state"] == "paused")?;
            Some(())
        });
    };
    paused(&smsc);
    until("the pause to be stored", || {
        smsc.log().contains("callback: HTTP 410").then_some(())
    });
    smsc.kill();
    smsc.start_again();
    paused(&smsc);
    assert!(within(QUIET, || (hooks.came().len() > 1).then_some(())).is_none());
    let (status, said) = smsc.admin().post("/v1/queues/account:test/resume");
    // The node that was killed may still count as one that will carry it out.
    assert!([200, 202].contains(&status), "{status} {said}");
    let came = hooks.wait_for(2);
    assert_eq!(came[1].id(), format!("receipt_{id}"));
    smsc.wait_until_told(&id);
    smsc.kill();
    smsc.start_again();
    let mut esme = Peer::transmitter(smsc.smpp(), "test", "test");
    esme.submit(submit("447700900123", "hello"));
    hooks.wait_for(3);
}

fn gone_once() -> Hooks {
    Hooks::answering(|_, before| match before {
        0 => HookReply::status(410),
        _ => HookReply::ok(),
    })
}

#[test]
fn a_receiver_that_has_gone_is_not_called_after_a_restart() {
    let hooks = gone_once();
    gone_for_good(called(&hooks, ""), &hooks);
}

#[test]
fn a_receiver_that_has_gone_is_not_called_after_a_restart_from_postgresql() {
    let database = database();
    migrate(database.url());
    let hooks = gone_once();
    let store = format!("[postgres]\nurl = {:?}", database.url());
    gone_for_good(called(&hooks, "").toml(&store), &hooks);
}
