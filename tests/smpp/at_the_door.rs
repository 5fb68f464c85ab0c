//! What an account may say of itself and of others: it forges no receipt and no message of a subscriber, a message has one
//! text, and what was taken leniently is written as the standard has it, as another implementation (rusmpp) reads it.

use bytes::{Bytes, BytesMut};
use rusmpp::decode::DecodeWithLength;
use serde_json::json;
use smsc::smpp::{
    Body, CommandId, CommandStatus, DataSm, DestAddress, ReplaceSm, SubmitMulti, SubmitSm, Tlvs,
    tag,
};

use crate::harness::{FakeOperator, Peer, Scene, Smsc, SmscBuilder, submit, until};

const OK: CommandStatus = CommandStatus::ESME_ROK;
const TO: &str = "447700900123";
const SHOP: &str = "12345";

fn tlvs(all: &[(u16, &[u8])]) -> Tlvs {
    let mut tlvs = Tlvs::new();
    all.iter().for_each(|(tag, value)| tlvs.push(*tag, value));
    tlvs
}

fn status(peer: &mut Peer, body: Body) -> CommandStatus {
    let sequence = peer.request(body);
    peer.answer_to(sequence).status
}

/// A message in each operation that submits one.
fn in_every_operation(message: &SubmitSm) -> Vec<Body> {
    let mut as_data = tlvs(&[(tag::MESSAGE_PAYLOAD, &message.short_message)]);
    message
        .tlvs
        .iter()
        .for_each(|(tag, value)| as_data.push(tag, value));
    vec![
        Body::SubmitSm(message.clone()),
        Body::SubmitSm(SubmitSm {
            replace_if_present_flag: 1,
            ..message.clone()
        }),
        Body::DeliverSm(message.clone()),
        Body::DataSm(DataSm {
            source_addr: message.source_addr.clone(),
            source_addr_ton: message.source_addr_ton,
            destination_addr: message.destination_addr.clone(),
            dest_addr_ton: message.dest_addr_ton,
            service_type: message.service_type.clone(),
            esm_class: message.esm_class,
            tlvs: as_data,
            ..DataSm::default()
        }),
        Body::SubmitMulti(SubmitMulti {
            source_addr: message.source_addr.clone(),
            source_addr_ton: message.source_addr_ton,
            service_type: message.service_type.clone(),
            esm_class: message.esm_class,
            short_message: message.short_message.clone(),
            tlvs: message.tlvs.clone(),
            dest_address: vec![DestAddress::Sme {
                dest_addr_ton: message.dest_addr_ton,
                dest_addr_npi: 1,
                destination_addr: message.destination_addr.clone(),
            }],
            ..SubmitMulti::default()
        }),
    ]
}

/// `evil` submits; what goes to 55… reaches the account `shop`, what goes to 46… a peer.
fn with_shop(peer: &FakeOperator, evil: &str) -> SmscBuilder {
    Smsc::new()
        .account_with("evil", "evil", evil)
        .account_with("shop", "shop", &format!("addresses = [\"{SHOP}\"]"))
        .operator_with("peer", peer.address(), "send_as = \"deliver_sm\"")
        .route("55", "shop")
        .route("46", "peer")
        .route("44", "test:delivered")
        .toml("[policy]\nopt_out_keywords = [\"STOP\"]\nopt_in_keywords = [\"START\"]")
}

#[test]
fn nobody_is_told_by_a_customer_how_a_message_ended() {
    let operator = FakeOperator::listen();
    let smsc = with_shop(&operator, "").start();
    let mut peer = operator.accept_bind();
    let mut evil = Peer::bind(smsc.smpp(), "evil", "evil");
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let marks = [
        (0x04, tlvs(&[])),
        (0x20, tlvs(&[])),
        (0x24, tlvs(&[])),
        // Some programs look for one bit only.
        (0x0C, tlvs(&[])),
        (
            0x00,
            tlvs(&[(tag::RECEIPTED_MESSAGE_ID, b"1700000000000000123\0")]),
        ),
        (0x00, tlvs(&[(tag::MESSAGE_STATE, &[2])])),
    ];
    for to in ["5512345", "4612345"] {
        for (esm_class, tlvs) in &marks {
            let forged = SubmitSm {
                esm_class: *esm_class,
                tlvs: tlvs.clone(),
                registered_delivery: 0,
                ..submit(to, "id:1700000000000000123 stat:DELIVRD err:000")
            };
            let expected = match esm_class {
                0 => CommandStatus::ESME_RTLVNOTALLWD,
                _ => CommandStatus::ESME_RINVESMCLASS,
            };
            for body in in_every_operation(&forged) {
                let operation = body.command_id();
                let status = status(&mut evil, body);
                assert_eq!(status, expected, "{operation} {esm_class:#04x} {tlvs:?}");
            }
        }
    }
    // A recipient's acknowledgement is no receipt, and everything else of esm_class stays.
    let acknowledged = |to| SubmitSm {
        esm_class: 0x88,
        registered_delivery: 0,
        ..submit(to, "seen")
    };
    evil.submit(acknowledged("5512345"));
    let delivered = shop.deliver();
    assert_eq!(
        (delivered.esm_class, &delivered.short_message[..]),
        (0x88, &b"seen"[..])
    );
    evil.submit(acknowledged("4612345"));
    assert_eq!(peer.deliver().short_message, "seen");
    smsc.assert_no_panic();
}

