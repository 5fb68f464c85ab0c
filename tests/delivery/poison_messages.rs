//! A message on which the other side ends the session is found, tried alone, later and later, and ends with a reason;
//! the others go on. A peer that ends sessions whatever it gets makes no dead letters of good messages.

mod picky;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use smsc::smpp::{Body, SubmitSm};

use self::picky::{Picky, picky_esme};
use crate::harness::{
    FakeOperator, Peer, Smsc, SmscBuilder, database, migrate, python_script, receipted, stat_of,
    submit, until,
};

/// Short pauses between the tries.
const QUICK: &str = "suspect_pause = \"300ms\"";

/// Submits 45 good messages with a bad one among them; returns their ids.
fn submit_all(esme: &mut Peer) -> (Vec<String>, String) {
    let mut good = Vec::new();
    let mut bad = String::new();
    for number in 0..46 {
        match number {
            7 => bad = esme.submit(submit("447700900199", "poison")),
            _ => {
                let to = format!("4477009001{number:02}");
                good.push(esme.submit(submit(&to, &format!("good {number}"))));
            }
        }
    }
    (good, bad)
}

/// Waits until 45 different good messages came; how many came more than once.
fn duplicates(operator: &Picky) -> usize {
    until("the good messages", || {
        let came = operator.came();
        let good = came.keys().filter(|text| text.starts_with("good")).count();
        (good == 45).then_some(())
    });
    let came = operator.came();
    let good = came.iter().filter(|(text, _)| text.starts_with("good"));
    good.map(|(_, count)| count - 1).sum()
}

fn error_of(message: &Value) -> &str {
    message["final"]["error"].as_str().unwrap_or_default()
}

/// How often a message has ended the session alone, as its history says.
fn ends(smsc: &Smsc, id: &str) -> usize {
    let message = smsc.admin().get(&format!("/v1/messages/{id}"));
    let changes = message["changes"].as_array().unwrap();
    let ended = |change: &&Value| change["kind"] == "ended_session";
    changes.iter().filter(ended).count()
}

fn the_bad_one_ends_and_the_others_go_on(operator: &Picky, smsc: &Smsc, window: usize) {
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (good, bad) = submit_all(&mut esme);
    let twice = duplicates(operator);
    assert!(twice < window, "{twice} duplicates: {:?}", operator.came());
    let ended = smsc.wait_for_final(&bad);
    assert_eq!(ended["state"], "UNDELIVERABLE");
    assert_eq!(error_of(&ended), "ended the session 3 times");
    let sendings = operator.came()["poison"];
    assert!((3..=5).contains(&sendings), "{sendings} sendings");
    let history = ended["history"].as_array().unwrap();
    assert_eq!(history.len(), sendings, "each is an attempt: {ended}");
    assert!(
        history
            .iter()
            .all(|attempt| attempt["status"] == "no answer")
    );
    // Its sender hears of it, and the administrator finds it.
    let receipt = esme.deliver();
    assert_eq!(stat_of(&receipt), (bad.clone(), 5));
    let list = smsc.admin().get("/v1/dead-letters");
    assert_eq!(list["messages"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["messages"][0]["id"], json!(bad));
    let metric = |name: &str| smsc.admin().metric(name);
    let queue = "{queue=\"operator:up\"}";
    until("the count", || {
        let ended = metric(&format!("smsc_queue_ended_sessions_total{queue}"));
        (ended == Some(1.0)).then_some(())
    });
    until("no suspects", || {
        (metric(&format!("smsc_queue_suspects{queue}")) == Some(0.0)).then_some(())
    });
    for id in good {
        let message = smsc.admin().get(&format!("/v1/messages/{id}"));
        assert_eq!(message["stage"], "handed over", "{message}");
    }
    smsc.assert_no_panic();
}

/// With the settings of whoever configures nothing.
#[test]
fn one_bad_message_ends_alone_with_default_settings() {
    let operator = Picky::on_text("poison");
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with(
            "up",
            operator.address,
            "reconnect = [\"5s\", \"10s\", \"20s\", \"40s\", \"60s\"]\nwindow = 10",
        )
        .route("", "up")
        .start();
    the_bad_one_ends_and_the_others_go_on(&operator, &smsc, 10);
}

#[test]
fn one_bad_message_ends_alone_over_several_binds_and_large_windows() {
    let operator = Picky::on_text("poison");
    let keys = format!("binds = 3\nwindow = 50\n{QUICK}");
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", operator.address, &keys)
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 3);
    the_bad_one_ends_and_the_others_go_on(&operator, &smsc, 50);
}

