//! Messages of M3UA, parameter by parameter (RFC 4666 §3), and what a DATA carries.

use bytes::Bytes;

use super::sccp;
use crate::cli::decode::hex;
use crate::cli::decode::reader::shown;
use crate::cli::decode::report::{DecodeReport, DecodedField, FieldDetail};

/// The first octet of a message.
pub const VERSION: u8 = 1;

/// Octets of version, class, type and length.
const HEAD: usize = 8;
/// Octets of tag and length of a parameter.
const PARAMETER_HEAD: usize = 4;
/// Octets of Protocol Data before what it carries (§3.3.1).
const LABEL: usize = 12;
const PROTOCOL_DATA: u16 = 0x0210;
const ROUTING_KEY: u16 = 0x0207;
const REGISTRATION_RESULT: u16 = 0x0208;
const DEREGISTRATION_RESULT: u16 = 0x0209;
/// Service indicator of SCCP (Q.704 §14.2.1).
const SCCP: u8 = 3;

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
        let text = format!("the message is said to have {whole} octets; {} are there", octets.len());
        return (octets.len(), vec![part(octets, base, base + 4, text)]);
    }
    let octets = octets.slice(..whole);
    let (class, kind) = (head[2], head[3]);
    let (class_name, name) = names(class, kind);
    let mut report = DecodeReport::new("m3ua", format!("M3UA {name}"), &octets, base);
    report.note(DecodedField::code(base, "version", head[0], "1"));
    report.note(DecodedField::code(base + 1, "reserved", head[1], ""));
    report.note(DecodedField::code(base + 2, "message class", class, class_name));
    report.note(DecodedField::code(base + 3, "message type", kind, name));
    report.note(DecodedField::number(base + 4, 4, "message length", length));
    let mut carried = None;
    parameters(&mut report, &octets.slice(HEAD..), base + HEAD, &mut carried);
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

/// Notes parameters up to the end; what SCCP a Protocol Data carries goes to `carried`.
fn parameters(
    report: &mut DecodeReport,
    octets: &Bytes,
    base: usize,
    carried: &mut Option<(usize, Bytes)>,
) {
    let mut at = 0;
    while at < octets.len() {
        let left = octets.slice(at..);
        let head: Option<&[u8; PARAMETER_HEAD]> = left.first_chunk();
        let head = head.map(|head| {
            let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
            (u16::from_be_bytes([head[0], head[1]]), length)
        });
        let Some((tag, length)) =
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
            return;
        };
        parameter(report, tag, &left.slice(..length), base + at, carried);
        at += length;
        // Each begins at a multiple of four; the filling is not counted (§3.2).
        let filling = octets.slice(at..octets.len().min(at.next_multiple_of(4)));
        if !filling.is_empty() {
            report.note(DecodedField::hex(base + at, "filling", &filling));
            at += filling.len();
        }
    }
}

