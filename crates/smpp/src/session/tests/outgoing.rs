//! Requests of ours, our bind, timers and the end of a session.

use super::*;

// === our requests ===

#[test]
fn send_until_full_and_get_the_contexts_back() {
    let mut fixture = Fixture::client(BindType::Transmitter);
    assert_eq!(fixture.session.room(), 2);
    let first = fixture.send("first").unwrap();
    let second = fixture.send("second").unwrap();
    assert_eq!(fixture.send("third"), Err(SendError::WindowFull));
    let window = fixture.session.window();
    assert_eq!((fixture.session.room(), window.len()), (0, 2));
    let mut held: Vec<_> = window.iter().map(|(_, entry)| entry.item).collect();
    held.sort_unstable();
    assert_eq!(held, ["first", "second"]);
    assert_eq!(fixture.written().len(), 2);

    let sent_at = fixture.now;
    fixture.now += SECOND;
    let event = fixture.receive(second, submit_sm_resp());
    let expected = Event::Response {
        pdu: Pdu::request(second, submit_sm_resp()),
        context: "second",
        sent_at,
        late: false,
    };
    assert_eq!(event, expected);
    // An unknown operation is settled as well.
    let status = CommandStatus::ESME_RINVCMDID;
    let event = fixture.receive_with(status, first, Body::GenericNack);
    assert!(matches!(event, Event::Response { pdu, context: "first", .. } if pdu.status == status));
    assert!(fixture.session.window().is_empty());
    // Answered twice.
    assert_eq!(fixture.receive(first, submit_sm_resp()), Event::Nothing);
    assert_eq!(fixture.session.counters().unsolicited, 1);
}

#[test]
fn a_response_of_another_kind_accepts_nothing() {
    for body in [
        Body::GenericNack,
        Body::DeliverSmResp(SubmitSmResp::default()),
        Body::DataSmResp(SubmitSmResp::default()),
    ] {
        let mut fixture = Fixture::client(BindType::Transmitter);
        let sequence = fixture.send("first").unwrap();
        let event = fixture.receive(sequence, body.clone());
        let refused = CommandStatus::ESME_RUNKNOWNERR;
        assert!(
            matches!(&event, Event::Response { pdu, context: "first", .. } if pdu.status == refused),
            "{event:?}"
        );
        assert_eq!(fixture.session.counters().other_responses, 1);
        // What it says otherwise counts.
        let status = CommandStatus::ESME_RTHROTTLED;
        let sequence = fixture.send("second").unwrap();
        let event = fixture.receive_with(status, sequence, body);
        assert!(matches!(&event, Event::Response { pdu, .. } if pdu.status == status));
    }
}

#[test]
fn an_unreadable_answer_still_settles_the_request() {
    let mut fixture = Fixture::client(BindType::Transmitter);
    let sequence = fixture.send("first").unwrap();
    let event = fixture.receive_raw(CommandId::SUBMIT_SM_RESP, sequence, &[b'x'; 300]);
    let empty = Body::SubmitSmResp(SubmitSmResp::default());
    assert!(matches!(event, Event::Response { pdu, context: "first", .. } if pdu.body == empty));
    assert_eq!(fixture.session.counters().unreadable_responses, 1);
}

#[test]
fn only_the_right_direction_may_send() {
    for mut fixture in [
        Fixture::new(Role::Server),
        Fixture::new(Role::Client),
        Fixture::server(BindType::Transmitter),
        Fixture::client(BindType::Receiver),
    ] {
        assert_eq!(fixture.send("x"), Err(SendError::NotBound));
        assert_eq!(fixture.session.room(), 0);
        assert!(fixture.out.is_empty());
    }
    assert!(Fixture::server(BindType::Receiver).send("x").is_ok());
}

#[test]
fn a_late_answer_is_recognised() {
    let mut fixture = Fixture::client(BindType::Transceiver);
    let sequence = fixture.send("slow").unwrap();
    let sent_at = fixture.now;
    let deadline = fixture.next_deadline();
    assert_eq!(deadline, Some(sent_at + 30 * SECOND));
    assert_eq!(fixture.tick_after(30 * SECOND).expired, ["slow"]);
    assert_eq!(fixture.session.room(), 2);
    assert!(fixture.session.take_lost().is_empty());
    fixture.now += 299 * SECOND;
    let event = fixture.receive(sequence, submit_sm_resp());
    let expected = Event::Response {
        pdu: Pdu::request(sequence, submit_sm_resp()),
        context: "slow",
        sent_at,
        late: true,
    };
    assert_eq!(event, expected);
}

