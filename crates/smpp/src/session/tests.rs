//! The session from both sides, with the test's clock.

mod outgoing;

use bytes::Bytes;

use std::time::Duration;

use super::*;
use crate::*;

const SECOND: Duration = Duration::from_secs(1);

/// A session, its clock, and what it wrote.
struct Fixture {
    session: Session<&'static str>,
    now: Instant,
    out: BytesMut,
}

impl Fixture {
    fn new(role: Role) -> Fixture {
        Fixture::speaking(role, 0x34)
    }

    /// One whose own version this is.
    fn speaking(role: Role, interface_version: u8) -> Fixture {
        let now = Instant::now();
        let config = SessionConfig {
            role,
            window: 2,
            interface_version,
            ..SessionConfig::default()
        };
        Fixture {
            session: Session::new(config, now),
            now,
            out: BytesMut::new(),
        }
    }

    /// A server whose peer has bound.
    fn server(bind_type: BindType) -> Fixture {
        let mut fixture = Fixture::new(Role::Server);
        fixture.receive(1, bind_type.request(bind(0x34)));
        fixture
            .session
            .accept_bind(fixture.now, 1, &mut fixture.out);
        fixture.out.clear();
        fixture
    }

    /// A client that has bound.
    fn client(bind_type: BindType) -> Fixture {
        let mut fixture = Fixture::new(Role::Client);
        let now = fixture.now;
        fixture
            .session
            .bind(now, bind_type, bind(0x34), &mut fixture.out);
        let sequence = fixture.written()[0].sequence;
        let event = fixture.receive(sequence, bind_type.response(BindResp::default()));
        assert!(matches!(event, Event::BindResult { status, .. } if status.is_ok()));
        fixture
    }

    fn receive(&mut self, sequence: u32, body: Body) -> Event<&'static str> {
        self.receive_with(CommandStatus::ESME_ROK, sequence, body)
    }

    fn receive_with(
        &mut self,
        status: CommandStatus,
        sequence: u32,
        body: Body,
    ) -> Event<&'static str> {
        let mut frame = BytesMut::new();
        Pdu::response(status, sequence, body).encode(&mut frame);
        self.session
            .on_frame(self.now, frame.freeze(), &mut self.out)
    }

    fn receive_raw(
        &mut self,
        command_id: CommandId,
        sequence: u32,
        body: &[u8],
    ) -> Event<&'static str> {
        let mut frame = BytesMut::new();
        let header = Header {
            length: (16 + body.len()) as u32,
            command_id,
            status: CommandStatus::ESME_ROK,
            sequence,
        };
        header.encode(&mut frame);
        frame.extend_from_slice(body);
        self.session
            .on_frame(self.now, frame.freeze(), &mut self.out)
    }

    fn send(&mut self, context: &'static str) -> Result<u32, SendError> {
        let submit_sm = SubmitSm::default();
        self.session
            .send(self.now, context, &mut self.out, |out, sequence| {
                encode_submit_sm(out, sequence, &submit_sm)
            })
    }

    /// When a timer of the session or its oldest request ends.
    fn next_deadline(&self) -> Option<Instant> {
        let timers = &self.session.config.timers;
        let timer = self.session.watch.earliest(timers).map(|(at, _)| at);
        let request = self.session.window.iter().map(|(_, entry)| entry.deadline);
        timer.into_iter().chain(request).min()
    }

    fn tick_after(&mut self, wait: Duration) -> Tick<&'static str> {
        self.now += wait;
        self.session.on_tick(self.now, &mut self.out)
    }

    /// What was written since the last call.
    fn written(&mut self) -> Vec<Pdu> {
        let mut pdus = Vec::new();
        while let Some(frame) = next_frame(&mut self.out, DEFAULT_MAX_PDU).unwrap() {
            match decode(&frame, &Leniency::strict()) {
                Decoded::Pdu(pdu) => pdus.push(pdu),
                Decoded::Malformed(malformed) => panic!("{malformed:?}"),
            }
        }
        pdus
    }

    /// The one answer that was written: operation, status, sequence number.
    fn answer(&mut self) -> (CommandId, CommandStatus, u32) {
        let written = self.written();
        assert_eq!(written.len(), 1, "{written:?}");
        (
            written[0].command_id(),
            written[0].status,
            written[0].sequence,
        )
    }
}

fn bind(interface_version: u8) -> BindRequest {
    BindRequest {
        system_id: Bytes::from_static(b"esme"),
        interface_version,
        ..BindRequest::default()
    }
}

fn submit_sm() -> Body {
    Body::SubmitSm(SubmitSm::default())
}

