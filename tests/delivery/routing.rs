//! The destination of a message: the most specific route, the next target if the first is down, a share
//! by weight, a peer that binds to the SMSC, and the account that owns the called number.

use std::time::Duration;

use crate::harness::{
    self, FakeOperator, Peer, PeerError, Scene, Simulator, Smsc, accept, stat_of, submit,
    submit_from, until, within,
};
use bytes::Bytes;
use smsc::smpp::{Body, CommandId, CommandStatus, SubmitSm};

const QUIET: Duration = Duration::from_millis(700);
const DELIVERED: u32 = 2;
const UNDELIVERABLE: u32 = 5;
const ACCEPTED: u32 = 6;

#[test]
fn the_longest_destination_then_source_then_account_wins() {
    // Nothing answers there; the test only checks the queue of each message.
    let nowhere = Simulator::new().address();
    let mut builder = Smsc::new()
        .account("test", "test")
        .account("other", "other");
    for id in ["all", "uk", "london", "acme", "own"] {
        builder = builder.operator(id, nowhere);
    }
    let smsc = builder
        .route("", "all")
        .route("44", "uk")
        .route("4420", "london")
        .toml("[[route]]\nprefix = \"44\"\nsource_prefix = \"777\"\nto = [\"acme\"]")
        .toml("[[route]]\nprefix = \"1\"\naccount = \"other\"\nto = [\"own\"]")
        .start();
    let mut test = Peer::bind(smsc.smpp(), "test", "test");
    let mut other = Peer::bind(smsc.smpp(), "other", "other");
    let goes_to = |peer: &mut Peer, source: &str, to: &str, queue: &str| {
        let id = peer.submit(submit_from(source, to));
        assert_eq!(smsc.queue_of(&id), queue, "from {source} to {to}");
    };
    for (source, to, queue) in [
        ("12345", "33123", "operator:all"),
        ("12345", "4412345", "operator:uk"),
        ("12345", "+4412345", "operator:uk"),
        ("12345", "44201234", "operator:london"),
        ("77712", "4412345", "operator:acme"),
        ("77712", "44201234", "operator:london"),
        ("12345", "15550001", "operator:all"),
    ] {
        goes_to(&mut test, source, to, queue);
    }
    goes_to(&mut other, "12345", "15550001", "operator:own");
}

#[test]
fn no_route_is_answered_and_logged_without_the_number() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("44", "test:delivered")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let sequence = esme.request(Body::SubmitSm(submit("33123456789", "hello")));
    let answer = esme.answer_to(sequence);
    assert_eq!(answer.command_id(), CommandId::SUBMIT_SM_RESP);
    assert_eq!(answer.status, CommandStatus::ESME_RINVDSTADR);
    until("a line in the log", || {
        smsc.log().contains("no route").then_some(())
    });
    assert!(!smsc.log().contains("33123456789"), "the number is masked");
    esme.submit(submit("447700900123", "hello"));
}

#[test]
fn the_answer_without_a_route_may_be_configured() {
    let smsc = Smsc::new()
        .account("test", "test")
        .smpp("no_route_status = \"ESME_RSUBMITFAIL\"")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let sequence = esme.request(Body::SubmitSm(submit("33123456789", "hello")));
    assert_eq!(
        esme.answer_to(sequence).status,
        CommandStatus::ESME_RSUBMITFAIL
    );
}

#[test]
fn a_message_goes_to_the_next_target_while_the_first_is_down() {
    let first = Simulator::new();
    let second = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("first", first.address())
        .operator("second", second.address())
        .toml("[[route]]\nto = [\"first\", \"second\"]")
        .start();
    smsc.wait_for_binds("second", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), DELIVERED));
    assert_eq!(smsc.queue_of(&id), "operator:second");
    assert_eq!(second.wait_for(1).len(), 1);
}

