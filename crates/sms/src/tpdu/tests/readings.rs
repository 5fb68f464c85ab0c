//! What independent programs read in more TPDUs, and that we read the same and write it back.
//!
//! The first 28 were written by python-messaging 0.5.13, the others by a writer of their own in Python. pycrate 0.8.1 reads
//! all of them and writes the same octets again: numbers, flags and times are its reading. Texts are those that were
//! written; smspdudecoder 2.2.0 or python-messaging read the same, but for three waiting indications, whose
//! groups of TP-DCS (3GPP TS 23.038 §4) neither knows, and one text behind a header, to which the former adds an `@` of
//! fill bits.
//! `tests/content/tpdu_oracle.rs` has tshark read all of them, each time.

mod table;

use self::table::READINGS;
use super::*;

#[test]
fn other_programs_read_and_write_the_same() {
    for (kind, hex, expected) in READINGS {
        let octets = given(hex);
        let read = examine(*kind, &octets);
        assert_eq!(read.notes.oddities, [], "{hex}");
        let tpdu = read.tpdu.unwrap_or_else(|fault| panic!("{hex}: {fault}"));
        assert_eq!(reading(&tpdu), *expected, "{hex}");
        assert_eq!(tpdu.encode().unwrap(), octets, "{hex}");
    }
}

/// A TPDU in one line: the flags that are set, then its fields by their names in the standard.
fn reading(tpdu: &Tpdu) -> String {
    let fields = match tpdu {
        Tpdu::Deliver(deliver) => vec![
            flags(&[
                ("more", deliver.more_messages),
                ("lp", deliver.loop_prevention),
                ("sri", deliver.status_report_indication),
                ("rp", deliver.reply_path),
            ]),
            address("oa", &deliver.originating_address),
            scheme(deliver.protocol_identifier, deliver.data_coding),
            time("at", &deliver.service_centre_time_stamp),
            text(&deliver.user_data, deliver.data_coding),
        ],
        Tpdu::Submit(submit) => vec![
            flags(&[
                ("rd", submit.reject_duplicates),
                ("srr", submit.status_report_request),
                ("rp", submit.reply_path),
            ]),
            format!("mr={}", submit.message_reference),
            address("da", &submit.destination_address),
            scheme(submit.protocol_identifier, submit.data_coding),
            validity(&submit.validity),
            text(&submit.user_data, submit.data_coding),
        ],
        Tpdu::StatusReport(report) => vec![
            flags(&[
                ("more", report.more_messages),
                ("lp", report.loop_prevention),
                ("srq", report.of_command),
            ]),
            format!("mr={}", report.message_reference),
            address("ra", &report.recipient_address),
            time("at", &report.service_centre_time_stamp),
            time("dt", &report.discharge_time),
            format!("st={:02x}", report.status),
        ],
        Tpdu::Command(command) => vec![
            flags(&[("srr", command.status_report_request)]),
            format!("mr={}", command.message_reference),
            format!("ct={}", command.command_type),
            format!("mn={}", command.message_number),
            address("da", &command.destination_address),
        ],
        Tpdu::DeliverReport(report) => vec![cause(report.failure_cause)],
        Tpdu::SubmitReport(report) => vec![
            cause(report.failure_cause),
            time("at", &report.service_centre_time_stamp),
        ],
    };
    let fields: Vec<String> = fields
        .into_iter()
        .filter(|field| !field.is_empty())
        .collect();
    fields.join(" ")
}

fn flags(all: &[(&str, bool)]) -> String {
    let set: Vec<&str> = (all.iter())
        .filter_map(|(name, is_set)| is_set.then_some(*name))
        .collect();
    if set.is_empty() {
        "-".to_owned()
    } else {
        set.join(",")
    }
}

fn address(name: &str, address: &TpduAddress) -> String {
    format!("{name}={}/{}/{}", address.ton, address.npi, address.text)
}

fn scheme(protocol_identifier: u8, data_coding: u8) -> String {
    format!("pid={protocol_identifier:02x} dcs={data_coding:02x}")
}

fn time(name: &str, stamp: &TimeStamp) -> String {
    let TimeStamp {
        year,
        month,
        day,
        hour,
        minute,
        second,
        zone,
    } = stamp;
    format!("{name}={year:02}{month:02}{day:02}{hour:02}{minute:02}{second:02}{zone:+}")
}

fn validity(validity: &Validity) -> String {
    match validity {
        Validity::Absent => "vp=-".to_owned(),
        Validity::Relative(octet) => format!("vp=rel:{octet}"),
        Validity::Absolute(stamp) => time("vp", stamp).replace("vp=", "vp=abs:"),
        Validity::Enhanced(enhanced) => {
            let once = if enhanced.single_shot { "once," } else { "" };
            let period = match enhanced.period {
                Period::Absent => "-".to_owned(),
                Period::Relative(octet) => format!("rel:{octet}"),
                Period::Seconds(seconds) => format!("s:{seconds}"),
                Period::Clock {
                    hours,
                    minutes,
                    seconds,
                } => format!("c:{hours:02}{minutes:02}{seconds:02}"),
                Period::Reserved(format) => format!("reserved:{format}"),
            };
            format!("vp=enh:{once}{period}")
        }
    }
}

fn text(user_data: &UserData, data_coding: u8) -> String {
    let header = match user_data.header.encode() {
        header if header.is_empty() => "-".to_owned(),
        header => lower_hex(&header[1..]),
    };
    match user_data.text(data_coding) {
        Some(text) => format!("udh={header} text={text}"),
        None => format!("udh={header} data={}", lower_hex(&user_data.body)),
    }
}

fn cause(cause: Option<u8>) -> String {
    cause.map_or_else(String::new, |cause| format!("fcs={cause:02x}"))
}

fn lower_hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
