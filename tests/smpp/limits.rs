//! Limits of accounts: binds, rates and waiting messages, and the statuses beyond them.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::harness::{
    FakeOperator, PATIENCE, Peer, PeerError, Scene, Simulator, Smsc, next_submit, submit, until,
};
use argon2::{Argon2, PasswordHasher};
use smsc::smpp::{Body, CommandId, CommandStatus};

/// Long enough for what must not come to show itself. What must come is waited for much longer.
const QUIET: Duration = Duration::from_millis(700);

/// Submits without waiting, then returns the status of each response, in order.
fn submit_many(esme: &mut Peer, count: usize) -> Vec<CommandStatus> {
    let sequences: Vec<u32> = (0..count)
        .map(|number| {
            esme.request(Body::SubmitSm(submit(
                &format!("4477009{number:05}"),
                "hello",
            )))
        })
        .collect();
    // Refusals may overtake acceptances, which wait for their commit.
    let mut missing: HashSet<u32> = sequences.iter().copied().collect();
    let mut answers = Vec::new();
    while !missing.is_empty() {
        let pdu = esme.expect("an answer", |pdu| {
            pdu.command_id() == CommandId::SUBMIT_SM_RESP
        });
        assert!(
            missing.remove(&pdu.sequence),
            "answered twice: {}",
            pdu.sequence
        );
        answers.push((pdu.sequence, pdu.status));
    }
    answers.sort_by_key(|(sequence, _)| *sequence);
    answers.into_iter().map(|(_, status)| status).collect()
}

fn count(statuses: &[CommandStatus], status: CommandStatus) -> usize {
    statuses.iter().filter(|own| **own == status).count()
}

fn bind_status(smsc: &Smsc, system_id: &str, password: &str) -> CommandStatus {
    Peer::connect(smsc.smpp()).bind_as(Body::BindTransceiver, system_id, password)
}

#[test]
fn an_account_beyond_its_rate_is_throttled() {
    let smsc = Smsc::new()
        .account_with("test", "test", "rate = 2.0\nburst = 20")
        .account("free", "free")
        .route("", "test:delivered")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let started = Instant::now();
    let statuses = submit_many(&mut esme, 60);
    // The burst, plus the tokens added while they were sent.
    let most = 20 + 1 + (started.elapsed().as_secs_f64() * 2.0) as usize;
    let accepted = count(&statuses, CommandStatus::ESME_ROK);
    assert!(
        (20..=most).contains(&accepted),
        "{accepted} accepted, at most {most}"
    );
    assert_eq!(
        count(&statuses, CommandStatus::ESME_RTHROTTLED),
        60 - accepted
    );
    // The first ones were accepted, in order.
    assert!(
        statuses[..20].iter().all(|status| status.is_ok()),
        "{statuses:?}"
    );
    // Another account is not affected.
    let mut free = Peer::bind(smsc.smpp(), "free", "free");
    assert_eq!(
        count(&submit_many(&mut free, 60), CommandStatus::ESME_ROK),
        60
    );
    // After a while the account may submit again.
    until("tokens again", || {
        submit_many(&mut esme, 1)[0].is_ok().then_some(())
    });
}

#[test]
fn an_account_shares_its_rate_over_its_binds() {
    let smsc = Smsc::new()
        .account_with("test", "test", "rate = 0.1\nburst = 10")
        .route("", "test:delivered")
        .start();
    let mut binds: Vec<Peer> = (0..4)
        .map(|_| Peer::transmitter(smsc.smpp(), "test", "test"))
        .collect();
    let accepted: usize = binds
        .iter_mut()
        .map(|bind| count(&submit_many(bind, 10), CommandStatus::ESME_ROK))
        .sum();
    assert!((10..=12).contains(&accepted), "{accepted}");
}

#[test]
fn an_operator_is_never_sent_more_than_its_rate() {
    const MESSAGES: usize = 150;
    // The operator throttles beyond 100/s; the SMSC is configured to stay well below that.
    let operator = Simulator::new().flags("--rate 100").start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with(
            "up",
            operator.address(),
            "binds = 2\nrate = 50.0\nburst = 5",
        )
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 2);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let started = Instant::now();
    submit_many(&mut esme, MESSAGES);
    operator.wait_for(MESSAGES);
    let least = Duration::from_secs_f64((MESSAGES - 5) as f64 / 50.0);
    assert!(
        started.elapsed() >= least,
        "faster than the rate: {:?}",
        started.elapsed()
    );
    let throttled = smsc
        .admin()
        .metric("smsc_attempts_throttled_by_operator_total");
    assert_eq!(throttled, Some(0.0));
}

