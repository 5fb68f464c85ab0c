//! Explanations of GSUP frames, sound and broken.

use proptest::prelude::*;

use super::super::show;
use super::super::tests::{assert_all_octets, field};
use super::*;

/// As captured between an HLR and an MSC.
const MT: &str = "
    0057 EE 05 28 01 08 00010100000000F1 40 01 01 41 09 01 00010100000000F1
    42 06 03 91 94710000 43 14 040481214300003211221234440005C8329BFD06 45 01 00 0A 01 02
    60 17 534D53432D30302D30302D30302D30302D30302D303000";

fn read(text: &str) -> Vec<DecodeReport> {
    explain(&hex::parse(text).unwrap())
}

#[test]
fn a_message_with_its_tpdu() {
    let reports = read(MT);
    let [frame, tpdu] = &reports[..] else {
        panic!("{reports:?}");
    };
    assert_all_octets(frame);
    assert_eq!(frame.title, "GSUP MT-forwardSM request");
    assert_eq!(
        (&frame.problems[..], &tpdu.problems[..]),
        (&[][..], &[][..])
    );
    for (name, at, shown, section, meaning) in [
        ("stream", 2, "0xEE", "", "OSMO, with an extension"),
        ("IMSI", 5, "\"001010000000001\"", "23.003 §2.2", ""),
        ("SM-RP-MR", 15, "0x01", "24.011 §8.2.3", ""),
        (
            "SM-RP-DA",
            18,
            "\"001010000000001\"",
            "29.002 §7.6.8.1",
            "IMSI",
        ),
        (
            "SM-RP-OA",
            29,
            "\"49170000\"",
            "29.002 §7.6.8.2",
            "service centre, international, ISDN (E.164)",
        ),
        ("SM-RP-UI", 37, "20 octets", "29.002 §7.6.8.4", ""),
        (
            "SM-RP-MMS",
            59,
            "0x00",
            "29.002 §7.6.8.7",
            "no more messages",
        ),
        ("Message class", 62, "0x02", "", "short messages"),
        ("Source name", 65, "\"SMSC-00-00-00-00-00-00\"", "", ""),
    ] {
        let field = field(frame, name);
        assert_eq!((field.at, field.shown.as_str()), (at, shown), "{name}");
        assert_eq!(
            (field.section.as_str(), field.meaning.as_str()),
            (section, meaning),
            "{name}"
        );
    }
    assert_eq!(
        (tpdu.title.as_str(), tpdu.at, tpdu.octets),
        ("SMS-DELIVER", 39, 20)
    );
    assert_eq!(
        tpdu.user_data.as_ref().unwrap().text.as_deref(),
        Some("Hello")
    );
}

#[test]
fn the_handshake_and_answers_follow_each_other() {
    let reports = read(
        "0011 FE 04 0108 0107 0102 0103 0104 0105 0101 0100
         0009 FE 05 0006 00 534D534300
         0001 FE 06
         0012 EE 05 29 01 08 00010100000000F1 40 01 00 44 01 16
         0003 EE 00 4745
         0001 00 AA",
    );
    let titles: Vec<(&str, usize)> = reports
        .iter()
        .map(|report| (report.title.as_str(), report.at))
        .collect();
    assert_eq!(
        titles,
        [
            ("ID_GET", 0),
            ("ID_RESP", 20),
            ("ID_ACK", 32),
            ("GSUP MT-forwardSM error", 36),
            ("IPA frame", 57),
            ("IPA frame", 63),
        ]
    );
    for report in &reports {
        assert_all_octets(report);
        assert_eq!(report.problems, [], "{}", show::page(report));
    }
    let names = &field(&reports[1], "names").details;
    assert_eq!((names[0].value.as_str(), names.len()), ("SMSC", 1));
    assert!(names[0].meaning.contains("routed by"), "{names:?}");
    let cause = field(&reports[3], "SM-RP-Cause");
    assert_eq!(cause.meaning, "memory capacity exceeded");
    assert_eq!(field(&reports[4], "extension").meaning, "CTRL");
}

#[test]
fn what_is_wrong_is_named_by_octet_and_element() {
    for (hex, at, field, text) in [
        ("00", 0, "length", "begins with its length"),
        ("0005 EE 05", 0, "length", "4 of them are missing"),
        ("0001 FE 55", 3, "message type", "0x55 is not known"),
        ("0001 EE 05", 4, "message type", "the frame ends before it"),
        (
            "000C EE 05 24 01 08 00010100000000F1",
            4,
            "SM-RP-MR",
            "lacks it",
        ),
        (
            "000E EE 05 24 01 08 00010100000000F1 43 05",
            15,
            "SM-RP-UI",
            "does not end within",
        ),
        ("0005 EE 05 04 28 01 02", 8, "IMSI", "lacks it"),
    ] {
        let reports = read(hex);
        let page = show::page(&reports[0]);
        assert_all_octets(&reports[0]);
        let [problem] = &reports[0].problems[..] else {
            panic!("{hex}: {page}");
        };
        assert_eq!((problem.at, problem.field.as_str()), (at, field), "{page}");
        assert!(problem.text.contains(text), "{text} in {page}");
    }
}

proptest! {
    #[test]
    fn any_octets_are_shown(
        octets: Vec<u8>,
        elements in prop::collection::vec((0_u8..0x70, any::<Vec<u8>>()), 0..4),
        message_type in 0_u8..0x50,
    ) {
        let mut message = vec![GSUP, message_type];
        for (tag, value) in elements {
            let value = &value[..value.len().min(255)];
            message.extend([tag, value.len() as u8]);
            message.extend_from_slice(value);
        }
        let mut framed = (message.len() as u16).to_be_bytes().to_vec();
        framed.push(OSMO);
        framed.extend(message);
        framed.extend_from_slice(&octets);
        for given in [framed, octets] {
            for report in explain(&given.into()) {
                assert_all_octets(&report);
                let _ = show::page(&report);
            }
        }
    }
}
