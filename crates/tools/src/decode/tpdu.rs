//! TPDUs and messages of the relay layer, field by field (3GPP TS 23.040 §9.2, 24.011 §7.3).
//!
//! The codec of `sms` says where each field is, also up to the first one that cannot be read; here each
//! gets a meaning. Octets that belong to no field become one of their own.

use bytes::Bytes;

use super::bits::{self, ValueMeaning, bits};
use super::report::{DecodeProblem, DecodeReport, DecodedField, FieldDetail};
use super::{causes, hex, text};
use smsc_sms::rp::{self, Rp};
use smsc_sms::tpdu::{
    self, Direction, FieldFault, FieldSpan, ReadNotes, TimeStamp, TpduAddress, TpduKind,
};
use smsc_sms::tpdu::{Period, TpduField, Validity, time};

/// Which TPDU the octets are: one kind, or any of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedTpdu {
    Any(Direction),
    One(TpduKind),
}

/// The values of `--tpdu`.
pub const WHICH: [(&str, ExpectedTpdu); 10] = [
    ("to-phone", ExpectedTpdu::Any(Direction::ToPhone)),
    ("from-phone", ExpectedTpdu::Any(Direction::FromPhone)),
    ("deliver", ExpectedTpdu::One(TpduKind::Deliver)),
    ("submit", ExpectedTpdu::One(TpduKind::Submit)),
    ("status-report", ExpectedTpdu::One(TpduKind::StatusReport)),
    ("command", ExpectedTpdu::One(TpduKind::Command)),
    ("deliver-report", ExpectedTpdu::One(TpduKind::DeliverReport)),
    (
        "deliver-report-error",
        ExpectedTpdu::One(TpduKind::DeliverReportError),
    ),
    ("submit-report", ExpectedTpdu::One(TpduKind::SubmitReport)),
    (
        "submit-report-error",
        ExpectedTpdu::One(TpduKind::SubmitReportError),
    ),
];

/// The first octet of a TPDU: which bits are flags, and which of them say so when they are 0.
struct Flags {
    first: u8,
    details: Vec<FieldDetail>,
}

/// Explains a TPDU whose first octet is number `base` of what was given.
pub fn explain(octets: &Bytes, base: usize, which: ExpectedTpdu) -> DecodeReport {
    let kind = match which {
        ExpectedTpdu::One(kind) => Some(kind),
        ExpectedTpdu::Any(direction) => TpduKind::guess(direction, octets),
    };
    let Some(kind) = kind else {
        let text = "message type 3 is reserved in this direction; give the kind";
        let fault = DecodeProblem::new(base, TpduField::FirstOctet.name(), text);
        let report = DecodeReport::new("tpdu", "part of a TPDU", octets, base);
        return finished(report, octets, base, &ReadNotes::default(), Some(fault));
    };
    let examined = tpdu::examine(kind, octets);
    let mut report = DecodeReport::new("tpdu", kind.name(), octets, base);
    let first = octets.first().copied().unwrap_or_default();
    for span in &examined.notes.fields {
        let octets = octets.slice(span.at..span.at + span.octets);
        report.note(field(*span, base, &octets, kind, first));
    }
    let is_text =
        |span: &&FieldSpan| matches!(span.field, TpduField::UserData | TpduField::CommandData);
    let place = examined.notes.fields.iter().find(is_text);
    if let (Ok(tpdu), Some(place)) = (&examined.tpdu, place)
        && let Some((user_data, data_coding)) = tpdu.user_data()
    {
        let (at, octets) = (base + place.at, place.octets);
        report.user_data = Some(text::of_tpdu(user_data, data_coding, at, octets));
    }
    let fault = examined.tpdu.err().map(|fault| problem(fault, base));
    finished(report, octets, base, &examined.notes, fault)
}