fn submit_sm_resp() -> Body {
    Body::SubmitSmResp(SubmitSmResp {
        message_id: Bytes::from_static(b"m1"),
        tlvs: Tlvs::new(),
    })
}

// === binding, server side ===

#[test]
fn bind_resp_tells_the_version_only_to_peers_that_know_it() {
    for (version, told) in [(0x33, None), (0x34, Some(0x34)), (0x50, Some(0x34))] {
        let mut fixture = Fixture::new(Role::Server);
        let event = fixture.receive(5, Body::BindTransceiver(bind(version)));
        let expected = Event::Bind {
            sequence: 5,
            bind_type: BindType::Transceiver,
            bind: bind(version),
        };
        assert_eq!(event, expected);
        assert_eq!(fixture.session.state(), SessionState::Binding);
        fixture
            .session
            .accept_bind(fixture.now, 5, &mut fixture.out);
        let state = SessionState::Bound(BindType::Transceiver);
        assert_eq!(fixture.session.state(), state);
        assert_eq!(fixture.session.peer_version(), version);
        let written = fixture.written();
        let Body::BindTransceiverResp(resp) = &written[0].body else {
            panic!("{written:?}");
        };
        assert_eq!(resp.system_id, "SMSC");
        assert_eq!(resp.tlvs.get_uint(tag::SC_INTERFACE_VERSION), told);
    }
}

#[test]
fn a_rejected_peer_may_try_again() {
    let mut fixture = Fixture::new(Role::Server);
    fixture.receive(1, Body::BindReceiver(bind(0x34)));
    let status = CommandStatus::ESME_RINVPASWD;
    fixture.session.reject_bind(1, status, &mut fixture.out);
    assert_eq!(fixture.out.len(), 16);
    assert_eq!(fixture.answer(), (CommandId::BIND_RECEIVER_RESP, status, 1));
    assert_eq!(fixture.session.state(), SessionState::Open);
    let event = fixture.receive(2, Body::BindReceiver(bind(0x34)));
    assert!(matches!(event, Event::Bind { sequence: 2, .. }));
    // A verdict on a bind that no longer waits changes nothing.
    fixture
        .session
        .accept_bind(fixture.now, 1, &mut fixture.out);
    assert_eq!(fixture.session.state(), SessionState::Binding);
}

#[test]
fn a_second_bind_is_already_bound() {
    let mut fixture = Fixture::server(BindType::Transceiver);
    let event = fixture.receive(9, Body::BindTransmitter(bind(0x34)));
    let status = CommandStatus::ESME_RALYBND;
    let command_id = CommandId::BIND_TRANSMITTER;
    assert_eq!(event, Event::Answered { command_id, status });
    assert_eq!(
        fixture.answer(),
        (CommandId::BIND_TRANSMITTER_RESP, status, 9)
    );
    let state = SessionState::Bound(BindType::Transceiver);
    assert_eq!(fixture.session.state(), state);
}

#[test]
fn a_bind_that_cannot_be_read_is_answered() {
    let mut fixture = Fixture::new(Role::Server);
    fixture.receive_raw(CommandId::BIND_TRANSCEIVER, 3, &[b'x'; 200]);
    assert_eq!(
        fixture.answer(),
        (
            CommandId::BIND_TRANSCEIVER_RESP,
            CommandStatus::ESME_RINVSYSID,
            3
        )
    );
    assert_eq!(fixture.session.state(), SessionState::Open);
}

#[test]
fn no_bind_in_time() {
    let mut fixture = Fixture::new(Role::Server);
    assert_eq!(fixture.tick_after(29 * SECOND).close, None);
    // A peer that keeps asking does not stay for ever.
    fixture.receive(1, Body::EnquireLink);
    let tick = fixture.tick_after(SECOND);
    assert_eq!(tick.close, Some(CloseReason::SessionInit));
    assert_eq!(fixture.session.state(), SessionState::Closed);
    assert_eq!(fixture.next_deadline(), None);
}

// === requests of the peer ===

#[test]
fn requests_before_the_bind_and_in_the_wrong_direction() {
    let mut open = Fixture::new(Role::Server);
    let mut receiver = Fixture::server(BindType::Receiver);
    let mut transmitting_client = Fixture::client(BindType::Transmitter);
    for fixture in [&mut open, &mut receiver, &mut transmitting_client] {
        let event = fixture.receive(7, submit_sm());
        let status = CommandStatus::ESME_RINVBNDSTS;
        let command_id = CommandId::SUBMIT_SM;
        assert_eq!(event, Event::Answered { command_id, status });
        assert_eq!(fixture.answer(), (CommandId::SUBMIT_SM_RESP, status, 7));
    }
}

