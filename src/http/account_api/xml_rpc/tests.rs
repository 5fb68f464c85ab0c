//! Orders as business systems write them, right and wrong, and faults.

use bytes::Bytes;

use super::answer::members;
use super::*;
use crate::content::{segments, text_of};
use crate::numbers::Numbers;
use crate::pb::Message;

const NOW: i64 = 1_700_000_000_000;

/// `sms.send` of the least there must be, with more members or others.
fn order<const N: usize>(more: [(&str, XmlRpcValue); N]) -> XmlRpcValue {
    let mut all = members([
        (
            "user_numbers",
            XmlRpcValue::Array(vec!["447700900123".into()]),
        ),
        ("sp_number", "ACME".into()),
        ("content", "hello".into()),
    ]);
    for (name, value) in members(more) {
        all.retain(|(known, _)| *known != name);
        all.push((name, value));
    }
    XmlRpcValue::Struct(all)
}

fn message<const N: usize>(more: [(&str, XmlRpcValue); N]) -> Message {
    let mut drafts = order::drafts(order(more), NOW, &Numbers::default()).unwrap();
    drafts.remove(0).message.unwrap().message
}

fn wrong(order: XmlRpcValue) -> Fault {
    match order::drafts(order, NOW, &Numbers::default()) {
        Err(problem) => problem.into(),
        Ok(drafts) => {
            let problem = drafts.into_iter().find_map(|one| one.message.err());
            problem.expect("it is right").into()
        }
    }
}

fn base64(octets: &'static [u8]) -> XmlRpcValue {
    XmlRpcValue::Base64(Bytes::from_static(octets))
}

#[test]
fn the_shortest_order_is_a_message() {
    let sent = message([]);
    assert_eq!(&sent.destination[..], b"447700900123");
    assert_eq!((sent.source_ton, &sent.source[..]), (5, &b"ACME"[..]));
    assert_eq!(text_of(&sent).as_deref(), Some("hello"));
    assert!(sent.follow && sent.divide);
    assert_eq!((sent.registered_delivery, sent.client_data), (0, None));
}

#[test]
fn every_argument_does_what_it_says() {
    let sent = message([
        ("user_numbers", XmlRpcValue::Int(447_700_900_123)),
        ("sp_number", XmlRpcValue::Int(12_345)),
        ("service_type", "WAP".into()),
        ("priority", XmlRpcValue::Int(3)),
        ("schedule_time", XmlRpcValue::DateTime(2_110_870_800_000)),
        ("expire_time", "361121110000000+".into()),
        ("report_flag", XmlRpcValue::Int(1)),
        ("tp_pid", XmlRpcValue::Int(0x40)),
        ("coding", XmlRpcValue::Int(24)),
        ("content", "я".repeat(80).as_str().into()),
        ("reference", "order-7".into()),
        ("charge_number", "447700900124".into()),
        ("corp_id", "01234".into()),
        ("fee_type", XmlRpcValue::Int(2)),
        ("fee_value", "15".into()),
        ("given_value", XmlRpcValue::Int(0)),
        ("agent_flag", XmlRpcValue::Boolean(true)),
        ("more_related_to_mt_flag", XmlRpcValue::Int(3)),
    ]);
    assert_eq!(&sent.destination[..], b"447700900123");
    assert_eq!(&sent.source[..], b"12345");
    assert_eq!(&sent.service_type[..], b"WAP");
    assert_eq!((sent.priority, sent.protocol_id), (3, 0x40));
    assert_eq!((sent.data_coding, segments(&sent)), (0x18, 2));
    assert_eq!(&sent.schedule_delivery_time[..], b"361121090000000+");
    assert_eq!(&sent.validity_period[..], b"361121110000000+");
    assert_eq!(sent.registered_delivery, 1);
    let client = sent.client_data.unwrap();
    assert_eq!(client.reference, "order-7");
    let metadata: serde_json::Value = serde_json::from_str(&client.metadata).unwrap();
    let expected = serde_json::json!({
        "charge_number": "447700900124", "corp_id": "01234", "fee_type": 2, "fee_value": 15, "given_value": 0,
        "agent_flag": 1, "more_related_to_mt_flag": 3,
    });
    assert_eq!(metadata, expected);
}

