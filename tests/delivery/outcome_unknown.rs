//! A message without a response is sent again, waits for its receipt, or is given up, as configured for
//! its operator. Late responses are used, and every attempt is recorded.

use std::time::Duration;

use crate::harness::{Peer, PeerError, Scene, accept, answer, next_submit, stat_of, submit, until};
use smsc::smpp::CommandStatus;

/// Longer than the response timeout and its check: a second submit_sm would have arrived.
const QUIET: Duration = Duration::from_millis(2500);

fn scene(keys: &str) -> Scene {
    Scene::new(&format!("response_timeout = \"1s\"\n{keys}"))
}

#[test]
fn resend_submits_again_and_records_every_attempt() {
    let mut scene = scene("");
    let id = scene.submit();
    next_submit(&mut scene.bind);
    let (again, _) = next_submit(&mut scene.bind);
    // The message is sent again while its first attempt is being written.
    until("the first attempt", || {
        (scene.attempts(&id) == ["no answer"]).then_some(())
    });
    accept(&mut scene.bind, again, "second");
    scene.report("second", "DELIVRD");
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), 2));
    assert_eq!(scene.attempts(&id), ["no answer", "ESME_ROK"]);
    assert_eq!(scene.message(&id)["attempts"], 2);
    assert_eq!(scene.metric("smsc_attempts_outcome_unknown_total"), 1.0);
}

#[test]
fn pain_08_resend_adopts_a_late_answer_of_the_first_attempt() {
    let mut scene = scene("");
    let id = scene.submit();
    let (first, _) = next_submit(&mut scene.bind);
    let (again, _) = next_submit(&mut scene.bind);
    accept(&mut scene.bind, first, "first");
    accept(&mut scene.bind, again, "second");
    // Both ids of the operator belong to this message.
    scene.report("first", "DELIVRD");
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), 2));
    scene.report("second", "UNDELIV");
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence), "told once");
    assert_eq!(scene.message(&id)["state"], "DELIVERED");
    assert_eq!(scene.metric("smsc_attempts_answered_late_total"), 1.0);
}

#[test]
fn wait_submits_once_and_adopts_a_late_answer() {
    let mut scene = scene("outcome_unknown = \"wait\"");
    let id = scene.submit();
    let (sequence, _) = next_submit(&mut scene.bind);
    no_submit(&mut scene.bind);
    assert_eq!(scene.message(&id)["state"], "ENROUTE");
    until("the end of the wait for its response", || {
        (scene.metric("smsc_attempts_outcome_unknown_total") == 1.0).then_some(())
    });
    accept(&mut scene.bind, sequence, "late");
    scene.report("late", "DELIVRD");
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), 2));
    assert_eq!(scene.message(&id)["state"], "DELIVERED");
}

#[test]
fn wait_believes_a_late_refusal() {
    let mut scene = scene("outcome_unknown = \"wait\"\nretry = { delays = [\"1s\"] }");
    let id = scene.submit();
    let (sequence, _) = next_submit(&mut scene.bind);
    until("the attempt in the history", || {
        (scene.attempts(&id) == ["no answer"]).then_some(())
    });
    // A permanent refusal: it ends as if the response had come in time.
    let refused = CommandStatus::ESME_RINVDSTADR;
    answer(&mut scene.bind, sequence, refused, "");
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), 8));
    assert_eq!(scene.message(&id)["state"], "REJECTED");
    assert_eq!(scene.attempts(&id), ["no answer", "ESME_RINVDSTADR"]);
    assert_eq!(scene.metric("smsc_attempts_answered_late_total"), 1.0);

    // A temporary refusal: it is submitted again.
    let id = scene.submit();
    let (sequence, _) = next_submit(&mut scene.bind);
    until("the attempt in the history", || {
        (scene.attempts(&id) == ["no answer"]).then_some(())
    });
    answer(&mut scene.bind, sequence, CommandStatus::ESME_RMSGQFUL, "");
    let (again, _) = next_submit(&mut scene.bind);
    accept(&mut scene.bind, again, "again");
    scene.report("again", "DELIVRD");
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), 2));
    assert_eq!(scene.message(&id)["state"], "DELIVERED");
    no_submit(&mut scene.bind);
}

#[test]
fn wait_does_not_submit_again_after_a_kill() {
    let mut scene = scene("outcome_unknown = \"wait\"");
    let id = scene.submit();
    next_submit(&mut scene.bind);
    scene.smsc.kill();
    scene.smsc.start_again();
    let mut bind = scene.operator.accept_bind();
    no_submit(&mut bind);
    assert_eq!(scene.message(&id)["state"], "ENROUTE");
}

#[test]
fn wait_ends_unknown_when_nothing_ever_comes() {
    let mut scene = scene("outcome_unknown = \"wait\"\ncorrelation_ttl = \"2s\"");
    let id = scene.submit();
    next_submit(&mut scene.bind);
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), 7));
    assert_eq!(scene.message(&id)["state"], "UNKNOWN");
}

#[test]
fn fail_ends_undeliverable_without_a_second_submit() {
    let mut scene = scene("outcome_unknown = \"fail\"");
    let id = scene.submit();
    next_submit(&mut scene.bind);
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), 5));
    no_submit(&mut scene.bind);
    assert_eq!(scene.message(&id)["state"], "UNDELIVERABLE");
    assert_eq!(scene.attempts(&id), ["no answer"]);
}

#[test]
fn a_cut_connection_resends_after_the_next_bind() {
    let mut scene = scene("");
    let ids: Vec<String> = (0..20).map(|_| scene.submit()).collect();
    for _ in 0..10 {
        let (sequence, _) = next_submit(&mut scene.bind);
        accept(&mut scene.bind, sequence, &format!("a{sequence}"));
    }
    let (unanswered, _) = next_submit(&mut scene.bind);
    assert!(unanswered > 0);
    // The SMSC has read the responses above when it answers the next request.
    scene.bind.assert_alive();
    drop(scene.bind);
    let mut bind = scene.operator.accept_bind();
    for _ in 0..10 {
        let (sequence, _) = next_submit(&mut bind);
        accept(&mut bind, sequence, &format!("b{sequence}"));
    }
    no_submit(&mut bind);
    for id in ids {
        let message = scene.smsc.admin().get(&format!("/v1/messages/{id}"));
        assert_eq!(message["stage"], "handed over", "{message}");
    }
}

#[test]
fn a_cut_connection_under_wait_is_not_submitted_again() {
    let mut scene = scene("outcome_unknown = \"wait\"");
    let id = scene.submit();
    next_submit(&mut scene.bind);
    drop(scene.bind);
    let mut bind = scene.operator.accept_bind();
    no_submit(&mut bind);
    let admin = scene.smsc.admin();
    assert_eq!(admin.get(&format!("/v1/messages/{id}"))["state"], "ENROUTE");
    // It does not hold up later messages.
    scene.esme.submit(submit("447700900124", "hello"));
    next_submit(&mut bind);
}

fn no_submit(bind: &mut Peer) {
    if let Ok(pdu) = bind.next(QUIET) {
        panic!("nothing was expected, and this came: {pdu:?}");
    }
}

#[test]
fn wait_records_the_attempt() {
    let mut scene = scene("outcome_unknown = \"wait\"");
    let id = scene.submit();
    next_submit(&mut scene.bind);
    until("the attempt in the history", || {
        (scene.attempts(&id) == ["no answer"]).then_some(())
    });
}
