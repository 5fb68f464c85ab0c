//! Messages of M3UA, parameter by parameter (RFC 4666 §3), and what a DATA carries.

use bytes::Bytes;

use super::sccp;
use crate::decode::hex;
use crate::decode::reader::shown;
use crate::decode::report::{DecodeReport, DecodedField, FieldDetail};
use smsc_sigtran::PointCode;
pub use smsc_sigtran::m3ua::VERSION;
use smsc_sigtran::m3ua::{
    ApplicationStatus, HEAD, M3uaErrorCode, M3uaKind, SERVICE_SCCP, registration_status, tag,
};

/// Octets of tag and length of a parameter.
const PARAMETER_HEAD: usize = 4;
/// Octets of Protocol Data before what it carries (§3.3.1).
const LABEL: usize = 12;

/// Explains one message after the other.
pub fn explain(octets: &Bytes) -> Vec<DecodeReport> {
    let mut reports = Vec::new();
    let mut at = 0;
    while at < octets.len() {
        let (octets, mut some) = message(&octets.slice(at..), at);
        reports.append(&mut some);
        at += octets;
    }
    reports
}

/// The first message, and how many octets it has.
fn message(octets: &Bytes, base: usize) -> (usize, Vec<DecodeReport>) {
    let head: Option<&[u8; HEAD]> = octets.first_chunk();
    let length = head.map(|head| u32::from_be_bytes([head[4], head[5], head[6], head[7]]));
    let Some((head, length)) = head.zip(length) else {
        let text = format!("a message begins with {HEAD} octets");
        return (octets.len(), vec![part(octets, base, base, text)]);
    };
    let whole = length as usize;
    if head[0] != VERSION {
        let text = format!("0x{:02X} is not version 1", head[0]);
        return (octets.len(), vec![part(octets, base, base, text)]);
    }
    if whole < HEAD || whole > octets.len() {
        let text = format!(
            "the message is said to have {whole} octets; {} are there",
            octets.len()
        );
        return (octets.len(), vec![part(octets, base, base + 4, text)]);
    }
    let octets = octets.slice(..whole);
    let (class, kind) = (head[2], head[3]);
    let name = M3uaKind {
        class,
        number: kind,
    }
    .to_string();
    let mut report = DecodeReport::new("m3ua", format!("M3UA {name}"), &octets, base);
    report.note(DecodedField::code(base, "version", head[0], "1"));
    report.note(DecodedField::code(base + 1, "reserved", head[1], ""));
    report.note(DecodedField::code(
        base + 2,
        "message class",
        class,
        class_name(class),
    ));
    report.note(DecodedField::code(base + 3, "message type", kind, name));
    report.note(DecodedField::number(base + 4, 4, "message length", length));
    let carried = parameters(&mut report, &octets.slice(HEAD..), base + HEAD, false);
    let mut reports = vec![report];
    if let Some((at, sccp)) = carried {
        reports.extend(sccp::explain(&sccp, at));
    }
    (whole, reports)
}

fn part(octets: &Bytes, base: usize, at: usize, text: String) -> DecodeReport {
    let mut report = DecodeReport::new("m3ua", "part of a message", octets, base);
    report.note(DecodedField::hex(base, "(not read)", octets));
    report.problem(at, "message", text);
    report
}