#[test]
fn reports_are_asked_for_as_smpp_does() {
    let registered = |flag| message([("report_flag", flag)]).registered_delivery;
    assert_eq!(
        [0, 1, 2].map(|flag| registered(XmlRpcValue::Int(flag))),
        [2, 1, 0]
    );
    assert_eq!(registered(XmlRpcValue::Nil), 0);
}

#[test]
fn times_have_three_forms() {
    for written in [
        XmlRpcValue::DateTime(2_110_870_800_000),
        "2036-11-21T09:00:00Z".into(),
        "361121090000000+".into(),
        "361121170000032+".into(),
    ] {
        let sent = message([("schedule_time", written.clone())]);
        assert_eq!(
            &sent.schedule_delivery_time[..],
            b"361121090000000+",
            "{written:?}"
        );
    }
    let relative = message([("expire_time", "000000020000000R".into())]);
    assert_eq!(&relative.validity_period[..], b"231115001320000+");
}

#[test]
fn content_is_text_or_octets() {
    for (coding, content, data_coding, esm_class) in [
        (XmlRpcValue::Nil, base64(&[1, 2, 3]), 4, 0),
        (XmlRpcValue::Int(0), base64(b"hello"), 0, 0),
        (XmlRpcValue::Int(8), base64(b"\x04\x16"), 8, 0),
        (XmlRpcValue::Int(0), "hello".into(), 0, 0),
        (XmlRpcValue::Int(3), "é".into(), 3, 0),
        (XmlRpcValue::Int(8), "hello".into(), 8, 0),
        (XmlRpcValue::Int(16), "hello".into(), 16, 0),
    ] {
        let sent = message([("coding", coding), ("content", content)]);
        assert_eq!((sent.data_coding, sent.esm_class), (data_coding, esm_class));
    }
    let part = message([
        ("tp_udhi", XmlRpcValue::Int(1)),
        ("coding", XmlRpcValue::Int(8)),
        ("content", base64(&[5, 0, 3, 7, 2, 2, 0x04, 0x16])),
    ]);
    assert_eq!((part.data_coding, part.esm_class), (8, 0x40));
    assert_eq!(text_of(&part).as_deref(), Some("Ж"));
}

