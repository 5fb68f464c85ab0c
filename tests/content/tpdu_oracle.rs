//! TPDUs read by tshark and by us, field by field: those that other programs wrote (`crates/sms`, `readings`), and 240
//! more that are made here of every kind, alphabet, header, address, time zone and validity period.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;
use smsc::sms::tpdu::{
    self, Deliver, DeliverReport, Enhanced, Parameters, Period, SmsCommand, SmsSubmit,
    StatusReport, SubmitReport, TimeStamp, Tpdu, TpduAddress, TpduKind, UserData, Validity,
};
use smsc::sms::udh::{Concat, Element, UserDataHeader};
use smsc::sms::{Shifts, gsm7, ucs2};

use crate::radio_messages::{captured, request, tshark};

#[path = "../../crates/sms/src/tpdu/tests/readings/table.rs"]
mod table;

/// Values by the name of tshark's field, behind `gsm_sms.`.
type Reading = BTreeMap<&'static str, Vec<String>>;

/// What is compared: TP-ST in two fields, and time zones with the sign, which only tshark's text has.
const FIELDS: &[&str] = &[
    "tp-mti",
    "tp-rp",
    "tp-srr",
    "tp-sri",
    "tp-srq",
    "tp-lp",
    "tp-mms",
    "tp-rd",
    "tp-vpf",
    "tp-mr",
    "tp-oa",
    "tp-da",
    "tp-ra",
    "dis_field_addr.num_type",
    "dis_field_addr.num_plan",
    "tp-pid",
    "tp-dcs",
    "scts.year",
    "scts.month",
    "scts.day",
    "scts.hour",
    "scts.minutes",
    "scts.seconds",
    "scts.timezone",
    "vp.single_shot_sm",
    "vp.validity_period_format",
    "vp.validity_period",
    "vp.validity_period.hour",
    "vp.validity_period.minutes",
    "vp.validity_period.seconds",
    "dis_field.st_error",
    "dis.field_st_reason",
    "tp-fcs",
    "tp.message_number",
    "tp.command_type",
    "udh.mm.msg_id",
    "udh.mm.msg_parts",
    "udh.mm.msg_part",
    "sms_text",
    "sms_body",
];

#[test]
fn tshark_reads_the_tpdus_of_others_as_we_do() {
    let read = |(kind, hex, _): &(TpduKind, &str, &str)| {
        let octets: Vec<u8> = (0..hex.len() / 2)
            .map(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap())
            .collect();
        tpdu::decode(*kind, &Bytes::from(octets)).unwrap()
    };
    let all: Vec<Tpdu> = table::READINGS.iter().map(read).collect();
    assert_eq!(compared(&all), all.len() - 1, "one is misread");
}

#[test]
fn tshark_reads_the_tpdus_that_we_write() {
    let all: Vec<Tpdu> = (0..240).map(made).collect();
    assert_eq!(compared(&all), all.len());
}

/// Has tshark read what can be compared, and says how many these were.
fn compared(all: &[Tpdu]) -> usize {
    let all: Vec<&Tpdu> = all.iter().filter(|tpdu| !is_misread(tpdu)).collect();
    let frames: Vec<Vec<u8>> = all.iter().map(|tpdu| request(tpdu, None).frame).collect();
    let folder = tempfile::tempdir().unwrap();
    let capture = captured(frames.iter(), folder.path());
    // Otherwise the text of a part is that of all parts so far.
    let mut arguments = vec!["-o", "gsm_sms.reassemble:FALSE", "-Y", "gsup"];
    let text = tshark(&capture, &[&arguments[..], &["-V"]].concat());
    let mut zones = text.lines().filter_map(zone_of);
    let names: Vec<String> = FIELDS
        .iter()
        .map(|name| format!("gsm_sms.{name}"))
        .collect();
    arguments.extend(["-T", "json", "-e", "_ws.malformed"]);
    names.iter().for_each(|name| arguments.extend(["-e", name]));
    let packets: Vec<Value> = serde_json::from_str(&tshark(&capture, &arguments)).unwrap();
    assert_eq!(packets.len(), all.len());
    let mut differences = Vec::new();
    for (tpdu, packet) in all.iter().zip(&packets) {
        let layers = &packet["_source"]["layers"];
        assert!(layers.get("_ws.malformed").is_none(), "{tpdu:?}: {layers}");
        let mut theirs = Reading::new();
        for (field, name) in FIELDS.iter().zip(&names) {
            let Some(values) = layers[name].as_array() else {
                continue;
            };
            let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let values = match *field {
                "scts.timezone" => values.iter().map(|_| zones.next().unwrap()).collect(),
                _ => values.iter().map(of).collect(),
            };
            theirs.insert(*field, values);
        }
        let ours = reading(tpdu);
        for field in FIELDS {
            let (theirs, ours) = (theirs.get(field), ours.get(field));
            if theirs != ours {
                differences.push(format!("{field}: {theirs:?}, but {ours:?} in {tpdu:?}"));
            }
        }
    }
    assert_eq!(differences, [""; 0], "tshark's reading, and ours");
    assert_eq!(zones.next(), None);
    all.len()
}

