//! Pain 23 of other products: callbacks must be answered with a magic word, are tried three times and then purged,
//! and cannot be slowed down. Here 2xx is enough, failures are tried again under one signed id for as long as is
//! configured, also after a crash, a receiver sets the pace, and what is given up is kept.

use std::time::Duration;

use crate::harness::hooks::{HookReply, Hooks};
use crate::harness::{Smsc, SmscBuilder, until};
use serde_json::json;
use smsc::domain::callback::signature::SigningSecrets;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn called(hooks: &Hooks, more: &str) -> SmscBuilder {
    let url = hooks.url("127.0.0.1");
    let keys = format!(
        "deliver_by = \"callback\"\ncallback_url = {url:?}\ncallback_secrets = {SECRET:?}\n\
         callback_allow_private = [\"127.0.0.1\"]\n{more}"
    );
    Smsc::new()
        .with_api()
        .account_with("test", "test", &keys)
        .route("", "test:delivered")
}

fn send(smsc: &Smsc) -> String {
    let order = json!({
        "to": "447700900123", "from": "ACME", "text": "hello", "receipt": true,
        "reference": "order-7", "metadata": { "shop": 1 },
    });
    let api = smsc.api_of("test", "send");
    let (status, said) = api.call("POST", "/v1/messages", Some(&order));
    assert_eq!(status, 202, "{said}");
    said["messages"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn five_failures_and_a_kill_later_it_is_taken_under_the_same_id() {
    // No magic word: the body of the answer means nothing.
    let hooks = Hooks::answering(|_, before| match before {
        0..5 => HookReply::status(500),
        _ => HookReply::status(204),
    });
    let mut smsc = called(&hooks, "").start();
    let id = send(&smsc);
    hooks.wait_for(2);
    smsc.kill();
    smsc.fsck();
    smsc.start_again();
    let came = hooks.wait_for(6);
    let secrets = SigningSecrets::parse(SECRET).unwrap();
    for hook in &came {
        assert_eq!((hook.id(), &hook.octets), (came[0].id(), &came[0].octets));
        let timestamp = hook.header("webhook-timestamp").parse().unwrap();
        let signature = secrets.sign(hook.id(), timestamp, &hook.octets);
        assert_eq!(hook.header("webhook-signature"), signature);
    }
    let said = came[5].json();
    assert_eq!(said["type"], "message.delivered");
    assert_eq!(said["data"]["message_id"], id);
    assert_eq!(said["data"]["client_reference"], "order-7");
    assert_eq!(said["data"]["metadata"], json!({ "shop": 1 }));
    smsc.wait_until_told(&id);
    assert_eq!(hooks.came().len(), 6, "taken once");
}

#[test]
fn the_receiver_sets_the_pace() {
    let hooks = Hooks::taking();
    let smsc = called(&hooks, "callback_rate = 0.05\n").start();
    send(&smsc);
    send(&smsc);
    hooks.wait_for(1);
    // One in twenty seconds: the second one is not due for a while.
    std::thread::park_timeout(Duration::from_millis(700));
    assert_eq!(hooks.came().len(), 1);
    hooks.wait_for(2);
    let wrong = smsc.admin().call(
        "PUT",
        "/v1/accounts/test",
        Some(&json!({ "password": "test", "callback_rate": 0 })),
    );
    assert!([400, 422].contains(&wrong.0), "{}", wrong.1);
}

#[test]
fn what_is_given_up_is_in_the_history() {
    let hooks = Hooks::answering(|_, _| HookReply::status(500));
    // The second attempt is due after a second or so.
    let smsc = called(&hooks, "callback_retry_for = \"6s\"\n").start();
    let id = send(&smsc);
    until("it is given up", || {
        let message = smsc.admin().get(&format!("/v1/messages/{id}"));
        (message["final"]["receipt_given_up"] == true).then_some(())
    });
    assert!(hooks.came().len() >= 2);
}
