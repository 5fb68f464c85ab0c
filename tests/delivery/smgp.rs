//! An operator over SMGP: messages, results, reports and messages of handsets, and what happens when a connection or the
//! process ends in the middle.

use std::collections::BTreeSet;

use bytes::Bytes;
use smsc::smgp::bodies::{
    CHARGE_USER_TYPE, Deliver, MSG_SRC, Options, PK_NUMBER, PK_TOTAL, Submit, TP_PID, TP_UDHI,
};
use smsc::smgp::{Body, Smgp};
use smsc::smpp::time::parse_time;
use smsc::smpp::{SubmitSm, tag};

use crate::harness::gateway::smgp::msg_id;
use crate::harness::gateway::{
    FINDS_SOON, FakeGateway, Line, PduOf, PickyCarrier, SECRET, SOURCE, gets_all_although_killed,
    submit_around_poison,
};
use crate::harness::{Peer, Smsc, stat_of, submit, submit_ucs2, ucs2, until};

const NUMBER: &str = "13300000001";
/// LoginMode of both directions.
const BOTH: u8 = 2;

/// A gateway, an SMSC that is logged in there, and an ESME.
struct Scene {
    gateway: FakeGateway<Smgp>,
    smsc: Smsc,
    line: Line<Smgp>,
    esme: Peer,
}

fn keys(more: &str) -> String {
    format!(
        "protocol = \"smgp\"\nsystem_id = {SOURCE:?}\npassword = {SECRET:?}\nwindow = 16\n{more}"
    )
}

impl Scene {
    fn new(more: &str) -> Self {
        let gateway = FakeGateway::listen(Smgp);
        let smsc = Smsc::new()
            .account_with("test", "test", "addresses = [\"10655\"]")
            .route("", "up")
            .operator_with("up", gateway.address(), &keys(more))
            .start();
        let line = gateway.accept(BOTH);
        smsc.wait_for_binds("up", 1);
        let esme = Peer::bind(smsc.smpp(), "test", "test");
        Self {
            gateway,
            smsc,
            line,
            esme,
        }
    }
}

fn text(message: &Submit) -> &[u8] {
    &message.msg_content.0
}

#[test]
fn a_message_and_its_report() {
    let mut scene = Scene::new("carrier = { service_id = \"SVC\" }");
    let id = scene.esme.submit(submit(NUMBER, "hello"));
    let taken = scene.line.take(1);
    assert_eq!((taken.msg_format, text(&taken)), (0, &b"hello"[..]));
    assert_eq!((taken.msg_type, taken.need_report), (6, 1));
    assert_eq!(taken.dest_term_id.0, [NUMBER]);
    assert_eq!(taken.src_term_id.0, "12345");
    assert_eq!(taken.service_id.0, "SVC");
    assert_eq!(
        (&taken.fee_type.0[..], &taken.fee_code.0[..]),
        (&b"00"[..], &b"0"[..])
    );
    assert_eq!(taken.options, Options::default());
    scene.line.report(1, "DELIVRD", "000");
    assert_eq!(scene.line.delivered(), (0, msg_id(101)));
    assert_eq!(scene.smsc.final_state(&id), "DELIVERED");
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), 2));
    let message = scene.smsc.admin().get(&format!("/v1/messages/{id}"));
    let theirs: String = msg_id(1)
        .iter()
        .map(|octet| format!("{octet:02X}"))
        .collect();
    assert!(message.to_string().contains(&theirs), "{message}");
    scene.smsc.assert_no_panic();
}

#[test]
fn a_relative_validity_is_told_as_the_time_when_it_ends() {
    let mut scene = Scene::new("");
    let mut message = submit(NUMBER, "hello");
    message.schedule_delivery_time = "000000000002000R".into();
    message.validity_period = "000000000040000R".into();
    let id = scene.esme.submit(message);
    let taken = scene.line.take(1);
    let told = parse_time(&taken.valid_time.0, 0).unwrap().unwrap();
    assert_eq!(told, scene.smsc.expires_at(&id) / 1_000 * 1_000);
    assert_eq!(taken.at_time.0, "", "it was our time to wait");
}

