//! Hostile peers: whatever they send, nothing panics, memory stays bounded, and a session that was
//! bound before continues and gets its receipts.

use std::time::Duration;

use crate::harness::{self, Peer, PeerError, Smsc, pdu, submit};
use bytes::Bytes;
use rand::{Rng as _, RngExt as _, SeedableRng as _, rngs::SmallRng};
use smsc::smpp::{BindRequest, Body, CommandId, CommandStatus, SubmitSm};

/// Time to bind, configured short for the tests that reach its end.
const SESSION_INIT: &str = "session_init_timeout = \"5s\"";
/// A small buffer for responses that are not read, and early enquire_link.
const IMPATIENT: &str = "write_buffer_kib = 1024\nresponse_timeout = \"2s\"\n\
    enquire_link_interval = \"2s\"\nenquire_link_timeout = \"10s\"";
/// PDUs of a flood that must not be accepted completely: 800 MB.
const FLOOD: u32 = 100_000;
/// Growth of resident memory that is attributed to warm caches and the allocator, in KiB.
const MEMORY_SLACK_KIB: u64 = 64 * 1024;

/// An SMSC, and a well-behaved session that must not be affected.
struct Siege {
    smsc: Smsc,
    bystander: Peer,
    memory_before: u64,
}

impl Siege {
    fn begin() -> Self {
        Self::begin_with("")
    }

    /// With more keys of `[smpp]`.
    fn begin_with(keys: &str) -> Self {
        let smsc = Smsc::new()
            .smpp(keys)
            .account("test", "test")
            .account("other", "other")
            .account("late", "late")
            .route("", "test:delivered")
            .start();
        let mut bystander = Peer::bind(smsc.smpp(), "test", "test");
        round_trip(&mut bystander);
        let memory_before = smsc.process().memory_kib("VmRSS");
        Self {
            smsc,
            bystander,
            memory_before,
        }
    }

    fn connect(&self) -> Peer {
        Peer::connect(self.smsc.smpp())
    }

    fn bound(&self) -> Peer {
        Peer::bind(self.smsc.smpp(), "other", "other")
    }

    /// Every test here ends with this.
    fn end(mut self) {
        round_trip(&mut self.bystander);
        let mut newcomer = Peer::bind(self.smsc.smpp(), "late", "late");
        round_trip(&mut newcomer);
        let memory = self.smsc.process().memory_kib("VmRSS");
        assert!(
            memory < self.memory_before + MEMORY_SLACK_KIB,
            "{} KiB resident before, {memory} KiB after",
            self.memory_before
        );
        self.smsc.assert_no_panic();
    }
}

/// A message and its receipt.
fn round_trip(esme: &mut Peer) {
    esme.submit(submit("447700900123", "still here"));
    assert_eq!(esme.deliver().esm_class, 0x04);
}

/// A header without a body.
fn header(length: u32, command_id: u32, sequence: u32) -> Vec<u8> {
    [length, command_id, 0, sequence]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect()
}

pub fn bind(system_id: &str, password: &str) -> Body {
    Body::BindTransceiver(BindRequest {
        system_id: Bytes::copy_from_slice(system_id.as_bytes()),
        password: Bytes::copy_from_slice(password.as_bytes()),
        interface_version: 0x34,
        ..BindRequest::default()
    })
}

#[test]
fn pain_12_random_octets() {
    let siege = Siege::begin();
    let mut random = SmallRng::seed_from_u64(20_260);
    for bound in [false, true] {
        for _ in 0..100 {
            let mut peer = if bound {
                siege.bound()
            } else {
                siege.connect()
            };
            let mut octets = vec![0; random.random_range(1..4_000)];
            random.fill_bytes(&mut octets);
            // The SMSC may close before everything is sent.
            let _ = peer.try_send(&octets);
            peer.finish();
            peer.until_closed();
        }
    }
    siege.end();
}

#[test]
fn random_bodies_in_sound_frames_are_each_answered() {
    let siege = Siege::begin();
    let mut random = SmallRng::seed_from_u64(20_261);
    let mut peer = siege.bound().lenient();
    // Not unbind, which would end the session.
    let commands: Vec<CommandId> = CommandId::ALL
        .iter()
        .copied()
        .filter(|id| id.has_response() && *id != CommandId::UNBIND)
        .collect();
    for sequence in 1..=2_000 {
        let command_id = commands[random.random_range(0..commands.len())];
        let mut body = vec![0; random.random_range(0..300)];
        random.fill_bytes(&mut body);
        let mut octets = header(16 + body.len() as u32, command_id.0, sequence);
        octets.extend(body);
        peer.send(&octets);
        let answer = peer.answer_to(sequence);
        assert_eq!(answer.command_id(), command_id.response(), "{octets:02x?}");
    }
    peer.assert_alive();
    siege.end();
}

