//! Texts whose parts are cut inside a character, or no longer fit once they are written for an operator, arrive as they
//! were; and two texts are never one because of their references.

use std::collections::HashMap;

use bytes::Bytes;
use smsc::carrier::fields::Content;
use smsc::cmpp::Cmpp;
use smsc::cmpp::bodies::Deliver;
use smsc::smpp::{Body, SubmitSm, tag};

use crate::harness::carrier_client::{self, CarrierClient, free_listener, with_client};
use crate::harness::gateway::{FakeGateway, SECRET, SOURCE};
use crate::harness::{
    Cluster, FakeOperator, Peer, Scene, Smsc, accept, stat_of, submit, taken, ucs2,
};
use crate::long_messages::texts::{part_of, whole_of};

const NUMBER: &str = "447700900123";

/// A part of two or more with an 8-bit reference.
fn part(data_coding: u8, (sequence, total): (u8, u8), octets: &[u8]) -> SubmitSm {
    let header = [5, 0, 3, 77, total, sequence];
    SubmitSm {
        esm_class: 0x40,
        data_coding,
        short_message: [&header[..], octets].concat().into(),
        ..submit(NUMBER, "")
    }
}

/// A part with a 16-bit reference.
fn wide(reference: u16, (sequence, total): (u8, u8), text: &str) -> SubmitSm {
    let [high, low] = reference.to_be_bytes();
    let header = [6, 8, 4, high, low, total, sequence];
    SubmitSm {
        esm_class: 0x40,
        short_message: [&header[..], text.as_bytes()].concat().into(),
        ..submit(NUMBER, "")
    }
}

fn scene(account: &str, operator: &str) -> Scene {
    let account = format!("addresses = [\"12345\"]\n{account}");
    Scene::of(&account, operator, |builder| builder)
}

#[test]
fn a_euro_sign_in_two_parts_stays_one() {
    for order in [[1, 2], [2, 1]] {
        let mut scene = scene("", "alphabet = \"latin1\"");
        let parts = [
            part(0, (1, 2), b"10\x1B"),
            part(0, (2, 2), b"e or \x1B\x28more\x1B\x29"),
        ];
        let ids = order.map(|at| scene.esme.submit(parts[at - 1].clone()));
        // Latin-1 has no euro sign.
        let sent = scene.take("theirs");
        assert_eq!(sent.data_coding, 8);
        assert_eq!(sent.payload(), ucs2("10€ or {more}"));
        scene.report("theirs", "DELIVRD");
        let mut told = [0, 1].map(|_| stat_of(&scene.esme.deliver()));
        told.sort();
        let mut expected = ids.map(|id| (id, 2));
        expected.sort();
        assert_eq!(told, expected, "each part has its receipt");
    }
}

#[test]
fn parts_that_are_whole_by_themselves_go_on_as_they_came() {
    let mut scene = scene("", "alphabet = \"latin1\"");
    let ids = [
        scene.esme.submit(part(0, (2, 2), b"\x7D end")),
        scene.esme.submit(part(0, (1, 2), b"gr\x7En\x1B\x28")),
    ];
    let first = scene.take("p1");
    let second = scene.take("p2");
    let mut bodies = [first, second].map(|pdu| {
        let seen = part_of(&pdu).unwrap();
        (seen.sequence, seen.reference, seen.body)
    });
    bodies.sort();
    assert_eq!(bodies[0], (1, 77, b"gr\xFCn{".to_vec()));
    assert_eq!(bodies[1], (2, 77, b"\xF1 end".to_vec()));
    for (id, theirs) in ids.iter().zip(["p1", "p2"]) {
        scene.report(theirs, "DELIVRD");
        assert_eq!(scene.smsc.wait_for_final(id)["state"], "DELIVERED");
    }
    assert_eq!(scene.metric("smsc_messages_assembled_total"), 0.0);
}

