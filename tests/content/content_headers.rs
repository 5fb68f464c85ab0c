//! User data headers and divided texts, checked by other implementations: tshark reads and assembles
//! what we send, node-smpp decodes the same PDUs and encodes others, and the crate rusmpp divides the
//! same texts.

use std::path::Path;

use crate::harness::{Capture, Client, Proxy, Simulator, Smsc, debian_tool, node_script, run};
use bytes::{Bytes, BytesMut};
use rusmpp::decode::Decode as _;
use rusmpp::encode::Encode as _;
use rusmpp::extra::concatenation::{Concatenation, Concatenator};
use rusmpp::extra::encoding::gsm7bit::Gsm7BitUnpacked;
use rusmpp::extra::encoding::{latin1::Latin1, ucs2::Ucs2};
use rusmpp::udhs::concatenation::{ConcatenatedShortMessage8Bit, ConcatenatedShortMessage16Bit};
use rusmpp::udhs::{Udh, UdhValue};
use serde_json::Value;
use smsc::decode::explain;
use smsc::decode::report::{DecodedUserData, FieldDetail};
use smsc::smpp::{CommandId, DEFAULT_MAX_PDU, Header as PduHeader, next_frame};
use smsc::sms::convert::{self, Alphabet};
use smsc::sms::segment::{self, PartNumbering, Units};
use smsc::sms::udh::{Concat, UserDataHeader};
use smsc::sms::{Language, Shifts, gsm7, ucs2};

const TO: &str = "447700900123";

/// Flags of `smsc send`, the text, and the number of parts.
fn texts() -> Vec<(&'static [&'static str], String, usize)> {
    let long: String = ('a'..='z').cycle().take(200).collect();
    vec![
        (&[], "hello".to_owned(), 1),
        (&[], long.clone(), 2),
        (&["--long", "udh16"], long.clone(), 2),
        (&["--long", "sar"], long, 2),
        (&[], "x".repeat(152) + "€ and more", 2),
        (&[], "Привет, мир! ".repeat(12), 3),
        (&["--long", "udh16"], "a".to_owned() + &"😀".repeat(40), 2),
        (&["--flash"], "Ж".repeat(80), 2),
        (&["--language", "turkish"], "ışığı ".repeat(40), 2),
    ]
}

/// The PDUs of one text, and the capture of its connection. One text each: tshark distinguishes
/// fragments only by their reference, which is random.
struct Sent {
    frames: Vec<Bytes>,
    tshark: Vec<Fragment>,
}

fn send(smsc: &Smsc, flags: &[&str], text: &str, parts: usize) -> Sent {
    let proxy = Proxy::to(smsc.smpp());
    let host = proxy.address().to_string();
    let mut arguments = vec!["send", "--to", TO, "--host", &host, "--no-receipt"];
    arguments.extend(["--system-id", "test", "--password", "test"]);
    arguments.extend(flags);
    arguments.extend(["--text", text]);
    let sent = smsc.run(&arguments);
    assert!(sent.success, "{}{}", sent.stdout, sent.stderr);
    assert_eq!(
        sent.stdout.matches("accepted").count(),
        parts,
        "{}",
        sent.stdout
    );
    let mut capture = Capture::new();
    capture.add(&proxy);
    let file = smsc.file("headers.pcap");
    capture.write(&file);
    Sent {
        frames: submissions(&proxy),
        tshark: fragments(&file, proxy.target_port()),
    }
}

/// Every submit_sm of a connection.
fn submissions(proxy: &Proxy) -> Vec<Bytes> {
    let mut stream = BytesMut::new();
    for segment in proxy.segments() {
        if segment.from_client {
            stream.extend_from_slice(&segment.octets);
        }
    }
    std::iter::from_fn(|| next_frame(&mut stream, DEFAULT_MAX_PDU).unwrap())
        .filter(|frame| PduHeader::parse(frame).unwrap().command_id == CommandId::SUBMIT_SM)
        .collect()
}

