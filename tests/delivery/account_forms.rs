//! Settings of each account: the form of message_id (SMPP 3.4 §5.2.23) and of receipts (appendix B),
//! and how strictly its PDUs are checked (§5.1.3).

use crate::harness::{self, Peer, Simulator, Smsc, pdu, submit, submit_quietly};
use bytes::{Bytes, BytesMut};
use smsc::smpp::{
    BindRequest, Body, CancelSm, CommandStatus, DataSm, DestAddress, Pdu, QuerySm, ReplaceSm,
    SubmitMulti, SubmitSm, Tlvs, receipt, tag,
};

const TO: &str = "447700900123";
const SOURCE: &str = "12345";

fn text(of: &str) -> Bytes {
    Bytes::copy_from_slice(of.as_bytes())
}

fn asked(peer: &mut Peer, body: Body) -> Pdu {
    let sequence = peer.request(body);
    peer.answer_to(sequence)
}

/// The message id of the response to a submission by any operation.
fn id_in(answer: Pdu) -> String {
    assert_eq!(answer.status, CommandStatus::ESME_ROK);
    let id = match answer.body {
        Body::SubmitSmResp(resp) | Body::DataSmResp(resp) => resp.message_id,
        Body::SubmitMultiResp(resp) => resp.message_id,
        other => panic!("{other:?}"),
    };
    String::from_utf8(id.to_vec()).unwrap()
}

fn data_sm() -> Body {
    let mut tlvs = Tlvs::new();
    tlvs.push(tag::MESSAGE_PAYLOAD, b"hello");
    Body::DataSm(DataSm {
        source_addr: text(SOURCE),
        destination_addr: text(TO),
        registered_delivery: 1,
        tlvs,
        ..DataSm::default()
    })
}

fn submit_multi() -> Body {
    let to = |digits: &str| DestAddress::Sme {
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        destination_addr: text(digits),
    };
    Body::SubmitMulti(SubmitMulti {
        source_addr: text(SOURCE),
        dest_address: vec![to(TO), to("447700900124")],
        registered_delivery: 1,
        short_message: text("hello"),
        ..SubmitMulti::default()
    })
}

/// The id in both places of a receipt, which must be the same.
fn id_of(receipt: &SubmitSm) -> String {
    let in_text = receipt::parse(&receipt.short_message).unwrap().id;
    let in_tlv = receipt.tlvs.get_c_string(tag::RECEIPTED_MESSAGE_ID);
    assert_eq!(in_tlv, Some(in_text.clone()));
    String::from_utf8(in_text.to_vec()).unwrap()
}

#[test]
fn ids_have_the_form_of_their_account() {
    let mut operator = Simulator::new();
    let smsc = Smsc::new()
        .account("plain", "plain")
        .account_with("hex", "hex", "message_id = \"hex\"")
        .account_with(
            "wide",
            "wide",
            "message_id = \"hex\"\nmessage_id_length = 20",
        )
        .account_with("long", "long", "message_id_length = 24")
        .operator("up", operator.address())
        .route("", "up")
        .start();
    let hexadecimal = |id: &str| id.bytes().all(|digit| b"0123456789ABCDEF".contains(&digit));
    let number = |id: &str, base| u64::from_str_radix(id, base).unwrap();
    let mut peers = Vec::new();
    for (name, length, base) in [
        ("plain", 19, 10),
        ("hex", 16, 16),
        ("wide", 20, 16),
        ("long", 24, 10),
    ] {
        let mut peer = Peer::bind(smsc.smpp(), name, name);
        let mut given = Vec::new();
        for body in [
            Body::SubmitSm(submit(TO, "hello")),
            data_sm(),
            submit_multi(),
        ] {
            let id = id_in(asked(&mut peer, body));
            assert_eq!(id.len(), length, "{name}: {id}");
            assert!(hexadecimal(&id), "{name}: {id}");
            // The admin API accepts any form of it.
            let shown = smsc.admin().get(&format!("/v1/messages/{id}"));
            assert_eq!(shown["id"], number(&id, base).to_string());
            given.push(id);
        }
        // Queries and orders accept it in the form in which it was given, and in decimal.
        let decimal = number(&given[0], base).to_string();
        for id in [&given[0], &given[0].to_lowercase(), &decimal] {
            let query = Body::QuerySm(QuerySm {
                message_id: text(id),
                source_addr: text(SOURCE),
                ..QuerySm::default()
            });
            let answer = asked(&mut peer, query);
            assert_eq!(answer.status, CommandStatus::ESME_ROK, "{name}: {id}");
        }
        let replace = Body::ReplaceSm(ReplaceSm {
            message_id: text(&given[0]),
            source_addr: text(SOURCE),
            registered_delivery: 1,
            short_message: text("changed"),
            ..ReplaceSm::default()
        });
        assert_eq!(asked(&mut peer, replace).status, CommandStatus::ESME_ROK);
        let cancel = Body::CancelSm(CancelSm {
            message_id: text(&given[1]),
            source_addr: text(SOURCE),
            ..CancelSm::default()
        });
        assert_eq!(asked(&mut peer, cancel).status, CommandStatus::ESME_ROK);
        assert_eq!(id_of(&peer.deliver()), given[1]);
        peers.push((name, peer, given));
    }
    // A receipt has the id in the form of the response, even if the account's setting has changed.
    let settings = serde_json::json!({ "password": "hex", "message_id": "decimal" });
    smsc.admin().put("/v1/accounts/hex", &settings);
    operator.start_again();
    for (name, peer, given) in &mut peers {
        let mut told: Vec<String> = (0..3).map(|_| id_of(&peer.deliver())).collect();
        told.sort();
        // Two of them are for the submit_multi.
        assert_eq!(told, [given[0].as_str(), &given[2], &given[2]], "{name}");
    }
    smsc.assert_no_panic();
}

