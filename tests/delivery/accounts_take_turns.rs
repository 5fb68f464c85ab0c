//! Accounts and priorities that share a queue take turns in it: no backlog holds others up.
//!
//! The operator accepts one message at a time, which makes their order visible. It answers the first
//! one when everything waits.

use crate::harness::{self, FakeOperator, Peer, Smsc, next_submit, submit};
use bytes::Bytes;
use smsc::smpp::{Body, CommandStatus, SubmitSm};

/// More than a page of bodies (`queue.page`), and more than one read.
const BACKLOG: usize = 6_000;

struct Scene {
    operator: FakeOperator,
    smsc: Smsc,
    bind: Peer,
    /// The sequence number of the unanswered message.
    open: u32,
    taken: usize,
}

impl Scene {
    /// With more configuration as TOML, and more keys of the account `big`.
    fn new(toml: &str, big: &str) -> Self {
        let operator = FakeOperator::listen();
        let smsc = Smsc::new()
            .account_with("big", "big", big)
            .account("small", "small")
            .operator_with(
                "up",
                operator.address(),
                "window = 1\nresponse_timeout = \"5m\"",
            )
            .route("", "up")
            .toml(toml)
            .start();
        let mut bind = operator.accept_bind();
        smsc.wait_for_binds("up", 1);
        let mut first = Peer::transmitter(smsc.smpp(), "big", "big");
        first.submit(message("first", 0));
        let (open, _) = next_submit(&mut bind);
        Self {
            operator,
            smsc,
            bind,
            open,
            taken: 0,
        }
    }

    fn peer(&self, account: &str) -> Peer {
        Peer::transmitter(self.smsc.smpp(), account, account)
    }

    /// The texts of the next messages, in the order in which they go.
    fn next(&mut self, count: usize) -> Vec<String> {
        let mut texts = Vec::new();
        for _ in 0..count {
            self.taken += 1;
            let theirs = format!("theirs-{}", self.taken);
            harness::accept(&mut self.bind, self.open, &theirs);
            let (open, submit) = next_submit(&mut self.bind);
            self.open = open;
            texts.push(String::from_utf8(submit.short_message.to_vec()).unwrap());
        }
        texts
    }
}

fn message(text: &str, priority: u8) -> SubmitSm {
    SubmitSm {
        priority_flag: priority,
        registered_delivery: 0,
        short_message: Bytes::copy_from_slice(text.as_bytes()),
        ..submit("447700900123", "")
    }
}

/// Submits `count` messages without waiting for each; returns the statuses.
fn submit_many(peer: &mut Peer, name: &str, count: usize, priority: u8) -> Vec<CommandStatus> {
    let submissions = (0..count).map(|number| message(&format!("{name} {number}"), priority));
    let sequences: Vec<u32> = submissions
        .map(|submission| peer.request(Body::SubmitSm(submission)))
        .collect();
    let answers = sequences.into_iter().map(|one| peer.answer_to(one));
    answers.map(|answer| answer.status).collect()
}

fn submit_all(peer: &mut Peer, name: &str, count: usize, priority: u8) {
    let statuses = submit_many(peer, name, count, priority);
    let refused = statuses.iter().find(|status| !status.is_ok());
    assert_eq!(refused, None, "of {name}");
}

fn place(texts: &[String], text: &str) -> Option<usize> {
    texts.iter().position(|one| one == text)
}

#[test]
fn a_backlog_of_one_account_holds_up_no_other() {
    let mut scene = Scene::new("", "");
    submit_all(&mut scene.peer("big"), "big", BACKLOG, 0);
    submit_all(&mut scene.peer("small"), "small", 3, 0);
    let texts = scene.next(8);
    let places: Vec<_> = (0..3)
        .map(|n| place(&texts, &format!("small {n}")))
        .collect();
    assert!(places.iter().all(Option::is_some), "{texts:?}");
    assert!(places.is_sorted(), "in their order: {texts:?}");
    let big: Vec<&String> = texts
        .iter()
        .filter(|text| text.starts_with("big"))
        .collect();
    assert_eq!(big, ["big 0", "big 1", "big 2", "big 3", "big 4"]);

    // Messages that a restart reads from the store take turns as well.
    submit_all(&mut scene.peer("small"), "after", 1, 0);
    scene.smsc.kill();
    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    (scene.open, _) = next_submit(&mut scene.bind);
    // What was accepted a few milliseconds before the kill goes again, in front of the others.
    let texts = scene.next(16);
    assert!(place(&texts, "after 0").is_some(), "{texts:?}");
}

#[test]
fn a_page_of_lower_priority_is_not_in_front_of_a_higher_one() {
    let mut scene = Scene::new("", "");
    submit_all(&mut scene.peer("big"), "low", BACKLOG, 0);
    submit_all(&mut scene.peer("big"), "high", 1, 3);
    let texts = scene.next(2);
    assert!(place(&texts, "high 0").is_some(), "{texts:?}");
}

#[test]
fn no_priority_waits_for_ever() {
    let mut scene = Scene::new("[queue]\nlow_share = 10", "");
    submit_all(&mut scene.peer("small"), "low", 1, 0);
    submit_all(&mut scene.peer("big"), "high", 300, 3);
    let texts = scene.next(30);
    let low = place(&texts, "low 0");
    assert!(low.is_some_and(|place| place > 0), "{texts:?}");
}

#[test]
fn weights_say_how_many_go_in_a_round() {
    let mut scene = Scene::new("", "weight = 3");
    submit_all(&mut scene.peer("big"), "big", 200, 0);
    submit_all(&mut scene.peer("small"), "small", 200, 0);
    let texts = scene.next(80);
    let big = texts.iter().filter(|text| text.starts_with("big")).count();
    assert!((57..=63).contains(&big), "{big} of 80: {texts:?}");
}

#[test]
fn one_account_cannot_fill_a_queue_alone() {
    let scene = Scene::new("[queue]\nmax_waiting = 20\naccount_share = 50", "");
    let count =
        |statuses: &[CommandStatus], status| statuses.iter().filter(|one| **one == status).count();
    let mut peer = scene.peer("big");
    let mut big = Vec::new();
    // One at a time, so that each is counted before the next: one on its way into the queue is missing when that publishes
    // its counts.
    for _ in 0..15 {
        big.extend(submit_many(&mut peer, "big", 1, 0));
        let taken = count(&big, CommandStatus::ESME_ROK);
        harness::until("the queue to count it", || {
            let waiting = scene
                .smsc
                .admin()
                .metric("smsc_queue_waiting{queue=\"operator:up\"}");
            (waiting == Some(taken as f64)).then_some(())
        });
    }
    let taken = count(&big, CommandStatus::ESME_ROK);
    // The first message is with the operator, and may or may not be counted.
    assert!((9..=10).contains(&taken), "{big:?}");
    assert_eq!(count(&big, CommandStatus::ESME_RMSGQFUL), 15 - taken);
    let mut small = scene.peer("small");
    let small: Vec<_> = (0..8)
        .flat_map(|_| submit_many(&mut small, "small", 1, 0))
        .collect();
    assert_eq!(count(&small, CommandStatus::ESME_ROK), 8, "{small:?}");
}