#[test]
fn what_is_wrong_is_named() {
    let long = || "x".repeat(60_001).as_str().into();
    for (name, value, part) in [
        ("user_numbers", XmlRpcValue::Nil, "it is missing"),
        ("user_numbers", XmlRpcValue::Array(vec![]), "no number"),
        ("user_numbers", "nobody".into(), "international form"),
        ("user_numbers", XmlRpcValue::Boolean(true), "not boolean"),
        (
            "user_numbers",
            XmlRpcValue::Array(vec!["1".into(); 1_001]),
            "1001",
        ),
        (
            "sp_number",
            "far too long a name".into(),
            "must be a number",
        ),
        ("sp_number", XmlRpcValue::Double(1.0), "not double"),
        ("charge_number", "é".into(), "printable ASCII"),
        ("corp_id", "x".repeat(17).as_str().into(), "at most 16"),
        ("service_type", "MONTHLY".into(), "at most 5"),
        ("fee_type", XmlRpcValue::Int(256), "0 to 255"),
        ("fee_value", "much".into(), "0 to 999999"),
        ("given_value", XmlRpcValue::Int(-1), "0 to 999999"),
        ("agent_flag", XmlRpcValue::Int(2), "0 to 1"),
        ("more_related_to_mt_flag", XmlRpcValue::Int(4), "0 to 3"),
        ("priority", XmlRpcValue::Int(9), "0 to 3"),
        ("expire_time", "tomorrow".into(), "dateTime.iso8601"),
        ("schedule_time", "1700000000000".into(), "dateTime.iso8601"),
        (
            "schedule_time",
            "361321090000000+".into(),
            "dateTime.iso8601",
        ),
        ("schedule_time", XmlRpcValue::Int(5), "not int"),
        ("report_flag", XmlRpcValue::Int(3), "0 to 2"),
        ("tp_pid", XmlRpcValue::Int(256), "0 to 255"),
        ("tp_udhi", XmlRpcValue::Int(1), "base64"),
        ("coding", XmlRpcValue::Int(15), "GBK"),
        ("coding", XmlRpcValue::Int(4), "base64"),
        ("coding", XmlRpcValue::Int(9), "0, 3, 8"),
        ("content", XmlRpcValue::Nil, "it is missing"),
        ("content", XmlRpcValue::Int(1), "string or base64"),
        ("content", long(), "60001 octets"),
        ("reference", "x".repeat(101).as_str().into(), "at most 100"),
        ("colour", "red".into(), "no such argument"),
        ("session", "key".into(), "no such argument"),
    ] {
        let fault = wrong(order([(name, value)]));
        assert_eq!(fault.code, 400);
        assert!(
            fault.text.starts_with(name) && fault.text.contains(part),
            "{name}: {fault:?}"
        );
    }
    let both = |coding, content| {
        wrong(order([
            ("coding", XmlRpcValue::Int(coding)),
            ("content", content),
        ]))
    };
    assert!(both(0, "я".into()).text.starts_with("content: "));
    assert!(
        both(8, base64(b"abc"))
            .text
            .starts_with("content: UCS-2 has two octets")
    );
    assert!(both(15, base64(b"abc")).text.starts_with("coding: "));
    for content in [&[][..], &[9, 1], &[1, 5, 4]] {
        let content = XmlRpcValue::Base64(Bytes::from_static(content));
        let fault = wrong(order([
            ("tp_udhi", XmlRpcValue::Int(1)),
            ("content", content),
        ]));
        assert!(fault.text.starts_with("content: "), "{fault:?}");
    }
    let many = XmlRpcValue::Array(vec!["447700900123".into(), "x".into()]);
    let fault = wrong(order([("user_numbers", many)]));
    assert!(fault.text.starts_with("user_numbers[1]: "), "{fault:?}");
    assert!(
        wrong(XmlRpcValue::from("x"))
            .text
            .starts_with("message: struct is expected")
    );
}

#[test]
fn faults_have_the_names_of_the_arguments() {
    for (problem, code, text) in [
        (
            Problem::refused_message("to", "ESME_RINVDSTADR", "to has no route"),
            400,
            "user_numbers: has no route",
        ),
        (
            Problem::refused_message("text", "ESME_RSUBMITFAIL", "it repeats an accepted message"),
            400,
            "content: it repeats an accepted message",
        ),
        (
            Problem::bad_value("id", "17 is none"),
            400,
            "id: 17 is none",
        ),
        (Problem::payment_required("too little"), 402, "too little"),
        (Problem::unavailable("later"), 503, "later"),
    ] {
        let text = text.to_owned();
        assert_eq!(Fault::from(problem), Fault { code, text });
    }
}

#[test]
fn the_table_describes_every_method() {
    let XmlRpcValue::Array(names) = methods::introspect("system.listMethods", vec![]).unwrap()
    else {
        panic!("no list");
    };
    assert_eq!(names.len(), 9);
    for name in names {
        let help = methods::introspect("system.methodHelp", vec![name.clone()]);
        assert!(matches!(help, Ok(XmlRpcValue::String(text)) if !text.contains("  ")));
        let types = methods::introspect("system.methodSignature", vec![name]);
        assert!(matches!(types, Ok(XmlRpcValue::Array(types)) if !types.is_empty()));
    }
    assert!(methods::introspect("system.listMethods", vec![XmlRpcValue::Nil]).is_err());
    assert!(methods::introspect("system.methodHelp", vec!["sms.eat".into()]).is_err());
}