/// One parameter, of which `octets` are all.
fn parameter(
    report: &mut DecodeReport,
    tag: u16,
    octets: &Bytes,
    base: usize,
    carried: &mut Option<(usize, Bytes)>,
) {
    let value = octets.slice(PARAMETER_HEAD..);
    let mut field = DecodedField::hex(base, &parameter_name(tag), &value);
    field.octets = octets.len();
    match (tag, &value[..]) {
        (PROTOCOL_DATA, [_, ..]) if value.len() >= LABEL => {
            field.octets = PARAMETER_HEAD;
            field.shown = hex::counted(value.len(), "octet");
            report.note(field);
            label(report, &value, base + PARAMETER_HEAD, carried);
            return;
        }
        (ROUTING_KEY | REGISTRATION_RESULT | DEREGISTRATION_RESULT, _) => {
            field.octets = PARAMETER_HEAD;
            field.shown = hex::counted(value.len(), "octet");
            report.note(field);
            parameters(report, &value, base + PARAMETER_HEAD, &mut None);
            return;
        }
        // What is text: INFO String.
        (0x0004, text) => field.set_string(&shown(text)),
        (0x000B | 0x000C | 0x0011 | 0x0018 | 0x0200 | 0x020A | 0x0212 | 0x0213, [a, b, c, d]) => {
            let number = u32::from_be_bytes([*a, *b, *c, *d]);
            field.set_number(number);
            field.meaning = number_meaning(tag, number).to_owned();
        }
        (0x000D, [a, b, c, d]) => field.meaning = status(be(*a, *b), be(*c, *d)).to_owned(),
        (0x0204, [a, b, c, d]) => field.meaning = user_cause(be(*a, *b), be(*c, *d)),
        (0x0205, [.., level]) => {
            field.set_number((*level).into());
            field.meaning = "congestion level".to_owned();
        }
        (0x0006, contexts) => field.meaning = each(contexts, |word| word.to_string()),
        (0x0012 | 0x0206 | 0x020B | 0x020E, points) => field.meaning = each(points, masked_point),
        (0x020C, indicators) => {
            let names = indicators.iter().map(|one| service_indicator(*one));
            field.meaning = names.collect::<Vec<_>>().join(", ");
        }
        (PROTOCOL_DATA, _) => {
            let text = format!("{} octets; the routing label has {LABEL}", value.len());
            report.problem(base, "Protocol Data", text);
        }
        _ => {}
    }
    report.note(field);
}

