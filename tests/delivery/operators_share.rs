//! Operators share, fail over and recover: routes by expression, the least busy and the cheapest
//! target, patience with a target that is unstable, circuit breakers, and a slower pace for one that
//! throttles.

use std::time::{Duration, Instant};

use crate::harness::{Answerer, Peer, Simulator, Smsc, submit, submit_from, until};
use smsc::smpp::CommandStatus;

/// Submits a message and returns its queue.
fn goes_to(smsc: &Smsc, esme: &mut Peer, to: &str) -> String {
    let id = esme.submit(submit(to, "hello"));
    smsc.queue_of(&id)
}

#[test]
fn pain_07_an_expression_wins_over_prefixes_and_is_explained() {
    let nowhere = Simulator::new().address();
    let mut builder = Smsc::new().account("test", "test");
    for id in ["all", "uk", "mobile", "brand"] {
        builder = builder.operator(id, nowhere);
    }
    let smsc = builder
        .route("", "all")
        .route("4477", "uk")
        .toml("[[route]]\nname = \"mobiles\"\nmatches = \"^4477[0-9]{8}$\"\nto = [\"mobile\"]")
        .toml("[[route]]\nname = \"brands\"\nprefix = \"44\"\nsource_matches = \"(?i)^acme\"\nto = [\"brand\"]")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for (source, to, queue) in [
        ("12345", "447700900123", "operator:mobile"),
        ("12345", "+447700900123", "operator:mobile"),
        ("12345", "4477009001", "operator:uk"),
        ("12345", "33123456", "operator:all"),
        ("Acme Ltd", "447700900123", "operator:brand"),
        ("Acme Ltd", "33123456", "operator:all"),
    ] {
        let id = esme.submit(submit_from(source, to));
        assert_eq!(smsc.queue_of(&id), queue, "from {source} to {to}");
    }
    let explained = smsc
        .admin()
        .get("/v1/routes/explain?to=447700900123&from=1");
    let names = |list: &str| -> Vec<String> {
        let list = explained[list].as_array().unwrap();
        let names = list.iter().map(|one| one["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    };
    assert_eq!(names("matching"), ["mobiles", "4477", "default"]);
    assert_eq!(names("not_matching"), ["brands"]);
    let why = &explained["matching"][1]["why"];
    assert_eq!(why, "fits, but \"mobiles\" has an expression");
    let why_not = &explained["not_matching"][0]["why"];
    assert_eq!(why_not, "only for sources that match /(?i)^acme/");
}

#[test]
fn the_least_busy_target_gets_the_most() {
    const MESSAGES: usize = 60;
    let stuck = Answerer::start();
    let quick = Answerer::start();
    stuck.be_silent();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("stuck", stuck.address(), "window = 10")
        .operator_with("quick", quick.address(), "window = 10")
        .toml("[[route]]\nshare = \"least_busy\"\nto = [{ stuck = 50, quick = 50 }]")
        .start();
    smsc.wait_for_binds("stuck", 1);
    smsc.wait_for_binds("quick", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for number in 0..MESSAGES {
        esme.submit(submit(&format!("4477009{number:05}"), "hello"));
        until("the message to come", || {
            (stuck.submits() + quick.submits() > number).then_some(())
        });
    }
    // By weight it would be half of them.
    assert!(stuck.submits() <= MESSAGES / 5, "{}", stuck.submits());
    let explained = smsc.admin().get("/v1/routes/explain?to=447700900123");
    let state = explained["targets"][0]["state"].as_str().unwrap();
    assert!(state.starts_with("load "), "{state}");
}

#[test]
fn the_cheapest_target_is_taken_while_it_is_there() {
    let far = Answerer::start();
    let mut near = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("far", far.address(), "cost = 3")
        .operator_with(
            "near",
            near.address(),
            "cost = 5\ncosts = { 44 = 1, 4479 = 4 }",
        )
        .toml("[[route]]\nshare = \"least_cost\"\nto = [{ far = 50, near = 50 }]")
        .start();
    smsc.wait_for_binds("far", 1);
    smsc.wait_for_binds("near", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for (to, queue) in [
        ("447700900123", "operator:near"),
        ("447900900123", "operator:far"),
        ("33123456", "operator:far"),
    ] {
        assert_eq!(goes_to(&smsc, &mut esme, to), queue, "{to}");
    }
    near.kill();
    until("the other one to be taken", || {
        let queue = goes_to(&smsc, &mut esme, "447700900123");
        (queue == "operator:far").then_some(())
    });
}

#[test]
fn a_target_that_was_away_is_taken_again_after_a_while() {
    let mut first = Simulator::new().start();
    let second = Answerer::start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("first", first.address(), "failback_after = \"10s\"")
        .operator("second", second.address())
        .toml("[[route]]\nto = [\"first\", \"second\"]")
        .start();
    smsc.wait_for_binds("first", 1);
    smsc.wait_for_binds("second", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    until("the first one, at once when it comes first", || {
        let queue = goes_to(&smsc, &mut esme, "447700900123");
        (queue == "operator:first").then_some(())
    });
    let failback =
        |smsc: &Smsc| smsc.admin().get("/v1/operators/first")["health"]["failback_at"].clone();
    assert!(failback(&smsc).is_null());
    first.kill();
    until("the second one", || {
        let queue = goes_to(&smsc, &mut esme, "447700900123");
        (queue == "operator:second").then_some(())
    });
    // It cannot be bound before.
    let away = Instant::now();
    first.start_again();
    smsc.wait_for_binds("first", 1);
    assert_eq!(
        goes_to(&smsc, &mut esme, "447700900123"),
        "operator:second",
        "not back for long enough"
    );
    let operator = smsc.admin().get("/v1/operators/first");
    assert_eq!(operator["available"], false);
    until("the first one again", || {
        let queue = goes_to(&smsc, &mut esme, "447700900123");
        (queue == "operator:first").then_some(())
    });
    assert!(away.elapsed() >= Duration::from_secs(10));
    until("it to be said when it came back", || {
        failback(&smsc).is_string().then_some(())
    });
}

#[test]
fn a_blink_moves_nothing() {
    let mut first = Simulator::new().start();
    let second = Answerer::start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("first", first.address(), "failover_after = \"60s\"")
        .operator("second", second.address())
        .toml("[queue]\nfailover_after = \"1s\"")
        .toml("[[route]]\nto = [\"first\", \"second\"]")
        .start();
    smsc.wait_for_binds("first", 1);
    smsc.wait_for_binds("second", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    until("the first one", || {
        let queue = goes_to(&smsc, &mut esme, "447700900123");
        (queue == "operator:first").then_some(())
    });
    first.kill();
    until("the bind to be lost", || {
        let operator = smsc.admin().get("/v1/operators/first");
        (operator["bound"] == 0).then_some(())
    });
    let before = second.submits();
    let away = Instant::now();
    // Longer than messages wait for an operator that counts as away.
    while away.elapsed() < Duration::from_secs(2) {
        assert_eq!(goes_to(&smsc, &mut esme, "447700900123"), "operator:first");
    }
    first.start_again();
    first.wait_for(2);
    assert_eq!(second.submits(), before);
}

#[test]
fn an_operator_that_fails_is_left_alone_and_tried_again() {
    let first = Answerer::with(CommandStatus::ESME_RSYSERR);
    let second = Answerer::start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with(
            "first",
            first.address(),
            "breaker_failures = 5\nbreaker_pause = \"1s\"",
        )
        .operator("second", second.address())
        .toml("[retry]\ndelays = [\"1h\"]")
        .toml("[[route]]\nto = [\"first\", \"second\"]")
        .start();
    smsc.wait_for_binds("first", 1);
    smsc.wait_for_binds("second", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let admin = smsc.admin();
    let breaker = || admin.get("/v1/operators/first")["breaker"].clone();
    until("a breaker", || (breaker() == "closed").then_some(()));
    let mut sent = 0;
    let mut send = |esme: &mut Peer| {
        sent += 1;
        esme.submit(submit("447700900123", "hello"));
        until("the message at the second one", || {
            (second.submits() >= sent).then_some(())
        });
    };
    until("the breaker to open", || {
        send(&mut esme);
        (breaker() == "open").then_some(())
    });
    assert!(first.submits() >= 5, "{}", first.submits());
    assert!(smsc.log().contains("the breaker opens"));
    let opened = "smsc_operator_breaker_opened_total{queue=\"operator:first\"}";
    assert!(admin.metric(opened) >= Some(1.0));
    // Only probes arrive, at most three after each pause, and every message fails over to the second
    // operator.
    let before = (first.submits(), Instant::now());
    while before.1.elapsed() < Duration::from_secs(3) {
        send(&mut esme);
    }
    let pauses = before.1.elapsed().as_secs() as usize + 1;
    assert!(
        first.submits() - before.0 <= 3 * pauses,
        "{} probes",
        first.submits() - before.0
    );
    first.answer_with(CommandStatus::ESME_ROK);
    until("the breaker to close", || {
        esme.submit(submit("447700900123", "hello"));
        (breaker() == "closed").then_some(())
    });
    until("the first one again", || {
        let queue = goes_to(&smsc, &mut esme, "447700900123");
        (queue == "operator:first").then_some(())
    });
    smsc.assert_no_panic();
}

#[test]
fn an_operator_that_does_not_answer_opens_its_breaker() {
    let silent = Answerer::start();
    silent.be_silent();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with(
            "up",
            silent.address(),
            "breaker_failures = 3\nbreaker_pause = \"60s\"\nresponse_timeout = \"500ms\"\nwindow = 3",
        )
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for number in 0..20 {
        esme.submit(submit(&format!("4477009{number:05}"), "hello"));
    }
    let admin = smsc.admin();
    until("the breaker to open", || {
        (admin.get("/v1/operators/up")["breaker"] == "open").then_some(())
    });
    // Messages without another target wait for the end of the pause.
    assert!(silent.submits() < 20, "{}", silent.submits());
    assert_eq!(goes_to(&smsc, &mut esme, "447700900123"), "operator:up");
}

#[test]
fn one_that_throttles_is_not_hammered_and_comes_back_to_speed() {
    let operator = Answerer::with(CommandStatus::ESME_RTHROTTLED);
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("up", operator.address())
        .toml("[retry]\nthrottled_delay = \"1ms\"")
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut ids = Vec::new();
    for number in 0..50 {
        ids.push(esme.submit(submit(&format!("4477009{number:05}"), "hello")));
    }
    let admin = smsc.admin();
    let rate = || admin.get("/v1/operators/up")["rate"].as_f64();
    until("a slow pace", || rate().filter(|rate| *rate <= 2.0));
    assert_eq!(admin.get("/v1/operators/up")["slowed"], true);
    let metric = admin.metric("smsc_operator_slowed{queue=\"operator:up\"}");
    assert_eq!(metric, Some(1.0));
    let began = Instant::now();
    let before = operator.submits();
    until("some more attempts", || {
        (operator.submits() >= before + 10).then_some(())
    });
    let a_second = 10.0 / began.elapsed().as_secs_f64();
    assert!(a_second <= 4.0, "{a_second} a second");
    operator.answer_with(CommandStatus::ESME_ROK);
    for id in &ids {
        until("the message to be taken", || {
            let message = admin.get(&format!("/v1/messages/{id}"));
            (message["attempts"] == 1).then_some(())
        });
    }
}
