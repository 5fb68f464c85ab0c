//! Two ends of a connection on a clock that only the tests turn.

use proptest::prelude::*;

use super::*;
use crate::element::Tag;
use crate::hex::octets;
use crate::message::SmRpAddress;
use smsc_sms::tpdu::TpduAddress;

const IMSI: &str = "001010000000001";
const SECOND: Duration = Duration::from_secs(1);

fn config(role: GsupRole, name: &'static str) -> GsupSessionConfig {
    GsupSessionConfig {
        role,
        name: Bytes::from_static(name.as_bytes()),
        ping_every: 20 * SECOND,
        patience: 10 * SECOND,
        request_timeout: 30 * SECOND,
        late: 60 * SECOND,
        window: 3,
    }
}

/// A client, and what its peer would read.
struct Client {
    session: GsupSession<u32>,
    out: BytesMut,
    now: Instant,
}

impl Client {
    fn new() -> Self {
        let (mut out, now) = (BytesMut::new(), Instant::now());
        let session = GsupSession::new(config(GsupRole::Client, "SMSC"), now, &mut out);
        Self { session, out, now }
    }

    /// Behind the handshake.
    fn ready() -> Self {
        let mut client = Self::new();
        client.reads(&octets("0001 FE 06"));
        assert_eq!(client.event(), Some(GsupEvent::Ready(None)));
        client
    }

    fn reads(&mut self, octets: &[u8]) {
        self.session.receive(octets, self.now);
    }

    fn event(&mut self) -> Option<GsupEvent<u32>> {
        self.session.next_event(&mut self.out)
    }

    fn send(&mut self, message: &GsupMessage, token: u32) -> Result<(), GsupNotSent<u32>> {
        self.session.send(message, token, self.now, &mut self.out)
    }

    fn answered(&mut self, answer: &GsupMessage) -> Option<GsupEvent<u32>> {
        let frame = frame_of(answer).unwrap();
        self.reads(&frame);
        self.event()
    }

    fn passes(&mut self, time: Duration) -> GsupTick<u32> {
        self.now += time;
        self.session.on_tick(self.now, &mut self.out)
    }
}

fn request(imsi: &str, message_type: MessageType, reference: u8) -> GsupMessage {
    let address = SmRpAddress::ServiceCentre(TpduAddress::international("49170000"));
    GsupMessage {
        reference: Some(reference),
        destination: Some(address.clone()),
        originator: Some(address),
        user_information: Some(Bytes::from_static(b"\x04")),
        ..GsupMessage::new(message_type, imsi)
    }
}

fn mt(imsi: &str) -> GsupMessage {
    request(imsi, MessageType::MT_FORWARD_SM_REQUEST, 0xFF)
}

fn result_of(message: &GsupMessage, reference: u8) -> GsupMessage {
    GsupMessage {
        reference: Some(reference),
        ..GsupMessage::new(message.message_type.result(), message.imsi.clone())
    }
}

fn token(event: Option<GsupEvent<u32>>) -> u32 {
    match event {
        Some(GsupEvent::Answer(token, _)) => token,
        other => panic!("no answer: {other:?}"),
    }
}

#[test]
fn the_client_answers_the_handshake_of_a_server() {
    let mut client = Client::new();
    assert_eq!(client.send(&mt(IMSI), 1), Err(GsupNotSent::NotReady(1)));
    client.reads(&octets(
        "0011 FE 04 0108 0107 0102 0103 0104 0105 0101 0100",
    ));
    assert_eq!(client.event(), None);
    let names = "0007 08 302F302F3000 0006 01 534D534300 0006 00 534D534300";
    assert_eq!(
        client.out[..],
        octets(&format!("001A FE 05 {names} 0001 FE 06"))
    );
    client.reads(&octets("0001 FE 06"));
    assert_eq!(client.event(), Some(GsupEvent::Ready(None)));
    assert_eq!(client.send(&mt(IMSI), 1), Ok(()));
}

