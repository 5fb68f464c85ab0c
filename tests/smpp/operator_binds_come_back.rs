//! Binds to operators are made again automatically where that helps, and wait for an administrator
//! where it does not. Commands, `smsc apply`, a reload and a stop do not affect anything else.

use std::time::Duration;

use crate::harness::{
    FakeOperator, Peer, PeerError, Scene, Simulator, Smsc, accept, next_submit, receipt, receipted,
    send_receipt, submit, taken, until, within,
};
use bytes::BytesMut;
use serde_json::Value;
use smsc::smpp::{Body, CommandId, CommandStatus, Pdu};

const QUIET: Duration = Duration::from_millis(700);

fn operator(smsc: &Smsc, id: &str) -> Value {
    smsc.admin().get(&format!("/v1/operators/{id}"))
}

fn wait_for_state(smsc: &Smsc, id: &str, state: &str) -> Value {
    until(&format!("operator {id} to be {state}"), || {
        let answer = smsc.admin().try_get(&format!("/v1/operators/{id}")).ok()?;
        (answer["state"] == state).then_some(answer)
    })
}

fn command(smsc: &Smsc, path: &str) {
    let (status, answer) = smsc.admin().post(path);
    assert!([200, 202].contains(&status), "{path}: {status} {answer}");
}

#[test]
fn pain_17_an_operator_that_was_killed_is_bound_again() {
    let mut up = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", up.address(), "binds = 2")
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 2);
    for _ in 0..2 {
        up.kill();
        let down = wait_for_state(&smsc, "up", "down");
        assert_ne!(down["last_error"], "");
        until("more than one failed attempt", || {
            let attempts = operator(&smsc, "up")["binds"][0]["reconnect_attempts"].as_u64();
            (attempts > Some(1)).then_some(())
        });
        up.start_again();
        let state = wait_for_state(&smsc, "up", "up");
        assert_eq!(state["last_error"], "");
        for bind in state["binds"].as_array().unwrap() {
            assert_eq!(bind["reconnect_attempts"], 0, "{bind}");
            // A lost bind does not count as a failure of the SMSC.
            assert_eq!(bind["restarts"], 0, "{bind}");
        }
    }
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    assert_eq!(receipted(&esme.deliver()), id);
    smsc.assert_no_panic();
}

/// Takes the next connection and refuses its bind.
fn refuse_bind(up: &FakeOperator, status: CommandStatus) -> Peer {
    let mut bind = up.accept();
    let request = bind.expect("a bind", |pdu| matches!(pdu.body, Body::BindTransceiver(_)));
    let refusal = Body::empty(CommandId::BIND_TRANSCEIVER_RESP).unwrap();
    let mut out = BytesMut::new();
    Pdu::response(status, request.sequence, refusal).encode(&mut out);
    bind.send(&out);
    bind
}

#[test]
fn a_bind_that_is_refused_for_another_reason_is_tried_again() {
    let up = FakeOperator::listen();
    let smsc = Smsc::new().operator("up", up.address()).start();
    for status in [
        CommandStatus::ESME_RBINDFAIL,
        CommandStatus::ESME_RINVSYSID,
        CommandStatus::ESME_RSYSERR,
        CommandStatus::ESME_RALYBND,
    ] {
        let mut bind = refuse_bind(&up, status);
        bind.until_closed();
        let last_error = until("the refusal to be shown", || {
            let said = operator(&smsc, "up")["last_error"].as_str()?.to_owned();
            said.contains(&status.to_string()).then_some(said)
        });
        assert!(last_error.contains("bind refused"), "{last_error}");
    }
    let _bind = up.accept_bind();
    wait_for_state(&smsc, "up", "up");
}

#[test]
fn suspend_and_rebind_finish_the_windows_and_unbind() {
    let mut scene = Scene::new("");
    for verb in ["rebind", "suspend"] {
        let id = scene.submit();
        let (sequence, _) = next_submit(&mut scene.bind);
        command(&scene.smsc, &format!("/v1/operators/up/{verb}"));
        // Messages that the operator sends meanwhile are accepted, and no more are sent to it.
        scene.submit();
        let theirs = format!("{verb}-1");
        let early = receipt(&format!("id:{theirs} stat:DELIVRD err:000"));
        accept(&mut scene.bind, sequence, &theirs);
        let brought = scene.bind.request(Body::DeliverSm(early));
        let unbind = scene
            .bind
            .expect("an unbind, and no submit_sm", |pdu| match pdu.body {
                Body::Unbind => true,
                Body::SubmitSm(_) => panic!("sent while it is to end"),
                _ => false,
            });
        let status = scene.bind.answer_to(brought).status;
        // The operator repeats a message that crosses our unbind.
        assert!(
            [CommandStatus::ESME_ROK, CommandStatus::ESME_RINVBNDSTS].contains(&status),
            "{status}"
        );
        scene
            .bind
            .acknowledge(CommandId::UNBIND_RESP, unbind.sequence);
        scene.bind.until_closed();
        if verb == "suspend" {
            let paused = wait_for_state(&scene.smsc, "up", "paused");
            assert_eq!(paused["last_error"], "suspended by an administrator");
            command(&scene.smsc, "/v1/operators/up/resume");
        }
        scene.bind = scene.operator.accept_bind();
        scene.smsc.wait_for_binds("up", 1);
        if !status.is_ok() {
            let again = receipt(&format!("id:{theirs} stat:DELIVRD err:000"));
            assert!(send_receipt(&mut scene.bind, again).is_ok());
        }
        assert_eq!(receipted(&scene.esme.deliver()), id);
        // The message that had to wait, once.
        scene.take(&format!("{verb}-2"));
        assert_eq!(scene.bind.next(QUIET), Err(PeerError::Silence));
    }
    // No bind was lost.
    assert_eq!(scene.metric("smsc_operator_binds_lost_total"), 0.0);
}