#[test]
fn fees_and_the_source_are_told_as_configured() {
    let mut scene = Scene::new(
        "carrier = { fee_type = \"01\", fee_code = \"10\", fixed_fee = \"500\", fee_payer = 3, fee_number = \"13311112222\", msg_src = \"SRC\" }",
    );
    let message = SubmitSm {
        priority_flag: 3,
        protocol_id: 0x7F,
        ..submit(NUMBER, "a card")
    };
    scene.esme.submit(message);
    let taken = scene.line.take(1);
    assert_eq!(taken.fee_type.0, "01");
    assert_eq!(
        (taken.fee_code.0, taken.fixed_fee.0),
        ("10".into(), "500".into())
    );
    assert_eq!(taken.charge_term_id.0, "13311112222");
    assert_eq!(taken.priority, 3);
    assert_eq!(taken.options.octet(TP_PID), 0x7F);
    assert_eq!(taken.options.octet(CHARGE_USER_TYPE), 3);
    assert_eq!(taken.options.get(MSG_SRC).unwrap()[..], *b"SRC\0\0\0\0\0");
}

#[test]
fn a_refused_login_is_shown_and_tried_no_more() {
    let gateway = FakeGateway::listen(Smgp);
    let more = keys("").replace(SECRET, "wrong");
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", gateway.address(), &more)
        .start();
    gateway.accept(BOTH);
    let admin = smsc.admin();
    let paused = until("the refusal", || {
        let shown = admin.get("/v1/operators/up");
        (shown["state"] == "paused").then_some(shown)
    });
    let last_error = paused["last_error"].as_str().unwrap();
    assert!(last_error.contains("ESME_RINVPASWD"), "{paused}");
    smsc.assert_no_panic();
}

#[test]
fn a_pair_of_connections_has_a_direction_each() {
    let gateway = FakeGateway::listen(Smgp);
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "up")
        .operator_with(
            "up",
            gateway.address(),
            &keys("bind = \"transmitter+receiver\""),
        )
        .start();
    let mut pair = [gateway.accept_any(), gateway.accept_any()];
    pair.sort_by_key(|(mode, _)| *mode);
    let [(0, mut sends), (1, mut receives)] = pair else {
        panic!("not one of each");
    };
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(NUMBER, "one way"));
    assert_eq!(sends.take(7).msg_content.0, "one way");
    receives.report(7, "DELIVRD", "000");
    assert_eq!(receives.delivered().0, 0);
    assert_eq!(smsc.wait_for_final(&id)["state"], "DELIVERED");
}

#[test]
fn texts_in_ucs2_and_gbk_and_long_ones() {
    let mut scene = Scene::new("carrier = { gbk = true }");
    for (number, message, format, octets) in [
        (
            1,
            submit_ucs2(NUMBER, "你好"),
            15,
            &[0xC4, 0xE3, 0xBA, 0xC3][..],
        ),
        (2, submit_ucs2(NUMBER, "😀"), 8, &[0xD8, 0x3D, 0xDE, 0x00]),
        // What ASCII lacks goes as UCS-2, which becomes GBK where that has it.
        (3, submit(NUMBER, "\x05"), 15, &[0xA8, 0xA6]),
    ] {
        scene.esme.submit(message);
        let taken = scene.line.take(number);
        assert_eq!((taken.msg_format, text(&taken)), (format, octets));
    }
    let long = "0123456789".repeat(30);
    let mut message = submit(NUMBER, "");
    message.tlvs.push(tag::MESSAGE_PAYLOAD, long.as_bytes());
    let id = scene.esme.submit(message);
    let mut whole = Vec::new();
    for part in 1..=2 {
        let taken = scene.line.take(10 + part);
        let options = &taken.options;
        assert_eq!(
            (options.octet(PK_TOTAL), options.octet(PK_NUMBER)),
            (2, part)
        );
        assert!(options.has_header());
        assert_eq!(taken.msg_content.0[4..6], [2, part]);
        whole.extend_from_slice(&taken.msg_content.0[6..]);
    }
    assert_eq!(whole, long.as_bytes());
    scene.line.report(11, "DELIVRD", "000");
    scene.line.report(12, "DELIVRD", "000");
    assert_eq!(scene.smsc.final_state(&id), "DELIVERED");
    scene.smsc.assert_no_panic();
}