#[test]
fn both_ends_understand_one_another() {
    let now = Instant::now();
    let (mut up, mut down) = (BytesMut::new(), BytesMut::new());
    let mut hlr: GsupSession<u32> =
        GsupSession::new(config(GsupRole::Server, "HLR"), now, &mut down);
    let mut smsc: GsupSession<u32> =
        GsupSession::new(config(GsupRole::Client, "SMSC"), now, &mut up);
    let (mut at_hlr, mut at_smsc) = (Vec::new(), Vec::new());
    for round in 0..6 {
        smsc.receive(&down.split(), now);
        while let Some(event) = smsc.next_event(&mut up) {
            at_smsc.push(event);
        }
        if round == 2 {
            smsc.send(&mt(IMSI), 7, now, &mut up).unwrap();
        }
        hlr.receive(&up.split(), now);
        while let Some(event) = hlr.next_event(&mut down) {
            if let GsupEvent::Message(request) = &event {
                let answer = request.answer(request.message_type.result(), hlr.name());
                hlr.notify(&answer, &mut down).unwrap();
            }
            at_hlr.push(event);
        }
    }
    let name = Bytes::from_static(b"SMSC");
    assert_eq!(at_hlr[0], GsupEvent::Ready(Some(name)));
    assert_eq!(at_hlr[1], GsupEvent::Message(Box::new(mt(IMSI))));
    assert_eq!(at_smsc[0], GsupEvent::Ready(None));
    assert!(
        matches!(&at_smsc[1], GsupEvent::Answer(7, _)),
        "{at_smsc:?}"
    );
    assert_eq!((at_hlr.len(), at_smsc.len(), smsc.held()), (2, 2, 0));
}

#[test]
fn a_client_without_a_name_is_refused() {
    let (mut out, now) = (BytesMut::new(), Instant::now());
    let mut hlr: GsupSession<u32> =
        GsupSession::new(config(GsupRole::Server, "HLR"), now, &mut out);
    assert_eq!(
        out.split()[..],
        octets("0011 FE 04 0108 0107 0102 0103 0104 0105 0101 0100")
    );
    hlr.receive(&octets("0008 FE 05 0005 01 53534D00"), now);
    assert_eq!(
        hlr.next_event(&mut out),
        Some(GsupEvent::Closed(GsupCloseReason::Refused))
    );
    assert_eq!(out[..], octets("0001 FE 07"));
    let mut client = Client::new();
    client.reads(&octets("0001 FE 07"));
    assert_eq!(
        client.event(),
        Some(GsupEvent::Closed(GsupCloseReason::Refused))
    );
    assert_eq!(client.session.state(), GsupSessionState::Closed);
}

#[test]
fn an_mt_answer_is_taken_by_its_subscriber_whatever_its_reference() {
    let mut client = Client::ready();
    let other = "001010000000002";
    client.send(&mt(IMSI), 1).unwrap();
    client.send(&mt(other), 2).unwrap();
    assert_eq!(client.send(&mt(IMSI), 3), Err(GsupNotSent::Busy(3)));
    assert_eq!(token(client.answered(&result_of(&mt(other), 0))), 2);
    assert_eq!(token(client.answered(&result_of(&mt(IMSI), 0))), 1);
    assert_eq!(client.send(&mt(IMSI), 3), Ok(()));
    assert_eq!(client.session.held(), 1);
}