/// Explains a message of the relay layer, and the TPDU in it.
pub fn explain_rp(octets: &Bytes, base: usize) -> Vec<DecodeReport> {
    let examined = rp::examine(octets);
    let title = match &examined.rp {
        Ok(rp) => rp.name(),
        Err(_) => "part of a message of the relay layer",
    };
    let mut report = DecodeReport::new("rp", title, octets, base);
    for span in &examined.notes.fields {
        let octets = octets.slice(span.at..span.at + span.octets);
        report.note(relayed(*span, base, &octets));
    }
    let is_tpdu = |span: &&FieldSpan| span.field == TpduField::RpUserData;
    let place = examined.notes.fields.iter().find(is_tpdu).copied();
    let (rp, fault) = match examined.rp {
        Ok(rp) => (Some(rp), None),
        Err(fault) => (None, Some(problem(fault, base))),
    };
    let mut reports = vec![finished(report, octets, base, &examined.notes, fault)];
    let inner = rp
        .as_ref()
        .and_then(carried)
        .filter(|(tpdu, _)| !tpdu.is_empty());
    if let (Some((tpdu, which)), Some(place)) = (inner, place) {
        // The TPDU is at the end of its field, behind identifier and length.
        let at = base + place.at + place.octets - tpdu.len();
        reports.push(explain(tpdu, at, which));
    }
    reports
}

/// The TPDU of a message, and which it is.
fn carried(rp: &Rp) -> Option<(&Bytes, ExpectedTpdu)> {
    let of = |direction: Direction, to_phone, from_phone| match direction {
        Direction::ToPhone => ExpectedTpdu::One(to_phone),
        Direction::FromPhone => ExpectedTpdu::One(from_phone),
    };
    match rp {
        Rp::Data {
            direction, tpdu, ..
        } => Some((tpdu, ExpectedTpdu::Any(*direction))),
        Rp::Ack {
            direction, tpdu, ..
        } => {
            let which = of(*direction, TpduKind::SubmitReport, TpduKind::DeliverReport);
            tpdu.as_ref().map(|tpdu| (tpdu, which))
        }
        Rp::Error {
            direction, tpdu, ..
        } => {
            let which = of(
                *direction,
                TpduKind::SubmitReportError,
                TpduKind::DeliverReportError,
            );
            tpdu.as_ref().map(|tpdu| (tpdu, which))
        }
        Rp::MemoryAvailable { .. } => None,
    }
}

/// Adds what no field has, and what is wrong.
fn finished(
    mut report: DecodeReport,
    octets: &Bytes,
    base: usize,
    notes: &ReadNotes,
    fault: Option<DecodeProblem>,
) -> DecodeReport {
    let read: usize = notes.fields.iter().map(|span| span.octets).sum();
    if read < octets.len() {
        report.note(DecodedField::hex(
            base + read,
            "(not read)",
            &octets[read..],
        ));
    }
    let odd = notes.oddities.iter().map(|odd| problem(*odd, base));
    report.problems.extend(odd.chain(fault));
    report
}

fn problem(fault: FieldFault, base: usize) -> DecodeProblem {
    let text = fault.problem.to_string();
    DecodeProblem::new(base + fault.at, fault.field.name(), text)
}

/// A field as octets, with its section.
fn plain(span: FieldSpan, base: usize, octets: &[u8]) -> DecodedField {
    let name = span.field.name();
    let standard = if name.starts_with("RP") {
        "24.011"
    } else {
        "23.040"
    };
    let mut field = DecodedField::hex(base + span.at, name, octets);
    field.octets = span.octets;
    if span.field != TpduField::Rest {
        field.section = format!("{standard} §{}", span.field.section());
    }
    field
}