#[test]
fn results_are_retried_or_final_as_statuses_are() {
    let mut scene = Scene::new("");
    let throttled = scene.esme.submit(submit(NUMBER, "over the limit"));
    let (sequence, _) = scene.line.submit();
    scene.line.answer(sequence, 0, 1);
    scene.line.take(1);
    scene.line.report(1, "DELIVRD", "000");
    assert_eq!(scene.smsc.final_state(&throttled), "DELIVERED");

    let refused = scene.esme.submit(submit(NUMBER, "to nobody"));
    let (sequence, _) = scene.line.submit();
    scene.line.answer(sequence, 0, 47);
    assert_eq!(scene.smsc.final_state(&refused), "REJECTED");
    let failed = scene.esme.submit(submit(NUMBER, "to a phone that is off"));
    scene.line.take(2);
    scene.line.report(2, "UNDELIV", "069");
    assert_eq!(scene.smsc.final_state(&failed), "UNDELIVERABLE");
}

#[test]
fn a_report_before_the_response_finds_its_message() {
    let mut scene = Scene::new("");
    let id = scene.esme.submit(submit(NUMBER, "fast"));
    let (sequence, _) = scene.line.submit();
    scene.line.report(77, "DELIVRD", "000");
    scene.line.answer(sequence, 77, 0);
    assert_eq!(scene.line.delivered().0, 0);
    assert_eq!(scene.smsc.final_state(&id), "DELIVERED");
}

#[test]
fn a_window_of_16_is_kept_and_a_cut_loses_nothing() {
    let mut scene = Scene::new("");
    let mut texts = BTreeSet::new();
    for number in 0..20 {
        let text = format!("number {number}");
        scene.esme.submit(submit(NUMBER, &text));
        texts.insert(text);
    }
    let first: Vec<u32> = (0..16).map(|_| scene.line.submit().0).collect();
    // A test of the connection is answered, and nothing beyond the window comes before it.
    scene.line.send(99, Body::ActiveTest(Default::default()));
    let next = scene.line.expect("anything", |_| true);
    assert!(matches!(next.body, Body::ActiveTestResp(_)), "{next:?}");
    scene.line.answer(first[0], 1, 0);
    scene.line.submit();
    scene.line.cut();

    scene.line = scene.gateway.accept(BOTH);
    let mut got = BTreeSet::new();
    // The first may or may not have been told before the cut.
    while got.len() < 19 {
        let taken = scene.line.take(100 + got.len() as u8);
        got.insert(String::from_utf8(taken.msg_content.0.to_vec()).unwrap());
    }
    assert!(got.is_subset(&texts));
    scene.smsc.assert_no_panic();
}

#[test]
fn killed_in_the_middle_it_loses_nothing() {
    let mut scene = Scene::new("");
    let unanswered = scene.esme.submit(submit(NUMBER, "unanswered"));
    scene.line.submit();
    let sent = scene.esme.submit(submit(NUMBER, "sent"));
    scene.line.take(5);
    scene.smsc.wait_until_sent(&sent);
    scene.smsc.kill();
    scene.smsc.start_again();
    let mut line = scene.gateway.accept(BOTH);
    line.report(5, "DELIVRD", "000");
    assert_eq!(line.delivered().0, 0);
    assert_eq!(scene.smsc.final_state(&sent), "DELIVERED");
    assert_eq!(line.take(6).msg_content.0, "unanswered");
    line.report(6, "EXPIRED", "000");
    assert_eq!(scene.smsc.final_state(&unanswered), "EXPIRED");
}