/// Notes parameters up to the end, of a message or inside of one of it; gives the SCCP that they carry.
fn parameters(
    report: &mut DecodeReport,
    octets: &Bytes,
    base: usize,
    is_inside: bool,
) -> Option<(usize, Bytes)> {
    let mut at = 0;
    let mut carried = None;
    while at < octets.len() {
        let left = octets.slice(at..);
        let head: Option<&[u8; PARAMETER_HEAD]> = left.first_chunk();
        let head = head.map(|head| {
            let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
            (u16::from_be_bytes([head[0], head[1]]), length)
        });
        let Some((which, length)) =
            head.filter(|(_, length)| (PARAMETER_HEAD..=left.len()).contains(length))
        else {
            let text = match head {
                Some((_, length)) => {
                    format!("said to have {length} octets; {} are left", left.len())
                }
                None => format!("a parameter begins with {PARAMETER_HEAD} octets"),
            };
            report.problem(base + at, "parameter", text);
            report.note(DecodedField::hex(base + at, "(not read)", &left));
            return carried;
        };
        let sccp = parameter(report, which, &left.slice(..length), base + at, is_inside);
        carried = carried.or(sccp);
        at += length;
        // Each begins at a multiple of four; the filling is not counted (§3.2).
        let filling = octets.slice(at..octets.len().min(at.next_multiple_of(4)));
        if !filling.is_empty() {
            report.note(DecodedField::hex(base + at, "filling", &filling));
            at += filling.len();
        }
    }
    carried
}

/// One parameter, of which `octets` are all.
fn parameter(
    report: &mut DecodeReport,
    which: u16,
    octets: &Bytes,
    base: usize,
    is_inside: bool,
) -> Option<(usize, Bytes)> {
    let value = octets.slice(PARAMETER_HEAD..);
    let mut field = DecodedField::hex(base, &parameter_name(which), &value);
    field.octets = octets.len();
    match (which, &value[..]) {
        (tag::PROTOCOL_DATA, _) if value.len() >= LABEL => {
            field.octets = PARAMETER_HEAD;
            field.shown = hex::counted(value.len(), "octet");
            report.note(field);
            return label(report, &value, base + PARAMETER_HEAD);
        }
        (tag::PROTOCOL_DATA, _) => {
            let text = format!("{} octets; the routing label has {LABEL}", value.len());
            report.problem(base, "Protocol Data", text);
        }
        // Those are not inside of one another.
        (tag::ROUTING_KEY | tag::REGISTRATION_RESULT | tag::DEREGISTRATION_RESULT, _)
            if !is_inside =>
        {
            field.octets = PARAMETER_HEAD;
            field.shown = hex::counted(value.len(), "octet");
            report.note(field);
            parameters(report, &value, base + PARAMETER_HEAD, true);
            return None;
        }
        (tag::INFO, text) => field.set_string(&shown(text)),
        (tag::USER_CAUSE, [a, b, c, d]) => field.meaning = user_cause(be(*a, *b), be(*c, *d)),
        (tag::CONGESTION, [.., level]) => {
            field.set_number((*level).into());
            field.meaning = "congestion level".to_owned();
        }
        (tag::ROUTING_CONTEXT, contexts) => {
            field.meaning = each(contexts, |word| word.to_string());
        }
        (
            tag::AFFECTED_POINT_CODE
            | tag::CONCERNED_DESTINATION
            | tag::DESTINATION_POINT_CODE
            | tag::ORIGINATING_POINT_CODES,
            points,
        ) => field.meaning = each(points, masked_point),
        (tag::SERVICE_INDICATORS, indicators) => {
            let names = indicators.iter().map(|one| service_indicator(*one));
            field.meaning = names.collect::<Vec<_>>().join(", ");
        }
        (which, [a, b, c, d]) => {
            let number = u32::from_be_bytes([*a, *b, *c, *d]);
            if let Some(meaning) = number_meaning(which, number) {
                field.set_number(number);
                field.meaning = meaning;
            }
        }
        _ => {}
    }
    report.note(field);
    None
}