#[test]
fn mo_answers_are_told_apart_by_reference() {
    let mo = |reference| request(IMSI, MessageType::MO_FORWARD_SM_REQUEST, reference);
    let mut client = Client::ready();
    client.send(&mo(1), 1).unwrap();
    client.send(&mo(2), 2).unwrap();
    assert_eq!(client.send(&mo(2), 3), Err(GsupNotSent::Busy(3)));
    // Of another reference, or of another type.
    assert!(matches!(
        client.answered(&result_of(&mo(9), 9)),
        Some(GsupEvent::Message(_))
    ));
    assert!(matches!(
        client.answered(&result_of(&mt(IMSI), 1)),
        Some(GsupEvent::Message(_))
    ));
    assert_eq!(token(client.answered(&result_of(&mo(2), 2))), 2);
    assert_eq!(token(client.answered(&result_of(&mo(1), 1))), 1);
    assert!(matches!(
        client.answered(&result_of(&mo(1), 1)),
        Some(GsupEvent::Message(_))
    ));
}

#[test]
fn a_routing_error_answers_any_request() {
    let mut client = Client::ready();
    client.send(&mt(IMSI), 1).unwrap();
    client
        .send(&request(IMSI, MessageType::MO_FORWARD_SM_REQUEST, 5), 2)
        .unwrap();
    let error = |reference| GsupMessage {
        reference: Some(reference),
        ..GsupMessage::new(MessageType::ROUTING_ERROR, IMSI)
    };
    assert!(matches!(
        client.answered(&error(9)),
        Some(GsupEvent::Message(_))
    ));
    assert_eq!(token(client.answered(&error(0xFF))), 1);
    assert_eq!(token(client.answered(&error(5))), 2);
}

#[test]
fn a_late_answer_is_not_that_of_the_next_request() {
    let mut client = Client::ready();
    client.send(&mt(IMSI), 1).unwrap();
    client.reads(&[]);
    assert_eq!(client.passes(29 * SECOND).expired, []);
    client.reads(&[]);
    assert_eq!(client.passes(SECOND).expired, [1]);
    assert_eq!(client.send(&mt(IMSI), 2), Err(GsupNotSent::Busy(2)));
    assert!(matches!(
        client.answered(&result_of(&mt(IMSI), 0)),
        Some(GsupEvent::Message(_))
    ));
    // It came: the subscriber is free.
    assert_eq!(client.send(&mt(IMSI), 2), Ok(()));
    assert_eq!(token(client.answered(&result_of(&mt(IMSI), 1))), 2);
    // It never comes: free after the time for it.
    client.send(&mt(IMSI), 3).unwrap();
    assert_eq!(client.passes(30 * SECOND).expired, [3]);
    client.reads(&[]);
    assert_eq!(client.passes(59 * SECOND).expired, []);
    assert_eq!(client.session.held(), 1);
    client.reads(&[]);
    assert_eq!(client.passes(SECOND).expired, []);
    assert_eq!(client.session.held(), 0);
    assert_eq!(client.send(&mt(IMSI), 4), Ok(()));
}

#[test]
fn the_window_is_kept_and_what_is_lost_comes_back() {
    let mut client = Client::ready();
    for number in 2..=4 {
        client
            .send(&mt(&format!("00101000000000{number}")), number)
            .unwrap();
    }
    assert_eq!(client.send(&mt(IMSI), 1), Err(GsupNotSent::Full(1)));
    let mut lost = client.session.take_lost();
    lost.sort_unstable();
    assert_eq!(lost, [2, 3, 4]);
    assert_eq!(client.send(&mt(IMSI), 1), Err(GsupNotSent::NotReady(1)));
}

#[test]
fn what_cannot_be_written_is_not_sent() {
    let mut client = Client::ready();
    client.out.clear();
    let wrong = GsupMessage {
        user_information: None,
        ..mt(IMSI)
    };
    let sent = client.send(&wrong, 1);
    assert!(matches!(sent, Err(GsupNotSent::Unwritable(1, error)) if error.tag == Tag::SM_RP_UI));
    assert_eq!((client.session.held(), client.out.len()), (0, 0));
}

