//! The meaning of data_coding 0 is configured per account and operator: a text arrives with the
//! characters with which it was sent, or as the operator's policy says, and is never silently cut.

use crate::harness::{FakeOperator, Peer, Scene, Smsc, answer, stat_of, submit, taken};
use bytes::Bytes;
use smsc::smpp::{Body, CommandStatus, SubmitSm, tag};

const NUMBER: &str = "447700900123";

fn scene(account: &str, operator: &str) -> Scene {
    let account = format!("addresses = [\"12345\"]\n{account}");
    Scene::of(&account, operator, |builder| builder)
}

/// What the operator gets for this submission.
fn passed(scene: &mut Scene, data_coding: u8, octets: &[u8]) -> SubmitSm {
    scene.esme.submit(text(data_coding, octets));
    scene.take("theirs")
}

fn text(data_coding: u8, octets: &[u8]) -> SubmitSm {
    SubmitSm {
        data_coding,
        short_message: Bytes::copy_from_slice(octets),
        ..submit(NUMBER, "")
    }
}

/// UTF-16 in the octet order of SMPP.
fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

#[test]
fn pain_14_a_text_arrives_in_the_alphabet_of_its_operator() {
    // 3GPP TS 23.038 §6.2.1: @ 00, £ 01, ü 7E, é 05, { 1B 28, € 1B 65.
    const GSM: &[u8] = b"\x00\x01\x7E\x05\x1B\x28";
    for (account, operator, octets, expected) in [
        ("latin1", "gsm", &b"@\xA3\xFC\xE9{"[..], GSM.to_vec()),
        ("gsm", "latin1", GSM, b"@\xA3\xFC\xE9{".to_vec()),
        ("utf8", "gsm", "@£üé{".as_bytes(), GSM.to_vec()),
        ("gsm", "utf8", GSM, "@£üé{".into()),
        ("gsm", "ucs2", b"\x1B\x65", utf16("€")),
        ("ucs2", "gsm", b"\x20\xAC", b"\x1B\x65".to_vec()),
        ("ascii", "gsm", b"a_b$", b"a\x11b\x02".to_vec()),
        (
            "gsm_packed",
            "gsm",
            b"\xE8\x32\x9B\xFD\x06",
            b"hello".to_vec(),
        ),
        (
            "gsm",
            "gsm_packed",
            b"hello",
            b"\xE8\x32\x9B\xFD\x06".to_vec(),
        ),
        // Octets that mean the same to both stay unchanged.
        (
            "latin1",
            "latin1",
            b"\xA4\x00\xFF",
            b"\xA4\x00\xFF".to_vec(),
        ),
    ] {
        let mut scene = scene(
            &format!("alphabet = \"{account}\""),
            &format!("alphabet = \"{operator}\""),
        );
        let sent = passed(&mut scene, 0, octets);
        assert_eq!(sent.data_coding, 0, "{account} to {operator}");
        assert_eq!(sent.short_message, expected, "{account} to {operator}");
    }
}

#[test]
fn the_way_back_is_read_in_the_alphabet_of_the_operator() {
    let mut scene = scene("alphabet = \"utf8\"", "alphabet = \"gsm\"");
    let sequence = scene.bind.request(Body::DeliverSm(SubmitSm {
        source_addr: Bytes::from_static(NUMBER.as_bytes()),
        destination_addr: Bytes::from_static(b"12345"),
        short_message: Bytes::from_static(b"\x1B\x65 \x00"),
        ..SubmitSm::default()
    }));
    assert_eq!(
        scene.bind.answer_to(sequence).status,
        CommandStatus::ESME_ROK
    );
    let mo = scene.esme.deliver();
    assert_eq!(mo.short_message, "€ @");
    assert_eq!(mo.data_coding, 0);
}

#[test]
fn other_data_codings_pass_as_they_are() {
    let mut scene = scene("alphabet = \"latin1\"", "alphabet = \"gsm\"");
    for data_coding in [1, 2, 3, 4, 5, 8, 0xF5] {
        let sent = passed(&mut scene, data_coding, b"\x00\xE4\x00\x40");
        assert_eq!(sent.data_coding, data_coding);
        assert_eq!(sent.short_message, &b"\x00\xE4\x00\x40"[..]);
    }
}

