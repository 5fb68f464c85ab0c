//! PDUs octet for octet, as computed from the standard; any octets; a session that keeps sequences apart.

use std::time::Instant;

use proptest::prelude::*;
use smsc_carrier::outcome::Outcome;
use smsc_carrier::session::Closed;
use smsc_carrier::{Event, Repeats, Session};
use smsc_smpp::CommandStatus;

use super::*;
use crate::bodies::{Bind, Deliver, Report, ResultResp, Submit, TraceNode, TraceResp};

const SGIP: Sgip = Sgip {
    version: Version::V12,
    node: 3_010_012_345,
    time: 1_120_203_225,
};

const BIND: &str = "0000003d00000001b36924b942c4f1d9000000070175736572000000000000000000000000706173730000000000000000000000000000000000000000";
const BIND_RESP: &str = "0000001d80000001b36924b942c4f1d900000007000000000000000000";
const SUBMIT: &str = "000000a800000003b36924b942c4f1d900000007313036353500000000000000000000000000000000303030303030303030303030303030303030303030013836313330303030303030303100000000000000003132333435535643000000000000000130000000000030000000000000020000000000000000000000000000000000000000000000000000000000000000000100000800000000044f60597d0000000000000000";
const DELIVER: &str = "000000510000000400018a8942c4f1de0000000138363133303030303030303031000000000000000031303635350000000000000000000000000000000000000f00000004c4e3bac30000000000000000";
const REPORT: &str = "000000400000000500018a8942c4f22400000009b36924b942c4f1d9000000070038363133303030303030303031000000000000000002190000000000000000";

