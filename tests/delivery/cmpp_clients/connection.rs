//! One connection: windows, tests of the connection, its end by either side, and the end of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smsc::carrier::{Pdu, Protocol as _};
use smsc::cmpp::bodies::{MessageResp, Submit};
use smsc::cmpp::{Body, Cmpp};
use smsc::smpp::CommandStatus;

use super::Scene;
use crate::harness::carrier_client::{
    CarrierClient, NUMBER, SECRET, SHORT_CODE, SOURCE, free_listener, message, with_client,
};
use crate::harness::gateway::{AROUND_POISON, Line, PduOf, PickyCarrier};
use crate::harness::{Listener, Peer, Smsc, submit, taken, until};

#[test]
fn the_window_of_the_client_is_kept_and_ours_is_as_wide_as_it_sends() {
    let mut scene = Scene::new(Cmpp::V20, "window = 16");
    // More than any window, without waiting: each is answered.
    let sequences: Vec<u32> = (0..300)
        .map(|number| {
            let text = format!("number {number}");
            let submit = message(&[NUMBER], 0, text.as_bytes());
            scene.client.request(Body::Submit(Box::new(submit)))
        })
        .collect();
    let mut msg_ids = BTreeSet::new();
    for sequence in sequences {
        let (result, msg_id) = scene.client.answer_to(sequence);
        assert_eq!(result, 0);
        msg_ids.insert(msg_id);
    }
    assert_eq!(msg_ids.len(), 300);
    for number in 0..20 {
        taken(&mut scene.bind, &format!("id{number}"));
        scene.report(&format!("id{number}"), "stat:DELIVRD err:000");
    }
    // 16 reports, and not one more before the first is answered.
    let waiting: Vec<_> = (0..16).map(|_| scene.client.take()).collect();
    assert!(scene.client.line.is_quiet(Duration::from_millis(500)));
    let (sequence, deliver) = &waiting[0];
    scene.client.answer(*sequence, deliver.msg_id, 0);
    scene.client.take();
    assert!(scene.client.line.is_quiet(Duration::from_millis(500)));
}

#[test]
fn the_live_view_shows_the_pdus_of_cmpp() {
    let mut scene = Scene::new(Cmpp::V30, "");
    let admin = scene.smsc.admin();
    let binds = admin.get("/v1/binds");
    let binds = binds["binds"].as_array().unwrap();
    let bind = binds.iter().find(|bind| bind["name"] == SOURCE).unwrap();
    let path = format!("/v1/binds/{}/{}/pdus", bind["node"], bind["session"]);
    let read = admin.with_role("read", "looker");
    let mut shown = Listener::open(scene.smsc.http(), read.token(), &path);
    shown.wait_for("begun");
    scene.client.submit(message(&[NUMBER], 0, b"a secret text"));
    taken(&mut scene.bind, "one");
    scene.report("one", "stat:DELIVRD err:000");
    scene.client.deliver();
    let steps = shown.steps_until(|step| step["pdu"]["command"] == "CMPP_DELIVER_RESP");
    let commands = steps.iter().map(|step| step["pdu"]["command"].as_str());
    let commands: Vec<&str> = commands.flatten().collect();
    assert_eq!(
        commands,
        [
            "CMPP_SUBMIT",
            "CMPP_SUBMIT_RESP",
            "CMPP_DELIVER",
            "CMPP_DELIVER_RESP"
        ]
    );
    let all = serde_json::to_string(&steps).unwrap();
    assert!(!all.contains("secret"), "{all}");
}

