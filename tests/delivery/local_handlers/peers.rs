//! Delivery to a peer that is a program: one message at a time, and in order over every end of the program.

use std::collections::HashSet;

use super::{Asked, Example, QUIET, Reason, Said, journal, settled, socket, with_roles};
use crate::harness::local::Program;
use crate::harness::{Peer, Smsc, SmscBuilder, stat_of, submit, submit_quietly, until};
use crate::records_are_exact::ids;
use smsc::pb::local::{
    Delivered, Failed, FromPeer, NotDelivered, Report, Short, State, not_delivered,
};
use smsc::smpp::{Body, CommandStatus};

const ROLE: &str = "operator:fax";
const QUEUE: &str = "operator:fax";

fn faxing(keys: &str) -> SmscBuilder {
    with_roles(ROLE)
        .toml(&format!(
            "[[operator]]\nid = \"fax\"\naddress = \"local\"\nreconnect = [\"200ms\"]\n{keys}\n\
             [retry]\ndelays = [\"300ms\"]"
        ))
        .route("", "fax")
}

/// The text of the next message for the peer.
fn next(program: &mut Program) -> (u64, String) {
    let (number, asked) = program.asked();
    let Said::ToPeer(to_peer) = asked else {
        panic!("{asked:?}");
    };
    let octets = to_peer.message.unwrap().octets;
    (number, String::from_utf8(octets.to_vec()).unwrap())
}

fn refuse(program: &mut Program, number: u64, status: CommandStatus) {
    let cause = Some(not_delivered::Cause::CommandStatus(status.0));
    program.answer(number, Asked::NotDelivered(NotDelivered { cause }));
}

fn deliver(program: &mut Program, number: u64, id: &str, later: bool) {
    let id = id.to_owned();
    program.answer(number, Asked::Delivered(Delivered { id, later }));
}

#[test]
fn a_program_gets_one_message_at_a_time_and_says_what_became_of_it() {
    let smsc = faxing("").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let ids: Vec<String> = (0..4)
        .map(|at| esme.submit(submit("447700900123", &format!("page {at}"))))
        .collect();
    let mut program = Program::handler(&socket(&smsc), ROLE);
    let shown = smsc.admin().get("/v1/binds");
    assert!(shown.to_string().contains("handler"), "{shown}");

    // Delivered at once.
    let (number, text) = next(&mut program);
    assert_eq!(text, "page 0");
    program.hears_nothing(QUIET);
    deliver(&mut program, number, "", false);
    assert_eq!(stat_of(&esme.deliver()), (ids[0].clone(), 2));
    // Taken, and reported later.
    let (number, text) = next(&mut program);
    assert_eq!(text, "page 1");
    deliver(&mut program, number, "fax-1", true);
    // Refused for good.
    let (number, text) = next(&mut program);
    assert_eq!(text, "page 2");
    refuse(&mut program, number, CommandStatus::ESME_RINVDSTADR);
    assert_eq!(stat_of(&esme.deliver()), (ids[2].clone(), 8));
    // Refused for now, and then a failure: it comes again.
    for _ in 0..2 {
        let (number, text) = next(&mut program);
        assert_eq!(text, "page 3");
        let detail = "the line is busy".to_owned();
        program.answer(number, Asked::Failed(Failed { detail }));
    }
    let (number, _) = next(&mut program);
    deliver(&mut program, number, "", false);
    assert_eq!(stat_of(&esme.deliver()), (ids[3].clone(), 2));
    let report = Report {
        id: "fax-1".to_owned(),
        state: State::Undeliverable.into(),
        error: "042".to_owned(),
    };
    let said = program.ask(Asked::Report(report.clone()));
    assert!(matches!(said, Some(Said::Done(_))), "{said:?}");
    assert_eq!(stat_of(&esme.deliver()), (ids[1].clone(), 5));
    assert_eq!(smsc.wait_for_final(&ids[1])["final"]["error"], "042");
    let wrong = Report {
        state: 99,
        ..report
    };
    let said = program.ask(Asked::Report(wrong));
    let Some(Said::Failure(failure)) = said else {
        panic!("{said:?}");
    };
    assert_eq!(failure.reason(), Reason::BadValue);
    smsc.assert_no_panic();
}