#[test]
fn a_converted_text_that_no_longer_fits_is_divided_anew() {
    for (keys, sar) in [("", false), ("", true), ("long_messages = \"udh\"", false)] {
        let mut scene = scene("alphabet = \"latin1\"", keys);
        // Ç is in the GSM alphabet, ç is not: the first part needs UCS-2, the second by itself would not.
        let text = format!("ça va {}", "bien ".repeat(40));
        let octets: Vec<u8> = text.chars().map(|one| one as u8).collect();
        for (sequence, piece) in (1..).zip(octets.chunks(134)) {
            let mut part = part(0, (sequence, 2), piece);
            if sar {
                part.esm_class = 0;
                part.short_message = Bytes::copy_from_slice(piece);
                part.tlvs.push(tag::SAR_MSG_REF_NUM, &[0, 77]);
                part.tlvs.push(tag::SAR_TOTAL_SEGMENTS, &[2]);
                part.tlvs.push(tag::SAR_SEGMENT_SEQNUM, &[sequence]);
            }
            scene.esme.submit(part);
        }
        let first = scene.take("p1");
        let total = part_of(&first).unwrap().total;
        assert_eq!(total, 4, "70 characters less a header each");
        let mut sent = vec![first];
        sent.extend((2..=total).map(|number| scene.take(&format!("p{number}"))));
        assert_eq!(whole_of(&sent), text, "{keys} {sar}");
        let as_it_came = sent[0].tlvs.get(tag::SAR_MSG_REF_NUM).is_some();
        assert_eq!(as_it_came, sar, "numbered as the parts were");
    }
}

/// Two parts in GBK, cut inside 好.
fn gbk_parts() -> [Vec<u8>; 2] {
    // a 你 好 世, GBK: C4E3 BAC3 CAC0.
    let header = |sequence| vec![5, 0, 3, 9, 2, sequence];
    [
        [header(1), vec![b'a', 0xC4, 0xE3, 0xBA]].concat(),
        [header(2), vec![0xC3, 0xCA, 0xC0]].concat(),
    ]
}

#[test]
fn a_client_of_cmpp_may_cut_inside_a_character_of_gbk() {
    let (operator, address) = (FakeOperator::listen(), free_listener());
    let smsc = with_client(Smsc::new(), address, "")
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let mut bind = operator.accept_bind();
    smsc.wait_for_binds("up", 1);
    let mut client = CarrierClient::log_in(address, Cmpp::V30);
    for (number, octets) in (1..).zip(gbk_parts()) {
        client.submit(smsc::cmpp::bodies::Submit {
            tp_udhi: 1,
            pk_total: 2,
            pk_number: number,
            ..carrier_client::message(&[carrier_client::NUMBER], 15, &octets)
        });
    }
    let sent = taken(&mut bind, "x");
    assert_eq!((sent.data_coding, sent.payload()), (8, ucs2("a你好世")));
    assert_eq!(sent.tlvs.iter().count(), 0, "nothing of ours: {sent:?}");
}

#[test]
fn a_gateway_of_cmpp_may_cut_inside_a_character_of_gbk() {
    let gateway = FakeGateway::listen(Cmpp::V30);
    let keys = format!(
        "protocol = \"cmpp\"\nsystem_id = {SOURCE:?}\npassword = {SECRET:?}\nwindow = 16\n\
         carrier = {{ version = \"3.0\", service_id = \"SVC\" }}"
    );
    let smsc = Smsc::new()
        .account_with("test", "test", "addresses = [\"10655\"]")
        .route("", "up")
        .operator_with("up", gateway.address(), &keys)
        .start();
    let mut line = gateway.accept(0);
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for (msg_id, octets) in (1..).zip(gbk_parts()) {
        line.deliver(Deliver {
            msg_id,
            dest_id: "10655".into(),
            tp_udhi: 1,
            msg_fmt: 15,
            src_terminal_id: "13800138000".into(),
            msg_content: Content(octets.into()),
            ..Deliver::default()
        });
        assert_eq!(line.delivered(), (0, msg_id));
    }
    let got = esme.deliver();
    assert_eq!((got.data_coding, got.payload()), (8, ucs2("a你好世")));
}