#[test]
fn what_a_bound_peer_may_ask() {
    let bodies = [
        submit_sm(),
        Body::DeliverSm(SubmitSm::default()),
        Body::QuerySm(QuerySm::default()),
    ];
    for (mut fixture, answers) in [
        (Fixture::server(BindType::Transmitter), true),
        (Fixture::server(BindType::Transceiver), true),
        (Fixture::server(BindType::Receiver), false),
        (Fixture::client(BindType::Receiver), true),
        (Fixture::client(BindType::Transceiver), true),
    ] {
        for body in &bodies {
            let event = fixture.receive(4, body.clone());
            let is_request = event == Event::Request(Pdu::request(4, body.clone()));
            assert_eq!(is_request, answers);
        }
    }
}

#[test]
fn a_broken_request_is_answered_and_the_session_goes_on() {
    let mut fixture = Fixture::server(BindType::Transceiver);
    let body = b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xFFshort";
    fixture.receive_raw(CommandId::SUBMIT_SM, 8, body);
    assert_eq!(
        fixture.answer(),
        (CommandId::SUBMIT_SM_RESP, CommandStatus::ESME_RINVMSGLEN, 8)
    );
    let event = fixture.receive_raw(CommandId(0x0000_0BAD), 9, b"");
    assert_eq!(
        event,
        Event::Answered {
            command_id: CommandId(0x0000_0BAD),
            status: CommandStatus::ESME_RINVCMDID
        }
    );
    assert_eq!(
        fixture.answer(),
        (CommandId::GENERIC_NACK, CommandStatus::ESME_RINVCMDID, 9)
    );
    assert!(matches!(
        fixture.receive(10, submit_sm()),
        Event::Request(_)
    ));
}

#[test]
fn what_has_no_response_gets_none() {
    let mut server = Fixture::server(BindType::Transceiver);
    let event = server.receive(1, Body::Outbind(Default::default()));
    assert_eq!(event, Event::Nothing);
    let mut client = Fixture::client(BindType::Transmitter);
    let alert = Body::AlertNotification(Default::default());
    assert_eq!(client.receive(1, alert.clone()), Event::Nothing);
    assert_eq!(client.session.counters().dropped, 1);
    assert!(server.out.is_empty() && client.out.is_empty());
    let mut client = Fixture::client(BindType::Receiver);
    assert!(matches!(client.receive(1, alert), Event::Request(_)));
    let mut open = Fixture::new(Role::Client);
    let outbind = Body::Outbind(Default::default());
    assert!(matches!(open.receive(1, outbind), Event::Request(_)));
}

#[test]
fn enquire_link_is_answered_in_any_state() {
    for mut fixture in [
        Fixture::new(Role::Server),
        Fixture::server(BindType::Receiver),
        Fixture::client(BindType::Transmitter),
    ] {
        assert_eq!(fixture.receive(77, Body::EnquireLink), Event::Nothing);
        let ok = CommandStatus::ESME_ROK;
        assert_eq!(fixture.answer(), (CommandId::ENQUIRE_LINK_RESP, ok, 77));
    }
}

#[test]
fn two_sessions_talk_to_each_other() {
    let mut server = Fixture::new(Role::Server);
    let mut client = Fixture::new(Role::Client);
    let now = client.now;
    client
        .session
        .bind(now, BindType::Transceiver, bind(0x34), &mut client.out);
    let frame = next_frame(&mut client.out, DEFAULT_MAX_PDU)
        .unwrap()
        .unwrap();
    let Event::Bind { sequence, .. } = server.session.on_frame(now, frame, &mut server.out) else {
        panic!("no bind");
    };
    server.session.accept_bind(now, sequence, &mut server.out);
    let frame = next_frame(&mut server.out, DEFAULT_MAX_PDU)
        .unwrap()
        .unwrap();
    client.session.on_frame(now, frame, &mut client.out);
    assert_eq!(client.session.state(), server.session.state());

    client.send("message").unwrap();
    let frame = next_frame(&mut client.out, DEFAULT_MAX_PDU)
        .unwrap()
        .unwrap();
    let Event::Request(pdu) = server.session.on_frame(now, frame, &mut server.out) else {
        panic!("no request");
    };
    encode_submit_sm_resp(
        &mut server.out,
        pdu.sequence,
        CommandStatus::ESME_ROK,
        b"m1",
    );
    let frame = next_frame(&mut server.out, DEFAULT_MAX_PDU)
        .unwrap()
        .unwrap();
    let event = client.session.on_frame(now, frame, &mut client.out);
    assert!(matches!(
        event,
        Event::Response {
            context: "message",
            ..
        }
    ));
}
