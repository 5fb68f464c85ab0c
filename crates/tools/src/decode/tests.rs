//! Explanations of whole PDUs and of user data, sound and broken.

use super::report::DecodedField;
use super::*;

pub(super) fn octets(hex: &str) -> Bytes {
    hex::parse(hex).unwrap()
}

fn one(hex: &str) -> DecodeReport {
    let mut reports = explain(&octets(hex));
    assert_eq!(reports.len(), 1, "{reports:?}");
    reports.remove(0)
}

pub(super) fn field<'a>(report: &'a DecodeReport, name: &str) -> &'a DecodedField {
    let found = report.fields.iter().find(|field| field.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {}", show::page(report)))
}

/// Every octet is in one field, in order.
pub(super) fn assert_all_octets(report: &DecodeReport) {
    let mut at = report.at;
    for field in &report.fields {
        assert_eq!(field.at, at, "{}", show::page(report));
        at += field.octets;
    }
    assert_eq!(at, report.at + report.octets, "{}", show::page(report));
}

/// Octet, field, and a part of the text of every problem.
fn assert_problems(report: &DecodeReport, expected: &[(usize, &str, &str)]) {
    let page = show::page(report);
    assert_eq!(report.problems.len(), expected.len(), "{page}");
    for (problem, (at, field, text)) in report.problems.iter().zip(expected) {
        assert_eq!(
            (problem.at, problem.field.as_str()),
            (*at, *field),
            "{page}"
        );
        assert!(problem.text.contains(text), "{text} in {page}");
    }
}

/// submit_sm of the second of two parts, by hand.
const PART: &str = "
    00000059 00000004 00000000 00000002
    00 05 00 42616E6B00 01 01 34343737303039303031323300
    40 00 00 00 323631313232303231373033 303034 2B00 05 00 00 00
    0D 050003CC0202 68656C6C6F1B65
    0204 0002 1234 1501 0001 58";

#[test]
fn a_part_of_a_long_text() {
    let report = one(PART);
    assert_eq!(report.title, "submit_sm");
    assert_problems(&report, &[]);
    let expect = |name: &str, at: usize, shown: &str, meaning: &str| {
        let field = field(&report, name);
        assert_eq!((field.at, field.shown.as_str()), (at, shown), "{name}");
        assert_eq!(field.meaning, meaning, "{name}");
    };
    expect("command_id", 4, "0x00000004", "submit_sm");
    expect("command_status", 8, "0x00000000", "not used in requests");
    expect("source_addr_ton", 17, "5", "alphanumeric");
    expect("source_addr", 19, "\"Bank\"", "");
    expect("dest_addr_npi", 25, "1", "ISDN (E.164)");
    expect(
        "esm_class",
        39,
        "0x40",
        "an ordinary message, with a header",
    );
    expect(
        "validity_period",
        43,
        "\"261122021703004+\"",
        "2026-11-22 01:17:03 UTC, written at UTC+01:00",
    );
    expect(
        "registered_delivery",
        60,
        "0x05",
        "a receipt of success or failure",
    );
    expect("user_message_reference", 78, "4660", "");
    expect("vendor's parameter 0x1501", 84, "58", "");
    let bits: Vec<String> = field(&report, "registered_delivery")
        .details
        .iter()
        .map(|bits| format!("{}={}", bits.name, bits.value))
        .collect();
    assert_eq!(bits, ["bit 4=0", "bits 3-2=01", "bits 1-0=01"]);
    let user_data = report.user_data.unwrap();
    assert_eq!(user_data.at, 65);
    assert_eq!(user_data.header[0].meaning, "part 2 of 2, reference 204");
    assert_eq!(user_data.text.as_deref(), Some("hello€"));
}

#[test]
fn a_receipt() {
    let text = "id:7 sub:001 dlvrd:001 submit date:2611220217 done date:2611220218 \
                stat:DELIVRD err:000 text:hi";
    let text: String = text.bytes().map(|octet| format!("{octet:02X}")).collect();
    let length = text.len() / 2;
    let body = format!(
        "00 01 01 3100 00 00 3200 04 00 00 00 00 00 00 00 00 {length:02X} {text} 001E 0002 3700 \
         0427 0001 02 0423 0003 030000"
    );
    let whole = 16 + octets(&body).len();
    let report = one(&format!("{whole:08X} 00000005 00000000 00000009 {body}"));
    assert_problems(&report, &[]);
    assert_eq!(
        field(&report, "esm_class").meaning,
        "a delivery receipt of the SMSC"
    );
    assert_eq!(field(&report, "message_state").meaning, "DELIVERED, final");
    assert_eq!(field(&report, "receipted_message_id").shown, "\"7\"");
    assert_eq!(field(&report, "network_error_code").meaning, "GSM, error 0");
    let said = |name: &str| {
        let detail = report
            .receipt
            .iter()
            .find(|detail| detail.name == name)
            .unwrap();
        (detail.value.as_str(), detail.meaning.as_str())
    };
    assert_eq!(said("message"), ("7", ""));
    assert_eq!(said("text stat"), ("DELIVRD", "DELIVERED, final"));
    assert_eq!(said("text done date"), ("2026-11-22 02:18 UTC", ""));
}