#[test]
fn lengths_that_cannot_be_believed_end_the_session() {
    let siege = Siege::begin();
    for bound in [false, true] {
        for length in [0, 1, 15, 65_537, 1 << 24, 1 << 31, u32::MAX] {
            let mut peer = if bound {
                siege.bound()
            } else {
                siege.connect()
            };
            peer.send(&header(length, CommandId::ENQUIRE_LINK.0, 7));
            let said = peer.until_closed();
            assert_eq!(said.len(), 1, "length {length}: {said:?}");
            assert_eq!(said[0].body, Body::GenericNack);
            assert_eq!(said[0].status, CommandStatus::ESME_RINVCMDLEN);
        }
    }
    siege.end();
}

#[test]
fn a_pdu_cut_at_every_octet() {
    let siege = Siege::begin();
    let message = pdu(2, Body::SubmitSm(submit("447700900123", "cut")));
    for cut in 0..message.len() {
        let mut peer = siege.bound();
        peer.send(&message[..cut]);
        peer.finish();
        let said = peer.until_closed();
        assert!(
            said.iter()
                .all(|pdu| !matches!(pdu.body, Body::SubmitSmResp(_))),
            "half a message was answered: {said:?}"
        );
    }
    siege.end();
}

#[test]
fn a_pdu_in_single_octets_is_a_pdu() {
    let siege = Siege::begin();
    let mut peer = siege.bound();
    for octet in pdu(900, Body::SubmitSm(submit("447700900123", "drop by drop"))) {
        peer.send(&[octet]);
    }
    assert_eq!(peer.answer_to(900).status, CommandStatus::ESME_ROK);
    siege.end();
}

#[test]
fn a_bind_and_what_follows_it_in_one_segment() {
    let siege = Siege::begin();
    let mut peer = siege.connect();
    let mut octets = pdu(1, bind("other", "other"));
    octets.extend(pdu(2, Body::SubmitSm(submit("447700900123", "at once"))));
    octets.extend(pdu(3, Body::EnquireLink));
    peer.send(&octets);
    for sequence in [1, 2, 3] {
        let answer = peer.expect("the answers", |pdu| pdu.command_id().is_response());
        // A commit takes longer than an enquire_link: 2 and 3 may come in either order.
        assert_eq!(answer.status, CommandStatus::ESME_ROK, "{answer:?}");
        assert!(sequence != 1 || answer.sequence == 1, "{answer:?}");
    }
    siege.end();
}

#[test]
fn a_slow_bind_is_cut_off_when_its_time_is_up() {
    let siege = Siege::begin_with(SESSION_INIT);
    let mut peer = siege.connect();
    // More than thirty octets: the whole bind would take three times as long as its time.
    let octets = pdu(1, bind("other", "other"));
    let mut rest = octets.iter();
    let closed = harness::within(harness::PATIENCE, || {
        if let Some(octet) = rest.next() {
            // This fails once the SMSC has closed the connection, which the read below detects.
            let _ = peer.try_send(&[*octet]);
        }
        match peer.next(Duration::from_millis(500)) {
            Err(PeerError::Closed) => Some(()),
            Err(PeerError::Silence) => None,
            Ok(pdu) => panic!("an answer to a bind that was never whole: {pdu:?}"),
        }
    });
    assert!(closed.is_some(), "a slow bind is kept for ever");
    assert!(
        rest.next().is_some(),
        "the bind was finished before its time was up"
    );
    siege.end();
}

#[test]
fn a_thousand_connections_without_a_bind() {
    let siege = Siege::begin_with(SESSION_INIT);
    let mut idle: Vec<Peer> = (0..1_000).map(|_| siege.connect()).collect();
    let mut newcomer = siege.bound();
    round_trip(&mut newcomer);
    for peer in &mut idle {
        peer.until_closed();
    }
    siege.end();
}

#[test]
fn requests_before_a_bind_are_refused() {
    let siege = Siege::begin();
    let mut peer = siege.connect();
    let requests = [
        Body::SubmitSm(submit("447700900123", "too early")),
        Body::DeliverSm(SubmitSm::default()),
        Body::Unbind,
    ];
    for (sequence, body) in (1..).zip(requests) {
        let asked = body.command_id();
        peer.send(&pdu(sequence, body));
        let answer = peer.answer_to(sequence);
        assert_eq!(answer.status, CommandStatus::ESME_RINVBNDSTS, "{asked}");
        assert_eq!(answer.command_id(), asked.response());
    }
    siege.end();
}

