//! PDUs of CMPP, SGIP and SMGP, field by field.
//!
//! The tables of the crates say what the fields are; here is what some of them mean. Of two versions, the one is
//! shown that writes the same octets again, and none is named when both do.

use std::fmt::Debug;

use bytes::{Bytes, BytesMut};

use super::hex;
use super::report::{DecodeReport, DecodedField, FieldDetail};
use smsc_carrier::fields::{Malformed, Reader, Seen, Value};
use smsc_carrier::text::{self, Format};
use smsc_carrier::{Pdu, Protocol, pdu};
use smsc_cmpp::{self as cmpp, Cmpp};
use smsc_sgip::{self as sgip, Sgip};
use smsc_smgp::{self as smgp, Smgp};
use smsc_sms::udh::UserDataHeader;

/// Which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarrierProtocol {
    /// China Mobile's.
    Cmpp,
    /// China Unicom's.
    Sgip,
    /// China Telecom's.
    Smgp,
}

/// Octets of the length in front.
const LENGTH: usize = 4;

/// A PDU that was read in one version.
struct ExaminedPdu {
    version: &'static str,
    seen: Vec<Seen>,
    problem: Option<Malformed>,
    /// Whether it is written with the same octets.
    is_exact: bool,
    receipt: Vec<FieldDetail>,
}

/// Explains one PDU after the other.
pub fn explain(octets: &Bytes, which: CarrierProtocol) -> Vec<DecodeReport> {
    let mut reports = Vec::new();
    let mut left = BytesMut::from(&octets[..]);
    while !left.is_empty() {
        let at = octets.len() - left.len();
        let frame = match which {
            CarrierProtocol::Cmpp => pdu::next_frame::<Cmpp>(&mut left),
            CarrierProtocol::Sgip => pdu::next_frame::<Sgip>(&mut left),
            CarrierProtocol::Smgp => pdu::next_frame::<Smgp>(&mut left),
        };
        match frame {
            Ok(Some(frame)) => reports.push(whole(&frame, at, which)),
            Ok(None) => {
                let text = "the PDU is longer than what there is";
                reports.push(part(&octets.slice(at..), at, which, text.to_owned()));
                break;
            }
            Err(bad) => {
                let text = format!("{} octets are no length of a PDU", bad.0);
                reports.push(part(&octets.slice(at..), at, which, text));
                break;
            }
        }
    }
    reports
}

/// What is no whole PDU.
fn part(octets: &Bytes, at: usize, which: CarrierProtocol, text: String) -> DecodeReport {
    let mut report = DecodeReport::new(kind(which), "part of a PDU", octets, at);
    report.note(DecodedField::hex(at, "(not read)", octets));
    report.problem(at, "length", text);
    report
}

fn whole(frame: &Bytes, base: usize, which: CarrierProtocol) -> DecodeReport {
    let all = match which {
        CarrierProtocol::Cmpp => vec![of_cmpp(frame, Cmpp::V30), of_cmpp(frame, Cmpp::V20)],
        CarrierProtocol::Sgip => vec![
            of_sgip(frame, sgip::Version::V12),
            of_sgip(frame, sgip::Version::V13),
        ],
        CarrierProtocol::Smgp => vec![of_smgp(frame)],
    };
    // Most PDUs are the same in all versions.
    let fits_several = all.iter().filter(|examined| examined.is_exact).count() > 1;
    // The first of the best.
    let rank = |examined: &ExaminedPdu| (!examined.is_exact, examined.problem.is_some());
    let best = all.into_iter().min_by_key(rank);
    let Some(examined) = best else {
        return part(frame, base, which, String::new());
    };
    let command = frame[LENGTH..]
        .first_chunk::<4>()
        .map_or(0, |octets| u32::from_be_bytes(*octets));
    let name = match which {
        CarrierProtocol::Cmpp => cmpp::Body::name_of(command),
        CarrierProtocol::Sgip => sgip::Body::name_of(command),
        CarrierProtocol::Smgp => smgp::Body::name_of(command),
    };
    let name = name.unwrap_or("an unknown command");
    let protocol = match which {
        CarrierProtocol::Cmpp if fits_several => "CMPP",
        CarrierProtocol::Sgip if fits_several => "SGIP",
        _ => examined.version,
    };
    let mut report = DecodeReport::new(kind(which), format!("{protocol} {name}"), frame, base);
    for seen in &examined.seen {
        let meaning = meaning(seen, &examined.seen, which, command);
        report.note(field_of(seen, base, meaning));
    }
    let end = examined.seen.last().map_or(0, |seen| seen.at + seen.octets);
    if end < frame.len() {
        report.note(DecodedField::hex(base + end, "(not read)", &frame[end..]));
    }
    report.receipt = examined.receipt;
    if let Some(malformed) = examined.problem {
        report.problem(base + malformed.at, malformed.field, malformed.problem);
    }
    report
}