#[test]
fn a_replacement_makes_no_receipt_of_a_message() {
    let operator = FakeOperator::listen();
    let smsc = with_shop(&operator, "").start();
    let mut evil = Peer::bind(smsc.smpp(), "evil", "evil");
    // The peer is not bound: it waits.
    let id = evil.submit(submit("4612345", "hello"));
    let with = |tlvs: Tlvs, text: &str| {
        Body::ReplaceSm(ReplaceSm {
            message_id: Bytes::from(id.clone()),
            source_addr: Bytes::from_static(b"12345"),
            short_message: Bytes::copy_from_slice(text.as_bytes()),
            tlvs,
            ..ReplaceSm::default()
        })
    };
    let state: &[(u16, &[u8])] = &[(tag::MESSAGE_STATE, &[2])];
    let refused = CommandStatus::ESME_RTLVNOTALLWD;
    assert_eq!(status(&mut evil, with(tlvs(state), "new")), refused);
    let both: &[(u16, &[u8])] = &[(tag::MESSAGE_PAYLOAD, b"other")];
    let refused = CommandStatus::ESME_RINVOPTPARSTREAM;
    assert_eq!(status(&mut evil, with(tlvs(both), "new")), refused);
    assert_eq!(status(&mut evil, with(tlvs(&[]), "new")), OK);
    assert_eq!(operator.accept_bind().deliver().short_message, "new");
}

/// Whether a number is on the opt-out list of `shop`.
fn is_opted_out(smsc: &Smsc, number: &str) -> bool {
    let list = smsc.admin().get(&format!("/v1/opt-outs?number={number}"));
    !list["opt_outs"].as_array().unwrap().is_empty()
}

#[test]
fn only_a_message_centre_brings_messages_of_subscribers_to_others() {
    let operator = FakeOperator::listen();
    let smsc = with_shop(&operator, "addresses = [\"777\"]").start();
    let mut evil = Peer::bind(smsc.smpp(), "evil", "evil");
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let says = |to: &str, text: &str| {
        Body::DeliverSm(SubmitSm {
            registered_delivery: 0,
            source_addr: Bytes::from_static(TO.as_bytes()),
            ..submit(to, text)
        })
    };
    let refused = CommandStatus::ESME_RINVDSTADR;
    assert_eq!(status(&mut evil, says(SHOP, "I want ten")), refused);
    assert_eq!(status(&mut evil, says(SHOP, "STOP")), refused);
    assert!(
        smsc.log().contains("needs_mobile_originated"),
        "{}",
        smsc.log()
    );
    assert!(!is_opted_out(&smsc, TO));
    // As a submission it goes on, and to an address of its own.
    assert_eq!(status(&mut evil, says(TO, "onwards")), OK);
    assert_eq!(status(&mut evil, says("777", "STOP")), OK);
    assert_eq!(evil.deliver().short_message, "STOP");
    assert!(
        !is_opted_out(&smsc, TO),
        "it is not believed of its own list"
    );

    // The key counts from the next configuration on, also by REST.
    let settings = json!({ "password": "evil", "mobile_originated": true });
    smsc.admin().put("/v1/accounts/evil", &settings);
    until("the account to be a message centre", || {
        (status(&mut evil, says(SHOP, "STOP")) == OK).then_some(())
    });
    assert_eq!(shop.deliver().short_message, "STOP");
    assert!(is_opted_out(&smsc, TO));
    let receipt = Body::DeliverSm(SubmitSm {
        esm_class: 0x04,
        registered_delivery: 0,
        tlvs: tlvs(&[(tag::MESSAGE_STATE, &[2])]),
        ..submit("5512345", "id:7 stat:DELIVRD")
    });
    assert_eq!(status(&mut evil, receipt), OK);
    assert_eq!(shop.deliver().esm_class, 0x04);
    smsc.assert_no_panic();
}