#[test]
fn max_attempts_counts_sessions_that_end_and_the_breaker_does_not() {
    let operator = Picky::on_text("poison");
    let keys = format!(
        "window = 10\nbreaker_failures = 1\nsuspect_attempts = 0\nretry = {{ max_attempts = 4 }}\n{QUICK}"
    );
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", operator.address, &keys)
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (_, bad) = submit_all(&mut esme);
    duplicates(&operator);
    let ended = smsc.wait_for_final(&bad);
    assert_eq!(ended["state"], "UNDELIVERABLE");
    assert!(
        error_of(&ended).starts_with("ended the session "),
        "{ended}"
    );
    assert_eq!(ended["attempts"], 4);
    let operators = smsc.admin().get("/v1/operators/up");
    assert_eq!(operators["breaker"], "closed");
    let opened = smsc
        .admin()
        .metric("smsc_operator_breaker_opened_total{queue=\"operator:up\"}");
    assert_eq!(opened, Some(0.0));
}

fn the_count_survives_a_kill(builder: SmscBuilder) {
    let operator = Picky::on_text("poison");
    let mut smsc = builder
        .account("test", "test")
        .operator_with(
            "up",
            operator.address,
            "suspect_pause = \"1s\"\nwindow = 10",
        )
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (_, bad) = submit_all(&mut esme);
    duplicates(&operator);
    let before = until("an end that counts", || match ends(&smsc, &bad) {
        0 => None,
        some => Some(some),
    });
    assert!(before < 3);
    smsc.kill();
    let sent_before = operator.came()["poison"];
    smsc.start_again();
    let ended = smsc.wait_for_final(&bad);
    assert_eq!(error_of(&ended), "ended the session 3 times");
    let sent_after = operator.came()["poison"] - sent_before;
    assert!(
        sent_after <= 3 - before,
        "{sent_after} more after {before} that count"
    );
    smsc.assert_no_panic();
}

#[test]
fn the_count_survives_a_kill_on_the_embedded_store() {
    the_count_survives_a_kill(Smsc::new());
}

#[test]
fn the_count_survives_a_kill_on_postgresql() {
    let database = database();
    migrate(database.url());
    let store = format!("[postgres]\nurl = {:?}", database.url());
    the_count_survives_a_kill(Smsc::new().toml(&store));
}

#[test]
fn a_peer_that_ends_every_session_makes_no_dead_letters() {
    let operator = Picky::on(|_| true);
    let keys =
        format!("window = 10\nsuspect_attempts = 1\nretry = {{ max_attempts = 2 }}\n{QUICK}");
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", operator.address, &keys)
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let ids: Vec<String> = (0..12)
        .map(|number| {
            let to = format!("4477009001{number:02}");
            esme.submit(submit(&to, &format!("good {number}")))
        })
        .collect();
    until("many sessions that end", || {
        (operator.sessions() >= 25).then_some(())
    });
    let list = smsc.admin().get("/v1/dead-letters");
    assert_eq!(list["messages"].as_array().unwrap().len(), 0, "{list}");
    // It works again: all of them go.
    operator.takes_everything();
    for id in ids {
        until("a message to be handed over", || {
            let message = smsc.admin().get(&format!("/v1/messages/{id}"));
            (message["stage"] == "handed over").then_some(())
        });
    }
}

/// Brings 26 MO messages, one of them empty; `texts` says how often the client got which.
fn an_empty_mo_is_given_up(
    smsc: &Smsc,
    mut bind: Peer,
    texts: impl Fn() -> BTreeMap<String, usize>,
) {
    for number in 0..26 {
        let text = match number {
            3 => String::new(),
            _ => format!("mo {number}"),
        };
        let mo = SubmitSm {
            source_addr: bytes::Bytes::from(format!("4477009001{number:02}")),
            registered_delivery: 0,
            ..submit("12345", &text)
        };
        let sequence = bind.request(Body::DeliverSm(mo));
        bind.answer_to(sequence);
    }
    until("the other 25", || (texts().len() == 26).then_some(()));
    let list = until("the empty one to be given up", || {
        let list = smsc.admin().get("/v1/dead-letters");
        (list["messages"].as_array()?.len() == 1).then_some(list)
    });
    assert_eq!(error_of(&list["messages"][0]), "ended the session 3 times");
    let sendings = texts()[""];
    assert!((3..=5).contains(&sendings), "{sendings} sendings");
    smsc.assert_no_panic();
}

/// An account whose client gets what an operator brings, and the bind of that operator.
fn account_for_mo() -> (Smsc, Peer) {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account_with("test", "test", &format!("addresses = [\"12345\"]\n{QUICK}"))
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let bind = operator.accept_bind();
    (smsc, bind)
}

fn counted(texts: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    counts
}

