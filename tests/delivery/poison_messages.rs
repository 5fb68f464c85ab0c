//! A message on which the other side ends the session is found, tried alone, later and later, and ends with a reason;
//! the others go on. A peer that ends sessions whatever it gets makes no dead letters of good messages.

mod picky;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use smsc::smpp::{Body, SubmitSm};

use self::picky::{AnswerTime, Manner, Picky, PickyEsme};
use crate::harness::{
    FakeOperator, Peer, Smsc, SmscBuilder, database, migrate, python_script, receipted, stat_of,
    submit, until,
};

/// Short pauses between the tries.
const QUICK: &str = "suspect_pause = \"300ms\"";
/// A peer that says nothing is soon taken for dead, but not one that a busy machine delays.
const IMPATIENT: &str =
    "response_timeout = \"1s\"\nenquire_link_interval = \"2s\"\nenquire_link_timeout = \"4s\"";

/// The operator with these keys, bound, and a bind of an account that routes everything there.
fn scene(operator: &Picky, keys: &str) -> (Smsc, Peer) {
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", operator.address, keys)
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let esme = Peer::bind(smsc.smpp(), "test", "test");
    (smsc, esme)
}

fn dead_letters(smsc: &Smsc) -> Vec<Value> {
    let list = smsc.admin().get("/v1/dead-letters");
    list["messages"].as_array().unwrap().clone()
}

/// Suspends or resumes the queue of the operator.
fn order(smsc: &Smsc, verb: &str) {
    let path = format!("/v1/queues/operator:up/{verb}");
    assert_eq!(smsc.admin().post(&path).0, 200);
}

/// Submits a good message to a subscriber of its own.
fn submit_good(esme: &mut Peer, number: usize) -> String {
    let to = format!("44770090{number:04}");
    esme.submit(submit(&to, &format!("good {number}")))
}

/// How many different good messages came, and how many of those that came had come before.
fn good(came: &BTreeMap<String, usize>) -> (usize, usize) {
    let good = came.iter().filter(|(text, _)| text.starts_with("good"));
    good.fold((0, 0), |(texts, twice), (_, count)| {
        (texts + 1, twice + count - 1)
    })
}

/// Submits 45 good messages with a bad one among them; returns their ids.
fn submit_all(esme: &mut Peer) -> (Vec<String>, String) {
    let mut good = Vec::new();
    let mut bad = String::new();
    for number in 0..46 {
        match number {
            7 => bad = esme.submit(submit("447700900199", "poison")),
            _ => good.push(submit_good(esme, number)),
        }
    }
    (good, bad)
}

