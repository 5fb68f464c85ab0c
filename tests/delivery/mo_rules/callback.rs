//! A rule may send to a stored callback of an account: in a queue of its own, in the standard form, whatever
//! `deliver_by` says; durable as everything that waits for an account.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::parts::part;
use super::{brought, in_postgresql, messages_of, mo, nothing, one_of, rule};
use crate::harness::hooks::{Hook, HookReply, Hooks};
use crate::harness::{Cluster, FakeOperator, Peer, Smsc, SmscBuilder, database, until};
use serde_json::{Value, json};

const NUMBER: &str = super::NUMBER;
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The account `club` with a callback `crm` at `hooks`, and a rule that sends it texts that begin with "win".
fn to_callback(smsc: SmscBuilder, hooks: &Hooks, up: &FakeOperator, more: &str) -> SmscBuilder {
    let port = hooks.address().port();
    let club = format!(
        "callback_secrets = {SECRET:?}\ncallback_allow_private = [\"localhost\"]\n\
         callbacks = {{ crm = \"http://localhost:{port}/crm\" }}\n{more}"
    );
    let keys = "keywords = [\"win\"]\ndeliver_to = \"club\"\ncallback = \"crm\"";
    smsc.account_with("shop", "shop", "addresses = [\"12345\"]")
        .account_with("club", "club", &club)
        .operator("up", up.address())
        .route("", "test:delivered")
        .toml(&rule("win", 10, keys))
}

fn text_of(hook: &Hook) -> Value {
    hook.json()["data"]["text"].clone()
}

/// Answers 503 until it is told otherwise.
fn closed() -> (Hooks, Arc<AtomicBool>) {
    let opens = Arc::new(AtomicBool::new(false));
    let is_open = Arc::clone(&opens);
    let hooks = Hooks::answering(move |_, _| {
        if is_open.load(Ordering::Relaxed) {
            HookReply::ok()
        } else {
            HookReply::status(503)
        }
    });
    (hooks, opens)
}

#[test]
fn a_rule_sends_to_a_stored_callback() {
    let hooks = Hooks::taking();
    let listener = FakeOperator::listen();
    // Its other ways do not count: its bind, a second way, the form of another product.
    let more = "deliver_by = \"both\"\ncallback_format = \"kannel\"\ncallback_url = \"http://localhost:1/own\"";
    let smsc = to_callback(Smsc::new(), &hooks, &listener, more).start();
    let mut up = listener.accept_bind();
    let mut club = Peer::bind(smsc.smpp(), "club", "club");
    brought(&mut up, mo(NUMBER, "12345", "win now"));
    let came = &hooks.wait_for(1)[0];
    let body = came.json();
    assert_eq!(came.path, "/crm");
    assert_eq!(body["type"], "message.received");
    assert_eq!(
        (&body["data"]["account"], &body["data"]["text"]),
        (&json!("club"), &json!("win now"))
    );
    assert!(!came.header("webhook-signature").is_empty());
    let message = one_of(&smsc, "up");
    assert_eq!(message["state"], "DELIVERED");
    assert_eq!(message["mo_rule"], "win");
    assert_eq!(message["queue"], "callback-to:localhost@club");
    assert_eq!(
        came.id(),
        format!("message_{}", message["id"].as_str().unwrap())
    );
    nothing(&mut club);
    let explained = smsc
        .admin()
        .get("/v1/mo-rules/explain?to=12345&operator=up&text=win");
    assert_eq!(
        explained["outcome"],
        "goes to the callback crm of the account club"
    );
    let record = until("its record", || smsc.records().into_iter().next());
    assert_eq!(
        (&record["account"], &record["kind"]),
        (&json!("club"), &json!("MO"))
    );
    assert_eq!(hooks.came().len(), 1);
}

#[test]
fn a_long_text_goes_to_the_callback_as_its_account_wants_it() {
    for (more, texts) in [
        ("", vec!["win a text", " of two"]),
        ("long_messages = \"payload\"", vec!["win a text of two"]),
    ] {
        let hooks = Hooks::taking();
        let listener = FakeOperator::listen();
        let smsc = to_callback(Smsc::new(), &hooks, &listener, more).start();
        let mut up = listener.accept_bind();
        brought(&mut up, part(7, (2, 2), " of two"));
        brought(&mut up, part(7, (1, 2), "win a text"));
        let came = hooks.wait_for(texts.len());
        let said: Vec<Value> = came.iter().map(text_of).collect();
        assert_eq!(said, texts);
        until("the end of all", || {
            let all = messages_of(&smsc, "up");
            let ended = all.iter().all(|one| one["state"] == "DELIVERED");
            (all.len() >= 2 && ended).then_some(())
        });
    }
}

