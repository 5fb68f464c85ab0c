//! A message over HTTP names where its receipt goes: a URL at a host that the account allows, or one of the account's
//! callbacks. It is as durable as the account's own way, and no host holds another.

use std::time::Duration;

use serde_json::{Value, json};
use smsc::domain::callback::signature::SigningSecrets;

use crate::harness::hooks::{Hook, HookReply, Hooks};
use crate::harness::{Peer, PeerError, Smsc, SmscBuilder, database, migrate, until};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Long enough for a receipt to show itself, had there been one.
const QUIET: Duration = Duration::from_millis(700);

fn keys(more: &str) -> String {
    format!(
        "callback_secrets = {SECRET:?}\ncallback_hosts = [\"127.0.0.1\", \"localhost\"]\n\
         callback_allow_private = [\"127.0.0.1\", \"localhost\"]\n{more}"
    )
}

fn allowing(more: &str) -> SmscBuilder {
    Smsc::new()
        .with_api()
        .account_with("test", "test", &keys(more))
        .route("", "test:delivered")
}

fn order(more: &Value) -> Value {
    let mut order = json!({ "to": "447700900123", "from": "ACME", "text": "hello" });
    let more = more.as_object().unwrap().clone();
    order.as_object_mut().unwrap().extend(more);
    order
}

fn send(smsc: &Smsc, more: &Value) -> (u16, Value) {
    let api = smsc.api_of("test", "both");
    api.call("POST", "/v1/messages", Some(&order(more)))
}

fn accepted(smsc: &Smsc, more: &Value) -> String {
    let (status, said) = send(smsc, more);
    assert_eq!(status, 202, "{said}");
    said["messages"][0]["id"].as_str().unwrap().to_owned()
}