#[test]
fn what_waits_moves_when_its_target_stays_away() {
    const MESSAGES: usize = 50;
    let first = Simulator::new();
    let mut second = Simulator::new();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("first", first.address())
        .operator("second", second.address())
        .toml("[queue]\nfailover_after = \"1s\"")
        .toml("[[route]]\nto = [\"first\", \"second\"]")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    // Both are down: the first one gets the messages.
    let mut ids: Vec<String> = (0..MESSAGES)
        .map(|number| esme.submit(submit(&format!("4477009{number:05}"), "hello")))
        .collect();
    assert_eq!(smsc.queue_of(&ids[0]), "operator:first");
    second.start_again();
    let mut told: Vec<String> = (0..MESSAGES).map(|_| stat_of(&esme.deliver()).0).collect();
    ids.sort();
    told.sort();
    assert_eq!(told, ids);
    assert_eq!(second.wait_for(MESSAGES).len(), MESSAGES);
    let message = smsc.admin().get(&format!("/v1/messages/{}", ids[0]));
    assert_eq!(message["queue"], "operator:second");
    assert_eq!(message["changes"][0]["kind"], "move");
    assert_eq!(
        smsc.admin().metric("smsc_messages_failed_over_total"),
        Some(MESSAGES as f64)
    );
}

#[test]
fn what_has_moved_stays_moved_over_a_kill() {
    let first = Simulator::new();
    let second = FakeOperator::listen();
    let mut smsc = Smsc::new()
        .account("test", "test")
        .operator("first", first.address())
        .operator_with("second", second.address(), "window = 1")
        .toml("[queue]\nfailover_after = \"1s\"")
        .toml("[[route]]\nto = [\"first\", \"second\"]")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let ids: Vec<String> = (0..5)
        .map(|number| esme.submit(submit(&format!("4477009{number:05}"), "hello")))
        .collect();
    let _bind = second.accept_bind();
    until("the messages to move", || {
        ids.iter()
            .all(|id| smsc.queue_of(id) == "operator:second")
            .then_some(())
    });
    smsc.kill();
    drop(second);
    smsc.start_again();
    for id in &ids {
        assert_eq!(smsc.queue_of(id), "operator:second");
    }
    let admin = smsc.admin();
    until("all of them to wait there", || {
        let queue = admin.get("/v1/queues/operator:second");
        (queue["waiting"] == 5).then_some(())
    });
}

#[test]
fn a_target_that_refuses_for_now_is_left_for_the_next() {
    let first = Simulator::new()
        .flags("--reject-percent 100 --reject-status ESME_RSYSERR")
        .start();
    let second = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("first", first.address())
        .operator("second", second.address())
        .toml("[[route]]\nto = [\"first\", \"second\"]")
        .start();
    smsc.wait_for_binds("first", 1);
    smsc.wait_for_binds("second", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), DELIVERED));
    let message = smsc.admin().get(&format!("/v1/messages/{id}"));
    assert_eq!(message["history"][0]["queue"], "operator:first");
    assert_eq!(message["history"][1]["queue"], "operator:second");
}