#[test]
fn tshark_and_node_smpp_read_what_we_send() {
    let simulator = Simulator::new().start();
    let smsc = Smsc::new().relaying_to(simulator.address()).start();
    for (flags, text, parts) in texts() {
        let about = format!("{flags:?} {text}");
        let sent = send(&smsc, flags, &text, parts);
        assert_eq!(
            (sent.frames.len(), sent.tshark.len()),
            (parts, parts),
            "{about}"
        );
        let digits: Vec<String> = sent.frames.iter().map(|frame| hex(frame)).collect();
        let digits: Vec<&str> = digits.iter().map(String::as_str).collect();
        let node = Client::run(node_script("node_headers.js", &digits));
        let (mut from_node, mut from_decode) = (String::new(), String::new());
        for (place, frame) in sent.frames.iter().enumerate() {
            let report = explain(frame).remove(0);
            assert!(report.problems.is_empty(), "{about}: {report:?}");
            let user_data = report.user_data.unwrap();
            from_decode.push_str(user_data.text.as_deref().unwrap());
            let node = &node["read"][place];
            from_node.push_str(node["message"].as_str().unwrap());
            assert_eq!(strings(&node["udh"]), elements(&user_data), "{about}");
            let numbers = (parts > 1).then_some((parts, place + 1));
            assert_eq!(sent.tshark[place].numbers(), numbers, "{about}");
            if flags.contains(&"sar") {
                assert_eq!(node["sar"][1], parts, "{about}");
                assert_eq!(node["sar"][2], place + 1, "{about}");
            }
        }
        assert_eq!(from_decode, text);
        assert_eq!(from_node, text, "{flags:?}");
        if parts > 1 {
            let whole = sent.tshark[parts - 1].whole.as_deref();
            let octets = match gsm7::encode(&text, shifts_of(flags)) {
                Ok(septets) => septets,
                Err(_) => ucs2::encode(&text),
            };
            assert_eq!(
                whole,
                Some(&*hex(&octets)),
                "{about}: reassembled by tshark"
            );
        }
    }
    smsc.assert_no_panic();
}

fn shifts_of(flags: &[&str]) -> Shifts {
    if flags.contains(&"turkish") {
        Shifts::locking(Language::Turkish)
    } else {
        Shifts::default()
    }
}