#[test]
fn what_cannot_be_written_follows_the_policy() {
    let latin1 = "Å ê Ë".chars().map(|c| c as u8).collect::<Vec<u8>>();
    for (policy, data_coding, expected) in [
        ("ucs2", 8, utf16("Å ê Ë")),
        ("transliterate", 0, b"\x0E e E".to_vec()),
        ("replace", 0, b"\x0E ? ?".to_vec()),
    ] {
        let mut scene = scene(
            "alphabet = \"latin1\"",
            &format!("unrepresentable = \"{policy}\""),
        );
        let sent = passed(&mut scene, 0, &latin1);
        assert_eq!(
            (sent.data_coding, &sent.short_message[..]),
            (data_coding, &expected[..])
        );
        let changed = scene.smsc.admin().metric("smsc_characters_changed_total");
        assert_eq!(
            changed,
            Some(if data_coding == 0 { 2.0 } else { 0.0 }),
            "{policy}"
        );
        // A flash message stays a flash message.
        let flash = passed(&mut scene, 0x10, &latin1);
        assert_eq!(
            flash.data_coding,
            if data_coding == 0 { 0x10 } else { 0x18 }
        );
    }
}

#[test]
fn what_cannot_be_written_is_refused_where_the_operator_wants_that() {
    let mut scene = scene("alphabet = \"latin1\"", "unrepresentable = \"refuse\"");
    let sequence = scene.esme.request(Body::SubmitSm(text(0, b"\xEA")));
    let answer = scene.esme.answer_to(sequence);
    assert_eq!(answer.status, CommandStatus::ESME_RSUBMITFAIL);
    assert_eq!(
        passed(&mut scene, 0, b"\xFC").short_message,
        &b"\x7E"[..],
        "the next one is fine"
    );
    assert!(
        scene.smsc.log().contains("does not have 'ê'"),
        "{}",
        scene.smsc.log()
    );
}

#[test]
fn a_national_table_comes_before_ucs2_where_the_operator_takes_it() {
    let keys = "languages = [\"turkish\"]\nlong_messages = \"udh\"";
    let mut scene = scene("alphabet = \"utf8\"", keys);
    let sent = passed(&mut scene, 0, "şu İş".as_bytes());
    assert_eq!((sent.data_coding, sent.esm_class & 0x40), (0, 0x40));
    // Single shift table of Turkish (§A.2.1): ş 1B 73, İ 1B 49.
    assert_eq!(
        sent.short_message,
        &b"\x03\x24\x01\x01\x1Bsu \x1BI\x1Bs"[..]
    );
    let sent = passed(&mut scene, 0, "日本".as_bytes());
    assert_eq!(
        (sent.data_coding, &sent.short_message[..]),
        (8, &utf16("日本")[..])
    );
}

#[test]
fn a_message_that_fails_over_is_written_anew_for_the_next_operator() {
    let (first, second) = (FakeOperator::listen(), FakeOperator::listen());
    let smsc = Smsc::new()
        .account_with("test", "test", "alphabet = \"utf8\"")
        .operator_with("a", first.address(), "alphabet = \"ucs2\"")
        .operator_with("b", second.address(), "alphabet = \"latin1\"")
        .toml("[[route]]\nprefix = \"\"\nto = [\"a\", \"b\"]\n")
        .start();
    let (mut a, mut b) = (first.accept_bind(), second.accept_bind());
    smsc.wait_for_binds("a", 1);
    smsc.wait_for_binds("b", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(text(0, "é".as_bytes()));
    let pdu = a.expect("a submit_sm", |pdu| matches!(pdu.body, Body::SubmitSm(_)));
    let Body::SubmitSm(to_a) = &pdu.body else {
        unreachable!("just matched")
    };
    assert_eq!(to_a.short_message, utf16("é"));
    answer(&mut a, pdu.sequence, CommandStatus::ESME_RSYSERR, "");
    let to_b = taken(&mut b, "theirs");
    assert_eq!(to_b.short_message, &b"\xE9"[..]);
}

#[test]
fn receipts_are_what_they_are_in_every_alphabet() {
    let mut scene = scene("alphabet = \"ucs2\"", "alphabet = \"gsm_packed\"");
    let id = scene.esme.submit(text(0, &utf16("hello")));
    assert_eq!(
        scene.take("theirs").short_message,
        &b"\xE8\x32\x9B\xFD\x06"[..]
    );
    let sequence = scene.bind.request(Body::DeliverSm(SubmitSm {
        esm_class: 0x04,
        short_message: Bytes::from_static(b"id:theirs stat:DELIVRD err:000"),
        ..SubmitSm::default()
    }));
    assert_eq!(
        scene.bind.answer_to(sequence).status,
        CommandStatus::ESME_ROK
    );
    let receipt = scene.esme.deliver();
    assert_eq!(stat_of(&receipt), (id.clone(), 2));
    assert!(receipt.short_message.starts_with(b"id:"));
    assert!(receipt.tlvs.get(tag::MESSAGE_PAYLOAD).is_none());
    let shown = scene
        .smsc
        .admin()
        .get(&format!("/v1/messages/{id}?text=true"));
    assert_eq!(shown["content"]["text"], "hello");
}
