//! An operator over SGIP: messages on our connections, reports and messages of handsets on those of the gateway, and what
//! happens when one of them or the process ends in the middle.

mod connections;
mod gateways;
mod nodes;
mod platform;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use bytes::Bytes;
use smsc::sgip::bodies::{Submit, UserRpt};
use smsc::sgip::{Body, Sequence, Sgip};
use smsc::smpp::time::parse_time;
use smsc::smpp::{SubmitSm, tag};

use crate::harness::gateway::sgip::{NODE, SGIP};
use crate::harness::gateway::{
    FakeGateway, Line, PduOf, PickyCarrier, SECRET, SOURCE, TRIES_AGAIN_SOON,
    gets_all_although_killed, submit_around_poison,
};
use crate::harness::{Peer, Smsc, SmscBuilder, free_port, stat_of, submit, ucs2, until};

const NUMBER: &str = "8613000000001";

/// A gateway with a connection in each direction, an SMSC, and an ESME.
struct Scene {
    gateway: FakeGateway<Sgip>,
    smsc: Smsc,
    /// On which we submit.
    line: Line<Sgip>,
    /// On which the gateway brings something.
    brings: Line<Sgip>,
    listens: SocketAddr,
    esme: Peer,
}

fn keys(carrier: &str, more: &str) -> String {
    let carrier = match carrier {
        "" => String::new(),
        some => format!("{some},"),
    };
    let window = if more.contains("window") {
        ""
    } else {
        "window = 32\n"
    };
    format!(
        "protocol = \"sgip\"\nsystem_id = {SOURCE:?}\npassword = {SECRET:?}\n{window}{more}\ncarrier = {{ {carrier} node = {NODE} }}"
    )
}