/// A field of a TPDU.
fn field(span: FieldSpan, base: usize, octets: &Bytes, kind: TpduKind, first: u8) -> DecodedField {
    let mut field = plain(span, base, octets);
    let octet = octets.first().copied().unwrap_or_default();
    let hexadecimal = |mut field: DecodedField, (meaning, details): ValueMeaning| {
        field.set_code(octet);
        (field.meaning, field.details) = (meaning, details);
        field
    };
    let said = |meaning: &str| (meaning.to_owned(), Vec::new());
    match span.field {
        TpduField::FirstOctet => {
            let meaning = kind.name().to_owned();
            hexadecimal(field, (meaning, flags(kind, octet)))
        }
        TpduField::ProtocolIdentifier => hexadecimal(field, said(bits::protocol_id(octet))),
        TpduField::DataCodingScheme => hexadecimal(field, bits::group(octet)),
        TpduField::Status => hexadecimal(field, (causes::status(octet), Vec::new())),
        TpduField::FailureCause => hexadecimal(field, said(causes::failure_cause(octet))),
        TpduField::CommandType => hexadecimal(field, said(causes::command_type(octet))),
        TpduField::ParameterIndicator => hexadecimal(field, parameters(octet)),
        TpduField::MessageReference | TpduField::MessageNumber => number(field, octet, ""),
        TpduField::UserDataLength => {
            let unit = "septets in the 7-bit alphabet, else octets";
            number(field, octet, unit)
        }
        TpduField::CommandDataLength => number(field, octet, "octets"),
        TpduField::OriginatingAddress
        | TpduField::DestinationAddress
        | TpduField::RecipientAddress => match TpduAddress::decode(octets) {
            Ok(address) => with_address(field, &address),
            Err(_) => field,
        },
        TpduField::ServiceCentreTimeStamp | TpduField::DischargeTime => {
            if let Ok(stamp) = TimeStamp::decode(octets) {
                field.meaning = date(&stamp);
            }
            field
        }
        TpduField::ValidityPeriod => {
            if let Ok(validity) = Validity::decode(first >> 3, octets) {
                field.meaning = lasting(&validity);
            }
            field
        }
        TpduField::UserData | TpduField::CommandData => {
            field.shown = hex::counted(octets.len(), "octet");
            field
        }
        _ => field,
    }
}

/// A field of the relay layer.
fn relayed(span: FieldSpan, base: usize, octets: &Bytes) -> DecodedField {
    let mut field = plain(span, base, octets);
    let octet = octets.first().copied().unwrap_or_default();
    match span.field {
        TpduField::RpMessageType => {
            let direction = match octet & 1 {
                0 => "from the phone",
                _ => "to the phone",
            };
            let what = match octet & 0x06 {
                0 => "RP-DATA",
                2 => "RP-ACK",
                4 => "RP-ERROR",
                _ => "RP-SMMA",
            };
            number(field, octet, &format!("{what}, {direction}"))
        }
        TpduField::RpMessageReference => number(field, octet, ""),
        TpduField::RpOriginatorAddress | TpduField::RpDestinationAddress => {
            match TpduAddress::from_type_and_digits(&octets[1..]) {
                Some(address) => with_address(field, &address),
                None => {
                    field.meaning = "none".to_owned();
                    field
                }
            }
        }
        TpduField::RpCause => {
            if let Some(cause) = octets.get(1) {
                field.meaning = rp::cause_name(cause & 0x7F).to_owned();
            }
            field
        }
        TpduField::RpUserData => {
            field.shown = hex::counted(octets.len(), "octet");
            field
        }
        _ => field,
    }
}

fn number(mut field: DecodedField, octet: u8, meaning: &str) -> DecodedField {
    field.set_number(octet.into());
    field.meaning(meaning)
}

/// A field with an address.
pub fn with_address(mut field: DecodedField, address: &TpduAddress) -> DecodedField {
    field.set_string(&address.text);
    field.meaning(format!(
        "{}, {}",
        bits::ton(address.ton),
        bits::npi(address.npi)
    ))
}

