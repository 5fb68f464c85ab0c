//! An operator over CMPP: messages, results, reports and messages of handsets, and what happens when a connection or
//! the process ends in the middle.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use smsc::cmpp::bodies::{Deliver, Submit};
use smsc::cmpp::{Body, Cmpp};
use smsc::smpp::tag;
use smsc::smpp::time::parse_time;

use crate::harness::gateway::{
    FINDS_SOON, FakeGateway, Line, PduOf, PickyCarrier, SECRET, SOURCE, gets_all_although_killed,
    submit_around_poison,
};
use crate::harness::{
    Peer, Proxy, Smsc, dissected, stat_of, submit, submit_ucs2, ucs2, until, within,
};

const NUMBER: &str = "13800138000";

/// A gateway, an SMSC that is logged in there, and an ESME.
struct Scene {
    gateway: FakeGateway<Cmpp>,
    smsc: Smsc,
    line: Line<Cmpp>,
    esme: Peer,
}

/// The keys of the operator in this version, and more of them.
fn keys(version: Cmpp, more: &str) -> String {
    let version = match version {
        Cmpp::V20 => "2.0",
        Cmpp::V30 => "3.0",
    };
    let own = |key: &str, line: &str| {
        if more.contains(key) {
            String::new()
        } else {
            format!("{line}\n")
        }
    };
    format!(
        "protocol = \"cmpp\"\nsystem_id = {SOURCE:?}\npassword = {SECRET:?}\n{}{more}{}",
        own("window", "window = 16"),
        own(
            "carrier",
            &format!("carrier = {{ version = {version:?}, service_id = \"SVC\" }}")
        ),
    )
}