#[test]
fn lateness_is_remembered_for_five_minutes() {
    let mut fixture = Fixture::client(BindType::Transceiver);
    let sequence = fixture.send("slow").unwrap();
    fixture.tick_after(30 * SECOND);
    fixture.tick_after(300 * SECOND);
    assert_eq!(fixture.receive(sequence, submit_sm_resp()), Event::Nothing);
}

#[test]
fn what_is_unanswered_at_the_end_is_handed_over() {
    let mut fixture = Fixture::client(BindType::Transceiver);
    fixture.send("first").unwrap();
    fixture.send("second").unwrap();
    assert_eq!(fixture.session.take_lost(), ["first", "second"]);
    assert!(fixture.session.take_lost().is_empty());
}

// === binding, client side ===

#[test]
fn client_bind_refused_nacked_or_unanswered() {
    let mut fixture = Fixture::new(Role::Client);
    let now = fixture.now;
    let bind_type = BindType::Transceiver;
    fixture
        .session
        .bind(now, bind_type, bind(0x34), &mut fixture.out);
    assert_eq!(fixture.session.state(), SessionState::Binding);
    let sequence = fixture.written()[0].sequence;
    let status = CommandStatus::ESME_RINVPASWD;
    let body = Body::BindTransceiverResp(BindResp::default());
    let resp = Some(BindResp::default());
    assert_eq!(
        fixture.receive_with(status, sequence, body),
        Event::BindResult { status, resp }
    );
    assert_eq!(fixture.session.state(), SessionState::Open);

    fixture
        .session
        .bind(now, bind_type, bind(0x34), &mut fixture.out);
    let sequence = fixture.written()[0].sequence;
    let status = CommandStatus::ESME_RINVCMDID;
    let resp = None;
    assert_eq!(
        fixture.receive_with(status, sequence, Body::GenericNack),
        Event::BindResult { status, resp }
    );

    fixture
        .session
        .bind(now, bind_type, bind(0x34), &mut fixture.out);
    assert_eq!(fixture.tick_after(9 * SECOND).close, None);
    let tick = fixture.tick_after(SECOND);
    assert_eq!(tick.close, Some(CloseReason::BindTimeout));
}

#[test]
fn the_server_s_version_is_learnt_from_its_bind_resp() {
    for (ours, raw, version) in [
        (0x50, &b""[..], 0x34),
        (0x50, b"\x02\x10\x00\x01\x50", 0x50),
        (0x50, b"\x02\x10\x00\x01\x33", 0x33),
        // What we did not bind with we do not speak.
        (0x34, b"\x02\x10\x00\x01\x50", 0x34),
        (0x33, b"", 0x33),
    ] {
        let mut fixture = Fixture::speaking(Role::Client, ours);
        let now = fixture.now;
        let bind_type = BindType::Transmitter;
        fixture
            .session
            .bind(now, bind_type, bind(ours), &mut fixture.out);
        let resp = BindResp {
            system_id: Bytes::from_static(b"op"),
            tlvs: Tlvs::from_raw(Bytes::copy_from_slice(raw)),
        };
        fixture.receive(1, Body::BindTransmitterResp(resp));
        assert_eq!(fixture.session.state(), SessionState::Bound(bind_type));
        assert_eq!(fixture.session.peer_version(), version);
    }
}

// === timers and the end ===