#[test]
fn targets_share_by_weight() {
    const MESSAGES: usize = 400;
    let (first, second) = (Simulator::new().start(), Simulator::new().start());
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("first", first.address())
        .operator("second", second.address())
        .toml("[[route]]\nto = [{ first = 75, second = 25 }]")
        .start();
    smsc.wait_for_binds("first", 1);
    smsc.wait_for_binds("second", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for number in 0..MESSAGES {
        esme.submit(submit(&format!("4477009{number:05}"), "hello"));
    }
    let (first, second) = until("all messages at either operator", || {
        let counts = (first.journal().len(), second.journal().len());
        (counts.0 + counts.1 == MESSAGES).then_some(counts)
    });
    // 300 and 100 on average; 43 is five standard deviations of a fair draw.
    assert!((257..=343).contains(&first), "{first} and {second}");
}

#[test]
fn built_in_targets() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("1", "test:delivered")
        .route("2", "test:failed")
        .route("3", "test:unreachable")
        .route("4", "test:accepted")
        .route("5", "test:dropped")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("1", "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    let id = esme.submit(submit("2", "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id, UNDELIVERABLE));
    let id = esme.submit(submit("4", "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id, ACCEPTED));
    // Nobody is told, and the administrator sees what became of it.
    let dropped = esme.submit(submit("5", "hello"));
    let admin = smsc.admin();
    until("the message is dropped", || {
        let message = admin.get(&format!("/v1/messages/{dropped}"));
        (message["state"] == "DELETED").then_some(())
    });
    assert_eq!(esme.next(QUIET), Err(PeerError::Silence), "no receipt");
    let queues = admin.get("/v1/queues").to_string();
    assert!(queues.contains("test:dropped"), "{queues}");
    let id = esme.submit(submit("3", "hello"));
    let message = until("a first attempt", || {
        let message = admin.get(&format!("/v1/messages/{id}"));
        (message["stage"] == "scheduled").then_some(message)
    });
    assert_eq!(message["history"][0]["status"], "ESME_RDELIVERYFAILURE");
    assert_eq!(message["state"], "ENROUTE");
}

#[test]
fn what_a_built_in_target_refuses_is_counted_by_its_status() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:unreachable")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit("3", "hello"));
    let labels = "queue=\"test:unreachable\",status=\"ESME_RDELIVERYFAILURE\"";
    let name = format!("smsc_attempts_refused_total{{{labels}}}");
    let admin = smsc.admin();
    until("the refusal is counted", || {
        (admin.metric(&name) == Some(1.0)).then_some(())
    });
}

#[test]
fn an_account_may_be_the_target() {
    let smsc = Smsc::new()
        .account("test", "test")
        .account("peer", "peer")
        .route("44", "peer")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    assert_eq!(
        esme.next(QUIET),
        Err(PeerError::Silence),
        "it waits for the peer"
    );
    let mut peer = Peer::bind(smsc.smpp(), "peer", "peer");
    let delivered = peer.deliver();
    assert_eq!(delivered.destination_addr, "447700900123");
    assert_eq!(delivered.source_addr, "12345");
    assert_eq!(delivered.short_message, "hello");
    assert_eq!(delivered.esm_class, 0);
    assert_eq!(stat_of(&esme.deliver()), (id, ACCEPTED));
}

#[test]
fn an_operator_may_take_deliver_sm() {
    let mut scene = Scene::new("send_as = \"deliver_sm\"");
    let id = scene.submit();
    let delivered = scene.bind.deliver();
    assert_eq!(delivered.destination_addr, "447700900123");
    assert_eq!(delivered.short_message, "hello");
    assert_eq!(stat_of(&scene.esme.deliver()), (id, ACCEPTED));
}

#[test]
fn mobile_originated_messages_reach_the_account_of_the_number() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account_with("test", "test", "addresses = [\"12345\"]")
        .account_with("club", "club", "addresses = [\"4477*\"]")
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let mut bind = operator.accept_bind();
    let mut test = Peer::bind(smsc.smpp(), "test", "test");
    let mut club = Peer::bind(smsc.smpp(), "club", "club");
    assert_eq!(
        bring(&mut bind, "12345", "to test"),
        CommandStatus::ESME_ROK
    );
    assert_eq!(
        bring(&mut bind, "447700900123", "to club"),
        CommandStatus::ESME_ROK
    );
    let got = test.deliver();
    assert_eq!(got.short_message, "to test");
    assert_eq!(got.source_addr, "447700900999");
    assert_eq!(got.destination_addr, "12345");
    assert_eq!(got.esm_class, 0);
    assert_eq!(club.deliver().short_message, "to club");
    assert_eq!(test.next(QUIET), Err(PeerError::Silence));
    assert_eq!(club.next(QUIET), Err(PeerError::Silence));
}

