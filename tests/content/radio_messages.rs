//! tshark reads the GSUP frames and TPDUs that we write: none is malformed, and the texts and numbers
//! are those that were written.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{debian_tool, run};
use smsc::gsup::ccm::Ccm;
use smsc::gsup::session::frame_of;
use smsc::gsup::{GsupMessage, MessageType, SmRpAddress, ipa};
use smsc::sms::tpdu::{
    Deliver, DeliverReport, Enhanced, Parameters, Period, SmsCommand, SmsSubmit, StatusReport,
    SubmitReport, TimeStamp, Tpdu, TpduAddress, UserData, Validity,
};
use smsc::sms::udh::{Concat, UserDataHeader};
use smsc::sms::{Language, Shifts, gsm7, ucs2};

const IMSI: &str = "001010000000001";
const NUMBER: &str = "447700900123";
/// tshark takes this port for GSUP.
const PORT: u16 = 4222;
/// tshark takes the report in a result for a message of the direction of its request: the same reports
/// are in requests, where it reads them.
const NOT_MISREAD: &str = "!(gsup.msg_type == 0x26) && !(gsup.msg_type == 0x2a)";

/// A frame, and what tshark is to find in it.
pub struct Sent {
    pub frame: Vec<u8>,
    message_type: MessageType,
    /// The text, for TPDUs that have one of their own.
    text: Option<String>,
}

#[test]
fn tshark_reads_what_we_write() {
    let folder = tempfile::tempdir().unwrap();
    let sent: Vec<Sent> = messages();
    let frames = sent.iter().map(|sent| &sent.frame);
    let capture = captured(handshake().iter().chain(frames), folder.path());

    let complaints = format!("(_ws.malformed || _ws.expert.severity == error) && {NOT_MISREAD}");
    assert_eq!(
        tshark(&capture, &["-Y", &complaints]),
        "",
        "tshark is not content"
    );
    let fields = ["-e", "ipaccess.msg_type", "-e", "ipaccess.attr_string"];
    let found = tshark(
        &capture,
        &[&["-Y", "ipaccess", "-T", "fields"], &fields[..]].concat(),
    );
    let types: Vec<&str> = found
        .split_whitespace()
        .filter(|w| w.starts_with("0x"))
        .collect();
    assert_eq!(types, ["0x04", "0x05", "0x06", "0x00", "0x01"], "{found}");
    assert!(found.contains("0/0/0,SMSC,SMSC"), "{found}");
    let fields = ["gsup.msg_type", "e212.imsi", "gsm_sms.sms_text"];
    let mut arguments = vec!["-Y", "gsup", "-T", "fields", "-E", "aggregator=|"];
    fields
        .iter()
        .for_each(|field| arguments.extend(["-e", field]));
    let found = tshark(&capture, &arguments);
    let found: Vec<Vec<&str>> = found
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(found.len(), sent.len(), "{found:?}");
    for (found, sent) in found.iter().zip(&sent) {
        let message_type = sent.message_type;
        assert_eq!(found[0], message_type.0.to_string(), "{message_type}");
        assert!(found[1].starts_with(IMSI), "{message_type}: {found:?}");
        if let Some(text) = &sent.text {
            assert_eq!(found[2], text, "{message_type}");
        }
    }
    let numbers = tshark(
        &capture,
        &[
            "-Y",
            "gsup",
            "-T",
            "fields",
            "-e",
            "gsm_sms.tp-da",
            "-e",
            "gsm_sms.tp-oa",
        ],
    );
    assert!(
        numbers.matches(NUMBER).count() >= sent.len() / 2,
        "{numbers}"
    );
    assert!(numbers.contains("Bank"), "{numbers}");
}

/// A file of frames between an SMSC and its network, as tshark takes it.
pub fn captured<'a>(frames: impl Iterator<Item = &'a Vec<u8>>, folder: &Path) -> PathBuf {
    let (dump, capture) = (folder.join("dump"), folder.join("capture.pcap"));
    let mut text = String::new();
    for frame in frames {
        write!(text, "000000").unwrap();
        frame
            .iter()
            .for_each(|octet| write!(text, " {octet:02x}").unwrap());
        text.push('\n');
    }
    std::fs::write(&dump, text).unwrap();
    let ports = format!("1000,{PORT}");
    let mut text2pcap = debian_tool("text2pcap");
    succeeds(
        text2pcap
            .args(["-q", "-T", &ports])
            .arg(&dump)
            .arg(&capture),
    );
    capture
}

