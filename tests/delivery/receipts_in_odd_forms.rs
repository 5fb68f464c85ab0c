//! Receipts that are hard to read: two ids, several messages, a text that quotes what a receipt says, and ids of any
//! octets. Each ends the message that it is about, in the state that it says, or none.

use std::time::Duration;

use crate::harness::{
    self, Cluster, FakeOperator, PATIENCE, Peer, PeerError, Scene, database, migrate, next_submit,
    receipt, send_receipt, stat_of, submit, taken, until, within,
};
use bytes::{Bytes, BytesMut};
use smsc::smpp::{Body, CommandStatus, Pdu, SubmitSm, SubmitSmResp, tag};

/// Long enough for a receipt to arrive, if there were one.
const QUIET: Duration = Duration::from_millis(700);

const DELIVERED: u32 = 2;
const UNDELIVERABLE: u32 = 5;

fn report(bind: &mut Peer, said: SubmitSm) {
    assert_eq!(send_receipt(bind, said), CommandStatus::ESME_ROK);
}

/// Part of a receipt, with a user data header in front of its octets.
fn headed(reference: u8, total: u8, number: u8, text: &[u8]) -> SubmitSm {
    SubmitSm {
        esm_class: 0x44,
        short_message: [&[5, 0, 3, reference, total, number], text].concat().into(),
        ..receipt("")
    }
}

/// Part of a receipt, with sar_ parameters.
fn sar(reference: u8, total: u8, number: u8, text: &[u8]) -> SubmitSm {
    let mut part = SubmitSm {
        short_message: Bytes::copy_from_slice(text),
        ..receipt("")
    };
    part.tlvs.push(tag::SAR_MSG_REF_NUM, &[0, reference]);
    part.tlvs.push(tag::SAR_TOTAL_SEGMENTS, &[total]);
    part.tlvs.push(tag::SAR_SEGMENT_SEQNUM, &[number]);
    part
}

#[test]
fn the_id_in_the_text_counts_when_that_in_the_tlv_matches_nothing() {
    let mut scene = Scene::new("");
    let id = scene.submit_as("ours-1");
    let mut said = receipt("id:ours-1 stat:DELIVRD err:000");
    said.tlvs
        .push(tag::RECEIPTED_MESSAGE_ID, b"something-else\0");
    report(&mut scene.bind, said.clone());
    assert_eq!(stat_of(&scene.esme.deliver()), (id, DELIVERED));

    // Not when it matches: another message has the id in the text.
    let named = scene.submit_as("named");
    let quoted = scene.submit_as("quoted");
    let mut said = receipt("id:quoted stat:UNDELIV err:001");
    said.tlvs.push(tag::RECEIPTED_MESSAGE_ID, b"named\0");
    report(&mut scene.bind, said);
    assert_eq!(stat_of(&scene.esme.deliver()), (named, UNDELIVERABLE));
    // Nor for a message to somebody else.
    let mut said = receipt("id:quoted stat:UNDELIV err:001");
    said.source_addr = Bytes::from_static(b"447700900999");
    said.tlvs.push(tag::RECEIPTED_MESSAGE_ID, b"nothing\0");
    report(&mut scene.bind, said);
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence));
    assert_eq!(scene.message(&quoted)["state"], "ENROUTE");
}

#[test]
fn a_text_that_is_quoted_says_nothing() {
    let mut scene = Scene::new("");
    let id = scene.submit_as("q1");
    for text in [
        "id:q1 sub:001 err:000 text:stat:DELIVRD dlvrd:001",
        "id:q1 err:000 text:hello dlvrd:001",
    ] {
        report(&mut scene.bind, receipt(text));
    }
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence));
    assert_eq!(scene.message(&id)["state"], "ENROUTE");
    report(
        &mut scene.bind,
        receipt("id:q1 stat:UNDELIV err:003 text:stat:DELIVRD"),
    );
    assert_eq!(stat_of(&scene.esme.deliver()), (id, UNDELIVERABLE));
}

#[test]
fn an_id_may_have_any_octets() {
    for keys in ["", "message_id = \"as_is\""] {
        let mut scene = Scene::new(keys);
        for theirs in [&b"id\xe9\xff\x80"[..], "é-17".as_bytes()] {
            let id = scene.submit();
            let (sequence, _) = next_submit(&mut scene.bind);
            let body = Body::SubmitSmResp(SubmitSmResp {
                message_id: Bytes::copy_from_slice(theirs),
                ..SubmitSmResp::default()
            });
            let mut out = BytesMut::new();
            Pdu::response(CommandStatus::ESME_ROK, sequence, body).encode(&mut out);
            scene.bind.send(&out);
            let said = SubmitSm {
                short_message: [b"id:", theirs, b" stat:DELIVRD err:000"].concat().into(),
                ..receipt("")
            };
            report(&mut scene.bind, said);
            assert_eq!(
                stat_of(&scene.esme.deliver()),
                (id, DELIVERED),
                "{theirs:?}"
            );
        }
    }
}

const FIRST: &[u8] = b"id:long sub:001 dlvrd:001 submit date:2601010000 done date:2601010001 st";
const SECOND: &[u8] = b"at:UNDELIV err:034 text:Hello";

