//! GSUP frames, element by element, and the TPDUs in them.
//!
//! GSUP has no standard of its own: sections are those of the standards that define what an element
//! carries.

use bytes::{Bytes, BytesMut};

use super::report::{DecodeReport, DecodedField, FieldDetail};
use super::tpdu::{self, ExpectedTpdu};
use super::{causes, hex, reader};
use smsc_gsup::ccm::{self, Ccm};
use smsc_gsup::element::{CutShort, Elements, GsupElement, Tag};
use smsc_gsup::ipa::{self, CCM, GSUP, HEAD, OSMO};
use smsc_gsup::message::{ALERT_MEMORY, ALERT_PRESENT, CLASS_SMS};
use smsc_gsup::{GsupMessage, MalformedGsup, MessageType, SmRpAddress};
use smsc_sms::rp;
use smsc_sms::tpdu::address::bcd_digits;
use smsc_sms::tpdu::{Direction, TpduKind};

/// Octets before the message of a GSUP frame: length, stream, extension.
const BEFORE_MESSAGE: usize = HEAD + 1;

/// Explains one frame after the other; the TPDU of a frame has a report of its own behind it.
pub fn explain(octets: &Bytes) -> Vec<DecodeReport> {
    let mut reports = Vec::new();
    let mut left = BytesMut::from(&octets[..]);
    while !left.is_empty() {
        let at = octets.len() - left.len();
        match ipa::next_frame(&mut left, usize::MAX) {
            Ok(Some(_)) => {
                let end = octets.len() - left.len();
                reports.extend(frame(&octets.slice(at..end), at));
            }
            _ => {
                reports.push(part(&octets.slice(at..), at));
                break;
            }
        }
    }
    reports
}

/// What is no whole frame.
fn part(octets: &Bytes, at: usize) -> DecodeReport {
    let mut report = DecodeReport::new("gsup", "part of a frame", octets, at);
    report.note(DecodedField::hex(at, "(not read)", octets));
    let text = match octets.first_chunk::<2>() {
        Some(length) => {
            let wanted = HEAD + usize::from(u16::from_be_bytes(*length));
            let missing = wanted - octets.len();
            format!("the frame is said to have {wanted} octets; {missing} of them are missing")
        }
        None => "a frame begins with its length, of two octets".to_owned(),
    };
    report.problem(at, "length", text);
    report
}

fn frame(octets: &Bytes, base: usize) -> Vec<DecodeReport> {
    let mut report = DecodeReport::new("gsup", "IPA frame", octets, base);
    let payload = octets.slice(HEAD..);
    let length = DecodedField::number(base, 2, "length", payload.len() as u32);
    report.note(length.meaning("octets behind the stream"));
    if octets.len() > ipa::FRAME_MAX {
        let text = format!("{} octets; peers take {}", octets.len(), ipa::FRAME_MAX);
        report.problem(base, "length", text);
    }
    let stream = octets[2];
    let name = match stream {
        CCM => "CCM, the handshake and the pings",
        OSMO => "OSMO, with an extension",
        _ => "another protocol",
    };
    report.note(DecodedField::code(base + 2, "stream", stream, name));
    match (stream, payload.first()) {
        (CCM, _) => handshake(&mut report, &payload, base + HEAD),
        (OSMO, Some(&GSUP)) => {
            report.note(DecodedField::code(base + HEAD, "extension", GSUP, "GSUP"));
            return message(report, &payload.slice(1..), base + BEFORE_MESSAGE);
        }
        (OSMO, Some(extension)) => {
            let name = match extension {
                0 => "CTRL",
                _ => "another protocol",
            };
            report.note(DecodedField::code(
                base + HEAD,
                "extension",
                *extension,
                name,
            ));
            rest(&mut report, &payload.slice(1..), base + BEFORE_MESSAGE);
        }
        _ => rest(&mut report, &payload, base + HEAD),
    }
    vec![report]
}

fn handshake(report: &mut DecodeReport, payload: &Bytes, at: usize) {
    match Ccm::decode(payload) {
        Ok(read) => {
            report.title = read.name().to_owned();
            report.note(DecodedField::code(
                at,
                "message type",
                payload[0],
                read.name(),
            ));
            if payload.len() > 1 {
                let mut names = DecodedField::hex(at + 1, "names", &payload[1..]);
                names.shown = hex::counted(payload.len() - 1, "octet");
                names.details = names_of(&read);
                report.note(names);
            }
        }
        Err(error) => {
            rest(report, payload, at);
            report.problem(at, "message type", error.to_string());
        }
    }
}

