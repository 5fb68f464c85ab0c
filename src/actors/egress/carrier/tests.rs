//! How messages are translated.

use bytes::Bytes;

use super::gateway::{Brought, Gateway, Incoming};
use super::translate::{deliver_of, draft_of, validity};
use crate::actors::receipts::said::{self, OperatorReport};
use crate::carrier::fields::Content;
use crate::carrier::link_id::{link_id, push_link_id};
use crate::carrier::outcome::Outcome;
use crate::cmpp::bodies::{ConnectResp, Deliver};
use crate::cmpp::{Body, Cmpp, Report};
use crate::config::{Carrier, OperatorConfig};
use crate::pb::Message;
use crate::smgp::Smgp;
use crate::smgp::bodies::{LINK_ID, Options};
use crate::smpp::{CommandStatus, SubmitSm, tag};
use crate::sms::ucs2;

/// 2023-11-14 22:13:20 UTC.
const NOW: i64 = 1_700_000_000_000;

fn submit(data_coding: u8, octets: &[u8]) -> SubmitSm {
    SubmitSm {
        data_coding,
        short_message: Bytes::copy_from_slice(octets),
        ..SubmitSm::default()
    }
}

#[test]
fn data_coding_becomes_msg_fmt() {
    let chinese = ucs2::encode("你好");
    let emoji = ucs2::encode("😀");
    for (data_coding, gbk, octets, format, written) in [
        (0, false, &b"hi"[..], 0, &b"hi"[..]),
        (1, false, b"hi", 0, b"hi"),
        (8, false, &chinese, 8, &chinese),
        (8, true, &chinese, 15, &[0xC4, 0xE3, 0xBA, 0xC3]),
        (8, true, &emoji, 8, &emoji),
        (4, true, &[1, 2], 4, &[1, 2]),
        (3, false, b"hi", 0, b"hi"),
        (3, false, &[0xE9], 8, &[0, 0xE9]),
        (15, false, &[0xC4, 0xE3], 15, &[0xC4, 0xE3]),
    ] {
        let draft = draft_of(&mut submit(data_coding, octets), gbk);
        assert_eq!((draft.format, &draft.content[..]), (format, written));
        assert_eq!(draft.part, (1, 1));
    }
}

#[test]
fn parts_are_numbered_as_in_their_header() {
    let header = [5, 0, 3, 7, 3, 2];
    let octets = [&header[..], &ucs2::encode("你")].concat();
    let mut part = SubmitSm {
        esm_class: 0x40,
        validity_period: "261125103000000+".into(),
        ..submit(8, &octets)
    };
    let draft = draft_of(&mut part, true);
    assert!(draft.has_header);
    assert_eq!(draft.part, (3, 2));
    assert_eq!(draft.content[..6], header);
    assert_eq!(draft.content[6..], [0xC4, 0xE3]);
    assert_eq!(draft.valid_until, part.validity_period);
}

#[test]
fn relative_times_become_those_of_china() {
    for (relative, left_ms, expected) in [
        // 06:13:20 there; beyond an hour, of the same minute.
        ("000000000040000R", 40_000, "231115061400032+"),
        ("000000000040000R", 39_500, "231115061359032+"),
        ("000000010000000R", 3_600_000, "231115071320032+"),
        ("000000010001000R", 3_601_000, "231115071300032+"),
        ("000001000000000R", 86_400_000, "231116061300032+"),
        ("", 86_400_000, ""),
        ("231114231320000+", 3_600_000, "231114231320000+"),
        // validity.max has cut it.
        ("231115231320000+", 3_600_000, "231114231320000+"),
    ] {
        let message = Message {
            validity_period: relative.into(),
            expires_at: NOW + left_ms,
            ..Message::default()
        };
        assert_eq!(validity(&message, NOW), expected, "{relative}");
    }
}

#[test]
fn gbk_of_a_handset_becomes_ucs2() {
    let incoming = |format, has_header, content: &[u8]| {
        deliver_of(Incoming {
            from: "13800138000".into(),
            to: "10655".into(),
            protocol_id: 0,
            has_header,
            format,
            content: Bytes::copy_from_slice(content),
            link_id: Bytes::new(),
        })
    };
    let message = incoming(15, true, &[2, 0x70, 0, 0xC4, 0xE3]);
    assert_eq!((message.data_coding, message.esm_class), (8, 0x40));
    assert_eq!(message.short_message[..], [2, 0x70, 0, 0x4F, 0x60]);
    let long = incoming(15, false, &[b'a'; 140]);
    assert!(long.short_message.is_empty());
    assert_eq!(long.tlvs.get(tag::MESSAGE_PAYLOAD).unwrap().len(), 280);
    assert_eq!(incoming(0, false, b"hi").data_coding, 0);
    assert_eq!(incoming(3, false, b"hi").data_coding, 4);
    // A header that is longer than the content.
    assert_eq!(incoming(15, true, &[9, 1]).short_message[..], [9, 1]);
}