/// Reads a frame by `read`, and looks whether the protocol writes the same octets.
fn examined<P: Protocol>(
    protocol: P,
    version: &'static str,
    number: u8,
    frame: &Bytes,
    read: impl Fn(&mut Reader, usize) -> Result<Pdu<P::Sequence, P::Body>, Malformed>,
    receipt: impl Fn(&P::Body) -> Option<Vec<FieldDetail>>,
) -> ExaminedPdu {
    let mut reader = Reader::watched(frame, 0, number);
    let read = read(&mut reader, frame.len());
    let mut again = BytesMut::new();
    let is_exact = (read.as_ref()).is_ok_and(|pdu| protocol.encode(pdu, &mut again).is_ok())
        && again[..] == frame[..];
    let receipt = read.as_ref().ok().and_then(|pdu| receipt(&pdu.body));
    ExaminedPdu {
        version,
        seen: reader.into_seen(),
        problem: read.err(),
        is_exact,
        receipt: receipt.unwrap_or_default(),
    }
}

fn of_cmpp(frame: &Bytes, version: Cmpp) -> ExaminedPdu {
    let name = match version {
        Cmpp::V20 => "CMPP 2.0",
        Cmpp::V30 => "CMPP 3.0",
    };
    let receipt = |body: &cmpp::Body| match body {
        cmpp::Body::Deliver(deliver) if deliver.registered_delivery == 1 => {
            let report = cmpp::Report::decode(&deliver.msg_content.0, version);
            report.ok().map(|report| receipt_of_cmpp(&report))
        }
        _ => None,
    };
    examined(version, name, version as u8, frame, cmpp::read, receipt)
}

fn receipt_of_cmpp(report: &cmpp::Report) -> Vec<FieldDetail> {
    vec![
        FieldDetail::new("Msg_Id", format!("{:016X}", report.msg_id), ""),
        FieldDetail::new("Stat", text_of(&report.stat.0), said(report.outcome())),
        FieldDetail::new("Submit_time", text_of(&report.submit_time.0), ""),
        FieldDetail::new("Done_time", text_of(&report.done_time.0), ""),
        FieldDetail::new("Dest_terminal_Id", text_of(&report.dest_terminal_id.0), ""),
        FieldDetail::new("SMSC_sequence", report.smsc_sequence.to_string(), ""),
    ]
}

fn of_sgip(frame: &Bytes, version: sgip::Version) -> ExaminedPdu {
    let protocol = Sgip {
        version,
        node: 0,
        time: 0,
    };
    let name = match version {
        sgip::Version::V12 => "SGIP 1.2",
        sgip::Version::V13 => "SGIP 1.3",
    };
    examined(protocol, name, version as u8, frame, sgip::read, |_| None)
}

fn of_smgp(frame: &Bytes) -> ExaminedPdu {
    let receipt = |body: &smgp::Body| match body {
        smgp::Body::Deliver(deliver) if deliver.is_report == 1 => {
            smgp::Report::decode(&deliver.msg_content.0).map(|report| receipt_of_smgp(&report))
        }
        _ => None,
    };
    examined(Smgp, "SMGP 3.0", smgp::VERSION, frame, smgp::read, receipt)
}

