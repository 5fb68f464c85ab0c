//! A refused message is retried, given up or waits, depending on the status; validity, schedule and
//! priority are respected; the sender gets the receipts that it requested.

use std::time::{Duration, Instant};

use crate::harness::{
    Peer, PeerError, Scene, Simulator, Smsc, SmscBuilder, accept, answer, next_submit, stat_of,
    submit, submit_quietly, until,
};
use bytes::Bytes;
use smsc::smpp::{Body, CommandStatus, SubmitSm};

const QUIET: Duration = Duration::from_millis(1500);
const DELIVERED: u32 = 2;
const EXPIRED: u32 = 3;
const REJECTED: u32 = 8;

fn retry(keys: &str) -> impl FnOnce(SmscBuilder) -> SmscBuilder {
    let table = format!("[retry]\n{keys}");
    move |builder| builder.toml(&table)
}

/// An operator that is down, and no other route.
fn operator_down() -> (Simulator, Smsc, Peer) {
    let operator = Simulator::new();
    let smsc = Smsc::new().relaying_to(operator.address()).start();
    let esme = Peer::bind(smsc.smpp(), "test", "test");
    (operator, smsc, esme)
}

#[test]
fn a_permanent_refusal_ends_rejected_at_once() {
    let mut scene = Scene::new("");
    let id = scene.submit();
    scene.refuse(CommandStatus::ESME_RINVDSTADR);
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), REJECTED));
    assert_eq!(scene.attempts(&id), ["ESME_RINVDSTADR"]);
    assert_eq!(scene.bind.next(QUIET), Err(PeerError::Silence));
}

#[test]
fn a_temporary_refusal_is_retried_by_its_schedule() {
    let mut scene = Scene::with("", retry("delays = [\"300ms\", \"900ms\"]"));
    let id = scene.submit();
    let mut came = Vec::new();
    for _ in 0..2 {
        let (sequence, _) = next_submit(&mut scene.bind);
        came.push(Instant::now());
        answer(&mut scene.bind, sequence, CommandStatus::ESME_RSYSERR, "");
    }
    let (sequence, _) = next_submit(&mut scene.bind);
    came.push(Instant::now());
    accept(&mut scene.bind, sequence, "x1");
    scene.report("x1", "DELIVRD");
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), DELIVERED));
    assert_eq!(
        scene.attempts(&id),
        ["ESME_RSYSERR", "ESME_RSYSERR", "ESME_ROK"]
    );
    assert!(came[1] - came[0] >= Duration::from_millis(290), "{came:?}");
    assert!(came[2] - came[1] >= Duration::from_millis(890), "{came:?}");
}

#[test]
fn a_retry_keeps_its_time_over_a_kill() {
    let mut scene = Scene::with("", retry("delays = [\"6s\"]"));
    let id = scene.submit();
    let (sequence, _) = next_submit(&mut scene.bind);
    let refused = Instant::now();
    answer(&mut scene.bind, sequence, CommandStatus::ESME_RSYSERR, "");
    let admin = scene.smsc.admin();
    until("the message to be scheduled", || {
        let message = admin.get(&format!("/v1/messages/{id}"));
        (message["stage"] == "scheduled").then_some(())
    });
    scene.smsc.kill();
    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    next_submit(&mut scene.bind);
    assert!(refused.elapsed() >= Duration::from_millis(5_900));
    assert_eq!(admin.get(&format!("/v1/messages/{id}"))["attempts"], 1);
}

#[test]
fn attempts_may_be_limited() {
    let mut scene = Scene::with("", retry("delays = [\"100ms\"]\nmax_attempts = 2"));
    let id = scene.submit();
    for _ in 0..2 {
        scene.refuse(CommandStatus::ESME_RSYSERR);
    }
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), REJECTED));
    assert_eq!(scene.bind.next(QUIET), Err(PeerError::Silence));
}

#[test]
fn a_status_may_mean_something_else() {
    let mut scene = Scene::with("", |builder| {
        builder.toml(
            "[[retry.status]]\nstatus = \"ESME_RINVDSTADR\"\nclass = \"temporary\"\ndelays = [\"100ms\"]\n\n\
             [[retry.status]]\nstatus = \"ESME_RSYSERR\"\nclass = \"permanent\"",
        )
    });
    let id = scene.submit();
    scene.refuse(CommandStatus::ESME_RINVDSTADR);
    scene.refuse(CommandStatus::ESME_RSYSERR);
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), REJECTED));
    assert_eq!(scene.attempts(&id), ["ESME_RINVDSTADR", "ESME_RSYSERR"]);
}

