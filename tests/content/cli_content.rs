//! `smsc send` and `smsc decode` as people use them: the price of a text, its encoding, and the meaning
//! of octets.

use crate::smpp_generate;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::harness::{self, Finished, Proxy, Simulator, Smsc, run};
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use serde_json::Value;
use smsc::decode::explain;
use smsc::smpp::{DEFAULT_MAX_PDU, HEADER_LEN, Header, Pdu, next_frame};

fn smsc(arguments: &[&str]) -> Finished {
    run(Command::new(harness::binary()).args(arguments))
}

/// With text on standard input.
fn smsc_reading(arguments: &[&str], input: &[u8]) -> Finished {
    let mut child = Command::new(harness::binary())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    Finished {
        success: output.status.success(),
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn dry_run(arguments: &[&str]) -> Finished {
    smsc(&[&["send", "--to", "447700900123", "--dry-run"], arguments].concat())
}

/// The output of a successful command.
fn said(finished: Finished) -> String {
    assert!(finished.success, "{}{}", finished.stdout, finished.stderr);
    finished.stdout
}

#[test]
fn a_dry_run_shows_alphabet_and_parts_and_sends_nothing() {
    let one = said(dry_run(&["Price: 5 €"]));
    assert_eq!(
        one,
        "1 part     GSM 7-bit, 10 characters, data_coding 0x00, 149 septets left\n"
    );
    let long = "x".repeat(161);
    let parts = said(dry_run(&["--text", &long]));
    assert_eq!(
        parts.lines().collect::<Vec<_>>(),
        [
            "2 parts    GSM 7-bit, 161 characters, data_coding 0x00",
            "  1 of 2   153 characters, 0 septets left",
            "  2 of 2   8 characters, 145 septets left",
        ]
    );
    let ucs2 = said(smsc_reading(
        &[
            "send",
            "--to",
            "447700900123",
            "--dry-run",
            "--flash",
            "--text",
            "-",
        ],
        "Привет\n".as_bytes(),
    ));
    assert!(
        ucs2.contains("UCS-2, 6 characters, data_coding 0x18"),
        "{ucs2}"
    );
    let turkish = "ışığı ".repeat(20);
    let without = said(dry_run(&[&turkish]));
    assert!(without.starts_with("2 parts    UCS-2"), "{without}");
    let with = said(dry_run(&["--language", "turkish,hindi", &turkish]));
    assert!(with.starts_with("1 part     GSM 7-bit, turkish"), "{with}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, [0xFF; 141]).unwrap();
    let file = file.to_str().unwrap();
    let data = said(dry_run(&[
        "--alphabet",
        "binary",
        "--long",
        "udh16",
        "--file",
        file,
    ]));
    assert!(data.starts_with("2 parts    data, 141 octets"), "{data}");
    let not_text = dry_run(&["--file", file]);
    assert!(not_text.stderr.contains("not UTF-8"), "{}", not_text.stderr);
    let refused = dry_run(&["--alphabet", "gsm", "5 ₤"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("`₤` (U+20A4, character 3") && refused.stderr.contains("ucs2"),
        "{}",
        refused.stderr
    );
    assert_eq!(dry_run(&[]).code, Some(2), "a text has to be given");
    assert_eq!(dry_run(&["one", "--text", "two"]).code, Some(2));
}

#[test]
fn every_part_of_a_long_text_is_delivered_and_told_of() {
    let simulator = Simulator::new().start();
    let towards_operator = Proxy::to(simulator.address());
    let smsc = Smsc::new().relaying_to(towards_operator.address()).start();
    let address = smsc.smpp().to_string();
    let send = |more: &[&str]| {
        let mut arguments = vec!["send", "--to", "447700900123", "--host", &address];
        arguments.extend(["--system-id", "test", "--password", "test"]);
        arguments.extend(more);
        smsc.run(&arguments)
    };
    let text: String = ('a'..='z').cycle().take(300).collect();
    let page = said(send(&[&text]));
    let lines: Vec<&str> = page.lines().collect();
    assert_eq!(lines.len(), 7, "{page}");
    assert!(
        lines[0].starts_with("2 parts    GSM 7-bit, 300 characters"),
        "{page}"
    );
    for part in ["part 1 of 2", "part 2 of 2"] {
        let about = |word: &str| {
            let told = |line: &&&str| line.starts_with(word) && line.contains(part);
            assert_eq!(
                lines.iter().filter(told).count(),
                1,
                "{word} {part} in {page}"
            );
        };
        about("accepted");
        about("DELIVERED");
    }
    assert_eq!(simulator.wait_for(2).len(), 2);
    let refused = smsc.run(&[
        "send",
        "--to",
        "447700900123",
        "--host",
        &address,
        "--system-id",
        "test",
        "--password",
        "wrong",
        "hi",
    ]);
    assert!(refused.stderr.contains("--password"), "{}", refused.stderr);

    // `smsc decode` explains the PDUs that the operator got.
    let frames = submissions(&towards_operator);
    assert_eq!(frames.len(), 2);
    let hex: Vec<String> = frames[1]
        .iter()
        .map(|octet| format!("{octet:02x}"))
        .collect();
    let page = said(smsc_reading(&["decode", "-"], hex.join(":").as_bytes()));
    assert!(page.starts_with("submit_sm, "), "{page}");
    assert!(page.contains("part 2 of 2, reference "), "{page}");
    assert!(page.contains(&text[153..]), "{page}");
    smsc.assert_no_panic();
}

/// Every submit_sm that went to the operator.
fn submissions(proxy: &Proxy) -> Vec<Bytes> {
    let mut stream = BytesMut::new();
    for segment in proxy.segments() {
        if segment.from_client {
            stream.extend_from_slice(&segment.octets);
        }
    }
    std::iter::from_fn(|| next_frame(&mut stream, DEFAULT_MAX_PDU).unwrap())
        .filter(|frame| Header::parse(frame).unwrap().command_id.name() == Some("submit_sm"))
        .collect()
}

#[test]
fn octets_are_explained_or_the_mistake_is_named() {
    let link = "0000001000000015000000000000002a";
    let page = said(smsc(&["decode", link]));
    assert!(page.starts_with("enquire_link, 16 octets\n"), "{page}");
    assert!(page.contains("sequence_number  42"), "{page}");
    let json = said(smsc(&[
        "decode",
        "--json",
        "0x00000010,",
        "0x00000015",
        "00 00 00 00",
        "00:00:00:2A",
    ]));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["title"], "enquire_link");
    assert_eq!(json[0]["fields"][3]["value"], 42);
    assert_eq!(json[0]["problems"], Value::Array(Vec::new()));
    let user_data = said(smsc(&["decode", "050003CC0201D06536FB0D"]));
    assert!(user_data.starts_with("user data, 11 octets"), "{user_data}");
    assert!(
        user_data.contains("part 1 of 2, reference 204"),
        "{user_data}"
    );
    assert!(user_data.contains("\n    hello\n"), "{user_data}");
    let told = said(smsc(&[
        "decode",
        "--user-data",
        "--data-coding",
        "0x08",
        "04160435",
    ]));
    assert!(told.contains("UCS-2, 2 characters\n    Же\n"), "{told}");

    let cut = smsc(&["decode", "0000002A 00000004 00000000 00000001 00 01"]);
    assert_eq!(cut.code, Some(1));
    assert!(
        cut.stdout
            .contains("octet 18, source_addr_npi: the PDU ends before it"),
        "{}",
        cut.stdout
    );
    assert!(cut.stderr.contains("things are wrong"), "{}", cut.stderr);
    let typo = smsc(&["decode", "00 0O"]);
    assert_eq!(typo.code, Some(1));
    assert!(
        typo.stderr.contains("line 1, column 5: `O`"),
        "{}",
        typo.stderr
    );
    assert_eq!(smsc(&["decode"]).code, Some(2));
    assert_eq!(
        smsc(&["decode", "--pdu", "--user-data", "00"]).code,
        Some(2)
    );
}

#[test]
fn what_a_radio_network_carries_is_explained() {
    let deliver = "040B911346610089F60000208062917314080CC8F71D14969741F977FD07";
    for kind in ["to-phone", "deliver"] {
        let page = said(smsc(&["decode", "--tpdu", kind, deliver]));
        assert!(page.starts_with("SMS-DELIVER, 30 octets\n"), "{page}");
        assert!(page.contains("\"31641600986\""), "{page}");
        assert!(page.contains("23.040 §9.2.3.7"), "{page}");
        assert!(page.contains("\n    How are you?\n"), "{page}");
    }
    let rp = format!("01 2A 05 91 94710000 00 1E {deliver}");
    let page = said(smsc(&["decode", "--rp", &rp]));
    assert!(page.starts_with("RP-DATA, 40 octets\n"), "{page}");
    assert!(
        page.contains("\nSMS-DELIVER, 30 octets, from octet 10\n"),
        "{page}"
    );
    let gsup = format!(
        "003A EE 05 28 01 08 00010100000000F1 40 01 01 41 01 FF 42 06 03 91 94710000 43 1E {deliver}"
    );
    let json = said(smsc(&["decode", "--json", "--gsup", &gsup]));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["title"], "GSUP MT-forwardSM request");
    assert_eq!(json[0]["fields"][4]["value"], "001010000000001");
    assert_eq!(json[1]["user_data"]["text"], "How are you?");
    assert_eq!(json[1]["fields"][0]["section"], "23.040 §9.2.3.1");

    let other = smsc(&["decode", "--tpdu", "submit", deliver]);
    assert_eq!(other.code, Some(1));
    let wrong = "octet 0, TP-MTI: message type 0 is not that of SMS-SUBMIT";
    assert!(other.stdout.contains(wrong), "{}", other.stdout);
    for flags in [["--gsup", "--rp"], ["--gsup", "--pdu"], ["--tpdu", "MO"]] {
        let refused = smsc(&["decode", flags[0], flags[1], "00"]);
        assert_eq!(refused.code, Some(2), "{flags:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_a_strict_peer_sends_is_explained_to_the_last_octet(body in smpp_generate::body()) {
        let mut octets = BytesMut::new();
        Pdu::request(7, body.clone()).encode(&mut octets);
        let octets = octets.freeze();
        let reports = explain(&octets);
        prop_assert_eq!(reports.len(), 1);
        prop_assert_eq!(
            &reports[0].title,
            body.command_id().name().unwrap_or_default()
        );
        assert_covered(&octets, &reports);
        // The names of fields are those of the codec's struct.
        let debug = format!("{body:?}");
        for field in &reports[0].fields[4..] {
            let last = field.name.rsplit(' ').next().unwrap();
            let counted = ["sm_length", "number_of_dests", "no_unsuccess", "dest_flag"];
            let is_known = debug.contains(last)
                || counted.contains(&last)
                || field.octets >= 4 && debug.contains("tlvs")
                || last == "password";
            prop_assert!(is_known, "{last} in {debug}");
        }
    }

    #[test]
    fn any_octets_are_explained_to_the_last_one(
        octets in prop::collection::vec(any::<u8>(), 1..200),
        id in prop::sample::select(smsc::smpp::CommandId::ALL),
        length in 0_u32..220,
    ) {
        assert_covered(&octets.clone().into(), &explain(&octets.clone().into()));
        let mut pdu = BytesMut::from(&length.to_be_bytes()[..]);
        pdu.extend_from_slice(&id.0.to_be_bytes());
        pdu.extend_from_slice(&[0; HEADER_LEN - 8]);
        pdu.extend_from_slice(&octets);
        let pdu = pdu.freeze();
        assert_covered(&pdu, &explain(&pdu));
    }
}

/// Every octet is in exactly one field, in order.
fn assert_covered(octets: &Bytes, reports: &[smsc::decode::report::DecodeReport]) {
    let mut at = 0;
    for report in reports {
        assert_eq!(report.at, at);
        for field in &report.fields {
            assert_eq!(field.at, at, "{} in {reports:?}", field.name);
            at += field.octets;
        }
        assert_eq!(report.at + report.octets, at, "{reports:?}");
    }
    assert_eq!(at, octets.len());
}
