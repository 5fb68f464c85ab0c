//! PDUs by the lengths of the standard, any octets, reports.

use proptest::prelude::*;
use smsc_carrier::outcome::Outcome;
use smsc_smpp::CommandStatus;

use super::*;
use crate::bodies::{MessageResp, Options, Submit, TP_UDHI};

fn encode(body: Body) -> Bytes {
    let mut out = BytesMut::new();
    Smgp.encode(&Pdu { sequence: 7, body }, &mut out).unwrap();
    out.freeze()
}

fn submit() -> Submit {
    let mut submit = Submit {
        msg_type: 6,
        need_report: 1,
        msg_format: 15,
        service_id: "SVC".into(),
        src_term_id: "10655".into(),
        ..Submit::default()
    };
    submit.dest_term_id.0 = vec!["13300000001".into()];
    submit.msg_content.0 = Bytes::from_static(&[0xC4, 0xE3]);
    submit
}

#[test]
fn lengths_are_those_of_the_standard() {
    let login = login("900001", b"888888", 2, 1_021_080_510);
    let Body::Login(fields) = &login else {
        panic!("{login:?}");
    };
    let resp = login_resp(fields, b"888888", status::OK);
    assert_eq!((encode(login.clone()).len(), encode(resp).len()), (42, 33));
    // A refusal proves nothing.
    let Body::LoginResp(refusal) = login_resp(fields, b"888888", 21) else {
        panic!("it is a response");
    };
    assert_eq!(
        (refusal.status, refusal.authenticator_server.0),
        (21, [0; 16])
    );
    assert_eq!(encode(Body::Submit(Box::new(submit()))).len(), 126 + 21 + 2);
    assert_eq!(encode(Body::Deliver(Box::default())).len(), 89);
    assert_eq!(encode(Body::SubmitResp(MessageResp::default())).len(), 26);
}

#[test]
fn optional_fields_are_kept() {
    let mut body = submit();
    body.options.0 = vec![
        (TP_UDHI, Bytes::from_static(&[1])),
        (0x7777, Bytes::from_static(b"what")),
    ];
    assert!(body.options.has_header());
    let octets = encode(Body::Submit(Box::new(body.clone())));
    assert_eq!(octets[octets.len() - 13..octets.len() - 8], [0, 2, 0, 1, 1]);
    assert_eq!(
        Smgp.decode(&octets).unwrap().body,
        Body::Submit(Box::new(body))
    );
    assert!(!Options::default().has_header());
}

#[test]
fn a_report_of_122_octets_and_one_that_says_less() {
    let report = Report {
        msg_id: [0x00, 0x20, b' ', 0xFF, 1, 2, 3, 4, 5, 6],
        stat: "DELIVRD".into(),
        err: "000".into(),
        submit_date: "2611250931".into(),
        done_date: "2611250932".into(),
    };
    let octets = report.encode();
    assert_eq!(octets.len(), 122);
    assert_eq!(Report::decode(&octets), Some(report.clone()));
    assert_eq!(report.outcome(), Some(Outcome::Delivered));
    let less = Report::decode(&Bytes::from_static(b"ID:0123456789 STAT:MB:0069"));
    assert_eq!(
        less.and_then(|report| report.outcome()),
        Some(Outcome::Undeliverable)
    );
    for broken in [&b""[..], b"id:012345678", b"sub:001"] {
        assert_eq!(Report::decode(&Bytes::copy_from_slice(broken)), None);
    }
}

#[test]
fn codes_and_their_statuses() {
    assert_eq!(status::smpp(status::BUSY), CommandStatus::ESME_RTHROTTLED);
    assert_eq!(status::smpp(30), CommandStatus::ESME_RSUBMITFAIL);
    assert_eq!(status::smpp(73), CommandStatus::ESME_RUNKNOWNERR);
    assert_eq!(status::smpp(47), CommandStatus::ESME_RINVDSTADR);
    assert_eq!(status::meaning(72), Some("a field is wrong"));
    let codes: Vec<u32> = status::CODES.iter().map(|(code, ..)| *code).collect();
    assert!(codes.is_sorted_by(|before, after| before < after));
    for (status, code) in [
        (CommandStatus::ESME_ROK, status::OK),
        (CommandStatus::ESME_RX_T_APPN, status::BUSY),
        (CommandStatus::ESME_RINVDSTADR, 47),
        (CommandStatus::ESME_RUNKNOWNERR, status::ROUTE),
    ] {
        assert_eq!(status::of_smpp(status), code, "{status}");
    }
    assert_eq!(status::meaning(73), None);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        content in proptest::collection::vec(any::<u8>(), 0..=252),
        number in "[0-9]{0,21}", count in 1..=100_usize,
    ) {
        let mut body = submit();
        body.msg_content.0 = content.into();
        body.dest_term_id.0 = vec![number.into(); count];
        let octets = encode(Body::Submit(Box::new(body.clone())));
        prop_assert_eq!(Smgp.decode(&octets).map(|pdu| pdu.body), Ok(Body::Submit(Box::new(body))));
    }

    #[test]
    fn no_octets_make_it_panic(
        command in 0..8_u32, octets in proptest::collection::vec(any::<u8>(), 0..300), is_resp: bool
    ) {
        let mut frame = BytesMut::new();
        frame.extend_from_slice(&(octets.len() as u32 + 12).to_be_bytes());
        frame.extend_from_slice(&(command | u32::from(is_resp) << 31).to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(&octets);
        let _ = Report::decode(&octets.into());
        if let Ok(pdu) = Smgp.decode(&frame.freeze()) {
            let mut again = BytesMut::new();
            if Smgp.encode(&pdu, &mut again).is_ok() {
                prop_assert_eq!(Smgp.decode(&again.freeze()), Ok(pdu));
            }
        }
    }
}