#[test]
fn what_the_client_has_not_answered_comes_again() {
    let mut scene = Scene::new(Cmpp::V30, "");
    let msg_id = scene.client.submit(message(&[NUMBER], 0, b"hello"));
    taken(&mut scene.bind, "one");
    scene.report("one", "stat:DELIVRD err:000");
    let (_, report) = scene.client.take();
    let from_handset = submit(SHORT_CODE, "from a handset");
    assert_eq!(
        scene.send_from_handset(from_handset),
        CommandStatus::ESME_ROK
    );
    let (_, incoming) = scene.client.take();
    scene.client.line.cut();

    scene.client = CarrierClient::log_in(scene.address, Cmpp::V30);
    let again = [scene.client.deliver(), scene.client.deliver()];
    assert!(
        again.contains(&report) && again.contains(&incoming),
        "{again:?}"
    );
    assert_eq!(scene.client.report_in(&report).msg_id, msg_id);
    assert!(scene.client.line.is_quiet(Duration::from_millis(300)));
    // One that it cannot take now, but later.
    assert_eq!(
        scene.send_from_handset(submit(SHORT_CODE, "later")),
        CommandStatus::ESME_ROK
    );
    let (sequence, deliver) = scene.client.take();
    scene.client.answer(sequence, deliver.msg_id, 8);
    assert_eq!(scene.client.deliver(), deliver);
}

#[test]
fn a_client_that_ends_its_session_has_all_its_answers_first() {
    let mut scene = Scene::new(Cmpp::V20, "");
    for number in 0..50 {
        let text = format!("number {number}");
        scene.client.request(Body::Submit(Box::new(message(
            &[NUMBER],
            0,
            text.as_bytes(),
        ))));
    }
    let last = scene.client.request(Body::Terminate(Default::default()));
    let came = scene.client.line.until_closed();
    assert_eq!(came.len(), 51, "{came:?}");
    assert!(matches!(came[50].body, Body::TerminateResp(_)) && came[50].sequence == last);
    for pdu in &came[..50] {
        assert!(
            matches!(&pdu.body, Body::SubmitResp(resp) if resp.result.0 == 0),
            "{pdu:?}"
        );
    }
    scene.smsc.assert_no_panic();
}

#[test]
fn of_two_ends_the_first_is_answered_behind_everything() {
    let mut scene = Scene::new(Cmpp::V30, "");
    let mut octets = BytesMut::new();
    let mut write = |sequence, body| {
        let pdu = Pdu { sequence, body };
        Cmpp::V30.encode(&pdu, &mut octets).unwrap();
    };
    for sequence in 1_000..1_050 {
        write(
            sequence,
            Body::Submit(Box::new(message(&[NUMBER], 0, b"hello"))),
        );
    }
    for sequence in 1_050..1_150 {
        write(sequence, Body::Query(Default::default()));
    }
    for sequence in [1_150, 1_151] {
        write(sequence, Body::Terminate(Default::default()));
    }
    scene.client.line.send_octets(&octets);
    let came = scene.client.line.until_closed();
    let mut sequences: Vec<u32> = came.iter().map(|pdu| pdu.sequence).collect();
    assert_eq!(sequences.last(), Some(&1_150), "{came:?}");
    sequences.sort_unstable();
    assert_eq!(sequences, (1_000..=1_150).collect::<Vec<u32>>());
}

/// What has expired takes no room from what comes later, and its answer is taken as long as it may still come.
#[test]
fn a_client_that_pauses_its_answers_gets_what_comes_later() {
    let mut scene = Scene::of(
        Smsc::new().smpp("response_timeout = \"2s\""),
        Cmpp::V30,
        "window = 5000",
    );
    let first = scene.client.submit(message(&[NUMBER], 0, b"first"));
    taken(&mut scene.bind, "first");
    scene.report("first", "stat:DELIVRD err:000");
    let (sequence, report) = scene.client.take();
    let (again, same) = scene.client.take();
    assert_eq!(report, same);
    assert_ne!(sequence, again);
    // Both are answered, the first one late: nothing comes a third time.
    scene.client.answer(sequence, report.msg_id, 0);
    scene.client.answer(again, report.msg_id, 0);
    let second = scene.client.submit(message(&[NUMBER], 0, b"second"));
    taken(&mut scene.bind, "second");
    scene.report("second", "stat:DELIVRD err:000");
    let (sequence, report) = scene.client.take();
    assert_eq!(scene.client.report_in(&report).msg_id, second);
    scene.client.answer(sequence, report.msg_id, 0);
    assert_ne!(first, second);
}

