//! Explanations of the tower of SS7, sound and broken. The octets were written by pycrate 0.8.1.

use proptest::prelude::*;

use super::super::tests::{assert_all_octets, field};
use super::super::{hex, show};
use super::*;

/// An mt-ForwardSM of version 3 in a UDT in a DATA, from the service centre 49160000 to the MSC 491600002.
const MT: &str = "
    01000101 00000098 0006 0008 00000005 0210 0088 00000089 000000B9 03 00 00 07
    09 81 03 0D 16 0A 12080011049461000002 09 120800120494610000 5D
    625B 4804 0000002A 6B1E 281C 0607 00118605010101 A011 600F 80020780 A109 0607 04000001001903
    6C33 A131 020101 02012C 3029 8008 00010100000000F1 8405 9194610000
    0414 040481214300003211221234440005C8329BFD06 0500";
/// Its TCAP alone.
const TCAP_AT: usize = 59;
/// The answer to a sendRoutingInfoForSM: an MSC and an SGSN.
const ROUTING: &str = "
    645E 4904 0000002B 6B2A 2828 0607 00118605010101 A01D 611B 80020780 A109 0607 04000001001403
    A203 020100 A305 A103 020100 6C2A A228 020101 3023 02012D 301E 0408 00010100000000F1
    A012 8106 9194610000F2 A608 8106 9194610000F3";
const ABSENT: &str = "
    6441 4904 0000002A 6B2A 2828 0607 00118605010101 A01D 611B 80020780 A109 0607 04000001001903
    A203 020100 A305 A103 020100 6C0D A30B 020101 020106 3003 020101";
const FULL: &str = "641A 4904 0000002A 6C12 A310 020101 020120 3008 0A0100 0403 00D300";
const ABORTED: &str = "6709 4904 0000002A 4A0101";
const REFUSED: &str = "
    6432 4904 0000002A 6B2A 2828 0607 00118605010101 A01D 611B 80020780 A109 0607 04000001001902
    A203 020101 A305 A103 020102";
const MO: &str = "
    6538 480101 490102 6C30 A12E 020101 02012E 3026 8405 9194610000 8206 919471010010
    040B 010505812143F500000168 0408 00010100000000F1";
const SEGMENT: &str = "
    11 01 0F 04 08 11 32 04 43BB0008 09 120800120494610000 21
    00F1840591946100000414040481214300003211221234440005C8329BFD060500 10 04 40123456 00";
const RETURNED: &str = "
    0A 01 03 0C 16 09 120800120494610000 0A 12080011049461000002 1E
    625B48040000002A6B1E281C060700118605010101A011600F80020780A1";

fn read(text: &str) -> Vec<DecodeReport> {
    let octets = hex::parse(text).unwrap();
    let reports = explain(&octets);
    reports.iter().for_each(assert_all_octets);
    reports
}

fn titles(reports: &[DecodeReport]) -> Vec<(&str, usize)> {
    reports
        .iter()
        .map(|report| (report.title.as_str(), report.at))
        .collect()
}

fn meaning<'a>(report: &'a DecodeReport, name: &str) -> &'a str {
    &field(report, name).meaning
}

#[test]
fn each_layer_has_a_report() {
    let reports = read(MT);
    assert_eq!(
        titles(&reports),
        [
            ("M3UA DATA", 0),
            ("SCCP UDT", 32),
            ("TCAP Begin, MAP mt-ForwardSM", TCAP_AT),
            ("SMS-DELIVER", 130),
        ]
    );
    for report in &reports {
        assert_eq!(report.problems, [], "{}", show::page(report));
    }
    let [m3ua, sccp, tcap, tpdu] = &reports[..] else {
        unreachable!()
    };
    assert_eq!(meaning(m3ua, "Routing Context"), "5");
    assert_eq!(meaning(m3ua, "OPC"), "0.17.1");
    assert_eq!(meaning(m3ua, "DPC"), "0.23.1");
    assert_eq!(meaning(m3ua, "SI"), "SCCP");
    assert_eq!(
        meaning(sccp, "protocol class"),
        "class 1: in order, returned on error"
    );
    let called = field(sccp, "called");
    assert_eq!(called.shown, "\"491600002\"", "without the filler");
    assert_eq!(called.meaning, "routed by global title, MSC");
    let context = meaning(tcap, "context");
    assert_eq!(context, "shortMsgMT-Relay, version 3");
    assert_eq!(field(tcap, "sm-RP-DA: imsi").shown, "\"001010000000001\"");
    let centre = field(tcap, "sm-RP-OA: serviceCentreAddress");
    assert_eq!(centre.shown, "\"49160000\"");
    assert_eq!(centre.section, "29.002 §7.6.8.2");
    assert_eq!(field(tcap, "moreMessagesToSend").at, 150);
    let text = tpdu.user_data.as_ref().unwrap().text.as_deref();
    assert_eq!(text, Some("Hello"));
}