fn handshake() -> Vec<Vec<u8>> {
    let name = bytes::Bytes::from_static(b"SMSC");
    let all = [
        Ccm::IdGet(vec![8, 1, 0]),
        Ccm::IdResponse(vec![(8, "0/0/0".into()), (1, name.clone()), (0, name)]),
        Ccm::IdAck,
        Ccm::Ping,
        Ccm::Pong,
    ];
    let frame = |ccm: &Ccm| {
        let mut out = bytes::BytesMut::new();
        ipa::write_frame(ipa::CCM, &[&ccm.encode()], &mut out).unwrap();
        out.to_vec()
    };
    all.iter().map(frame).collect()
}

/// Texts of every alphabet in both directions, then every other TPDU and message.
fn messages() -> Vec<Sent> {
    let mut sent = Vec::new();
    for (text, data_coding, user_data) in texts() {
        for tpdu in [
            Tpdu::Submit(SmsSubmit {
                destination_address: TpduAddress::international(NUMBER),
                data_coding,
                user_data: user_data.clone(),
                ..SmsSubmit::default()
            }),
            Tpdu::Deliver(Deliver {
                originating_address: TpduAddress::international(NUMBER),
                service_centre_time_stamp: stamp(-22),
                data_coding,
                user_data: user_data.clone(),
                ..Deliver::default()
            }),
        ] {
            sent.push(request(&tpdu, text.clone()));
        }
    }
    for validity in [
        Validity::Relative(0xAA),
        Validity::Absolute(stamp(8)),
        Validity::Enhanced(Enhanced {
            single_shot: true,
            period: Period::Seconds(30),
        }),
    ] {
        let tpdu = Tpdu::Submit(SmsSubmit {
            validity,
            destination_address: TpduAddress::international(NUMBER),
            user_data: septets("Hello"),
            ..SmsSubmit::default()
        });
        sent.push(request(&tpdu, Some("Hello".to_owned())));
    }
    sent.extend(others());
    sent
}

/// A text as tshark shows it, TP-DCS, and the user data.
fn texts() -> Vec<(Option<String>, u8, UserData)> {
    let numbered = |wide| {
        let mut header = UserDataHeader::default();
        // The only part: tshark shows the text of others only when it has all of them.
        assert!(header.set_concat(Some(Concat {
            reference: 0xCC,
            wide,
            total: 1,
            sequence: 1,
        })));
        header
    };
    let mut turkish = UserDataHeader::default();
    assert!(turkish.set_shifts(Shifts::single(Language::Turkish)));
    let in_turkish = gsm7::encode("ığ", Shifts::single(Language::Turkish)).unwrap();
    let wide = |text: &str| UserData {
        header: UserDataHeader::default(),
        body: ucs2::encode(text).into(),
    };
    let some = |text: &str| Some(text.to_owned());
    let mut all = vec![
        (some("Привет 😀"), 8, wide("Привет 😀")),
        (some("Жук"), 0x18, wide("Жук")),
        // tshark knows no national tables.
        (
            None,
            0,
            UserData {
                header: turkish,
                body: in_turkish.into(),
            },
        ),
    ];
    for text in [
        "hello",
        "1234567",
        "12345678",
        "1234567@",
        "{[€~]}^|\\",
        "@£$¥èéùìòÇ",
    ] {
        all.push((some(text), 0, septets(text)));
        for header in [numbered(false), numbered(true)] {
            let user_data = UserData {
                header,
                ..septets(text)
            };
            all.push((some(text), 0, user_data));
        }
    }
    let longest = "x".repeat(160);
    all.push((some(&longest), 0xF1, septets(&longest)));
    all
}