/// The flags of the first octet, from the highest bit (§9.2.2).
fn flags(kind: TpduKind, first: u8) -> Vec<FieldDetail> {
    let mut flags = Flags {
        first,
        details: Vec::new(),
    };
    if matches!(kind, TpduKind::Deliver | TpduKind::Submit) {
        flags.bit(7, "TP-RP: reply path", "TP-RP: no reply path");
    }
    flags.bit(
        6,
        "TP-UDHI: the user data begins with a header",
        "TP-UDHI: no header",
    );
    match kind {
        TpduKind::Deliver => {
            flags.bit(
                5,
                "TP-SRI: a status report goes back",
                "TP-SRI: no status report",
            );
        }
        TpduKind::Submit | TpduKind::Command => {
            flags.bit(
                5,
                "TP-SRR: a status report is wanted",
                "TP-SRR: no status report",
            );
        }
        TpduKind::StatusReport => {
            flags.bit(5, "TP-SRQ: of an SMS-COMMAND", "TP-SRQ: of an SMS-SUBMIT");
        }
        _ => {}
    }
    match kind {
        TpduKind::Submit => {
            let format = match (first >> 3) & 3 {
                0 => "TP-VPF: no validity period",
                1 => "TP-VPF: enhanced validity period",
                2 => "TP-VPF: relative validity period",
                _ => "TP-VPF: absolute validity period",
            };
            flags.details.push(bits(first, 4, 3, format));
            flags.bit(
                2,
                "TP-RD: duplicates are rejected",
                "TP-RD: duplicates are accepted",
            );
        }
        TpduKind::Deliver | TpduKind::StatusReport => {
            flags.bit(
                3,
                "TP-LP: made or forwarded by a machine",
                "TP-LP: no loop prevention",
            );
            flags.bit(
                2,
                "TP-MMS: no more messages wait",
                "TP-MMS: more messages wait",
            );
        }
        _ => {}
    }
    flags.details.push(bits(first, 1, 0, "TP-MTI"));
    flags.details
}

fn parameters(octet: u8) -> ValueMeaning {
    let names = [(0x01, "TP-PID"), (0x02, "TP-DCS"), (0x04, "TP-UDL")];
    let there: Vec<&str> = names
        .iter()
        .filter(|(bit, _)| octet & bit != 0)
        .map(|(_, name)| *name)
        .collect();
    let said = if there.is_empty() {
        "nothing follows".to_owned()
    } else {
        format!("{} follow", there.join(", "))
    };
    (said, Vec::new())
}

/// A time stamp in words.
fn date(stamp: &TimeStamp) -> String {
    if !stamp.is_possible() {
        return "no date and time".to_owned();
    }
    let TimeStamp {
        month,
        day,
        hour,
        minute,
        second,
        zone,
        ..
    } = stamp;
    // Phones read years from 90 on as those of the last century.
    let year = match stamp.year {
        90.. => 1900 + u16::from(stamp.year),
        year => 2000 + u16::from(year),
    };
    let sign = if *zone < 0 { '-' } else { '+' };
    let (hours, minutes) = (zone.unsigned_abs() / 4, zone.unsigned_abs() % 4 * 15);
    format!(
        "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} {sign}{hours:02}:{minutes:02}"
    )
}

/// A validity period in words.
fn lasting(validity: &Validity) -> String {
    let enhanced = match validity {
        Validity::Absent => return String::new(),
        Validity::Relative(octet) => return period(time::relative_seconds(*octet)),
        Validity::Absolute(stamp) => return format!("until {}", date(stamp)),
        Validity::Enhanced(enhanced) => enhanced,
    };
    let lasts = match enhanced.period {
        Period::Absent => "as the service centre decides".to_owned(),
        Period::Relative(octet) => period(time::relative_seconds(octet)),
        Period::Seconds(seconds) => hex::counted(seconds.into(), "second"),
        Period::Clock {
            hours,
            minutes,
            seconds,
        } => format!("{hours:02}:{minutes:02}:{seconds:02} hours"),
        Period::Reserved(format) => format!("format {format} is reserved"),
    };
    if enhanced.single_shot {
        format!("{lasts}, one attempt only")
    } else {
        lasts
    }
}

/// The largest unit that gives a whole number.
fn period(seconds: u32) -> String {
    let units = [
        (604_800, "week"),
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
    ];
    let whole = units.iter().find(|(unit, _)| seconds.is_multiple_of(*unit));
    match whole {
        Some((unit, name)) => hex::counted((seconds / unit) as usize, name),
        None => hex::counted(seconds as usize, "second"),
    }
}

// === impl Flags ===

impl Flags {
    fn bit(&mut self, bit: u8, set: &str, clear: &str) {
        let meaning = match self.first >> bit & 1 {
            0 => clear,
            _ => set,
        };
        self.details.push(bits(self.first, bit, bit, meaning));
    }
}

#[cfg(test)]
mod tests;