#[test]
fn many_operations_without_a_problem() {
    for (hex, title, name, shown) in [
        (
            "00000010 00000015 00000000 00000001",
            "enquire_link",
            "sequence_number",
            "1",
        ),
        (
            "00000010 80000015 00000000 00000001",
            "enquire_link_resp",
            "command_length",
            "16",
        ),
        (
            "00000010 80000004 00000058 00000001",
            "submit_sm_resp",
            "command_status",
            "0x00000058",
        ),
        (
            "00000012 80000004 00000000 00000001 3700",
            "submit_sm_resp",
            "message_id",
            "\"7\"",
        ),
        (
            "00000010 80000000 00000003 00000000",
            "generic_nack",
            "command_status",
            "0x00000003",
        ),
        (
            "00000020 00000009 00000000 00000001 61626300 7300 00 34 00 00 00 000000000000",
            "bind_transceiver",
            "interface_version",
            "0x34",
        ),
        (
            "0000001B 80000009 00000000 00000001 534D534300 0210 0001 34 00",
            "bind_transceiver_resp",
            "sc_interface_version",
            "52",
        ),
        (
            "00000018 80000003 00000000 00000001 373700 00 06 00 0000",
            "query_sm_resp",
            "message_state",
            "6",
        ),
        (
            "00000026 00000021 00000000 00000001 00 00 00 00 02 01 01 01 3400 02 6C00
             00 00 00 00 00 00 00 00 00",
            "submit_multi",
            "dest_address 2 dl_name",
            "\"l\"",
        ),
        (
            "0000001E 80000021 00000000 00000001 3700 01 01 01 343400 00000058 0000",
            "submit_multi_resp",
            "unsuccess_sme 1 error_status_code",
            "0x00000058",
        ),
    ] {
        let given = octets(hex);
        let report = explain(&given).remove(0);
        assert_eq!(report.title, title, "{hex}");
        assert_eq!(field(&report, name).shown, shown, "{hex}");
        let _ = report.problems;
    }
}

#[test]
fn what_is_wrong_is_named_by_octet_and_field() {
    /// Octets, and the place, name and meaning of fields in them.
    type Case = (&'static str, &'static [(usize, &'static str, &'static str)]);
    let cases: &[Case] = &[
        // Cut inside the header, and inside a field.
        (
            "00 00 00",
            &[(0, "command_length", "it has 4 octets; left in the PDU: 3")],
        ),
        (
            "00000010 00000015 0000",
            &[
                (0, "command_length", "6 of them are missing"),
                (8, "command_status", "left in the PDU: 2"),
            ],
        ),
        (
            "0000002A 00000004 00000000 00000002 00 05 00 42616E",
            &[
                (0, "command_length", "20 of them are missing"),
                (19, "source_addr", "NUL at its end is missing"),
                (22, "dest_addr_ton", "the PDU ends before it"),
            ],
        ),
        // A length that is none.
        (
            "0000000F 00000015 00000000 00000001",
            &[(0, "command_length", "at least the 16 octets")],
        ),
        // More than the operation has.
        (
            "00000012 00000015 00000000 00000001 BEEF",
            &[(
                16,
                "command_length",
                "more octets than the operation has fields: 2",
            )],
        ),
        // No such operation; a request with a status.
        (
            "00000010 00000033 00000000 00000001",
            &[(4, "command_id", "no operation of SMPP")],
        ),
        (
            "00000010 00000015 00000001 00000001",
            &[(8, "command_status", "a request has 0 here")],
        ),
        // sm_length reaches past the end.
        (
            "00000024 00000004 00000000 00000002 00 00 00 00 01 01 3400 00 00 00 00 00 00 00 00 00 \
             05 6162",
            &[
                (34, "short_message", "sm_length is 5; left in the PDU: 2"),
                (36, "short_message", "this SMSC answers ESME_RINVMSGLEN"),
            ],
        ),
        // A parameter that is cut short, one of a wrong length.
        (
            "00000017 80000004 00000000 00000001 00 0204 0004 12 34",
            &[(
                17,
                "user_message_reference",
                "its length is 4; left in the PDU: 2",
            )],
        ),
        ("00000016 80000004 00000000 00000001 00 0427 0001 08", &[]),
        (
            "00000017 80000004 00000000 00000001 00 0427 0002 0008",
            &[(17, "message_state", "2 octets; the standard says 1")],
        ),
        // A time that is none; an address that is too long.
        (
            "0000001D 80000003 00000000 00000001 3700 746F6D6F72726F7700 02 00",
            &[(18, "final_date", "YYMMDDhhmmss")],
        ),
        (
            "0000002A 00000003 00000000 00000001 3700 01 01 \
             313233343536373839303132333435363738393031 00 ",
            &[(20, "source_addr", "21 characters; the standard allows 20")],
        ),
        // A header that does not fit its text.
        (
            "00000025 00000004 00000000 00000002 00 00 00 00 01 01 3400 40 00 00 00 00 00 00 00 00 \
             03 090003",
            &[(
                34,
                "user data header",
                "9 octets behind its length, but only 2 follow",
            )],
        ),
    ];
    for (hex, problems) in cases {
        let hex: String = hex.to_string();
        let given = octets(&hex);
        let report = explain(&given).remove(0);
        assert_problems(&report, problems);
    }
}

