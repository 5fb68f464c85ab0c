//! Explanations of PDUs of carriers, sound and broken.

use proptest::prelude::*;

use super::super::show;
use super::super::tests::{assert_all_octets, field};
use super::*;

const SGIP_DELIVER: &str = "000000510000000400018a8942c4f1de0000000138363133303030303030303031000000000000000031303635350000000000000000000000000000000000000f00000004c4e3bac30000000000000000";
const SGIP_REPORT: &str = "000000400000000500018a8942c4f22400000009b36924b942c4f1d9000000070038363133303030303030303031000000000000000002190000000000000000";

fn cmpp_report(version: Cmpp) -> Bytes {
    let report = cmpp::Report {
        msg_id: 0xB9C9_7C00_0000_0001,
        stat: "DELIVRD".into(),
        ..cmpp::Report::default()
    };
    let mut deliver = cmpp::bodies::Deliver {
        dest_id: "10655".into(),
        registered_delivery: 1,
        ..cmpp::bodies::Deliver::default()
    };
    deliver.msg_content.0 = report.encode(version).unwrap();
    let body = cmpp::Body::Deliver(Box::new(deliver));
    let mut out = BytesMut::new();
    version
        .encode(&cmpp::Pdu { sequence: 7, body }, &mut out)
        .unwrap();
    out.freeze()
}

#[test]
fn two_pdus_of_sgip_with_a_text_and_an_error() {
    let octets = hex::parse(&format!("{SGIP_DELIVER}{SGIP_REPORT}")).unwrap();
    let reports = explain(&octets, CarrierProtocol::Sgip);
    let [deliver, report] = &reports[..] else {
        panic!("{reports:?}");
    };
    for report in &reports {
        assert_all_octets(report);
        assert_eq!(report.problems, [], "{}", show::page(report));
    }
    assert_eq!(deliver.title, "SGIP Deliver");
    assert_eq!(field(deliver, "MessageCoding").meaning, "GBK");
    assert_eq!(field(deliver, "MessageContent").meaning, "\"你好\"");
    assert_eq!((report.title.as_str(), report.at), ("SGIP Report", 81));
    assert_eq!(field(report, "ErrorCode").meaning, "handset out of reach");
}

#[test]
fn the_version_of_cmpp_is_the_one_that_fits() {
    for (version, title) in [
        (Cmpp::V20, "CMPP 2.0 CMPP_DELIVER"),
        (Cmpp::V30, "CMPP 3.0 CMPP_DELIVER"),
    ] {
        let reports = explain(&cmpp_report(version), CarrierProtocol::Cmpp);
        assert_eq!(reports.len(), 1);
        assert_eq!(reports[0].title, title);
        assert_all_octets(&reports[0]);
        let stat = &reports[0].receipt[1];
        assert_eq!(
            (stat.value.as_str(), stat.meaning.as_str()),
            ("DELIVRD", "Delivered")
        );
    }
}

#[test]
fn a_report_of_smgp_is_read() {
    let report = smgp::Report {
        msg_id: [0xFF; 10],
        stat: "UNDELIV".into(),
        err: "069".into(),
        ..smgp::Report::default()
    };
    let mut deliver = smgp::bodies::Deliver {
        is_report: 1,
        ..smgp::bodies::Deliver::default()
    };
    deliver.msg_content.0 = report.encode();
    let body = smgp::Body::Deliver(Box::new(deliver));
    let mut out = BytesMut::new();
    Smgp.encode(&smgp::Pdu { sequence: 7, body }, &mut out)
        .unwrap();
    let reports = explain(&out.freeze(), CarrierProtocol::Smgp);
    assert_eq!(reports[0].title, "SMGP 3.0 Deliver");
    assert_all_octets(&reports[0]);
    let receipt: Vec<&str> = reports[0]
        .receipt
        .iter()
        .map(|detail| detail.value.as_str())
        .collect();
    assert_eq!(receipt[..3], ["FFFFFFFFFFFFFFFFFFFF", "UNDELIV", "069"]);
}

#[test]
fn no_version_is_named_when_both_fit() {
    let octets = "0000000C0000000800000001";
    let reports = explain(&hex::parse(octets).unwrap(), CarrierProtocol::Cmpp);
    assert_eq!(reports[0].title, "CMPP CMPP_ACTIVE_TEST");
}

#[test]
fn what_is_cut_short_is_said() {
    let whole = cmpp_report(Cmpp::V20);
    let reports = explain(&whole.slice(..40), CarrierProtocol::Cmpp);
    assert_eq!(reports[0].problems.len(), 1);
    assert_all_octets(&reports[0]);
    let mut wrong = BytesMut::from(&whole[..40]);
    wrong[..4].copy_from_slice(&[0, 0, 0, 40]);
    let reports = explain(&wrong.freeze(), CarrierProtocol::Cmpp);
    assert_eq!(reports[0].problems[0].text, "the PDU ends in it");
    assert_all_octets(&reports[0]);
    let reports = explain(&Bytes::from_static(&[0; 8]), CarrierProtocol::Smgp);
    assert_eq!(
        reports[0].problems[0].text,
        "0 octets are no length of a PDU"
    );
}

proptest! {
    #[test]
    fn any_octets_are_in_a_field(
        command in 0..9_u32, octets in proptest::collection::vec(any::<u8>(), 8..200), is_resp: bool
    ) {
        let mut frame = BytesMut::new();
        frame.extend_from_slice(&(octets.len() as u32 + 8).to_be_bytes());
        frame.extend_from_slice(&(command | u32::from(is_resp) << 31).to_be_bytes());
        frame.extend_from_slice(&octets);
        let frame = frame.freeze();
        for which in [CarrierProtocol::Cmpp, CarrierProtocol::Sgip, CarrierProtocol::Smgp] {
            let reports = explain(&frame, which);
            reports.iter().for_each(assert_all_octets);
            let all: usize = reports.iter().map(|report| report.octets).sum();
            prop_assert_eq!(all, frame.len());
        }
    }
}