#[test]
fn receipts_have_the_form_of_their_account() {
    let smsc = Smsc::new()
        .account("both", "both")
        .account_with(
            "text",
            "text",
            "receipt_form = \"text\"\nreceipt_dates = \"seconds\"",
        )
        .account_with("tlvs", "tlvs", "receipt_form = \"tlvs\"")
        .route("", "test:delivered")
        .start();
    let with_reference = || {
        let mut tlvs = Tlvs::new();
        tlvs.push(tag::USER_MESSAGE_REFERENCE, &[1, 2]);
        SubmitSm {
            tlvs,
            ..submit(TO, "hello")
        }
    };
    let date = |receipt: &SubmitSm| {
        let text = String::from_utf8(receipt.short_message.to_vec()).unwrap();
        let (_, rest) = text.split_once("done date:").unwrap();
        rest.split_once(' ').unwrap().0.to_owned()
    };

    let mut both = Peer::bind(smsc.smpp(), "both", "both");
    let id = both.submit(with_reference());
    let receipt = both.deliver();
    assert_eq!(id_of(&receipt), id);
    assert_eq!(date(&receipt).len(), "YYMMDDhhmm".len());
    assert_eq!(receipt.tlvs.iter().count(), 3);

    let mut text = Peer::bind(smsc.smpp(), "text", "text");
    let id = text.submit(with_reference());
    let receipt = text.deliver();
    assert!(receipt.tlvs.is_empty(), "{receipt:?}");
    assert_eq!(date(&receipt).len(), "YYMMDDhhmmss".len());
    let read = receipt::extract(&receipt, 0).unwrap();
    assert_eq!(
        (&read.message_id[..], read.state),
        (id.as_bytes(), receipt::DELIVERED)
    );
    let told_at = smsc.wait_for_final(&id)["final"]["at"].clone();
    let shown = time_of(read.done_at_ms);
    assert!(
        told_at.as_str().unwrap().starts_with(&shown),
        "{told_at} {shown}"
    );

    let mut tlvs = Peer::bind(smsc.smpp(), "tlvs", "tlvs");
    let id = tlvs.submit(with_reference());
    let receipt = tlvs.deliver();
    assert!(receipt.short_message.is_empty(), "{receipt:?}");
    assert_eq!(
        harness::stat_of(&receipt),
        (id, u32::from(receipt::DELIVERED))
    );
    assert_eq!(
        receipt.tlvs.get(tag::USER_MESSAGE_REFERENCE),
        Some(&[1, 2][..])
    );

    // A receipt for SMPP 3.3 has only the text.
    let mut old = Peer::connect(smsc.smpp());
    let sequence = old.request(Body::BindTransceiver(BindRequest {
        system_id: Bytes::from_static(b"tlvs"),
        password: Bytes::from_static(b"tlvs"),
        interface_version: 0x33,
        ..BindRequest::default()
    }));
    assert_eq!(old.answer_to(sequence).status, CommandStatus::ESME_ROK);
    tlvs.unbind();
    let id = old.submit(submit(TO, "hello"));
    let told = receipt::parse(&old.deliver().short_message).unwrap().id;
    assert_eq!(told, id.as_bytes());
    smsc.assert_no_panic();
}