/// Protocol Data: the label of Q.704 and what is carried (§3.3.1).
fn label(
    report: &mut DecodeReport,
    value: &Bytes,
    base: usize,
    carried: &mut Option<(usize, Bytes)>,
) {
    for (at, name) in [(0, "OPC"), (4, "DPC")] {
        let word = value[at..at + 4]
            .iter()
            .fold(0_u32, |word, octet| word << 8 | u32::from(*octet));
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
    if indicator == SCCP && !user.is_empty() {
        field.shown = hex::counted(user.len(), "octet");
        *carried = Some((base + LABEL, user));
    }
    if field.octets > 0 {
        report.note(field);
    }
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
    if code > 0x3FFF {
        return "no point code of 14 bits".to_owned();
    }
    format!("{}.{}.{}", code >> 11, code >> 3 & 0xFF, code & 7)
}

/// Names of a message class and of a message (§3.1.2).
fn names(class: u8, kind: u8) -> (&'static str, &'static str) {
    match (class, kind) {
        (0, 0) => ("management", "ERR"),
        (0, 1) => ("management", "NTFY"),
        (1, 1) => ("transfer", "DATA"),
        (2, 1) => ("network management", "DUNA"),
        (2, 2) => ("network management", "DAVA"),
        (2, 3) => ("network management", "DAUD"),
        (2, 4) => ("network management", "SCON"),
        (2, 5) => ("network management", "DUPU"),
        (2, 6) => ("network management", "DRST"),
        (3, 1) => ("ASP state", "ASPUP"),
        (3, 2) => ("ASP state", "ASPDN"),
        (3, 3) => ("ASP state", "BEAT"),
        (3, 4) => ("ASP state", "ASPUP ACK"),
        (3, 5) => ("ASP state", "ASPDN ACK"),
        (3, 6) => ("ASP state", "BEAT ACK"),
        (4, 1) => ("ASP traffic", "ASPAC"),
        (4, 2) => ("ASP traffic", "ASPIA"),
        (4, 3) => ("ASP traffic", "ASPAC ACK"),
        (4, 4) => ("ASP traffic", "ASPIA ACK"),
        (9, 1) => ("routing keys", "REG REQ"),
        (9, 2) => ("routing keys", "REG RSP"),
        (9, 3) => ("routing keys", "DEREG REQ"),
        (9, 4) => ("routing keys", "DEREG RSP"),
        (0, _) => ("management", "message"),
        (1, _) => ("transfer", "message"),
        (2, _) => ("network management", "message"),
        (3, _) => ("ASP state", "message"),
        (4, _) => ("ASP traffic", "message"),
        (9, _) => ("routing keys", "message"),
        _ => ("no class known", "message"),
    }
}

fn parameter_name(tag: u16) -> String {
    let name = match tag {
        0x0004 => "INFO String",
        0x0006 => "Routing Context",
        0x0007 => "Diagnostic Information",
        0x0009 => "Heartbeat Data",
        0x000B => "Traffic Mode Type",
        0x000C => "Error Code",
        0x000D => "Status",
        0x0011 => "ASP Identifier",
        0x0012 => "Affected Point Code",
        0x0013 => "Correlation ID",
        0x0200 => "Network Appearance",
        0x0204 => "User/Cause",
        0x0205 => "Congestion Indications",
        0x0206 => "Concerned Destination",
        ROUTING_KEY => "Routing Key",
        REGISTRATION_RESULT => "Registration Result",
        DEREGISTRATION_RESULT => "Deregistration Result",
        0x020A => "Local Routing Key Identifier",
        0x020B => "Destination Point Code",
        0x020C => "Service Indicators",
        0x020E => "Originating Point Code List",
        PROTOCOL_DATA => "Protocol Data",
        0x0212 => "Registration Status",
        0x0213 => "Deregistration Status",
        _ => return format!("parameter 0x{tag:04X}"),
    };
    name.to_owned()
}

fn number_meaning(tag: u16, number: u32) -> &'static str {
    match (tag, number) {
        (0x000B, 1) => "override",
        (0x000B, 2) => "loadshare",
        (0x000B, 3) => "broadcast",
        (0x000C, code) => error_code(code),
        (0x0212 | 0x0213, 0) => "successful",
        (0x0212, 2) => "invalid destination point code",
        (0x0212, 3) => "invalid network appearance",
        (0x0212, 4) => "invalid routing key",
        (0x0212 | 0x0213, 5) => "permission denied",
        (0x0212, 6) => "unique routing not supported",
        (0x0212, 7) => "routing key not provisioned",
        (0x0212, 8) => "insufficient resources",
        (0x0212, 9) => "a parameter of the routing key is not supported",
        (0x0212, 10) => "traffic mode not supported",
        (0x0212, 11) => "change of the routing key refused",
        (0x0212, 12) => "routing key registered already",
        (0x0213, 2) => "invalid routing context",
        (0x0213, 3) => "not registered",
        (0x0213, 4) => "ASP active for this routing context",
        _ => "",
    }
}

/// Error Code (§3.8.1).
fn error_code(code: u32) -> &'static str {
    match code {
        0x01 => "invalid version",
        0x03 => "message class not supported",
        0x04 => "message type not supported",
        0x05 => "traffic mode not supported",
        0x06 => "unexpected message",
        0x07 => "protocol error",
        0x09 => "invalid stream",
        0x0D => "refused: blocked by management",
        0x0E => "an ASP identifier is required",
        0x0F => "invalid ASP identifier",
        0x11 => "invalid value of a parameter",
        0x12 => "a field of a parameter is wrong",
        0x13 => "unexpected parameter",
        0x14 => "state of the destination not known",
        0x15 => "invalid network appearance",
        0x16 => "missing parameter",
        0x19 => "invalid routing context",
        0x1A => "no application server configured for the ASP",
        _ => "no code known",
    }
}

/// Status (§3.8.2).
fn status(kind: u16, information: u16) -> &'static str {
    match (kind, information) {
        (1, 2) => "the application server is inactive",
        (1, 3) => "the application server is active",
        (1, 4) => "the application server is pending",
        (2, 1) => "insufficient ASPs are active",
        (2, 2) => "another ASP is active instead",
        (2, 3) => "another ASP has failed",
        _ => "no status known",
    }
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
        SCCP => "SCCP",
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
