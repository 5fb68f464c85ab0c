//! Receivers that may not be called, that are not who they say, or that would hold others up.

use std::time::Duration;

use super::{assert_signed, callbacks_that, delivering, submit_some, submit_to, to, to_local};
use crate::harness::hooks::{HookReply, Hooks};
use crate::harness::{Authority, Peer, Smsc, submit};

#[test]
fn a_name_that_resolves_to_this_machine_is_not_called() {
    let hooks = Hooks::taking();
    // By HTTPS, so that the URL is allowed whatever it resolves to.
    let url = format!("https://localhost:{}/hook", hooks.address().port());
    let smsc = delivering(&to(&url)).start();
    let id = submit_to(&smsc, "447700900123");
    smsc.wait_for_final(&id);
    let row = callbacks_that(&smsc, |row| row["state"] == "waiting");
    let error = row["last_error"].as_str().unwrap();
    assert!(error.contains("is not a public address"), "{error}");
    let forbidden = "smsc_callbacks_total{account=\"test\",result=\"forbidden\"}";
    assert!(smsc.admin().metric(forbidden).unwrap() >= 1.0);
    assert_eq!(hooks.came().len(), 0);
    let message = smsc.admin().get(&format!("/v1/messages/{id}"));
    assert_eq!(message["final"]["receipt_acknowledged"], false, "it waits");
}

#[test]
fn a_redirect_is_a_failure_and_is_not_followed() {
    let target = Hooks::taking();
    let location = format!("location: {}\r\n", target.url("127.0.0.1"));
    let hooks = Hooks::answering(move |_, before| match before {
        0 => HookReply::Status(307, location.clone()),
        _ => HookReply::ok(),
    });
    let smsc = delivering(&to_local(&hooks)).start();
    let id = submit_to(&smsc, "447700900123");
    hooks.wait_for(2);
    smsc.wait_until_told(&id);
    assert_eq!(target.came().len(), 0);
}

#[test]
fn an_endless_answer_ends_and_counts_by_its_status() {
    let hooks = Hooks::answering(|_, _| HookReply::Endless);
    let keys = format!("{}callback_timeout = \"30s\"\n", to_local(&hooks));
    let smsc = delivering(&keys).start();
    let id = submit_to(&smsc, "447700900123");
    smsc.wait_until_told(&id);
    assert_eq!(hooks.came().len(), 1);
}

#[test]
fn a_slow_receiver_holds_no_other_account() {
    const MESSAGES: usize = 50;
    let slow = Hooks::answering(|_, _| HookReply::Slow(Duration::from_secs(600)));
    let quick = Hooks::taking();
    let smsc = Smsc::new()
        .account_with("slow", "slow", &to_local(&slow))
        .account_with("test", "test", &to_local(&quick))
        .route("", "test:delivered")
        .start();
    let mut one = Peer::transmitter(smsc.smpp(), "slow", "slow");
    for number in 0..MESSAGES {
        one.submit(submit(&format!("4477008{number:05}"), "hello"));
    }
    slow.wait_for(8);
    submit_some(&smsc, MESSAGES);
    quick.wait_for(MESSAGES);
    assert_eq!(slow.came().len(), 8, "its own concurrency");
}

#[test]
fn https_needs_a_certificate_that_is_trusted() {
    let authority = Authority::new("callbacks");
    let hooks = Hooks::with_tls(&authority.sign("localhost"));
    let url = format!("https://localhost:{}/hook", hooks.address().port());
    let keys = format!("{}callback_allow_private = [\"localhost\"]\n", to(&url));
    let smsc = delivering(&keys).start();
    submit_to(&smsc, "447700900123");
    let row = callbacks_that(&smsc, |row| row["state"] == "waiting");
    let error = row["last_error"].as_str().unwrap();
    assert!(error.starts_with("TLS: "), "{error}");
    drop(smsc);
    let keys = format!("{keys}callback_ca_file = \"ca.pem\"\n");
    let smsc = delivering(&keys).file("ca.pem", &authority.pem).start();
    let id = submit_to(&smsc, "447700900123");
    smsc.wait_until_told(&id);
    assert_signed(&hooks.came()[0]);
}