#[test]
fn a_node_that_stops_ends_the_session() {
    let mut scene = Scene::new(Cmpp::V30, "");
    scene.client.submit(message(&[NUMBER], 0, b"hello"));
    let Scene {
        mut smsc,
        mut client,
        mut bind,
        ..
    } = scene;
    taken(&mut bind, "one");
    let stopping = std::thread::spawn(move || {
        smsc.terminate();
        smsc
    });
    let fits = |body: &Body| matches!(body, Body::Terminate(_));
    let pdu = client.line.expect("a CMPP_TERMINATE", fits);
    client
        .line
        .send(pdu.sequence, Body::TerminateResp(Default::default()));
    assert_eq!(client.line.until_closed(), []);
    // The operator does not answer the unbind.
    drop(bind);
    stopping.join().unwrap().assert_no_panic();
}

#[test]
fn a_silent_client_is_tested_and_then_disconnected() {
    let address = free_listener();
    let smsc = with_client(Smsc::new(), address, "")
        .smpp("enquire_link_interval = \"1s\"\nenquire_link_timeout = \"5s\"")
        .route("", "test:delivered")
        .start();
    // One that answers, as the harness does, stays.
    let mut living = CarrierClient::log_in(address, Cmpp::V20);
    let mut dead = Line::over(TcpStream::connect(address).unwrap(), Cmpp::V20);
    dead.send(1, Cmpp::V20.connect(SOURCE, SECRET.as_bytes(), 1));
    let watch = std::thread::spawn(move || dead.until_closed());
    while !watch.is_finished() {
        assert!(living.line.is_quiet(Duration::from_millis(100)));
    }
    let came = watch.join().unwrap();
    assert!(matches!(came[0].body, Body::ConnectResp(_)));
    assert!(matches!(came[1].body, Body::ActiveTest(_)), "{came:?}");
    // Its own tests are answered.
    let sequence = living.request(Body::ActiveTest(Default::default()));
    let resp = living
        .line
        .expect_of("the response", |pdu| pdu.sequence == sequence);
    assert!(matches!(resp.body, Body::ActiveTestResp(_)));
    living.submit(message(&[NUMBER], 0, b"alive"));
    smsc.assert_no_panic();
}

#[test]
fn a_message_on_which_a_client_falls_silent_is_given_up_and_the_others_arrive() {
    // A client that answers must not be taken for silent on a busy machine.
    let impatient =
        "response_timeout = \"1s\"\nenquire_link_interval = \"1s\"\nenquire_link_timeout = \"5s\"";
    let keys = "suspect_pause = \"300ms\"";
    let mut scene = Scene::of(Smsc::new().smpp(impatient), Cmpp::V20, keys);
    for text in AROUND_POISON {
        scene.send_from_handset(submit(SHORT_CODE, text));
    }
    let picky = PickyCarrier {
        line: scene.client.line,
        falls_silent: true,
    };
    let connect = || CarrierClient::log_in(scene.address, Cmpp::V20).line;
    let text_of = |body: &Body| match body {
        Body::Deliver(message) => Some(message.msg_content.0.clone()),
        _ => None,
    };
    let answer = |line: &mut Line<Cmpp>, pdu: PduOf<Cmpp>| {
        line.send(pdu.sequence, Body::DeliverResp(MessageResp::default()));
    };
    picky.gets_all_but_poison(&scene.smsc, connect, text_of, answer);
}

