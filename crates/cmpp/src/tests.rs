//! PDUs octet for octet by the tables of the standard, any octets, and sessions of both sides.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use smsc_carrier::fields::{Raw, Tail, Text, Widened};
use smsc_carrier::session::{Closed, State};
use smsc_carrier::{Event, NotSent, Session};
use smsc_smpp::CommandStatus;

use super::*;
use crate::bodies::{ConnectResp, Deliver, MessageResp, Submit};

const TIMESTAMP: u32 = 1_021_080_510;

fn encode(version: Cmpp, sequence: u32, body: Body) -> Bytes {
    let mut out = BytesMut::new();
    version.encode(&Pdu { sequence, body }, &mut out).unwrap();
    out.freeze()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn submit() -> Submit {
    let mut submit = Submit {
        pk_total: 1,
        pk_number: 1,
        registered_delivery: 1,
        service_id: "SVC".into(),
        msg_fmt: 8,
        msg_src: "900001".into(),
        fee_type: "01".into(),
        src_id: "10655".into(),
        msg_content: "\u{4F}\u{60}".into(),
        ..Submit::default()
    };
    submit.dest_terminal_id.0 = vec!["8613000000001".into()];
    submit
}

#[test]
fn a_login_octet_for_octet() {
    let written = encode(
        Cmpp::V20,
        1,
        Cmpp::V20.connect("900001", b"888888", TIMESTAMP),
    );
    // The time 1021080510 is 3CDC73BE.
    let expected =
        "00000027 00000001 00000001 393030303031 90d00c1d517abd0b4f65f6bcf8535d16 20 3cdc73be";
    assert_eq!(hex(&written), expected.replace(' ', ""));
    let Body::Connect(connect) = Cmpp::V20.decode(&written).unwrap().body else {
        panic!("no CMPP_CONNECT");
    };
    assert_eq!(
        connect.authenticator_source,
        proof(b"900001", b"888888", TIMESTAMP)
    );
    for (version, length) in [(Cmpp::V20, 30), (Cmpp::V30, 33)] {
        let resp = version.connect_resp(&connect, b"888888", status::OK);
        assert_eq!(encode(version, 1, resp).len(), length);
    }
}

#[test]
fn lengths_are_those_of_the_standard() {
    for (version, sent, delivered) in [
        (Cmpp::V20, 138 + 21 + 2, 85 + 2),
        (Cmpp::V30, 163 + 32 + 2, 109 + 2),
    ] {
        let octets = encode(version, 7, Body::Submit(Box::new(submit())));
        assert_eq!(octets.len(), sent);
        let content = "hi".into();
        let deliver = Deliver {
            msg_content: content,
            ..Deliver::default()
        };
        assert_eq!(
            encode(version, 7, Body::Deliver(Box::new(deliver))).len(),
            delivered
        );
    }
    let report = Report {
        stat: "DELIVRD".into(),
        ..Report::default()
    };
    assert_eq!(report.encode(Cmpp::V20).unwrap().len(), 60);
    assert_eq!(report.encode(Cmpp::V30).unwrap().len(), 71);
}

#[test]
fn the_writer_is_strict_and_the_reader_tolerant() {
    let refused = |change: fn(&mut Submit)| {
        let mut body = submit();
        change(&mut body);
        let mut out = BytesMut::from(&b"before"[..]);
        let pdu = Pdu {
            sequence: 1,
            body: Body::Submit(Box::new(body)),
        };
        let error = Cmpp::V20.encode(&pdu, &mut out).unwrap_err();
        assert_eq!(&out[..], b"before");
        error.field
    };
    assert_eq!(
        refused(|submit| submit.service_id = "eleven char".into()),
        "Service_Id"
    );
    assert_eq!(
        refused(|submit| submit.service_id = "a\0b".into()),
        "Service_Id"
    );
    assert_eq!(
        refused(|submit| submit.dest_terminal_id.0.clear()),
        "Dest_terminal_Id"
    );
    assert_eq!(
        refused(|submit| submit.dest_terminal_id.0 = vec!["1".into(); 101]),
        "Dest_terminal_Id"
    );
    assert_eq!(
        refused(|submit| submit.fee_terminal_type.0 = 1),
        "Fee_terminal_type"
    );
    assert_eq!(
        refused(|submit| submit.msg_content.0 = vec![b'a'; 161].into()),
        "Msg_Content"
    );
    // More recipients than the standard has, in a PDU long enough for them.
    let (most, at) = (
        100,
        12 + 8 + 4 + 10 + 1 + 21 + 1 + 1 + 1 + 6 + 2 + 6 + 17 + 17 + 21,
    );
    let mut many = submit();
    many.dest_terminal_id.0 = vec!["1".into(); most];
    let mut many = encode(Cmpp::V20, 7, Body::Submit(Box::new(many))).to_vec();
    assert_eq!(usize::from(many[at]), most);
    many[at] += 1;
    many.splice(at + 1..at + 1, [b'1'].into_iter().chain([0; 20]));
    let length = (many.len() as u32).to_be_bytes();
    many[..4].copy_from_slice(&length);
    assert!(Cmpp::V20.decode(&many.into()).is_err(), "101 recipients");
    // A peer that leaves the reserved octets out.
    let whole = encode(Cmpp::V20, 7, Body::Submit(Box::new(submit())));
    let mut short = BytesMut::from(&whole[..whole.len() - 8]);
    let length = (short.len() as u32).to_be_bytes();
    short[..4].copy_from_slice(&length);
    assert_eq!(
        Cmpp::V20.decode(&short.freeze()).unwrap().body,
        Body::Submit(Box::new(submit()))
    );
    // One octet less is an error of the content.
    let mut cut = BytesMut::from(&whole[..whole.len() - 9]);
    let length = (cut.len() as u32).to_be_bytes();
    cut[..4].copy_from_slice(&length);
    assert_eq!(
        Cmpp::V20.decode(&cut.freeze()).unwrap_err().field,
        "Msg_Content"
    );
}

#[test]
fn message_ids_and_their_parts() {
    let id = MessageId {
        month: 11,
        day: 25,
        hour: 9,
        minute: 31,
        second: 59,
        gateway: 900_001,
        number: 65_535,
    };
    assert_eq!(MessageId::from_u64(id.to_u64()), id);
    assert_eq!(id.to_u64() >> 60, 11);
    assert_eq!(id.to_u64() & 0xFFFF, 65_535);
}

#[test]
fn results_and_their_statuses() {
    for (code, _, status) in status::SUBMIT {
        assert_eq!(status::smpp(&status::SUBMIT, code), status);
        let back = status::of_smpp(status);
        assert_eq!(status::smpp(&status::SUBMIT, back), status);
    }
    assert_eq!(
        status::smpp(&status::SUBMIT, 99),
        CommandStatus::ESME_RUNKNOWNERR
    );
    for again in [
        CommandStatus::ESME_RMSGQFUL,
        CommandStatus::ESME_RTHROTTLED,
        CommandStatus::ESME_RX_T_APPN,
        CommandStatus::ESME_RSYSERR,
    ] {
        assert_eq!(status::of_smpp(again), status::FLOW);
    }
    assert_eq!(status::meaning(&status::CONNECT, 3), Some("not authentic"));
}

/// Two sessions that are connected.
fn opened(now: Instant) -> (Session<Cmpp, char>, Session<Cmpp, char>) {
    let (mut out, mut back) = (BytesMut::new(), BytesMut::new());
    let config = SessionConfig {
        window: 2,
        ..session_config()
    };
    let login = Cmpp::V30.connect("900001", b"888888", TIMESTAMP);
    let mut client = Session::client(config, Cmpp::V30, login, now, &mut out).unwrap();
    let mut server: Session<Cmpp, char> = Session::server(config, Cmpp::V30, now);
    assert_eq!(client.room(), 0);
    server.receive(&out, now);
    let Some(Event::Login(pdu)) = server.next_event(now, &mut back) else {
        panic!("no login");
    };
    let Body::Connect(connect) = &pdu.body else {
        panic!("{pdu:?}");
    };
    let resp = Cmpp::V30.connect_resp(connect, b"888888", status::OK);
    server
        .answer_login(pdu.sequence, resp, now, &mut back)
        .unwrap();
    client.receive(&back, now);
    let event = client.next_event(now, &mut out);
    assert!(matches!(event, Some(Event::Opened(Body::ConnectResp(_)))));
    assert_eq!((client.state(), server.state()), (State::Open, State::Open));
    (client, server)
}

#[test]
fn a_window_and_its_responses() {
    let now = Instant::now();
    let (mut client, mut server) = opened(now);
    let (mut out, mut back) = (BytesMut::new(), BytesMut::new());
    let body = || Body::Submit(Box::new(submit()));
    let first = client.send(body(), 'a', now, &mut out).unwrap();
    let second = client.send(body(), 'b', now, &mut out).unwrap();
    assert_eq!(
        client.send(body(), 'c', now, &mut out),
        Err(NotSent::Full('c'))
    );
    server.receive(&out, now);
    let requests = std::iter::from_fn(|| server.next_event(now, &mut back));
    assert_eq!(requests.count(), 2);
    let resp = |msg_id| {
        Body::SubmitResp(MessageResp {
            msg_id,
            result: Widened(0),
        })
    };
    server.answer(second, resp(2), &mut back).unwrap();
    server.answer(99, resp(3), &mut back).unwrap();
    client.receive(&back, now);
    assert_eq!(
        client.next_event(now, &mut out),
        Some(Event::Response(
            'b',
            Pdu {
                sequence: second,
                body: resp(2)
            }
        ))
    );
    assert!(matches!(
        client.next_event(now, &mut out),
        Some(Event::Stray(_))
    ));
    assert_eq!(client.next_event(now, &mut out), None);
    let later = now + session_config().response;
    assert_eq!(client.on_tick(later, &mut out).expired, ['a']);
    back.clear();
    server.answer(first, resp(1), &mut back).unwrap();
    client.receive(&back, later);
    assert!(matches!(
        client.next_event(later, &mut out),
        Some(Event::Stray(_))
    ));
}

#[test]
fn three_tests_of_the_connection_and_an_end() {
    let now = Instant::now();
    let (mut client, mut server) = opened(now);
    let (mut out, mut back) = (BytesMut::new(), BytesMut::new());
    let minute = Duration::from_secs(60);
    assert_eq!(client.on_tick(now + 3 * minute, &mut out).closed, None);
    server.receive(&out, now);
    assert_eq!(server.next_event(now, &mut back), None);
    client.receive(&back, now + 3 * minute);
    assert_eq!(client.next_event(now, &mut out), None);
    out.clear();
    for minutes in 6..9 {
        assert_eq!(
            client.on_tick(now + minutes * minute, &mut out).closed,
            None
        );
    }
    assert_eq!(out.len(), 3 * 12);
    let silent = client.on_tick(now + 9 * minute, &mut out).closed;
    assert_eq!(silent, Some(Closed::Silent));

    let (mut client, mut server) = opened(now);
    let (mut out, mut back) = (BytesMut::new(), BytesMut::new());
    client
        .send(
            Body::Submit(Box::new(submit())),
            'a',
            now,
            &mut BytesMut::new(),
        )
        .unwrap();
    client.end(now, &mut out);
    assert_eq!((client.state(), client.room()), (State::Closing, 0));
    server.receive(&out, now);
    assert_eq!(
        server.next_event(now, &mut back),
        Some(Event::Closed(Closed::ByPeer))
    );
    client.receive(&back, now);
    assert_eq!(
        client.next_event(now, &mut out),
        Some(Event::Closed(Closed::ByUs))
    );
    assert_eq!(client.take_lost(), ['a']);
}

#[test]
fn what_comes_before_a_login_and_a_refused_login() {
    let now = Instant::now();
    let mut out = BytesMut::new();
    let mut server: Session<Cmpp, ()> = Session::server(session_config(), Cmpp::V20, now);
    server.receive(&encode(Cmpp::V20, 1, Body::Submit(Box::new(submit()))), now);
    assert_eq!(
        server.next_event(now, &mut out),
        Some(Event::Closed(Closed::NotOpen))
    );
    let login = Cmpp::V20.connect("900001", b"wrong", TIMESTAMP);
    let mut client: Session<Cmpp, ()> =
        Session::client(session_config(), Cmpp::V20, login, now, &mut out).unwrap();
    let resp = Body::ConnectResp(ConnectResp {
        status: Widened(3),
        ..ConnectResp::default()
    });
    client.receive(&encode(Cmpp::V20, 1, resp.clone()), now);
    assert_eq!(client.next_event(now, &mut out), Some(Event::Refused(resp)));
    let mut server: Session<Cmpp, ()> = Session::server(session_config(), Cmpp::V20, now);
    server.receive(&[0, 0, 0, 11, 0, 0, 0, 1], now);
    assert!(matches!(
        server.next_event(now, &mut out),
        Some(Event::Closed(Closed::BadLength(_)))
    ));
}

fn any_pdu() -> impl Strategy<Value = Body> {
    let number = proptest::collection::vec(b'0'..=b'9', 0..=21);
    let content = proptest::collection::vec(any::<u8>(), 0..=159);
    let text = "[ -~]{0,8}";
    (
        number,
        content,
        text,
        any::<u64>(),
        any::<u8>(),
        1..100_usize,
    )
        .prop_map(
            |(number, content, text, msg_id, octet, count)| match octet % 3 {
                0 => {
                    let mut body = submit();
                    body.dest_terminal_id.0 = vec![number.into(); count];
                    body.msg_content.0 = content.into();
                    body.link_id = Tail::from(text.as_str());
                    body.service_id = Text::from(text.as_str());
                    body.msg_id = msg_id;
                    Body::Submit(Box::new(body))
                }
                1 => Body::Deliver(Box::new(Deliver {
                    msg_id,
                    msg_content: smsc_carrier::fields::Content(content.into()),
                    src_terminal_id: smsc_carrier::fields::Varying(number.into()),
                    ..Deliver::default()
                })),
                _ => Body::DeliverResp(MessageResp {
                    msg_id,
                    result: Widened(octet.into()),
                }),
            },
        )
}

proptest! {
    #[test]
    fn what_is_written_is_read(body in any_pdu(), sequence: u32, is_new: bool) {
        let version = if is_new { Cmpp::V30 } else { Cmpp::V20 };
        let octets = encode(version, sequence, body.clone());
        prop_assert_eq!(version.decode(&octets), Ok(Pdu { sequence, body }));
    }

    #[test]
    fn no_octets_make_it_panic(
        command in 0..10_u32, octets in proptest::collection::vec(any::<u8>(), 0..300), is_resp: bool
    ) {
        let mut frame = BytesMut::new();
        frame.extend_from_slice(&(octets.len() as u32 + 12).to_be_bytes());
        frame.extend_from_slice(&(command | u32::from(is_resp) << 31).to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(&octets);
        let frame = frame.freeze();
        for version in [Cmpp::V20, Cmpp::V30] {
            let Ok(pdu) = version.decode(&frame) else { continue };
            let mut again = BytesMut::new();
            if version.encode(&pdu, &mut again).is_ok() {
                prop_assert_eq!(version.decode(&again.freeze()), Ok(pdu));
            }
            let _ = Report::decode(&octets.clone().into(), version);
        }
        let mut session: Session<Cmpp, ()> =
            Session::server(session_config(), Cmpp::V20, Instant::now());
        session.receive(&frame, Instant::now());
        while session.next_event(Instant::now(), &mut BytesMut::new()).is_some() {}
    }
}

#[test]
fn a_proof_of_the_gateway_covers_the_status() {
    let connect = bodies::Connect {
        authenticator_source: Raw([7; 16]),
        ..Default::default()
    };
    let proof = |version: Cmpp| match version.connect_resp(&connect, b"secret", 0) {
        Body::ConnectResp(resp) => resp.authenticator_ismg,
        other => panic!("{other:?}"),
    };
    let expected = |status: &[u8]| Raw(login::digest(&[status, &[7; 16], b"secret"]));
    assert_eq!(proof(Cmpp::V20), expected(&[0]));
    assert_eq!(proof(Cmpp::V30), expected(&[0; 4]));
    for version in [Cmpp::V20, Cmpp::V30] {
        let resp = version.connect_resp(&connect, b"secret", 3);
        let is_proven = |resp: &bodies::ConnectResp| resp.authenticator_ismg != Raw([0; 16]);
        assert!(
            matches!(&resp, Body::ConnectResp(resp) if !is_proven(resp)),
            "{resp:?}"
        );
    }
}