#[test]
fn an_operator_that_throttles_gets_everything_in_the_end() {
    let operator = Simulator::new().flags("--rate 100").start();
    let smsc = Smsc::new().relaying_to(operator.address()).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    submit_many(&mut esme, 400);
    operator.wait_for(400);
    let throttled = smsc
        .admin()
        .metric("smsc_attempts_throttled_by_operator_total");
    assert!(throttled > Some(0.0));
}

#[test]
fn binds_of_an_account_are_limited() {
    let smsc = Smsc::new()
        .account_with("test", "test", "max_binds = 2")
        .start();
    let first = Peer::bind(smsc.smpp(), "test", "test");
    let _second = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(
        bind_status(&smsc, "test", "test"),
        CommandStatus::ESME_RALYBND
    );
    first.unbind();
    until("a free place", || {
        bind_status(&smsc, "test", "test").is_ok().then_some(())
    });
}

#[test]
fn unfinished_messages_of_an_account_are_limited() {
    let operator = FakeOperator::listen();
    let mut smsc = Smsc::new()
        .account_with("test", "test", "max_waiting = 5")
        .account("free", "free")
        .operator("up", operator.address())
        .route("", "up")
        .route("33", "test:delivered")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let statuses = submit_many(&mut esme, 8);
    assert_eq!(count(&statuses, CommandStatus::ESME_ROK), 5);
    assert_eq!(count(&statuses, CommandStatus::ESME_RMSGQFUL), 3);
    let mut free = Peer::bind(smsc.smpp(), "free", "free");
    assert_eq!(
        count(&submit_many(&mut free, 8), CommandStatus::ESME_ROK),
        8
    );
    // They are still unfinished after a restart.
    smsc.kill();
    smsc.start_again();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(submit_many(&mut esme, 1), [CommandStatus::ESME_RMSGQFUL]);
    // A finished message makes room.
    let admin = smsc.admin();
    let messages = admin.get("/v1/messages?limit=50");
    let own = messages["messages"].as_array().unwrap().iter();
    let id = own
        .filter(|message| message["sender"] == "account:test")
        .map(|message| message["id"].as_str().unwrap())
        .next()
        .unwrap();
    // 202 is the answer when its end is not seen soon.
    let (status, said) = admin.post(&format!("/v1/messages/{id}/cancel"));
    assert!([200, 202].contains(&status), "{status} {said}");
    assert_eq!(smsc.final_state(id), "DELETED");
    until("room", || {
        let mut again = submit_many(&mut esme, 1);
        again.pop().filter(|status| status.is_ok())
    });
}

#[test]
fn a_queue_is_limited() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .relaying_to(operator.address())
        .route("33", "test:delivered")
        .toml("[queue]\nmax_waiting = 10")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let statuses: Vec<CommandStatus> = (0..15).flat_map(|_| submit_many(&mut esme, 1)).collect();
    assert_eq!(count(&statuses[..10], CommandStatus::ESME_ROK), 10);
    assert_eq!(count(&statuses[10..], CommandStatus::ESME_RMSGQFUL), 5);
    // Another queue is not affected.
    esme.submit(submit("33123", "hello"));
}

#[test]
fn a_window_is_never_exceeded() {
    let smsc = Smsc::new()
        .account_with("test", "test", "window = 3")
        .route("", "test:delivered")
        .start();
    let mut transmitter = Peer::transmitter(smsc.smpp(), "test", "test");
    submit_many(&mut transmitter, 9);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut unanswered = Vec::new();
    for _ in 0..9 {
        if unanswered.len() == 3 {
            let fourth = esme.next(QUIET);
            assert_eq!(fourth, Err(PeerError::Silence), "beyond the window");
            esme.acknowledge(CommandId::DELIVER_SM_RESP, unanswered.remove(0));
        }
        match esme.next(PATIENCE) {
            Ok(pdu) if matches!(pdu.body, Body::DeliverSm(_)) => unanswered.push(pdu.sequence),
            other => panic!("the window has room: {other:?}"),
        }
    }
}

#[test]
fn pain_06_an_operators_window_is_never_exceeded() {
    let mut scene = Scene::new("window = 3");
    submit_many(&mut scene.esme, 20);
    for _ in 0..3 {
        next_submit(&mut scene.bind);
    }
    let fourth = scene.bind.next(QUIET);
    assert_eq!(fourth, Err(PeerError::Silence), "beyond the window");
}

#[test]
fn only_allowed_addresses_may_bind() {
    let smsc = Smsc::new()
        .account_with("here", "here", "allow = [\"127.0.0.0/8\"]")
        .account_with(
            "elsewhere",
            "elsewhere",
            "allow = [\"10.0.0.0/8\", \"192.0.2.1\"]",
        )
        .start();
    assert_eq!(bind_status(&smsc, "here", "here"), CommandStatus::ESME_ROK);
    assert_eq!(
        bind_status(&smsc, "elsewhere", "elsewhere"),
        CommandStatus::ESME_RINVPASWD
    );
}