#[test]
fn mobile_originated_messages_wait_for_their_account() {
    let operator = FakeOperator::listen();
    let mut smsc = Smsc::new()
        .account_with("test", "test", "addresses = [\"12345\"]")
        .operator("up", operator.address())
        .toml("[queue]\nmax_waiting = 3")
        .start();
    let mut bind = operator.accept_bind();
    for number in 0..3 {
        let status = bring(&mut bind, "12345", &format!("number {number}"));
        assert_eq!(status, CommandStatus::ESME_ROK);
    }
    // What has come is counted when it is in the queue.
    let waiting = "smsc_queue_waiting{queue=\"account:test\"}";
    until("all three to wait", || {
        (smsc.admin().metric(waiting) == Some(3.0)).then_some(())
    });
    // The queue accepts no more than fit: the operator keeps the others.
    assert_eq!(
        bring(&mut bind, "12345", "too many"),
        CommandStatus::ESME_RMSGQFUL
    );
    // A message answered with ESME_ROK is durable.
    smsc.kill();
    drop(bind);
    smsc.start_again();
    let mut bind = operator.accept_bind();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for number in 0..3 {
        assert_eq!(esme.deliver().short_message, format!("number {number}"));
    }
    until("room again", || {
        (bring(&mut bind, "12345", "again") == CommandStatus::ESME_ROK).then_some(())
    });
    assert_eq!(esme.deliver().short_message, "again");
}

#[test]
fn a_number_of_nobody_is_refused() {
    let operator = FakeOperator::listen();
    let _smsc = Smsc::new()
        .account_with("test", "test", "addresses = [\"12345\"]")
        .operator("up", operator.address())
        .start();
    let mut bind = operator.accept_bind();
    assert_eq!(
        bring(&mut bind, "54321", "hello"),
        CommandStatus::ESME_RINVDSTADR
    );
}

#[test]
fn deliver_sm_of_an_esme_is_a_submission() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account_with("peer", "peer", "mobile_originated = true")
        .account_with("test", "test", "addresses = [\"12345\"]")
        .operator("up", operator.address())
        .route("44", "up")
        .start();
    let mut bind = operator.accept_bind();
    smsc.wait_for_binds("up", 1);
    let mut peer = Peer::bind(smsc.smpp(), "peer", "peer");
    assert_eq!(
        bring(&mut peer, "447700900123", "onwards"),
        CommandStatus::ESME_ROK
    );
    let pdu = bind.expect("a submit_sm", |pdu| matches!(pdu.body, Body::SubmitSm(_)));
    let Body::SubmitSm(onwards) = pdu.body else {
        unreachable!("just matched")
    };
    assert_eq!(onwards.short_message, "onwards");
    accept(&mut bind, pdu.sequence, "x1");
    // To the number of another account, it is mobile-originated for that account: `peer` is a message centre.
    let mut test = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(
        bring(&mut peer, "12345", "for test"),
        CommandStatus::ESME_ROK
    );
    assert_eq!(test.deliver().short_message, "for test");
    assert_eq!(
        bring(&mut peer, "33123", "nowhere"),
        CommandStatus::ESME_RINVDSTADR
    );
}

/// Sends a deliver_sm and returns the status of the response.
fn bring(bind: &mut Peer, to: &str, text: &str) -> CommandStatus {
    let sequence = bind.request(Body::DeliverSm(SubmitSm {
        registered_delivery: 0,
        source_addr: Bytes::from_static(b"447700900999"),
        ..submit(to, text)
    }));
    let answer = bind.answer_to(sequence);
    assert_eq!(answer.command_id(), CommandId::DELIVER_SM_RESP);
    answer.status
}