#[test]
fn what_cannot_be_read_is_answered_and_the_session_goes_on() {
    let mut scene = Scene::new(Cmpp::V20, "");
    // A content of 3.0 in 2.0: the number of recipients is somewhere else.
    let mut octets = bytes::BytesMut::new();
    let pdu = smsc::cmpp::Pdu {
        sequence: 77,
        body: Body::Submit(Box::new(message(&[NUMBER], 0, b"x"))),
    };
    smsc::carrier::Protocol::encode(&Cmpp::V30, &pdu, &mut octets).unwrap();
    scene.client.line.send_octets(&octets);
    let (result, msg_id) = scene.client.answer_to(77);
    assert_ne!(result, 0);
    assert_eq!(msg_id, 0);
    // A command that is not in the standard, and one that a client does not send.
    let command = 0x0000_0099;
    let octets = Bytes::from_static(b"?");
    scene.client.request(Body::Unknown { command, octets });
    scene.client.submit(message(&[NUMBER], 0, b"goes on"));
    scene.smsc.assert_no_panic();
}

#[test]
fn killed_in_the_middle_it_loses_nothing() {
    let mut scene = Scene::new(Cmpp::V20, "window = 16");
    let mut acknowledged = BTreeMap::new();
    for number in 0..40 {
        let text = format!("number {number}");
        let submit: Submit = message(&[NUMBER], 0, text.as_bytes());
        let msg_id = scene.client.submit(submit);
        acknowledged.insert(msg_id, text);
    }
    // Some have been sent, some of these reported, and no report was taken.
    let mut sent = BTreeMap::new();
    for number in 0..10 {
        let message = taken(&mut scene.bind, &format!("id{number}"));
        sent.insert(message.short_message, format!("id{number}"));
    }
    for number in 0..5 {
        scene.report(&format!("id{number}"), "stat:DELIVRD err:000");
    }
    scene.client.take();
    scene.smsc.kill();
    scene.smsc.start_again();
    scene.bind = scene.operator.accept_bind();
    scene.client = CarrierClient::log_in(scene.address, Cmpp::V20);
    for number in 5..10 {
        scene.report(&format!("id{number}"), "stat:DELIVRD err:000");
    }
    // All that were not sent go out, and those whose answer was not stored yet go out again.
    let mut reported = BTreeSet::new();
    let (mut next, shortly) = (100, Duration::from_millis(50));
    let is_report = |pdu: &smsc::cmpp::Pdu| matches!(pdu.body, Body::Deliver(_));
    until("a report of each message", || {
        while let Some(pdu) = scene.client.line.try_expect(shortly, is_report) {
            let Body::Deliver(deliver) = &pdu.body else {
                unreachable!("it was looked at");
            };
            scene.client.answer(pdu.sequence, deliver.msg_id, 0);
            let report = scene.client.report_in(deliver);
            assert!(acknowledged.contains_key(&report.msg_id), "{report:?}");
            reported.insert(report.msg_id);
        }
        while let Ok(pdu) = scene.bind.next(shortly) {
            let smsc::smpp::Body::SubmitSm(message) = pdu.body else {
                continue;
            };
            next += 1;
            let theirs = format!("id{next}");
            crate::harness::accept(&mut scene.bind, pdu.sequence, &theirs);
            scene.report(&theirs, "stat:DELIVRD err:000");
            sent.insert(message.short_message, theirs);
        }
        (reported.len() == 40).then_some(())
    });
    let texts: BTreeSet<Bytes> = acknowledged
        .values()
        .map(|text| Bytes::from(text.clone()))
        .collect();
    assert_eq!(sent.into_keys().collect::<BTreeSet<_>>(), texts);
    scene.smsc.assert_no_panic();
}

#[test]
fn an_account_speaks_both_protocols_at_once() {
    let mut scene = Scene::new(Cmpp::V20, "message_id = \"hex\"\ninterface_version = 0x33");
    let mut esme = Peer::bind(scene.smsc.smpp(), SOURCE, "not for CMPP");
    let of_esme = esme.submit(submit(NUMBER, "by SMPP"));
    assert_eq!(of_esme.len(), 8, "an id of SMPP 3.3");
    let msg_id = scene.client.submit(message(&[NUMBER], 0, b"by CMPP"));
    let ids = ["one", "two"].map(|theirs| {
        let message = taken(&mut scene.bind, theirs);
        (message.short_message, theirs)
    });
    // Reports go to whoever takes them; the client knows its own by their Msg_Id.
    esme.unbind();
    let theirs = ids.iter().find(|(text, _)| text == "by CMPP").unwrap().1;
    scene.report(theirs, "stat:DELIVRD err:000");
    assert_eq!(scene.client.report().msg_id, msg_id);
}