#[test]
fn an_empty_mo_on_which_a_client_ends_is_given_up_and_the_others_arrive() {
    let (smsc, bind) = account_for_mo();
    let (came, ended) = (Arc::default(), Arc::new(AtomicBool::new(false)));
    let client = picky_esme(
        smsc.smpp(),
        Arc::clone(&came),
        Arc::clone(&ended),
        |message| message.short_message.is_empty(),
    );
    an_empty_mo_is_given_up(&smsc, bind, || {
        let came = came.lock().unwrap();
        let text = |one: &SubmitSm| String::from_utf8_lossy(&one.short_message).into_owned();
        counted(came.iter().map(text))
    });
    ended.store(true, Ordering::SeqCst);
    client.join().unwrap();
}

/// A client of smpplib, which raises in its handler, as programs do that read the first word of every text.
#[test]
fn an_empty_mo_on_which_smpplib_ends_is_given_up_and_the_others_arrive() {
    let (smsc, bind) = account_for_mo();
    let port = smsc.smpp().port().to_string();
    let mut client = python_script("smpplib_poison.py", &["127.0.0.1", &port, "test", "test"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let theirs = Arc::clone(&lines);
    let output = BufReader::new(client.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            theirs
                .lock()
                .unwrap()
                .push(line.trim_matches('\'').to_owned());
        }
    });
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        an_empty_mo_is_given_up(&smsc, bind, || {
            counted(lines.lock().unwrap().iter().cloned())
        });
    }));
    client.kill().unwrap();
    client.wait().unwrap();
    reader.join().unwrap();
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
}

#[test]
fn a_receipt_on_which_a_client_ends_is_given_up_and_the_others_arrive() {
    let smsc = Smsc::new()
        .account_with("test", "test", QUICK)
        .route("", "test:delivered")
        .start();
    let mut esme = Peer::transmitter(smsc.smpp(), "test", "test");
    let ids: Vec<String> = (0..10)
        .map(|number| esme.submit(submit(&format!("4477009001{number:02}"), "hello")))
        .collect();
    let (came, ended) = (Arc::default(), Arc::new(AtomicBool::new(false)));
    let bad = ids[2].clone();
    let client = picky_esme(
        smsc.smpp(),
        Arc::clone(&came),
        Arc::clone(&ended),
        move |message| receipted(message) == bad,
    );
    for (number, id) in ids.iter().enumerate() {
        let end = until("the end of a receipt", || {
            let message = smsc.admin().get(&format!("/v1/messages/{id}"));
            let end = &message["final"];
            let is_over = end["receipt_acknowledged"] == true || end["receipt_given_up"] == true;
            is_over.then(|| message.clone())
        });
        assert_eq!(
            end["final"]["receipt_given_up"],
            json!(number == 2),
            "{end}"
        );
        if number == 2 {
            let changes = end["changes"].as_array().unwrap();
            assert_eq!(changes.last().unwrap()["by"], "ended the session 3 times");
        }
    }
    let list = smsc.admin().get("/v1/receipts/given-up");
    assert_eq!(list["messages"][0]["id"], json!(ids[2]));
    ended.store(true, Ordering::SeqCst);
    client.join().unwrap();
    smsc.assert_no_panic();
}

#[test]
fn in_strict_order_the_others_wait_until_it_has_ended() {
    let operator = Picky::on_text("poison");
    let keys = format!("strict_order = true\n{QUICK}");
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", operator.address, &keys)
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let ids: Vec<String> = ["one", "poison", "two", "three"]
        .map(|text| esme.submit(submit("447700900123", text)))
        .into();
    until("the others", || operator.came().get("three").copied());
    let came = operator.order();
    assert_eq!(came, ["one", "poison", "poison", "poison", "two", "three"]);
    let ended = smsc.wait_for_final(&ids[1]);
    assert_eq!(ended["state"], "UNDELIVERABLE");
    assert_eq!(error_of(&ended), "ended the session 3 times");
    assert_eq!(stat_of(&esme.deliver()), (ids[1].clone(), 5));
    smsc.assert_no_panic();
}

#[test]
fn in_strict_order_a_peer_that_takes_nothing_loses_nothing_and_keeps_the_order() {
    let operator = Picky::on(|_| true);
    let keys = format!("strict_order = true\n{QUICK}");
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", operator.address, &keys)
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for text in ["one", "two", "three"] {
        esme.submit(submit("447700900123", text));
    }
    // The second one goes only to show whether the operator takes anything.
    until("the second one", || operator.came().get("two").copied());
    let before = operator.sessions();
    until("another session", || {
        (operator.sessions() > before).then_some(())
    });
    operator.takes_everything();
    until("all", || operator.came().get("three").copied());
    let came = operator.order();
    assert_eq!(came[came.len() - 3..], ["one", "two", "three"]);
    let list = smsc.admin().get("/v1/dead-letters");
    assert_eq!(list["messages"].as_array().unwrap().len(), 0, "{list}");
}