#[test]
fn two_targets_that_refuse_for_now_are_not_tried_in_a_circle() {
    let flags = "--reject-percent 100 --reject-status ESME_RSYSERR";
    let first = Simulator::new().flags(flags).start();
    let second = Simulator::new().flags(flags).start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("first", first.address())
        .operator("second", second.address())
        .toml("[retry]\ndelays = [\"1s\"]")
        .toml("[[route]]\nto = [\"first\", \"second\"]")
        .start();
    smsc.wait_for_binds("first", 1);
    smsc.wait_for_binds("second", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    let attempts = || {
        let message = smsc.admin().get(&format!("/v1/messages/{id}"));
        message["attempts"].as_u64().unwrap()
    };
    until("a second round", || (attempts() >= 3).then_some(()));
    // Each round over both takes one pause; without pauses there would be thousands of attempts.
    let circle = within(Duration::from_secs(3), || (attempts() > 20).then_some(()));
    assert!(circle.is_none(), "{} attempts", attempts());
}

#[test]
fn a_number_of_nobody_does_not_leave_by_the_default_route() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account_with("test", "test", "addresses = [\"12345\"]")
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let mut bind = operator.accept_bind();
    smsc.wait_for_binds("up", 1);
    let status = bring(&mut bind, "447700900123", "for nobody");
    assert_eq!(status, CommandStatus::ESME_RINVDSTADR);
    if let Ok(pdu) = bind.next(QUIET) {
        panic!("it came back to the operator that brought it: {pdu:?}");
    }
    let explained = smsc
        .admin()
        .get("/v1/routes/explain?to=447700900123&operator=up");
    assert_eq!(explained["goes_to"], serde_json::json!([]), "{explained}");
    assert_eq!(explained["operator"], "up");
    let why = &explained["not_matching"][0]["why"];
    assert!(why.as_str().unwrap().contains("mobile_originated"), "{why}");
}

#[test]
fn a_route_may_send_on_what_operators_bring_but_never_back_and_not_in_circles() {
    let (up, node) = (FakeOperator::listen(), FakeOperator::listen());
    let smsc = Smsc::new()
        .account_with("test", "test", "addresses = [\"12345\"]")
        .operator("up", up.address())
        .operator("node", node.address())
        .route("", "up")
        .toml("[[route]]\nmobile_originated = true\nto = [\"node\"]")
        .toml("[[route]]\nprefix = \"33\"\nmobile_originated = true\nto = [\"up\", \"node\"]")
        .start();
    let (mut up, mut node) = (up.accept_bind(), node.accept_bind());
    smsc.wait_for_binds("up", 1);
    smsc.wait_for_binds("node", 1);
    // Messages of accounts take the other routes.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit("447700900123", "submitted"));
    assert_eq!(harness::taken(&mut up, "1").short_message, "submitted");

    // Both routes lead to the operator that did not send it, although `up` comes first on one of them.
    for to in ["447700900123", "33123456"] {
        assert_eq!(bring(&mut up, to, "onwards"), CommandStatus::ESME_ROK);
        assert_eq!(harness::taken(&mut node, to).short_message, "onwards");
    }
    let refused = bring(&mut node, "447700900123", "back");
    assert_eq!(refused, CommandStatus::ESME_RINVDSTADR, "only back to it");
    let explain = |query: &str| {
        let answer = smsc.admin().get(&format!("/v1/routes/explain?{query}"));
        answer["goes_to"].clone()
    };
    use serde_json::json;
    assert_eq!(explain("to=447700900123&operator=up"), json!(["node"]));
    assert_eq!(explain("to=447700900123&operator=node"), json!([]));
    assert_eq!(explain("to=33123456&operator=node"), json!(["up"]));
    assert_eq!(explain("to=12345&operator=node"), json!(["test"]));
    assert_eq!(explain("to=33123456&account=test"), json!(["up"]));

    // The same message again and again: the operator that got it has sent it back by another way.
    let statuses: Vec<CommandStatus> = (0..4)
        .map(|_| bring(&mut up, "447700900777", "round and round"))
        .collect();
    let (passed, last) = statuses.split_at(3);
    assert_eq!(passed, [CommandStatus::ESME_ROK; 3]);
    assert_eq!(last, [CommandStatus::ESME_RX_R_APPN]);
    assert_eq!(
        smsc.admin().metric("smsc_submissions_in_circles_total"),
        Some(1.0)
    );
}