#[test]
fn what_a_client_sends_twice_is_answered_and_taken_once() {
    const REPEATED: u32 = 3;
    for version in [Cmpp::V20, Cmpp::V30] {
        let mut scene = Scene::new(version, "blocked_destinations = [\"86138001389*\"]");
        let submits = |text: &str| Body::Submit(Box::new(message(&[NUMBER], 0, text.as_bytes())));
        let sequence = scene.client.request(submits("one"));
        let (result, id) = scene.client.answer_to(sequence);
        assert_eq!(result, 0);
        scene.client.line.send(sequence, submits("one"));
        assert_eq!(scene.client.answer_to(sequence), (0, id));
        scene.client.line.send(sequence, submits("another"));
        assert_eq!(scene.client.answer_to(sequence), (REPEATED, 0));
        // What was refused may be sent again as it was.
        let nobody = Body::Submit(Box::new(message(&["8613800138999"], 0, b"no")));
        let refused = scene.client.request(nobody.clone());
        let (result, _) = scene.client.answer_to(refused);
        assert_ne!(result, 0);
        scene.client.line.send(refused, nobody);
        assert_eq!(scene.client.answer_to(refused), (result, 0));
        let last = scene.client.request(submits("last"));
        assert_eq!(scene.client.answer_to(last).0, 0);
        let came = ["a", "b"].map(|id| taken(&mut scene.bind, id).short_message);
        assert_eq!(
            came.map(|text| text.to_vec()),
            [b"one".to_vec(), b"last".to_vec()]
        );
    }
}

/// A CMPP_SUBMIT to so many numbers, also to as many as our own types refuse.
fn submit_to(version: Cmpp, sequence: u32, recipients: u8) -> Vec<u8> {
    let pdu = Pdu {
        sequence,
        body: Body::Submit(Box::new(message(&[NUMBER], 0, b"to whom?"))),
    };
    let mut encoded = BytesMut::new();
    version.encode(&pdu, &mut encoded).unwrap();
    let number = NUMBER.as_bytes();
    let at = encoded
        .windows(number.len())
        .position(|some| some == number);
    let (head, rest) = encoded.split_at(at.unwrap());
    let (field, tail) = rest.split_at(if version == Cmpp::V30 { 32 } else { 21 });
    // DestUsr_tl stands in front of them.
    let (count, head) = head.split_last().unwrap();
    assert_eq!(*count, 1);
    let mut fields = field.repeat(recipients.into());
    for (n, field) in fields.chunks_mut(field.len()).enumerate() {
        field[number.len() - 3..number.len()].copy_from_slice(format!("{n:03}").as_bytes());
    }
    let mut octets = [head, &[recipients], &fields, tail].concat();
    let length = (octets.len() as u32).to_be_bytes();
    octets[..4].copy_from_slice(&length);
    octets
}

#[test]
fn a_submit_has_one_to_a_hundred_recipients() {
    const WRONG_STRUCTURE: u32 = 1;
    const WRONG_DESTINATION: u32 = 13;
    for version in [Cmpp::V20, Cmpp::V30] {
        let mut scene = Scene::new(version, "");
        let said = [(0, WRONG_DESTINATION), (101, WRONG_STRUCTURE), (100, 0)];
        for (sequence, (recipients, result)) in (7_000_000..).zip(said) {
            let octets = submit_to(version, sequence, recipients);
            scene.client.line.send_octets(&octets);
            let answer = scene.client.answer_to(sequence).0;
            assert_eq!(answer, result, "{recipients} recipients");
        }
        for n in 0..100 {
            taken(&mut scene.bind, &n.to_string());
        }
    }
}