#[test]
fn passwords_are_plain_or_hashed_and_never_logged() {
    let hash = Argon2::default()
        .hash_password_with_salt(b"s3cret-1", b"some salt of it!")
        .unwrap()
        .to_string();
    let smsc = Smsc::new()
        .account("plain", "s3cret-2")
        .account("hashed", &hash)
        .account_with("off", "s3cret-3", "enabled = false")
        .account_with("typed", "s3cret-4", "system_type = \"VMA\"")
        .toml("[log]\nlevel = \"debug\"")
        .start();
    for (system_id, password, status) in [
        ("plain", "s3cret-2", CommandStatus::ESME_ROK),
        ("plain", "s3cret-1", CommandStatus::ESME_RINVPASWD),
        ("plain", "", CommandStatus::ESME_RINVPASWD),
        ("hashed", "s3cret-1", CommandStatus::ESME_ROK),
        ("hashed", "s3cret-1", CommandStatus::ESME_ROK),
        ("hashed", "s3cret-2", CommandStatus::ESME_RINVPASWD),
        ("off", "s3cret-3", CommandStatus::ESME_RINVPASWD),
        ("nobody", "s3cret-2", CommandStatus::ESME_RINVPASWD),
        ("typed", "s3cret-1", CommandStatus::ESME_RINVPASWD),
        ("typed", "s3cret-4", CommandStatus::ESME_RINVSYSTYP),
    ] {
        assert_eq!(
            bind_status(&smsc, system_id, password),
            status,
            "{system_id}"
        );
    }
    // The hash itself is not a password.
    let mut peer = Peer::connect(smsc.smpp());
    let status = peer.bind_as(Body::BindTransceiver, "hashed", &hash[..8]);
    assert_eq!(status, CommandStatus::ESME_RINVPASWD);
    until("the refusals in the log", || {
        smsc.log().contains("wrong password").then_some(())
    });
    for secret in ["s3cret", "argon2id"] {
        assert!(!smsc.log().contains(secret), "{secret} in the log");
    }
}

#[test]
fn a_bind_serves_what_its_type_allows() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let mut receiver = Peer::connect(smsc.smpp());
    receiver.bind_as(Body::BindReceiver, "test", "test");
    let sequence = receiver.request(Body::SubmitSm(submit("44", "hello")));
    let answer = receiver.answer_to(sequence);
    assert_eq!(answer.status, CommandStatus::ESME_RINVBNDSTS);
    assert_eq!(answer.command_id(), CommandId::SUBMIT_SM_RESP);
    receiver.assert_alive();
    let mut unbound = Peer::connect(smsc.smpp());
    let sequence = unbound.request(Body::SubmitSm(submit("44", "hello")));
    assert_eq!(
        unbound.answer_to(sequence).status,
        CommandStatus::ESME_RINVBNDSTS
    );
}

#[test]
fn pain_15_rates_count_short_messages_and_not_texts() {
    let smsc = Smsc::new()
        .account_with("test", "test", "rate = 0.01\nburst = 5")
        .route("", "test:delivered")
        .start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    // Three short messages, then two, then no quota is left.
    let statuses = [400, 161, 1].map(|length| {
        let sequence = esme.request(Body::SubmitSm(long(length)));
        esme.answer_to(sequence).status
    });
    assert_eq!(
        statuses,
        [
            CommandStatus::ESME_ROK,
            CommandStatus::ESME_ROK,
            CommandStatus::ESME_RTHROTTLED
        ]
    );
}

#[test]
fn an_operator_gets_so_many_short_messages_per_second() {
    let mut scene = Scene::new("rate = 0.01\nburst = 4\nwindow = 50");
    for _ in 0..3 {
        let sequence = scene.esme.request(Body::SubmitSm(long(300)));
        assert!(scene.esme.answer_to(sequence).status.is_ok());
    }
    // Two texts of two short messages each.
    for _ in 0..2 {
        next_submit(&mut scene.bind);
    }
    let third = scene.bind.next(QUIET);
    assert_eq!(third, Err(PeerError::Silence), "beyond the rate");
}

/// A text of `length` characters, in message_payload.
fn long(length: usize) -> smsc::smpp::SubmitSm {
    let mut tlvs = smsc::smpp::Tlvs::default();
    tlvs.push(smsc::smpp::tag::MESSAGE_PAYLOAD, &vec![b'x'; length]);
    smsc::smpp::SubmitSm {
        tlvs,
        ..submit("447700900123", "")
    }
}