#[test]
fn a_silent_peer_is_asked_and_then_left() {
    let mut fixture = Fixture::server(BindType::Receiver);
    assert_eq!(fixture.tick_after(30 * SECOND).close, None);
    let (command_id, _, sequence) = fixture.answer();
    assert_eq!(command_id, CommandId::ENQUIRE_LINK);
    assert_eq!(
        fixture.receive(sequence, Body::EnquireLinkResp),
        Event::Nothing
    );
    assert_eq!(fixture.session.counters().unsolicited, 0);
    fixture.tick_after(30 * SECOND);
    assert_eq!(fixture.answer().0, CommandId::ENQUIRE_LINK);
    assert_eq!(fixture.tick_after(9 * SECOND).close, None);
    let tick = fixture.tick_after(SECOND);
    assert_eq!(tick.close, Some(CloseReason::EnquireLinkTimeout));
}

#[test]
fn the_peer_unbinds() {
    let mut fixture = Fixture::server(BindType::Transceiver);
    let sequence = fixture.send("ours").unwrap();
    fixture.written();
    assert!(matches!(fixture.receive(2, submit_sm()), Event::Request(_)));
    assert_eq!(fixture.receive(3, Body::Unbind), Event::Unbind);
    // Its answer waits for the one to 2.
    assert_eq!(fixture.written(), []);
    assert_eq!(fixture.session.state(), SessionState::Leaving);
    assert_eq!(fixture.send("late"), Err(SendError::NotBound));
    // What it answers on its way out still counts.
    let event = fixture.receive(sequence, Body::DeliverSmResp(SubmitSmResp::default()));
    assert!(matches!(
        event,
        Event::Response {
            context: "ours",
            ..
        }
    ));
    // Nothing new is accepted, and no enquire_link is sent.
    let unbound = CommandStatus::ESME_RINVBNDSTS;
    for body in [submit_sm(), Body::Unbind, Body::BindTransceiver(bind(0x34))] {
        let command_id = body.command_id().response();
        fixture.receive(4, body);
        assert_eq!(fixture.answer(), (command_id, unbound, 4));
    }
    assert_eq!(fixture.tick_after(600 * SECOND).close, None);
    fixture.session.answer_unbind(&mut fixture.out);
    let ok = CommandStatus::ESME_ROK;
    assert_eq!(fixture.answer(), (CommandId::UNBIND_RESP, ok, 3));
    assert_eq!(fixture.session.state(), SessionState::Closed);
    fixture.session.answer_unbind(&mut fixture.out);
    assert_eq!(fixture.written(), [], "answered once");
}

#[test]
fn a_peer_that_says_no_more_may_still_be_answered() {
    let mut fixture = Fixture::server(BindType::Transceiver);
    fixture.session.finish();
    assert_eq!(fixture.session.state(), SessionState::Closed);
    assert_eq!(fixture.send("late"), Err(SendError::NotBound));
    let mut fixture = Fixture::server(BindType::Transceiver);
    fixture.receive(3, Body::Unbind);
    fixture.session.finish();
    fixture.session.answer_unbind(&mut fixture.out);
    assert_eq!(fixture.answer().0, CommandId::UNBIND_RESP);
}

#[test]
fn both_sides_unbind_at_once() {
    let mut fixture = Fixture::server(BindType::Transceiver);
    fixture.session.unbind(fixture.now, &mut fixture.out);
    let ours = fixture.written()[0].sequence;
    assert_eq!(fixture.receive(3, Body::Unbind), Event::Unbind);
    assert_eq!(fixture.receive(ours, Body::UnbindResp), Event::Nothing);
    fixture.session.answer_unbind(&mut fixture.out);
    assert_eq!(fixture.answer().0, CommandId::UNBIND_RESP);
    assert_eq!(fixture.session.state(), SessionState::Closed);
}

#[test]
fn unbind_before_a_bind_is_refused() {
    let mut fixture = Fixture::new(Role::Server);
    fixture.receive(3, Body::Unbind);
    let status = CommandStatus::ESME_RINVBNDSTS;
    assert_eq!(fixture.answer(), (CommandId::UNBIND_RESP, status, 3));
}

#[test]
fn we_unbind() {
    let mut fixture = Fixture::client(BindType::Transceiver);
    let sequence = fixture.send("pending").unwrap();
    fixture.written();
    fixture.session.unbind(fixture.now, &mut fixture.out);
    assert_eq!(fixture.session.state(), SessionState::Unbinding);
    let unbind = fixture.written()[0].sequence;
    assert_ne!(unbind, sequence);
    fixture.receive(40, Body::DeliverSm(SubmitSm::default()));
    assert_eq!(fixture.answer().1, CommandStatus::ESME_RINVBNDSTS);
    let event = fixture.receive(sequence, submit_sm_resp());
    assert!(matches!(event, Event::Response { .. }));
    let event = fixture.receive(unbind, Body::UnbindResp);
    assert_eq!(event, Event::Close(CloseReason::UnbindDone));
}