#[test]
fn requests_that_do_not_fit_the_bind_are_refused() {
    let siege = Siege::begin();
    let mut receiver = siege.connect();
    let bound = receiver.bind_as(Body::BindReceiver, "other", "other");
    assert_eq!(bound, CommandStatus::ESME_ROK);
    let sequence = receiver.request(Body::SubmitSm(submit("447700900123", "by a receiver")));
    assert_eq!(
        receiver.answer_to(sequence).status,
        CommandStatus::ESME_RINVBNDSTS
    );
    let sequence = receiver.request(bind("other", "other"));
    assert_eq!(
        receiver.answer_to(sequence).status,
        CommandStatus::ESME_RALYBND
    );
    receiver.assert_alive();
    siege.end();
}

#[test]
fn operations_that_say_nothing_are_answered_with_their_own_response() {
    let siege = Siege::begin();
    let mut peer = siege.bound();
    for command_id in [
        CommandId::QUERY_SM,
        CommandId::REPLACE_SM,
        CommandId::CANCEL_SM,
        CommandId::SUBMIT_MULTI,
        CommandId::DATA_SM,
        CommandId::BROADCAST_SM,
        CommandId::QUERY_BROADCAST_SM,
        CommandId::CANCEL_BROADCAST_SM,
    ] {
        let sequence = peer.request(Body::empty(command_id).expect("a known command"));
        let answer = peer.answer_to(sequence);
        assert_eq!(answer.command_id(), command_id.response());
        assert_ne!(answer.status, CommandStatus::ESME_ROK, "{command_id}");
    }
    // They are never answered, and do not end the session.
    for command_id in [CommandId::ALERT_NOTIFICATION, CommandId::OUTBIND] {
        peer.request(Body::empty(command_id).expect("a known command"));
    }
    peer.assert_alive();
    siege.end();
}

#[test]
fn unknown_operations_get_a_generic_nack() {
    let siege = Siege::begin();
    let mut peer = siege.bound();
    for (sequence, command_id) in (1_000..).zip([0, 0x0A, 0x33, 0x0001_0200, 0x7FFF_FFFF]) {
        peer.send(&header(16, command_id, sequence));
        let answer = peer.answer_to(sequence);
        assert_eq!(answer.body, Body::GenericNack, "{command_id:#x}");
        assert_eq!(answer.status, CommandStatus::ESME_RINVCMDID);
    }
    // Responses to no request, known and unknown, are ignored.
    for command_id in [0x8000_0000, 0x8000_0004, 0x8000_0005, 0xFFFF_FFFF] {
        peer.send(&header(16, command_id, 5_000));
    }
    peer.assert_alive();
    siege.end();
}

#[test]
fn the_largest_pdu_is_taken() {
    let siege = Siege::begin();
    let mut peer = siege.bound();
    let mut message = submit("447700900123", "");
    let room = 65_536 - pdu(1, Body::SubmitSm(message.clone())).len() - 4;
    message
        .tlvs
        .push(smsc::smpp::tag::MESSAGE_PAYLOAD, &vec![b'x'; room]);
    let octets = pdu(1_000, Body::SubmitSm(message));
    assert_eq!(octets.len(), 65_536);
    peer.send(&octets);
    let answer = peer.answer_to(1_000);
    assert_eq!(answer.command_id(), CommandId::SUBMIT_SM_RESP);
    peer.assert_alive();
    siege.end();
}

#[test]
fn a_peer_that_never_reads_is_cut_off() {
    let mut siege = Siege::begin_with(IMPATIENT);
    let mut deaf = siege.bound();
    let requests: Vec<u8> = (0..512).flat_map(|_| pdu(9, Body::EnquireLink)).collect();
    // Responses pile up until the socket is full and the SMSC reads no more.
    let is_full = (0..FLOOD).any(|turn| {
        // The bystander is asked for life meanwhile, and has to answer in time.
        if turn.is_multiple_of(64) {
            siege.bystander.assert_alive();
        }
        deaf.try_send_now(&requests).is_err()
    });
    assert!(
        is_full,
        "the SMSC still reads from a peer that takes no answers"
    );
    let admin = siege.smsc.admin();
    harness::until("the end of the session", || {
        siege.bystander.assert_alive();
        let list = admin.get("/v1/binds");
        let binds = list["binds"].as_array()?;
        binds
            .iter()
            .all(|bind| bind["name"] != "other")
            .then_some(())
    });
    siege.end();
}