#[test]
fn a_tower_may_begin_at_any_layer() {
    let whole = hex::parse(MT).unwrap();
    for (at, layers) in [(0, 4), (32, 3), (TCAP_AT, 2)] {
        let octets = whole.slice(at..whole.len());
        assert_eq!(explain(&octets).len(), layers, "from octet {at}");
    }
    let reports = read(&format!("{MT} 01000303 00000008"));
    assert_eq!(titles(&reports)[4], ("M3UA BEAT", 152));
    let none = read("FF00");
    assert!(none[0].problems[0].text.contains("begins with 01"));
}

#[test]
fn answers_and_errors_are_named() {
    let routing = &read(ROUTING)[0];
    assert_eq!(routing.title, "TCAP End, MAP sendRoutingInfoForSM");
    assert_eq!(field(routing, "networkNode-Number").shown, "\"491600002\"");
    assert_eq!(field(routing, "sgsn-Number").shown, "\"491600003\"");
    let absent = &read(ABSENT)[0];
    assert_eq!(absent.title, "TCAP End, MAP absentSubscriberSM");
    assert_eq!(
        meaning(absent, "absentSubscriberDiagnosticSM"),
        "IMSI detached"
    );
    let full = read(FULL);
    assert_eq!(
        titles(&full),
        [
            ("TCAP End, MAP sm-DeliveryFailure", 0),
            ("SMS-DELIVER-REPORT in RP-ERROR", 25)
        ]
    );
    assert_eq!(meaning(&full[0], "cause"), "memoryCapacityExceeded");
    let aborted = &read(ABORTED)[0];
    assert_eq!(
        meaning(aborted, "P-Abort cause"),
        "unrecognized transaction id"
    );
    let refused = &read(REFUSED)[0];
    assert_eq!(meaning(refused, "context"), "shortMsgMT-Relay, version 2");
    assert_eq!(
        meaning(refused, "reason"),
        "application context not supported"
    );
}

#[test]
fn a_message_of_a_phone_is_one() {
    let reports = read(MO);
    let [tcap, tpdu] = &reports[..] else {
        panic!("{reports:?}");
    };
    assert_eq!(tcap.title, "TCAP Continue, MAP mo-ForwardSM or forwardSM");
    assert_eq!(field(tcap, "sm-RP-OA: msisdn").shown, "\"4917100001\"");
    assert_eq!(field(tcap, "imsi").at, 48);
    assert_eq!(tpdu.title, "SMS-SUBMIT");
}

#[test]
fn a_segment_is_not_read_as_a_whole() {
    let reports = read(SEGMENT);
    assert_eq!(titles(&reports), [("SCCP XUDT", 0)]);
    let segmentation = field(&reports[0], "segmentation");
    assert_eq!(segmentation.meaning, "a later segment, 0 follow");
    assert_eq!(meaning(&reports[0], "called"), "routed by subsystem, MSC");
}

#[test]
fn what_comes_back_says_why() {
    let reports = read(RETURNED);
    assert_eq!(
        meaning(&reports[0], "return cause"),
        "no translation for this specific address"
    );
    // It may come back cut.
    assert!(!reports[1].problems.is_empty());
}

#[test]
fn what_is_wrong_is_named_by_octet_and_field() {
    for (text, at, name, said) in [
        ("01000101 00", 0, "message", "begins with 8 octets"),
        (
            "01000101 00000009",
            4,
            "message",
            "said to have 9 octets; 8 are there",
        ),
        (
            "01000303 0000000C 0009 0008",
            8,
            "parameter",
            "said to have 8 octets; 4 are left",
        ),
        (
            "01000101 00000010 0210 0008 00000001",
            8,
            "Protocol Data",
            "routing label has 12",
        ),
        ("09 80 03 05", 4, "pointer to data", "ends before it"),
        (
            "09 80 FF 05 09 00",
            5,
            "called",
            "the pointer leads to octet 257",
        ),
        ("62 02 48", 0, "message", "does not end within"),
        ("62 02 48 05", 2, "element", "does not end within"),
        (
            "62 03 48 01 01 6C 00",
            5,
            "message",
            "octets behind its end",
        ),
    ] {
        let reports = read(text);
        let problem = &reports[0].problems[0];
        assert_eq!(
            (problem.at, problem.field.as_str()),
            (at, name),
            "{text}: {problem:?}"
        );
        assert!(problem.text.contains(said), "{text}: {problem:?}");
    }
}

proptest! {
    /// Whatever the octets are, each is in one field of its report.
    #[test]
    fn every_octet_is_in_a_field(octets in prop::collection::vec(any::<u8>(), 1..200), first in 0_usize..8) {
        let mut octets = octets;
        octets[0] = [0x01, 0x09, 0x11, 0x13, 0x62, 0x64, 0x65, 0x67][first];
        explain(&octets.into()).iter().for_each(assert_all_octets);
    }

    #[test]
    fn what_is_changed_or_cut_is_explained(at in 0_usize..152, octet in any::<u8>(), length in 1_usize..=152) {
        let mut octets = hex::parse(MT).unwrap().to_vec();
        octets[at] = octet;
        octets.truncate(length);
        explain(&octets.into()).iter().for_each(assert_all_octets);
    }
}