#[test]
fn several_pdus_follow_each_other() {
    let link = "00000010 00000015 00000000 00000001";
    let answer = "00000010 80000015 00000000 00000001";
    let reports = explain(&octets(&format!("{link}{answer}0000")));
    let titles: Vec<(&str, usize)> = reports
        .iter()
        .map(|report| (report.title.as_str(), report.at))
        .collect();
    assert_eq!(
        titles,
        [
            ("enquire_link", 0),
            ("enquire_link_resp", 16),
            ("part of a PDU", 32)
        ]
    );
}

#[test]
fn user_data_of_every_kind() {
    let read = |hex: &str, data_coding: Option<u8>| {
        let reading = UserDataHints {
            data_coding,
            ..UserDataHints::default()
        };
        user_data(&octets(hex), reading).user_data.unwrap()
    };
    let packed = read("E8329BFD4697D9EC37", None);
    assert_eq!(packed.text.as_deref(), Some("hellohello"));
    assert!(packed.alphabet.contains("packed"), "{}", packed.alphabet);
    // 160 septets in 140 octets: part 1, with its fill bit.
    let part = read("050003CC0201 D06536FB0D", None);
    assert_eq!(part.header[0].meaning, "part 1 of 2, reference 204");
    assert_eq!(part.text.as_deref(), Some("hello"));
    let ucs2 = read("0416 0435 D83D DE00", Some(0x18));
    assert_eq!(ucs2.text.as_deref(), Some("Же😀"));
    assert_eq!(ucs2.characters, 3);
    let wap = read("0605040B8423F0 01062F", Some(4));
    assert_eq!(wap.header[0].meaning, "to 2948 (WAP push), from 9200");
    assert_eq!(wap.data.as_deref(), Some("01 06 2F"));
    let turkish = read("03240101 1B69", None);
    assert_eq!(turkish.text.as_deref(), Some("ı"));
    assert!(
        turkish.alphabet.contains("turkish single"),
        "{}",
        turkish.alphabet
    );
    let latin = read("436166E9", Some(0));
    assert!(latin.or.iter().any(|or| or.value == "Café"), "{latin:?}");
    let unsure = read("0416 0435", None);
    assert!(unsure.or.iter().any(|or| or.value == "Же"), "{unsure:?}");
}

#[test]
fn data_coding_bit_by_bit() {
    for (octet, said) in [
        (0x00, "the SMSC's default alphabet"),
        (0x03, "Latin-1 (ISO 8859-1)"),
        (0x08, "UCS-2"),
        (0x10, "the default alphabet, class 0 (flash)"),
        (0x18, "UCS-2, class 0 (flash)"),
        (0xF6, "8-bit data, class 2"),
        (0xC8, "the default alphabet, voice mail waits"),
        (0xE1, "UCS-2, no fax waits any more"),
        (0x90, "reserved"),
    ] {
        let (meaning, _) = bits::OctetMeaning::DataCoding.octet(octet);
        assert_eq!(meaning, said, "{octet:#04x}");
    }
}

#[test]
fn pdus_are_told_from_user_data() {
    for (hex, is_pdu) in [
        ("00000010 00000015 00000000 00000001", true),
        ("0000002A 00000004", true),
        ("00000010 00000033 00000000 00000001", false),
        ("68656C6C6F", false),
        ("050003CC0201 D06536FB0D", false),
    ] {
        assert_eq!(looks_like_a_pdu(&octets(hex)), is_pdu, "{hex}");
    }
}