/// tshark 4.0 loses its place behind a relative period in the enhanced format (§9.2.3.12.3), and calls the rest malformed.
fn is_misread(tpdu: &Tpdu) -> bool {
    matches!(tpdu, Tpdu::Submit(SmsSubmit { validity: Validity::Enhanced(enhanced), .. })
        if matches!(enhanced.period, Period::Relative(_)))
}

/// Quarters of an hour in a line like `Timezone: GMT - 3 hours 30 minutes`.
fn zone_of(line: &str) -> Option<String> {
    let words: Vec<&str> = (line.trim().strip_prefix("Timezone: GMT ")?)
        .split(' ')
        .collect();
    let number = |at: usize| words[at].parse::<i32>().unwrap();
    let quarters = number(1) * 4 + number(3) / 15;
    let signed = if words[0] == "-" { -quarters } else { quarters };
    Some(signed.to_string())
}

/// Our reading by tshark's names.
fn reading(tpdu: &Tpdu) -> Reading {
    let mut all = Reading::new();
    let mut add = |name: &'static str, value: String| all.entry(name).or_default().push(value);
    match tpdu {
        Tpdu::Deliver(deliver) => {
            add("tp-mti", 0.to_string());
            add("tp-mms", flag(!deliver.more_messages));
            add("tp-lp", flag(deliver.loop_prevention));
            add("tp-sri", flag(deliver.status_report_indication));
            add("tp-rp", flag(deliver.reply_path));
            address(&mut add, "tp-oa", &deliver.originating_address);
            scheme(&mut add, deliver.protocol_identifier, deliver.data_coding);
            time(&mut add, &deliver.service_centre_time_stamp);
            text(&mut add, &deliver.user_data, deliver.data_coding);
        }
        Tpdu::Submit(submit) => {
            add("tp-mti", 1.to_string());
            add("tp-rd", flag(submit.reject_duplicates));
            add("tp-srr", flag(submit.status_report_request));
            add("tp-rp", flag(submit.reply_path));
            add("tp-mr", submit.message_reference.to_string());
            address(&mut add, "tp-da", &submit.destination_address);
            scheme(&mut add, submit.protocol_identifier, submit.data_coding);
            validity(&mut add, &submit.validity);
            text(&mut add, &submit.user_data, submit.data_coding);
        }
        Tpdu::StatusReport(report) => {
            add("tp-mti", 2.to_string());
            add("tp-mms", flag(!report.more_messages));
            add("tp-lp", flag(report.loop_prevention));
            add("tp-srq", flag(report.of_command));
            add("tp-mr", report.message_reference.to_string());
            address(&mut add, "tp-ra", &report.recipient_address);
            time(&mut add, &report.service_centre_time_stamp);
            time(&mut add, &report.discharge_time);
            add("dis_field.st_error", (report.status >> 5 & 3).to_string());
            add("dis.field_st_reason", (report.status & 0x1F).to_string());
            parameters(&mut add, &report.parameters);
        }
        Tpdu::Command(command) => {
            add("tp-mti", 2.to_string());
            add("tp-srr", flag(command.status_report_request));
            add("tp-mr", command.message_reference.to_string());
            add("tp-pid", command.protocol_identifier.to_string());
            add("tp.command_type", command.command_type.to_string());
            add("tp.message_number", command.message_number.to_string());
            address(&mut add, "tp-da", &command.destination_address);
        }
        Tpdu::DeliverReport(report) => {
            add("tp-mti", 0.to_string());
            cause(&mut add, report.failure_cause);
            parameters(&mut add, &report.parameters);
        }
        Tpdu::SubmitReport(report) => {
            add("tp-mti", 1.to_string());
            cause(&mut add, report.failure_cause);
            time(&mut add, &report.service_centre_time_stamp);
            parameters(&mut add, &report.parameters);
        }
    }
    all
}

fn flag(is_set: bool) -> String {
    u8::from(is_set).to_string()
}