/// Everything that has no text of its own.
fn others() -> Vec<Sent> {
    let parameters = Parameters {
        protocol_identifier: Some(0),
        data_coding: Some(0),
        user_data: Some(septets("why")),
    };
    let number = TpduAddress::international(NUMBER);
    let status_report = |parameters: &Parameters| {
        Tpdu::StatusReport(StatusReport {
            message_reference: 7,
            recipient_address: number.clone(),
            service_centre_time_stamp: stamp(0),
            discharge_time: stamp(0),
            parameters: parameters.clone(),
            ..StatusReport::default()
        })
    };
    let command = Tpdu::Command(SmsCommand {
        command_type: 2,
        destination_address: number.clone(),
        ..SmsCommand::default()
    });
    let named = Tpdu::Deliver(Deliver {
        originating_address: TpduAddress::alphanumeric("Bank"),
        service_centre_time_stamp: stamp(0),
        user_data: septets("hello"),
        ..Deliver::default()
    });
    let submit_report = |failure_cause| {
        Tpdu::SubmitReport(SubmitReport {
            failure_cause,
            service_centre_time_stamp: stamp(0),
            parameters: parameters.clone(),
        })
    };
    let deliver_report = |failure_cause| {
        Tpdu::DeliverReport(DeliverReport {
            failure_cause,
            parameters: parameters.clone(),
        })
    };
    let cause = Some(0xC3);
    let why = || Some("why".to_owned());
    let mut sent = vec![
        request(&submit_report(None), why()),
        request(&submit_report(cause), why()),
        request(&deliver_report(None), why()),
        request(&deliver_report(cause), why()),
        request(&status_report(&Parameters::default()), None),
        request(&status_report(&parameters), why()),
        request(&command, None),
        request(&named, Some("hello".to_owned())),
    ];
    for (message_type, tpdu) in [
        (MessageType::MO_FORWARD_SM_RESULT, submit_report(None)),
        (MessageType::MO_FORWARD_SM_ERROR, submit_report(cause)),
        (MessageType::MT_FORWARD_SM_RESULT, deliver_report(None)),
        (MessageType::MT_FORWARD_SM_ERROR, deliver_report(cause)),
    ] {
        let is_error = message_type == message_type.error();
        sent.push(framed(GsupMessage {
            reference: Some(7),
            rp_cause: is_error.then_some(22),
            // An error has the cause and no report.
            user_information: (!is_error).then(|| tpdu.encode().unwrap().into()),
            ..GsupMessage::new(message_type, IMSI)
        }));
    }
    for message_type in [
        MessageType::READY_FOR_SM_REQUEST,
        MessageType::READY_FOR_SM_ERROR,
        MessageType::READY_FOR_SM_RESULT,
        MessageType::ROUTING_ERROR,
    ] {
        let is_request = message_type == MessageType::READY_FOR_SM_REQUEST;
        let is_error = message_type == MessageType::READY_FOR_SM_ERROR;
        sent.push(framed(GsupMessage {
            reference: Some(7),
            alert_reason: is_request.then_some(2),
            cause: is_error.then_some(0x11),
            source_name: Some("MSC".into()),
            destination_name: Some("SMSC".into()),
            ..GsupMessage::new(message_type, IMSI)
        }));
    }
    sent
}

/// The GSUP request of a TPDU: MT for what goes to a phone, MO for what comes from one.
pub fn request(tpdu: &Tpdu, text: Option<String>) -> Sent {
    let centre = SmRpAddress::ServiceCentre(TpduAddress::international("49170000"));
    let is_to_phone = matches!(
        tpdu,
        Tpdu::Deliver(_) | Tpdu::StatusReport(_) | Tpdu::SubmitReport(_)
    );
    let (message_type, destination, originator) = if is_to_phone {
        let phone = SmRpAddress::Imsi(IMSI.to_owned());
        (MessageType::MT_FORWARD_SM_REQUEST, phone, centre)
    } else {
        let phone = SmRpAddress::Msisdn(TpduAddress::international("49160001"));
        (MessageType::MO_FORWARD_SM_REQUEST, centre, phone)
    };
    let sent = framed(GsupMessage {
        reference: Some(1),
        destination: Some(destination),
        originator: Some(originator),
        user_information: Some(tpdu.encode().unwrap().into()),
        more_messages: is_to_phone.then_some(false),
        source_name: Some("SMSC-00-00-00-00-00-00".into()),
        ..GsupMessage::new(message_type, IMSI)
    });
    Sent { text, ..sent }
}

fn framed(message: GsupMessage) -> Sent {
    Sent {
        frame: frame_of(&message).unwrap().to_vec(),
        message_type: message.message_type,
        text: None,
    }
}

fn septets(text: &str) -> UserData {
    UserData {
        header: UserDataHeader::default(),
        body: gsm7::encode(text, Shifts::default()).unwrap().into(),
    }
}

fn stamp(zone: i8) -> TimeStamp {
    TimeStamp {
        year: 26,
        month: 11,
        day: 21,
        hour: 5,
        minute: 30,
        second: 15,
        zone,
    }
}

/// What tshark says of a file.
pub fn tshark(file: &Path, arguments: &[&str]) -> String {
    succeeds(debian_tool("tshark").arg("-r").arg(file).args(arguments))
}

fn succeeds(command: &mut Command) -> String {
    let finished = run(command);
    assert!(finished.success, "{command:?}: {}", finished.stderr);
    finished.stdout
}