#[test]
fn a_resume_ends_a_suspension_that_is_under_way() {
    let mut scene = Scene::new("");
    scene.submit();
    let (sequence, _) = next_submit(&mut scene.bind);
    command(&scene.smsc, "/v1/operators/up/suspend");
    scene.bind.assert_alive();
    command(&scene.smsc, "/v1/operators/up/resume");
    accept(&mut scene.bind, sequence, "x1");
    let unbind = scene
        .bind
        .expect("an unbind", |pdu| pdu.body == Body::Unbind);
    scene
        .bind
        .acknowledge(CommandId::UNBIND_RESP, unbind.sequence);
    scene.bind = scene.operator.accept_bind();
    wait_for_state(&scene.smsc, "up", "up");
}

#[test]
fn an_operator_that_answers_nothing_is_suspended_all_the_same() {
    let mut scene = Scene::with("", |builder| builder.smpp("drain_timeout = \"1s\""));
    scene.submit();
    next_submit(&mut scene.bind);
    command(&scene.smsc, "/v1/operators/up/suspend");
    // Neither its submit_sm nor our unbind is answered.
    scene
        .bind
        .expect("an unbind", |pdu| pdu.body == Body::Unbind);
    scene.bind.until_closed();
    wait_for_state(&scene.smsc, "up", "paused");
}

#[test]
fn a_wrong_password_pauses_until_it_is_resumed() {
    let up = FakeOperator::listen();
    let smsc = Smsc::new().operator("up", up.address()).start();
    let mut bind = refuse_bind(&up, CommandStatus::ESME_RINVPASWD);
    let paused = wait_for_state(&smsc, "up", "paused");
    let last_error = paused["last_error"].as_str().unwrap();
    assert!(last_error.contains("ESME_RINVPASWD"), "{paused}");
    assert_eq!(paused["binds"][0]["state"], "paused");
    assert!(paused["binds"][0]["next_reconnect_at"].is_null());
    // The connection is closed, too.
    bind.until_closed();
    // The SMSC does not bind again by itself: operators lock out clients that do.
    let knocked = within(Duration::from_secs(2), || {
        (operator(&smsc, "up")["binds"][0] != paused["binds"][0]).then_some(())
    });
    assert!(knocked.is_none(), "still paused: {}", operator(&smsc, "up"));
    command(&smsc, "/v1/operators/up/resume");
    let _bind = up.accept_bind();
    wait_for_state(&smsc, "up", "up");
}

#[test]
fn applying_the_right_password_resumes() {
    let up = Simulator::new().flags("--password secret").start();
    let smsc = Smsc::new()
        .operator_with("up", up.address(), "password = \"wrong\"")
        .start();
    wait_for_state(&smsc, "up", "paused");
    smsc.set_config(&smsc.config().replace("\"wrong\"", "\"secret\""));
    smsc.apply();
    wait_for_state(&smsc, "up", "up");
}

#[test]
fn a_bind_that_is_not_answered_is_tried_again() {
    let up = FakeOperator::listen();
    let smsc = Smsc::new()
        .operator_with("up", up.address(), "bind_timeout = \"5s\"")
        .start();
    let mut silent = up.accept();
    silent.expect("a bind", |pdu| matches!(pdu.body, Body::BindTransceiver(_)));
    silent.until_closed();
    let _bind = up.accept_bind();
    wait_for_state(&smsc, "up", "up");
}

#[test]
fn an_operator_that_does_not_answer_enquire_link_is_left() {
    let up = FakeOperator::listen();
    let _smsc = Smsc::new()
        .operator_with(
            "up",
            up.address(),
            "enquire_link_interval = \"1s\"\nenquire_link_timeout = \"1s\"",
        )
        .start();
    let mut silent = up.accept_bind();
    let seen = silent.until_closed();
    assert!(
        seen.iter().any(|pdu| pdu.body == Body::EnquireLink),
        "{seen:?}"
    );
    up.accept_bind();
}