fn octets(hex: &str) -> Bytes {
    let digits: Vec<u8> = hex
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

fn encode(sequence: Sequence, body: Body) -> Bytes {
    let mut out = BytesMut::new();
    SGIP.encode(&Pdu { sequence, body }, &mut out).unwrap();
    out.freeze()
}

fn submit() -> Submit {
    let mut submit = Submit {
        sp_number: "10655".into(),
        charge_number: "000000000000000000000".into(),
        corp_id: "12345".into(),
        service_type: "SVC".into(),
        fee_type: 1,
        fee_value: "0".into(),
        given_value: "0".into(),
        morelateto_mt_flag: 2,
        report_flag: 1,
        message_coding: 8,
        ..Submit::default()
    };
    submit.user_number.0 = vec!["8613000000001".into()];
    submit.message_content.0 = octets("4f60597d");
    submit
}

#[test]
fn golden_vectors_octet_for_octet() {
    let ours = SGIP.sequence(7);
    let of_smg = |time, counter| Sequence {
        node: 101_001,
        time,
        counter,
    };
    let bind = Bind {
        login_type: 1,
        login_name: "user".into(),
        login_password: "pass".into(),
        ..Bind::default()
    };
    let mut deliver = Deliver {
        user_number: "8613000000001".into(),
        sp_number: "10655".into(),
        message_coding: 15,
        ..Deliver::default()
    };
    deliver.message_content.0 = octets("c4e3bac3");
    let report = Report {
        submit_node: ours.node,
        submit_time: ours.time,
        submit_counter: 7,
        user_number: "8613000000001".into(),
        state: 2,
        error_code: 25,
        ..Report::default()
    };
    for (golden, sequence, body) in [
        (BIND, ours, Body::Bind(bind)),
        (BIND_RESP, ours, Body::BindResp(ResultResp::default())),
        (SUBMIT, ours, Body::Submit(Box::new(submit()))),
        (
            DELIVER,
            of_smg(1_120_203_230, 1),
            Body::Deliver(Box::new(deliver)),
        ),
        (REPORT, of_smg(1_120_203_300, 9), Body::Report(report)),
    ] {
        assert_eq!(encode(sequence, body.clone()), octets(golden), "{body:?}");
        assert_eq!(SGIP.decode(&octets(golden)), Ok(Pdu { sequence, body }));
    }
}

#[test]
fn a_trace_is_wider_in_the_newer_version() {
    let nodes = vec![
        TraceNode {
            node_id: "101001".into(),
            ..TraceNode::default()
        };
        3
    ];
    let body = Body::TraceResp(TraceResp {
        nodes: crate::bodies::TraceNodes(nodes),
    });
    for (version, node) in [(Version::V12, 6), (Version::V13, 10)] {
        let sgip = Sgip { version, ..SGIP };
        let mut out = BytesMut::new();
        let pdu = Pdu {
            sequence: sgip.sequence(1),
            body: body.clone(),
        };
        sgip.encode(&pdu, &mut out).unwrap();
        assert_eq!(out.len(), 21 + 3 * (1 + node + 16 + 16 + 8));
        assert_eq!(sgip.decode(&out.freeze()), Ok(pdu));
    }
}

#[test]
fn the_writer_is_strict() {
    let mut many = submit();
    many.user_number.0 = vec!["8613000000001".into(); 101];
    let mut long = submit();
    long.message_content.0 = vec![0; 161].into();
    for (body, field) in [(many, "UserNumber"), (long, "MessageContent")] {
        let mut out = BytesMut::new();
        let pdu = Pdu {
            sequence: SGIP.sequence(1),
            body: Body::Submit(Box::new(body)),
        };
        assert_eq!(SGIP.encode(&pdu, &mut out).unwrap_err().field, field);
        assert!(out.is_empty());
    }
}

#[test]
fn the_octets_of_a_sequence_are_those_of_a_header() {
    let octets = SGIP.sequence(7).octets();
    assert_eq!(
        octets[..],
        crate::tests::octets("b36924b942c4f1d900000007")[..]
    );
    assert_eq!(Sequence::of(octets), SGIP.sequence(7));
}

#[test]
fn codes_and_their_statuses() {
    assert_eq!(status::smpp(0), CommandStatus::ESME_ROK);
    assert_eq!(status::smpp(33), CommandStatus::ESME_RTHROTTLED);
    assert_eq!(status::smpp(200), CommandStatus::ESME_RUNKNOWNERR);
    assert_eq!(status::meaning(25), Some("handset out of reach"));
    let codes: Vec<u8> = status::CODES.iter().map(|(code, ..)| *code).collect();
    assert!(codes.is_sorted_by(|before, after| before < after));
    for (status, code) in [
        (CommandStatus::ESME_ROK, status::OK),
        (CommandStatus::ESME_RMSGQFUL, status::BUSY),
        (CommandStatus::ESME_RX_T_APPN, status::BUSY),
        (CommandStatus::ESME_RINVDSTADR, 6),
        (CommandStatus::ESME_RDELIVERYFAILURE, status::ROUTE),
    ] {
        assert_eq!(status::of_smpp(status), code, "{status}");
    }
    for (state, outcome) in [
        (0, Outcome::Delivered),
        (1, Outcome::Enroute),
        (2, Outcome::Undeliverable),
    ] {
        assert_eq!(status::outcome(state), Some(outcome));
    }
    assert_eq!(status::outcome(3), None);
}

/// Both ends of a connection, logged in.
fn opened(now: Instant) -> (Session<Sgip, char>, Session<Sgip, char>) {
    let (mut out, mut back) = (BytesMut::new(), BytesMut::new());
    let bind = Body::Bind(Bind {
        login_type: 1,
        ..Bind::default()
    });
    let mut client = Session::client(session_config(), SGIP, bind, now, &mut out).unwrap();
    let mut server: Session<Sgip, char> = Session::server(
        session_config(),
        Sgip {
            node: 101_001,
            ..SGIP
        },
        now,
    );
    server.receive(&out, now);
    let Some(Event::Login(pdu)) = server.next_event(now, &mut back) else {
        panic!("no login");
    };
    let accepted = Body::BindResp(ResultResp::default());
    server
        .answer_login(pdu.sequence, accepted, now, &mut back)
        .unwrap();
    client.receive(&back, now);
    assert!(matches!(
        client.next_event(now, &mut out),
        Some(Event::Opened(_))
    ));
    (client, server)
}

#[test]
fn who_leaves_a_request_unanswered_and_says_nothing_else_is_gone() {
    let now = Instant::now();
    let (mut client, mut server) = opened(now);
    let mut out = BytesMut::new();
    let after = session_config().response;
    let half = now + after / 2;
    client
        .send(Body::Submit(Box::new(submit())), 'a', now, &mut out)
        .unwrap();
    // It is there: it asks for something.
    let mut back = BytesMut::new();
    let report = Body::Report(Report::default());
    server.send(report, 'b', half, &mut back).unwrap();
    client.receive(&back, half);
    let tick = client.on_tick(now + after, &mut out);
    assert_eq!((tick.expired, tick.closed), (vec!['a'], None));
    client
        .send(Body::Submit(Box::new(submit())), 'c', half, &mut out)
        .unwrap();
    let tick = client.on_tick(half + after, &mut out);
    assert_eq!(
        (tick.expired, tick.closed),
        (vec!['c'], Some(Closed::Silent))
    );
}

#[test]
fn what_comes_again_is_passed_on_once_unless_nobody_knows_what_became_of_it() {
    let now = Instant::now();
    let repeats = Repeats::of_peer();
    let mut out = BytesMut::new();
    let sharing = || {
        let (_, mut server) = opened(now);
        server.share(&repeats);
        server
    };
    let deliver = |server: &mut Session<Sgip, char>, out: &mut BytesMut| {
        server.receive(&octets(DELIVER), now);
        server.next_event(now, out)
    };
    let mut lost = sharing();
    assert!(matches!(
        deliver(&mut lost, &mut out),
        Some(Event::Request(_))
    ));
    assert_eq!(deliver(&mut lost, &mut out), None, "it is under way");
    drop(lost);
    let mut first = sharing();
    let Some(Event::Request(pdu)) = deliver(&mut first, &mut out) else {
        panic!("it is not known what became of it");
    };
    let refused = ResultResp::of(status::BUSY);
    let resp = Body::DeliverResp(refused);
    first.answer(pdu.sequence, resp, &mut out).unwrap();
    assert!(matches!(
        deliver(&mut first, &mut out),
        Some(Event::Request(_))
    ));
    let resp = Body::DeliverResp(ResultResp::default());
    out.clear();
    first.answer(pdu.sequence, resp, &mut out).unwrap();
    let answer = out.split();
    // On whichever connection.
    for mut again in [sharing(), first] {
        assert_eq!(deliver(&mut again, &mut out), None);
        assert_eq!(out.split(), answer);
    }
}

#[test]
fn a_response_is_for_the_request_of_its_own_connection() {
    let now = Instant::now();
    let repeats = Repeats::of_peer();
    let sharing = || {
        let (_, mut server) = opened(now);
        server.share(&repeats);
        server
    };
    let sequence = Sequence::of([1; 12]);
    // Whether it is passed on, and whether it is answered.
    let report = |server: &mut Session<Sgip, char>, state: u8| {
        let report = Report {
            state,
            ..Report::default()
        };
        let body = Body::Report(report);
        let (mut frame, mut out) = (BytesMut::new(), BytesMut::new());
        SGIP.encode(&Pdu { sequence, body }, &mut frame).unwrap();
        server.receive(&frame, now);
        let event = server.next_event(now, &mut out);
        (event.is_some(), !out.is_empty())
    };
    let (mut first, mut second) = (sharing(), sharing());
    assert_eq!(report(&mut first, 0), (true, false));
    // The peer numbers each connection anew.
    assert_eq!(report(&mut second, 2), (true, false));
    for result in [status::OK, status::BUSY] {
        let resp = Body::ReportResp(ResultResp::of(result));
        first.answer(sequence, resp, &mut BytesMut::new()).unwrap();
        assert_eq!(report(&mut second, 2), (false, false), "it is under way");
    }
}

#[test]
fn a_response_must_have_the_whole_sequence() {
    let now = Instant::now();
    let (mut client, mut server) = opened(now);
    let (mut out, mut back) = (BytesMut::new(), BytesMut::new());
    let sent = client
        .send(Body::Submit(Box::new(submit())), 'a', now, &mut out)
        .unwrap();
    assert_eq!((sent.node, sent.time), (SGIP.node, SGIP.time));
    let resp = Body::SubmitResp(ResultResp::default());
    back.clear();
    server
        .answer(Sequence { node: 1, ..sent }, resp.clone(), &mut back)
        .unwrap();
    server.answer(sent, resp.clone(), &mut back).unwrap();
    client.receive(&back, now);
    assert!(matches!(
        client.next_event(now, &mut out),
        Some(Event::Stray(_))
    ));
    assert_eq!(
        client.next_event(now, &mut out),
        Some(Event::Response(
            'a',
            Pdu {
                sequence: sent,
                body: resp
            }
        ))
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        content in proptest::collection::vec(any::<u8>(), 0..=160),
        number in "[0-9]{0,21}", count in 1..=100_usize, counter: u32,
    ) {
        let mut body = submit();
        body.message_content.0 = content.into();
        body.user_number.0 = vec![number.into(); count];
        let pdu = Pdu { sequence: SGIP.sequence(counter), body: Body::Submit(Box::new(body)) };
        let octets = encode(pdu.sequence, pdu.body.clone());
        prop_assert_eq!(SGIP.decode(&octets), Ok(pdu));
    }

    #[test]
    fn no_octets_make_it_panic(
        command in prop_oneof![0..0x12_u32, Just(0x1000)], is_resp: bool,
        octets in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut frame = BytesMut::new();
        frame.extend_from_slice(&(octets.len() as u32 + 20).to_be_bytes());
        frame.extend_from_slice(&(command | u32::from(is_resp) << 31).to_be_bytes());
        frame.extend_from_slice(&[0; 12]);
        frame.extend_from_slice(&octets);
        if let Ok(pdu) = SGIP.decode(&frame.freeze()) {
            let mut again = BytesMut::new();
            if SGIP.encode(&pdu, &mut again).is_ok() {
                prop_assert_eq!(SGIP.decode(&again.freeze()), Ok(pdu));
            }
        }
    }
}