fn address(add: &mut impl FnMut(&'static str, String), name: &'static str, address: &TpduAddress) {
    add(name, address.text.clone());
    add("dis_field_addr.num_type", address.ton.to_string());
    add("dis_field_addr.num_plan", address.npi.to_string());
}

fn scheme(add: &mut impl FnMut(&'static str, String), protocol_identifier: u8, data_coding: u8) {
    add("tp-pid", protocol_identifier.to_string());
    add("tp-dcs", data_coding.to_string());
}

fn time(add: &mut impl FnMut(&'static str, String), stamp: &TimeStamp) {
    add("scts.year", stamp.year.to_string());
    add("scts.month", stamp.month.to_string());
    add("scts.day", stamp.day.to_string());
    add("scts.hour", stamp.hour.to_string());
    add("scts.minutes", stamp.minute.to_string());
    add("scts.seconds", stamp.second.to_string());
    add("scts.timezone", stamp.zone.to_string());
}

fn validity(add: &mut impl FnMut(&'static str, String), validity: &Validity) {
    let format = match validity {
        Validity::Absent => 0,
        Validity::Enhanced(_) => 1,
        Validity::Relative(_) => 2,
        Validity::Absolute(_) => 3,
    };
    add("tp-vpf", format.to_string());
    match validity {
        Validity::Absent => {}
        Validity::Relative(octet) => add("vp.validity_period", octet.to_string()),
        Validity::Absolute(stamp) => time(add, stamp),
        Validity::Enhanced(enhanced) => {
            add("vp.single_shot_sm", flag(enhanced.single_shot));
            let format = match enhanced.period {
                Period::Absent => 0,
                Period::Relative(octet) => {
                    add("vp.validity_period", octet.to_string());
                    1
                }
                Period::Seconds(seconds) => {
                    add("vp.validity_period", seconds.to_string());
                    2
                }
                Period::Clock {
                    hours,
                    minutes,
                    seconds,
                } => {
                    add("vp.validity_period.hour", hours.to_string());
                    add("vp.validity_period.minutes", minutes.to_string());
                    add("vp.validity_period.seconds", seconds.to_string());
                    3
                }
                Period::Reserved(format) => format,
            };
            add("vp.validity_period_format", format.to_string());
        }
    }
}

fn text(add: &mut impl FnMut(&'static str, String), user_data: &UserData, data_coding: u8) {
    if let Some(concat) = user_data.header.concat() {
        add("udh.mm.msg_id", concat.reference.to_string());
        add("udh.mm.msg_parts", concat.total.to_string());
        add("udh.mm.msg_part", concat.sequence.to_string());
    }
    match user_data.text(data_coding) {
        _ if user_data.body.is_empty() => {}
        // The first half of a character, whose second half is in the next part.
        Some(text) if user_data.body.ends_with(&[gsm7::ESCAPE]) => {
            add("sms_text", format!("{text}\u{FFFD}"));
        }
        Some(text) => add("sms_text", text),
        None => {
            let digits = user_data.body.iter().map(|octet| format!("{octet:02x}"));
            add("sms_body", digits.collect());
        }
    }
}

fn parameters(add: &mut impl FnMut(&'static str, String), parameters: &Parameters) {
    if let Some(protocol_identifier) = parameters.protocol_identifier {
        add("tp-pid", protocol_identifier.to_string());
    }
    if let Some(data_coding) = parameters.data_coding {
        add("tp-dcs", data_coding.to_string());
    }
    if let Some(user_data) = &parameters.user_data {
        text(add, user_data, parameters.data_coding.unwrap_or_default());
    }
}

fn cause(add: &mut impl FnMut(&'static str, String), cause: Option<u8>) {
    if let Some(cause) = cause {
        add("tp-fcs", format!("{cause:#x}"));
    }
}

/// A TPDU of its own for each number: the lists that it takes its fields from have lengths without a common divisor.
fn made(number: usize) -> Tpdu {
    let flags = [1, 2, 4].map(|bit| (number / 4) & bit != 0);
    let octet = (number * 37 % 256) as u8;
    let (data_coding, user_data) = content(number);
    match number % 4 {
        0 => Tpdu::Deliver(Deliver {
            more_messages: flags[0],
            loop_prevention: flags[1],
            status_report_indication: flags[2],
            reply_path: number.is_multiple_of(3),
            originating_address: party(number),
            protocol_identifier: octet,
            data_coding,
            service_centre_time_stamp: stamp(number),
            user_data,
        }),
        1 => Tpdu::Submit(SmsSubmit {
            reject_duplicates: flags[0],
            status_report_request: flags[1],
            reply_path: flags[2],
            message_reference: octet,
            destination_address: party(number),
            protocol_identifier: octet,
            data_coding,
            validity: period(number),
            user_data,
        }),
        2 => Tpdu::StatusReport(StatusReport {
            more_messages: flags[0],
            loop_prevention: flags[1],
            of_command: flags[2],
            message_reference: octet,
            recipient_address: party(number),
            service_centre_time_stamp: stamp(number),
            discharge_time: stamp(number + 1),
            status: octet & 0x7F,
            parameters: with(number, data_coding, user_data),
        }),
        _ => match number / 4 % 3 {
            0 => Tpdu::Command(SmsCommand {
                status_report_request: flags[0],
                message_reference: octet,
                protocol_identifier: octet,
                command_type: octet % 4,
                message_number: octet.wrapping_add(1),
                destination_address: party(number),
                data: UserData::default(),
            }),
            1 => Tpdu::DeliverReport(DeliverReport {
                failure_cause: flags[1].then_some(octet | 0x80),
                parameters: with(number, data_coding, user_data),
            }),
            _ => Tpdu::SubmitReport(SubmitReport {
                failure_cause: flags[1].then_some(octet | 0x80),
                service_centre_time_stamp: stamp(number),
                parameters: with(number, data_coding, user_data),
            }),
        },
    }
}

/// None of the parameters, or all.
fn with(number: usize, data_coding: u8, user_data: UserData) -> Parameters {
    match number % 5 {
        0 => Parameters::default(),
        _ => Parameters {
            protocol_identifier: Some(0),
            data_coding: Some(data_coding),
            user_data: Some(user_data),
        },
    }
}

/// TP-DCS and TP-UD: a text or data, behind a header or none.
fn content(number: usize) -> (u8, UserData) {
    let septets = |text: &str| gsm7::encode(text, Shifts::default()).unwrap();
    let (data_coding, body) = match number % 11 {
        0 => (0x00, septets("hello")),
        1 => (0x00, septets("{[€~]}^|\\")),
        2 => (0x00, septets("1234567@")),
        3 => (0x10, septets("@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ")),
        4 => (0xF1, septets(&"x".repeat(100))),
        5 => (0x08, ucs2::encode("Привет 😀")),
        6 => (0x19, ucs2::encode("日本語")),
        7 => (0x04, vec![0, 1, 0x80, 0xFF]),
        8 => (0xF5, vec![0xDE, 0xAD, 0xBE, 0xEF]),
        9 => (0xD8, septets("voice")),
        _ => (0xE0, ucs2::encode("письмо")),
    };
    let mut header = UserDataHeader::default();
    let element = |id: u8, data: &[u8]| Element {
        id,
        data: Bytes::copy_from_slice(data),
    };
    match number / 4 % 7 {
        0 | 1 => {}
        2 => drop(header.push(element(0x05, &[0x13, 0x88, 0x13, 0x89]))),
        3 => drop(header.push(element(0x04, &[240, 241]))),
        wide => drop(header.set_concat(Some(Concat {
            reference: number as u16 % 251,
            wide: wide == 4,
            total: 3,
            sequence: (number % 3 + 1) as u8,
        }))),
    }
    let body = body.into();
    (data_coding, UserData { header, body })
}

fn party(number: usize) -> TpduAddress {
    let of = |ton, npi, text: &str| TpduAddress {
        ton,
        npi,
        text: text.to_owned(),
    };
    match number % 13 {
        0 => of(2, 1, "07700900123"),
        1 => of(0, 1, "1001"),
        2 => of(3, 9, "*100#"),
        3 => of(4, 8, "5551234"),
        4 => of(6, 0, "1"),
        5 => of(0, 1, "1a2b3c"),
        6 => TpduAddress::alphanumeric("A"),
        7 => TpduAddress::alphanumeric("Bank"),
        8 => TpduAddress::alphanumeric("Hello World"),
        9 => TpduAddress::alphanumeric("Ä€ §é"),
        _ => TpduAddress::international(&"44770090012345678901"[..7 + number % 14]),
    }
}

fn stamp(number: usize) -> TimeStamp {
    TimeStamp {
        year: (number * 7 % 100) as u8,
        month: (number % 12 + 1) as u8,
        day: (number % 28 + 1) as u8,
        hour: (number % 24) as u8,
        minute: (number * 11 % 60) as u8,
        second: (number * 13 % 60) as u8,
        zone: (number * 17 % 105) as i8 - 48,
    }
}

fn period(number: usize) -> Validity {
    let enhanced = |period| {
        Validity::Enhanced(Enhanced {
            single_shot: number % 8 < 4,
            period,
        })
    };
    match number / 4 % 6 {
        0 => Validity::Absent,
        1 => Validity::Relative((number * 29 % 256) as u8),
        2 => Validity::Absolute(stamp(number)),
        3 => enhanced(Period::Absent),
        4 => enhanced(Period::Seconds((number % 255 + 1) as u8)),
        _ => enhanced(Period::Clock {
            hours: (number % 24) as u8,
            minutes: (number * 11 % 60) as u8,
            seconds: (number * 13 % 60) as u8,
        }),
    }
}