/// Unix milliseconds as the admin API shows them, to the second.
fn time_of(ms: i64) -> String {
    let shown = smsc::smpp::time::format_absolute(ms);
    let (year, rest) = shown.split_at(2);
    let pair = |at: usize| &rest[at..at + 2];
    format!(
        "20{year}-{}-{}T{}:{}:{}",
        pair(0),
        pair(2),
        pair(4),
        pair(6),
        pair(8)
    )
}

/// A submit_sm whose octets a test has changed, with the command_length that matches them.
fn changed(sequence: u32, message: SubmitSm, change: impl FnOnce(&mut BytesMut)) -> Vec<u8> {
    let mut octets = BytesMut::from(&pdu(sequence, Body::SubmitSm(message))[..]);
    change(&mut octets);
    let length = octets.len() as u32;
    octets[..4].copy_from_slice(&length.to_be_bytes());
    octets.to_vec()
}

#[test]
fn a_strict_account_is_told() {
    let smsc = Smsc::new()
        .account("mild", "mild")
        .account_with("strict", "strict", "strict = true")
        .route("", "test:delivered")
        .start();
    let message = || submit_quietly(TO, "hello");
    let with = |tag: u16, value: &[u8]| {
        let mut tlvs = Tlvs::new();
        tlvs.push(tag, value);
        SubmitSm { tlvs, ..message() }
    };
    let odd_source = SubmitSm {
        source_addr: Bytes::from_static(b"Caf\xe9"),
        ..message()
    };
    let cases = [
        (
            changed(102, odd_source, |_| {}),
            CommandStatus::ESME_RINVSRCADR,
        ),
        (
            changed(103, message(), |octets| octets.extend_from_slice(&[0x02])),
            CommandStatus::ESME_RINVTLVSTREAM,
        ),
        (
            changed(104, message(), |octets| {
                octets.extend_from_slice(&[0x02, 0x04, 0x00, 0x02, 0x01]);
            }),
            CommandStatus::ESME_RINVTLVSTREAM,
        ),
        (
            changed(105, with(tag::USER_MESSAGE_REFERENCE, &[1, 2, 3]), |_| {}),
            CommandStatus::ESME_RINVTLVLEN,
        ),
    ];
    let mut mild = Peer::bind(smsc.smpp(), "mild", "mild").lenient();
    let mut strict = Peer::bind(smsc.smpp(), "strict", "strict");
    for (octets, status) in cases {
        let sequence = u32::from_be_bytes(octets[12..16].try_into().unwrap());
        mild.send(&octets);
        assert_eq!(
            mild.answer_to(sequence).status,
            CommandStatus::ESME_ROK,
            "{status:?}"
        );
        strict.send(&octets);
        assert_eq!(strict.answer_to(sequence).status, status);
    }
    // A query_sm whose last C-octet string has no NUL, and one with extra octets.
    let query = pdu(
        106,
        Body::QuerySm(QuerySm {
            message_id: text("7"),
            source_addr: text(SOURCE),
            ..QuerySm::default()
        }),
    );
    let with_length = |mut octets: Vec<u8>| {
        let length = octets.len() as u32;
        octets[..4].copy_from_slice(&length.to_be_bytes());
        octets
    };
    let unfinished = with_length(query[..query.len() - 1].to_vec());
    let trailing = with_length([&query[..], b"more"].concat());
    for (octets, status) in [
        (unfinished, CommandStatus::ESME_RINVSRCADR),
        (trailing, CommandStatus::ESME_RINVCMDLEN),
    ] {
        mild.send(&octets);
        assert_eq!(mild.answer_to(106).status, CommandStatus::ESME_RINVMSGID);
        strict.send(&octets);
        assert_eq!(strict.answer_to(106).status, status);
    }
    // Valid requests are accepted, and the session continues.
    strict.submit(message());
    strict.assert_alive();

    // The setting applies from the next configuration on, also to bound sessions.
    let settings = serde_json::json!({ "password": "mild", "strict": true });
    smsc.admin().put("/v1/accounts/mild", &settings);
    harness::until("the account to be taken strictly", || {
        mild.send(&changed(107, message(), |octets| {
            octets.extend_from_slice(&[0x02])
        }));
        let status = mild.answer_to(107).status;
        (status == CommandStatus::ESME_RINVTLVSTREAM).then_some(())
    });
    smsc.assert_no_panic();
}