#[test]
fn throttling_waits_and_is_no_attempt() {
    let mut scene = Scene::with(
        "",
        retry("delays = [\"100ms\"]\nthrottled_delay = \"400ms\"\nmax_attempts = 2"),
    );
    let id = scene.submit();
    let mut before = None;
    for _ in 0..4 {
        let (sequence, _) = next_submit(&mut scene.bind);
        if let Some(before) = before.replace(Instant::now()) {
            assert!(before.elapsed() >= Duration::from_millis(390));
        }
        answer(
            &mut scene.bind,
            sequence,
            CommandStatus::ESME_RTHROTTLED,
            "",
        );
    }
    scene.take("x1");
    scene.report("x1", "DELIVRD");
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), DELIVERED));
    assert_eq!(scene.attempts(&id), ["ESME_ROK"]);
    let message = scene.smsc.admin().get(&format!("/v1/messages/{id}"));
    assert_eq!(message["attempts"], 1);
}

#[test]
fn one_throttled_message_holds_all_others_up_only_where_no_pace_is_adapted() {
    for (keys, goes_on) in [("", true), ("adaptive = false", false)] {
        let mut scene = Scene::with(keys, retry("throttled_delay = \"1h\""));
        let throttled = scene.submit();
        scene.refuse(CommandStatus::ESME_RTHROTTLED);
        until("the refusal to be known", || {
            (scene.metric("smsc_attempts_throttled_by_operator_total") == 1.0).then_some(())
        });
        let next = scene.submit();
        if goes_on {
            scene.take("next");
            assert_eq!(scene.message(&throttled)["attempts"], 0);
        } else {
            assert_eq!(scene.bind.next(QUIET), Err(PeerError::Silence));
            assert_eq!(scene.message(&next)["attempts"], 0);
        }
    }
}

#[test]
fn everything_gets_through_a_throttling_and_failing_operator() {
    let operator = Simulator::new()
        .flags("--throttle-percent 30 --reject-percent 20 --reject-status ESME_RSYSERR")
        .start();
    let smsc = Smsc::new()
        .account("test", "test")
        .toml("[retry]\ndelays = [\"50ms\"]\nthrottled_delay = \"50ms\"")
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    let mut ids: Vec<String> = (0..100)
        .map(|number| transmitter.submit(submit(&format!("4477009{number:05}"), "hello")))
        .collect();
    let mut told: Vec<String> = (0..100)
        .map(|_| {
            let (id, state) = stat_of(&esme.deliver());
            assert_eq!(state, DELIVERED);
            id
        })
        .collect();
    ids.sort();
    told.sort();
    assert_eq!(told, ids);
    let mut there: Vec<String> = operator
        .wait_for(100)
        .into_iter()
        .map(|line| line.destination)
        .collect();
    there.sort();
    there.dedup();
    assert_eq!(there.len(), 100, "each number once");
}