fn listening(address: SocketAddr) -> SmscBuilder {
    Smsc::new().toml(&format!("[sgip]\nlisten = [\"{address}\"]\n"))
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

impl Scene {
    fn new(carrier: &str) -> Self {
        Self::with(carrier, "")
    }

    fn with(carrier: &str, more: &str) -> Self {
        let gateway = FakeGateway::listen(SGIP);
        let listens = local(free_port());
        let smsc = listening(listens)
            .account_with("test", "test", "addresses = [\"10655\"]")
            .route("", "up")
            .operator_with("up", gateway.address(), &keys(carrier, more))
            .start();
        let line = gateway.accept();
        smsc.wait_for_binds("up", 1);
        let esme = Peer::bind(smsc.smpp(), "test", "test");
        Self {
            gateway,
            line,
            brings: Line::enter(listens),
            listens,
            smsc,
            esme,
        }
    }
}

fn text(message: &Submit) -> &[u8] {
    &message.message_content.0
}

#[test]
fn a_message_and_its_report() {
    let mut scene = Scene::new("corp_id = \"12345\", service_id = \"SVC\"");
    let message = SubmitSm {
        data_coding: 8,
        short_message: ucs2("你好"),
        priority_flag: 2,
        ..submit(NUMBER, "")
    };
    let id = scene.esme.submit(message);
    let (sequence, taken) = scene.line.take();
    assert_eq!(sequence.node, NODE);
    assert_eq!((taken.message_coding, text(&taken)), (8, &ucs2("你好")[..]));
    assert_eq!(taken.user_number.0, [NUMBER]);
    assert_eq!(
        (&taken.sp_number.0[..], &taken.corp_id.0[..]),
        (&b"12345"[..], &b"12345"[..])
    );
    assert_eq!(taken.charge_number.0, "000000000000000000000");
    assert_eq!(taken.service_type.0, "SVC");
    assert_eq!(
        (taken.fee_type, taken.report_flag, taken.priority),
        (1, 1, 6)
    );
    assert_eq!((taken.agent_flag, taken.morelateto_mt_flag), (0, 2));
    // The gateway leaves out the country, as some do.
    scene.brings.report(sequence, "13000000001", 0, 0);
    assert_eq!(scene.brings.taken(), 0);
    assert_eq!(scene.smsc.final_state(&id), "DELIVERED");
    assert_eq!(stat_of(&scene.esme.deliver()), (id, 2));
    scene.smsc.assert_no_panic();
}

#[test]
fn a_relative_validity_is_told_as_the_time_when_it_ends() {
    let mut scene = Scene::new("");
    let mut message = submit(NUMBER, "hello");
    message.schedule_delivery_time = "000000000002000R".into();
    message.validity_period = "000000000040000R".into();
    let id = scene.esme.submit(message);
    let taken = scene.line.take().1;
    let told = parse_time(&taken.expire_time.0, 0).unwrap().unwrap();
    assert_eq!(told, scene.smsc.expires_at(&id) / 1_000 * 1_000);
    assert_eq!(taken.schedule_time.0, "", "it was our time to wait");
}

#[test]
fn fees_are_told_as_configured() {
    let mut scene = Scene::new(
        "fee_type = \"2\", fee_code = \"10\", given_value = \"5\", agent_flag = 1, mt_flag = 3, fee_payer = 3, fee_number = \"8613011112222\"",
    );
    // Longer than `validity.max`.
    let message = SubmitSm {
        validity_period: "351125200000000+".into(),
        registered_delivery: 0,
        ..submit(NUMBER, "paid")
    };
    let id = scene.esme.submit(message);
    let (_, taken) = scene.line.take();
    assert_eq!(
        (taken.fee_type, taken.agent_flag, taken.morelateto_mt_flag),
        (2, 1, 3)
    );
    assert_eq!(
        (taken.fee_value.0, taken.given_value.0),
        ("10".into(), "5".into())
    );
    assert_eq!(taken.charge_number.0, "8613011112222");
    assert_eq!(taken.report_flag, 2);
    let told = parse_time(&taken.expire_time.0, 0).unwrap().unwrap();
    assert_eq!(told, scene.smsc.expires_at(&id) / 1_000 * 1_000);
    assert!(taken.expire_time.0.ends_with(b"032+"), "that of China");
}

#[test]
fn a_refused_login_is_shown_and_tried_no_more() {
    let gateway = FakeGateway::listen(SGIP);
    let more = keys("", "").replace(SECRET, "wrong");
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", gateway.address(), &more)
        .start();
    gateway.accept();
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
fn texts_in_gbk_and_long_ones() {
    let mut scene = Scene::new("gbk = true");
    scene.esme.submit(SubmitSm {
        data_coding: 8,
        short_message: ucs2("你好"),
        ..submit(NUMBER, "")
    });
    let (_, taken) = scene.line.take();
    assert_eq!(
        (taken.message_coding, text(&taken)),
        (15, &[0xC4, 0xE3, 0xBA, 0xC3][..])
    );
    let long = "0123456789".repeat(30);
    let mut message = submit(NUMBER, "");
    message.tlvs.push(tag::MESSAGE_PAYLOAD, long.as_bytes());
    let id = scene.esme.submit(message);
    let mut whole = Vec::new();
    for part in 1..=2 {
        let (sequence, taken) = scene.line.take();
        assert_eq!(
            (taken.tp_udhi, &taken.message_content.0[4..6]),
            (1, &[2, part][..])
        );
        whole.extend_from_slice(&taken.message_content.0[6..]);
        scene.brings.report(sequence, NUMBER, 0, 0);
        assert_eq!(scene.brings.taken(), 0);
    }
    assert_eq!(whole, long.as_bytes());
    assert_eq!(scene.smsc.final_state(&id), "DELIVERED");
    scene.smsc.assert_no_panic();
}

#[test]
fn results_are_retried_or_final_as_statuses_are() {
    let mut scene = Scene::new("");
    let throttled = scene.esme.submit(submit(NUMBER, "over the limit"));
    let (sequence, _) = scene.line.submit();
    scene.line.answer(sequence, 33);
    let (sequence, _) = scene.line.take();
    scene.brings.report(sequence, NUMBER, 0, 0);
    assert_eq!(scene.smsc.final_state(&throttled), "DELIVERED");

    let refused = scene.esme.submit(submit(NUMBER, "to nobody"));
    let (sequence, _) = scene.line.submit();
    scene.line.answer(sequence, 6);
    assert_eq!(scene.smsc.final_state(&refused), "REJECTED");
    let failed = scene.esme.submit(submit(NUMBER, "to a phone that is off"));
    let (sequence, _) = scene.line.take();
    scene.smsc.wait_until_sent(&failed);
    scene.brings.report(sequence, NUMBER, 1, 0);
    scene.brings.report(sequence, NUMBER, 2, 25);
    assert_eq!((scene.brings.taken(), scene.brings.taken()), (0, 0));
    assert_eq!(scene.smsc.final_state(&failed), "UNDELIVERABLE");
}

#[test]
fn a_report_before_the_response_finds_its_message() {
    let mut scene = Scene::new("");
    let id = scene.esme.submit(submit(NUMBER, "fast"));
    let (sequence, _) = scene.line.submit();
    scene.brings.report(sequence, NUMBER, 0, 0);
    scene.line.answer(sequence, 0);
    assert_eq!(scene.brings.taken(), 0);
    assert_eq!(scene.smsc.final_state(&id), "DELIVERED");
}

/// So many requests are under way, whose sequences it gives: as many as may be, so that one text to this many numbers waits.
/// Gives the ids of that by number, too.
fn fill(
    scene: &mut Scene,
    requests: usize,
    count: usize,
) -> (Vec<Sequence>, Vec<(String, String)>) {
    let mut under_way = Vec::new();
    for number in 0..requests {
        scene.esme.submit(submit(NUMBER, &format!("text {number}")));
        under_way.push(scene.line.submit().0);
    }
    let waiting = (0..count).map(|number| {
        let number = format!("86130{number:08}");
        let id = scene.esme.submit(submit(&number, "to all"));
        (number, id)
    });
    let waiting = waiting.collect();
    let admin = scene.smsc.admin();
    until("all to be sent as far as we know", || {
        let shown = admin.get("/v1/operators/up");
        (shown["binds"][0]["in_flight"] == requests + count).then_some(())
    });
    (under_way, waiting)
}

#[test]
fn messages_of_one_text_share_a_submit_and_have_a_report_each() {
    let mut scene = Scene::with("", "window = 90");
    let (first, ids) = fill(&mut scene, 32, 50);
    scene.line.answer(first[0], 0);
    let (sequence, shared) = scene.line.take();
    let numbers: BTreeSet<Bytes> = shared.user_number.0.iter().cloned().collect();
    assert_eq!((numbers.len(), shared.user_number.0.len()), (50, 50));
    for (at, (number, _)) in ids.iter().enumerate() {
        assert!(numbers.contains(number.as_bytes()));
        scene
            .brings
            .report(sequence, number, if at % 2 == 0 { 0 } else { 2 }, 27);
        assert_eq!(scene.brings.taken(), 0);
    }
    for (at, (_, id)) in ids.iter().enumerate() {
        let expected = if at % 2 == 0 {
            "DELIVERED"
        } else {
            "UNDELIVERABLE"
        };
        assert_eq!(scene.smsc.final_state(id), expected);
    }
    scene.smsc.assert_no_panic();
}

#[test]
fn a_refused_submit_of_several_is_sent_again_one_by_one() {
    let mut scene = Scene::with("requests = 2", "window = 90");
    let (first, ids) = fill(&mut scene, 2, 3);
    scene.line.answer(first[0], 0);
    let (sequence, shared) = scene.line.submit();
    assert_eq!(shared.user_number.0.len(), 3);
    for sequence in &first[1..] {
        scene.line.answer(*sequence, 0);
    }
    scene.line.answer(sequence, 6);
    for (number, id) in ids {
        let (sequence, alone) = scene.line.submit();
        assert_eq!(alone.user_number.0, [number.as_str()]);
        let is_wrong = number.ends_with('1');
        scene.line.answer(sequence, if is_wrong { 6 } else { 0 });
        if !is_wrong {
            scene.brings.report(sequence, &number, 0, 0);
        }
        let expected = if is_wrong { "REJECTED" } else { "DELIVERED" };
        assert_eq!(scene.smsc.final_state(&id), expected);
    }
}

#[test]
fn a_cut_loses_nothing() {
    let mut scene = Scene::new("");
    let mut texts = BTreeSet::new();
    for number in 0..40 {
        let text = format!("number {number}");
        scene.esme.submit(submit(NUMBER, &text));
        texts.insert(text);
    }
    for _ in 0..32 {
        scene.line.submit();
    }
    scene.line.cut();
    scene.line = scene.gateway.accept();
    let mut got = BTreeSet::new();
    while got.len() < texts.len() {
        let (_, taken) = scene.line.take();
        got.insert(String::from_utf8(text(&taken).to_vec()).unwrap());
    }
    assert_eq!(got, texts);
    scene.smsc.assert_no_panic();
}

#[test]
fn killed_in_the_middle_it_loses_nothing() {
    let mut scene = Scene::new("");
    let unanswered = scene.esme.submit(submit(NUMBER, "unanswered"));
    scene.line.submit();
    let sent = scene.esme.submit(submit(NUMBER, "sent"));
    let (of_sent, _) = scene.line.take();
    scene.smsc.wait_until_sent(&sent);
    scene.smsc.kill();
    scene.smsc.start_again();
    let mut line = scene.gateway.accept();
    let mut brings = Line::enter(scene.listens);
    brings.report(of_sent, NUMBER, 0, 0);
    assert_eq!(brings.taken(), 0);
    assert_eq!(scene.smsc.final_state(&sent), "DELIVERED");
    let (sequence, again) = line.take();
    assert_eq!(text(&again), b"unanswered");
    brings.report(sequence, NUMBER, 2, 29);
    assert_eq!(scene.smsc.final_state(&unanswered), "UNDELIVERABLE");
}

#[test]
fn a_connection_without_work_is_closed_and_made_again() {
    let mut scene = Scene::with("", "enquire_link_interval = \"1s\"");
    let unbind = scene
        .line
        .expect("an Unbind", |body| matches!(body, Body::Unbind(_)));
    let resp = smsc::sgip::bodies::UnbindResp {};
    scene.line.send(unbind.sequence, Body::UnbindResp(resp));
    let admin = scene.smsc.admin();
    assert_eq!(admin.get("/v1/operators/up")["bound"], 1);
    let id = scene.esme.submit(submit(NUMBER, "awake"));
    scene.line = scene.gateway.accept();
    let (sequence, _) = scene.line.take();
    scene.brings.report(sequence, NUMBER, 0, 0);
    assert_eq!(scene.smsc.final_state(&id), "DELIVERED");
    scene.smsc.assert_no_panic();
}

#[test]
fn messages_of_handsets_are_answered_when_they_are_kept() {
    let mut scene = Scene::new("");
    for (coding, octets, data_coding, expected) in [
        (0, &b"hi"[..], 0, Bytes::from_static(b"hi")),
        (8, &[0x4F, 0x60], 8, ucs2("你")),
        (15, &[0xC4, 0xE3, 0xBA, 0xC3], 8, ucs2("你好")),
    ] {
        scene.brings.deliver(NUMBER, "10655", coding, octets);
        assert_eq!(scene.brings.taken(), 0);
        let got = scene.esme.deliver();
        assert_eq!(
            (got.data_coding, got.short_message),
            (data_coding, expected)
        );
        assert_eq!(got.source_addr, NUMBER);
    }
    // Nobody has this address.
    scene.brings.deliver(NUMBER, "99999", 0, b"hi");
    assert_ne!(scene.brings.taken(), 0);
    // What else a gateway says is answered, too.
    scene.brings.ask(Body::UserRpt(UserRpt::default()));
    let fits = |body: &Body| matches!(body, Body::UserRptResp(resp) if resp.result == 0);
    scene.brings.expect("a UserRpt_Resp", fits);
    scene.brings.ask(Body::Trace(Default::default()));
    scene
        .brings
        .expect("a Trace_Resp", |body| matches!(body, Body::TraceResp(_)));
}

#[test]
fn a_report_that_matches_nothing_is_answered() {
    let mut scene = Scene::new("");
    let nowhere = Sequence {
        node: NODE,
        time: 101_000_000,
        counter: 1,
    };
    scene.brings.report(nowhere, NUMBER, 0, 0);
    assert_eq!(scene.brings.taken(), 0);
}

#[test]
fn the_simulated_gateway_gets_all_and_loses_no_report() {
    let listens = local(free_port());
    let flags = format!("--protocol sgip --bring-to {listens}");
    gets_all_although_killed(&flags, listening(listens), &keys("", ""), NUMBER);
}

/// It has no test of the connection.
#[test]
fn a_message_on_which_a_gateway_ends_the_connection_is_given_up_and_the_others_go_on() {
    let mut scene = Scene::with("service_id = \"SVC\"", TRIES_AGAIN_SOON);
    submit_around_poison(&mut scene.esme, NUMBER, "8613000000009");
    let picky = PickyCarrier {
        line: scene.line,
        falls_silent: false,
    };
    let text_of = |body: &Body| match body {
        Body::Submit(message) => Some(message.message_content.0.clone()),
        _ => None,
    };
    let answer = |line: &mut Line<Sgip>, pdu: PduOf<Sgip>| line.answer(pdu.sequence, 0);
    picky.gets_all_but_poison(&scene.smsc, || scene.gateway.accept(), text_of, answer);
}