/// Waits until 45 different good messages came; how many came more than once.
fn duplicates(operator: &Picky) -> usize {
    until("the good messages", || {
        let (texts, twice) = good(&operator.came());
        (texts == 45).then_some(twice)
    })
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

/// Waits until ends of the message count, and says how many. They do only when the peer has answered others since: all of
/// them may have gone before, so there is another one after each try. The first two it may share with others.
fn first_end(smsc: &Smsc, esme: &mut Peer, operator: &Picky, bad: &str) -> usize {
    let (mut tries, mut number) = (2, 47);
    until("an end that counts", || {
        let came = operator.came()["poison"];
        if came > tries {
            tries = came;
            submit_good(esme, number);
            number += 1;
        }
        let ends = ends(smsc, bad);
        (ends > 0).then_some(ends)
    })
}

fn the_bad_one_ends_and_the_others_go_on(
    operator: &Picky,
    (smsc, mut esme): (Smsc, Peer),
    window: usize,
) {
    let (good, bad) = submit_all(&mut esme);
    let twice = duplicates(operator);
    assert!(twice < window, "{twice} duplicates: {:?}", operator.came());
    first_end(&smsc, &mut esme, operator, &bad);
    submit_good(&mut esme, 46);
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
    let dead: Vec<Value> = dead_letters(&smsc)
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    assert_eq!(dead, [json!(bad)]);
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
    let keys = "reconnect = [\"5s\", \"10s\", \"20s\", \"40s\", \"60s\"]\nwindow = 10";
    the_bad_one_ends_and_the_others_go_on(&operator, scene(&operator, keys), 10);
}

#[test]
fn one_bad_message_ends_alone_over_several_binds_and_large_windows() {
    let operator = Picky::on_text("poison");
    let keys = format!("binds = 3\nwindow = 50\n{QUICK}");
    let (smsc, esme) = scene(&operator, &keys);
    smsc.wait_for_binds("up", 3);
    the_bad_one_ends_and_the_others_go_on(&operator, (smsc, esme), 50);
}

/// While a try hangs on one bind, the others go over the other one.
#[test]
fn a_try_that_is_not_answered_has_its_bind_for_itself() {
    /// Half of the time that the try takes: what waited behind it would come later.
    const LONG: Duration = Duration::from_secs(10);
    let operator = Picky::with(Manner::FallsSilent, AnswerTime::AtOnce, |message| {
        message.short_message == b"poison"[..]
    });
    let keys = format!(
        "window = 10\nbinds = 2\nresponse_timeout = \"20s\"\nenquire_link_interval = \"1m\"\nenquire_link_timeout = \"5s\"\n{QUICK}"
    );
    let (smsc, mut esme) = scene(&operator, &keys);
    smsc.wait_for_binds("up", 2);
    esme.submit(submit("447700900199", "poison"));
    until("the try", || {
        (operator.came().get("poison") == Some(&2)).then_some(())
    });
    until("the bind that was ended to be back", || {
        (operator.sessions() == 3).then_some(())
    });
    // When each good message was submitted.
    let mut submitted: Vec<Instant> = Vec::new();
    let long_ago = until("the end of the try", || {
        submit_good(&mut esme, submitted.len());
        submitted.push(Instant::now());
        let is_old = |at: &&Instant| at.elapsed() > LONG;
        let long_ago = submitted.iter().take_while(is_old).count();
        let came = operator.came();
        let is_there = |number: &usize| came.contains_key(&format!("good {number}"));
        let stuck = (0..long_ago).find(|number| !is_there(number));
        assert_eq!(stuck, None, "of {long_ago} while the try hangs");
        (operator.sessions() > 3).then_some(long_ago)
    });
    assert!(long_ago > 50, "{long_ago} came while the try hung");
    smsc.assert_no_panic();
}

/// It keeps the connection, but answers nothing any more, not even whether it is there.
#[test]
fn one_bad_message_on_which_an_operator_falls_silent_ends_alone() {
    let operator = Picky::with(Manner::FallsSilent, AnswerTime::AtOnce, |message| {
        message.short_message == b"poison"[..]
    });
    let keys = format!("window = 10\n{IMPATIENT}\n{QUICK}");
    the_bad_one_ends_and_the_others_go_on(&operator, scene(&operator, &keys), 10);
}

/// Ten of 490, and nothing of a window is answered before all of it was read: so whole windows are lost.
#[test]
fn several_bad_messages_in_a_backlog_cost_the_windows_of_the_first() {
    let operator = Picky::with(Manner::Closes, AnswerTime::Late, |message| {
        message.short_message.starts_with(b"poison")
    });
    let keys = format!("binds = 2\nwindow = 50\n{QUICK}");
    let (smsc, mut esme) = scene(&operator, &keys);
    smsc.wait_for_binds("up", 2);
    order(&smsc, "suspend");
    let mut bad = Vec::new();
    for number in 0..490 {
        match number % 49 {
            20 => bad.push(esme.submit(submit("447700900199", &format!("poison {number}")))),
            _ => drop(submit_good(&mut esme, number)),
        }
    }
    order(&smsc, "resume");
    let twice = until("the good messages", || {
        let (texts, twice) = good(&operator.came());
        (texts == 480).then_some(twice)
    });
    // What was under way when the first one was met is sent again, and by halves once more. Later ones meet less.
    assert!(twice <= 400, "{twice} duplicates");
    for id in bad {
        let ended = smsc.wait_for_final(&id);
        assert_eq!(error_of(&ended), "ended the session 3 times");
    }
    let sessions = operator.sessions();
    assert!(sessions <= 10 * 12, "{sessions} sessions");
    smsc.assert_no_panic();
}

/// At the head of the queue, and more than look like a peer that ends every session.
#[test]
fn a_crowd_of_bad_messages_in_front_holds_nobody_up_for_long() {
    let operator = Picky::on(|message| message.short_message.starts_with(b"poison"));
    let keys = format!("window = 10\nreconnect = [\"200ms\"]\n{QUICK}");
    let (smsc, mut esme) = scene(&operator, &keys);
    order(&smsc, "suspend");
    for number in 0..60 {
        esme.submit(submit("447700900199", &format!("poison {number}")));
    }
    let ids: Vec<String> = (0..20)
        .map(|number| submit_good(&mut esme, number))
        .collect();
    order(&smsc, "resume");
    until("the good messages", || {
        (good(&operator.came()).0 == 20).then_some(())
    });
    let dead = dead_letters(&smsc);
    let is_good = |one: &Value| ids.iter().any(|id| one["id"] == id.as_str());
    assert!(!dead.iter().any(is_good), "{dead:?}");
    smsc.assert_no_panic();
}

/// More than windows and a commit hold, so that what is set aside must not count as under way.
#[test]
fn many_that_are_set_aside_stop_nothing() {
    let operator = Picky::on(|_| true);
    let smsc = Smsc::new()
        .env("SMSC_STORE__BATCH_ROWS", "20")
        .account("test", "test")
        .operator_with(
            "up",
            operator.address,
            &format!("window = 10\nreconnect = [\"200ms\"]\n{QUICK}"),
        )
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    order(&smsc, "suspend");
    for number in 0..300 {
        submit_good(&mut esme, number);
    }
    order(&smsc, "resume");
    until("most to be set aside", || {
        let suspects = smsc
            .admin()
            .metric("smsc_queue_suspects{queue=\"operator:up\"}");
        (suspects > Some(200.0)).then_some(())
    });
    operator.takes_everything();
    until("all messages", || {
        (good(&operator.came()).0 == 300).then_some(())
    });
    assert_eq!(dead_letters(&smsc), Vec::<Value>::new());
    smsc.assert_no_panic();
}

#[test]
fn max_attempts_counts_sessions_that_end_and_the_breaker_does_not() {
    let operator = Picky::on_text("poison");
    let keys = format!(
        "window = 10\nbreaker_failures = 1\nsuspect_attempts = 0\nretry = {{ max_attempts = 4 }}\n{QUICK}"
    );
    let (smsc, mut esme) = scene(&operator, &keys);
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
            // The test looks at the first end before the third one.
            "suspect_pause = \"3s\"\nwindow = 10",
        )
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (_, bad) = submit_all(&mut esme);
    duplicates(&operator);
    let before = first_end(&smsc, &mut esme, &operator, &bad);
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
    let (smsc, mut esme) = scene(&operator, &keys);
    let ids: Vec<String> = (0..12)
        .map(|number| submit_good(&mut esme, number))
        .collect();
    until("many sessions that end", || {
        (operator.sessions() >= 25).then_some(())
    });
    assert_eq!(dead_letters(&smsc), Vec::<Value>::new());
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
    let mut bring = |number: usize, text: &str| {
        let mo = SubmitSm {
            source_addr: bytes::Bytes::from(format!("4477009001{number:02}")),
            registered_delivery: 0,
            ..submit("12345", text)
        };
        let sequence = bind.request(Body::DeliverSm(mo));
        bind.answer_to(sequence);
    };
    for number in 0..26 {
        match number {
            3 => bring(number, ""),
            _ => bring(number, &format!("mo {number}")),
        }
    }
    until("the other 25", || (texts().len() == 26).then_some(()));
    // A message ends for what it does only when the peer has answered others since: all of them may have gone before, and
    // so may one that is brought before the first end is known.
    let mut tries = 1;
    let dead = until("the empty one to be given up", || {
        if texts()[""] > tries {
            tries = texts()[""];
            bring(24 + tries, &format!("mo {}", 24 + tries));
        }
        let dead = dead_letters(smsc);
        (dead.len() == 1).then_some(dead)
    });
    assert_eq!(error_of(&dead[0]), "ended the session 3 times");
    let sendings = texts()[""];
    assert!((3..=5).contains(&sendings), "{sendings} sendings");
    smsc.assert_no_panic();
}