/// Protocol Data: the label of Q.704 and what is carried (§3.3.1).
fn label(report: &mut DecodeReport, value: &Bytes, base: usize) -> Option<(usize, Bytes)> {
    for (at, name) in [(0, "OPC"), (4, "DPC")] {
        let word = value[at..].first_chunk();
        let word = word.map_or(0, |word| u32::from_be_bytes(*word));
        report.note(DecodedField::number(base + at, 4, name, word).meaning(point(word)));
    }
    let (indicator, network) = (value[8], value[9]);
    let meaning = service_indicator(indicator);
    report.note(DecodedField::code(base + 8, "SI", indicator, meaning));
    let meaning = network_indicator(network);
    report.note(DecodedField::code(base + 9, "NI", network, meaning));
    report.note(DecodedField::number(base + 10, 1, "MP", value[10].into()));
    report.note(DecodedField::number(base + 11, 1, "SLS", value[11].into()));
    let user = value.slice(LABEL..);
    let mut field = DecodedField::hex(base + LABEL, "user data", &user);
    let mut carried = None;
    if indicator == SERVICE_SCCP && !user.is_empty() {
        field.shown = hex::counted(user.len(), "octet");
        carried = Some((base + LABEL, user));
    }
    if field.octets > 0 {
        report.note(field);
    }
    carried
}

fn be(high: u8, low: u8) -> u16 {
    u16::from_be_bytes([high, low])
}

/// Each word of a list.
fn each(octets: &[u8], name: impl Fn(u32) -> String) -> String {
    let words = octets.as_chunks::<4>().0.iter();
    let names: Vec<String> = words.map(|word| name(u32::from_be_bytes(*word))).collect();
    names.join(", ")
}

/// A point code with its mask in front (§3.4.1).
fn masked_point(word: u32) -> String {
    let (mask, code) = (word >> 24, point(word & 0x00FF_FFFF));
    if mask == 0 {
        code
    } else {
        format!("{code} and all that differ in the last {mask} bits")
    }
}

/// A point code of ITU as 3-8-3 bits (Q.704 §2.2.3).
pub fn point(code: u32) -> String {
    PointCode(code).to_string()
}

/// Name of a message class (§3.1.2).
fn class_name(class: u8) -> &'static str {
    match class {
        0 => "management",
        1 => "transfer",
        2 => "network management",
        3 => "ASP state",
        4 => "ASP traffic",
        9 => "routing keys",
        _ => "no class known",
    }
}

fn parameter_name(which: u16) -> String {
    match tag::name(which) {
        "unknown parameter" => format!("parameter 0x{which:04X}"),
        name => name.to_owned(),
    }
}

/// What a number means; `None` for a parameter that is none.
fn number_meaning(which: u16, number: u32) -> Option<String> {
    Some(match which {
        tag::TRAFFIC_MODE => match number {
            1 => "override".to_owned(),
            2 => "loadshare".to_owned(),
            3 => "broadcast".to_owned(),
            _ => String::new(),
        },
        tag::ERROR_CODE => M3uaErrorCode(number).to_string(),
        tag::STATUS => ApplicationStatus::of_number(number).to_string(),
        tag::REGISTRATION_STATUS => registration_status(number).to_owned(),
        tag::ASP_IDENTIFIER
        | tag::CORRELATION
        | tag::NETWORK_APPEARANCE
        | tag::LOCAL_ROUTING_KEY
        | tag::DEREGISTRATION_STATUS => String::new(),
        _ => return None,
    })
}

/// User/Cause (§3.4.5).
fn user_cause(cause: u16, user: u16) -> String {
    let cause = match cause {
        1 => "not equipped",
        2 => "not accessible",
        _ => "unavailable",
    };
    format!("{} is {cause}", service_indicator(user.to_be_bytes()[1]))
}

/// Service indicator (Q.704 §14.2.1).
fn service_indicator(indicator: u8) -> &'static str {
    match indicator {
        0 => "network management",
        1 => "test messages",
        SERVICE_SCCP => "SCCP",
        4 => "TUP",
        5 => "ISUP",
        _ => "another user",
    }
}

/// Network indicator (Q.704 §14.2.2).
fn network_indicator(indicator: u8) -> &'static str {
    match indicator {
        0 => "international",
        1 => "international, spare",
        2 => "national",
        3 => "national, spare",
        _ => "no indicator known",
    }
}

/// A detail of one octet with its meaning.
pub fn detail(name: &str, value: impl ToString, meaning: &str) -> FieldDetail {
    FieldDetail::new(name, value.to_string(), meaning)
}
