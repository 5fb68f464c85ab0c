//! Explanations of TPDUs and of messages of the relay layer, sound and broken.

use proptest::prelude::*;

use super::super::show;
use super::super::tests::{assert_all_octets, field, octets};
use super::*;

const SUBMIT: &str = "B1 2A 0B 91 6407281553F8 00 00 AA 0A E8329BFD4697D9EC37";

fn read(text: &str, which: &str) -> DecodeReport {
    let (_, which) = WHICH.iter().find(|(name, _)| *name == which).unwrap();
    explain(&octets(text), 0, *which)
}

#[test]
fn a_submit_as_a_page() {
    let report = read(SUBMIT, "from-phone");
    assert_all_octets(&report);
    let page = "\
SMS-SUBMIT, 23 octets
     0  TP-MTI  23.040 §9.2.3.1   0xB1                  SMS-SUBMIT
          bit 7     1   TP-RP: reply path
          bit 6     0   TP-UDHI: no header
          bit 5     1   TP-SRR: a status report is wanted
          bits 4-3  10  TP-VPF: relative validity period
          bit 2     0   TP-RD: duplicates are accepted
          bits 1-0  01  TP-MTI
     1  TP-MR   23.040 §9.2.3.6   42
     2  TP-DA   23.040 §9.2.3.8   \"46708251358\"         international, ISDN (E.164)
    10  TP-PID  23.040 §9.2.3.9   0x00                  no interworking
    11  TP-DCS  23.040 §9.2.3.10  0x00                  the default alphabet
          bits 7-6  00  general group
          bit 5     0   uncompressed
          bit 4     0   bits 1-0 mean nothing
          bits 3-2  00  the default alphabet
          bits 1-0  00
    12  TP-VP   23.040 §9.2.3.12  AA                    4 days
    13  TP-UDL  23.040 §9.2.3.16  10                    septets in the 7-bit alphabet, else octets
    14  TP-UD   23.040 §9.2.3.24  9 octets

user data, 9 octets from octet 14
  GSM 7-bit, packed, 10 characters
    hellohello
";
    assert_eq!(show::page(&report), page);
}

#[test]
fn every_kind_says_what_its_fields_mean() {
    for (which, hex, title, name, shown, meaning) in [
        (
            "to-phone",
            "040DD0C8F71D1496970100006211125003514805C8329BFD06",
            "SMS-DELIVER",
            "TP-OA",
            "\"How are\"",
            "alphanumeric, unknown",
        ),
        (
            "deliver",
            "04048121430000 6211125003518A 05C8329BFD06",
            "SMS-DELIVER",
            "TP-SCTS",
            "62 11 12 50 03 51 8A",
            "2026-11-21 05:30:15 -07:00",
        ),
        (
            "to-phone",
            "062A08919461001062111250035100 62111250035100 45",
            "SMS-STATUS-REPORT",
            "TP-ST",
            "0x45",
            "no interworking available; permanent, not tried any more",
        ),
        (
            "from-phone",
            "2207 00 02 2A 0891 94610010 00",
            "SMS-COMMAND",
            "TP-CT",
            "0x02",
            "delete a message",
        ),
        (
            "from-phone",
            "00 D3 01 00",
            "SMS-DELIVER-REPORT in RP-ERROR",
            "TP-FCS",
            "0xD3",
            "memory capacity exceeded",
        ),
        (
            "from-phone",
            "00 00",
            "SMS-DELIVER-REPORT in RP-ACK",
            "TP-PI",
            "0x00",
            "nothing follows",
        ),
        (
            "submit-report",
            "01 03 62111250035100 00 00",
            "SMS-SUBMIT-REPORT in RP-ACK",
            "TP-PI",
            "0x03",
            "TP-PID, TP-DCS follow",
        ),
        (
            "submit",
            "09 00 00 80 00 F6 421E0000000000 02 BEEF",
            "SMS-SUBMIT",
            "TP-VP",
            "42 1E 00 00 00 00 00",
            "30 seconds, one attempt only",
        ),
        (
            "submit",
            "19 00 00 80 00 F6 62111250035100 00",
            "SMS-SUBMIT",
            "TP-VP",
            "62 11 12 50 03 51 00",
            "until 2026-11-21 05:30:15 +00:00",
        ),
    ] {
        let report = read(hex, which);
        let page = show::page(&report);
        assert_all_octets(&report);
        assert_eq!(report.problems, [], "{page}");
        assert_eq!(report.title, title, "{hex}");
        let field = field(&report, name);
        assert_eq!(
            (field.shown.as_str(), field.meaning.as_str()),
            (shown, meaning),
            "{page}"
        );
        assert!(field.section.starts_with("23.040 §9.2.3."), "{page}");
    }
}