#[test]
fn requests_that_lack_something_are_reported_with_what_they_have() {
    let mut client = Client::ready();
    client.reads(&octets("0010 EE 05 2C 01 08 00010100000000F1 40 01 2A 00"));
    let Some(GsupEvent::Malformed(malformed)) = client.event() else {
        panic!("nothing malformed");
    };
    assert_eq!(malformed.problem, ElementProblem::CutShort);
    client.reads(&octets("000F EE 05 2C 01 08 00010100000000F1 40 01 2A"));
    let Some(GsupEvent::Malformed(malformed)) = client.event() else {
        panic!("nothing malformed");
    };
    assert_eq!(
        (malformed.tag, malformed.problem),
        (Tag::SM_ALERT_REASON, ElementProblem::Missing)
    );
    let refusal = GsupMessage {
        rp_cause: Some(96),
        ..malformed.message.answer(
            malformed.message.message_type.error(),
            client.session.name(),
        )
    };
    assert_eq!(client.session.notify(&refusal, &mut client.out), Ok(()));
}

#[test]
fn silence_is_asked_and_then_ends_the_session() {
    let mut client = Client::ready();
    client.out.clear();
    assert_eq!(client.passes(19 * SECOND).closed, None);
    assert!(client.out.is_empty());
    client.passes(SECOND);
    assert_eq!(client.out.split()[..], octets("0001 FE 00"));
    client.reads(&octets("0001 FE 01"));
    assert_eq!(
        (client.event(), client.passes(10 * SECOND).closed),
        (None, None)
    );
    client.passes(10 * SECOND);
    assert_eq!(client.out.split()[..], octets("0001 FE 00"));
    assert_eq!(client.passes(9 * SECOND).closed, None);
    assert_eq!(client.passes(SECOND).closed, Some(GsupCloseReason::Silent));
    assert_eq!(client.passes(SECOND).closed, None);
    // A ping of the peer is answered, before the handshake too.
    let mut other = Client::new();
    other.reads(&octets("0001 FE 00"));
    assert_eq!(other.event(), None);
    assert_eq!(other.out.split()[..], octets("0001 FE 01"));
    assert_eq!(
        other.passes(10 * SECOND).closed,
        Some(GsupCloseReason::Silent)
    );
}

#[test]
fn other_streams_are_passed_over_and_a_long_frame_ends_it() {
    let mut client = Client::ready();
    client.reads(&octets(
        "0002 00 AAAA 0003 EE 000000 0001 EE 05 0000 FE 0001 FE 55",
    ));
    assert_eq!(client.event(), None);
    client.reads(&octets("04AE EE"));
    let too_long = FrameTooLong {
        octets: 1_201,
        most: 1_200,
    };
    assert_eq!(
        client.event(),
        Some(GsupEvent::Closed(GsupCloseReason::TooLong(too_long)))
    );
    assert_eq!(client.event(), None);
}

proptest! {
    #[test]
    fn no_octets_panic(pieces in prop::collection::vec(any::<Vec<u8>>(), 0..8)) {
        let mut client = Client::ready();
        for piece in pieces {
            client.reads(&piece);
            while let Some(event) = client.event() {
                if matches!(event, GsupEvent::Closed(_)) {
                    break;
                }
            }
        }
    }

    #[test]
    fn events_do_not_depend_on_how_octets_are_cut(cut in 1_usize..40) {
        let mut stream = BytesMut::new();
        for number in 1..=3 {
            let message = request(IMSI, MessageType::MO_FORWARD_SM_REQUEST, number);
            stream.extend_from_slice(&frame_of(&message).unwrap());
            stream.extend_from_slice(&octets("0001 FE 00"));
        }
        let mut client = Client::ready();
        client.out.clear();
        let mut events = Vec::new();
        for piece in stream.chunks(cut) {
            client.reads(piece);
            while let Some(event) = client.event() {
                events.push(event);
            }
        }
        prop_assert_eq!(events.len(), 3);
        prop_assert_eq!(&client.out[..], &octets("0001 FE 01").repeat(3)[..]);
    }
}