#[test]
fn what_crosses_the_unbind_of_a_server_is_passed_over() {
    let mut fixture = Fixture::server(BindType::Transceiver);
    fixture.session.unbind(fixture.now, &mut fixture.out);
    let unbind = fixture.written()[0].sequence;
    let event = fixture.receive(40, Body::SubmitSm(SubmitSm::default()));
    assert_eq!(event, Event::Nothing);
    assert!(fixture.written().is_empty());
    let event = fixture.receive(unbind, Body::UnbindResp);
    assert_eq!(event, Event::Close(CloseReason::UnbindDone));
}

#[test]
fn our_unbind_is_not_answered() {
    let mut fixture = Fixture::client(BindType::Transceiver);
    fixture.session.unbind(fixture.now, &mut fixture.out);
    let tick = fixture.tick_after(10 * SECOND);
    assert_eq!(tick.close, Some(CloseReason::UnbindTimeout));
}

#[test]
fn bad_framing_is_nacked_and_ends_the_session() {
    let mut fixture = Fixture::server(BindType::Transceiver);
    let mut buf = BytesMut::from(&b"\xFF\xFF\xFF\xFF\0\0\0\x04\0\0\0\0\0\0\0\x2A"[..]);
    let bad = next_frame(&mut buf, DEFAULT_MAX_PDU).unwrap_err();
    let reason = fixture.session.on_bad_length(bad, &mut fixture.out);
    assert_eq!(reason, CloseReason::BadLength(u32::MAX));
    let status = CommandStatus::ESME_RINVCMDLEN;
    assert_eq!(fixture.answer(), (CommandId::GENERIC_NACK, status, 42));
    assert_eq!(fixture.session.state(), SessionState::Closed);
}

#[test]
fn what_a_peer_falls_silent_on_is_lost_with_the_session() {
    let mut fixture = Fixture::client(BindType::Transceiver);
    fixture.session.config.asks_before_expiry = true;
    let first = fixture.send("answered").unwrap();
    fixture.send("slow").unwrap();
    fixture.now += SECOND;
    fixture.receive(first, submit_sm_resp());
    fixture.written();
    // The peer was heard after both: enquire_link is not needed.
    assert_eq!(fixture.tick_after(29 * SECOND).expired, ["slow"]);
    fixture.written();
    fixture.receive(9, Body::EnquireLinkResp);
    fixture.send("poison").unwrap();
    fixture.written();
    assert_eq!(fixture.tick_after(30 * SECOND).expired, [""; 0]);
    let asked = fixture.written();
    assert_eq!(asked.len(), 1, "once: {asked:?}");
    assert_eq!(asked[0].body, Body::EnquireLink);
    let tick = fixture.tick_after(10 * SECOND);
    assert_eq!(tick.close, Some(CloseReason::EnquireLinkTimeout));
    assert_eq!(tick.expired, [""; 0]);
    assert_eq!(fixture.session.take_lost(), ["poison"]);
}

#[test]
fn a_request_expires_as_soon_as_the_peer_shows_that_it_lives() {
    let mut fixture = Fixture::client(BindType::Transceiver);
    fixture.session.config.asks_before_expiry = true;
    fixture.send("slow").unwrap();
    fixture.now += SECOND;
    fixture.send("later").unwrap();
    fixture.written();
    assert_eq!(fixture.tick_after(29 * SECOND).expired, [""; 0]);
    let asked = fixture.written();
    assert_eq!(fixture.tick_after(SECOND).expired, [""; 0]);
    assert!(fixture.written().is_empty(), "asked already");
    fixture.now += SECOND;
    fixture.receive(asked[0].sequence, Body::EnquireLinkResp);
    assert_eq!(fixture.tick_after(SECOND).expired, ["slow", "later"]);
}