#[test]
fn texts_are_read_with_their_headers() {
    let part = read("41000891946100100000 0C 050003CC0201 906536FB0D", "submit");
    let user_data = part.user_data.unwrap();
    assert_eq!(user_data.header[0].meaning, "part 1 of 2, reference 204");
    assert_eq!(user_data.text.as_deref(), Some("Hello"));
    assert_eq!((user_data.at, user_data.octets), (11, 11));
    let data = read("0100089194610010000404DEADBEEF", "submit")
        .user_data
        .unwrap();
    assert_eq!((data.alphabet.as_str(), data.text), ("data", None));
    assert_eq!(data.data.as_deref(), Some("DE AD BE EF"));
    let ucs2 = read("01000891946100100008 04 04160435", "submit")
        .user_data
        .unwrap();
    assert_eq!(ucs2.text.as_deref(), Some("Же"));
    let turkish = read("410008919461001000000703240101 D834", "submit")
        .user_data
        .unwrap();
    assert!(turkish.alphabet.contains("turkish single"), "{turkish:?}");
}

#[test]
fn what_is_wrong_is_named_by_octet_and_field() {
    for (which, hex, at, field, text) in [
        (
            "submit",
            "01 00 08 91",
            4,
            "TP-DA",
            "octets needed: 4; left: 0",
        ),
        (
            "submit",
            "04 00",
            0,
            "TP-MTI",
            "message type 0 is not that of SMS-SUBMIT",
        ),
        (
            "from-phone",
            "03 00",
            0,
            "TP-MTI",
            "message type 3 is reserved",
        ),
        (
            "submit",
            "01 00 00 80 00 00 05 C832",
            7,
            "TP-UD",
            "octets needed: 5; left: 2",
        ),
        (
            "submit",
            "01 00 00 80 00 00 00 FF",
            7,
            "(left over)",
            "behind the last field: 1",
        ),
        (
            "deliver",
            "04 00 80 00 00 62311250035100 00",
            5,
            "TP-SCTS",
            "no date and time",
        ),
    ] {
        let report = read(hex, which);
        let page = show::page(&report);
        assert_all_octets(&report);
        let [problem] = &report.problems[..] else {
            panic!("{hex}: {page}");
        };
        assert_eq!((problem.at, problem.field.as_str()), (at, field), "{page}");
        assert!(problem.text.contains(text), "{text} in {page}");
    }
}

#[test]
fn the_relay_layer_is_read_with_its_tpdu() {
    let data = explain_rp(&octets("00 07 00 05 91 94710000 0A 01000080000002C834"), 0);
    let [rp, tpdu] = &data[..] else {
        panic!("{data:?}");
    };
    assert_all_octets(rp);
    assert_eq!((rp.title.as_str(), rp.problems.len()), ("RP-DATA", 1));
    let centre = field(rp, "RP-DA");
    assert_eq!(
        (centre.shown.as_str(), centre.section.as_str()),
        ("\"49170000\"", "24.011 §8.2.5.2")
    );
    assert_eq!((tpdu.title.as_str(), tpdu.at), ("SMS-SUBMIT", 10));
    assert_eq!(tpdu.user_data.as_ref().unwrap().text.as_deref(), Some("Hi"));
    let error = explain_rp(&octets("04 2A 01 16 41 03 00D300"), 0);
    assert_eq!(
        field(&error[0], "RP-Cause").meaning,
        "memory capacity exceeded"
    );
    assert_eq!(error[1].title, "SMS-DELIVER-REPORT in RP-ERROR");
    assert_eq!(
        field(&error[0], "RP-MTI").meaning,
        "RP-ERROR, from the phone"
    );
    let ready = explain_rp(&octets("06 01"), 0);
    assert_eq!((ready.len(), ready[0].title.as_str()), (1, "RP-SMMA"));
    let broken = explain_rp(&octets("01 01 06 91"), 0);
    assert_all_octets(&broken[0]);
    assert_eq!(broken[0].problems[0].field, "RP-OA");
}

proptest! {
    #[test]
    fn any_octets_are_shown(octets: Vec<u8>, which in 0..WHICH.len()) {
        let octets = Bytes::from(octets);
        let report = explain(&octets, 0, WHICH[which].1);
        assert_all_octets(&report);
        let _ = show::page(&report);
        for report in explain_rp(&octets, 0) {
            assert_all_octets(&report);
            let _ = show::page(&report);
        }
    }
}
