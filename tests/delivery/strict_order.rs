//! An operator with `strict_order` gets one message at a time, in the order of acceptance: a message that it refuses
//! for now holds all others, over a kill, too.

use std::time::Duration;

use crate::harness::{
    FakeOperator, Peer, PeerError, Smsc, accept, answer, next_submit, submit, until,
};
use smsc::smpp::{CommandStatus, SubmitSm};

/// Long enough to see that nothing else comes.
const QUIET: Duration = Duration::from_millis(700);

/// Two accounts, and the operator `up` in strict order.
fn strict(operator: &FakeOperator, delay: &str) -> Smsc {
    Smsc::new()
        .account("test", "test")
        .account("other", "other")
        .operator_with("up", operator.address(), "strict_order = true")
        .route("", "up")
        .toml(&format!("[retry]\ndelays = [{delay:?}]"))
        .start()
}

fn urgent(text: &str) -> SubmitSm {
    SubmitSm {
        priority_flag: 3,
        ..submit("447700900123", text)
    }
}

/// The text of the next message, which is the only one.
fn next(bind: &mut Peer) -> (u32, String) {
    let (sequence, message) = next_submit(bind);
    assert_eq!(
        bind.next(QUIET).err(),
        Some(PeerError::Silence),
        "one at a time"
    );
    let text = String::from_utf8(message.short_message.to_vec()).unwrap();
    (sequence, text)
}

#[test]
fn a_temporary_refusal_holds_what_comes_behind_it() {
    let operator = FakeOperator::listen();
    let smsc = strict(&operator, "1s");
    let mut bind = operator.accept_bind();
    let mut test = Peer::bind(smsc.smpp(), "test", "test");
    let mut other = Peer::bind(smsc.smpp(), "other", "other");
    test.submit(submit("447700900123", "first"));
    other.submit(submit("447700900124", "second"));
    test.submit(urgent("third"));
    for (text, refusals) in [("first", 0), ("second", 2), ("third", 1)] {
        for _ in 0..refusals {
            let (sequence, got) = next(&mut bind);
            assert_eq!(got, text);
            answer(&mut bind, sequence, CommandStatus::ESME_RSYSERR, "");
        }
        let (sequence, got) = next(&mut bind);
        assert_eq!(got, text);
        accept(&mut bind, sequence, text);
    }
}

#[test]
fn the_first_message_stays_first_over_a_kill() {
    let operator = FakeOperator::listen();
    let mut smsc = strict(&operator, "3s");
    let mut bind = operator.accept_bind();
    let mut test = Peer::bind(smsc.smpp(), "test", "test");
    let first = test.submit(submit("447700900123", "first"));
    test.submit(urgent("second"));
    let (sequence, got) = next(&mut bind);
    assert_eq!(got, "first");
    answer(&mut bind, sequence, CommandStatus::ESME_RSYSERR, "");
    let admin = smsc.admin();
    until("the refusal to be written", || {
        let message = admin.get(&format!("/v1/messages/{first}"));
        let attempts = message["history"].as_array()?;
        (!attempts.is_empty()).then_some(())
    });
    smsc.kill();
    smsc.start_again();
    let mut bind = operator.accept_bind();
    for text in ["first", "second"] {
        let (sequence, got) = next(&mut bind);
        assert_eq!(got, text);
        accept(&mut bind, sequence, text);
    }
}