/// Elements as node-smpp reports them: identifier, length, data.
fn elements(user_data: &DecodedUserData) -> Vec<String> {
    let element = |element: &FieldDetail| {
        let data = element.value.replace(' ', "").to_lowercase();
        let id = element.name[..2].to_lowercase();
        format!("{id}{:02x}{data}", data.len() / 2)
    };
    user_data.header.iter().map(element).collect()
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap();
    list.iter()
        .map(|one| one.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn we_read_what_node_smpp_writes() {
    let judge = Client::run(node_script("node_headers.js", &[]));
    let written: Vec<&str> = judge["written"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pdu| pdu.as_str().unwrap())
        .collect();
    for (pdu, element, text) in [
        (
            written[0],
            "part 1 of 2, reference 204",
            "part one, with € and [",
        ),
        (written[1], "part 2 of 3, reference 4660", "Привет"),
        (written[2], "turkish", "ışık"),
    ] {
        let octets = smsc::decode::hex::parse(pdu).unwrap();
        let report = explain(&octets).remove(0);
        let user_data = report.user_data.unwrap();
        assert_eq!(user_data.header[0].meaning, element);
        assert_eq!(user_data.text.as_deref(), Some(text));
    }
}

#[test]
fn rusmpp_cuts_where_we_cut() {
    let mut compared = 0;
    for length in [0, 1, 70, 71, 134, 140, 153, 159, 160, 161, 306, 307, 500] {
        let mut texts = vec!["x".repeat(length)];
        // An escape with its letter, and a surrogate pair, at every possible cut.
        for at in [65, 66, 67, 132, 133, 151, 152, 153, 304, 305] {
            if at < length {
                texts.push(with(length, at, '€'));
                texts.push(with(length, at, '😀'));
                texts.push(with(length, at, 'é'));
            }
        }
        for text in texts {
            if let Ok(septets) = gsm7::encode(&text, Shifts::default()) {
                let theirs = Gsm7BitUnpacked::new().concatenate(&text, 160, 7);
                assert_cut(septets, Units::Septets, theirs.unwrap().0);
                compared += 1;
            }
            // rusmpp has no surrogate pairs.
            match Ucs2::new().concatenate(&text, 140, 6) {
                Ok((theirs, _)) => assert_cut(ucs2::encode(&text), Units::Ucs2, theirs),
                Err(error) => assert!(text.contains('😀'), "{error:?}"),
            }
            if let Ok(octets) = convert::encode(&text, Alphabet::Latin1, Shifts::default()) {
                let theirs = Latin1::new().concatenate(&text, 140, 6).unwrap().0;
                assert_cut(octets, Units::Octets, theirs);
            }
        }
    }
    assert!(compared > 20, "{compared}");
}

fn with(length: usize, at: usize, character: char) -> String {
    let mut text: Vec<char> = vec!['x'; length];
    text[at] = character;
    text.into_iter().collect()
}

fn assert_cut(octets: Vec<u8>, units: Units, theirs: Concatenation) {
    let octets = Bytes::from(octets);
    let theirs = match theirs {
        Concatenation::Single(part) => vec![part],
        Concatenation::Concatenated(parts) => parts,
    };
    let ours = segment::split(
        &octets,
        units,
        &UserDataHeader::default(),
        PartNumbering::Eight,
    )
    .unwrap();
    assert_eq!(ours, theirs, "{units:?}");
}

#[test]
fn rusmpp_writes_and_reads_the_same_numbers() {
    for (reference, total, sequence) in [(0, 2, 1), (0xCC, 2, 2), (255, 255, 255), (7, 3, 2)] {
        for wide in [false, true] {
            let reference = if wide {
                reference << 8 | 0x34
            } else {
                reference
            };
            let mut header = UserDataHeader::default();
            header.set_concat(Some(Concat {
                reference,
                wide,
                total,
                sequence,
            }));
            let octets = header.encode();
            let expected = if wide {
                ConcatenatedShortMessage16Bit::new(reference, total, sequence)
                    .map(UdhValue::ConcatenatedShortMessage16Bit)
                    .unwrap()
            } else {
                ConcatenatedShortMessage8Bit::new(reference as u8, total, sequence)
                    .map(UdhValue::ConcatenatedShortMessage8Bit)
                    .unwrap()
            };
            assert_eq!(octets, written(&Udh::new(expected.clone())));
            let (read, _) = Udh::decode(&mut BytesMut::from(&octets[..])).unwrap();
            assert_eq!(read.value(), Some(&expected));
        }
    }
}

/// A header as node-smpp encodes it.
fn written(udh: &Udh) -> Vec<u8> {
    let mut octets = vec![0; udh.length().into()];
    octets.push(0);
    assert_eq!(udh.encode(&mut octets), octets.len());
    octets
}

/// tshark's view of a submit_sm.
#[derive(Debug, Default)]
struct Fragment {
    /// By header: number of parts, position.
    header: (Option<usize>, Option<usize>),
    /// By SAR parameters.
    sar: (Option<usize>, Option<usize>),
    /// The assembled text, at the last part.
    whole: Option<String>,
}

impl Fragment {
    fn numbers(&self) -> Option<(usize, usize)> {
        self.header
            .0
            .zip(self.header.1)
            .or(self.sar.0.zip(self.sar.1))
    }
}

/// One per submit_sm, in order.
fn fragments(file: &Path, port: u16) -> Vec<Fragment> {
    let mut command = debian_tool("tshark");
    command.arg("-r").arg(file);
    command.args(["-d", &format!("tcp.port=={port},smpp"), "-T", "pdml"]);
    let finished = run(&mut command);
    assert!(finished.success, "{}", finished.stderr);
    assert!(
        !finished.stdout.contains("_ws.malformed"),
        "{}",
        finished.stdout
    );
    let mut found: Vec<Fragment> = Vec::new();
    let mut is_submission = false;
    for line in finished.stdout.lines() {
        let name = attribute(line, "name");
        if name == Some("smpp") && line.contains("<proto") {
            is_submission = line.contains("Command: Submit_sm,");
            if is_submission {
                found.push(Fragment::default());
            }
        }
        let Some(last) = found.last_mut().filter(|_| is_submission) else {
            continue;
        };
        let number = || attribute(line, "show").and_then(|text| text.parse().ok());
        match name {
            Some("gsm_sms.udh.mm.msg_parts") => last.header.0 = number(),
            Some("gsm_sms.udh.mm.msg_part") => last.header.1 = number(),
            Some("smpp.sar_total_segments") => last.sar.0 = number(),
            Some("smpp.sar_segment_seqnum") => last.sar.1 = number(),
            Some("gsm_sms_ud.short_msg") if line.contains("Short Message body") => {
                last.whole = attribute(line, "show").map(|octets| octets.replace(':', ""));
            }
            _ => {}
        }
    }
    found
}

fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!(" {name}=\""))?;
    rest.split('"').next()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