#[test]
fn a_program_brings_messages_of_its_peer() {
    let smsc = faxing("")
        .account_with("shop", "shop", "addresses = [\"12345\"]")
        .start();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let mut program = Program::handler(&socket(&smsc), ROLE);
    let brought = |to: &str, octets: Vec<u8>| {
        let short = Short {
            from: "447700900123".to_owned(),
            from_ton: 1,
            from_npi: 1,
            to: to.to_owned(),
            octets: octets.into(),
            // No receipt can be brought so.
            esm_class: 0x04,
            ..Short::default()
        };
        Asked::FromPeer(FromPeer {
            message: Some(short),
        })
    };
    let long = vec![b'x'; 300];
    until("the session to be up", || {
        let said = program.ask(brought("12345", long.clone()));
        matches!(said, Some(Said::Done(_))).then_some(())
    });
    let came = shop.deliver();
    assert_eq!(came.esm_class & 0x3C, 0);
    assert_eq!(came.source_addr, "447700900123");
    let refused = program.ask(brought("nobody's", b"hello".to_vec()));
    let Some(Said::Failure(failure)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(failure.reason(), Reason::Refused);
    assert_ne!(failure.code, 0, "{failure:?}");
    smsc.assert_no_panic();
}

/// The numbers in the journal of the example.
fn written(smsc: &Smsc) -> Vec<usize> {
    let read = |line: &serde_json::Value| {
        let octets = line["octets"].as_str().unwrap();
        let digits = (0..octets.len()).step_by(2);
        let text: String = digits
            .map(|at| u8::from_str_radix(&octets[at..at + 2], 16).unwrap() as char)
            .collect();
        text.parse().unwrap()
    };
    journal(&smsc.file("journal")).iter().map(read).collect()
}

#[test]
fn what_a_program_had_comes_back_in_order_when_it_is_killed() {
    const MESSAGES: usize = 300;
    let mut smsc = faxing("strict_order = true").start();
    let file = smsc.file("journal");
    let mut example = Some(Example::start(&smsc, ROLE, &file));
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let quiet = |text: String| submit_quietly("447700900123", &text);
    for at in 0..MESSAGES {
        esme.request(Body::SubmitSm(quiet(at.to_string())));
    }
    // What was written when the SMSC was killed, and had not ended in its store.
    let mut not_durable = 0;
    // The program is killed twice in the middle, and the SMSC once.
    for kill in 1..=3 {
        let some = kill * MESSAGES / 5;
        until("some to be written", || {
            (written(&smsc).len() >= some).then_some(())
        });
        if kill == 2 {
            smsc.kill();
            let there: HashSet<usize> = written(&smsc).into_iter().collect();
            not_durable = there.len() - ids(&smsc, "fin").len();
            smsc.start_again();
        } else {
            example.take();
            settled(&smsc, QUEUE);
            example = Some(Example::start(&smsc, ROLE, &file));
        }
    }
    let last = MESSAGES - 1;
    until("all to be written", || {
        (written(&smsc).last() == Some(&last)).then_some(())
    });
    let all = written(&smsc);
    let mut first_times = all.clone();
    let mut seen = HashSet::new();
    first_times.retain(|text| seen.insert(*text));
    assert_eq!(first_times, (0..MESSAGES).collect::<Vec<_>>(), "{all:?}");
    // One for each end of the program and of the SMSC, and what had no durable result when the SMSC was killed.
    let repeated = all.len() - MESSAGES;
    assert!(
        repeated <= 3 + not_durable,
        "{repeated}, {not_durable} not durable, in {all:?}"
    );
    drop(example);
    smsc.assert_no_panic();
}

#[test]
fn two_programs_relieve_each_other() {
    let smsc = faxing("strict_order = true").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut first = Program::handler(&socket(&smsc), ROLE);
    let mut second = Program::handler(&socket(&smsc), ROLE);
    for text in ["a", "b", "c"] {
        esme.submit(submit("447700900123", text));
    }
    let (_, text) = next(&mut first);
    assert_eq!(text, "a");
    second.hears_nothing(QUIET);
    // The service is gone, and the program is still there.
    first.is_up(false);
    let (number, text) = next(&mut second);
    assert_eq!(text, "a");
    first.is_up(true);
    deliver(&mut second, number, "", false);
    let (_, text) = next(&mut second);
    assert_eq!(text, "b");
    drop(second);
    for wanted in ["b", "c"] {
        let (number, text) = next(&mut first);
        assert_eq!(text, wanted);
        deliver(&mut first, number, "", false);
    }
    smsc.assert_no_panic();
}

#[test]
fn a_node_that_stops_lets_the_program_finish_its_message() {
    let mut smsc = faxing("").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut program = Program::handler(&socket(&smsc), ROLE);
    let id = esme.submit(submit("447700900123", "last"));
    let (number, _) = next(&mut program);
    smsc.process().signal("TERM");
    program.hears_nothing(QUIET);
    deliver(&mut program, number, "", false);
    assert!(smsc.wait().success());
    smsc.start_again();
    assert_eq!(smsc.wait_for_final(&id)["state"], "DELIVERED");
}