/// An account whose client gets what an operator brings, and the bind of that operator.
fn account_for_mo(builder: SmscBuilder) -> (Smsc, Peer) {
    let operator = FakeOperator::listen();
    let smsc = builder
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

fn an_empty_mo_on_which_a_client_fails_is_given_up(builder: SmscBuilder, manner: Manner) {
    let (smsc, bind) = account_for_mo(builder);
    let client = PickyEsme::on(smsc.smpp(), manner, |message| {
        message.short_message.is_empty()
    });
    an_empty_mo_is_given_up(&smsc, bind, || client.came());
}

#[test]
fn an_empty_mo_on_which_a_client_ends_is_given_up_and_the_others_arrive() {
    an_empty_mo_on_which_a_client_fails_is_given_up(Smsc::new(), Manner::Closes);
}

#[test]
fn an_empty_mo_on_which_a_client_falls_silent_is_given_up_and_the_others_arrive() {
    let builder = Smsc::new().smpp(IMPATIENT);
    an_empty_mo_on_which_a_client_fails_is_given_up(builder, Manner::FallsSilent);
}

/// A client of smpplib, which raises in its handler, as programs do that read the first word of every text.
#[test]
fn an_empty_mo_on_which_smpplib_ends_is_given_up_and_the_others_arrive() {
    let (smsc, bind) = account_for_mo(Smsc::new());
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
    let bad = ids[2].clone();
    let _client = PickyEsme::on(smsc.smpp(), Manner::Closes, move |message| {
        receipted(message) == bad
    });
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
    smsc.assert_no_panic();
}

#[test]
fn in_strict_order_the_others_wait_until_it_has_ended() {
    let operator = Picky::on_text("poison");
    let (smsc, mut esme) = scene(&operator, &format!("strict_order = true\n{QUICK}"));
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
    let (smsc, mut esme) = scene(&operator, &format!("strict_order = true\n{QUICK}"));
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
    assert_eq!(dead_letters(&smsc), Vec::<Value>::new());
}