fn about(hook: &Hook) -> String {
    hook.json()["data"]["message_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_receipt_goes_where_its_message_says() {
    let hooks = Hooks::taking();
    let port = hooks.address().port();
    let named = format!("callbacks = {{ billing = \"http://localhost:{port}/billing\" }}");
    let smsc = allowing(&named).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let url = format!("http://127.0.0.1:{port}/one?two=3");
    let first = accepted(&smsc, &json!({ "callback": url }));
    hooks.wait_for(1);
    let second = accepted(&smsc, &json!({ "callback": "billing" }));
    let came = hooks.wait_for(2);
    for (hook, id, path) in [
        (&came[0], &first, "/one?two=3"),
        (&came[1], &second, "/billing"),
    ] {
        assert_eq!((about(hook), hook.path.as_str()), (id.clone(), path));
        assert_eq!(hook.json()["type"], "message.delivered");
        let timestamp = hook.header("webhook-timestamp").parse().unwrap();
        let secrets = SigningSecrets::parse(SECRET).unwrap();
        let signature = secrets.sign(hook.id(), timestamp, &hook.octets);
        assert_eq!(hook.header("webhook-signature"), signature);
    }
    let message = smsc.wait_until_told(&first);
    assert_eq!(message["final"]["receipt_to"], "callback-to:127.0.0.1@test");
    assert_eq!(
        esme.next(QUIET),
        Err(PeerError::Silence),
        "nothing on the bind"
    );
    accepted(&smsc, &json!({ "receipt": true }));
    assert_eq!(esme.deliver().esm_class, 4, "the others go there");
    assert_eq!(hooks.came().len(), 2);
}

fn it_survives_a_kill(smsc: SmscBuilder) {
    let hooks = Hooks::answering(|_, before| match before {
        0 | 1 => HookReply::status(500),
        _ => HookReply::ok(),
    });
    let mut smsc = smsc.start();
    let id = accepted(&smsc, &json!({ "callback": hooks.url("127.0.0.1") }));
    hooks.wait_for(1);
    smsc.kill();
    smsc.start_again();
    let came = hooks.wait_for(3);
    smsc.wait_until_told(&id);
    assert!(came.iter().all(|hook| hook.id() == came[0].id()));
    assert!(came.iter().all(|hook| hook.octets == came[0].octets));
}

#[test]
fn it_comes_again_after_failures_and_a_kill() {
    it_survives_a_kill(allowing(""));
}

#[test]
fn it_comes_again_after_failures_and_a_kill_from_postgresql() {
    let database = database();
    migrate(database.url());
    let store = format!("[postgres]\nurl = {:?}", database.url());
    it_survives_a_kill(allowing("").toml(&store));
}

#[test]
fn what_the_account_does_not_allow_is_refused() {
    let smsc = allowing("").account("plain", "plain").start();
    for (callback, why) in [
        ("https://elsewhere.example/", "callback_hosts"),
        ("http://127.0.0.1:80@elsewhere.example/", "user"),
        ("billing", "callbacks"),
        ("ftp://127.0.0.1/", "https://"),
        ("https://127.0.0.1/#x", "fragment"),
    ] {
        let (status, said) = send(&smsc, &json!({ "callback": callback }));
        assert_eq!(
            (status, &said["field"]),
            (400, &json!("callback")),
            "{said}"
        );
        let detail = said["detail"].as_str().unwrap();
        assert!(detail.contains(why), "{callback}: {detail}");
    }
    let api = smsc.api_of("plain", "send");
    let body = order(&json!({ "callback": "https://127.0.0.1/" }));
    assert_eq!(api.call("POST", "/v1/messages", Some(&body)).0, 400);
    let (status, said) = api.call("POST", "/v1/messages/estimate", Some(&body));
    assert_eq!(
        (status, &said["messages"][0]["error"]["field"]),
        (200, &json!("callback"))
    );
    // The others of a batch go.
    let batch = json!({ "messages": [body, order(&json!({}))] });
    let (status, said) = api.call("POST", "/v1/messages", Some(&batch));
    assert_eq!((status, &said["accepted"]), (202, &json!(1)), "{said}");
}

#[test]
fn a_host_that_fails_holds_no_other() {
    const MESSAGES: usize = 30;
    let slow = Hooks::answering(|_, _| HookReply::Slow(Duration::from_secs(600)));
    let quick = Hooks::taking();
    // A callback that is not answered by then has failed, and makes room for the next: not before the end of the test.
    let smsc = allowing("callback_timeout = \"1m\"").start();
    let to = |hooks: &Hooks, host: &str| {
        let numbers: Vec<String> = (0..MESSAGES).map(|at| format!("4477009{at:05}")).collect();
        let order = json!({ "to": numbers, "callback": hooks.url(host) });
        assert_eq!(send(&smsc, &order).0, 202);
    };
    to(&slow, "127.0.0.1");
    slow.wait_for(8);
    to(&quick, "localhost");
    quick.wait_for(MESSAGES);
    assert_eq!(slow.came().len(), 8, "its own concurrency");
}

#[test]
fn a_host_that_is_no_longer_allowed_gets_nothing_more() {
    let hooks = Hooks::taking();
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", &keys(""))
        .route("", "test:delivered")
        .start();
    let in_an_hour = smsc::domain::moment::text(smsc::clock::now_ms() + 3_600_000);
    let api = smsc.api_of("test", "both");
    let id = accepted(
        &smsc,
        &json!({ "callback": hooks.url("127.0.0.1"), "send_at": in_an_hour }),
    );
    let without = json!({ "password": "test" });
    let answer = smsc.admin().put("/v1/accounts/test", &without);
    assert_eq!(answer.status, 200, "{answer:?}");
    // Only now it goes: a time that is over means at once.
    let now = json!({ "send_at": "2026-01-01T00:00:00Z" });
    until("the message to be sent", || {
        let (status, _) = api.call("PATCH", &format!("/v1/messages/{id}"), Some(&now));
        [200, 202].contains(&status).then_some(())
    });
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(esme.deliver().esm_class, 4, "its receipt is not lost");
    assert_eq!(hooks.came().len(), 0);
}