/// The parts of a receipt over these binds of the operator, and its end.
fn in_two_parts(mut scene: Scene, parts: [SubmitSm; 2], between: fn(&mut Scene)) {
    let id = scene.submit_as("long");
    let [one, other] = parts;
    report(&mut scene.bind, one);
    assert_eq!(
        scene.esme.next(QUIET),
        Err(PeerError::Silence),
        "half of it"
    );
    assert_eq!(scene.message(&id)["state"], "ENROUTE");
    between(&mut scene);
    report(&mut scene.bind, other);
    assert_eq!(stat_of(&scene.esme.deliver()), (id.clone(), UNDELIVERABLE));
    assert_eq!(scene.message(&id)["final"]["error"], "034");
    assert_eq!(scene.esme.next(QUIET), Err(PeerError::Silence), "told once");
    until("nothing to be left", || {
        (scene.metric("smsc_receipts_parked") == 0.0).then_some(())
    });
    let list = scene.smsc.admin().get("/v1/receipts/unmatched");
    assert_eq!(list["receipts"].as_array().unwrap().len(), 0, "{list}");
}

fn nothing(_: &mut Scene) {}

#[test]
fn a_receipt_in_two_messages_is_put_together() {
    for make in [headed, sar] {
        let (one, other) = (make(7, 2, 1, FIRST), make(7, 2, 2, SECOND));
        in_two_parts(Scene::new(""), [one.clone(), other.clone()], nothing);
        in_two_parts(Scene::new(""), [other, one], nothing);
    }
    let parts = [headed(7, 2, 1, FIRST), headed(7, 2, 2, SECOND)];
    in_two_parts(Scene::new(""), parts, Scene::kill_and_start_again);
}

#[test]
fn a_receipt_in_two_messages_is_put_together_in_postgresql() {
    let database = database();
    migrate(database.url());
    let scene = Scene::with("", |builder| {
        builder.toml(&format!("[postgres]\nurl = {:?}", database.url()))
    });
    in_two_parts(
        scene,
        [headed(7, 2, 1, FIRST), headed(7, 2, 2, SECOND)],
        nothing,
    );
}

/// The node that has the first half dies; the second half comes to another one. Neither knows what to do with its half.
#[test]
fn halves_of_a_receipt_that_come_to_two_nodes_are_put_together() {
    let operator = FakeOperator::listen();
    let address = operator.address();
    let mut cluster = Cluster::of(3)
        .short_lease()
        .roles(0, &["smpp", "http"])
        .roles(1, &["delivery", "http", "janitor"])
        .roles(2, &["delivery", "http", "janitor"])
        .each(move |node| {
            node.account("test", "test")
                .operator("up", address)
                .route("", "up")
        })
        .start();
    let mut bind = operator.accept_bind();
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let id = esme.submit(submit("447700900123", "hello"));
    taken(&mut bind, "long");
    // A node that dies before that makes another one send it again.
    until("the answer to be written", || {
        (cluster.nodes[0].message(&id)?["stage"] == "handed over").then_some(())
    });
    report(&mut bind, headed(7, 2, 1, FIRST));
    let has_it = until("the node that has the bind", || {
        (1..=2).find(|node| cluster.binds_of(*node, 0) == 1)
    });
    cluster.nodes[has_it].kill();
    report(&mut operator.accept_bind(), headed(7, 2, 2, SECOND));
    // The janitor looks once a minute; meanwhile the connection is tested.
    let told = within(2 * PATIENCE, || {
        let is_receipt = |pdu: &Pdu| matches!(pdu.body, Body::DeliverSm(_));
        match esme.try_expect(is_receipt).ok()?.body {
            Body::DeliverSm(deliver) => Some(stat_of(&deliver)),
            _ => None,
        }
    });
    assert_eq!(told, Some((id, UNDELIVERABLE)));
}

#[test]
fn parts_of_different_receipts_are_not_mixed() {
    let mut scene = Scene::with("binds = 2", |builder| builder);
    let mut other = scene.operator.accept_bind();
    scene.smsc.wait_for_binds("up", 2);
    let mut ids = Vec::new();
    for theirs in ["a", "b"] {
        let id = scene.submit();
        let binds = &mut [&mut scene.bind, &mut other];
        let (at, sequence) = until("a submit_sm", || {
            binds.iter_mut().enumerate().find_map(|(at, bind)| {
                let pdu = bind.next(Duration::from_millis(20)).ok()?;
                matches!(pdu.body, Body::SubmitSm(_)).then_some((at, pdu.sequence))
            })
        });
        harness::accept(binds[at], sequence, theirs);
        ids.push(id);
    }
    let first = |theirs: &str| format!("id:{theirs} sub:001 dlvrd:001 st").into_bytes();
    report(&mut scene.bind, headed(1, 2, 1, &first("a")));
    report(&mut other, headed(2, 2, 1, &first("b")));
    // The rest over the bind of the other one.
    report(&mut scene.bind, headed(2, 2, 2, b"at:UNDELIV err:001"));
    report(&mut other, headed(1, 2, 2, b"at:DELIVRD err:000"));
    let mut told = [
        stat_of(&scene.esme.deliver()),
        stat_of(&scene.esme.deliver()),
    ];
    told.sort();
    let mut expected = [(ids[0].clone(), DELIVERED), (ids[1].clone(), UNDELIVERABLE)];
    expected.sort();
    assert_eq!(told, expected);
}

#[test]
fn half_of_a_receipt_is_kept_for_people() {
    let mut scene = Scene::new("");
    let id = scene.submit_as("long");
    report(&mut scene.bind, headed(7, 2, 1, FIRST));
    let list = scene.smsc.admin().get("/v1/receipts/unmatched");
    assert_eq!(list["receipts"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(scene.message(&id)["state"], "ENROUTE");
    // What calls itself a part of one is all there is.
    report(
        &mut scene.bind,
        headed(8, 1, 1, b"id:long stat:DELIVRD err:000"),
    );
    assert_eq!(stat_of(&scene.esme.deliver()), (id, DELIVERED));
}