#[test]
fn a_surrogate_pair_in_two_parts_stays_one_for_a_gateway_with_gbk() {
    let gateway = FakeGateway::listen(Cmpp::V20);
    let keys = format!(
        "protocol = \"cmpp\"\nsystem_id = {SOURCE:?}\npassword = {SECRET:?}\nwindow = 16\n\
         carrier = {{ version = \"2.0\", service_id = \"SVC\", gbk = true }}"
    );
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "up")
        .operator_with("up", gateway.address(), &keys)
        .start();
    let mut line = gateway.accept(0);
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    // U+1F600 as a surrogate pair in two parts, which GBK does not have, and text that it has.
    for (sequence, octets) in [
        (1, &[0x4F, 0x60, 0xD8, 0x3D][..]),
        (2, &[0xDE, 0x00, 0x59, 0x7D]),
    ] {
        esme.submit(part(8, (sequence, 2), octets));
    }
    let sent = line.take(1);
    assert_eq!((sent.msg_fmt, sent.msg_content.0), (8, ucs2("你😀好")));
}

/// The texts of parts by their references, once each is whole.
fn texts_by_reference(parts: Vec<SubmitSm>) -> Vec<String> {
    let mut texts: HashMap<u16, Vec<SubmitSm>> = HashMap::new();
    for part in parts {
        let reference = part_of(&part).unwrap().reference;
        texts.entry(reference).or_default().push(part);
    }
    let mut texts: Vec<String> = texts.into_values().map(|parts| whole_of(&parts)).collect();
    texts.sort();
    texts
}

#[test]
fn two_texts_whose_references_differ_in_the_high_octet_stay_two_over_a_kill() {
    let mut scene = scene("", "long_messages = \"udh\"");
    let texts = ["first ".repeat(30), "other ".repeat(30)];
    let pieces = |text: &str| {
        let (one, two) = text.split_at(140);
        [one.to_owned(), two.to_owned()]
    };
    let references = [0x0101, 0x0201];
    let submit_all = |scene: &mut Scene, at: u8| {
        for (text, reference) in texts.iter().zip(references) {
            let piece = &pieces(text)[usize::from(at) - 1];
            scene.esme.submit(wide(reference, (at, 2), piece));
        }
    };
    submit_all(&mut scene, 1);
    scene.kill_and_start_again();
    submit_all(&mut scene, 2);
    let sent = (0..4).map(|at| scene.take(&format!("p{at}"))).collect();
    assert_eq!(texts_by_reference(sent), texts);
}

#[test]
fn parts_on_different_nodes_become_one_text() {
    let operator = FakeOperator::listen();
    let address = operator.address();
    let cluster = Cluster::of(2)
        .each(move |node| {
            node.account_with("test", "test", "alphabet = \"utf8\"\nmax_binds = 4")
                .operator_with("up", address, "window = 50")
                .route("", "up")
        })
        .start();
    let mut bind = operator.accept_bind();
    let mut esmes = [0, 1].map(|node| Peer::bind(cluster.nodes[node].smpp(), "test", "test"));
    // Cut inside ü, each part at another node.
    let octets = "für dich ist das".as_bytes();
    for (at, esme) in esmes.iter_mut().enumerate() {
        for index in 0..8_u8 {
            let (one, two) = octets.split_at(2);
            let piece = [one, two][at];
            let mut part = part(0, (at as u8 + 1, 2), piece);
            part.destination_addr = format!("44770090012{index}").into();
            esme.submit(part);
        }
    }
    for _ in 0..8 {
        let pdu = bind.expect("a submit_sm", |pdu| matches!(pdu.body, Body::SubmitSm(_)));
        accept(&mut bind, pdu.sequence, "theirs");
        let Body::SubmitSm(sent) = pdu.body else {
            unreachable!("just matched")
        };
        // ü in the alphabet of GSM.
        assert_eq!(sent.payload(), &b"f\x7Er dich ist das"[..]);
    }
}
