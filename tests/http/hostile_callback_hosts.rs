//! Receivers of callbacks that are slow, fail, redirect into the network, never end, do not listen, show an expired
//! certificate or resolve to this machine: each holds its own callbacks only. Other accounts, other hosts of the same
//! account, and binds get everything meanwhile.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::hooks::{HookReply, Hooks};
use crate::harness::{Authority, Peer, Smsc, free_port, submit, until};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const MESSAGES: usize = 30;
/// `callback_concurrency`.
const AT_ONCE: usize = 8;
/// A callback that is not answered by then has failed, and makes room for the next: not before the end of a test.
const LATE: &str = "callback_timeout = \"1m\"\n";

fn keys(url: &str, more: &str) -> String {
    format!(
        "deliver_by = \"callback\"\ncallback_url = {url:?}\ncallback_secrets = {SECRET:?}\n{more}"
    )
}

fn flood(smsc: &Smsc, account: &str) {
    let mut esme = Peer::transmitter(smsc.smpp(), account, account);
    for number in 0..MESSAGES {
        esme.submit(submit(&format!("4477009{number:05}"), "hello"));
    }
}

/// Receipts that wait for an account, or are with its callbacks.
fn left(smsc: &Smsc, account: &str) -> u64 {
    let queues = smsc.admin().get("/v1/queues");
    let mut queues = queues["queues"].as_array().unwrap().iter();
    let name = format!("account:{account}");
    let queue = queues.find(|queue| queue["name"] == name.as_str()).unwrap();
    let count = |key: &str| queue[key].as_u64().unwrap();
    count("waiting") + count("scheduled") + count("in_flight")
}

fn errors(smsc: &Smsc, account: &str) -> Vec<String> {
    let binds = smsc.admin().get("/v1/binds");
    let rows = binds["binds"].as_array().unwrap().iter();
    let of_account = rows.filter(|row| row["direction"] == "callback" && row["name"] == account);
    let error = |row: &Value| row["last_error"].as_str().unwrap().to_owned();
    of_account.map(error).collect()
}

#[test]
fn a_hostile_receiver_slows_nobody_else() {
    let slow = Hooks::answering(|_, _| HookReply::Slow(Duration::from_secs(600)));
    let failing = Hooks::answering(|_, _| HookReply::status(500));
    let inside = Hooks::taking();
    let location = format!("location: {}\r\n", inside.url("127.0.0.1"));
    let redirecting = Hooks::answering(move |_, _| HookReply::Status(302, location.clone()));
    let endless = Hooks::answering(|_, _| HookReply::Endless);
    let authority = Authority::new("callbacks");
    let expired = Hooks::with_tls(&authority.sign_expired("localhost"));
    let named = Hooks::taking();
    let quick = Hooks::taking();
    let local = "callback_allow_private = [\"127.0.0.1\"]\n";
    let by_tls = |port: u16| format!("https://localhost:{port}/hook");
    let closed = format!("http://127.0.0.1:{}/hook", free_port());
    let accounts = [
        (
            "slow",
            keys(&slow.url("127.0.0.1"), &format!("{local}{LATE}")),
        ),
        ("failing", keys(&failing.url("127.0.0.1"), local)),
        ("redirect", keys(&redirecting.url("127.0.0.1"), local)),
        ("endless", keys(&endless.url("127.0.0.1"), local)),
        ("closed", keys(&closed, local)),
        (
            "expired",
            keys(
                &by_tls(expired.address().port()),
                "callback_allow_private = [\"localhost\"]\ncallback_ca_file = \"ca.pem\"\n",
            ),
        ),
        // Its name resolves to this machine, which it must not reach.
        ("named", keys(&by_tls(named.address().port()), "")),
        ("quick", keys(&quick.url("127.0.0.1"), local)),
    ];
    let mut builder = Smsc::new()
        .with_api()
        .account("bound", "bound")
        .file("ca.pem", &authority.pem)
        .route("", "test:delivered");
    for (account, keys) in &accounts {
        builder = builder.account_with(account, account, keys);
    }
    let smsc = builder.start();
    let hostile = [
        "slow", "failing", "redirect", "endless", "closed", "expired", "named",
    ];
    hostile.iter().for_each(|account| flood(&smsc, account));
    slow.wait_for(AT_ONCE);
    failing.wait_for(3);
    redirecting.wait_for(3);
    for (account, error) in [
        ("closed", "refused"),
        ("expired", "TLS"),
        ("named", "not a public address"),
    ] {
        until(&format!("an error of {account}"), || {
            let found = errors(&smsc, account);
            let fits = |said: &String| {
                said.to_ascii_lowercase()
                    .contains(&error.to_ascii_lowercase())
            };
            found.iter().any(fits).then_some(())
        });
    }
    // Meanwhile everything goes to those that take it.
    flood(&smsc, "quick");
    quick.wait_for(MESSAGES);
    let mut esme = Peer::bind(smsc.smpp(), "bound", "bound");
    for number in 0..MESSAGES {
        esme.submit(submit(&format!("4477008{number:05}"), "hello"));
    }
    for _ in 0..MESSAGES {
        assert_eq!(esme.deliver().esm_class, 4);
    }
    until("nothing left for the others", || {
        ["quick", "bound", "endless"]
            .iter()
            .all(|account| left(&smsc, account) == 0)
            .then_some(())
    });
    // And those that do not, have lost nothing and reached nothing that they must not.
    for account in ["slow", "failing", "redirect", "closed", "expired", "named"] {
        assert_eq!(left(&smsc, account), MESSAGES as u64, "{account}");
    }
    assert_eq!(slow.came().len(), AT_ONCE, "its own concurrency");
    assert_eq!(endless.came().len(), MESSAGES, "each once");
    for (hooks, what) in [
        (&inside, "behind the redirect"),
        (&expired, "expired"),
        (&named, "this machine"),
    ] {
        assert_eq!(hooks.came().len(), 0, "{what}");
    }
    smsc.assert_no_panic();
}

#[test]
fn a_hostile_host_of_one_message_slows_no_other_of_its_account() {
    let slow = Hooks::answering(|_, _| HookReply::Slow(Duration::from_secs(600)));
    let both = "[\"127.0.0.1\", \"localhost\"]";
    let keys = format!(
        "callback_secrets = {SECRET:?}\ncallback_hosts = {both}\ncallback_allow_private = {both}\n\
         {LATE}"
    );
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", &keys)
        .route("", "test:delivered")
        .start();
    let api = smsc.api_of("test", "send");
    let send = |callback: Option<String>| {
        let numbers: Vec<String> = (0..MESSAGES).map(|at| format!("4477009{at:05}")).collect();
        let order = json!({ "to": numbers, "from": "ACME", "text": "hello", "receipt": true, "callback": callback });
        assert_eq!(api.call("POST", "/v1/messages", Some(&order)).0, 202);
    };
    send(Some(slow.url("127.0.0.1")));
    send(Some(format!("http://localhost:{}/gone", free_port())));
    slow.wait_for(AT_ONCE);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    send(None);
    for _ in 0..MESSAGES {
        assert_eq!(esme.deliver().esm_class, 4);
    }
    assert_eq!(slow.came().len(), AT_ONCE, "its own concurrency");
}