#[test]
fn a_message_has_one_text() {
    let both = |text: &str| SubmitSm {
        tlvs: tlvs(&[(tag::MESSAGE_PAYLOAD, b"payload"), (0x1400, b"x")]),
        registered_delivery: 0,
        ..submit(TO, text)
    };
    let twice = SubmitSm {
        tlvs: tlvs(&[
            (tag::MESSAGE_PAYLOAD, b"first"),
            (tag::MESSAGE_PAYLOAD, b"second"),
        ]),
        registered_delivery: 0,
        ..submit(TO, "")
    };
    let mut scene = Scene::of("addresses = [\"12345\"]", "", |builder| {
        builder
            .account_with("short", "short", "two_texts = \"short_message\"")
            .account_with("long", "long", "two_texts = \"message_payload\"")
    });
    // data_sm has no short_message: `in_every_operation` puts it into a second payload.
    for message in [both("short"), twice.clone()] {
        for body in in_every_operation(&message) {
            let operation = body.command_id();
            let status = status(&mut scene.esme, body);
            assert_eq!(status, CommandStatus::ESME_RINVOPTPARSTREAM, "{operation}");
        }
    }
    let texts = |pdu: &SubmitSm| {
        let payloads = pdu
            .tlvs
            .iter()
            .filter(|(tag, _)| *tag == tag::MESSAGE_PAYLOAD);
        let payloads: Vec<String> = payloads
            .map(|(_, text)| String::from_utf8(text.to_vec()).unwrap())
            .collect();
        (
            String::from_utf8(pdu.short_message.to_vec()).unwrap(),
            payloads,
        )
    };
    let none: [String; 0] = [];
    for (account, message, short, payload) in [
        ("short", both("short"), "short", &none[..]),
        ("short", twice.clone(), "", &["first".to_owned()]),
        ("long", both("short"), "", &["payload".to_owned()]),
        ("long", twice.clone(), "", &["first".to_owned()]),
    ] {
        let id = Peer::bind(scene.smsc.smpp(), account, account).submit(message);
        let sent = scene.take("");
        assert_eq!(
            texts(&sent),
            (short.to_owned(), payload.to_vec()),
            "{account}"
        );
        assert_eq!(
            sent.tlvs.get(0x1400).is_some(),
            !payload.contains(&"first".to_owned())
        );
        let shown = scene
            .smsc
            .admin()
            .get(&format!("/v1/messages/{id}?text=true"));
        let text = match short {
            "" => &payload[0],
            short => short,
        };
        assert_eq!(
            shown["content"]["text"], text,
            "what people see is what was sent"
        );
    }
    // What an operator brings is not lost: its short_message counts.
    let brought = SubmitSm {
        destination_addr: Bytes::from_static(b"12345"),
        ..both("short")
    };
    assert_eq!(status(&mut scene.bind, Body::DeliverSm(brought)), OK);
    assert_eq!(texts(&scene.esme.deliver()), ("short".to_owned(), vec![]));
}

/// What rusmpp reads; it must be all of it.
fn read_by_others(octets: &[u8]) -> rusmpp::Command {
    let mut body = BytesMut::from(&octets[4..]);
    let length = body.len();
    let (command, consumed) = rusmpp::Command::decode(&mut body, length)
        .unwrap_or_else(|error| panic!("{error:?} of {octets:02x?}"));
    assert_eq!(consumed, length);
    command
}