fn receipt_of_smgp(report: &smgp::Report) -> Vec<FieldDetail> {
    vec![
        FieldDetail::new("MsgID", hex::spaced(&report.msg_id).replace(' ', ""), ""),
        FieldDetail::new("stat", text_of(&report.stat), said(report.outcome())),
        FieldDetail::new("err", text_of(&report.err), ""),
        FieldDetail::new("submit date", text_of(&report.submit_date), ""),
        FieldDetail::new("done date", text_of(&report.done_date), ""),
    ]
}

fn text_of(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// What a report says became of its message, if that is known.
fn said(outcome: Option<impl Debug>) -> String {
    outcome.map_or(String::new(), |outcome| format!("{outcome:?}"))
}

/// What a value means, where a table says it.
fn meaning(seen: &Seen, all: &[Seen], which: CarrierProtocol, command: u32) -> String {
    let number = match &seen.value {
        Value::Number(number) => *number,
        Value::Octets(octets) if seen.name.ends_with("Content") => {
            return content(octets, all);
        }
        _ => return String::new(),
    };
    let code = u32::try_from(number).unwrap_or(u32::MAX);
    let known = match (which, seen.name) {
        (CarrierProtocol::Cmpp, "Status") => cmpp::status::meaning(&cmpp::status::CONNECT, code),
        (CarrierProtocol::Cmpp, "Result") => cmpp::status::meaning(&cmpp::status::SUBMIT, code),
        (CarrierProtocol::Sgip, "Result" | "ErrorCode") => u8::try_from(code)
            .ok()
            // In a Trace_Resp it is something else.
            .filter(|_| command != 0x8000_1000)
            .and_then(sgip::status::meaning),
        (CarrierProtocol::Smgp, "Status") => smgp::status::meaning(code),
        (_, "Msg_Fmt" | "MessageCoding" | "MsgFormat") => {
            let format = u8::try_from(code).ok().and_then(Format::of);
            format.map(Format::name)
        }
        _ => None,
    };
    known.unwrap_or_default().to_owned()
}

/// The text of a content, by the fields in front of it.
fn content(octets: &Bytes, all: &[Seen]) -> String {
    let number = |names: &[&str]| {
        let found = all.iter().find(|seen| names.contains(&seen.name))?;
        match found.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    };
    let is_report =
        number(&["Registered_Delivery", "IsReport"]) == Some(1) && number(&["Pk_total"]).is_none();
    let format = number(&["Msg_Fmt", "MessageCoding", "MsgFormat"]);
    let Some(format) = format.and_then(|number| Format::of(u8::try_from(number).ok()?)) else {
        return String::new();
    };
    let has_header = number(&["TP_udhi"]) == Some(1);
    let body = match UserDataHeader::split(octets) {
        Ok((_, body)) if has_header => body,
        _ => octets.clone(),
    };
    match text::decode(format, &body) {
        Some(text) if !is_report => format!("\"{text}\""),
        _ => String::new(),
    }
}

fn field_of(seen: &Seen, base: usize, meaning: String) -> DecodedField {
    let at = base + seen.at;
    let field = match &seen.value {
        Value::Number(number) => match u32::try_from(*number) {
            Ok(number) => DecodedField::number(at, seen.octets, seen.name, number),
            Err(_) => {
                let digits = format!("{number:016X}");
                DecodedField::string(at, seen.octets, seen.name, &digits)
            }
        },
        Value::Text(text) => DecodedField::string(at, seen.octets, seen.name, &text_of(text)),
        Value::Octets(octets) => {
            let mut field = DecodedField::hex(at, seen.name, octets);
            field.octets = seen.octets;
            field
        }
    };
    field.meaning(meaning)
}

fn kind(which: CarrierProtocol) -> &'static str {
    match which {
        CarrierProtocol::Cmpp => "cmpp",
        CarrierProtocol::Sgip => "sgip",
        CarrierProtocol::Smgp => "smgp",
    }
}

#[cfg(test)]
mod tests;
