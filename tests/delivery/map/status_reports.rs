//! A handset that asks for a status report gets one, over MAP in both directions.

use bytes::Bytes;
use serde_json::json;
use smsc::sms::tpdu::{SmsSubmit, StatusReport, Tpdu, TpduAddress, TpduKind, decode};

use super::{MapTown, NEVER};
use crate::harness::map::MapMessage;
use crate::harness::saying;

fn report_of(message: &MapMessage) -> StatusReport {
    let octets: Bytes = (0..message.tpdu.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&message.tpdu[at..at + 2], 16).unwrap())
        .collect();
    match decode(TpduKind::StatusReport, &octets) {
        Ok(Tpdu::StatusReport(report)) => report,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_handset_that_asked_gets_a_status_report() {
    let town = MapTown::start(NEVER, "");
    let (sender, own) = town.network.subscriber(1, json!({}));
    let (other, imsi) = town.network.subscriber(2, json!({}));
    let submit = SmsSubmit {
        message_reference: 7,
        status_report_request: true,
        destination_address: TpduAddress::international(&*other),
        ..SmsSubmit::default()
    };
    let answer = town.network.submit(&sender, &saying("hello", submit), 3);
    assert_eq!(answer["dialogue"], "end", "{answer}");
    assert_eq!(town.network.wait_for(&imsi, 1)[0].text, "hello");
    let got = town.network.wait_for(&own, 1).remove(0);
    assert_eq!(got.kind, "status_report");
    let report = report_of(&got);
    assert_eq!((report.message_reference, report.status), (7, 0));
    assert_eq!(
        report.recipient_address,
        TpduAddress::international(&*other)
    );
    town.assert_content(&["hello"]);
}