#[test]
fn rebind_suspend_and_resume_an_operator() {
    let up = Simulator::new().start();
    let smsc = Smsc::new().relaying_to(up.address()).start();
    let before = wait_for_state(&smsc, "up", "up");
    command(&smsc, "/v1/operators/up/rebind");
    until("another bind", || {
        let now = operator(&smsc, "up");
        (now["state"] == "up" && now["binds"][0]["since"] != before["binds"][0]["since"])
            .then_some(())
    });
    command(&smsc, "/v1/operators/up/suspend");
    wait_for_state(&smsc, "up", "paused");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    assert_eq!(esme.next(QUIET), Err(PeerError::Silence));
    command(&smsc, "/v1/operators/up/resume");
    wait_for_state(&smsc, "up", "up");
    assert_eq!(receipted(&esme.deliver()), id);
    assert_eq!(smsc.admin().post("/v1/operators/nobody/rebind").0, 404);
}

#[test]
fn suspend_and_resume_a_queue() {
    let up = Simulator::new().start();
    let smsc = Smsc::new().relaying_to(up.address()).start();
    smsc.wait_for_binds("up", 1);
    command(&smsc, "/v1/queues/operator:up/suspend");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    assert_eq!(esme.next(QUIET), Err(PeerError::Silence));
    // What is shown is a moment old.
    until("the message to wait in a suspended queue", || {
        let queue = smsc.admin().get("/v1/queues/operator:up");
        (queue["suspended"] == true && queue["waiting"] == 1).then_some(())
    });
    assert_eq!(operator(&smsc, "up")["state"], "up", "the bind stays");
    command(&smsc, "/v1/queues/operator:up/resume");
    assert_eq!(receipted(&esme.deliver()), id);
}

#[test]
fn applying_a_file_changes_what_changed_and_nothing_else() {
    let (stays, goes, comes) = (
        Simulator::new().start(),
        Simulator::new().start(),
        Simulator::new().start(),
    );
    let smsc = Smsc::new()
        .account("test", "test")
        .account("goes", "goes")
        .operator("stays", stays.address())
        .operator("goes-too", goes.address())
        .route("", "stays")
        .route("33", "goes-too")
        .start();
    let before = wait_for_state(&smsc, "stays", "up");
    wait_for_state(&smsc, "goes-too", "up");
    let mut test = Peer::bind(smsc.smpp(), "test", "test");
    let mut leaving = Peer::bind(smsc.smpp(), "goes", "goes");

    let config = smsc
        .config()
        .replace(
            "system_id = \"goes\"\npassword = \"goes\"",
            "system_id = \"comes\"\npassword = \"comes\"",
        )
        .replace("id = \"goes-too\"", "id = \"comes-too\"")
        .replace(&goes.address().to_string(), &comes.address().to_string())
        .replace("\"33\"", "\"34\"")
        .replace("to = [\"goes-too\"]", "to = [\"comes-too\"]");
    smsc.set_config(&config);
    smsc.apply();

    wait_for_state(&smsc, "comes-too", "up");
    leaving.expect("an unbind", |pdu| pdu.body == Body::Unbind);
    assert!(smsc.admin().try_get("/v1/operators/goes-too").is_err());
    let mut coming = Peer::bind(smsc.smpp(), "comes", "comes");
    let id = coming.submit(submit("34123", "hello"));
    assert_eq!(receipted(&coming.deliver()), id);
    assert_eq!(comes.wait_for(1).len(), 1);
    assert_eq!(goes.journal().len(), 0);
    let mut again = Peer::connect(smsc.smpp());
    assert_eq!(
        again.bind_as(Body::BindTransceiver, "goes", "goes"),
        CommandStatus::ESME_RINVPASWD
    );
    // Unchanged sessions have not been affected.
    test.assert_alive();
    let now = operator(&smsc, "stays");
    assert_eq!(now["binds"][0]["since"], before["binds"][0]["since"]);
    let id = test.submit(submit("447700900123", "hello"));
    assert_eq!(receipted(&test.deliver()), id);
}