#[test]
fn what_is_taken_leniently_leaves_as_the_standard_has_it() {
    let mut scene = Scene::of("", "", |builder| {
        builder.account_with("strict", "strict", "strict = true")
    });
    let text = |text: &'static [u8]| Bytes::from_static(text);
    let from = |source_addr_ton, octets| SubmitSm {
        source_addr_ton,
        source_addr: text(octets),
        ..submit(TO, "hello")
    };
    let to = |dest_addr_ton, octets| SubmitSm {
        dest_addr_ton,
        destination_addr: text(octets),
        ..submit("", "hello")
    };
    let until = |octets| SubmitSm {
        validity_period: text(octets),
        ..submit(TO, "hello")
    };
    let refused = [
        (
            from(5, b"ABCDEFGHIJKLMNOPQRSTU"),
            CommandStatus::ESME_RINVSRCADR,
        ),
        (
            from(1, b"123456789012345678901234"),
            CommandStatus::ESME_RINVSRCADR,
        ),
        (from(8, b"12345"), CommandStatus::ESME_RINVSRCTON),
        (
            to(1, b"123456789012345678901"),
            CommandStatus::ESME_RINVDSTADR,
        ),
        (to(1, b"44770090012\xb3"), CommandStatus::ESME_RINVDSTADR),
        (to(1, b"44770090012\x1b"), CommandStatus::ESME_RINVDSTADR),
        (to(0xFF, b"447700900123"), CommandStatus::ESME_RINVDSTTON),
        (
            SubmitSm {
                service_type: text(b"SERVICE"),
                ..submit(TO, "hello")
            },
            CommandStatus::ESME_RINVSERTYP,
        ),
    ];
    let mut strict = Peer::bind(scene.smsc.smpp(), "strict", "strict");
    for (message, expected) in refused {
        for body in in_every_operation(&message) {
            let operation = body.command_id();
            let status = status(&mut scene.esme, body);
            assert_eq!(status, expected, "{operation} {message:?}");
        }
        assert_eq!(status(&mut strict, Body::SubmitSm(message)), expected);
    }
    let taken = [
        // Names have the octets that they have.
        from(5, b"A.B c-_@!~\x01"),
        from(0, b"SHOP+1"),
        from(7, b"12345"),
        until(b"371231235959"),
        until(b"3712312359599004+"),
        until(b"000001R"),
        until(b"0000010000000R"),
        until(b"000001000000000r"),
        until(b"000000000000"),
        until(b"000000000000000+"),
        SubmitSm {
            priority_flag: 9,
            replace_if_present_flag: 2,
            ..submit(TO, "hello")
        },
    ];
    for message in taken {
        scene.esme.submit(message.clone());
        let (octets, sent) = scene
            .bind
            .expect_octets("a submit_sm", |pdu| matches!(pdu.body, Body::SubmitSm(_)));
        let Body::SubmitSm(submit) = sent.body else {
            unreachable!("just matched")
        };
        crate::harness::accept(&mut scene.bind, sent.sequence, "");
        assert_eq!(submit.source_addr, message.source_addr);
        assert!(
            [0, 16].contains(&submit.validity_period.len()),
            "{submit:?}"
        );
        let is_said = message
            .validity_period
            .iter()
            .any(|octet| (b'1'..=b'9').contains(octet));
        assert_eq!(submit.validity_period.is_empty(), !is_said, "{submit:?}");
        assert!(submit.priority_flag <= 3 && submit.replace_if_present_flag <= 1);
        let command = read_by_others(&octets);
        let rusmpp::Pdu::SubmitSm(theirs) = command.pdu().unwrap() else {
            panic!("not a submit_sm: {command:?}")
        };
        let theirs = theirs.validity_period.as_ref();
        assert_eq!(
            theirs.strip_suffix(b"\0").unwrap_or(theirs),
            &submit.validity_period[..]
        );
    }
    scene.smsc.assert_no_panic();
}

#[test]
fn the_answer_to_a_submit_multi_names_what_it_can() {
    let scene = Scene::new("");
    let mut esme = Peer::bind(scene.smsc.smpp(), "test", "test");
    let long = DestAddress::Sme {
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        destination_addr: Bytes::from_static(b"123456789012345678901234"),
    };
    let list = DestAddress::DistributionList {
        dl_name: Bytes::from_static(b"a list with a long name"),
    };
    let fine = DestAddress::Sme {
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        destination_addr: Bytes::from_static(TO.as_bytes()),
    };
    esme.request(Body::SubmitMulti(SubmitMulti {
        dest_address: vec![long, list, fine],
        short_message: Bytes::from_static(b"hello"),
        ..SubmitMulti::default()
    }));
    let (octets, answer) = esme.expect_octets("the answer", |pdu| {
        pdu.command_id() == CommandId::SUBMIT_MULTI_RESP
    });
    read_by_others(&octets);
    let Body::SubmitMultiResp(resp) = answer.body else {
        panic!("{answer:?}")
    };
    let failures: Vec<(&[u8], CommandStatus)> = resp
        .unsuccess_sme
        .iter()
        .map(|one| (&one.destination_addr[..], one.error_status_code))
        .collect();
    assert_eq!(
        failures,
        [
            (&b"a list with a long n"[..], CommandStatus::ESME_RINVDLNAME),
            (&b"12345678901234567890"[..], CommandStatus::ESME_RINVDSTADR),
        ]
    );
}