#[test]
fn what_waits_for_the_callback_survives_kills() {
    for database in [None, Some(database())] {
        let (hooks, opens) = closed();
        let listener = FakeOperator::listen();
        let mut builder = to_callback(Smsc::new(), &hooks, &listener, "");
        if let Some(database) = &database {
            builder = in_postgresql(builder, database.url());
        }
        let mut smsc = builder.start();
        let mut up = listener.accept_bind();
        brought(&mut up, mo(NUMBER, "12345", "win now"));
        // Their rule is in the history, not in the messages.
        brought(&mut up, part(7, (2, 2), " of two"));
        brought(&mut up, part(7, (1, 2), "win a text"));
        hooks.wait_for(1);
        smsc.kill();
        smsc.start_again();
        let _up = listener.accept_bind();
        opens.store(true, Ordering::Relaxed);
        until("all of them", || {
            let all = messages_of(&smsc, "up");
            let ended = all.iter().all(|one| one["state"] == "DELIVERED");
            (all.len() == 3 && ended).then_some(())
        });
        let came = hooks.came();
        assert!(came.iter().all(|hook| hook.path == "/crm"));
        for text in ["win now", "win a text", " of two"] {
            assert!(came.iter().any(|hook| text_of(hook) == text), "{text}");
        }
    }
}

#[test]
fn another_node_takes_over_what_waits_for_the_callback() {
    let (hooks, opens) = closed();
    let (hooks, listener) = (Arc::new(hooks), Arc::new(FakeOperator::listen()));
    let (for_all, up) = (Arc::clone(&hooks), Arc::clone(&listener));
    let mut cluster = Cluster::of(2)
        .short_lease()
        .each(move |smsc| to_callback(smsc, &for_all, &up, ""))
        .start();
    let mut up = listener.accept_bind();
    brought(&mut up, mo(NUMBER, "12345", "win now"));
    let first = hooks.wait_for(1)[0].clone();
    let refused = "smsc_callbacks_total{account=\"club\",result=\"5xx\"}";
    let calls = |cluster: &Cluster, node: usize| {
        let count = cluster.nodes[node].admin().metric(refused);
        count.is_some_and(|count| count > 0.0)
    };
    let caller = until("the node that calls", || {
        (0..2).find(|node| calls(&cluster, *node))
    });
    cluster.nodes[caller].kill();
    let other = 1 - caller;
    until("a call by the other node", || {
        calls(&cluster, other).then_some(())
    });
    opens.store(true, Ordering::Relaxed);
    let message = until("the end", || {
        let found = cluster.nodes[other].admin().get("/v1/messages?account=up");
        let one = found["messages"][0].clone();
        (one["state"] == "DELIVERED").then_some(one)
    });
    assert_eq!(message["mo_rule"], "win");
    let came = hooks.came();
    assert!(came.iter().all(|hook| hook.id() == first.id()));
    assert!(came.iter().all(|hook| hook.octets == first.octets));
}

#[test]
fn a_callback_that_a_rule_names_stays() {
    let hooks = Hooks::taking();
    let listener = FakeOperator::listen();
    let smsc = to_callback(Smsc::new(), &hooks, &listener, "").start();
    let admin = smsc.admin();
    let (status, refused) = admin.call(
        "PUT",
        "/v1/accounts/club",
        Some(&json!({ "callbacks": {} })),
    );
    assert_eq!(status, 422, "{refused}");
    let said = refused.to_string();
    assert!(
        said.contains("mo_rules/win.callback") && said.contains("has no `callbacks`"),
        "{said}"
    );
    let body = json!({ "deliver_to": "club", "callback": "crn" });
    let (status, refused) = admin.call("PUT", "/v1/mo-rules/win", Some(&body));
    assert_eq!(status, 422, "{refused}");
    let problem = &refused["problems"][0];
    assert_eq!(problem["field"], "callback", "{refused}");
    assert!(
        problem["message"]
            .as_str()
            .unwrap()
            .contains("did you mean `crm`")
    );
}