#[test]
fn a_broken_file_changes_nothing() {
    let up = Simulator::new().start();
    let smsc = Smsc::new().relaying_to(up.address()).start();
    let before = wait_for_state(&smsc, "up", "up");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let good = smsc.config();
    for (broken, said) in [
        (good.replace("[[route]]", "[[rout]]"), "rout"),
        (good.replace("to = [\"up\"]", "to = [\"nobody\"]"), "nobody"),
        (
            format!("{good}\nthis is not toml"),
            "configuration not reloaded",
        ),
    ] {
        let log = smsc.log().len();
        smsc.set_config(&broken);
        smsc.reload();
        until("a complaint in the log", || {
            let new = smsc.log()[log..].to_owned();
            (new.contains("configuration not reloaded") && new.contains(said)).then_some(())
        });
    }
    esme.assert_alive();
    let id = esme.submit(submit("447700900123", "hello"));
    assert_eq!(receipted(&esme.deliver()), id);
    let now = operator(&smsc, "up");
    assert_eq!(now["binds"][0]["since"], before["binds"][0]["since"]);
}

#[test]
fn a_stop_waits_for_windows_in_flight_and_unbinds() {
    let up = FakeOperator::listen();
    let mut smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", up.address(), "window = 2")
        .route("", "up")
        .start();
    let mut bind = up.accept_bind();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::transmitter(smsc.smpp(), "test", "test");
    let ids: Vec<String> = (0..5)
        .map(|number| esme.submit(submit(&format!("4477009{number:05}"), "hello")))
        .collect();
    let sequences = [next_submit(&mut bind).0, next_submit(&mut bind).0];
    smsc.process().signal("TERM");
    // The ESME is unbound in good order.
    let unbind = esme.expect("an unbind", |pdu| pdu.body == Body::Unbind);
    esme.acknowledge(CommandId::UNBIND_RESP, unbind.sequence);
    // The window is finished, and no more is sent.
    for (number, sequence) in sequences.into_iter().enumerate() {
        accept(&mut bind, sequence, &format!("x{number}"));
    }
    let unbind = bind.expect("an unbind, and no submit_sm", |pdu| match pdu.body {
        Body::Unbind => true,
        Body::SubmitSm(_) => panic!("sent while stopping"),
        _ => false,
    });
    bind.acknowledge(CommandId::UNBIND_RESP, unbind.sequence);
    assert!(smsc.terminate().success());
    smsc.fsck();

    smsc.start_again();
    let mut bind = up.accept_bind();
    for number in 2..5 {
        taken(&mut bind, &format!("x{number}"));
    }
    assert_eq!(bind.next(QUIET), Err(PeerError::Silence), "no duplicate");
    for id in &ids {
        until("the one attempt to be stored", || {
            let message = smsc.admin().get(&format!("/v1/messages/{id}"));
            let attempts = message["attempts"].as_u64()?;
            assert!(attempts <= 1, "{message}");
            (attempts == 1).then_some(())
        });
    }
}

#[test]
fn nothing_is_lost_or_doubled_by_stops_under_load() {
    const MESSAGES: usize = 600;
    let up = Simulator::new().flags("--latency 20ms").start();
    let mut smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", up.address(), "window = 20")
        .route("", "up")
        .start();
    let mut esme = Peer::transmitter(smsc.smpp(), "test", "test");
    for number in 0..MESSAGES {
        esme.submit(submit(&format!("4477009{number:05}"), "hello"));
    }
    for _ in 0..3 {
        drop(esme);
        assert!(smsc.terminate().success());
        smsc.start_again();
        esme = Peer::transmitter(smsc.smpp(), "test", "test");
    }
    up.wait_for(MESSAGES);
    until("an empty queue", || {
        let queue = smsc.admin().get("/v1/queues/operator:up");
        (queue["waiting"] == 0 && queue["in_flight"] == 0).then_some(())
    });
    let mut there: Vec<String> = up
        .journal()
        .into_iter()
        .map(|line| line.destination)
        .collect();
    assert_eq!(there.len(), MESSAGES, "duplicates");
    there.sort();
    there.dedup();
    assert_eq!(there.len(), MESSAGES);
    smsc.assert_no_panic();
}

#[test]
fn an_operator_may_unbind() {
    let up = FakeOperator::listen();
    let smsc = Smsc::new().operator("up", up.address()).start();
    let bind = up.accept_bind();
    smsc.wait_for_binds("up", 1);
    bind.unbind();
    let _bind = up.accept_bind();
    wait_for_state(&smsc, "up", "up");
}

#[test]
fn without_bind_transceiver_a_pair_is_used() {
    let up = Simulator::new().flags("--no-transceiver").start();
    let smsc = Smsc::new().relaying_to(up.address()).start();
    let types = until("a pair of binds", || {
        let state = operator(&smsc, "up");
        let binds = state["binds"].as_array()?;
        let mut types: Vec<String> = binds
            .iter()
            .filter(|bind| bind["state"] == "bound")
            .map(|bind| bind["bind_type"].as_str().unwrap().to_owned())
            .collect();
        types.sort();
        (types.len() == 2).then_some(types)
    });
    assert_eq!(types, ["receiver", "transmitter"]);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    assert_eq!(receipted(&esme.deliver()), id);
}