/// LinkID of a submit_sm that says so by its TLV.
fn link_id_at(version: Cmpp) -> Bytes {
    let mut message = submit(0, b"hi");
    push_link_id(&mut message.tlvs, b"0123456789");
    let draft = draft_of(&mut message, false);
    let (operator, carrier) = (OperatorConfig::default(), Carrier::default());
    match version.submit(&operator, &carrier, draft, vec!["1".into()]) {
        Body::Submit(submit) => submit.link_id.0,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_link_id_is_carried_both_ways_where_there_is_room() {
    assert_eq!(link_id_at(Cmpp::V30), "0123456789");
    // What 2.0 has in its place is reserved.
    assert!(link_id_at(Cmpp::V20).is_empty());
    let deliver = Deliver {
        link_id: "0123456789".into(),
        ..Deliver::default()
    };
    for (version, expected) in [(Cmpp::V30, "0123456789"), (Cmpp::V20, "")] {
        let brought = version.brought(&Body::Deliver(Box::new(deliver.clone())));
        let Some((_, Brought::Message(message))) = brought else {
            panic!("{version:?}");
        };
        assert_eq!(link_id(&deliver_of(message)), expected);
    }
    let mut options = Options::default();
    options.push_text(LINK_ID, b"0123456789", 20);
    let deliver = crate::smgp::bodies::Deliver {
        options,
        ..crate::smgp::bodies::Deliver::default()
    };
    let brought = Smgp.brought(&crate::smgp::Body::Deliver(Box::new(deliver)));
    let Some((_, Brought::Message(message))) = brought else {
        panic!("a message");
    };
    let mut message = deliver_of(message);
    assert_eq!(link_id(&message), "0123456789");
    let (operator, carrier) = (OperatorConfig::default(), Carrier::default());
    let draft = draft_of(&mut message, false);
    let body = Smgp.submit(&operator, &carrier, draft, vec!["1".into()]);
    let crate::smgp::Body::Submit(submit) = body else {
        panic!("{body:?}");
    };
    assert_eq!(submit.options.text(LINK_ID), "0123456789");
    assert_eq!(submit.options.get(LINK_ID).unwrap().len(), 20);
}

#[test]
fn reports_become_receipts() {
    for (word, state, error) in [
        ("DELIVRD", Outcome::Delivered, "000"),
        ("EXPIRED", Outcome::Expired, "000"),
        ("MB:0069", Outcome::Undeliverable, "MB0069"),
        ("MK:0012", Outcome::Undeliverable, "MK0012"),
        ("STRANGE", Outcome::Unknown, "000"),
    ] {
        let report = Report {
            msg_id: u64::MAX,
            stat: word.into(),
            dest_terminal_id: "13800138000".into(),
            ..Report::default()
        };
        let deliver = Deliver {
            msg_id: 7,
            registered_delivery: 1,
            msg_content: Content(report.encode(Cmpp::V20).unwrap()),
            ..Deliver::default()
        };
        let (came, brought) = Cmpp::V20
            .brought(&Body::Deliver(Box::new(deliver)))
            .unwrap();
        let Brought::Report {
            id,
            outcome,
            error: why,
            number,
        } = brought
        else {
            panic!("{word}");
        };
        assert_eq!((came, outcome), (7, state));
        let report = OperatorReport {
            id,
            state: outcome as u8,
            error: why,
            number,
        };
        let said = said::of_report(report, None);
        assert_eq!(said.operator_message_id, u64::MAX.to_string());
        assert_eq!(said.reported_state, u32::from(state as u8));
        assert_eq!(
            (said.error, said.source),
            (error.into(), "13800138000".into())
        );
    }
}

#[test]
fn reports_of_smgp_have_any_octets_in_their_id() {
    for (word, err, state, error) in [
        ("DELIVRD", "000", Outcome::Delivered, "000"),
        ("UNDELIV", "069", Outcome::Undeliverable, "069"),
        ("MB:0069", "000", Outcome::Undeliverable, "MB0069"),
        ("STRANGE", "", Outcome::Unknown, "000"),
    ] {
        let report = crate::smgp::Report {
            msg_id: *b" :\0\xFF123456",
            stat: word.into(),
            err: err.into(),
            ..crate::smgp::Report::default()
        };
        let deliver = crate::smgp::bodies::Deliver {
            is_report: 1,
            src_term_id: "13300000001".into(),
            msg_content: Content(report.encode()),
            ..crate::smgp::bodies::Deliver::default()
        };
        let (_, brought) = Smgp
            .brought(&crate::smgp::Body::Deliver(Box::new(deliver)))
            .unwrap();
        let expected = Brought::Report {
            id: "203A00FF313233343536".into(),
            outcome: state,
            error: error.into(),
            number: "13300000001".into(),
        };
        assert_eq!(brought, expected, "{word}");
    }
}

#[test]
fn a_report_without_its_fields_is_nothing() {
    let deliver = Deliver {
        registered_delivery: 1,
        msg_content: "short".into(),
        ..Deliver::default()
    };
    let brought = Cmpp::V20.brought(&Body::Deliver(Box::new(deliver)));
    assert_eq!(brought, Some((0, Brought::Nothing)));
}

#[test]
fn a_wrong_secret_is_a_wrong_password() {
    for (status, expected) in [
        (3, CommandStatus::ESME_RINVPASWD),
        (2, CommandStatus::ESME_RINVSYSID),
        (77, CommandStatus::ESME_RBINDFAIL),
    ] {
        let resp = Body::ConnectResp(ConnectResp {
            status: crate::carrier::fields::Widened(status),
            ..ConnectResp::default()
        });
        assert_eq!(Cmpp::refused(&resp), expected);
    }
}