#[test]
fn pain_10_validity_ends_by_timer_while_the_operator_is_down() {
    let (mut operator, smsc, mut esme) = operator_down();
    let started = Instant::now();
    let id = esme.submit(SubmitSm {
        validity_period: Bytes::from_static(b"000000000002000R"),
        ..submit("447700900123", "hello")
    });
    let other = esme.submit(submit("447700900124", "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), EXPIRED));
    let lived = started.elapsed();
    assert!(lived >= Duration::from_millis(1_900), "only {lived:?}");
    assert_eq!(smsc.wait_for_final(&id)["state"], "EXPIRED");
    operator.start_again();
    assert_eq!(stat_of(&esme.deliver()), (other, DELIVERED));
    assert_eq!(
        operator.wait_for(1).len(),
        1,
        "the expired one is not sent any more"
    );
}

#[test]
fn pain_22_validity_ends_between_two_attempts() {
    let mut scene = Scene::with("", retry("delays = [\"10m\"]"));
    let id = scene.esme.submit(SubmitSm {
        validity_period: Bytes::from_static(b"000000000008000R"),
        ..submit("447700900123", "hello")
    });
    scene.refuse(CommandStatus::ESME_RSYSERR);
    assert_eq!(stat_of(&scene.esme.deliver()), (id, EXPIRED));
}

#[test]
fn a_message_that_was_handed_over_does_not_expire() {
    let mut scene = Scene::new("");
    let id = scene.esme.submit(SubmitSm {
        validity_period: Bytes::from_static(b"000000000008000R"),
        ..submit("447700900123", "hello")
    });
    scene.take("x1");
    // Until after the end of its validity.
    assert_eq!(
        scene.esme.next(Duration::from_secs(10)),
        Err(PeerError::Silence)
    );
    scene.report("x1", "DELIVRD");
    assert_eq!(stat_of(&scene.esme.deliver()), (id, DELIVERED));
}

#[test]
fn validity_in_the_past_and_times_that_are_none_are_refused() {
    let (_operator, _smsc, mut esme) = operator_down();
    for (schedule, validity, status) in [
        ("", "200101000000000+", CommandStatus::ESME_RINVEXPIRY),
        ("", "no time at all..", CommandStatus::ESME_RINVEXPIRY),
        ("no time at all..", "", CommandStatus::ESME_RINVSCHED),
        (
            "000000001000000R",
            "000000000500000R",
            CommandStatus::ESME_RINVEXPIRY,
        ),
    ] {
        let sequence = esme.request(Body::SubmitSm(SubmitSm {
            schedule_delivery_time: Bytes::from(schedule),
            validity_period: Bytes::from(validity),
            ..submit("447700900123", "hello")
        }));
        assert_eq!(
            esme.answer_to(sequence).status,
            status,
            "{schedule:?} {validity:?}"
        );
    }
}

#[test]
fn a_schedule_is_kept() {
    let mut scene = Scene::new("");
    let started = Instant::now();
    let id = scene.esme.submit(SubmitSm {
        schedule_delivery_time: Bytes::from_static(b"000000000008000R"),
        ..submit("447700900123", "later")
    });
    let message = scene.smsc.admin().get(&format!("/v1/messages/{id}"));
    assert_eq!(message["stage"], "scheduled");
    scene.esme.submit(submit("447700900124", "now"));
    let (_, first) = next_submit(&mut scene.bind);
    assert_eq!(first.short_message, "now");
    let (_, second) = next_submit(&mut scene.bind);
    assert_eq!(second.short_message, "later");
    assert!(
        second.schedule_delivery_time.is_empty(),
        "scheduling was ours"
    );
    let waited = started.elapsed();
    assert!(waited >= Duration::from_millis(7_950), "only {waited:?}");
}

#[test]
fn a_schedule_is_kept_over_a_restart() {
    let (mut operator, mut smsc, mut esme) = operator_down();
    let started = Instant::now();
    esme.submit(SubmitSm {
        schedule_delivery_time: Bytes::from_static(b"000000000004000R"),
        ..submit("447700900123", "later")
    });
    operator.start_again();
    smsc.kill();
    smsc.start_again();
    operator.wait_for(1);
    let waited = started.elapsed();
    assert!(waited >= Duration::from_millis(3_900), "only {waited:?}");
}

#[test]
fn priority_overtakes_a_backlog() {
    const BACKLOG: usize = 300;
    let (mut operator, _smsc, mut esme) = operator_down();
    for number in 0..BACKLOG {
        esme.submit(submit(&format!("4477009{number:05}"), "low"));
    }
    for (priority_flag, text) in [(1, "middle"), (3, "urgent")] {
        esme.submit(SubmitSm {
            priority_flag,
            ..submit("447700900999", text)
        });
    }
    operator.start_again();
    let journal = operator.wait_for(BACKLOG + 2);
    let texts: Vec<&str> = journal.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts[..3], ["urgent", "middle", "low"]);
    let order: Vec<&str> = journal[2..]
        .iter()
        .map(|line| line.destination.as_str())
        .collect();
    assert!(order.is_sorted(), "first come, first served");
}

#[test]
fn priority_overtakes_a_backlog_after_a_restart_too() {
    const BACKLOG: usize = 300;
    let (mut operator, mut smsc, mut esme) = operator_down();
    for number in 0..BACKLOG {
        esme.submit(submit(&format!("4477009{number:05}"), "low"));
    }
    esme.submit(SubmitSm {
        priority_flag: 3,
        ..submit("447700900999", "urgent")
    });
    smsc.kill();
    operator.start_again();
    smsc.start_again();
    let journal = operator.wait_for(BACKLOG + 1);
    assert_eq!(journal[0].text, "urgent");
    let order: Vec<&str> = journal[1..]
        .iter()
        .map(|line| line.destination.as_str())
        .collect();
    assert!(order.is_sorted(), "first come, first served");
}

#[test]
fn who_asked_for_failures_hears_of_failures_only() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("44", "test:delivered")
        .route("1", "test:failed")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    let mut send = |to: &str, registered_delivery: u8| {
        transmitter.submit(SubmitSm {
            registered_delivery,
            ..submit(to, "hello")
        })
    };
    // 2: failures only; 3: successes only (SMPP 5.0 §4.7.21).
    let silent = [send("447700900123", 2), send("15550001", 3)];
    let mut loud = [send("15550001", 2), send("447700900123", 3)];
    silent.iter().for_each(|id| {
        smsc.wait_for_final(id);
    });
    let mut told = [stat_of(&esme.deliver()).0, stat_of(&esme.deliver()).0];
    loud.sort();
    told.sort();
    assert_eq!(told, loud);
    assert_eq!(esme.next(QUIET), Err(PeerError::Silence));
}

#[test]
fn without_a_receipt_the_answer_is_the_end() {
    let mut scene = Scene::new("");
    let id = scene.esme.submit(submit_quietly("447700900123", "hello"));
    let (sequence, message) = next_submit(&mut scene.bind);
    assert_eq!(message.registered_delivery, 0);
    accept(&mut scene.bind, sequence, "x1");
    assert_eq!(scene.smsc.wait_for_final(&id)["state"], "ACCEPTED");
}