#[test]
fn messages_of_handsets_are_answered_when_they_are_kept() {
    let mut scene = Scene::new("");
    let mut udhi = Options::default();
    udhi.push_octet(TP_UDHI, 1);
    for (format, octets, options, data_coding, expected) in [
        (
            0,
            &b"hi"[..],
            Options::default(),
            0,
            Bytes::from_static(b"hi"),
        ),
        (8, &[0x4F, 0x60], Options::default(), 8, ucs2("你")),
        (
            15,
            &[0xC4, 0xE3, 0xBA, 0xC3],
            Options::default(),
            8,
            ucs2("你好"),
        ),
        (
            4,
            &[2, 0x70, 0, 9],
            udhi,
            4,
            Bytes::from_static(&[2, 0x70, 0, 9]),
        ),
    ] {
        scene.line.ask(Body::Deliver(Box::new(Deliver {
            msg_id: smsc::carrier::fields::Raw(msg_id(42)),
            msg_format: format,
            src_term_id: NUMBER.into(),
            dest_term_id: "10655".into(),
            msg_content: smsc::carrier::fields::Content(Bytes::copy_from_slice(octets)),
            options,
            ..Deliver::default()
        })));
        assert_eq!(scene.line.delivered(), (0, msg_id(42)));
        let got = scene.esme.deliver();
        assert_eq!(
            (got.data_coding, got.short_message),
            (data_coding, expected)
        );
        assert_eq!(got.source_addr, NUMBER);
    }
    // Nobody has this address.
    scene.line.ask(Body::Deliver(Box::new(Deliver {
        src_term_id: NUMBER.into(),
        dest_term_id: "99999".into(),
        msg_content: "hi".into(),
        ..Deliver::default()
    })));
    assert_ne!(scene.line.delivered().0, 0);
}

#[test]
fn the_simulated_gateway_gets_all_and_loses_no_report() {
    gets_all_although_killed("--protocol smgp", Smsc::new(), &keys(""), NUMBER);
}

#[test]
fn a_message_on_which_a_gateway_falls_silent_is_given_up_and_the_others_go_on() {
    let mut scene = Scene::new(FINDS_SOON);
    submit_around_poison(&mut scene.esme, NUMBER, "13300000009");
    let picky = PickyCarrier {
        line: scene.line,
        falls_silent: true,
    };
    let text_of = |body: &Body| match body {
        Body::Submit(message) => Some(message.msg_content.0.clone()),
        _ => None,
    };
    let answer =
        |line: &mut Line<Smgp>, pdu: PduOf<Smgp>| line.answer(pdu.sequence, pdu.sequence as u8, 0);
    picky.gets_all_but_poison(&scene.smsc, || scene.gateway.accept(BOTH), text_of, answer);
}

#[test]
fn what_the_gateway_brings_twice_is_answered_and_taken_once() {
    const REPEATED: u32 = 12;
    let mut scene = Scene::new("");
    let brings = |text: &str| {
        Body::Deliver(Box::new(Deliver {
            msg_id: smsc::carrier::fields::Raw(msg_id(42)),
            src_term_id: NUMBER.into(),
            dest_term_id: "10655".into(),
            msg_content: text.into(),
            ..Deliver::default()
        }))
    };
    let sequence = scene.line.ask(brings("one"));
    assert_eq!(scene.line.delivered(), (0, msg_id(42)));
    scene.line.send(sequence, brings("one"));
    assert_eq!(scene.line.delivered(), (0, msg_id(42)));
    scene.line.send(sequence, brings("another"));
    assert_eq!(scene.line.delivered(), (REPEATED, msg_id(42)));
    scene.line.ask(brings("two"));
    let came = [(); 2].map(|()| scene.esme.deliver().short_message.to_vec());
    assert_eq!(came, [b"one".to_vec(), b"two".to_vec()]);
}