fn names_of(ccm: &Ccm) -> Vec<FieldDetail> {
    let detail =
        |tag: u8, value: String| FieldDetail::new(format!("{tag:02X}"), value, ccm::tag_name(tag));
    match ccm {
        Ccm::IdGet(tags) => tags.iter().map(|tag| detail(*tag, String::new())).collect(),
        Ccm::IdResponse(names) => {
            let names = names.iter();
            names
                .map(|(tag, name)| detail(*tag, reader::shown(name)))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The elements of a message whose type is octet `base` of what was given.
fn message(mut report: DecodeReport, octets: &Bytes, base: usize) -> Vec<DecodeReport> {
    let Some(first) = octets.first() else {
        report.problem(base, "message type", "the frame ends before it");
        return vec![report];
    };
    let message_type = MessageType(*first);
    report.title = format!("GSUP {message_type}");
    let said = message_type.to_string();
    report.note(DecodedField::code(base, "message type", *first, said));
    let mut inner = None;
    for element in Elements::of(octets) {
        match element {
            Ok(element) => {
                report.note(explained(&element, base));
                if element.tag == Tag::SM_RP_UI && !element.value.is_empty() {
                    inner = Some((base + element.at + 2, element.value));
                }
            }
            Err(CutShort { at, .. }) => {
                report.note(DecodedField::hex(base + at, "(not read)", &octets[at..]));
            }
        }
    }
    problems(&mut report, octets, base);
    let mut reports = vec![report];
    if let (Some((at, tpdu)), Some(which)) = (inner, carried(message_type)) {
        reports.push(tpdu::explain(&tpdu, at, which));
    }
    reports
}

/// What the codec cannot read, and what a message of short messages lacks.
fn problems(report: &mut DecodeReport, octets: &Bytes, base: usize) {
    match GsupMessage::decode(octets) {
        Ok(message) => {
            if let Some(tag) = message.missing() {
                report.problem(base, tag.name(), "the message needs it and lacks it");
            }
        }
        Err(MalformedGsup {
            tag, at, problem, ..
        }) => report.problem(base + at, tag.name(), problem.to_string()),
    }
}

/// Which TPDU a message carries.
fn carried(message_type: MessageType) -> Option<ExpectedTpdu> {
    Some(match message_type {
        MessageType::MO_FORWARD_SM_REQUEST => ExpectedTpdu::Any(Direction::FromPhone),
        MessageType::MO_FORWARD_SM_RESULT => ExpectedTpdu::One(TpduKind::SubmitReport),
        MessageType::MO_FORWARD_SM_ERROR => ExpectedTpdu::One(TpduKind::SubmitReportError),
        MessageType::MT_FORWARD_SM_REQUEST => ExpectedTpdu::Any(Direction::ToPhone),
        MessageType::MT_FORWARD_SM_RESULT => ExpectedTpdu::One(TpduKind::DeliverReport),
        MessageType::MT_FORWARD_SM_ERROR => ExpectedTpdu::One(TpduKind::DeliverReportError),
        _ => return None,
    })
}

fn explained(element: &GsupElement, base: usize) -> DecodedField {
    let GsupElement { at, tag, value } = element;
    let mut field = DecodedField::hex(base + at, &name(*tag), value);
    field.octets += 2;
    section(*tag).clone_into(&mut field.section);
    match (*tag, &value[..]) {
        (Tag::IMSI, digits) => field.set_string(&bcd_digits(digits)),
        (Tag::SM_RP_DA | Tag::SM_RP_OA, octets) => field = addressed(field, octets),
        (Tag::SM_RP_UI, octets) => field.shown = hex::counted(octets.len(), "octet"),
        (Tag::SOURCE_NAME | Tag::DESTINATION_NAME, octets) => {
            field.set_string(&reader::shown(octets.strip_suffix(&[0]).unwrap_or(octets)));
        }
        (tag, [octet]) => {
            field.set_code(*octet);
            meaning(tag, *octet).clone_into(&mut field.meaning);
        }
        _ => {}
    }
    field
}

fn addressed(mut field: DecodedField, octets: &[u8]) -> DecodedField {
    let (what, address) = match SmRpAddress::decode(octets) {
        Ok(SmRpAddress::Msisdn(address)) => ("MSISDN", address),
        Ok(SmRpAddress::ServiceCentre(address)) => ("service centre", address),
        Ok(SmRpAddress::Imsi(imsi)) => {
            field.set_string(&imsi);
            return field.meaning("IMSI");
        }
        Ok(SmRpAddress::Absent) => return field.meaning("none"),
        Err(_) => return field,
    };
    let field = tpdu::with_address(field, &address);
    let meaning = format!("{what}, {}", field.meaning);
    field.meaning(meaning)
}

fn meaning(tag: Tag, octet: u8) -> &'static str {
    match tag {
        Tag::CAUSE => causes::gmm_cause(octet),
        Tag::SM_RP_CAUSE => rp::cause_name(octet),
        Tag::SM_RP_MMS if octet == 0 => "no more messages",
        Tag::SM_RP_MMS => "more messages follow",
        Tag::MESSAGE_CLASS => match octet {
            1 => "subscriber management",
            CLASS_SMS => "short messages",
            3 => "supplementary services",
            4 => "inter-MSC",
            5 => "IP multimedia",
            _ => "no class known",
        },
        Tag::SM_ALERT_REASON => match octet {
            ALERT_PRESENT => "the phone is present",
            ALERT_MEMORY => "the phone has memory",
            _ => "no reason known",
        },
        _ => "",
    }
}

/// The section that defines what an element carries.
fn section(tag: Tag) -> &'static str {
    match tag {
        Tag::IMSI => "23.003 §2.2",
        Tag::CAUSE => "24.008 §10.5.5.14",
        Tag::SM_RP_MR => "24.011 §8.2.3",
        Tag::SM_RP_DA => "29.002 §7.6.8.1",
        Tag::SM_RP_OA => "29.002 §7.6.8.2",
        Tag::SM_RP_UI => "29.002 §7.6.8.4",
        Tag::SM_RP_CAUSE => "24.011 §8.2.5.4",
        Tag::SM_RP_MMS => "29.002 §7.6.8.7",
        Tag::SM_ALERT_REASON => "29.002 §7.6.8.8",
        _ => "",
    }
}

fn name(tag: Tag) -> String {
    match tag.name() {
        "element" => format!("element 0x{:02X}", tag.0),
        name => name.to_owned(),
    }
}

fn rest(report: &mut DecodeReport, octets: &[u8], at: usize) {
    if !octets.is_empty() {
        report.note(DecodedField::hex(at, "payload", octets));
    }
}

#[cfg(test)]
mod tests;
