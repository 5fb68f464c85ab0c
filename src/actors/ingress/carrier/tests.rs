//! How messages are translated, and who proves a secret.

use bytes::Bytes;

use super::client::proven;
use super::numbers::msg_id_of;
use super::translate::{deliver_of, refusal_of, submission_of};
use crate::actors::test_support::operator_receipt;
use crate::carrier::fields::{Content, Recipients};
use crate::carrier::link_id::link_id;
use crate::cmpp::bodies::Submit;
use crate::cmpp::{Body, Cmpp, Report};
use crate::config::Account;
use crate::domain::id;
use crate::smpp::{DestAddress, SubmitSm, tag};

/// 2026-11-25T16:31:59.987Z.
const ID: u64 = 1_795_624_319_987 << 20 | 7 << 12 | 1;

fn submit(recipients: &[&'static str]) -> Submit {
    Submit {
        registered_delivery: 1,
        src_id: "10655".into(),
        dest_terminal_id: Recipients(recipients.iter().map(|to| Bytes::from(*to)).collect()),
        valid_time: "261126103000032+".into(),
        at_time: "261125103000032+".into(),
        msg_content: "hello".into(),
        ..Submit::default()
    }
}

fn one(submit: Submit) -> SubmitSm {
    let (message, recipients) = submission_of(submit, Cmpp::V30);
    assert!(recipients.is_empty(), "{recipients:?}");
    *message
}

#[test]
fn a_submit_is_one_message_or_one_for_many() {
    let message = one(submit(&["8613800138000"]));
    assert_eq!(message.source_addr, "10655");
    assert_eq!(message.destination_addr, "8613800138000");
    assert_eq!(message.validity_period, "261126103000032+");
    assert_eq!(message.schedule_delivery_time, "261125103000032+");
    assert_eq!((message.registered_delivery, message.data_coding), (1, 0));
    let (many, recipients) = submission_of(submit(&["1", "2"]), Cmpp::V30);
    let to = |number: &'static str| DestAddress::Sme {
        dest_addr_ton: 0,
        dest_addr_npi: 0,
        destination_addr: number.into(),
    };
    assert_eq!(recipients, [to("1"), to("2")]);
    assert_eq!(
        (many.short_message, many.registered_delivery),
        ("hello".into(), 1)
    );
    let linked = |version| {
        let submit = Submit {
            link_id: "0123456789".into(),
            ..submit(&["1"])
        };
        link_id(&submission_of(submit, version).0)
    };
    assert_eq!(linked(Cmpp::V30), "0123456789");
    assert!(linked(Cmpp::V20).is_empty(), "reserved there");
    // 2 asks for a record of the gateway, not for a report.
    let record = Submit {
        registered_delivery: 2,
        valid_time: "tomorrow".into(),
        ..submit(&["1"])
    };
    let message = one(record);
    assert_eq!(message.registered_delivery, 0);
    assert_eq!(message.validity_period, "?", "which the session refuses");
}

#[test]
fn what_does_not_fit_a_short_message_is_in_the_payload() {
    let long = Submit {
        msg_fmt: 15,
        msg_content: Content(Bytes::from_static(&[b'a'; 150])),
        ..submit(&["1"])
    };
    let message = one(long);
    assert!(message.short_message.is_empty());
    assert_eq!(message.tlvs.get(tag::MESSAGE_PAYLOAD).unwrap().len(), 300);
    assert_eq!(message.data_coding, 8);
}

#[test]
fn receipts_become_reports() {
    for (state, error, word) in [
        (2, "000", "DELIVRD"),
        (3, "000", "EXPIRED"),
        (4, "000", "DELETED"),
        (5, "000", "UNDELIV"),
        (5, "MB0069", "MB:0069"),
        (5, "ab0069", "UNDELIV"),
        (2, "MB0069", "DELIVRD"),
        (6, "000", "ACCEPTD"),
        (7, "000", "UNKNOWN"),
        (8, "000", "REJECTD"),
    ] {
        let done_at = 1_795_624_380_000;
        let mut said =
            operator_receipt(&ID.to_string(), state, error.into(), "8613".into(), done_at);
        said.destination_addr = "10655".into();
        for version in [Cmpp::V20, Cmpp::V30] {
            let deliver = deliver_of(&said, ID, version, 0).unwrap();
            assert_eq!(
                (deliver.registered_delivery, deliver.msg_id),
                (1, msg_id_of(ID))
            );
            assert_eq!(
                (&deliver.dest_id.0[..], &deliver.src_terminal_id.0[..]),
                (&b"10655"[..], &b"8613"[..])
            );
            let report = Report::decode(&deliver.msg_content.0, version).unwrap();
            assert_eq!((report.msg_id, report.stat), (msg_id_of(ID), word.into()));
            // Both times are those of China.
            assert_eq!(report.submit_time, "2611260031".into());
            assert_eq!(report.done_time, "2611260033".into());
            assert_eq!(report.dest_terminal_id, "8613".into());
        }
    }
    let short = operator_receipt("0A1B2C3D", 2, "000".into(), "8613".into(), 0);
    let deliver = deliver_of(&short, ID, Cmpp::V20, 0).unwrap();
    let report = Report::decode(&deliver.msg_content.0, Cmpp::V20).unwrap();
    assert_eq!(report.msg_id, msg_id_of(ID));
    // Of a state that is not final, and of a message that is none of ours.
    let intermediate = operator_receipt(&ID.to_string(), 1, "000".into(), "8613".into(), 0);
    assert_eq!(deliver_of(&intermediate, ID, Cmpp::V20, 0), None);
    let strange = operator_receipt("not a number", 2, "000".into(), "8613".into(), 0);
    assert_eq!(deliver_of(&strange, ID, Cmpp::V20, 0), None);
}

#[test]
fn a_refused_recipient_has_a_report_of_its_own() {
    let now = id::millis(ID);
    let deliver = refusal_of(ID, "10655".into(), "8613".into(), Cmpp::V30, now).unwrap();
    let report = Report::decode(&deliver.msg_content.0, Cmpp::V30).unwrap();
    assert_eq!(
        (report.msg_id, report.stat),
        (msg_id_of(ID), "REJECTD".into())
    );
    assert_eq!(report.dest_terminal_id, "8613".into());
}

#[test]
fn a_message_of_a_handset_has_its_number() {
    let message = SubmitSm {
        short_message: "hi".into(),
        ..SubmitSm::default()
    };
    let deliver = deliver_of(&message, ID, Cmpp::V20, 0).unwrap();
    assert_eq!(
        (deliver.msg_id, deliver.registered_delivery),
        (msg_id_of(ID), 0)
    );
}

/// Whether a login with the secret `secret` proves that its client knows one of the secrets of an account.
fn proves(secret: &str, first: &str, next: &str) -> bool {
    let account = Account {
        carrier_secret: first.into(),
        carrier_secret_next: next.into(),
        ..Account::default()
    };
    let login = Cmpp::V20.connect("900001", secret.as_bytes(), 1_021_080_510);
    let Body::Connect(connect) = login else {
        unreachable!("a login is one");
    };
    proven(&connect, &account).is_some()
}

#[test]
fn a_secret_is_proven_by_its_digest() {
    assert!(proves("secret", "secret", "") && proves("secret", "old", "secret"));
    assert!(!proves("secret", "Secret", "other") && !proves("secret", "", ""));
    assert!(!proves("", "", ""), "an empty secret is none");
}