impl Scene {
    fn new(version: Cmpp, more: &str) -> Self {
        let gateway = FakeGateway::listen(version);
        let smsc = Smsc::new()
            .account_with("test", "test", "addresses = [\"10655\"]")
            .route("", "up")
            .operator_with("up", gateway.address(), &keys(version, more))
            .start();
        let line = gateway.accept(0);
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
fn a_message_and_its_report_in_both_versions() {
    for version in [Cmpp::V20, Cmpp::V30] {
        let mut scene = Scene::new(version, "");
        let id = scene.esme.submit(submit(NUMBER, "hello"));
        let taken = scene.line.take(u64::MAX - 7);
        assert_eq!((taken.msg_fmt, text(&taken)), (0, &b"hello"[..]));
        assert_eq!(taken.dest_terminal_id.0, [NUMBER]);
        assert_eq!(taken.src_id.0, "12345");
        assert_eq!((taken.pk_total, taken.pk_number, taken.tp_udhi), (1, 1, 0));
        assert_eq!(taken.registered_delivery, 1);
        assert_eq!((taken.fee_user_type, &taken.fee_code.0[..]), (2, &b"0"[..]));
        assert_eq!(
            (&taken.service_id.0[..], &taken.fee_type.0[..]),
            (&b"SVC"[..], &b"01"[..])
        );
        assert_eq!(taken.msg_src.0, SOURCE);
        scene.line.report(u64::MAX - 7, "DELIVRD");
        assert_eq!(scene.line.delivered(), (0, u64::MAX - 6));
        assert_eq!(scene.smsc.final_state(&id), "DELIVERED");
        assert_eq!(stat_of(&scene.esme.deliver()), (id, 2));
        scene.smsc.assert_no_panic();
    }
}

#[test]
fn a_relative_validity_is_told_as_the_time_when_it_ends() {
    let mut scene = Scene::new(Cmpp::V30, "");
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
fn a_refused_login_is_shown_and_tried_no_more() {
    let gateway = FakeGateway::listen(Cmpp::V20);
    let more = keys(Cmpp::V20, "").replace(SECRET, "wrong");
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", gateway.address(), &more)
        .start();
    gateway.accept(0);
    let admin = smsc.admin();
    let shown = || admin.get("/v1/operators/up");
    let paused = until("the refusal", || {
        let shown = shown();
        (shown["state"] == "paused").then_some(shown)
    });
    let last_error = paused["last_error"].as_str().unwrap();
    assert!(last_error.contains("ESME_RINVPASWD"), "{paused}");
    assert!(paused["binds"][0]["next_reconnect_at"].is_null());
    let knocked = within(Duration::from_secs(2), || {
        (shown()["binds"][0] != paused["binds"][0]).then_some(())
    });
    assert!(knocked.is_none(), "still paused: {}", shown());
    smsc.assert_no_panic();
}

#[test]
fn texts_in_ucs2_and_gbk_and_long_ones() {
    let mut scene = Scene::new(Cmpp::V20, "");
    scene.esme.submit(submit_ucs2(NUMBER, "你好"));
    let taken = scene.line.take(1);
    assert_eq!((taken.msg_fmt, text(&taken)), (8, &ucs2("你好")[..]));
    // What ASCII lacks goes as UCS-2.
    scene.esme.submit(submit(NUMBER, "\x05"));
    let taken = scene.line.take(2);
    assert_eq!((taken.msg_fmt, text(&taken)), (8, &ucs2("é")[..]));
    let long = "0123456789".repeat(30);
    let mut message = submit(NUMBER, "");
    message.tlvs.push(tag::MESSAGE_PAYLOAD, long.as_bytes());
    let id = scene.esme.submit(message);
    let mut whole = Vec::new();
    for part in 1..=2 {
        let taken = scene.line.take(10 + u64::from(part));
        assert_eq!(
            (taken.pk_total, taken.pk_number, taken.tp_udhi),
            (2, part, 1)
        );
        assert_eq!(taken.msg_content.0[4..6], [2, part]);
        whole.extend_from_slice(&taken.msg_content.0[6..]);
    }
    assert_eq!(whole, long.as_bytes());
    scene.line.report(11, "DELIVRD");
    scene.line.report(12, "DELIVRD");
    assert_eq!(scene.smsc.final_state(&id), "DELIVERED");

    let more = "carrier = { gbk = true }";
    let mut scene = Scene::new(Cmpp::V20, more);
    scene.esme.submit(submit_ucs2(NUMBER, "你好"));
    let taken = scene.line.take(1);
    assert_eq!(
        (taken.msg_fmt, text(&taken)),
        (15, &[0xC4, 0xE3, 0xBA, 0xC3][..])
    );
    scene.smsc.assert_no_panic();
}

#[test]
fn results_are_retried_or_final_as_statuses_are() {
    let mut scene = Scene::new(Cmpp::V30, "");
    let throttled = scene.esme.submit(submit(NUMBER, "over the limit"));
    let (sequence, _) = scene.line.submit();
    scene.line.answer(sequence, 0, 8);
    scene.line.take(1);
    scene.line.report(1, "DELIVRD");
    assert_eq!(scene.smsc.final_state(&throttled), "DELIVERED");

    let refused = scene.esme.submit(submit(NUMBER, "to nobody"));
    let (sequence, _) = scene.line.submit();
    scene.line.answer(sequence, 0, 13);
    assert_eq!(scene.smsc.final_state(&refused), "REJECTED");
    let failed = scene.esme.submit(submit(NUMBER, "to a phone that is off"));
    scene.line.take(2);
    scene.line.report(2, "MB:0069");
    assert_eq!(scene.smsc.final_state(&failed), "UNDELIVERABLE");
}

#[test]
fn a_report_before_the_response_finds_its_message() {
    let mut scene = Scene::new(Cmpp::V20, "");
    let id = scene.esme.submit(submit(NUMBER, "fast"));
    let (sequence, _) = scene.line.submit();
    scene.line.report(77, "DELIVRD");
    scene.line.answer(sequence, 77, 0);
    assert_eq!(scene.line.delivered().0, 0);
    assert_eq!(scene.smsc.final_state(&id), "DELIVERED");
}

#[test]
fn a_window_of_16_is_kept_and_a_cut_loses_nothing() {
    let mut scene = Scene::new(Cmpp::V20, "");
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

    scene.line = scene.gateway.accept(0);
    let mut got = BTreeSet::new();
    // The first may or may not have been told before the cut.
    while got.len() < 19 {
        let taken = scene.line.take(100 + got.len() as u64);
        got.insert(String::from_utf8(taken.msg_content.0.to_vec()).unwrap());
    }
    assert!(got.is_subset(&texts));
    scene.smsc.assert_no_panic();
}

#[test]
fn killed_in_the_middle_it_loses_nothing() {
    let mut scene = Scene::new(Cmpp::V20, "");
    let unanswered = scene.esme.submit(submit(NUMBER, "unanswered"));
    scene.line.submit();
    let sent = scene.esme.submit(submit(NUMBER, "sent"));
    scene.line.take(5);
    scene.smsc.wait_until_sent(&sent);
    scene.smsc.kill();
    scene.smsc.start_again();
    let mut line = scene.gateway.accept(0);
    line.report(5, "DELIVRD");
    assert_eq!(line.delivered().0, 0);
    assert_eq!(scene.smsc.final_state(&sent), "DELIVERED");
    assert_eq!(line.take(6).msg_content.0, "unanswered");
    line.report(6, "EXPIRED");
    assert_eq!(scene.smsc.final_state(&unanswered), "EXPIRED");
}

#[test]
fn messages_of_handsets_are_answered_when_they_are_kept() {
    let mut scene = Scene::new(Cmpp::V20, "");
    for (format, octets, data_coding, expected) in [
        (0, &b"hi"[..], 0, Bytes::from_static(b"hi")),
        (8, &[0x4F, 0x60], 8, ucs2("你")),
        (15, &[0xC4, 0xE3, 0xBA, 0xC3], 8, ucs2("你好")),
    ] {
        let content = Bytes::copy_from_slice(octets);
        scene.line.deliver(Deliver {
            msg_id: 42,
            dest_id: "10655".into(),
            msg_fmt: format,
            src_terminal_id: NUMBER.into(),
            msg_content: smsc::carrier::fields::Content(content),
            ..Deliver::default()
        });
        assert_eq!(scene.line.delivered(), (0, 42));
        let got = scene.esme.deliver();
        assert_eq!(
            (got.data_coding, got.short_message),
            (data_coding, expected)
        );
        assert_eq!(got.source_addr, NUMBER);
    }
    // Nobody has this address.
    scene.line.deliver(Deliver {
        dest_id: "99999".into(),
        src_terminal_id: NUMBER.into(),
        msg_content: "hi".into(),
        ..Deliver::default()
    });
    assert_ne!(scene.line.delivered().0, 0);
}

#[test]
fn tshark_finds_nothing_malformed() {
    for version in [Cmpp::V20, Cmpp::V30] {
        let gateway = FakeGateway::listen(version);
        let proxy = Proxy::to(gateway.address());
        let smsc = Smsc::new()
            .account("test", "test")
            .route("", "up")
            .operator_with("up", proxy.address(), &keys(version, ""))
            .start();
        let mut line = gateway.accept(0);
        let mut esme = Peer::bind(smsc.smpp(), "test", "test");
        for (msg_id, message) in (1..).zip([
            submit(NUMBER, "read by tshark"),
            submit_ucs2(NUMBER, "你好"),
        ]) {
            let id = esme.submit(message);
            line.take(msg_id);
            line.report(msg_id, "DELIVRD");
            smsc.wait_for_final(&id);
        }
        let read = |arguments: &[&str]| dissected(&proxy, "cmpp", arguments);
        // Its dissector has only the widths of fields in 3.0; of 2.0 it knows the headers.
        if version == Cmpp::V30 {
            let complaints = "_ws.malformed || _ws.expert.severity >= warning";
            assert_eq!(read(&["-Y", complaints]), "");
        }
        let commands = read(&["-T", "fields", "-e", "cmpp.Command_Id"]);
        for command in ["0x00000001", "0x00000004", "0x80000004", "0x00000005"] {
            assert!(commands.contains(command), "{command} in {commands}");
        }
    }
}

#[test]
fn the_simulated_gateway_gets_all_and_loses_no_report() {
    let keys = keys(Cmpp::V30, "");
    gets_all_although_killed("--protocol cmpp", Smsc::new(), &keys, NUMBER);
}

#[test]
fn a_message_on_which_a_gateway_falls_silent_is_given_up_and_the_others_go_on() {
    let mut scene = Scene::new(Cmpp::V20, FINDS_SOON);
    submit_around_poison(&mut scene.esme, NUMBER, "13800138001");
    let picky = PickyCarrier {
        line: scene.line,
        falls_silent: true,
    };
    let text_of = |body: &Body| match body {
        Body::Submit(message) => Some(message.msg_content.0.clone()),
        _ => None,
    };
    let answer = |line: &mut Line<Cmpp>, pdu: PduOf<Cmpp>| {
        line.answer(pdu.sequence, u64::from(pdu.sequence), 0)
    };
    picky.gets_all_but_poison(&scene.smsc, || scene.gateway.accept(0), text_of, answer);
}

/// What was never sent is refused on this side, which is no answer of the gateway: nothing tells a message apart from it.
#[test]
fn a_gateway_that_ends_every_connection_makes_no_dead_letters() {
    let keys = "carrier = { version = \"2.0\", service_id = \"SVC\", requests = 2 }\n\
        reconnect = [\"200ms\"]\nretry = { delays = [\"200ms\"] }\n\
        window = 100\nsuspect_attempts = 1\nsuspect_pause = \"300ms\"\n";
    let Scene {
        gateway,
        smsc,
        mut line,
        mut esme,
    } = Scene::new(Cmpp::V20, keys);
    let texts: BTreeSet<String> = (0..200).map(|number| format!("good {number}")).collect();
    for (number, text) in texts.iter().enumerate() {
        esme.submit(submit(&format!("13800138{number:03}"), text));
    }
    for _ in 0..40 {
        line.submit();
        line.cut();
        line = gateway.accept(0);
    }
    let list = smsc.admin().get("/v1/dead-letters");
    assert_eq!(list["messages"].as_array().unwrap().len(), 0, "{list}");
    // It works again.
    let mut came = BTreeSet::new();
    while came != texts {
        let (sequence, message) = line.submit();
        line.answer(sequence, u64::from(sequence), 0);
        came.insert(String::from_utf8(text(&message).to_vec()).unwrap());
    }
    smsc.assert_no_panic();
}
